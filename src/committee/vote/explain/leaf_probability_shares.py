"""Shares of the features in the probabilities of soft model trees.

A leaf's linear score goes through a link before the trees' probabilities are averaged. What a leaf says of its training
rows on the whole is P_l, the link of its score at their mean design row c_l. Then, with the leaf l of a row,

    P(x) = P_l  +  [link(a_l + b_l . d) - link(a_l + b_l . c_l)] .

The first is a tree with numbers in its leaves, whose Shapley values are exact (`tree_contributions`); those of a sum of
trees are the sums of them. The bracket is what the leaf's line adds for this row; it goes to the columns that the line
is along, as the line's terms b_lc (d_c - c_lc) carried through the link (`carried_shares`).
"""

from __future__ import annotations

import numpy as np

from committee import _core
from committee.data.number_types import F64
from committee.vote.explain.carried_shares import carried_shares
from committee.vote.explain.contributions import record_of
from committee.vote.links.probability import Link, Logistic, Probit
from committee.voters.model_forest import ModelForest

_BLOCK = 1 << 20
"""Numbers of one block of rows."""


def leaf_probability_shares(voters: ModelForest, X: F64, weights: F64, n_threads: int = 1) -> F64:
    """Share of every feature in the weighted sum of soft model trees' probabilities.

    Parameters
    ----------
    voters : ModelForest
        One tree each, with their training record.
    X : float64 array (n, p)
        Encoded rows.
    weights : float64 array (T,)
        Weight of each tree.
    n_threads : int, default=1
        Threads of the kernels; the result does not depend on it.

    Returns
    -------
    float64 array (n, p + 1, K)
        The last place is the sum for a row of which nothing is known, in the weights of the training rows. The sum over
        the places is ``voters.tally(X, weights)``.

    Raises
    ------
    ValueError
        If the voters have no training record.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from committee import SBPMTClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> committees = SBPMTClassifier(3, random_state=0).fit(X, y).committee_.voters
    >>> share = committees.tree_shares(np.ones(3))
    >>> parts = leaf_probability_shares(committees.members, X, share)
    >>> bool(abs(parts.sum(axis=1) - committees.members.tally(X, share)).max() < 1e-12)
    True
    """
    record = record_of(voters)
    link: Link = Probit() if voters.link == "probit" else Logistic(scale=1.0)
    at_centre = voters.intercept + np.einsum("lkc,lc->lk", voters.coefficient, record.centre)
    K, leaf = voters.n_classes, voters.model >= 0
    value = np.zeros((len(leaf), K))
    value[leaf] = link.probability(at_centre[voters.model[leaf]])
    total = _core.tree_contributions(
        X, *voters.forest.walk_arrays, cover(voters, record.mass), value, weights, K, n_threads
    )
    node, first_node = voters.forest.apply(X, n_threads), voters.forest.offset
    step = max(1, _BLOCK // (X.shape[1] * (K + at_centre.shape[1])))
    for begin in range(0, len(X), step):
        rows = slice(begin, begin + step)
        D = voters.design.matrix(X[rows])
        for t, weight in enumerate(weights.tolist()):
            models = voters.model[first_node[t] : first_node[t + 1]]
            terms = np.flatnonzero(voters.coefficient[models[models >= 0]].any(axis=(0, 1)))
            if not len(terms):  # constants
                continue
            features, place = np.unique(voters.design.source[terms], return_inverse=True)
            at = models[node[rows, t]]
            shares = np.zeros((len(D), len(features) + 1, at_centre.shape[1]))
            shares[:, -1] = at_centre[at]
            for c, j in zip(terms.tolist(), place.tolist(), strict=True):
                shares[:, j] += voters.coefficient[at, :, c] * (D[:, c] - record.centre[at, c])[:, None]
            total[rows, features] += weight * carried_shares(link, shares, 1.0)[:, :-1]
    return total


def cover(voters: ModelForest, mass: F64) -> F64:
    """Weight of the training rows in every node, in the user's weights and not those that the trees were boosted by."""
    forest, cover = voters.forest, np.zeros(len(voters.model))
    leaf = voters.model >= 0
    cover[leaf] = mass[voters.model[leaf]]
    first = np.repeat(forest.offset[:-1], np.diff(forest.offset))
    for i in np.flatnonzero(~leaf)[::-1].tolist():  # children have larger numbers than their parent
        child = first[i] + forest.left[i]
        cover[i] = cover[child] + cover[child + 1]
    return cover
