"""Some trees of a forest cut to a limit of nodes, and new votes of all their leaves at once.

The votes are by a logistic regression on those that the trees have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from committee.data.number_types import F64, Index, Mask
from committee.learners.trained.tree_nodes import TreeNodes, leaf_weight, node_votes, shrunk_votes, weakest_links
from committee.voters.forest import Forest

SHRINKAGES = (10.0, 50.0)
"""Versions of the nodes' votes beside their own: shrunk as if each node had these many rows of its parent's vote."""

FREEDOM = 10.0
"""Standard deviation of the columns that hold the trees' own scores: their coefficients are hardly penalised."""

TOLERANCE = 1e-8
"""Largest derivative of the mean loss at which a regression ends."""

MOST_STEPS = 200
"""Newton steps of one regression; where leaves tell the rows apart, under wild weights or a wild `C`, none is last."""

WEAKEST, STRONGEST = 1e-150, 1e150
"""Limits of `C` times the rows' weight, whose inverse must be a number too; beyond them votes change no more."""


@dataclass(frozen=True, eq=False)
class LeafRows:
    """Rows in the leaves of T trees."""

    leaf: NDArray[np.signedinteger]
    """``(n, T)``: node of each tree that each row reaches, numbered through all trees."""
    unseen: Mask | None
    """``(n, T)``: trees that have not seen the row, of whose leaves alone it speaks; None: all."""
    y: Index
    """``(n,)``: class numbers."""
    weight: F64 | None
    """``(n,)``: row weights."""

    def __len__(self) -> int:
        return len(self.y)

    def select(self, rows: Index) -> LeafRows:
        """Some of the rows."""
        unseen = None if self.unseen is None else self.unseen[rows]
        weight = None if self.weight is None else self.weight[rows]
        return LeafRows(self.leaf[rows], unseen, self.y[rows], weight)


@dataclass(frozen=True, eq=False)
class LeafCut:
    """Some trees of a forest, cut to a limit of nodes."""

    n_classes: int
    """Number of classes."""
    trees: Index
    """``(K,)``: numbers of the trees."""
    stands: Index
    """``(N,)``: node that stands for each node of the forest."""
    votes: F64
    """``(N, V)``: versions of the votes of the forest's nodes, times the weight of their tree."""
    n_nodes: int
    """Nodes that are left."""

    def design(self, rows: LeafRows) -> LeafDesign:
        """The rows' columns in a regression on the leaves."""
        unseen = None if rows.unseen is None else rows.unseen[:, self.trees]
        return LeafDesign(self.stands[rows.leaf[:, self.trees]], unseen, self.votes)

    def judges(self, rows: LeafRows) -> Mask:
        """Rows that at least one of the trees has not seen, ``(n,)``."""
        if rows.unseen is None:
            return np.ones(len(rows), dtype=bool)
        return np.asarray(rows.unseen[:, self.trees].any(axis=1))

    def refit(self, rows: LeafRows, C: float, tol: float = TOLERANCE) -> F64:
        """New votes of the nodes ``(N, D)``; rows that all of the trees have seen have no part in them."""
        rows = rows.select(np.flatnonzero(self.judges(rows)))
        return refit_leaves(self.design(rows), rows.y, self.n_classes, C, rows.weight, tol)


@dataclass(frozen=True, eq=False)
class LeafCutter:
    """Cuts of one forest of T trees and N nodes, which share its votes and weights."""

    forest: Forest
    """The trees."""
    mass: F64
    """``(N,)``: training weight of the leaves."""
    votes: F64
    """``(N, V)``: versions of the nodes' votes, times their tree's weight: their own, and shrunk by `SHRINKAGES`."""

    @classmethod
    def of(cls, forest: Forest, weights: F64) -> LeafCutter:
        """The cutter of trees with weights ``(T,)`` in their committee."""
        nodes = TreeNodes.of(forest)
        own, mass = node_votes(forest, nodes), leaf_weight(forest, nodes)
        weight = nodes.upwards(mass)
        versions = [own, *(shrunk_votes(own, weight, nodes, strength) for strength in SHRINKAGES)]
        return cls(forest, mass, np.hstack(versions) * np.repeat(weights, forest.n_nodes)[:, None])

    def cut(self, order: Index, max_nodes: int, growth: float) -> LeafCut:
        """Cut the first trees of an order, those that have `growth` times `max_nodes` nodes together, to `max_nodes`.

        Their weakest sub-trees go, by the votes of their leaves and the rows that made them; no label is looked at, so
        that a cut can be judged by any rows. With `growth` 1 the trees stay whole, but for a first one that is too
        large alone.
        """
        trees = order[: trees_within(self.forest.n_nodes[order], max_nodes, growth)]
        part = self.forest[trees]
        # the place in the whole forest of each of the part's nodes
        numbers = np.arange(part.offset[-1]) + np.repeat(self.forest.offset[trees] - part.offset[:-1], part.n_nodes)
        nodes = TreeNodes.of(part)
        own = self.votes[numbers, : self.votes.shape[1] // (1 + len(SHRINKAGES))]
        local = nodes.stand_ins(weakest_links(nodes, own, self.mass[numbers], max_nodes))
        stands = np.arange(len(self.mass))
        stands[numbers] = numbers[local]
        n_nodes = int((local == np.arange(len(local))).sum())
        return LeafCut(self.forest.n_classes, trees, stands, self.votes, n_nodes)


def trees_within(n_nodes: NDArray[np.int64], max_nodes: int, growth: float) -> int:
    """Number of first trees that have at most `growth` times `max_nodes` nodes together; one, if the first has more.

    No more than `max_nodes`, as every tree keeps its root.
    """
    within = int(np.searchsorted(np.cumsum(n_nodes), growth * max_nodes, side="right"))
    return min(max(1, within), max_nodes)


# -- new votes of the leaves --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LeafDesign:
    """Columns of a logistic regression on leaves.

    Row i speaks of the trees A_i alone: all, or those that have not seen it. To a tree that was grown on it the row is
    no evidence, as its leaf agrees with its label whatever the label is. The columns are

    - an indicator for each leaf l of each tree t, sqrt(K) / |A_i| where t in A_i and i reaches l;
    - the means over A_i of the trees' votes as they are, in each of the versions in `votes`, at a large scale.

    So the score of a row is a mean over A_i of leaves' votes, each a combination of its given versions and a deviation
    of its own. A new row is unseen by all K trees, and its score the mean over these: dividing by |A_i| puts training
    rows on the same scale.
    """

    leaf: NDArray[np.signedinteger]
    """``(n, K)``: node that row i reaches in tree t, numbered through all trees."""
    unseen: Mask | None
    """``(n, K)``: A_i; None: all."""
    votes: F64
    """``(N, V)``: versions of the nodes' votes, V = versions x D."""

    @property
    def share(self) -> F64:
        """1 / |A_i| for the trees in A_i, else 0; ``(n, K)``."""
        if self.unseen is None:
            return np.full(self.leaf.shape, 1.0 / self.leaf.shape[1])
        share: F64 = self.unseen / np.maximum(self.unseen.sum(axis=1, keepdims=True), 1)
        return share

    def indicators(self, column: Index, n_columns: int) -> sparse.csr_matrix:
        """The leaves' columns; `column` has the number of each node's, -1 for none."""
        # sqrt(K): the indicators of a row have norm 1 or so, and C one meaning, however many trees there are
        share = self.share * np.sqrt(self.leaf.shape[1])
        place = column[self.leaf]
        there = (share > 0.0) & (place >= 0)
        ends = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
        return sparse.csr_matrix((share[there], place[there], ends), shape=(len(place), n_columns))

    def score(self, value: F64) -> F64:
        """Mean over the trees in A_i of the values ``(N, D)`` of their leaves, ``(n, D)``."""
        share = self.share
        return np.stack([np.einsum("it,it->i", share, column[self.leaf]) for column in value.T], axis=1)


def refit_leaves(
    design: LeafDesign, y: Index, n_classes: int, C: float, sample_weight: F64 | None = None, tol: float = TOLERANCE
) -> F64:
    """Return the votes ``(N, D)`` of all nodes of K trees that are likeliest on these rows, each unseen by some tree.

    With f_i the score of row i by `LeafDesign`, least

        C sum_i w_i log(1 + exp(-y_i f_i)) + |deviations|^2 / 2 + |coefficients of versions|^2 / 2,

    for more than two classes each of them against the rest (D = K, else 1). Penalised are the leaves' deviations from
    their trees' votes, not the votes: without evidence a leaf keeps its say. The mean of the votes over the trees is
    the score; the intercept is among them. The solver ends where no derivative of the mean
    loss exceeds `tol`.

    References
    ----------
    S. Ren, X. Cao, Y. Wei, J. Sun (2015). Global refinement of random forest. CVPR (there on rows that all trees have
    seen, with a penalty on the votes themselves).
    """
    # a leaf that no row speaks of has no column: nothing tells it to deviate
    used = np.zeros(len(design.votes), dtype=bool)
    used[design.leaf if design.unseen is None else design.leaf[design.unseen]] = True
    n_used = int(used.sum())
    column = np.full(len(used), -1, dtype=np.intp)
    column[used] = np.arange(n_used)
    leaves = design.indicators(column, n_used)

    # the versions' scores, scaled to a large spread, so that the penalty hardly touches their coefficients;
    # a version of no spread (a forest of stubs) says nothing beside the intercept
    means = design.score(design.votes)
    centre = np.average(means, axis=0, weights=sample_weight)
    spread = np.sqrt(np.average((means - centre) ** 2, axis=0, weights=sample_weight))
    scale = np.divide(FREEDOM, spread, out=np.zeros_like(spread), where=spread > 1e-12)

    value = np.empty((len(used), 1 if n_classes == 2 else n_classes))
    for k in range(value.shape[1]):
        is_class = y == (1 if n_classes == 2 else k)
        own = slice(k, None, value.shape[1])  # the versions' votes for this class
        matrix = sparse.hstack([leaves, sparse.csr_matrix(means[:, own] * scale[own])]).tocsr()
        coefficients, intercept = _likeliest(matrix, is_class, C, sample_weight, tol)
        # back from columns to votes: as every tree has one leaf in the mean, the intercept may be added to each leaf
        value[:, k] = design.votes[:, own] @ (scale[own] * coefficients[n_used:]) + intercept
        value[used, k] += np.sqrt(design.leaf.shape[1]) * coefficients[:n_used]
    return value


def _likeliest(
    matrix: sparse.csr_matrix, is_class: Mask, C: float, sample_weight: F64 | None, tol: float
) -> tuple[F64, float]:
    """Coefficients and intercept of one logistic regression."""
    if is_class.all() or not is_class.any():
        # as likely as if half a row were of the other kind
        return np.zeros(matrix.shape[1]), float(np.log(2.0 * len(is_class)) * (1 if is_class.all() else -1))
    # the intercept is a column too, and hardly penalised
    constant = sparse.csr_matrix(np.full((matrix.shape[0], 1), FREEDOM))
    wide = sparse.hstack([matrix, constant]).tocsr()
    # every step is Python's, so that Ctrl-C ends it; liblinear knows neither that nor, under wild weights, an end
    total = float(len(is_class) if sample_weight is None else sample_weight.sum())
    C = min(max(C, WEAKEST / total), STRONGEST / total)
    model = LogisticRegression(C=C, solver="newton-cg", fit_intercept=False, tol=tol, max_iter=MOST_STEPS)
    model.fit(wide, is_class, sample_weight)
    *coefficients, intercept = model.coef_[0]
    return np.array(coefficients), FREEDOM * float(intercept)
