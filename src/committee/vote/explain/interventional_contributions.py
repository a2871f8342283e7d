"""Additive shares of the score of plain trees beside background rows: interventional Shapley values.

What a feature is worth if it is known is its value in the row; if not, its value in a row of the background, whatever
the other features are. With z a background row and [x_S, z] the row that has the features S of x and all others of z,

    v(S) = mean over z of F([x_S, z]),

and the shares are Shapley's of this game. Nothing goes to a feature that F does not look at, however much it goes along
with others that F does look at: that is what parts them from the shares over the training rows, where features that are
known tell of those that are not [1]_ [2]_. The kernel has them exactly, categories, missing values and lines included.

.. [1] D. Janzing, L. Minorics, P. Bloebaum (2020). Feature relevance quantification in explainable AI: a causal
   problem. AISTATS.
.. [2] S. Lundberg et al. (2020). From local explanations to global understanding with explainable AI for trees. Nature
   Machine Intelligence 2, 56-67.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from committee import _core
from committee.data.number_types import F64
from committee.vote.explain.tree_scores import Output, TreeScores
from committee.voters.linear_leaves import LinearLeaves

_NO_LINES = (
    np.empty(0, dtype=np.int64),
    np.empty(0, dtype=np.int32),
    np.empty((0, 1)),
    np.empty((0, 1)),
    np.empty(0),
    np.empty(0),
)


def interventional_contributions(
    committee: Any, X: Any, background: Any, *, output: Output = "score", n_threads: int = 1
) -> F64:
    """Contribution of every feature to the score of rows, beside rows of a background.

    Each of n rows is walked with each of m background rows through every tree: the time grows with n times m, and a
    background of some hundred rows, drawn from the training table, is customary. Rows of the background that go the
    same ways through a tree are walked once.

    Parameters
    ----------
    committee : Committee, RegressionCommittee or fitted learner
        Its voters are native trees; they need no record of their training rows.
    X : table or array-like (n, p)
        Rows to explain.
    background : table or array-like (m, p)
        Rows that features have their values of where they are not known; one or more.
    output : {"score", "probability", "prediction"}, default="score"
        As in `tree_contributions`.
    n_threads : int, default=1
        Ceiling on the number of threads; the result does not depend on it.

    Returns
    -------
    float64 array
        As that of `tree_contributions`; the last place is the mean of the background's scores.

    Raises
    ------
    TypeError
        If the voters are no native trees, or `X` is sparse.
    ValueError
        If there is no background row, the columns are not those the trees were trained on, or the committee's `output`
        is no sum over its trees.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import AdaBoostClassifier
    >>> from committee.vote.explain.interventional_contributions import interventional_contributions
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=20, max_depth=2).fit(X, y)
    >>> shares = interventional_contributions(model, X, X[:100])
    >>> bool(abs(shares.sum(axis=1) - model.decision_function(X)).max() < 1e-9)
    True
    >>> bool(abs(shares[0, -1] - model.decision_function(X[:100]).mean()) < 1e-9)
    True
    """
    trees = TreeScores.of(committee, X, output, recorded=False)
    refuse_no_rows(background)
    rows, others = trees.votes.encode(X), trees.votes.encode(background)
    voters = trees.votes.voters
    lines = voters.lines.arrays if isinstance(voters, LinearLeaves) else _NO_LINES
    shares = _core.interventional_contributions(
        rows, others, *trees.forest.walk_arrays, trees.value, trees.weights, trees.n_outputs, *lines, n_threads
    )
    shares[:, -1] += trees.intercept
    return shares[:, :, 0] if trees.n_outputs == 1 else shares


def refuse_no_rows(background: Any) -> None:
    """Raise ``ValueError`` for a background without a row."""
    if not len(background):
        raise ValueError("background has 0 rows; give one or more, such as 100 of the training table")
