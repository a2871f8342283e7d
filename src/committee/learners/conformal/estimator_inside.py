"""What may be the estimator inside a conformal learner."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone, is_classifier, is_regressor

from committee.vote.committee import Committee
from committee.vote.regression import RegressionCommittee


def unfitted_copy(estimator: Any) -> Any:
    """Return an unfitted copy, which seeds may be set in.

    Raises
    ------
    TypeError
        If it is no estimator.
    ValueError
        If it is made from a trained ensemble.
    """
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"estimator={estimator!r} is no estimator; give one that has fit and predict.")
    _refuse_trained_only(estimator)
    return clone(estimator)


def _refuse_trained_only(estimator: Any) -> None:
    """Refuse a model of a trained ensemble that is not frozen: its rows would be taken for its own."""
    if getattr(estimator, "trained_parameters", ()) == ("ensemble",):
        raise ValueError(
            f"estimator is a {type(estimator).__name__}, which is made from a trained ensemble; put it in a "
            "sklearn.frozen.FrozenEstimator, with on='validation' and rows that neither has seen."
        )


def refuse_other_kind(estimator: Any, *, of_classes: bool) -> None:
    """Refuse a regressor where a classifier is needed, one without probabilities, and the other way about.

    Raises
    ------
    TypeError
        If it is one of these.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> refuse_other_kind(LinearSVC(), of_classes=True)
    Traceback (most recent call last):
    ...
    TypeError: estimator=LinearSVC() has no predict_proba, which sets of classes need; a \
sklearn.calibration.CalibratedClassifierCV around it has.
    """
    if of_classes and _is_of(estimator, RegressionCommittee, is_regressor):
        raise TypeError(f"estimator={estimator!r} is a regressor; ConformalRegressor is for those.")
    if not of_classes and _is_of(estimator, Committee, is_classifier):
        raise TypeError(f"estimator={estimator!r} is a classifier; ConformalClassifier is for those.")
    if of_classes and not hasattr(estimator, "predict_proba"):
        raise TypeError(
            f"estimator={estimator!r} has no predict_proba, which sets of classes need; a "
            "sklearn.calibration.CalibratedClassifierCV around it has."
        )


def _is_of(estimator: Any, committee: type, told: Any) -> bool:
    return isinstance(estimator, committee) or (hasattr(estimator, "__sklearn_tags__") and bool(told(estimator)))
