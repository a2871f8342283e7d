"""Links that scikit-learn has as calibration: powers of shares, curves of each class by itself, clipped scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from sklearn.calibration import (
    CalibratedClassifierCV,
    _CalibratedClassifier,
    _SigmoidCalibration,
    _TemperatureScaling,
)
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression

from committee.data.number_types import F64

EPSILON = 1e-12
"""What scikit-learn adds to probabilities before it takes their logarithms."""


def softened(shares: Any, temperature: float) -> CalibratedClassifierCV:
    """Probabilities that are those of a classifier to the power 1 / T, normalised."""
    scaling = _TemperatureScaling()
    scaling.beta_ = np.float64(1.0 / temperature)
    return _calibrated(shares, "temperature", [scaling])


def before_logarithms(shares: F64, n_classes: int) -> F64:
    """Shares whose logarithms are in order after scikit-learn has added a small number to them."""
    return shares * (1.0 + n_classes * EPSILON) - EPSILON


def one_vs_rest(scores: Any, scale: float) -> CalibratedClassifierCV:
    """Probabilities that are sigma(s F_k) of a classifier's scores, normalised."""
    curve = _SigmoidCalibration()
    curve.a_, curve.b_ = -scale, 0.0
    return _calibrated(scores, "sigmoid", [curve] * len(scores.classes_))


def clipped(scores: Any, most: float) -> CalibratedClassifierCV:
    """Probabilities that are (1 + F_k) / 2 of a classifier's scores within -most and most, normalised."""
    line = IsotonicRegression(out_of_bounds="clip").fit([-most, most], [(1.0 - most) / 2.0, (1.0 + most) / 2.0])
    return _calibrated(scores, "isotonic", [line] * (len(scores.classes_) if len(scores.classes_) > 2 else 1))


def _calibrated(
    inner: Any, method: Literal["temperature", "sigmoid", "isotonic"], calibrators: Sequence[Any]
) -> CalibratedClassifierCV:
    """A classifier with calibrators, fitted as far as predicting goes."""
    made = CalibratedClassifierCV(FrozenEstimator(inner), method=method)
    made.calibrated_classifiers_ = [_CalibratedClassifier(inner, calibrators, classes=inner.classes_, method=method)]
    made.classes_, made.n_features_in_ = inner.classes_, inner.n_features_in_
    if hasattr(inner, "feature_names_in_"):
        made.feature_names_in_ = inner.feature_names_in_
    return made
