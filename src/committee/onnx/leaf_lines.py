"""Trees with lines in their leaves: a leaf's weight by its tree, its lines by tables in which it is looked up."""

from __future__ import annotations

import numpy as np

from committee.data.number_types import F64
from committee.onnx.graph import Value
from committee.onnx.rows import Rows
from committee.onnx.trees import forest_tally, leaf_numbers, rounds_tally
from committee.voters.linear_leaves import LinearLeaves


def linear_leaves_tally(rows: Rows, voters: LinearLeaves, weights: F64) -> Value:
    """Weighted sum of leaf weights and lines, ``(n, n_outputs)``."""
    K = voters.trees_per_voter
    level = rounds_tally(rows, voters.forest, weights, K) if K > 1 else forest_tally(rows, voters.forest, weights)
    each = np.diff(voters.lines.start)
    most = int(each.max(initial=0))
    return level if most == 0 else level + _lines(rows, voters, weights, most)


def _lines(rows: Rows, voters: LinearLeaves, weights: F64, most: int) -> Value:
    """What the lines add, ``(n, n_outputs)``."""
    forest, lines, K = voters.forest, voters.lines, voters.trees_per_voter
    assert forest.value is not None
    T, D = len(forest), forest.value.shape[1]
    # a table of lines: row 0 for leaves without any, then one for each leaf that has some, filled up with flat ones
    each = np.diff(lines.start)
    lined = np.flatnonzero(each)
    number = np.zeros(len(each), dtype=np.int64)
    number[lined] = 1 + np.arange(len(lined))
    node = np.repeat(np.arange(len(each)), each)
    at = number[node], np.arange(len(node)) - lines.start[:-1][node]
    shape = (len(lined) + 1, most)
    column, (low, high) = np.zeros(shape, dtype=np.int64), np.zeros((2, *shape))
    slope, offset = np.zeros((*shape, D)), np.zeros((*shape, D))
    weight = np.repeat(np.repeat(weights, K), forest.n_nodes)[node]
    column[at], low[at], high[at] = lines.column, lines.low, lines.high
    slope[at], offset[at] = lines.slope * weight[:, None], lines.centre

    graph = rows.X.graph
    leaf = leaf_numbers(rows, forest, number)
    places = graph.constant(column).take(leaf, axis=0).reshape(0, T * most)
    x = graph.add("GatherElements", rows.wide, places, axis=1).reshape(0, T, most, 1)
    low_of, high_of = (graph.constant(end[:, :, None]).take(leaf, axis=0) for end in (low, high))
    within = x.at_least(low_of).at_most(high_of) - graph.constant(offset).take(leaf, axis=0)
    added = x.is_nan().where(0.0, graph.constant(slope).take(leaf, axis=0) * within).sum(axis=2)
    if K == 1:
        return added.reshape(0, T, D).sum(axis=1).reshape(0, D)
    return added.reshape(0, T // K, K).sum(axis=1).reshape(0, K)
