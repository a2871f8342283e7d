"""Level-wise optimisation and pruning (LOP), as its paper describes it: a rival for `bench_pruning`.

L. Devos, T. Martens, D. Oruc, W. Meert, H. Blockeel, J. Davis (2025). Compressing tree ensembles through level-wise
optimization and pruning. ICML, PMLR 267:13419. From the roots down, all sub-trees whose roots are at one level are
weighed at once: what the sub-tree n says, v_n, becomes c_n v_n + b_n by a logistic regression with an L1 penalty on
all c and b; a sub-tree with c_n = 0 becomes a leaf that says b_n, and a tree whose root does is gone. The paper does
this twice. Its program is published as a binary alone, so that what it leaves open is decided here: leaves above a
level keep a coefficient of what they say; several classes have a regression each against the others, and a sub-tree
goes where none of them needs it. The penalty is the one of least log loss on rows that neither the ensemble nor the
weights have seen: those that a second ensemble of the same kind was trained without.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from benchmarks.cut_trees import F64, CutTrees, Index, signs
from committee.learners.reweighting.leaf_cuts import TreeNodes

ROUNDS = 2
STRENGTHS = (1e3, 1e2, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
"""C to choose from, the rows' weight beside the penalty; falling."""


def lop(nodes: TreeNodes, votes: F64, leaf: Index, y: Index, n_classes: int, C: float) -> CutTrees:
    """The trees cut and weighed anew.

    Parameters
    ----------
    nodes : TreeNodes
        Of T trees.
    votes : float64 array (N, D)
        What the nodes say.
    leaf : intp array (n, T)
        Leaves of the training rows.
    y : intp array (n,)
        Class numbers.
    n_classes : int
        K.
    C : float
        How much the rows count beside the penalty.
    """
    return _Levels(nodes, votes).cut(leaf, signs(y, n_classes), C)


class _Levels:
    """Trees while they are cut and weighed, a level after the other."""

    def __init__(self, nodes: TreeNodes, votes: F64) -> None:
        self.nodes = nodes
        self.depth = np.zeros(len(nodes), dtype=np.intp)
        for children, parents in nodes.downwards():
            self.depth[children] = self.depth[parents] + 1
        self.tree = np.repeat(np.arange(len(nodes.offset) - 1), np.diff(nodes.offset))
        self.split = nodes.left >= 0
        self.value = votes.copy()
        self.intercept = np.zeros(votes.shape[1])
        self.stands = np.arange(len(nodes), dtype=np.intp)

    def cut(self, leaf: Index, label: F64, C: float) -> CutTrees:
        """All levels, `ROUNDS` times."""
        for _ in range(ROUNDS):
            for level in range(int(self.depth.max()) + 1):
                if level and not (self.split & (self.depth == level)).any():
                    continue  # nothing is left to cut here
                self._weigh(leaf, label, C, level)
        size = self.nodes.n_left(self.split) - int((~self.split[self.nodes.offset[:-1]]).sum())
        return CutTrees(self.stands, self.value, self.intercept, size, "log-odds")

    def _weigh(self, leaf: Index, label: F64, C: float, level: int) -> None:
        """Weigh the sub-trees of a level and the leaves above it anew."""
        top = np.arange(len(self.depth), dtype=np.intp)
        for node, parent in self.nodes.downwards():
            below = self.depth[node] > level
            top[node[below]] = top[parent[below]]
        now = self.stands[leaf]
        columns = np.unique(top[now])
        place = np.full(len(top), -1, dtype=np.intp)
        place[columns] = np.arange(len(columns))
        of_row = place[top[now]]
        is_subtree = self.split[columns]
        start = np.arange(0, now.size + 1, now.shape[1])
        ones = sparse.csr_matrix((np.ones(now.size), of_row.ravel(), start), shape=(len(leaf), len(columns)))
        scale, shift = np.zeros((2, len(columns), label.shape[1]))
        for k, target in enumerate(label.T):
            said = sparse.csr_matrix((self.value[now, k].ravel(), of_row.ravel(), start), shape=ones.shape)
            matrix = sparse.hstack([said, ones[:, is_subtree]], format="csr")
            coefficients, self.intercept[k] = _regression(matrix, target > 0.0, C)
            scale[:, k] = coefficients[: len(columns)]
            shift[is_subtree, k] = coefficients[len(columns) :]
        self._apply(columns, place, top, scale, shift)

    def _apply(self, columns: Index, place: Index, top: Index, scale: F64, shift: F64) -> None:
        """Cut the sub-trees that no class needs, and give the leaves of the others what the regression says."""
        gone = columns[self.split[columns] & (scale == 0.0).all(axis=1)]
        self.split[gone] = False
        within = place[top]
        known = within >= 0
        self.value[known] = self.value[known] * scale[within[known]] + shift[within[known]]
        self.value[gone] = shift[place[gone]]
        self.stands = self.nodes.stand_ins(self.split)
        root = self.nodes.offset[:-1]
        constant = root[~self.split[root]]
        self.intercept += self.value[constant].sum(axis=0)
        self.value[constant] = 0.0


def _regression(matrix: sparse.csr_matrix, second: NDArray[np.bool_], C: float) -> tuple[F64, float]:
    """Coefficients and intercept of least |w|_1 + C times the sum of logistic losses."""
    model = LogisticRegression(C=C, l1_ratio=1.0, solver="liblinear", tol=1e-2, max_iter=100, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FutureWarning)
        model.fit(matrix, second)
    return model.coef_[0], float(model.intercept_[0])
