"""Global refinement and pruning of a forest, as its paper describes them: a rival for `bench_pruning`.

S. Ren, X. Cao, Y. Wei, J. Sun (2015). Global refinement of random forest. CVPR. All leaves' votes are learnt anew at
once, by a linear model on the indicators of leaves whose votes are penalised; then sibling leaves whose votes are the
smallest are joined, and the rest learnt again, over and over. All training rows speak of all trees. The loss is the
logistic one, so that there are probabilities to compare; trees that are cut to their roots are left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from benchmarks.cut_trees import F64, CutTrees, Index
from committee.learners.trained.tree_nodes import TreeNodes

STRENGTHS = (1.0, 10.0, 100.0)
"""C to choose from, at columns scaled to rows of length 1."""
FOLDS = 5
JOINED = 0.5
"""Most of the pairs of sibling leaves that are joined before the votes are learnt again."""


def global_refinement(
    nodes: TreeNodes, leaf: Index, y: NDArray[np.bool_], limits: Sequence[int], C: float
) -> list[CutTrees]:
    """The forest cut to each limit of nodes.

    Parameters
    ----------
    nodes, leaf, y, limits
        As in `forest_prune`.
    C : float
        How much the rows count beside the penalty of the votes.
    """
    stands = np.arange(len(nodes), dtype=np.intp)
    is_leaf = nodes.left < 0
    found = []
    for limit in limits:
        while (cut := _refined(nodes, stands, is_leaf, leaf, y, C)).n_nodes > limit:
            pairs = np.flatnonzero(~is_leaf & (nodes.left >= 0))
            pairs = pairs[is_leaf[nodes.left[pairs]] & is_leaf[nodes.left[pairs] + 1]]
            children = nodes.left[pairs]
            weight = np.abs(cut.value[children]) + np.abs(cut.value[children + 1])
            joined = max(1, min(int(JOINED * len(pairs)), (cut.n_nodes - limit + 1) // 2))
            weakest = pairs[np.argsort(weight, kind="stable")[:joined]]
            becomes = np.arange(len(nodes), dtype=np.intp)
            becomes[nodes.left[weakest]] = becomes[nodes.left[weakest] + 1] = weakest
            stands = becomes[stands]
            is_leaf[nodes.left[weakest]] = is_leaf[nodes.left[weakest] + 1] = False
            is_leaf[weakest] = True
        found.append(cut)
    return found


def chosen_strength(leaf: Index, y: NDArray[np.bool_], n_nodes: int) -> float:
    """C of the least log loss in cross-validation on training rows, before anything is cut."""
    loss = []
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(leaf, y))
    for C in STRENGTHS:
        held = np.empty(len(y))
        for train, test in folds:
            value, intercept = _votes(leaf[train], y[train], np.ones(n_nodes, dtype=bool), C)
            held[test] = value[leaf[test]].sum(axis=1) + intercept
        loss.append(np.logaddexp(0.0, np.where(y, -held, held)).mean())
    return STRENGTHS[int(np.argmin(loss))]


def _refined(
    nodes: TreeNodes, stands: Index, is_leaf: NDArray[np.bool_], leaf: Index, y: NDArray[np.bool_], C: float
) -> CutTrees:
    """Votes of the leaves that are there."""
    leaves = np.add.reduceat(is_leaf.astype(np.intp), nodes.offset[:-1])
    standing = leaves > 1
    may = np.repeat(standing, np.diff(nodes.offset))
    value, intercept = _votes(stands[leaf], y, may, C)
    return CutTrees(stands, value, intercept, int((2 * leaves - 1)[standing].sum()))


def _votes(leaf: Index, y: NDArray[np.bool_], may: NDArray[np.bool_], C: float) -> tuple[F64, float]:
    """Least |w|^2 / 2 + C sum_i log(1 + exp(-y_i w.phi_i)); `may` says which nodes have a column."""
    n, T = leaf.shape
    there = may[leaf]
    used = np.zeros(len(may), dtype=bool)
    used[leaf[there]] = True
    column = np.cumsum(used) - 1
    ends = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    scale = 1.0 / np.sqrt(T)
    value = np.zeros(len(may))
    if not used.any():
        share = y.mean()
        return value, float(np.log(share / (1.0 - share)))
    matrix = sparse.csr_matrix((np.full(ends[-1], scale), column[leaf[there]], ends), shape=(n, int(used.sum())))
    # rows are few beside leaves: the dual program is the small one
    model = LogisticRegression(C=C, solver="liblinear", dual=True, tol=1e-2, max_iter=500, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(matrix, y)
    value[used] = scale * model.coef_[0]
    return value, float(model.intercept_[0])
