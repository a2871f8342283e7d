"""New leaf values of trained boosters from other rows; splits and steps stay."""

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
from committee.data.number_types import F64
from committee.data.offsets import Offsets
from committee.data.parallel import n_threads
from committee.data.rows import nonzero_weights
from committee.learners.gradient.leaf_values import LeafPenalty, add_lines, leaf_terms, node_sums
from committee.learners.gradient.target import LossBoosting, Target, add_tree, refits
from committee.objectives.losses.base import PlainGradient
from committee.voters.forest import Forest
from committee.voters.linear_leaves import LeafLines, LinearLeaves
from committee.voters.rounds import Rounds


@dataclass(frozen=True, eq=False)
class LeafRefit:
    """Leaf values `decay_rate` * (trained value) + (1 - `decay_rate`) * (value on other rows), round after round."""

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
        values: list[F64] = []
        lines: list[LeafLines] = []
        for t, step in enumerate(weights.tolist()):
            self.target.write_gradients(F, self.target.w, gradient, hessian, self.n_threads)
            trees = forest[t * n_trees : (t + 1) * n_trees]
            leaves = np.ascontiguousarray(trees.apply(self.X, self.n_threads).T)
            moves = []
            for k, leaf in enumerate(leaves):
                tree, scores = trees[k], slice(None) if F.ndim == 1 or n_trees == 1 else k
                of_tree = gradient[scores], hessian[scores]
                old = None
                if isinstance(voters, LinearLeaves):
                    first = int(forest.offset[t * n_trees + k])
                    old = voters.lines.take(np.arange(first, first + len(tree.feature)))
                value, line = self._leaves(tree, leaf, *of_tree, F, old, k)
                moves.append((leaf, value, line))
                values.append(value)
                lines += [] if line is None else [line]
            for k, (leaf, value, line) in enumerate(moves):
                add_tree(F, leaf, value, step, k, self.n_threads)
                if line is not None:
                    assert not isinstance(self.X, SparseMatrix)
                    add_lines(F, line, self.X, leaf, step, k, self.n_threads)
        forest = replace(forest, value=np.concatenate(values))
        if isinstance(voters, Rounds):
            return Rounds(forest, voters.n_outputs), intercept
        if isinstance(voters, LinearLeaves):
            return LinearLeaves(forest, LeafLines.concatenate(lines), voters.trees_per_voter), intercept
        return forest, intercept

    def _leaves(
        self, tree: Forest, leaf: NDArray[np.int32], gradient: F64, hessian: F64, F: F64, old: LeafLines | None, k: int
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
