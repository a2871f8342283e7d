"""Values and lines of leaves: penalised weights, lines along the numbers of a path, and refits on other rows."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from dataclasses import dataclass, replace
from math import inf
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from committee import _core
from committee.data.columns import take_named, warn_of_other_order
from committee.data.matrices import Matrix, SparseMatrix, is_out_of_core
from committee.data.number_types import F64, I32, I64
from committee.data.parallel import n_threads
from committee.data.rows import Offsets, nonzero_weights
from committee.learners.gradient.target import LossBoosting, Target, add_tree, refits
from committee.objectives.losses.base import PlainGradient
from committee.voters.forest import Forest
from committee.voters.rounds import LeafLines, LinearLeaves, Rounds


@dataclass(frozen=True)
class LeafPenalty:
    r"""L0, L1 and L2 penalties of leaf weights, as equations.

    With G and H the sums of gradients and hessians of a leaf's rows, its weight w minimises the quadratic model of the
    loss with the penalties,

        J(w) = G w + H w^2 / 2 + l0 [w != 0] + l1 |w| + l2 w^2 / 2.

    The minimiser of the part without l0 is a soft threshold, and it lowers that part by s:

        w = -sign(G) max(|G| - l1, 0) / (H + l2),    s = max(|G| - l1, 0)^2 / (2 (H + l2)).

    If s <= l0 the leaf abstains with w = 0; its value is V = max(0, s - l0). A split gains V_left + V_right - V_parent.
    With `per_leaf` every leaf costs l0, zero or not, as XGBoost's gamma [1]_: V = s - l0, and no leaf abstains because
    of l0. Several outputs are penalised one by one, and their V added up.

    References
    ----------
    .. [1] T. Chen, C. Guestrin (2016). XGBoost: a scalable tree boosting system. KDD.

    Examples
    --------
    >>> from committee.learners.gradient.leaf_values import LeafPenalty
    >>> penalty = LeafPenalty(l0=0.5, l1=1.0, l2=1.0)
    >>> penalty.weight([-4.0, 2.0, 0.5], [2.0, 2.0, 2.0]).tolist()
    [1.0, 0.0, 0.0]
    """

    l0: float = 0.0
    l1: float = 0.0
    l2: float = 0.0
    per_leaf: bool = False

    def weight(self, G: ArrayLike, H: ArrayLike, lower: float | F64 = -np.inf, upper: float | F64 = np.inf) -> F64:
        """Return the best weight of each leaf within bounds. Equation: leaf-weight (docs/theory.md)."""
        G, H = np.asarray(G, dtype=np.float64), np.asarray(H, dtype=np.float64)
        curvature = H + self.l2
        shrunk = -np.sign(G) * np.maximum(np.abs(G) - self.l1, 0.0)
        w = np.divide(shrunk, curvature, out=np.zeros_like(curvature), where=curvature > 0)
        w = np.asarray(np.clip(w, lower, upper))
        if self.per_leaf:
            return w
        may_abstain = (np.asarray(lower) <= 0.0) & (np.asarray(upper) >= 0.0)
        return np.where(~may_abstain | (-self._smooth(G, H, w) > self.l0), w, 0.0)

    def worth(self, G: ArrayLike, H: ArrayLike, lower: float = -np.inf, upper: float = np.inf) -> F64:
        """Return V = -min J of each leaf, summed over the D outputs of `G` and `H` ``(..., D)``."""
        G, H = np.asarray(G, dtype=np.float64), np.asarray(H, dtype=np.float64)
        w = self.weight(G, H, lower, upper)
        price = self.l0 * (w.shape[-1] if self.per_leaf else np.count_nonzero(w, axis=-1))
        return np.asarray(0.0 - (self._smooth(G, H, w).sum(axis=-1) + price))

    def gain(self, left: tuple[F64, F64], right: tuple[F64, F64]) -> F64:
        """Return the gains of splits into (G, H) and (G, H), each ``(..., D)``.

        Equation: split-gain (docs/theory.md).
        """
        parent = left[0] + right[0], left[1] + right[1]
        return self.worth(*left) + self.worth(*right) - self.worth(*parent)

    def cost(self, weights: F64) -> float:
        w = np.abs(weights)
        counted = w.size if self.per_leaf else np.count_nonzero(w)
        return float(self.l0 * counted + self.l1 * w.sum() + 0.5 * self.l2 * (w**2).sum())

    def _smooth(self, G: F64, H: F64, w: F64) -> F64:
        return np.asarray(G * w + 0.5 * (H + self.l2) * w**2 + self.l1 * np.abs(w))


# --- sums over the rows of leaves ------------------------------------------------------------------------------------


def leaf_terms(gradient: F64, hessian: F64, w: F64 | None) -> F64:
    terms = [*np.atleast_2d(gradient), *np.atleast_2d(hessian)]
    return np.stack(terms if w is None else [*terms, w])


def node_sums(terms: F64, leaf: I32, n_nodes: int) -> F64:
    """Sum terms ``(k, n)`` over the rows of each node, ``(n_nodes, k)``, with the same bits in any order."""
    largest = np.abs(terms).max(axis=1)
    return _core.sums_of_limbs(_core.node_sums(terms, leaf, n_nodes, largest), largest)


def refitted_tree(
    tree: _core.GradientTree, sums: F64, count: NDArray[np.integer], penalty: LeafPenalty, *, weighted: bool
) -> _core.GradientTree:
    """Return the tree with the best leaf values for `leaf_terms` summed by node, ``(N, 2 D)`` or ``(N, 2 D + 1)``."""
    D, left = tree.value.shape[1], tree.left
    best = penalty.weight(sums[:, :D], sums[:, D : 2 * D], tree.bounds[:, :1], tree.bounds[:, 1:])
    value = np.where(tree.feature[:, None] < 0, best, tree.value)
    count, weight = count.copy(), sums[:, 2 * D].copy() if weighted else None
    for i in np.flatnonzero(left >= 0)[::-1].tolist():  # children come after their parent
        children = slice(left[i], left[i] + 2)
        count[i] = count[children].sum()
        if weight is not None:
            weight[i] = weight[children].sum()
    *structure, _, of_growth = tree.nodes()
    nodes = (*structure, count.astype(np.int64), of_growth)
    return _core.GradientTree(nodes, value, tree.bounds, weight)  # type: ignore[arg-type]


# --- lines in leaves --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LineFit:
    r"""Least squares lines in the leaves of a boosting round's trees [1]_.

    A leaf that does not abstain has a slope for every number that the path to it splits on. In the columns u of the
    leaf's rows, centred and scaled by their hessians, the slopes b minimise the quadratic model of the loss with `l2`,

        sum_i [g_i b.u_i + h_i (b.u_i)^2 / 2] + l2 |b|^2 / 2.

    Missing values add nothing, and no line goes on beyond the least and largest value of the leaf's rows. `numeric`
    ``(p,)`` is 1 for columns that lines may use.

    References
    ----------
    .. [1] Y. Shi, J. Li, Z. Li (2019). Gradient boosting with piece-wise linear regression trees. IJCAI.
    """

    numeric: NDArray[np.uint8]
    l2: float

    def _paths(self, tree: _core.GradientTree) -> tuple[I32, I32, NDArray[np.uint8], NDArray[np.uint8]]:
        # leaves that weigh exactly 0 abstain, and have no lines
        return tree.feature, tree.left, np.asarray(tree.value.any(axis=1), dtype=np.uint8), self.numeric

    def sums(
        self, X: F64, tree: _core.GradientTree, leaf: I32, rows: I32 | None, gradient: F64, hessian: F64, n_threads: int
    ) -> _core.LineSums:
        g, h, n = np.atleast_2d(gradient), np.atleast_2d(hessian), int(tree.count[0])
        return _core.LineSums(X, leaf, rows, g, h, *self._paths(tree), n, n_threads)

    def lines(self, tree: _core.GradientTree, largest: F64, weights: I64, products: I64) -> LeafLines:
        """Return the lines of a tree's leaves, given sums over all rows. Equation: leaf-line (docs/theory.md)."""
        n_outputs, n = tree.value.shape[1], int(tree.count[0])
        found = _core.lines_of_sums(*self._paths(tree), n_outputs, n, self.l2, largest, weights, products)
        return LeafLines(*found)


# --- refits of trained boosters ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LeafRefit:
    """Leaf values `decay_rate` * (trained value) + (1 - `decay_rate`) * (value on other rows)."""

    target: Target
    X: Matrix
    penalty: LeafPenalty
    largest: float  # size of a leaf weight
    numeric: NDArray[np.uint8]  # (p,), 1 for columns that lines in leaves may use
    decay_rate: float
    n_threads: int

    def refitted(self, voters: Any, weights: F64, intercept: F64) -> tuple[Any, F64]:
        best = self.target.best_constant(len(intercept))
        intercept = self.decay_rate * intercept + (1.0 - self.decay_rate) * best
        forest: Forest = voters if isinstance(voters, Forest) else voters.forest
        F = self.target.first_scores(intercept)
        gradient, hessian = np.empty_like(F), np.empty_like(F)
        n_trees = len(forest) // len(voters)
        moved: list[tuple[F64, LeafLines | None]] = []
        for t, step in enumerate(weights.tolist()):
            self.target.write_gradients(F, self.target.w, gradient, hessian, self.n_threads)
            trees = forest[t * n_trees : (t + 1) * n_trees]
            leaves = np.ascontiguousarray(trees.apply(self.X, self.n_threads).T)
            for k, leaf in enumerate(leaves):
                scores = slice(None) if F.ndim == 1 or n_trees == 1 else k
                nodes = np.arange(*forest.offset[t * n_trees + k :][:2])
                old = voters.lines.take(nodes) if isinstance(voters, LinearLeaves) else None
                moved.append(self._leaves(trees[k], leaf, gradient[scores], hessian[scores], F, old, k))
            for k, (leaf, move) in enumerate(zip(leaves, moved[-n_trees:], strict=True)):
                add_tree(F, leaf, *move, self.X, step, k, self.n_threads)
        forest = replace(forest, value=np.concatenate([value for value, _ in moved]))
        if isinstance(voters, Rounds):
            return Rounds(forest, voters.n_outputs), intercept
        if isinstance(voters, LinearLeaves):
            return LinearLeaves(
                forest, LeafLines.concatenate([line for _, line in moved if line is not None]), voters.trees_per_voter
            ), intercept
        return forest, intercept

    def _leaves(
        self, tree: Forest, leaf: I32, gradient: F64, hessian: F64, F: F64, old: LeafLines | None, k: int
    ) -> tuple[F64, LeafLines | None]:
        # mixed values and lines of a tree whose rows are in the leaves `leaf`
        assert tree.value is not None
        D = tree.value.shape[1]
        unit = self.target.unit(k, shared=D > 1)
        sums = node_sums(leaf_terms(gradient, hessian, None), leaf, len(tree.feature))
        new = self.penalty.weight(sums[:, :D], sums[:, D:], -self.largest, self.largest)
        weight = new
        if refits(self.target.loss):
            bounds = np.tile([-self.largest, self.largest], (len(new), 1)) * (unit if D == 1 else 1.0)
            new = self.target.best_constants(F, leaf, np.where(tree.value != 0.0, 1.0, 0.0), bounds, k)
        else:
            new = new * unit
        reached = (np.bincount(leaf, minlength=len(tree.feature)) > 0)[:, None]
        keep = np.where(reached, self.decay_rate, 1.0)
        value = keep * tree.value + (1.0 - keep) * new
        if old is None:
            return value, None
        has_lines = (reached[:, 0] & weight.any(axis=1)).astype(np.uint8)
        assert not isinstance(self.X, SparseMatrix)
        g, h = np.atleast_2d(gradient), np.atleast_2d(hessian)
        found = _core.LineSums(
            self.X, leaf, None, g, h, tree.feature, tree.left, has_lines, self.numeric, len(leaf), self.n_threads
        )
        fresh = LeafLines(*found.lines(self.penalty.l2)).scaled((1.0 - self.decay_rate) * unit)
        kept = replace(old, slope=old.slope * np.repeat(keep, np.diff(old.start), axis=0))
        if self.decay_rate == 0.0:
            kept = kept.of_nodes(~reached[:, 0])
        return value, kept.merged(fresh) if self.decay_rate < 1.0 else old


class LeafRefitting(LossBoosting):
    newton: bool
    leaf_l2: float
    max_delta_step: float | None
    monotonic_constraints: Any

    @property
    @abstractmethod
    def _penalty(self) -> LeafPenalty: ...

    def refit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | str | None = None,
        *,
        offset: ArrayLike | str | None = None,
        decay_rate: float = 0.9,
    ) -> Self:
        """Return a copy of the trained model whose leaf values are refitted on other rows.

        Splits and steps stay. Round after round a leaf gets

            decay_rate * (its value) + (1 - decay_rate) * (the value that training would give it on these rows),

        the intercept and lines in leaves likewise; a leaf that no row reaches keeps its value. LightGBM's
        ``Booster.refit`` has the same `decay_rate` (without an intercept).

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows with the columns of the training table, in memory.
        y : array-like (n,) or str
            Labels, all of them classes of the model, or numbers; a text names the column of `X` that holds them.
        sample_weight : array-like (n,) or str, default=None
            Row weights, as in `fit`.
        offset : array-like (n,) or (n, D) or str, default=None
            Offsets of the scores, as in `fit`.
        decay_rate : float, default=0.9
            Share of the present values, in [0, 1]; 0 gives those of the new rows alone.

        Returns
        -------
        GradientBoostingClassifier or GradientBoostingRegressor
            Without records of the training such as ``validation_losses_``. This model stays as it is.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the model is not fitted.
        ValueError
            If rows, labels, weights or `decay_rate` are invalid, the model has one class, or `monotonic_constraints`
            are set, as new leaf values could break them.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from committee import GradientBoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = GradientBoostingRegressor(n_estimators=20).fit(X[:300], y[:300])
        >>> renewed = model.refit(X[300:], y[300:], decay_rate=0.5)
        >>> renewed.score(X[300:], y[300:]) > model.score(X[300:], y[300:])
        True
        """
        check_is_fitted(self)
        committee = self.committee_
        if isinstance(decay_rate, bool) or not isinstance(decay_rate, Real) or not 0.0 <= float(decay_rate) <= 1.0:
            raise ValueError(f"decay_rate is {decay_rate!r}; it must be a number from 0 to 1.")
        if self.monotonic_constraints is not None:
            raise ValueError("refit could break monotonic_constraints, whose bounds of leaves are not kept; fit anew.")
        if committee.intercept is None:
            raise ValueError("refit changes the leaf values of boosted trees, and this model has one class; fit anew.")
        if is_out_of_core(X):
            raise ValueError("refit takes rows in memory, and X is read in pieces; give a table.")
        X, y, sample_weight, offset = take_named(X, y=y, sample_weight=sample_weight, offset=offset)
        warn_of_other_order(X, y=y, sample_weight=sample_weight, offset=offset)
        weights = self.fit_weights(y, sample_weight)
        rows = Offsets(offset).of_training(self._validation_rows(X, y, None, y, None, name="y"), None)
        if weights is not None:
            given = np.asarray(weights, dtype=np.float64)
            check_consistent_length(rows, given)
            rows = replace(rows, weights=given, uniform=False).take(nonzero_weights(given))
        loss = self._chosen_loss()
        target = Target.of(loss if self.newton else PlainGradient(loss), rows)
        found, expected = target.n_scores(self._n_classes), np.size(committee.intercept)
        if self._n_classes is None and found != expected:
            raise ValueError(f"y has {found} targets for each row, and the model predicts {expected}; give the same.")
        refit = LeafRefit(
            target,
            rows.cells,
            self._penalty,
            inf if self.max_delta_step is None else self.max_delta_step,
            (self.table_.n_categories == 0).astype(np.uint8),
            float(decay_rate),
            n_threads(self.n_jobs),
        )
        voters, intercept = refit.refitted(committee.voters, committee.weights, committee.intercept)
        model = copy(self)
        for name in {*LossBoosting.stored_attributes, "provenance_"} - {"best_iteration_"}:
            model.__dict__.pop(name, None)
        model.committee_ = replace(committee, voters=voters, intercept=intercept)
        return model
