"""Reliability: how often elected classes are right, beside the probability that they are given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from committee.data.number_types import F64

N_BINS = 10


@dataclass(frozen=True, eq=False)
class Reliability:
    """Rows by the probability of the class that they are given, in ten bins of the same width.

    Examples
    --------
    >>> from committee.report.reliability import Reliability
    >>> reliability = Reliability.of([[0.1, 0.9], [0.2, 0.8], [0.05, 0.95], [0.6, 0.4]], [True, True, False, True])
    >>> reliability.weight.tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 2.0]
    >>> round(reliability.calibration_error, 4)
    0.3625
    """

    weight: F64
    """Rows of each bin, or their weight."""
    expected: F64
    """How many of them are right if the probabilities mean what they say: the sum of these."""
    right: F64
    """How many of them are right."""

    @classmethod
    def of(cls, probability: ArrayLike, right: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Count rows: class probabilities ``(n, K)``, and whether the class of largest probability is the row's own.

        Raises
        ------
        ValueError
            If there is no row, the lengths differ, or a probability is outside [0, 1].
        """
        p, is_right = np.asarray(probability, dtype=np.float64), np.asarray(right, dtype=np.float64)
        if p.ndim != 2 or not p.size or is_right.shape != p.shape[:1]:
            raise ValueError(
                f"probability has shape {p.shape} and right {is_right.shape}; give (n, K) and (n,), n > 0."
            )
        sure = p.max(axis=1)
        if not ((sure >= 0.0) & (sure <= 1.0 + 1e-9)).all():
            raise ValueError("probability holds numbers outside [0, 1]; give those of predict_proba.")
        weight = np.ones(len(p)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        place = np.minimum((sure * N_BINS).astype(np.intp), N_BINS - 1)
        sums = (np.bincount(place, each, N_BINS) for each in (weight, weight * sure, weight * is_right))
        return cls(*(each.astype(np.float64) for each in sums))

    @classmethod
    def sum(cls, some: Iterable[Reliability]) -> Self:
        """Rows of several folds together."""
        return cls(*np.sum([[each.weight, each.expected, each.right] for each in some], axis=0))

    @property
    def calibration_error(self) -> float:
        """Expected calibration error: the mean over rows of their bin's share right less its mean probability."""
        return float(np.abs(self.right - self.expected).sum() / self.weight.sum())
