"""The PAC-Bayes-kl inequality, for losses that are estimated on different numbers of rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log

import numpy as np
from numpy.typing import ArrayLike

from committee.data.number_types import F64


@dataclass(frozen=True)
class PacBayesKl:
    """PAC-Bayes-kl bound on the distance of the mean of estimated losses from the mean of the true ones.

    With probability 1 - delta, for all posteriors q at once,

        kl(sum_h q_h L^_h, sum_h q_h L_h) <= c,    c = (KL(q' || pi) + sum_h q'_h ln xi(n_h) + ln(1 / delta)) / n,

    where L^_h is the mean of n_h independent losses in [0, 1], xi(n) = 2 sqrt n, 1 / n = sum_h q_h / n_h (the harmonic
    mean) and q'_h = n q_h / n_h. If all n_h are n, it is the bound of M. Seeger (2002, JMLR 3) and A. Maurer (2004,
    arXiv:cs/0411099). S. S. Lorenzen, C. Igel, Y. Seldin (2019, Machine Learning 108) take the least n_h out of bag.
    """

    c: float  # upper bound on kl
    rows: float  # n
    divergence: float  # KL(q' || pi)
    unknown: float  # share of q on losses without rows, left out of both sums: `above` takes them for 1, `below` for 0

    @classmethod
    def of(
        cls, posterior: ArrayLike, n_rows: ArrayLike, ln_prior: float, delta: float, *, three_outcomes: bool = False
    ) -> PacBayesKl:
        """Compute the bound of a posterior over losses; `ln_prior` is minus the logarithm of the prior of each loss."""
        q, n = np.ravel(posterior), np.ravel(n_rows)
        used = (q > 0.0) & (n > 0.0)
        if not used.any():
            return cls(inf, 0.0, 0.0, 1.0)
        unknown = float(q[~used].sum())
        q, n = q[used] / q[used].sum(), n[used]
        rows = 1.0 / float((q / n).sum())
        tilted = rows * q / n
        divergence = max(0.0, float(tilted @ np.log(tilted)) + ln_prior)  # rounding may take it below 0
        xi = 2.0 * np.sqrt(n) + (n if three_outcomes else 0.0)
        return cls((divergence + float(tilted @ np.log(xi)) - log(delta)) / rows, rows, divergence, unknown)

    @property
    def terms(self) -> dict[str, float]:
        return {"rows": self.rows, "divergence": self.divergence, "complexity": self.c}

    def above(self, mean: float) -> float:
        if self.rows == 0.0:
            return 1.0
        return (1.0 - self.unknown) * float(kl_inverse(mean, self.c)) + self.unknown

    def below(self, mean: float) -> float:
        return 0.0 if self.rows == 0.0 else (1.0 - self.unknown) * float(kl_below(mean, self.c))


def kl_inverse(q: ArrayLike, c: ArrayLike) -> F64:
    """Return the largest p with kl(q, p) = q ln(q / p) + (1 - q) ln((1 - q) / (1 - p)) <= c."""
    q, c = np.broadcast_arrays(np.asarray(q, dtype=np.float64), np.asarray(c, dtype=np.float64))
    low, high = q.copy(), np.ones(q.shape)
    entropy = -_x_ln_y(q, q) - _x_ln_y(1.0 - q, 1.0 - q)
    for _ in range(60):  # halves an interval of at most 1
        p = 0.5 * (low + high)
        inside = -entropy - _x_ln_y(q, p) - _x_ln_y(1.0 - q, 1.0 - p) <= c
        low, high = np.where(inside, p, low), np.where(inside, high, p)
    # the upper end, so that rounding is on the safe side
    return np.asarray(np.where(np.isnan(q + c), np.nan, high))


def kl_below(q: ArrayLike, c: ArrayLike) -> F64:
    """Return the smallest p with kl(q, p) <= c."""
    return 1.0 - kl_inverse(1.0 - np.asarray(q, dtype=np.float64), c)


def mean_over(posterior: F64, n_rows: F64, values: F64) -> float:
    """Return the mean sum_h q_h L^_h / sum_h q_h over the losses with rows."""
    known = np.where(n_rows > 0.0, posterior, 0.0)
    total = float(known.sum())
    return float((known * np.where(known > 0.0, values, 0.0)).sum()) / total if total > 0.0 else 0.0


def _x_ln_y(x: F64, y: F64) -> F64:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(x == 0.0, 0.0, x * np.log(y)))
