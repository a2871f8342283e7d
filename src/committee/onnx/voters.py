"""Committees as ONNX nodes: classes, probabilities and numbers, from tallies of all kinds of voters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from committee.data.design import MAX_NUMBER, Design
from committee.data.number_types import F64
from committee.onnx.graph import Rows, Value, encoded_rows, joined, reject_derived
from committee.onnx.links import (
    Curve,
    Scored,
    elected,
    log_upper,
    numbers,
    probabilities,
    raise_elected,
    settled,
    shares,
    two_sided,
    upper,
)
from committee.onnx.trees import forest_tally, leaf_numbers, rounds_tally
from committee.vote.committee import Committee, RegressionCommittee, as_committee
from committee.vote.members import MemberCommittees, refuse_second_layer
from committee.voters.estimators import EstimatorVoters, RegressorRounds, RegressorVoters, SignedVoters
from committee.voters.flat_trees import extents
from committee.voters.forest import Forest
from committee.voters.model_forest import BoostedCommittees, LinearScores, ModelForest
from committee.voters.probabilistic_voters import OracleVoters, SoftStumps
from committee.voters.rounds import LinearLeaves, Rounds
from committee.voters.vote_graph import PathMajority, VoteGraph


def class_outputs(rows: Rows, committee: Committee) -> tuple[Value, Value]:
    """Index of the elected class, int64 ``(n,)``, and probabilities ``(n, K)``, from encoded rows."""
    F = _scores(rows, committee)
    if committee.n_classes == 1:
        ones = F.take(np.array([0])) * 0.0 + 1.0
        return (ones * 0.0).cast(np.int64).reshape(-1), ones
    total = committee.total_weight if committee.voters.kind == "score" else None
    scored = settled(committee.link, Scored(F, committee.voters.n_outputs, total))
    index = elected(committee.link, scored)
    return index, raise_elected(probabilities(committee.link, scored), index, committee.n_classes)


def prediction_outputs(rows: Rows, committee: RegressionCommittee) -> Value:
    return numbers(committee.link, _scores(rows, committee), committee.n_outputs, committee.total_weight)


def _scores(rows: Rows, committee: Committee | RegressionCommittee) -> Value:
    F = voters_tally(rows, committee.voters, committee.weights)
    return F if committee.intercept is None else F + committee.intercept[None]


def voters_tally(rows: Rows, voters: Any, weights: F64) -> Value:
    if isinstance(voters, Forest):
        return forest_tally(rows, voters, weights)
    if isinstance(voters, Rounds):
        return rounds_tally(rows, voters.forest, weights, voters.n_outputs)
    if isinstance(voters, LinearLeaves):
        return _linear_leaves_tally(rows, voters, weights)
    if isinstance(voters, BoostedCommittees):
        return _committees_tally(rows, voters, weights)
    if isinstance(voters, ModelForest):
        votes = _linear_scores(rows, voters) if isinstance(voters, LinearScores) else _votes(rows, voters)
        return _weighted(votes, weights[None], voters.n_outputs)
    if isinstance(voters, VoteGraph):
        return _graph_tally(rows, voters, weights)
    if isinstance(voters, PathMajority):
        return _majority_tally(rows, voters, weights)
    return _members_tally(rows, voters, weights)


def _members_tally(rows: Rows, voters: Any, weights: F64) -> Value:
    refuse_second_layer(voters, "ONNX graphs are of members that read the columns")
    if isinstance(voters, MemberCommittees):
        votes = [_own_answer(rows, one) for one in voters.members]
        return _weighted_sum(votes, weights)
    if isinstance(voters, EstimatorVoters):
        return _weighted_sum([_vote(rows, voters, t) for t in range(len(voters))], weights)
    if isinstance(voters, SignedVoters):
        signs = [_vote(rows, voters.voters, t) @ np.array([[-1.0], [1.0]]) for t in range(len(voters))]
        return _into_scores(signs, weights, voters.output, voters.n_outputs)
    if isinstance(voters, RegressorRounds):
        inner = voters.regressors
        return _members_tally(rows, inner, np.repeat(weights, inner.n_outputs))
    if isinstance(voters, RegressorVoters):
        said = [_own_answer(rows, _member(one, RegressionCommittee)) for one in voters.estimators]
        return _into_scores(said, weights, voters.output, voters.n_outputs)
    raise TypeError(f"{type(voters).__name__} cannot be exported to ONNX; docs/onnx.md lists the supported models.")


def _own_answer(rows: Rows, committee: Committee | RegressionCommittee) -> Value:
    own = encoded_rows(rows, committee.table)
    return class_outputs(own, committee)[1] if isinstance(committee, Committee) else prediction_outputs(own, committee)


def _vote(rows: Rows, voters: EstimatorVoters, t: int) -> Value:
    member = _member(voters.estimators[t], Committee)
    rows = rows if voters.features is None else rows.only(np.asarray(voters.features[t]))
    index, p = class_outputs(encoded_rows(rows, member.table), member)
    order = {label: k for k, label in enumerate(np.asarray(voters.classes).tolist())}
    place = np.array([order[label] for label in member.classes.tolist()])
    said = p if voters.soft else index.one_hot(len(place))
    if place.tolist() == list(range(voters.n_classes)):
        return said
    into = np.zeros((len(place), voters.n_classes))
    into[np.arange(len(place)), place] = 1.0
    return said @ into


def _oracles(rows: Rows, voters: OracleVoters) -> Value:
    if voters.n_draws.any():
        raise TypeError("voters that draw random votes cannot be exported; use voters with known probabilities.")
    said = []
    for one in voters.voters:
        member = _member(one, Committee)
        p = class_outputs(encoded_rows(rows, member.table), member)[1]
        labels = [int(label) for label in member.classes.tolist()]
        said.append(p.take(np.array([labels.index(1)])) if 1 in labels else p.take(np.array([0])) * 0.0)
    return joined(said)


def _member(model: Any, kind: type) -> Any:
    try:
        found = as_committee(model, "ONNX")
    except TypeError as error:
        raise TypeError(
            f"a voter is a {type(model).__name__}, which has no nodes in ONNX; voters must be learners of this "
            f"library, or ensembles that {kind.__name__}.from_estimator accepts."
        ) from error
    if not isinstance(found, kind):
        raise TypeError(f"a voter is a {type(model).__name__}, which is not a {kind.__name__}.")
    reject_derived(found.table, of_voter=True)
    return found


def _weighted_sum(votes: list[Value], weights: F64) -> Value:
    total = votes[0] * 0.0
    for vote, weight in zip(votes, weights.tolist(), strict=True):
        if weight != 0.0:
            total = total + vote * weight
    return total


def _into_scores(said: list[Value], weights: F64, output: Any, n_outputs: int) -> Value:
    into = np.zeros((len(said), n_outputs))
    into[np.arange(len(said)), output] = weights
    return joined(said) @ into


def _committees_tally(rows: Rows, voters: BoostedCommittees, weights: F64) -> Value:
    votes, K = _votes(rows, voters.members), voters.n_classes
    if voters.soft:
        return _weighted(votes, voters.tree_weights(weights)[None], K)
    within = np.zeros((len(voters), len(voters.alpha)))
    within[np.repeat(np.arange(len(voters)), np.diff(voters.start)), np.arange(len(voters.alpha))] = voters.alpha
    elected = (rows.X.graph.constant(within) @ votes).argmax()
    return _weighted(elected.one_hot(K), weights[None], K)


def _weighted(votes: Value, weights: F64, n_outputs: int) -> Value:
    return (votes.graph.constant(weights) @ votes).reshape(-1, n_outputs)


def _votes(rows: Rows, voters: ModelForest) -> Value:
    scores = _linear_scores(rows, voters)
    n_scores = voters.trees_per_voter * voters.intercept.shape[1]
    curve: Curve = "probit" if voters.link == "probit" else "logit"
    index = (scores > 0.0).cast(np.int64).reshape(0, len(voters)) if n_scores == 1 else scores.argmax()
    if not voters.soft:
        return index.one_hot(voters.n_classes)
    p = two_sided(curve, scores) if n_scores == 1 else shares(log_upper(curve, scores.at_least(-1e150)))
    return raise_elected(p, index, voters.n_classes)


def _linear_scores(rows: Rows, voters: ModelForest) -> Value:
    L, n_outputs, q = voters.coefficient.shape
    table, order = _design(rows, voters.design)
    coefficient = voters.coefficient.reshape(L * n_outputs, q)[:, order]
    every = table @ np.ascontiguousarray(coefficient.T) + voters.intercept.reshape(1, -1)
    T = len(voters.forest)
    if L == 1:  # one model for all rows
        return every.reshape(0, T, n_outputs)
    model = leaf_numbers(rows, voters.forest, np.maximum(voters.model, 0))
    graph = rows.X.graph
    first = graph.add("Mul", model.reshape(0, T, 1), np.int64(n_outputs))
    places = graph.add("Add", first, np.arange(n_outputs)).reshape(0, T * n_outputs)
    taken = graph.add("GatherElements", every, places, axis=1)
    return taken.reshape(0, len(voters), voters.trees_per_voter * n_outputs)


def _design(rows: Rows, design: Design) -> tuple[Value, np.ndarray]:
    X = rows.wide
    number, code, gap = (
        np.flatnonzero(which) for which in (design.category == -1, design.category >= 0, design.category == -2)
    )
    parts: list[Value] = []
    if len(number):
        source = design.source[number].astype(np.int64)
        column = X.take(source)
        parts.append(column.is_nan().where(design.fill[source][None], column).clip(-MAX_NUMBER, MAX_NUMBER))
    if len(code):
        column = X.take(design.source[code].astype(np.int64))
        parts.append(column.equals(design.category[code].astype(np.float64)[None]).cast(np.float64))
    if len(gap):
        parts.append(X.take(design.source[gap].astype(np.int64)).is_nan().cast(np.float64))
    return joined(parts), np.concatenate([number, code, gap])


def _linear_leaves_tally(rows: Rows, voters: LinearLeaves, weights: F64) -> Value:
    forest, lines, K = voters.forest, voters.lines, voters.trees_per_voter
    level = rounds_tally(rows, forest, weights, K) if K > 1 else forest_tally(rows, forest, weights)
    each = np.diff(lines.start)
    most = int(each.max(initial=0))
    if most == 0:
        return level
    assert forest.value is not None
    T, D = len(forest), forest.value.shape[1]
    # lines of each leaf, padded with lines of slope 0; row 0 is for leaves without lines
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
        return level + added.reshape(0, T, D).sum(axis=1).reshape(0, D)
    return level + added.reshape(0, T // K, K).sum(axis=1).reshape(0, K)


def _graph_tally(rows: Rows, graph: VoteGraph, weights: F64) -> Value:
    if graph.walk == "sampled":
        raise TypeError(
            "a vote on sampled paths draws random numbers by the row's values, for which ONNX has no nodes; set "
            "method to 'expected' or 'likely_path'."
        )
    counted = np.arange(len(graph.next)) if graph.counted is None else graph.counted
    factor = np.zeros(len(graph.next))
    np.add.at(factor, counted, weights)
    vote = graph.vote * factor[:, None]
    likely = graph.walk == "likely_path"
    if isinstance(graph.voters, SoftStumps):
        q = _likely_answers(rows, graph.voters) if likely else _probabilities(rows, graph.voters)
    else:
        q = _oracles(rows, graph.voters)
        q = (q > 0.5).cast(np.float64) if likely else q
    return _expected(q, graph, vote)


def _majority_tally(rows: Rows, voters: PathMajority, weights: F64) -> Value:
    ways = voters.path_tree
    if ways is None:
        raise TypeError(
            "the majority of so many paths is estimated from sampled ones, for which ONNX has no nodes; set method "
            "to 'expected'."
        )
    P = _graph_tally(rows, ways, np.ones(len(ways))).clip(0.0, 1.0)
    return (P * 2.0 - 1.0) * float(weights[0])  # P: probability of a positive score


def _expected(q: Value, graph: VoteGraph, vote: F64) -> Value:
    following = graph.next
    if (following[:, 0] == following[:, 1]).all():
        return _sum(q, graph, vote)
    height = np.zeros(len(following), dtype=np.int64)  # of the longest path from each node
    for t in range(len(following) - 1, -1, -1):
        height[t] = 1 + height[following[t][following[t] >= 0]].max(initial=-1)
    place = np.zeros(len(following), dtype=np.int64)
    known = q.take(np.array([0])) * 0.0  # score after the end of a path
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
    D = len(graph.start) - 1
    met = np.zeros((len(graph.next), D))
    for d, first in enumerate(graph.start[:-1].tolist()):
        while first >= 0:
            met[first, d] = 1.0
            first = int(graph.next[first, 0])
    return q @ (met * (vote[:, 0] - vote[:, 1])[:, None]) + (met.T @ vote[:, 1])[None]


def _probabilities(rows: Rows, stumps: SoftStumps) -> Value:
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
    x = rows.wide.take(stumps.feature.astype(np.int64))
    return x, x > stumps.threshold[None]


def _with_gaps(rows: Rows, stumps: SoftStumps, x: Value, q: Value) -> Value:
    is_set = np.diff(stumps.category_offset) > 0
    if is_set.any():
        q = q.graph.add("Where", is_set[None], _sets(rows, stumps), q)
    return x.is_nan().where(stumps.missing[None], q)


def _sets(rows: Rows, stumps: SoftStumps) -> Value:
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
