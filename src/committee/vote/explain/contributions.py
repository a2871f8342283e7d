"""Additive shares of the score of model trees: what each feature of a row adds to the mean over training rows.

Let leaf l have the linear score a_l + b_l . d, d a design row, and let c_l be the mean design row of the training
rows in it. The mean score of the leaf is s_l = a_l + b_l . c_l, and that of a node, v, the mean of s over the leaves
below it, each with the weight of its training rows. For a row that goes root = n_0, n_1, ..., n_D = leaf l,

    F(x) = v(root)  +  sum_d [v(n_d) - v(n_(d-1))]  +  sum_c b_lc (d_c - c_lc)
           bias        the path                        the linear part

Each bracket goes to the feature that n_(d-1) splits on, each design column c to the feature it is made of. Nothing
is approximated or sampled. The mean of every feature's contribution over the training rows is 0, in each leaf for the
linear part and at each node for the path; the bias is their mean score.
"""

from __future__ import annotations

import numpy as np

from committee.data.number_types import F64
from committee.voters.model_forest import ModelForest
from committee.voters.training_record import TrainingRecord

_BLOCK = 1 << 17
"""Numbers of one block of rows: what a tree adds to stays in cache."""


def contributions(voters: ModelForest, X: F64, weights: F64, n_threads: int = 1) -> F64:
    """Contribution of every feature to the weighted sum of the trees' scores.

    Parameters
    ----------
    voters : ModelForest
        With its training record.
    X : float64 array (n, p)
        Encoded rows.
    weights : float64 array (T,)
        Weight of each voter's score.
    n_threads : int, default=1
        Threads that find the leaves; the result does not depend on it.

    Returns
    -------
    float64 array (n, p + 1) for two classes, else (n, p + 1, K)
        The last place is the bias. The sum over the places is ``sum_t weights[t] * scores[t]``.

    Raises
    ------
    ValueError
        If the voters have no training record.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import ProbitModelTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = ProbitModelTreeClassifier().fit(X, y)
    >>> C = tree.contributions(X[:3])
    >>> bool(abs(C.sum(axis=1) - tree.committee_.voters.scores(X[:3])[:, 0, 0]).max() < 1e-9)
    True
    """
    centre, per_voter = record_of(voters).centre, voters.trees_per_voter
    n_outputs = voters.intercept.shape[1] * per_voter
    D, p = voters.design.matrix(X), voters.n_features
    leaf = voters.forest.apply(X, n_threads)
    linear = np.zeros((len(X), n_outputs, D.shape[1]))
    rest = np.zeros((len(X), n_outputs, p + 1))
    step = max(1, _BLOCK // (n_outputs * D.shape[1]))
    for t in range(len(voters.forest)):
        outputs = slice(None) if per_voter == 1 else slice(t % per_voter, t % per_voter + 1)
        weight = weights[t // per_voter]
        path, model = weight * _path_shares(voters, t), voters.model[_nodes(voters, t)]
        for begin in range(0, len(X), step):
            block = slice(begin, begin + step)
            node = leaf[block, t]
            at = model[node]
            linear[block, outputs] += voters.coefficient[at] * (weight * (D[block] - centre[at]))[:, None, :]
            rest[block, outputs] += path[node]
    # a column of the table has the sum of its design columns: its number, its categories, "was missing"
    for c, j in enumerate(voters.design.source.tolist()):
        rest[:, :, j] += linear[:, :, c]
    return rest[:, 0] if n_outputs == 1 else np.ascontiguousarray(rest.swapaxes(1, 2))


def refuse_output(output: str) -> None:
    """Refuse to share out anything of model trees but their scores.

    Raises
    ------
    ValueError
        If `output` is not "score".
    """
    if output != "score":
        raise ValueError(
            f"output={output!r} of model trees is no sum over columns, as their scores go through a link first; take "
            "'score'."
        )


def record_of(voters: ModelForest) -> TrainingRecord:
    """Return what model trees know of their training rows.

    Raises
    ------
    ValueError
        If they know nothing.
    """
    if voters.record is None:
        raise ValueError("These model trees hold no record of their training rows, which contributions need; fit anew.")
    return voters.record


def _nodes(voters: ModelForest, tree: int) -> slice:
    return slice(int(voters.forest.offset[tree]), int(voters.forest.offset[tree + 1]))


def node_means(voters: ModelForest, tree: int) -> F64:
    """Mean score v of every node of a tree over its training rows, ``(nodes, O)``."""
    record, nodes = record_of(voters), _nodes(voters, tree)
    left, model = voters.forest.left[nodes].tolist(), voters.model[nodes]
    leaves = np.flatnonzero(model >= 0)
    at = model[leaves]
    mean, weight = np.zeros((len(left), voters.intercept.shape[1])), np.zeros(len(left))
    mean[leaves] = voters.intercept[at] + np.einsum("lkc,lc->lk", voters.coefficient[at], record.centre[at])
    weight[leaves] = record.mass[at]
    for i in reversed(range(len(left))):  # children have larger numbers than their parent
        if (a := left[i]) >= 0:
            weight[i] = weight[a] + weight[a + 1]
            mean[i] = mean[a] + weight[a + 1] / weight[i] * (mean[a + 1] - mean[a])
    return mean


def _path_shares(voters: ModelForest, tree: int) -> F64:
    """Share of each feature in the path to every node, and last the root's mean: ``(nodes, O, p + 1)``."""
    mean, nodes = node_means(voters, tree), _nodes(voters, tree)
    share = np.zeros((*mean.shape, voters.n_features + 1))
    share[0, :, -1] = mean[0]
    for i, (a, j) in enumerate(
        zip(voters.forest.left[nodes].tolist(), voters.forest.feature[nodes].tolist(), strict=True)
    ):
        for child in (a, a + 1) if a >= 0 else ():
            share[child] = share[i]
            share[child, :, j] += mean[child] - mean[i]
    return share
