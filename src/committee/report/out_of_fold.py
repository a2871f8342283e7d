"""How good a learner is on rows that it has not seen, by folds of the rows that it is trained on."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from committee.data.number_types import F64
from committee.report.evaluation import Evaluation, evaluate

LEAST_ROWS = 10
"""Of fewer rows nothing is said."""


@dataclass(frozen=True, eq=False)
class FoldAnswers:
    """A model of answers that are given already, those of fits that have not seen the rows."""

    predicted: NDArray[Any]
    classes_: NDArray[Any]
    probability: F64

    def predict(self, X: Any) -> NDArray[Any]:
        """The answers."""
        return self.predicted

    def predict_proba(self, X: Any) -> F64:
        """The probabilities."""
        return self.probability


@dataclass(frozen=True, eq=False)
class FoldNumbers:
    """The same of numbers."""

    predicted: NDArray[Any]
    loss: Any = None
    quantile: Any = None

    def predict(self, X: Any) -> NDArray[Any]:
        """The numbers."""
        return self.predicted


def out_of_fold(learner: Any, X: Any, y: ArrayLike, *, folds: int = 5, seed: int = 0) -> Evaluation | None:
    """Judge a learner by folds: each row by the fit that has not seen it.

    Parameters
    ----------
    learner : classifier or regressor
        Copies of it are trained, and it stays as it is.
    X : frame (n, p)
        Rows.
    y : array-like (n,)
        Their labels or numbers.
    folds : int, default=5
        Of classes stratified.
    seed : int, default=0
        Of the folds.

    Returns
    -------
    Evaluation or None
        None where the rows are too few, or of one class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import TreeVoter
    >>> from committee.report.out_of_fold import out_of_fold
    >>> found = out_of_fold(TreeVoter(max_depth=2), *load_iris(return_X_y=True))
    >>> found.n_rows, 0.9 < found["accuracy"] < 0.98
    (150, True)
    """
    truth = np.asarray(y)
    of_classes = hasattr(learner, "predict_proba")
    classes, counts = np.unique(truth, return_counts=True)
    if len(truth) < max(LEAST_ROWS, folds) or (of_classes and (len(classes) < 2 or counts.max() < folds)):
        return None
    splitter = (StratifiedKFold if of_classes else KFold)(folds, shuffle=True, random_state=seed)
    found: list[tuple[NDArray[np.intp], NDArray[Any]]] = []
    probability = np.zeros((len(truth), len(classes))) if of_classes else np.empty(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit on all rows has said what there is to say
        for train, test in splitter.split(np.zeros((len(truth), 1)), truth):
            fitted = clone(learner).fit(X[train], truth[train])
            found.append((test, np.asarray(fitted.predict(X[test]))))
            if of_classes:  # a class that no training row has gets probability 0
                probability[np.ix_(test, np.searchsorted(classes, fitted.classes_))] = fitted.predict_proba(X[test])
    predicted = np.concatenate([answers for _, answers in found])[np.argsort(np.concatenate([at for at, _ in found]))]
    model: FoldAnswers | FoldNumbers = FoldAnswers(predicted, classes, probability)
    if not of_classes:
        model = FoldNumbers(predicted, getattr(learner, "loss", None), getattr(learner, "quantile", None))
    return evaluate(model, X, truth)
