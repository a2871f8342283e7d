"""Weighted means of rows of which some are not known, and their standard errors."""

from __future__ import annotations

import numpy as np
from sklearn.isotonic import isotonic_regression

from committee.data.number_types import F64

LEAST_ERROR = 1e-4
"""Of what is lost: cuts that are right on the same rows as the whole ensemble are not known to be alike for sure."""


def mean_of_known(values: F64, weight: F64) -> float:
    """Weighted mean of the values that are there."""
    there = np.isfinite(values)
    return float(np.average(values[there], weights=weight[there]))


def mean_and_error(values: F64, weight: F64) -> tuple[float, float]:
    """Weighted mean of the values that are there, and its standard error."""
    mean = mean_of_known(values, weight)
    there = np.isfinite(values)
    share = np.where(there, weight, 0.0) / weight[there].sum()
    return mean, float(np.sqrt(np.nansum((share * (values - mean)) ** 2)))


def share_and_error(values: F64, of: F64, weight: F64) -> tuple[float, float]:
    """Weighted mean of the values that are there as a share of another mean, and its standard error, linearised.

    Of a whole that loses nothing, or less, any loss is an infinite share.
    """
    mean, whole = mean_of_known(values, weight), mean_of_known(of, weight)
    if whole <= 0.0:
        return (0.0 if mean <= 0.0 else np.inf), 0.0
    share = mean / whole
    _, error = mean_and_error(values / whole - share * (of / whole), weight)
    return share, error


def increasing(losses: F64, errors: F64) -> F64:
    """Losses ``(steps,)`` of ever smaller votes as estimates that never fall.

    Those of single steps are noisy, and truth hardly falls as votes get smaller: their isotonic regression, weighted by
    the inverse of their variances, lets neighbours speak for each other. As they are where some are not known.
    """
    if np.isnan(losses).any():
        return losses
    found: F64 = isotonic_regression(losses, sample_weight=1.0 / np.maximum(errors, LEAST_ERROR) ** 2)
    return found
