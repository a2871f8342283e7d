"""What two features add to the score of plain trees together: Shapley interaction values over the training rows.

With v(S) the mean score where the features S are known, as in `tree_contributions`, features i and j have the

    phi_ij = 1/2 sum over S without i, j of |S|! (p - |S| - 2)! / (p - 1)! [v(S, i, j) - v(S, i) - v(S, j) + v(S)] [1]_,

half of what they add together beyond what each adds alone; phi_ii is what is left of feature i's Shapley value, so that
row i adds up to it.

.. [1] K. Fujimoto, I. Kojadinovic, J.-L. Marichal (2006). Axiomatic characterizations of probabilistic and
   cardinal-probabilistic interaction indices. Games and Economic Behavior 55, 72-99. Halved, as S. Lundberg et al.
   (2020) do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from committee import _core
from committee.data.number_types import F64
from committee.vote.explain.tree_scores import Output, TreeScores
from committee.voters.linear_leaves import LinearLeaves

MOST_LEAVES = 64
"""Of a tree: the pairs of features on the ways to its leaves are gone through one by one."""


def tree_interactions(committee: Any, X: Any, *, output: Output = "score", n_threads: int = 1) -> F64:
    """Interaction of every two features in the score of a committee of trees, or in its mean.

    Parameters
    ----------
    committee : Committee, RegressionCommittee or fitted learner
        Its voters are native trees of at most 64 leaves, with the weights of the training rows in their nodes.
    X : table or array-like (n, p)
        Rows to explain; the result holds n p^2 numbers for each output.
    output : {"score", "probability", "prediction"}, default="score"
        As in `tree_contributions`.
    n_threads : int, default=1
        Ceiling on the number of threads; the result does not depend on it.

    Returns
    -------
    float64 array
        ``(n, p, p)`` where the output is one number, else ``(n, p, p, D)``: symmetric, and ``sum(axis=2)`` is
        ``tree_contributions(...)[:, :-1]``. What a leaf's line adds stands on the diagonal.

    Raises
    ------
    TypeError
        If the voters are no native trees, or `X` is sparse.
    ValueError
        If a tree has more than 64 leaves, or as `tree_contributions`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import AdaBoostClassifier
    >>> from committee.vote.explain.tree_contributions import tree_contributions
    >>> from committee.vote.explain.tree_interactions import tree_interactions
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=20, max_depth=2).fit(X, y)
    >>> pairs = tree_interactions(model, X)
    >>> pairs.shape, bool(abs(pairs.sum(axis=2) - tree_contributions(model, X)[:, :-1]).max() < 1e-9)
    ((569, 30, 30), True)
    """
    trees = TreeScores.of(committee, X, output, recorded=True)
    leaves = np.add.reduceat(trees.forest.feature < 0, trees.forest.offset[:-1])
    if leaves.max(initial=0) > MOST_LEAVES:
        raise ValueError(
            f"tree {int(leaves.argmax())} has {leaves.max():,} leaves, and interactions are of trees of at most"
            f" {MOST_LEAVES}; fit with max_leaf_nodes={MOST_LEAVES} or less, or take contributions"
        )
    data = trees.votes.encode(X)
    walk, record = trees.forest.walk_arrays, trees.forest.weight
    pairs = _core.tree_interactions(data, *walk, record, trees.value, trees.weights, trees.n_outputs, n_threads)
    pairs += pairs.swapaxes(1, 2).copy()
    shares = _core.tree_contributions(data, *walk, record, trees.value, trees.weights, trees.n_outputs, n_threads)
    alone = shares[:, :-1] - pairs.sum(axis=2)
    voters = trees.votes.voters
    if isinstance(voters, LinearLeaves):
        alone += voters.line_shares(data, trees.weights, n_threads)
    own = np.arange(pairs.shape[1])
    pairs[:, own, own] = alone
    return pairs[..., 0] if trees.n_outputs == 1 else pairs
