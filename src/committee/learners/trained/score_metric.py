"""Contracts on scores of all rows together, such as the area under the ROC curve: scikit-learn's scorers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from inspect import signature
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer, get_scorer_names

from committee.data.number_types import F64, Index, Mask
from committee.learners.trained.contract_metric import ContractMetric, Halves
from committee.learners.trained.few_trees import Fewness

GROUPS = 30
"""Groups of rows that the jackknife leaves out in turn: its standard error is then known to an eighth."""

SEED = 0
"""Of the groups."""


@dataclass(frozen=True)
class ScoreMetric(ContractMetric):
    """A score of all rows together, more being better; what is lost is the whole's less the cut's.

    What few trees cost is known from the score by either half of the trees that have not seen a row, as for losses of
    rows. The standard error is the jackknife's, leaving out one of `GROUPS` groups of rows at a time, in each of which
    classes have the same shares.

    References
    ----------
    B. Efron, C. Stein (1981). The jackknife estimate of variance. Annals of Statistics 9(3).
    """

    scorer: Any
    """scikit-learn's, of an estimator and rows."""
    name: str
    classes: NDArray[Any] | None
    """Labels of the classes, as the scorer is to see them; None where numbers are predicted."""

    def kept(self, y: Index | F64, predicted: F64, halves: Halves, unseen: Mask | None) -> F64:
        """Predictions in three versions, and how many trees each row has: ``(3 K + 2, n)``; see `ContractMetric`."""
        n = len(y)
        these = predicted.reshape(n, -1)
        if halves is None or unseen is None:
            return np.concatenate([these.T, these.T, these.T, np.zeros((2, n))])
        parted, fewer, more = Fewness.of(unseen)
        first, second = (np.where(parted[:, None], half.reshape(n, -1), these) for half in halves)
        return np.concatenate([these.T, first.T, second.T, fewer[None], more[None]])

    def lost(self, y: Index | F64, cut: F64, whole: F64, weight: F64) -> tuple[float, float]:
        """See `ContractMetric`."""
        known = np.flatnonzero(np.isfinite(cut[0]) & np.isfinite(whole[0]))

        def difference(rows: Index) -> float:
            return self._as_if_all(y[rows], whole[:, rows], weight[rows]) - self._as_if_all(
                y[rows], cut[:, rows], weight[rows]
            )

        all_rows = difference(known)
        without = np.array([difference(known[rest]) for rest in self._rests(y[known])])
        error = np.sqrt((len(without) - 1) / len(without) * ((without - without.mean()) ** 2).sum())
        return all_rows, float(error)

    def _as_if_all(self, y: Index | F64, kept: F64, weight: F64) -> float:
        """The score as if all trees had not seen the rows."""
        these, first, second = kept[:-2].reshape(3, -1, len(y))
        fewer, more = kept[-2:].sum(axis=1)
        by_these = self._score(y, these, weight)
        if fewer == 0.0:
            return by_these
        below = by_these - (self._score(y, first, weight) + self._score(y, second, weight)) / 2.0
        return by_these + float(more / fewer) * below

    def _score(self, y: Index | F64, predicted: F64, weight: F64) -> float:
        """The scorer's answer, of an estimator that predicts just this."""
        known: BaseEstimator
        if self.classes is None:
            known, truth = KnownNumbers(predicted[0]), y
        else:
            truth = self.classes[np.asarray(y, dtype=np.intp)]
            known = KnownClasses(predicted.T, self.classes)
        weights = {} if (weight == weight[0]).all() else {"sample_weight": weight}
        try:
            found = self.scorer(known, np.arange(len(y))[:, None], truth, **weights)
        except (TypeError, ValueError, AttributeError) as error:
            several = self.classes is not None and len(self.classes) > 2
            raise ValueError(
                f"metric={self.name!r} gives no score of {len(y)} rows: {' '.join(str(error).split())}"
                + (" Scorers of several classes are such as 'roc_auc_ovr' and 'f1_macro'." if several else "")
            ) from error
        if not isinstance(found, Real) or not np.isfinite(float(found)):
            raise ValueError(f"metric={self.name!r} gave {found!r} for {len(y)} rows; it must give one finite score.")
        return float(found)

    def _rests(self, y: Index | F64) -> Iterator[Index]:
        """What is left of the rows without one group, for each of them."""
        shuffled = np.random.default_rng(SEED).permutation(len(y))
        if self.classes is not None:
            shuffled = shuffled[np.argsort(y[shuffled], kind="stable")]
        n_groups = min(GROUPS, len(y))
        group = np.empty(len(y), dtype=np.intp)
        group[shuffled] = np.arange(len(y)) % n_groups
        return (np.flatnonzero(group != i) for i in range(n_groups))


class KnownNumbers(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A regressor whose predictions are there, for rows that are their own numbers."""

    def __init__(self, numbers: Any) -> None:
        self.numbers = numbers

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> Any:
        """The numbers."""
        return self.numbers[X[:, 0]]


class KnownClasses(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier whose probabilities are there, for rows that are their own numbers."""

    def __init__(self, probability: Any, classes: Any) -> None:
        self.probability: Any = probability
        self.classes: Any = classes

    @property
    def classes_(self) -> Any:
        """Labels of the classes."""
        return self.classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> Any:
        """The likeliest class."""
        return self.classes[self.probability[X[:, 0]].argmax(axis=1)]

    def predict_proba(self, X: Any) -> Any:
        """The probabilities."""
        return self.probability[X[:, 0]]


def scorer_name(metric: Any) -> str | None:
    """The name of scikit-learn's scorer that `metric` is: by name, as a scorer or as its function; None if it is none.

    Examples
    --------
    >>> from sklearn.metrics import f1_score
    >>> scorer_name(f1_score), scorer_name("roc_auc"), scorer_name(len)
    ('f1', 'roc_auc', None)
    """
    if isinstance(metric, str):
        return metric if metric in get_scorer_names() else None
    for name, scorer in _scorers().items():
        if metric is scorer._score_func and _are_defaults(scorer):
            return name
        if is_scorer(metric) and all(getattr(metric, part, None) == getattr(scorer, part) for part in _PARTS):
            return name
    return None


_PARTS = ("_score_func", "_sign", "_kwargs", "_response_method")


def _are_defaults(scorer: Any) -> bool:
    """Whether a scorer calls its function as anybody would."""
    parameters = signature(scorer._score_func).parameters
    return all(parameters[name].default == value for name, value in scorer._kwargs.items())


@cache
def _scorers() -> dict[str, Any]:
    return {name: get_scorer(name) for name in get_scorer_names()}


def metric_name(metric: Any) -> str:
    """How a metric is called: as a scorer or a metric of this library, else as its function."""
    known = scorer_name(metric)
    if known is not None:
        return known
    return metric if isinstance(metric, str) else getattr(metric, "__name__", repr(metric))


def is_scorer(metric: Any) -> bool:
    """Whether it is a scorer of scikit-learn, of its own or made by ``make_scorer``."""
    return hasattr(metric, "_score_func") and callable(metric)


def named_scorer(name: str, *, of_numbers: bool) -> Any:
    """The scorer of a name.

    Raises
    ------
    ValueError
        If it judges numbers where classes are predicted, or the reverse, or clusters.
    """
    if not judges(name, of_numbers=of_numbers):
        raise ValueError(
            f"metric={name!r} does not judge {'numbers' if of_numbers else 'classes'}, which the ensemble predicts; "
            f"choose another, such as {'r2' if of_numbers else 'roc_auc'!r}."
        )
    return get_scorer(name)


def judges(name: str, *, of_numbers: bool) -> bool:
    """Whether a name is of a scorer of what is predicted, numbers or classes."""
    kinds = ("regression",) if of_numbers else ("classification", "ranking")
    return name in get_scorer_names() and get_scorer(name)._score_func.__module__.endswith(kinds)
