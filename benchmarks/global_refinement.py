"""Global refinement and pruning of a forest, as its paper describes them: a rival for `bench_pruning`.

S. Ren, X. Cao, Y. Wei, J. Sun (2015). Global refinement of random forest. CVPR. All leaves' votes are learnt anew at
once, by a linear model on the indicators of leaves whose votes are penalised; then sibling leaves whose votes are the
smallest are joined, and the rest learnt again, over and over. All training rows speak of all trees. The loss is the
logistic one, so that there are probabilities to compare, of each class against the others where there are several;
trees that are cut to their roots are left out.
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

from benchmarks.cut_trees import F64, CutTrees, Index, signs
from committee.learners.reweighting.leaf_cuts import TreeNodes

STRENGTHS = (1.0, 10.0, 100.0)
"""C to choose from, at columns scaled to rows of length 1."""
FOLDS = 3
JOINED = 0.5
"""Most of the pairs of sibling leaves that are joined before the votes are learnt again."""


def global_refinement(
    nodes: TreeNodes, leaf: Index, y: Index, n_classes: int, limits: Sequence[int], C: float
) -> list[CutTrees]:
    """The forest cut to each limit of nodes.

    Parameters
    ----------
    nodes, leaf, y, n_classes, limits
        As in `forest_prune`.
    C : float
        How much the rows count beside the penalty of the votes.
    """
    stands = np.arange(len(nodes), dtype=np.intp)
    is_leaf = nodes.left < 0
    found = []
    label = signs(y, n_classes)
    for limit in limits:
        while (cut := _refined(nodes, stands, is_leaf, leaf, label, C)).n_nodes > limit:
            pairs = np.flatnonzero(~is_leaf & (nodes.left >= 0))
            pairs = pairs[is_leaf[nodes.left[pairs]] & is_leaf[nodes.left[pairs] + 1]]
            children = nodes.left[pairs]
            weight = (np.abs(cut.value[children]) + np.abs(cut.value[children + 1])).sum(axis=1)
            joined = max(1, min(int(JOINED * len(pairs)), (cut.n_nodes - limit + 1) // 2))
            weakest = pairs[np.argsort(weight, kind="stable")[:joined]]
            becomes = np.arange(len(nodes), dtype=np.intp)
            becomes[nodes.left[weakest]] = becomes[nodes.left[weakest] + 1] = weakest
            stands = becomes[stands]
            is_leaf[nodes.left[weakest]] = is_leaf[nodes.left[weakest] + 1] = False
            is_leaf[weakest] = True
        found.append(cut)
    return found


def chosen_strength(leaf: Index, y: Index, n_classes: int, n_nodes: int) -> float:
    """C of the least log loss in cross-validation on training rows, before anything is cut."""
    loss = []
    label = signs(y, n_classes)
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(leaf, y))
    for C in STRENGTHS:
        held = np.empty_like(label)
        for train, test in folds:
            value, intercept = _votes(leaf[train], label[train], np.ones(n_nodes, dtype=bool), C)
            held[test] = value[leaf[test]].sum(axis=1) + intercept
        loss.append(np.logaddexp(0.0, -label * held).mean())
    return STRENGTHS[int(np.argmin(loss))]


def _refined(
    nodes: TreeNodes, stands: Index, is_leaf: NDArray[np.bool_], leaf: Index, label: F64, C: float
) -> CutTrees:
    """Votes of the leaves that are there."""
    leaves = np.add.reduceat(is_leaf.astype(np.intp), nodes.offset[:-1])
    standing = leaves > 1
    may = np.repeat(standing, np.diff(nodes.offset))
    value, intercept = _votes(stands[leaf], label, may, C)
    return CutTrees(stands, value, intercept, int((2 * leaves - 1)[standing].sum()), "log-odds")


def _votes(leaf: Index, label: F64, may: NDArray[np.bool_], C: float) -> tuple[F64, F64]:
    """Least |w|^2 / 2 + C sum_i log(1 + exp(-y_i w.phi_i)); `may` says which nodes have a column."""
    n, T = leaf.shape
    there = may[leaf]
    used = np.zeros(len(may), dtype=bool)
    used[leaf[there]] = True
    column = np.cumsum(used) - 1
    ends = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    scale = 1.0 / np.sqrt(T)
    value, intercept = np.zeros((len(may), label.shape[1])), np.zeros(label.shape[1])
    if not used.any():
        share = (1.0 + label.mean(axis=0)) / 2.0
        return value, np.log(share / (1.0 - share))
    matrix = sparse.csr_matrix((np.full(ends[-1], scale), column[leaf[there]], ends), shape=(n, int(used.sum())))
    # rows are few beside leaves: the dual program is the small one
    model = LogisticRegression(C=C, solver="liblinear", dual=True, tol=1e-2, max_iter=500, random_state=0)
    for k, of_class in enumerate(label.T):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(matrix, of_class > 0.0)
        value[used, k], intercept[k] = scale * model.coef_[0], model.intercept_[0]
    return value, intercept
