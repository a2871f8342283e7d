"""A penalty is one class and one line in a table: kernels know four, any other runs in NumPy."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import ElasticNet

from committee import QuadBoostClassifier
from committee.objectives.programs.coordinate_steps import cyclic_sweeps, greedy_rounds
from committee.objectives.programs.named_penalties import PENALTIES
from committee.objectives.programs.penalties import L1Penalty, L2Penalty, LinfPenalty, NoPenalty
from committee.objectives.programs.penalty import Penalty

F64 = NDArray[np.float64]
ALL = [NoPenalty(), L1Penalty(0.03), L2Penalty(0.1), LinfPenalty(0.15)]


def products(seed: int = 0, n: int = 60, N: int = 12) -> tuple[F64, F64]:
    rng = np.random.default_rng(seed)
    H = rng.choice([-1.0, 1.0], size=(n, N))
    y = np.sign(H[:, 0] + H[:, 3] + rng.normal(size=n))
    return H.T @ H / n, H.T @ y / n


def without_kernel(penalty: Penalty) -> Penalty:
    kind: Any = type(penalty)
    made: Penalty = type("InNumPy", (kind,), {"kernel": None})(penalty.strength)
    return made


@pytest.mark.parametrize("penalty", ALL, ids=str)
@pytest.mark.parametrize("as_new", [True, False])
def test_rounds_in_numpy_are_those_of_the_kernel(penalty: Penalty, as_new: bool) -> None:
    gram, b = products()
    found = []
    for rule in (penalty, without_kernel(penalty)):
        c, alpha = b.copy(), np.zeros(len(b))
        found.append((*greedy_rounds(rule, gram, c, alpha, as_new=as_new, n_rounds=15, least=1e-9), c, alpha))
    assert_array_equal(found[0][0], found[1][0])
    for native, other in zip(found[0][1:], found[1][1:], strict=True):
        assert_allclose(native, other, atol=1e-12)


@pytest.mark.parametrize("penalty", ALL, ids=str)
def test_sweeps_in_numpy_end_where_the_kernels_do(penalty: Penalty) -> None:
    gram, b = products()
    weights = []
    for rule in (penalty, without_kernel(penalty)):
        c, alpha = b.copy(), np.zeros(len(b))
        assert cyclic_sweeps(rule, gram, c, alpha, 1e-12, 1000) <= 1e-12
        assert_allclose(c, b - gram @ alpha, atol=1e-12)
        weights.append(alpha)
    assert_allclose(*weights, atol=1e-10)


@dataclass(frozen=True)
class Elastic(Penalty):
    """lambda (2 |alpha| + alpha^2), of which the library knows nothing."""

    def best(self, own: F64, eta: F64) -> F64:
        return np.sign(own) * np.maximum(np.abs(own) - self.strength, 0.0) / (eta + self.strength)

    def cost(self, alpha: F64) -> F64:
        return self.strength * (2.0 * np.abs(alpha) + alpha**2)

    def distance(self, c: F64, alpha: F64) -> F64:
        off = np.maximum(np.abs(c) - self.strength, 0.0)
        return np.where(alpha == 0.0, off, np.abs(c - self.strength * (np.sign(alpha) + alpha)))

    @property
    def ridge(self) -> float:
        return self.strength

    def slope(self, alpha: F64) -> F64:
        return self.strength * np.sign(alpha)

    def free(self, alpha: F64) -> NDArray[np.bool_]:
        return alpha != 0.0

    def stops(self, alpha: F64, step: F64) -> tuple[NDArray[np.bool_], F64]:
        return np.sign(alpha + step) != np.sign(alpha), np.zeros(len(alpha))


@pytest.mark.parametrize("dictionary", ["stumps", "all_stumps"])
def test_a_penalty_from_outside_needs_a_class_and_a_line(dictionary: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PENALTIES, "elastic", Elastic)
    X, y = load_breast_cancer(return_X_y=True)
    chosen: Any = "elastic"
    model = QuadBoostClassifier(
        chosen, alpha=0.02, dictionary=dictionary, reweight="fully_corrective", n_estimators=60, tol=1e-7
    ).fit(X, y)
    H = model.committee_.votes(X).astype(np.float64)
    # scikit-learn's penalty is alpha (l1_ratio |w| + (1 - l1_ratio) w^2 / 2), beside half our risk
    peer = ElasticNet(alpha=0.04, l1_ratio=0.5, tol=1e-12, max_iter=100_000).fit(H, 2.0 * y - 1.0)
    assert_allclose(model.committee_.weights, peer.coef_, atol=1e-6)
    with pytest.raises(ValueError, match="The theory names no strength for this penalty"):
        QuadBoostClassifier(chosen, alpha="theory", dictionary=dictionary).fit(X, y)
    assert np.isnan(Elastic(0.02).gap(np.ones(2), np.zeros(2), np.ones(2), 1.0)), "no bound of it is known"
