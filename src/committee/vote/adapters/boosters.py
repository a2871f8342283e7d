"""Parts of committees of the trees that XGBoost, LightGBM and CatBoost boosted, read as data: none is imported."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from committee.vote.adapters.boosted_model import BoostedModel
from committee.vote.adapters.catboost_model import catboost_model
from committee.vote.adapters.lightgbm_model import lightgbm_model
from committee.vote.adapters.parts import CommitteeParts, RegressionParts
from committee.vote.adapters.xgboost_model import xgboost_model
from committee.vote.links.probability import Link, Logistic, Softmax


def is_booster(estimator: Any) -> bool:
    """Whether an object, or a class that it inherits from, is of one of `BOOSTERS` by the name of its module.

    Examples
    --------
    >>> from committee.vote.adapters.boosters import is_booster
    >>> is_booster(3)
    False
    """
    return _package(estimator) is not None


def parts_of_booster(estimator: Any) -> CommitteeParts:
    """Parts of the committee of a fitted booster's trees; see `Committee.from_estimator`.

    Each tree is a voter with a leaf score and weight 1 (1/T where the scores are means); with several scores, each
    round is, as in our own gradient boosting. Scores are sums in float64, where XGBoost adds in float32.

    Parameters
    ----------
    estimator : XGBClassifier, LGBMClassifier, the Booster of either, or CatBoostClassifier
        Fitted on classes. A bare booster's classes are 0, ..., K - 1.

    Returns
    -------
    CommitteeParts
        An intercept has the starting scores. Probabilities are the original's, but for LightGBM's one-vs-rest
        ("multiclassova"), which here sum to one.

    Raises
    ------
    NotFittedError
        If `estimator` is not fitted.
    TypeError
        If it is no classifier.
    ValueError
        If it is not of trees with one number in a leaf, or has an objective of other things than classes; naming the
        setting.

    Examples
    --------
    ``parts_of_booster(XGBClassifier().fit(X, y))``
    """
    package = _package(estimator)
    return parts_of_model(*BOOSTERS[str(package)](estimator))


def regression_parts_of_booster(estimator: Any) -> RegressionParts:
    """Parts of the committee of a fitted booster of numbers; see `RegressionCommittee.from_estimator`.

    Raises
    ------
    NotFittedError
        If `estimator` is not fitted.
    TypeError
        If it is no regressor.
    ValueError
        If it is not of trees with one number in a leaf, or has an objective of other things; naming the setting.

    Examples
    --------
    ``regression_parts_of_booster(XGBRegressor().fit(X, y))``
    """
    return regression_parts_of_model(REGRESSORS[str(_package(estimator))](estimator)[0])


def regression_parts_of_model(model: BoostedModel) -> RegressionParts:
    """Parts of the committee of boosted trees of numbers that are read already.

    Raises
    ------
    ValueError
        If they are of classes, or of several numbers.
    """
    if model.number_link is None:
        raise ValueError("estimator has an objective of classes; give it to Committee.from_estimator.")
    if len(model.intercept) > 1:
        raise ValueError(f"estimator predicts {len(model.intercept)} outputs; fit one ensemble for each.")
    voters = model.voters
    weights = np.full(len(voters), 1.0 / len(voters) if model.averaged else 1.0)
    intercept = model.intercept if model.intercept.any() else None
    return RegressionParts(voters, weights, model.number_link, model.table, intercept)


def parts_of_model(model: BoostedModel, classes: NDArray[Any] | None = None) -> CommitteeParts:
    """Parts of the committee of boosted trees that are read already.

    Parameters
    ----------
    model : BoostedModel
    classes : array (K,), default=None
        Labels; None: 0, ..., K - 1.

    Raises
    ------
    ValueError
        If there are not as many labels as classes, or numbers are predicted.
    """
    if model.number_link is not None:
        raise ValueError(
            "estimator has an objective of numbers, which have no classes to vote for; give it to"
            " RegressionCommittee.from_estimator."
        )
    classes = np.arange(model.n_classes) if classes is None else classes
    if len(classes) != model.n_classes:
        raise ValueError(
            f"estimator knows {len(classes)} classes, and its trees are for {model.n_classes}; train it on as many."
        )
    voters = model.voters
    weights = np.full(len(voters), 1.0 / len(voters) if model.averaged else 1.0)
    intercept = model.intercept if model.intercept.any() else None
    return CommitteeParts(voters, weights, classes, _link(model), model.table, intercept)


def _link(model: BoostedModel) -> Link:
    if len(model.intercept) > 1 and model.one_vs_rest:
        return Logistic(scale=model.sigmoid)
    return Softmax(scale=model.sigmoid if len(model.intercept) == 1 else 1.0)


Read = tuple[BoostedModel, NDArray[Any] | None]


def _xgboost(estimator: Any, learner: str = "XGBClassifier") -> Read:
    kind = _kind(estimator, learner)
    if kind == "Booster":
        return xgboost_model(estimator.save_raw("json")), None
    check_is_fitted(estimator)
    missing = estimator.missing
    if missing is not None and not np.isnan(missing):
        raise ValueError(
            f"estimator has missing={missing!r}; here NaN alone is missing. Put NaN where {missing!r} is, and give "
            "estimator.get_booster()."
        )
    booster = estimator.get_booster()
    best = booster.attr("best_iteration")  # what early stopping left, and all that the classifier predicts with
    model = xgboost_model(booster.save_raw("json"), None if best is None else int(best) + 1)
    return model, getattr(estimator, "classes_", None)


def _lightgbm(estimator: Any, learner: str = "LGBMClassifier") -> Read:
    if _kind(estimator, learner) == "Booster":
        return lightgbm_model(estimator.model_to_string()), None
    check_is_fitted(estimator)
    return lightgbm_model(estimator.booster_.model_to_string()), getattr(estimator, "classes_", None)


def _catboost(estimator: Any, learner: str = "CatBoost") -> Read:
    _kind(estimator, learner)
    if not estimator.is_fitted():
        raise NotFittedError(f"This {type(estimator).__name__} instance is not fitted yet; call its fit first.")
    with TemporaryDirectory() as folder:  # it writes to files alone
        path = Path(folder) / "model.json"
        try:
            estimator.save_model(str(path), format="json")
        except Exception as error:  # CatBoost has one class for all its errors, of its own
            raise ValueError(f"estimator cannot be written as JSON, from which it is read: {error}") from error
        model, classes = catboost_model(path.read_bytes())
    return model, None if model.number_link is not None else _labels(estimator, classes)


def _labels(estimator: Any, recorded: NDArray[Any] | None) -> NDArray[Any] | None:
    known = np.asarray(getattr(estimator, "classes_", ()))
    return known if known.size else recorded


BOOSTERS: dict[str, Callable[[Any], Read]] = {"xgboost": _xgboost, "lightgbm": _lightgbm, "catboost": _catboost}
"""Readers of each library's boosters, by the name of its package."""

REGRESSORS: dict[str, Callable[[Any], Read]] = {
    "xgboost": partial(_xgboost, learner="XGBRegressor"),
    "lightgbm": partial(_lightgbm, learner="LGBMRegressor"),
    "catboost": _catboost,
}
"""The same of boosters of numbers."""


def _package(estimator: Any) -> str | None:
    packages = (base.__module__.partition(".")[0] for base in type(estimator).__mro__)
    return next((name for name in packages if name in BOOSTERS), None)


def _kind(estimator: Any, classifier: str) -> str:
    names = {base.__name__ for base in type(estimator).__mro__}
    found = next((name for name in (classifier, "Booster") if name in names), None)
    if found is None:
        raise TypeError(
            f"estimator is a {type(estimator).__name__}; of its library, {classifier} and Booster are read."
        )
    return found
