"""Intervals of figures by the influences of rows, beside those of resampled rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.metrics import mean_absolute_error, r2_score, roc_auc_score, root_mean_squared_error

from committee.report.evaluation import evaluate
from committee.report.intervals import FEWEST, _auc_influence, interval_of_number

FIGURES = {"rmse": root_mean_squared_error, "mae": mean_absolute_error, "r2": r2_score}
DRAWS = 600


class Known:
    """A classifier whose probabilities are the columns of the table."""

    def __init__(self, classes):
        self.classes_ = np.array(classes)

    def predict_proba(self, X):
        return np.asarray(X)

    def predict(self, X):
        return self.classes_[np.asarray(X).argmax(axis=1)]


def spread_of_resampled(figure, n, seed):
    """Standard deviation of a figure over draws of the rows with replacement."""
    random = np.random.default_rng(seed)
    return np.std([figure(random.integers(0, n, n)) for _ in range(DRAWS)], ddof=1)


@pytest.mark.parametrize("name", FIGURES)
def test_intervals_of_numbers_are_as_wide_as_resampled_rows_say(name):
    random = np.random.default_rng(3)
    y = random.exponential(size=400)
    predicted = y + random.standard_normal(400) * (0.2 + 0.3 * y)
    value = FIGURES[name](y, predicted)
    low, high = interval_of_number(name, value, y, predicted)
    spread = spread_of_resampled(lambda rows: FIGURES[name](y[rows], predicted[rows]), 400, 1)
    assert low < value < high
    assert (high - low) / (2 * 1.96) == pytest.approx(spread, rel=0.12)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 4])
def test_intervals_of_probabilities_are_as_wide_as_resampled_rows_say(n_classes):
    random = np.random.default_rng(5)
    p = random.dirichlet(np.ones(n_classes), 500)
    y = (p.cumsum(axis=1) > random.random(500)[:, None]).argmax(axis=1)
    model = Known(range(n_classes))
    figures = {each.name: each for each in evaluate(model, p, y).figures}

    def resampled(name):
        return spread_of_resampled(lambda rows: evaluate_one(name, p[rows], y[rows]), 500, 2)

    def evaluate_one(name, p, y):
        if name == "log_loss":
            return -np.log(p[np.arange(len(y)), y]).mean()
        if name == "brier":
            return ((p - np.eye(n_classes)[y]) ** 2).sum(axis=1).mean() / (2 if n_classes == 2 else 1)
        return np.mean([roc_auc_score(y == k, p[:, k]) for k in range(n_classes)])

    for name in ("log_loss", "brier", "roc_auc"):
        low, high = figures[name].interval
        assert figures[name].value == pytest.approx(evaluate_one(name, p, y))
        assert low < figures[name].value < high
        assert (high - low) / (2 * 1.96) == pytest.approx(resampled(name), rel=0.12), name


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=4, max_size=40))
def test_influences_on_the_area_add_up_to_nothing_and_are_of_pairs(rows):
    of_class, score = np.array([kind for kind, _ in rows]), np.array([float(value) for _, value in rows])
    if of_class.all() or not of_class.any():
        return
    influence = _auc_influence(of_class, score)
    own, others = score[of_class], score[~of_class]
    right = (own[:, None] > others) + 0.5 * (own[:, None] == others)
    area = right.mean()
    n = len(rows)
    assert influence[of_class] == pytest.approx((right.mean(axis=1) - area) * n / len(own))
    assert influence[~of_class] == pytest.approx((right.mean(axis=0) - area) * n / len(others))
    assert abs(influence.sum()) < 1e-9 * n


def test_where_no_interval_is_told():
    y = np.arange(FEWEST - 1.0)
    assert interval_of_number("mae", 1.0, y, y + 1.0) is None
    assert interval_of_number("median_absolute_error", 1.0, np.arange(50.0), np.arange(50.0)) is None
    assert interval_of_number("rmse", 0.0, np.arange(50.0), np.arange(50.0)) == (0.0, 0.0)
    sure = DummyClassifier(strategy="constant", constant=0).fit(np.zeros((2, 1)), [0, 1])
    figures = {each.name: each for each in evaluate(sure, np.zeros((20, 1)), [0] * 19 + [1]).figures}
    assert figures["log_loss"].interval is None and figures["brier"].interval is not None
    assert "mean over the classes" in figures["f1_macro"].words(str) and figures["roc_auc"].remark == ""
