"""Kernels for vectors of 16, 32 and 64 bytes compute the same bits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from committee import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    SBPMTClassifier,
    _core,
    quadboost_path,
)
from tests.core.lengths_of_vectors import NARROWER, WIDEST, vectors_of

ONE_KERNEL = "2026-11-26: the processor has vectors of 16 bytes alone, or the sanitizers' build one kernel alone"


def rows(n: int = 700) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6))
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, np.nansum(X[:, :3], axis=1) + 0.5 * rng.normal(size=n)


def answers(model: Any, X: Any, y: Any) -> list[Any]:
    model.fit(X, y)
    said = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    return [said, model.contributions(X[:50])] if hasattr(model, "contributions") else [said]


@pytest.mark.skipif(not NARROWER, reason=ONE_KERNEL)
@pytest.mark.parametrize(
    ("make", "n_classes"),
    [
        (lambda: GradientBoostingClassifier(n_estimators=12, random_state=0), 2),
        (lambda: GradientBoostingClassifier(n_estimators=6, random_state=0, leaf_l2=2.0), 4),
        (lambda: GradientBoostingRegressor(n_estimators=12, random_state=0), 0),
        (lambda: RandomForestClassifier(n_estimators=12, random_state=0), 3),
        (lambda: SBPMTClassifier(n_estimators=3, random_state=0), 3),
        (lambda: SBPMTClassifier(n_estimators=2, link="logit", random_state=0), 2),
        (lambda: SBPMTClassifier(n_estimators=2, leaf_steps="gradient", random_state=0), 2),
        (lambda: SBPMTClassifier(n_estimators=2, leaf_steps="gradient", random_state=0), 3),
    ],
)
def test_every_length_of_vectors_gives_the_same_bits(make: Callable[[], Any], n_classes: int) -> None:
    X, y = rows()
    if n_classes:
        y = np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)
    expected = answers(make(), X, y)
    for bytes in NARROWER:
        with vectors_of(bytes):
            assert _core.lane_bytes() == bytes
            again = answers(make(), X, y)
        for mine, widest in zip(again, expected, strict=True):
            assert mine.tobytes() == widest.tobytes()


def boosted(n: int, p: int, link: str) -> list[Any]:
    """Lines of one leaf of n rows and p columns, short or long, and the Newton terms of its scores."""
    rng = np.random.default_rng(n + p)
    D = rng.normal(size=(n, p))
    labels = rng.integers(3, size=n).astype(np.uint16)
    rows, start, weights = np.arange(n, dtype=np.int32), np.array([0, n]), 0.1 + rng.random(n)
    lines = _core.linear_boost(D, rows, start, labels, weights, 3, link, 30, 0.0, 20.0, False, True, 1)
    extremes = np.array([0.0, -0.0, 40.0, -40.0, 700.0, -700.0, 1e300, -1e300])
    return [*lines, *_core.newton_terms(link, np.concatenate([lines[2].ravel(), extremes]))]


@pytest.mark.skipif(not NARROWER, reason=ONE_KERNEL)
@pytest.mark.parametrize("link", ["probit", "logit"])
@pytest.mark.parametrize(("n", "p"), [(5, 3), (29, 18), (64, 41), (65, 5), (300, 7), (1200, 33)])
def test_lines_of_every_size_of_leaf_have_the_same_bits(n: int, p: int, link: str) -> None:
    expected = boosted(n, p, link)
    for bytes in NARROWER:
        with vectors_of(bytes):
            again = boosted(n, p, link)
        for mine, widest in zip(again, expected, strict=True):
            assert mine.tobytes() == widest.tobytes()


@pytest.mark.skipif(not NARROWER, reason=ONE_KERNEL)
def test_every_length_of_vectors_follows_the_same_path() -> None:
    """Codes by comparisons, counts of bits, and the steps of the LASSO."""
    X = np.random.default_rng(1).normal(size=(900, 12))
    y = np.where(X[:, 0] + np.sin(3.0 * X[:, 1]) > 0.2, 1, 0)
    expected = quadboost_path(X, y, n_alphas=20)
    for bytes in NARROWER:
        with vectors_of(bytes):
            path = quadboost_path(X, y, n_alphas=20)
        assert path.weights.tobytes() == expected.weights.tobytes()
        assert path.gaps.tobytes() == expected.gaps.tobytes()


@pytest.mark.parametrize("bytes", [0, 8, 48, 128])
def test_there_are_no_kernels_for_other_vectors(bytes: int) -> None:
    with pytest.raises(ValueError, match=f"lane_bytes={bytes}: kernels are for 16, 32 or 64"):
        _core.use_lane_bytes(bytes)
    assert _core.lane_bytes() == WIDEST
