"""The committee inside a model that is to go elsewhere."""

from __future__ import annotations

from typing import Any

from committee.vote.committee import Committee
from committee.vote.regression import RegressionCommittee


def committee_in(model: Any, place: str) -> Committee | RegressionCommittee:
    """The committee of a fitted model, of this library or another.

    Parameters
    ----------
    model : committee, fitted learner, or ensemble of another library
        Whatever `Committee.from_estimator` or `RegressionCommittee.from_estimator` take.
    place : str
        Where it is to go, for the message of an error: "ONNX".

    Returns
    -------
    Committee or RegressionCommittee

    Raises
    ------
    TypeError
        If it is no estimator, has no committee, or answers with something else than its vote.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from committee.vote.committee_in import committee_in
    >>> committee_in(RandomForestClassifier(5, random_state=0).fit(*load_iris(return_X_y=True)), "ONNX")
    Committee(5 voters, 3 classes, share link)
    """
    if isinstance(model, Committee | RegressionCommittee):
        return model
    if hasattr(model, "alpha") and hasattr(model, "estimator") and type(model).__module__.startswith("committee."):
        raise TypeError(
            f"{type(model).__name__} answers with sets or intervals, which {place} has no models for; take the model "
            "inside, estimator_, and keep what is added to it."
        )
    return (RegressionCommittee if _is_of_numbers(model) else Committee).from_estimator(model)


def _is_of_numbers(model: Any) -> bool:
    """Whether a model is a regressor; all that is none is for `Committee.from_estimator` to take or to refuse."""
    from sklearn.base import is_regressor

    if isinstance(model, type) or not (hasattr(model, "__sklearn_tags__") or hasattr(model, "_estimator_type")):
        return False
    return bool(is_regressor(model))
