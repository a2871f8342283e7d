"""Every loss with targets and scores of its kind."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import strategies as st

from committee.objectives import losses
from committee.vote.links.mean import Identity

Array = np.ndarray


@dataclass(frozen=True)
class Case:
    loss: losses.Loss
    n_classes: int | None = None

    @property
    def n_scores(self) -> int:
        return self.loss.n_scores(self.n_classes)

    def targets(self, rng: np.random.Generator, n: int) -> Array:
        if self.n_classes is not None:
            return rng.integers(0, self.n_classes, n).astype(np.uint16)
        if self.loss.target_interval.low == 0.0:
            y = rng.gamma(1.0, 2.0, n) + 1e-3
            return y if isinstance(self.loss, losses.Gamma) else np.where(rng.uniform(size=n) < 0.3, 0.0, y)
        return rng.normal(size=n) * 2.0

    def scores(self, rng: np.random.Generator, n: int, scale: float) -> Array:
        return rng.normal(size=(self.n_scores, n) if self.n_scores > 1 else n) * scale

    def constant(self, c: Array, n: int) -> Array:
        F = np.repeat(np.asarray(c, dtype=np.float64)[:, None], n, axis=1)
        return F if self.n_scores > 1 else F[0]

    def risk(self, c: Array, y: Array, w: Array) -> float:
        return float(w @ self.loss.value(y, self.constant(c, len(y))))

    def is_piecewise_linear(self) -> bool:
        return isinstance(self.loss, losses.Absolute | losses.Quantile | losses.Quantiles)


OF_NUMBERS = [
    Case(loss)
    for loss in (
        losses.Squared(),
        losses.Absolute(),
        losses.Quantile(0.3),
        losses.Quantiles((0.1, 0.5, 0.9)),
        losses.Huber(0.7),
        losses.Poisson(),
        losses.Gamma(),
        losses.Tweedie(1.1),
        losses.Tweedie(1.9),
    )
]
OF_CLASSES = [
    Case(loss(), K)
    for loss in (losses.Logistic, losses.Exponential, losses.Probit, losses.SquaredHinge)
    for K in (2, 4)
]
CASES = OF_NUMBERS + OF_CLASSES
seeds = st.integers(0, 2**32 - 1)
of_all = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.loss}-{case.n_classes or 'numbers'}")


@dataclass(frozen=True)
class LogCosh(losses.Loss):
    """L = ln cosh(F - y): a loss that the library has not."""

    name: ClassVar[str] = "log_cosh"

    @property
    def link(self) -> Identity:
        return Identity()

    def value(self, y, F):
        return np.logaddexp(F - y, y - F) - np.log(2.0)

    def gradient_hessian(self, y, F, w=None):
        w = np.ones(len(F)) if w is None else w
        slope = np.tanh(F - y)
        return w * slope, w * np.maximum(1.0 - slope**2, 1e-16)
