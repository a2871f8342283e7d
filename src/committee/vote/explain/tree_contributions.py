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

from typing import Any

from committee import _core
from committee.data.number_types import F64
from committee.vote.explain.tree_scores import Output, TreeScores
from committee.voters.linear_leaves import LinearLeaves


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
    trees = TreeScores.of(committee, X, output, recorded=True)
    data = trees.votes.encode(X)
    walk, record = trees.forest.walk_arrays, trees.forest.weight
    shares = _core.tree_contributions(data, *walk, record, trees.value, trees.weights, trees.n_outputs, n_threads)
    voters = trees.votes.voters
    if isinstance(voters, LinearLeaves):
        shares[:, :-1] += voters.line_shares(data, trees.weights, n_threads)
    shares[:, -1] += trees.intercept
    return shares[:, :, 0] if trees.n_outputs == 1 else shares
