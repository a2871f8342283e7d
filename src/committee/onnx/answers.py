"""What a committee answers, in nodes: its class and probabilities, or its numbers; whole committees may be voters."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee.data.number_types import F64
from committee.onnx.curves import let_win
from committee.onnx.graph import Value, joined
from committee.onnx.leaf_lines import linear_leaves_tally
from committee.onnx.links import Scored, elected, numbers, probabilities, settled
from committee.onnx.model_trees import committees_tally, model_trees_tally
from committee.onnx.rows import Rows, encoded_rows
from committee.onnx.trees import forest_tally, rounds_tally
from committee.onnx.vote_graphs import graph_tally, majority_tally
from committee.vote.committee import Committee
from committee.vote.committee_in import committee_in
from committee.vote.members import MemberCommittees
from committee.vote.regression import RegressionCommittee
from committee.voters.committees import BoostedCommittees
from committee.voters.estimators import EstimatorVoters
from committee.voters.forest import Forest
from committee.voters.linear_leaves import LinearLeaves
from committee.voters.model_forest import ModelForest
from committee.voters.oracles import OracleVoters
from committee.voters.path_majority import PathMajority
from committee.voters.regressor_rounds import RegressorRounds
from committee.voters.regressors import RegressorVoters
from committee.voters.rounds import Rounds
from committee.voters.signed import SignedVoters
from committee.voters.vote_graph import VoteGraph


def class_answers(rows: Rows, committee: Committee) -> tuple[Value, Value]:
    """Number of the elected class, int64 ``(n,)``, and probabilities ``(n, K)``, of rows that the voters take."""
    F = _scores(rows, committee)
    if committee.n_classes == 1:
        ones = F.take(np.array([0])) * 0.0 + 1.0
        return (ones * 0.0).cast(np.int64).reshape(-1), ones
    total = committee.total_weight if committee.voters.kind == "score" else None
    scored = settled(committee.link, Scored(F, committee.voters.n_outputs, total))
    index = elected(committee.link, scored)
    return index, let_win(probabilities(committee.link, scored), index, committee.n_classes)


def number_answers(rows: Rows, committee: RegressionCommittee) -> Value:
    """Predicted numbers, ``(n, D)``, of rows that the voters take."""
    return numbers(committee.link, _scores(rows, committee), committee.n_outputs, committee.total_weight)


def _scores(rows: Rows, committee: Committee | RegressionCommittee) -> Value:
    """F of a committee, ``(n, D)``."""
    F = voters_tally(rows, committee.voters, committee.weights)
    return F if committee.intercept is None else F + committee.intercept[None]


def voters_tally(rows: Rows, voters: Any, weights: F64) -> Value:
    """Weighted sum of the votes of any voters, ``(n, D)``.

    Raises
    ------
    TypeError
        Naming voters that ONNX has no nodes for.
    """
    if isinstance(voters, Forest):
        return forest_tally(rows, voters, weights)
    if isinstance(voters, Rounds):
        return rounds_tally(rows, voters.forest, weights, voters.n_outputs)
    if isinstance(voters, LinearLeaves):
        return linear_leaves_tally(rows, voters, weights)
    if isinstance(voters, BoostedCommittees):
        return committees_tally(rows, voters, weights)
    if isinstance(voters, ModelForest):
        return model_trees_tally(rows, voters, weights)
    if isinstance(voters, VoteGraph):
        return graph_tally(rows, voters, weights, _oracles)
    if isinstance(voters, PathMajority):
        return majority_tally(rows, voters, weights, _oracles)
    return _members_tally(rows, voters, weights)


def _members_tally(rows: Rows, voters: Any, weights: F64) -> Value:
    """Weighted sum of the votes of voters that are models themselves."""
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
    raise TypeError(f"{type(voters).__name__} have no nodes in ONNX.")


def _own_answer(rows: Rows, committee: Committee | RegressionCommittee) -> Value:
    """Probabilities or numbers of a member, which takes the matrix as a table of its own."""
    own = encoded_rows(rows, committee.table)
    return class_answers(own, committee)[1] if isinstance(committee, Committee) else number_answers(own, committee)


def _vote(rows: Rows, voters: EstimatorVoters, t: int) -> Value:
    """Probabilities of a member for each class, or a one at the class that it names, ``(n, K)``."""
    member = _member(voters.estimators[t], Committee)
    rows = rows if voters.features is None else rows.only(np.asarray(voters.features[t]))
    index, p = class_answers(encoded_rows(rows, member.table), member)
    order = {label: k for k, label in enumerate(np.asarray(voters.classes).tolist())}
    place = np.array([order[label] for label in member.classes.tolist()])
    said = p if voters.soft else index.one_hot(len(place))
    if place.tolist() == list(range(voters.n_classes)):
        return said
    into = np.zeros((len(place), voters.n_classes))
    into[np.arange(len(place)), place] = 1.0
    return said @ into


def _oracles(rows: Rows, voters: OracleVoters) -> Value:
    """The probability of +1 that each voter of a graph gives, ``(n, T)``."""
    if voters.n_draws.any():
        raise TypeError("voters that draw their answers have no nodes in ONNX; take voters with probabilities.")
    said = []
    for one in voters.voters:
        member = _member(one, Committee)
        p = class_answers(encoded_rows(rows, member.table), member)[1]
        labels = [int(label) for label in member.classes.tolist()]
        said.append(p.take(np.array([labels.index(1)])) if 1 in labels else p.take(np.array([0])) * 0.0)
    return joined(said)


def _member(model: Any, kind: type) -> Any:
    """The committee of a member."""
    try:
        found = committee_in(model, "ONNX")
    except TypeError as error:
        raise TypeError(
            f"a voter is a {type(model).__name__}, which has no nodes in ONNX here; voters must be learners of this "
            "library, or ensembles of others that Committee.from_estimator knows."
        ) from error
    if not isinstance(found, kind):
        raise TypeError(f"a voter is a {type(model).__name__}, which is no {kind.__name__}.")
    return found


def _weighted_sum(votes: list[Value], weights: F64) -> Value:
    """Sum of votes ``(n, D)``, in their order."""
    counted = [(vote, weight) for vote, weight in zip(votes, weights.tolist(), strict=True) if weight != 0.0]
    total = votes[0] * 0.0
    for vote, weight in counted:
        total = total + vote * weight
    return total


def _into_scores(said: list[Value], weights: F64, output: Any, n_outputs: int) -> Value:
    """Sum of numbers ``(n, 1)``, each in a score of its own."""
    into = np.zeros((len(said), n_outputs))
    into[np.arange(len(said)), output] = weights
    return joined(said) @ into
