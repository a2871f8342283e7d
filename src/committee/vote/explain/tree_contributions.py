"""Additive shares of the score of plain trees: Shapley values over the training rows that reached each node.

Let a feature be known or not. A row that comes to a split on a known feature goes its way; on an unknown one it goes
both ways, in the shares of the training rows. With v(S) the mean score of the leaves that it then reaches when the
features S are known, feature j contributes

    phi_j = sum over S without j of |S|! (p - |S| - 1)! / p! [v(S with j) - v(S)]

to F(x) = v(all) = v(none) + sum_j phi_j [1]_. These are the only shares that add up, treat equal parts equally, give
nothing to a feature that no split is on, and are sums over the trees. The kernel has them exactly, without going
through the sets.

Where leaves have lines, these shares are those of the leaves' weights, and what the lines of the row's own leaf add
beyond the weight goes to the columns that they are along.

.. [1] S. Lundberg et al. (2020). From local explanations to global understanding with explainable AI for trees. Nature
   Machine Intelligence 2, 56-67.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from committee import _core
from committee.data.number_types import F64
from committee.data.sparse import is_sparse
from committee.vote.committee import Committee
from committee.vote.links.mean import Average, Identity
from committee.vote.links.probability import Share
from committee.vote.weighted_votes import WeightedVotes
from committee.voters.forest import Forest
from committee.voters.linear_leaves import LinearLeaves
from committee.voters.rounds import Rounds

Output: TypeAlias = Literal["score", "probability", "prediction"]
"""What contributions add up to."""


def tree_contributions(committee: Any, X: Any, *, output: Output = "score", n_threads: int = 1) -> F64:
    """Contribution of every feature to the score F(x) = F_0 + sum_t w_t h_t(x) of a committee of trees, or to its mean.

    Parameters
    ----------
    committee : Committee, RegressionCommittee or fitted learner
        Its voters are native trees, with the weights of the training rows in their nodes. Trees that vote for classes
        count as what they add to the tally: one, or for two classes -1 and +1.
    X : table or array-like (n, p)
        Rows to explain.
    output : {"score", "probability", "prediction"}, default="score"
        What is shared out. "probability": the mean of the trees' class shares, for committees that average
        (`Share`). A temperature comes after the mean, and its probabilities are no sum over trees: it is left out.
        "prediction": the number predicted, where it is a sum or a mean of the trees' (`Identity`, `Average`).
    n_threads : int, default=1
        Ceiling on the number of threads; the result does not depend on it.

    Returns
    -------
    float64 array
        ``(n, p + 1)`` where F is one number, else ``(n, p + 1, D)``; of probabilities always ``(n, p + 1, K)``.
        Features in order, and last what is expected of a row of which nothing is known: the intercept and the mean
        over the training rows, in the weights that the trees were grown with. The sum over the places is
        ``decision_function(X)``, ``predict_proba(X)`` of the committee without temperature, or ``predict(X)``.

    Raises
    ------
    TypeError
        If the voters are no native trees, or `X` is sparse.
    ValueError
        If the trees hold no record of their training rows, `X` does not have the columns they were trained on, or
        the committee's `output` is no sum over its trees.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import AdaBoostClassifier
    >>> from committee.vote.explain.tree_contributions import tree_contributions
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=20, max_depth=2).fit(X, y)
    >>> shares = tree_contributions(model, X)
    >>> shares.shape, bool(abs(shares.sum(axis=1) - model.decision_function(X)).max() < 1e-9)
    ((569, 31), True)
    """
    votes: WeightedVotes = getattr(committee, "committee_", committee)
    voters = votes.voters
    if not isinstance(voters, (Forest, Rounds, LinearLeaves)):
        raise TypeError(f"contributions need voters that are native trees; these are {type(voters).__name__}.")
    if is_sparse(X):
        raise TypeError("X is sparse, but its contributions would not be; pass X.toarray(), of some rows if need be")
    forest = voters if isinstance(voters, Forest) else voters.forest
    if not forest.weight[forest.offset[:-1]].all():
        raise ValueError("These trees hold no record of their training rows, which contributions need; fit anew.")
    total = None if output == "score" else _divisor(votes, forest, output)
    signed = output == "score" and isinstance(votes, Committee) and votes.n_classes == 2
    value = _class_shares(forest) if output == "probability" else _signed(_leaf_values(forest), signed)
    n_outputs = value.shape[1] if isinstance(voters, Forest) else voters.n_outputs
    weights = votes.weights if total is None else votes.weights / total
    data = votes.encode(X)
    shares = _core.tree_contributions(data, *forest.walk_arrays, forest.weight, value, weights, n_outputs, n_threads)
    if isinstance(voters, LinearLeaves):
        shares[:, :-1] += voters.line_shares(data, weights, n_threads)
    if votes.intercept is not None:
        shares[:, -1] += _signed(votes.intercept[None] / (total or 1.0), signed)
    return shares[:, :, 0] if n_outputs == 1 else shares


def _divisor(votes: WeightedVotes, forest: Forest, output: Output) -> float:
    """By what the score is divided to become the output, which must be such a quotient."""
    link, total = votes.link, votes.total_weight
    if output not in ("probability", "prediction"):
        raise ValueError(
            f"output={output!r} is unknown; it must be 'score', of classifiers 'probability', or of regressors "
            "'prediction'."
        )
    if isinstance(votes, Committee):
        own, kind = "probability", "classifier"
        abstains = forest.label is not None and (forest.label[forest.feature < 0] < 0).any()
        adds_up = isinstance(link, Share) and not abstains and total > 0.0
    else:
        own, kind = "prediction", "regressor"
        adds_up = isinstance(link, (Identity, Average))
    if output == own and adds_up:
        return 1.0 if isinstance(link, Identity) else total
    if output != own:
        raise ValueError(f"output={output!r} is not what a {kind} has; take 'score'" + f" or {own!r}." * adds_up)
    raise ValueError(
        f"output={output!r} of {votes} is no sum over its trees, so that no contributions add up to it; those of "
        "output='score' add up to the score."
    )


def _class_shares(forest: Forest) -> F64:
    """Vote of every node as shares of the classes, ``(N, K)``."""
    value = _leaf_values(forest)
    return np.hstack([1.0 - value, 1.0 + value]) / 2.0 if value.shape[1] < forest.n_classes else value


def _leaf_values(forest: Forest) -> F64:
    """Vote of every node in the tally, ``(N, D)``."""
    if forest.value is not None:
        return forest.value
    assert forest.label is not None
    return np.asarray(forest.label[:, None] == np.arange(forest.n_classes), dtype=np.float64)


def _signed(tally: F64, signed: bool) -> F64:
    """Of two classes, second minus first."""
    return np.ascontiguousarray(tally[:, 1:] - tally[:, :1]) if signed and tally.shape[1] == 2 else tally
