"""scikit-learn's gradient boosting on its own decision trees as boosted trees of one form."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

from committee.data.frames import TableSchema
from committee.data.number_types import F64
from committee.vote.adapters.boosted_model import BoostedModel
from committee.vote.adapters.sklearn_trees import linked_trees
from committee.vote.links.mean import Identity

CLASSES = {"log_loss": 1.0, "exponential": 2.0}
"""Losses of classes, and what a score is multiplied by before it is a log-odds."""
NUMBERS = ("squared_error", "absolute_error", "huber", "quantile")
"""Losses of numbers, which are the scores themselves."""
SAME_OF_ALL = ("prior", "most_frequent", "constant")
"""Strategies of dummies of classes that say the same of every row."""


def gradient_model(estimator: Any) -> BoostedModel:
    """Read scikit-learn's ``GradientBoostingClassifier`` or ``GradientBoostingRegressor``.

    The learning rate is multiplied into the leaves. Thresholds are moved to where float64 numbers go the way their
    float32 roundings go there.

    Parameters
    ----------
    estimator : GradientBoostingClassifier or GradientBoostingRegressor
        Fitted.

    Returns
    -------
    BoostedModel

    Raises
    ------
    ValueError
        If the scores start at what another estimator predicts of each row, or the loss is one of another kind.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> len(gradient_model(GradientBoostingClassifier(n_estimators=5).fit(X, y)).voters)
    5
    """
    of_classes = hasattr(estimator, "classes_")
    known: tuple[str, ...] = tuple(CLASSES) if of_classes else NUMBERS
    if estimator.loss not in known:
        raise ValueError(f"estimator has loss={estimator.loss!r}; losses that are read are {', '.join(known)}.")
    names = getattr(estimator, "feature_names_in_", None)
    n_rounds, n_scores = estimator.estimators_.shape
    return BoostedModel(
        linked_trees(estimator.estimators_.ravel().tolist(), estimator.learning_rate),
        np.tile(np.arange(n_scores), n_rounds),
        _start(estimator),
        TableSchema(
            None if names is None else tuple(map(str, names)),
            (None,) * estimator.n_features_in_,
        ),
        sigmoid=CLASSES[estimator.loss] if of_classes else 1.0,
        number_link=None if of_classes else Identity(),
    )


def _start(estimator: Any) -> F64:
    """Where the scores of every row start."""
    first = estimator.init_
    constant = isinstance(first, DummyRegressor) or (
        isinstance(first, DummyClassifier) and first.strategy in SAME_OF_ALL
    )
    if not constant and not (isinstance(first, str) and first == "zero"):
        raise ValueError(
            f"estimator has init={first!r}, whose predictions of each row are no part of the trees; use init=None or "
            "'zero'."
        )
    start: F64 = estimator._raw_predict_init(np.zeros((1, estimator.n_features_in_)))[0]
    return start
