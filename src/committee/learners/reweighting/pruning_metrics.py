"""Metrics of pruning: the losses that choose among cuts, and the loss that a smaller vote may add (`max_loss`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from inspect import signature
from numbers import Real
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.isotonic import isotonic_regression
from sklearn.metrics import get_scorer, get_scorer_names

from committee.data.number_types import F64, Index, Mask
from committee.learners.reweighting.leaf_cuts import LeafRows
from committee.learners.reweighting.unseen_rows import Halves, SizeFactors, extrapolate_to_all
from committee.vote.links.probability import Softmax

LEAST_ERROR = 1e-4  # least standard error in the weights of the isotonic regression

N_GROUPS = 30  # row groups that the jackknife leaves out in turn: the relative error of its standard error is then 1/8

LINK = Softmax()  # refitted scores are log-odds of two classes, and logarithms of the shares of several

RowLoss: TypeAlias = Callable[[Any, F64], F64]  # losses (n,) by y (n,) and probabilities (n, K) or numbers (n,)


# --- means of rows of which some are missing -------------------------------------------------------------------------


def finite_mean(values: F64, weight: F64) -> float:
    there = np.isfinite(values)
    return float(np.average(values[there], weights=weight[there]))


def mean_and_error(values: F64, weight: F64) -> tuple[float, float]:
    mean = finite_mean(values, weight)
    there = np.isfinite(values)
    share = np.where(there, weight, 0.0) / weight[there].sum()
    return mean, float(np.sqrt(np.nansum((share * (values - mean)) ** 2)))


def isotonic_losses(losses: Sequence[float], errors: Sequence[float]) -> F64:
    values, error = np.array(losses), np.array(errors)
    if np.isnan(values).any():
        return values
    return np.asarray(isotonic_regression(values, sample_weight=1.0 / np.maximum(error, LEAST_ERROR) ** 2))


class LossPath(ABC):
    steps: tuple[Any, ...]  # with the loss increase `lost` and its standard error `lost_error`

    def lost(self) -> F64:
        """Return the loss increase of each step, made monotone by isotonic regression."""
        return isotonic_losses([step.lost for step in self.steps], [step.lost_error for step in self.steps])

    def within(self, max_loss: float) -> int | None:
        """Index of the last step whose loss increase plus standard error is at most `max_loss`, or `None`."""
        kept = np.flatnonzero(self.lost() + [step.lost_error for step in self.steps] <= max_loss)
        return int(kept[-1]) if len(kept) else None

    @abstractmethod
    def table(self) -> Any: ...

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.table()})"


# --- metrics ---------------------------------------------------------------------------------------------------------


class PruningMetric(ABC):
    """Loss increase of a vote against the whole ensemble."""

    in_shares: ClassVar[bool] = False  # whether the increase is a share of the whole ensemble's loss

    @abstractmethod
    def statistics(self, y: Index | F64, predicted: F64, halves: Halves, unseen: Mask | None) -> F64:
        """Return the statistics ``(d, n)`` of one vote that `loss_increase` compares."""

    @abstractmethod
    def loss_increase(self, y: Index | F64, cut: F64, whole: F64, weight: F64) -> tuple[float, float]:
        """Return the loss increase and its standard error, without NaN rows."""


@dataclass(frozen=True)
class RowLossMetric(PruningMetric):
    loss: RowLoss

    def statistics(self, y: Index | F64, predicted: F64, halves: Halves, unseen: Mask | None) -> F64:
        by_these = self.loss(y, predicted)
        if halves is None or unseen is None:
            return by_these[None]
        return extrapolate_to_all(unseen, by_these, *(self.loss(y, half) for half in halves), pooled=True)[None]

    def loss_increase(self, y: Index | F64, cut: F64, whole: F64, weight: F64) -> tuple[float, float]:
        return mean_and_error(cut[0] - whole[0], weight)


class RelativeLossMetric(RowLossMetric):
    in_shares: ClassVar[bool] = True

    def loss_increase(self, y: Index | F64, cut: F64, whole: F64, weight: F64) -> tuple[float, float]:
        above = cut[0] - whole[0]
        of = np.where(np.isfinite(above), whole[0], np.nan)
        mean, of_whole = finite_mean(above, weight), finite_mean(of, weight)
        if of_whole <= 0.0:  # any loss is an infinite share of none
            return (0.0 if mean <= 0.0 else np.inf), 0.0
        share = mean / of_whole
        _, error = mean_and_error(above / of_whole - share * (of / of_whole), weight)  # linearised
        return share, error


@dataclass(frozen=True)
class ScorerMetric(PruningMetric):
    """Decrease of a score of all rows, with jackknife error (B. Efron, C. Stein (1981), Annals of Statistics 9(3))."""

    scorer: Any
    name: str
    classes: NDArray[Any] | None  # class labels that the scorer sees; `None` for regression

    def statistics(self, y: Index | F64, predicted: F64, halves: Halves, unseen: Mask | None) -> F64:
        # predictions by the voters and by their halves, and the two size factors: (3 K + 2, n)
        n = len(y)
        these = predicted.reshape(n, -1)
        if halves is None or unseen is None:
            return np.concatenate([these.T, these.T, these.T, np.zeros((2, n))])
        halved, fewer, more = SizeFactors.of(unseen)
        first, second = (np.where(halved[:, None], half.reshape(n, -1), these) for half in halves)
        return np.concatenate([these.T, first.T, second.T, fewer[None], more[None]])

    def loss_increase(self, y: Index | F64, cut: F64, whole: F64, weight: F64) -> tuple[float, float]:
        known = np.flatnonzero(np.isfinite(cut[0]) & np.isfinite(whole[0]))

        def difference(rows: Index) -> float:
            of_whole, of_cut = (self._extrapolated(y[rows], each[:, rows], weight[rows]) for each in (whole, cut))
            return of_whole - of_cut

        all_rows = difference(known)
        # random groups, of about equal shares of each class
        shuffled = np.random.default_rng(0).permutation(len(known))
        if self.classes is not None:
            shuffled = shuffled[np.argsort(y[known[shuffled]], kind="stable")]
        n_groups = min(N_GROUPS, len(known))
        group = np.empty(len(known), dtype=np.intp)
        group[shuffled] = np.arange(len(known)) % n_groups
        without = np.array([difference(known[group != i]) for i in range(n_groups)])
        error = np.sqrt((len(without) - 1) / len(without) * ((without - without.mean()) ** 2).sum())
        return all_rows, float(error)

    def _extrapolated(self, y: Index | F64, statistics: F64, weight: F64) -> float:
        these, first, second = statistics[:-2].reshape(3, -1, len(y))
        fewer, more = statistics[-2:].sum(axis=1)
        by_these = self._score(y, these, weight)
        if fewer == 0.0:
            return by_these
        below = by_these - (self._score(y, first, weight) + self._score(y, second, weight)) / 2.0
        return by_these + float(more / fewer) * below

    def _score(self, y: Index | F64, predicted: F64, weight: F64) -> float:
        model: BaseEstimator
        if self.classes is None:
            model, truth = FixedRegressor(predicted[0]), y
        else:
            truth = self.classes[np.asarray(y, dtype=np.intp)]
            model = FixedClassifier(predicted.T)
            model.classes_ = self.classes
        weights = {} if (weight == weight[0]).all() else {"sample_weight": weight}
        try:
            found = self.scorer(model, np.arange(len(y))[:, None], truth, **weights)
        except (TypeError, ValueError, AttributeError) as error:
            several = self.classes is not None and len(self.classes) > 2
            raise ValueError(
                f"metric={self.name!r} gives no score of {len(y)} rows: {' '.join(str(error).split()).rstrip('.')}."
                + (" Scorers of several classes are, for example, 'roc_auc_ovr' and 'f1_macro'." if several else "")
            ) from error
        if not isinstance(found, Real) or not np.isfinite(float(found)):
            raise ValueError(
                f"metric={self.name!r} returned {found!r} for {len(y)} rows; it must return one finite score."
            )
        return float(found)


class FixedPredictions(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Base of fitted models with stored predictions; X holds row indices ``(n, 1)``."""

    def __init__(self, stored: Any) -> None:
        self.stored: Any = stored

    def __sklearn_is_fitted__(self) -> bool:
        return True


class FixedRegressor(RegressorMixin, FixedPredictions):  # type: ignore[misc]
    def predict(self, X: Any) -> Any:
        return self.stored[X[:, 0]]


class FixedClassifier(ClassifierMixin, FixedPredictions):  # type: ignore[misc]
    classes_: Any

    def predict(self, X: Any) -> Any:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> Any:
        return self.stored[X[:, 0]]


# --- criteria of cuts -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SelectionCriterion(ABC):
    """Row losses that choose `growth` and `C`, row scores that `min_gain` compares, and the metric of `max_loss`."""

    loss_name: ClassVar[str]
    metric: PruningMetric
    score_name: str
    centre: float = 0.0  # scores and targets are standardised by `centre` and `unit`
    unit: float = 1.0

    @abstractmethod
    def loss_and_score(self, score: F64, rows: LeafRows) -> F64:
        """Return each row's loss and its part of `score_name`, ``(2, n)``, from the votes ``(n, D)``."""

    @abstractmethod
    def predictions(self, score: F64) -> F64:
        """Return probabilities ``(n, K)``, or numbers ``(n,)``, from scores ``(n, D)``."""


class ClassCriterion(SelectionCriterion):
    loss_name: ClassVar[str] = "log_loss"

    def loss_and_score(self, score: F64, rows: LeafRows) -> F64:
        share = LINK.probability(score)
        labels = np.asarray(rows.y, dtype=np.intp)
        logs = np.log(np.maximum(share, np.finfo(float).tiny))
        loss = -logs[np.arange(len(rows)), labels] if rows.target is None else -(rows.target * logs).sum(axis=1)
        return np.stack([loss, share.argmax(axis=1) == labels])

    def predictions(self, score: F64) -> F64:
        return LINK.probability(score)


@dataclass(frozen=True, kw_only=True)
class NumberCriterion(SelectionCriterion):
    loss: RowLoss
    constant_loss: float  # mean loss of the best constant
    loss_name: ClassVar[str] = "loss"

    def loss_and_score(self, score: F64, rows: LeafRows) -> F64:
        assert rows.target is not None
        loss = self.loss(rows.target[:, 0], score[:, 0])
        explained = 1.0 - loss / self.constant_loss if self.constant_loss > 0.0 else np.zeros_like(loss)
        return np.stack([loss, explained])

    def predictions(self, score: F64) -> F64:
        return self.centre + self.unit * score[:, 0]


# --- losses of rows --------------------------------------------------------------------------------------------------


def classification_error(y: Index, probability: F64) -> F64:
    return np.asarray(probability.argmax(axis=1) != y, dtype=np.float64)


def log_loss(y: Index, probability: F64) -> F64:
    return np.asarray(-np.log(np.maximum(probability[np.arange(len(y)), y], np.finfo(float).eps)))


def brier_score(y: Index, probability: F64) -> F64:
    off = probability - (y[:, None] == np.arange(probability.shape[1]))
    return np.asarray((off**2).sum(axis=1) / (2.0 if probability.shape[1] == 2 else 1.0))


def squared_error(y: F64, predicted: F64) -> F64:
    return np.asarray((predicted - y) ** 2)


def absolute_error(y: F64, predicted: F64) -> F64:
    return np.asarray(np.abs(predicted - y))


def pinball(y: F64, predicted: F64, quantile: float) -> F64:
    above = y - predicted
    return np.asarray(np.maximum(quantile * above, (quantile - 1.0) * above))


CLASS_LOSSES: dict[str, RowLoss] = {"accuracy": classification_error, "log_loss": log_loss, "brier": brier_score}

NUMBER_LOSSES = ("squared_error", "absolute_error", "pinball")  # named row losses of regression


def regression_loss(quantile: float | None) -> RowLoss:
    return squared_error if quantile is None else partial(pinball, quantile=quantile)


def _row_losses(metric: Callable[[Any, F64], Any], arrays: str, least: float, y: Any, predicted: F64) -> F64:
    try:
        found = np.asarray(metric(y, predicted), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"metric={metric!r} cannot be called for the losses of {len(y)} rows with {arrays}: "
            f"{' '.join(str(error).split())}. It must take these two arrays and give one loss for each row; for all "
            "rows together give a scorer, as sklearn.metrics.make_scorer makes it."
        ) from error
    if found.ndim == 0 and len(y) > 1:
        raise ValueError(
            f"metric={metric!r} returned one number for {len(y)} rows; it must return one loss for each row. Make a "
            "scorer of a metric of all rows together: sklearn.metrics.make_scorer(..., greater_is_better=...)."
        )
    if found.shape != y.shape or not np.isfinite(found).all() or (found < least).any():
        gave = "negative numbers" if np.isfinite(found).all() else "numbers that are not finite"
        gave = gave if found.shape == y.shape else f"an array of shape {found.shape}"
        at_least = ", of at least 0" if least == 0.0 else ""
        raise ValueError(
            f"metric={metric!r} returned {gave} for {len(y)} rows; called with {arrays}, it must return one finite "
            f"loss for each row{at_least}."
        )
    return found


# --- the metric of a parameter's value -------------------------------------------------------------------------------


def classification_metric(metric: Any, classes: NDArray[Any]) -> PruningMetric:
    if isinstance(metric, str) and metric in CLASS_LOSSES:
        return RowLossMetric(CLASS_LOSSES[metric])
    # a user's scorer sees the labels; for others the second of two classes is the positive one
    numbers = None if is_scorer(metric) and scorer_name(metric) is None else np.arange(len(classes))
    found = _scorer_metric(metric, classes if numbers is None else numbers, CLASS_LOSSES, "roc_auc")
    arrays = "class numbers (n,) and probabilities (n, K)"
    return found or RowLossMetric(partial(_row_losses, metric, arrays, -np.inf))


def regression_metric(metric: Any, quantile: float | None) -> PruningMetric:
    if isinstance(metric, str) and metric == "pinball" and quantile is None:
        raise ValueError(
            "metric='pinball' needs a quantile, and the ensemble's parameters name none; set quantile to the level "
            "that it predicts, or choose another metric."
        )
    losses: dict[Any, RowLoss] = {"squared_error": squared_error, "absolute_error": absolute_error}
    if metric is None or (isinstance(metric, str) and metric in NUMBER_LOSSES):
        return RelativeLossMetric(losses.get(metric, regression_loss(quantile)))
    found = _scorer_metric(metric, None, NUMBER_LOSSES, "r2")
    return found or RelativeLossMetric(partial(_row_losses, metric, "numbers (n,) and predictions (n,)", 0.0))


def _scorer_metric(
    metric: Any, classes: NDArray[Any] | None, losses: Iterable[str], example: str
) -> ScorerMetric | None:
    name = scorer_name(metric)
    if name is not None:
        if not is_scorer_of(name, regression=classes is None):
            raise ValueError(
                f"metric={name!r} does not score {'regressors' if classes is None else 'classifiers'} such as the "
                f"ensemble; choose another, such as {example!r}."
            )
        return ScorerMetric(get_scorer(name), name, classes)
    if is_scorer(metric):
        return ScorerMetric(metric, repr(metric), classes)
    if not callable(metric):
        raise ValueError(
            f"metric={metric!r} is unknown; choose {', '.join(map(repr, losses))}, the name of a scorer of "
            f"scikit-learn such as {example!r}, or give a function or a scorer."
        )
    return None


def check_max_loss(max_loss: float, min_gain: float | None, on: str) -> None:
    if min_gain is not None:
        raise ValueError(f"max_loss={max_loss!r} and min_gain={min_gain!r} both choose the size; give one of them.")
    if on == "train":
        raise ValueError(
            f"max_loss={max_loss!r} needs rows that the ensemble was not trained on, which on='train' does not have; "
            "hold rows back and give them with on='validation'."
        )


# --- scikit-learn's scorers ------------------------------------------------------------------------------------------


def scorer_name(metric: Any) -> str | None:
    """Return the name of a scorer of scikit-learn, given by name, as a score function or as a scorer; else `None`."""
    if isinstance(metric, str):
        return metric if metric in get_scorer_names() else None
    parts = ("_score_func", "_sign", "_kwargs", "_response_method")
    for name, scorer in _scorers().items():
        defaults = signature(scorer._score_func).parameters
        if metric is scorer._score_func and all(defaults[key].default == v for key, v in scorer._kwargs.items()):
            return name
        if is_scorer(metric) and all(getattr(metric, part, None) == getattr(scorer, part) for part in parts):
            return name
    return None


@cache
def _scorers() -> dict[str, Any]:
    return {name: get_scorer(name) for name in get_scorer_names()}


def metric_name(metric: Any) -> str:
    known = scorer_name(metric)
    if known is not None:
        return known
    return metric if isinstance(metric, str) else getattr(metric, "__name__", repr(metric))


def is_scorer(metric: Any) -> bool:
    return hasattr(metric, "_score_func") and callable(metric)


def is_scorer_of(name: str, *, regression: bool) -> bool:
    kinds = ("regression",) if regression else ("classification", "ranking")
    return name in get_scorer_names() and get_scorer(name)._score_func.__module__.endswith(kinds)
