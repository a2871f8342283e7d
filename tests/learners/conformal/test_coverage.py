"""How often sets and intervals cover, over many draws of all rows: what docs/conformal.md says of each kind."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression

from committee import (
    ConformalClassifier,
    ConformalRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from committee.learners.conformal.known_scores import KnownScores, covered
from tests.learners.conformal.told import ToldClassifier

ALPHA, N_TRAIN, N_NEW = 0.2, 80, 60


def classes(rng: Any, n: int) -> tuple[Any, Any]:
    """Three classes that overlap, the last of them rare."""
    X = rng.normal(size=(n, 3))
    score = X[:, 0] + 0.8 * rng.normal(size=n)
    return X, np.searchsorted([0.0, 1.3], score)


def amounts(rng: Any, n: int) -> tuple[Any, Any]:
    """Numbers whose noise depends on the row, with heavy tails."""
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + np.exp(0.5 * X[:, 1]) * rng.standard_t(3, size=n)


def shares(model: Any, draw: Callable[[Any, int], tuple[Any, Any]], n_draws: int) -> Any:
    """Share of new rows that are covered, for each draw of training rows and new ones."""
    found = np.empty(n_draws)
    for k in range(n_draws):
        rng = np.random.default_rng(k)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a rare class may have too few rows
            model.fit(*draw(rng, N_TRAIN))
            X, y = draw(rng, N_NEW)
            if hasattr(model, "predict_set"):
                found[k] = model.predict_set(X)[np.arange(N_NEW), np.searchsorted(model.classes_, y)].mean()
            else:
                low, high = model.predict_interval(X).T
                found[k] = ((low <= y) & (y <= high)).mean()
    return found


def about(found: Any) -> tuple[float, float]:
    """Bounds of the coverage over all draws, three standard errors about the mean of some."""
    error = found.std(ddof=1) / np.sqrt(len(found))
    return found.mean() - 3.0 * error, found.mean() + 3.0 * error


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("model", "draw"),
    [
        (ConformalClassifier(RandomForestClassifier(15, max_samples=0.6, calibrate=None), ALPHA), classes),
        (ConformalClassifier(LogisticRegression(), ALPHA, cv=4, nonconformity="aps"), classes),
        (ConformalClassifier(LogisticRegression(), ALPHA, cv=2, nonconformity="aps", randomised=True), classes),
        (ConformalClassifier(LogisticRegression(), ALPHA, cv=4, per_class=True, method="plus"), classes),
        (ConformalRegressor(RandomForestRegressor(15, max_samples=0.6), ALPHA), amounts),
        (ConformalRegressor(RandomForestRegressor(15, max_samples=0.6), ALPHA, method="plus"), amounts),
        (ConformalRegressor(LinearRegression(), ALPHA, cv=4, method="plus"), amounts),
        (
            ConformalRegressor(
                LinearRegression(),
                ALPHA,
                nonconformity="normalised",
                difficulty=RandomForestRegressor(10, max_samples=0.6, min_samples_leaf=5),
            ),
            amounts,
        ),
        (
            ConformalRegressor(
                GradientBoostingRegressor("quantile", 5, quantile=[0.1, 0.9], max_leaf_nodes=4, learning_rate=0.5),
                ALPHA,
                cv=2,
                nonconformity="quantile",
            ),
            amounts,
        ),
    ],
    ids=lambda part: part.__name__ if callable(part) and not hasattr(part, "fit") else " ".join(repr(part).split()),
)
def test_covered_as_often_as_asked(model, draw):
    low, high = about(shares(model.set_params(random_state=0), draw, 30))
    assert high >= 1.0 - ALPHA  # and so far from the 1 - 2 alpha that is proved
    assert low <= 1.0 - ALPHA + 0.06


def test_coverage_of_held_out_rows_is_that_of_theory():
    """A new row is as likely to have any rank among n + 1: exactly, whatever scores are."""
    rng = np.random.default_rng(0)
    n, alpha, n_draws = 25, 0.1, 8000
    p = rng.dirichlet([0.6, 0.5, 0.4], (n_draws, n + 1))
    y = (rng.random((n_draws, n + 1, 1)) > np.cumsum(p, axis=2)).sum(axis=2)
    inside = 0
    for rows, labels in zip(p, y, strict=True):
        score = 1.0 - rows[np.arange(n + 1), labels]
        known = KnownScores.of(score[:-1], np.zeros(n, dtype=int), 1)
        inside += int(covered(known.p_values(score[None, -1:], np.zeros((1, 1), dtype=int)), alpha)[0, 0])
    exact = np.ceil((1 - alpha) * (n + 1)) / (n + 1)
    assert binom.ppf(1e-5, n_draws, exact) <= inside <= binom.isf(1e-5, n_draws, exact)


def test_each_class_and_each_group_is_covered_as_often_as_asked():
    """By held-out rows of a model that is better for one class and one group than for the others."""
    rng, alpha = np.random.default_rng(1), 0.2

    def drawn(n):
        y, group = (rng.random(n) < 0.25).astype(int), rng.choice(["near", "far"], n)
        sure = 1.2 + 1.2 * (group == "near") + 0.8 * (y == 0)
        own = 1.0 / (1.0 + np.exp(-(sure + 1.5 * rng.normal(size=n))))
        p = np.where((y == 1)[:, None], np.column_stack([1 - own, own]), np.column_stack([own, 1 - own]))
        return p, y, group

    frozen = FrozenEstimator(ToldClassifier().fit(*drawn(50)[:2]))
    of_class, of_group, plain = np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((2, 2))
    for _ in range(120):
        (p, y, group), (new, labels, groups) = drawn(120), drawn(150)
        both = (
            (ConformalClassifier(frozen, alpha, on="validation", per_class=True).fit(p, y), {}, labels, of_class),
            (ConformalClassifier(frozen, alpha, on="validation").fit(p, y), {}, labels, plain),
            (
                ConformalClassifier(frozen, alpha, on="validation").fit(p, y, groups=group),
                {"groups": groups},
                (groups == "far").astype(int),
                of_group,
            ),
        )
        for model, given, part, counts in both:
            inside = model.predict_set(new, **given)[np.arange(150), labels]
            counts[0] += np.bincount(part, inside, 2)
            counts[1] += np.bincount(part, minlength=2)
    for counts in (of_class, of_group):
        share = counts[0] / counts[1]
        assert (share > 1 - alpha - 0.01).all() and (share < 1 - alpha + 0.05).all()
    assert (plain[0] / plain[1])[1] < 1 - alpha - 0.05  # of the rarer class, unless it is judged apart
