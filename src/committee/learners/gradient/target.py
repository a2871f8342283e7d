"""Loss of a target at scores, and bases of the learners that boost it."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context

from committee import _core
from committee.data.columns import take_named
from committee.data.number_types import F64, I32, Mask
from committee.data.rows import Offsets, Rows, TargetRows, check_scores, rounded_scale
from committee.data.target_statistics import NumberTarget, SeveralTargets, WeightedTarget
from committee.files.journal import Checkpoint
from committee.learners.base.boosting import Boosting
from committee.learners.base.early_stopping import EarlyStopping, HeldOutVotes, StagedLoss, ValidationSet
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import fitted, required, with_parameters
from committee.learners.base.predictors import BaseClassifier, BaseRegressor
from committee.learners.base.row_sampling import RowUnits
from committee.learners.base.shared_parameters import FIT_PARAMETERS, with_fit_parameters
from committee.objectives.losses import Loss, LossChoice, write_gradients
from committee.vote.committee import Committee, RegressionCommittee
from committee.vote.links.mean import Identity, Log, Ordered
from committee.voters.rounds import LeafLines, LinearLeaves, Rounds

_MOST_LOG = 100.0  # largest difference of a log exposure from their median, as target statistics need finite numbers
_LEAST_HESSIAN = 1e-6  # least hessian of Newton's responses, as a share of the largest


@dataclass(frozen=True, eq=False)
class Target:
    """Loss with targets ``(n,)`` or ``(D, n)``; gradients are by scores in units of `scale`."""

    loss: Loss
    y: NDArray[np.generic]
    w: F64 | None  # None: equal weights
    scale: F64 | None = None  # unit of each score, (D,), where each has a target of its own
    offset: F64 | None = None  # added to the scores, (n,) or (D, n)

    @classmethod
    def of(cls, loss: Loss, rows: Rows | TargetRows, scale: F64 | None = None) -> Self:
        y = rows.labels if isinstance(rows, Rows) else rows.target
        loss.check_target(y)
        if y.ndim == 2 and (n_scores := loss.n_scores()) > 1:
            raise ValueError(
                f"the {loss.name} loss predicts {n_scores} numbers of one target, and y has {y.shape[1]} columns; "
                "choose a loss of one number, or wrap the learner in sklearn.multioutput.MultiOutputRegressor."
            )
        targets, w = np.ascontiguousarray(y.T), None if rows.uniform else rows.weights
        offset = None if rows.offset is None else np.ascontiguousarray(rows.offset.T)
        if y.ndim == 2 and scale is None:
            start = [None] * len(targets) if offset is None else offset
            scale = np.array([_scale(loss, y, F, rows.weights) for y, F in zip(targets, start, strict=True)])
        return cls(loss, targets, w, scale, offset)

    @property
    def total(self) -> float:
        return float(self.y.shape[-1] if self.w is None else self.w.sum())

    def n_scores(self, n_classes: int | None) -> int:
        found = len(self.y) if self.y.ndim == 2 else self.loss.n_scores(n_classes)
        check_scores(None if self.offset is None else self.offset.T, found)
        return found

    def of_rows(self, rows: slice | NDArray[np.integer], w: F64 | None) -> Self:
        offset = None if self.offset is None else self.offset[..., rows]
        return replace(self, y=self.y[..., rows], w=w, offset=offset)

    def part(self, rows: slice) -> Self:
        return self.of_rows(rows, None if self.w is None else self.w[rows])

    def best_constant(self, n_scores: int) -> F64:
        """Return the constant scores of least loss, added to the offsets if any, ``(n_scores,)``."""
        if self.y.ndim == 2:
            start = [None] * len(self.y) if self.offset is None else self.offset
            return np.array([self._best(y, F, 1).item() for y, F in zip(self.y, start, strict=True)])
        return self._best(self.y, self.offset, n_scores).reshape(n_scores)

    def _best(self, y: NDArray[np.generic], offset: F64 | None, n_scores: int) -> F64:
        if offset is None:
            return np.asarray(self.loss.best_constant(y, self.w, n_scores), dtype=np.float64)
        return np.asarray(self.loss.best_shift(y, offset, self.w), dtype=np.float64)

    def first_scores(self, intercept: F64) -> F64:
        F = np.repeat(intercept[:, None], self.y.shape[-1], axis=1)
        F = F[0] if len(intercept) == 1 else F
        return F if self.offset is None else F + self.offset

    def response(self, n_scores: int) -> NumberTarget:
        assert self.offset is not None
        if isinstance(self.loss.link, (Identity, Ordered)):
            z = self.y.astype(np.float64) - self.offset
            return NumberTarget(z) if z.ndim == 1 else SeveralTargets(np.ascontiguousarray(self.in_units(z).T))
        if isinstance(self.loss.link, Log):
            offset = np.clip(self.offset - np.median(self.offset), -_MOST_LOG, _MOST_LOG)
            z = self.y.astype(np.float64) * np.exp(-offset)
            if z.ndim == 2:
                return SeveralTargets(np.ascontiguousarray(self.in_units(z).T))
            # the variance is this power of the mean
            return WeightedTarget(z, np.exp((2.0 - getattr(self.loss, "variance_power", 1.0)) * offset))
        F = self.first_scores(self.best_constant(n_scores))
        gradient, hessian = np.empty_like(F), np.empty_like(F)
        write_gradients(self.loss, self.y, F, None, gradient, hessian)
        if F.ndim == 2:
            return SeveralTargets(np.ascontiguousarray(-gradient.T))
        hessian = np.maximum(hessian, _LEAST_HESSIAN * float(hessian.max()))
        return WeightedTarget(-gradient / hessian, hessian)  # Newton's responses

    def mean_loss(self, F: F64) -> float:
        shares = None if self.w is None else self.w / self.w.sum()  # a large loss times a large weight may overflow
        if self.scale is None:
            return float(np.average(self.loss.value(self.y, F), weights=shares))
        each = [np.average(self.loss.value(y, f), weights=shares) for y, f in zip(self.y, F, strict=True)]
        return float((np.array(each) / self.scale**2).sum())

    def losses(self, F: F64) -> F64:
        if self.scale is None:
            return self.loss.value(self.y, F)
        each = [self.loss.value(y, f) / s**2 for y, f, s in zip(self.y, F, self.scale, strict=True)]
        return np.asarray(np.sum(each, axis=0))

    def write_gradients(self, F: F64, w: F64 | None, gradient: F64, hessian: F64, n_threads: int) -> None:
        """Write gradients and hessians of loss / scale^2 by scores / scale."""
        write_gradients(self.loss, self.y, F, w, gradient, hessian, n_threads)
        if self.scale is not None:
            gradient /= self.scale[:, None]

    def in_units(self, scores: F64) -> F64:
        return scores if self.scale is None else scores / self.scale[:, None]

    def unit(self, k: int, *, shared: bool) -> F64:
        if self.scale is None:
            return np.ones(1)
        return self.scale if shared else self.scale[k : k + 1]

    def best_constants(self, F: F64, leaf: I32, value: F64, bounds: F64, k: int) -> F64:
        """Return leaf values of least loss within `bounds`, ``(N, D)``; D = 1 for a tree of score k alone."""
        single = value.shape[1] == 1
        y, F = np.atleast_2d(self.y), np.atleast_2d(F)
        residual = (y[k : k + 1] if single and len(y) > 1 else y).astype(np.float64) - (F[k : k + 1] if single else F)
        # 16 bits are enough for the leaves of most trees, and are sorted in linear time
        order = np.argsort(leaf.astype(np.int16) if len(value) < 1 << 15 else leaf, kind="stable")
        end = np.cumsum(np.bincount(leaf, minlength=len(value)))
        weights = None if self.w is None else self.w[order]
        new = value.copy()
        for score, part in enumerate(residual):
            ordered = part[order]
            for i in np.flatnonzero(value[:, score]).tolist():
                rows = slice(end[i - 1] if i else 0, end[i])
                if rows.start < rows.stop:
                    w = None if weights is None else weights[rows]
                    best: Any = self.loss.leaf_constant(ordered[rows], w, k + score if self.y.ndim == 1 else 0)
                    new[i, score] = min(max(best, bounds[i, 0]), bounds[i, 1])
        return new


@dataclass(frozen=True, eq=False)
class PartedRows:
    rows: Rows | TargetRows
    units: RowUnits
    held: Mask  # held-out units

    def training_target(self, loss: Loss) -> Target:
        return self._target(loss, ~self.held)[1]

    def held_target(self, loss: Loss) -> tuple[I32, Target]:
        return self._target(loss, self.held)

    def weighted_target(self, loss: Loss) -> Target:
        rows, weights = self.units.rows_of(~self.held)
        if weights is None:
            weights = np.zeros(len(self.rows))
            weights[rows] = 1.0
        return replace(Target.of(loss, self.rows), w=weights)

    def held_rows(self) -> Rows | TargetRows:
        rows, weights = self.units.rows_of(self.held)
        taken = self.rows.take(rows)
        return taken if weights is None else replace(taken, weights=weights[rows])

    def _target(self, loss: Loss, units: Mask) -> tuple[I32, Target]:
        rows, weights = self.units.rows_of(units)
        return rows, Target.of(loss, self.rows).of_rows(rows, None if weights is None else weights[rows])


def _scale(loss: Loss, y: NDArray[np.generic], offset: F64 | None, w: F64) -> float:
    # root of the target's dispersion about its best constant, sum of w g^2 over sum of w h: for the squared error the
    # standard deviation
    best = loss.best_constant(y, w, 1) if offset is None else loss.best_shift(y, offset, w)
    F = np.repeat(np.asarray(best, dtype=np.float64).reshape(1), len(y))
    gradient, hessian = loss.gradient_hessian(y, F if offset is None else F + offset, None)
    share = w / w.sum()
    return rounded_scale(float((share * gradient**2).sum()) / float((share * hessian).sum()))


def refits(loss: Loss) -> bool:
    """Return whether leaves get the best constants of the loss, such as medians, in place of Newton steps."""
    return loss.leaf_constant(np.zeros(1), None) is not None


def add_tree(
    F: F64, leaf: I32, value: F64, lines: LeafLines | None, X: Any, step: float, first: int, n_threads: int
) -> None:
    """Add step b(x) to F ``(n,)`` or ``(D, n)`` in place: `value` ``(N, k)`` moves k scores from `first` on."""
    for k, scores in enumerate(F[None] if F.ndim == 1 else F[first : first + value.shape[1]]):
        _core.add_leaf_values(scores, leaf, step * value[:, k], n_threads)
        if lines is not None:
            _core.add_leaf_lines(scores, leaf, X, *lines.arrays, k, step, n_threads)


def scores_after(voters: Any, weights: F64, F: F64, X: F64, n_threads: int) -> None:
    """Add rounds to scores of encoded rows in place."""
    for t, step in enumerate(weights.tolist()):
        one = voters[t]
        forest = one.forest if isinstance(one, (Rounds, LinearLeaves)) else one
        assert forest.value is not None
        leaves = np.ascontiguousarray(forest.apply(X, n_threads).T)
        for k, (leaf, value) in enumerate(zip(leaves, np.split(forest.value, forest.offset[1:-1]), strict=True)):
            nodes = np.arange(*forest.offset[k : k + 2])
            lines = one.lines.take(nodes) if isinstance(one, LinearLeaves) else None
            add_tree(F, leaf, value, lines, X, step, k, n_threads)


# --- learners ---------------------------------------------------------------------------------------------------------


@with_parameters
class LossBoosting(Boosting):
    stored_attributes: ClassVar[tuple[str, ...]] = (
        *("validation_losses_", "validation_scores_", "evals_result_", "best_iteration_", "training_objectives_"),
    )

    committee_: Any = fitted(
        "The rounds, with their steps as weights and the best constant score as intercept.",
        "Committee or RegressionCommittee",
    )
    validation_losses_: F64 | None = fitted(
        """Mean held-out loss after each round that is kept, with early stopping or `X_val`; None without held-out rows,
        or with `scoring`. For squared error of one target it is half the mean square.""",
        "float64 array or None",
    )
    training_objectives_: F64 | None = fitted(
        """With line search: the mean loss of the training rows plus the leaf penalties divided by the rows' weight,
        before the first and after each round of the last call of `fit`; it never rises.""",
        "float64 array or None",
    )

    loss: LossChoice = required("Loss that is boosted.", str, Loss, callable)

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @with_fit_parameters(*FIT_PARAMETERS)
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | str | None = None,
        *,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | str | None = None,
        groups: ArrayLike | str | None = None,
        offset: ArrayLike | str | None = None,
        offset_val: ArrayLike | str | None = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    ) -> Self:
        """Run the rounds. A fit that fails leaves the estimator unchanged."""
        if offset_val is not None and X_val is None:
            raise ValueError("offset_val is of the rows of X_val, which are missing; give X_val and y_val.")
        if isinstance(offset_val, str):
            X_val, offset_val = take_named(X_val, offset_val=offset_val)
        validation = ValidationSet(X_val, y_val, sample_weight_val)
        return self._fit(X, y, sample_weight, checkpoint, validation, groups, Offsets(offset, offset_val))

    @abstractmethod
    def _chosen_loss(self) -> Loss: ...

    def _opened(self, tasks: FitTasks, X: Any, y: Any, sample_weight: Any, checkpoint: Any) -> Any:
        rows = super()._opened(tasks, X, y, sample_weight, checkpoint)
        if rows.levels is None or rows.offset is None or self._n_classes == 1 or not np.ptp(rows.offset, axis=0).any():
            return rows
        target = Target.of(self._chosen_loss(), rows)
        numbered, self.table_ = replace(rows, response=target.response(target.n_scores(self._n_classes))).with_numbers(
            self.table_
        )
        return numbered

    @property
    def _n_classes(self) -> int | None:
        return len(self.classes_) if isinstance(self, BaseClassifier) else None

    def _held_out_loss(self, run: Any, held_out: Rows | TargetRows) -> StagedLoss:
        # votes of the rounds on held-out rows, (D, n), and the mean loss of their sum
        target = Target.of(run.target.loss, held_out, run.target.scale)

        def votes(t: int) -> F64:
            tally: F64 = run.voters(t - 1, t).tally(held_out.cells, run.weights(t - 1, t))
            return tally.T

        def loss(F: F64) -> float:
            return target.mean_loss(F[0] if len(F) == 1 else F)

        return StagedLoss(votes, loss, np.atleast_2d(target.first_scores(run.intercept)))

    def _early_stopping(self, run: Any, held_out: Any) -> EarlyStopping:
        return EarlyStopping(self._held_out_loss(run, held_out), self.n_iter_no_change)

    def _held_out_votes(self, run: Any, held_out: Rows | TargetRows) -> HeldOutVotes:
        staged = self._held_out_loss(run, held_out)

        def total_weight(t: int) -> float:
            return float(np.abs(run.weights(0, t)).sum()) + 1.0

        return HeldOutVotes(lambda t: staged.after(t).T, total_weight, run.target.loss.link)

    def _fitted(self, run: Any, n_rounds: int, losses: F64 | None) -> dict[str, Any]:
        (voters, weights), link = run.committee(n_rounds), run.target.loss.link
        committee: Committee | RegressionCommittee
        if isinstance(self, BaseClassifier):
            committee = Committee(voters, weights, self.classes_, link, self.table_, run.intercept)
        else:
            committee = RegressionCommittee(voters, weights, link, self.table_, run.intercept)
        n_new = max(0, n_rounds - run.n_earlier)
        return {
            "committee_": committee,
            "validation_losses_": None if losses is None else losses[:n_rounds],
            "training_objectives_": None if run.search is None else np.array(run.search.objectives[: n_new + 1]),
        }


class OffsetClassifier(BaseClassifier):
    """Classifier whose methods take an `offset`: ``(n,)`` for the score of two classes, else ``(n, n_classes)``."""

    def decision_function(self, X: Any, *, offset: ArrayLike | str | None = None) -> F64:
        """Score F(x): ``(n,)`` for two classes, positive for ``classes_[1]``; else ``(n, n_classes)``.

        The `offset` is added to the score. None means 0, even if the model was trained with offsets.
        """
        return self._answers(X, "decision_function", offset=offset)

    def predict(self, X: Any, *, offset: ArrayLike | str | None = None) -> NDArray[Any]:
        return self._answers(X, "predict", offset=offset)

    def predict_proba(self, X: Any, *, offset: ArrayLike | str | None = None) -> F64:
        return self._answers(X, "predict_proba", offset=offset)

    def predict_log_proba(self, X: Any, *, offset: ArrayLike | str | None = None) -> F64:
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, offset=offset))

    def score(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: ArrayLike | str | None = None
    ) -> float:
        return self._metric(X, y, sample_weight, "accuracy_score", offset)

    def staged_decision_function(self, X: Any, *, offset: ArrayLike | str | None = None) -> Iterator[F64]:
        return self._staged(X, "staged_decision_function", offset)

    def staged_predict(self, X: Any, *, offset: ArrayLike | str | None = None) -> Iterator[NDArray[Any]]:
        return self._staged(X, "staged_predict", offset)

    def staged_predict_proba(self, X: Any, *, offset: ArrayLike | str | None = None) -> Iterator[F64]:
        return self._staged(X, "staged_predict_proba", offset)


class OffsetRegressor(BaseRegressor):
    """Regressor whose methods take an `offset`: ``(n,)``, or ``(n, D)`` of D scores."""

    def predict(self, X: Any, *, offset: ArrayLike | str | None = None) -> F64:
        """Predicted number of every row, ``(n,)``; ``(n, D)`` where the learner predicts D of them.

        The offset is added to the score, before the link: with a log link the logarithm of an exposure multiplies the
        prediction by the exposure. None means 0, even if the model was trained with offsets.
        """
        return self._answers(X, "predict", offset=offset)

    def score(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: ArrayLike | str | None = None
    ) -> float:
        return self._metric(X, y, sample_weight, "r2_score", offset)

    def staged_predict(self, X: Any, *, offset: ArrayLike | str | None = None) -> Iterator[F64]:
        return self._staged(X, "staged_predict", offset)
