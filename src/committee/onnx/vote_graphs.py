"""Graphs of voters that answer at random: what their score is expected to be, or is along the likelier answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.onnx.curves import upper
from committee.onnx.graph import Value, joined
from committee.onnx.rows import Rows
from committee.onnx.trees import forest_tally
from committee.voters.flat_trees import extents
from committee.voters.forest import Forest
from committee.voters.oracles import OracleVoters
from committee.voters.path_majority import PathMajority
from committee.voters.soft_stumps import SoftStumps
from committee.voters.vote_graph import VoteGraph


def graph_tally(rows: Rows, graph: VoteGraph, weights: F64, oracles: Callable[[Rows, OracleVoters], Value]) -> Value:
    """Scores of a graph, ``(n, D)``; `oracles` gives the probabilities of voters that are no stumps, ``(n, T)``.

    Raises
    ------
    TypeError
        If the graph's walk is drawn.
    """
    if graph.walk == "sampled":
        raise TypeError(
            "a vote on sampled paths draws random numbers by the row's values, for which ONNX has no nodes; set "
            "classify to 'expected' or 'likely_path'."
        )
    counted = np.arange(len(graph.next)) if graph.counted is None else graph.counted
    factor = np.zeros(len(graph.next))
    np.add.at(factor, counted, weights)
    vote = graph.vote * factor[:, None]
    likely = graph.walk == "likely_path"
    if isinstance(graph.voters, SoftStumps):
        q = _likely_answers(rows, graph.voters) if likely else _probabilities(rows, graph.voters)
    else:
        q = oracles(rows, graph.voters)
        q = (q > 0.5).cast(np.float64) if likely else q
    return _expected(q, graph, vote)


def majority_tally(
    rows: Rows, voters: PathMajority, weights: F64, oracles: Callable[[Rows, OracleVoters], Value]
) -> Value:
    """2 P - 1, where P is the probability that the score is above 0, ``(n, D)``.

    Raises
    ------
    TypeError
        If there are so many paths that some are sampled.
    """
    ways = voters.every_way
    if ways is None:
        raise TypeError(
            "the majority of so many paths is estimated from sampled ones, for which ONNX has no nodes; set classify "
            "to 'expected'."
        )
    P = graph_tally(rows, ways, np.ones(len(ways)), oracles).clip(0.0, 1.0)
    return (P * 2.0 - 1.0) * float(weights[0])


def _expected(q: Value, graph: VoteGraph, vote: F64) -> Value:
    """What the score is expected to be with these probabilities of +."""
    following = graph.next
    if (following[:, 0] == following[:, 1]).all():
        return _sum(q, graph, vote)
    height = _heights(following)
    place = np.zeros(len(following), dtype=np.int64)
    known = q.take(np.array([0])) * 0.0  # what comes after the end of a path
    filled = 1
    for level in range(int(height.max()) + 1):
        nodes = np.flatnonzero(height == level)
        after = [known.take(np.where(following[nodes, k] < 0, 0, place[following[nodes, k]])) for k in (0, 1)]
        chance = q.take(nodes)
        value = chance * (after[0] + vote[nodes, 0][None]) + (1.0 - chance) * (after[1] + vote[nodes, 1][None])
        place[nodes] = filled + np.arange(len(nodes))
        filled += len(nodes)
        known = joined([known, value])
    return known.take(place[graph.start[:-1]])


def _sum(q: Value, graph: VoteGraph, vote: F64) -> Value:
    """The same where both answers lead on to the same voter: a sum over all that are met."""
    D = len(graph.start) - 1
    met = np.zeros((len(graph.next), D))
    for d, first in enumerate(graph.start[:-1].tolist()):
        while first >= 0:
            met[first, d] = 1.0
            first = int(graph.next[first, 0])
    return q @ (met * (vote[:, 0] - vote[:, 1])[:, None]) + (met.T @ vote[:, 1])[None]


def _heights(following: NDArray[np.int32]) -> NDArray[np.int64]:
    """The most steps that are left after each node."""
    height = np.zeros(len(following), dtype=np.int64)
    for t in range(len(following) - 1, -1, -1):
        later = following[t][following[t] >= 0]
        if len(later):
            height[t] = 1 + height[later].max()
    return height


def _probabilities(rows: Rows, stumps: SoftStumps) -> Value:
    """q of every stump, ``(n, T)``."""
    x, above = _values(rows, stumps)
    sign = np.where(stumps.ascending == 1, 1.0, -1.0)[None]
    hard = (stumps.softness == 0.0)[None]
    softness = np.where(hard, 1.0, stumps.softness[None])
    z = above.graph.add(
        "Where", x.equals(stumps.threshold[None]), np.float64(0.0), (x - stumps.threshold[None]) / softness
    )
    soft = upper("probit", z.clip(-39.0, 39.0) * sign)
    answer = above.cast(np.float64)
    firm = answer * sign + (1.0 - sign) * 0.5
    return _with_gaps(rows, stumps, x, above.graph.add("Where", hard, firm, soft))


def _likely_answers(rows: Rows, stumps: SoftStumps) -> Value:
    """1 where + is the likelier answer, 0 where it is not; at its threshold a soft stump says -."""
    x, above = _values(rows, stumps)
    ascending = (stumps.ascending == 1)[None]
    tie_above = ((stumps.softness > 0.0) & (stumps.ascending == 0))[None]
    at_or_above = above.graph.add("And", x.equals(stumps.threshold[None]), tie_above)
    is_above = above.graph.add("Or", above, at_or_above).cast(np.float64)
    sign = np.where(ascending, 1.0, -1.0)
    firm = is_above * sign + (1.0 - sign) * 0.5
    gaps = replace(stumps, missing=(stumps.missing > 0.5).astype(np.float64))
    return _with_gaps(rows, gaps, x, firm)


def _values(rows: Rows, stumps: SoftStumps) -> tuple[Value, Value]:
    """The value that each stump looks at, and where it is above the threshold."""
    x = rows.wide.take(stumps.feature.astype(np.int64))
    return x, x > stumps.threshold[None]


def _with_gaps(rows: Rows, stumps: SoftStumps, x: Value, q: Value) -> Value:
    """q with the answers of stumps on categories, and of all stumps to missing values."""
    is_set = np.diff(stumps.category_offset) > 0
    if is_set.any():
        q = q.graph.add("Where", is_set[None], _sets(rows, stumps), q)
    return x.is_nan().where(stumps.missing[None], q)


def _sets(rows: Rows, stumps: SoftStumps) -> Value:
    """1 where a value is in a stump's set of categories, ``(n, T)``."""
    T = len(stumps)
    of_root = np.arange(T) * 3
    feature, left = np.full(3 * T, -1, dtype=np.int32), np.full(3 * T, -1, dtype=np.int32)
    feature[of_root], left[of_root] = stumps.feature, 1
    words = np.zeros(3 * T, dtype=np.int64)
    words[of_root] = np.diff(stumps.category_offset)
    value = np.zeros((3 * T, T))
    value[of_root + 1, np.arange(T)] = 1.0
    nothing = np.zeros(3 * T)
    trees = Forest(
        n_features=stumps.n_features,
        n_classes=T,
        offset=np.arange(T + 1, dtype=np.int64) * 3,
        feature=feature,
        threshold=nothing,
        left=left,
        missing_left=np.zeros(3 * T, dtype=np.uint8),
        category_offset=extents(words),
        category_bits=stumps.category_bits,
        label=None,
        value=value,
        gain=nothing,
        weight=nothing,
        count=np.zeros(3 * T, dtype=np.int64),
    )
    return forest_tally(rows, trees, np.ones(T))
