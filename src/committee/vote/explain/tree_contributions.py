"""Additive shares of the score of plain trees: Shapley values over the training rows that reached each node.

Let a feature be known or not. A row that comes to a split on a known feature goes its way; on an unknown one it goes
both ways, in the shares of the training rows. With v(S) the mean score of the leaves that it then reaches when the
features S are known, feature j contributes

    phi_j = sum over S without j of |S|! (p - |S| - 1)! / p! [v(S with j) - v(S)]

to F(x) = v(all) = v(none) + sum_j phi_j [1]_. These are the only shares that add up, treat equal parts equally, give
nothing to a feature that no split is on, and are sums over the trees. The kernel has them exactly, without going
through the sets.

.. [1] S. Lundberg et al. (2020). From local explanations to global understanding with explainable AI for trees. Nature
   Machine Intelligence 2, 56-67.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from committee import _core
from committee.data.number_types import F64
from committee.data.sparse import is_sparse
from committee.vote.committee import Committee
from committee.vote.weighted_votes import WeightedVotes
from committee.voters.forest import Forest
from committee.voters.rounds import Rounds


def tree_contributions(committee: Any, X: Any, *, n_threads: int = 1) -> F64:
    """Contribution of every feature to the score F(x) = F_0 + sum_t w_t h_t(x) of a committee of trees.

    Parameters
    ----------
    committee : Committee, RegressionCommittee or fitted learner
        Its voters are native trees, with the weights of the training rows in their nodes. Trees that vote for classes
        count as what they add to the tally: one, or for two classes -1 and +1.
    X : table or array-like (n, p)
        Rows to explain.
    n_threads : int, default=1
        Ceiling on the number of threads; the result does not depend on it.

    Returns
    -------
    float64 array (n, p + 1) where F is one number, else (n, p + 1, D)
        Features in order, and last what is expected of a row of which nothing is known: the intercept and the mean
        score over the training rows, in the weights that the trees were grown with. The sum over the places is
        ``decision_function(X)``.

    Raises
    ------
    TypeError
        If the voters are no native trees, or `X` is sparse.
    ValueError
        If the trees hold no record of their training rows, or `X` does not have the columns they were trained on.

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
    if not isinstance(voters, (Forest, Rounds)):
        raise TypeError(f"contributions need voters that are native trees; these are {type(voters).__name__}.")
    if is_sparse(X):
        raise TypeError("X is sparse, but its contributions would not be; pass X.toarray(), of some rows if need be")
    forest = voters if isinstance(voters, Forest) else voters.forest
    if not forest.weight[forest.offset[:-1]].all():
        raise ValueError("These trees hold no record of their training rows, which contributions need; fit anew.")
    signed = isinstance(votes, Committee) and votes.n_classes == 2
    value = _signed(_leaf_values(forest), signed)
    n_outputs = voters.n_outputs if isinstance(voters, Rounds) else value.shape[1]
    shares = _core.tree_contributions(
        votes.encode(X), *forest.walk_arrays, forest.weight, value, votes.weights, n_outputs, n_threads
    )
    if votes.intercept is not None:
        shares[:, -1] += _signed(votes.intercept[None], signed)
    return shares[:, :, 0] if n_outputs == 1 else shares


def _leaf_values(forest: Forest) -> F64:
    """Vote of every node in the tally, ``(N, D)``."""
    if forest.value is not None:
        return forest.value
    assert forest.label is not None
    return np.asarray(forest.label[:, None] == np.arange(forest.n_classes), dtype=np.float64)


def _signed(tally: F64, signed: bool) -> F64:
    """Of two classes, second minus first."""
    return np.ascontiguousarray(tally[:, 1:] - tally[:, :1]) if signed and tally.shape[1] == 2 else tally
