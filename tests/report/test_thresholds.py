"""Thresholds of the probability of the positive class, their costs, and evaluations with weights."""

import itertools
import re

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.metrics import confusion_matrix, f1_score, precision_score, recall_score
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from committee import GradientBoostingRegressor, RandomForestClassifier
from committee.report.evaluation import baseline_comment, evaluate
from committee.report.figures import OPTIMISTIC, ThresholdModel, Thresholds, cheapest_threshold
from committee.report.model_pages import evaluation_page
from committee.report.prediction_pictures import reliability_picture

X, Y = load_breast_cancer(return_X_y=True)
LABELS = np.array(["ill", "well"])[Y]
MODEL = GaussianNB().fit(X[::2, :2], LABELS[::2])
X_NEW, Y_NEW = X[1::2, :2], LABELS[1::2]
DIABETES = load_diabetes(return_X_y=True)


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.5, 0.9, 1.0])
def test_predictions_are_those_of_a_fixed_threshold_classifier(threshold):
    theirs = FixedThresholdClassifier(
        FrozenEstimator(MODEL), threshold=threshold, pos_label="well", response_method="predict_proba"
    ).fit(X_NEW, Y_NEW)
    predicted = ThresholdModel(MODEL, threshold).predict(X_NEW)
    np.testing.assert_array_equal(predicted, theirs.predict(X_NEW))
    found = evaluate(MODEL, X_NEW, Y_NEW, threshold=threshold)
    np.testing.assert_array_equal(found.confusion.counts, confusion_matrix(Y_NEW, predicted))
    assert found["log_loss"] == evaluate(MODEL, X_NEW, Y_NEW)["log_loss"], "probabilities are the same"
    headings = {each.name: each.heading for each in found.figures}
    for name, score in (("f1", f1_score), ("precision", precision_score), ("recall", recall_score)):
        assert found[name] == pytest.approx(score(Y_NEW, predicted, pos_label="well", zero_division=0.0))
        assert headings[name].endswith(" (well)") and headings["average_precision"] == "average precision (well)"
    row = next(row for row in found.thresholds.rows if row.threshold == threshold)
    assert [row.false_alarms, row.misses] == [found.confusion.counts[0, 1], found.confusion.counts[1, 0]]


def test_pictures_of_wrong_rows_name_the_class_by_the_threshold():
    model = RandomForestClassifier(20, max_depth=3, random_state=0).fit(X[::2, :2], LABELS[::2])
    for threshold in (0.2, 0.8):
        predicted, p = ThresholdModel(model, threshold).predict(X_NEW), model.predict_proba(X_NEW)
        page = evaluation_page(model, X_NEW, Y_NEW, threshold=threshold)
        headings = set(re.findall(r"Row (\d+) is (\w+), predicted (\w+) \((\d+%)\)", page))
        assert len(headings) > 2
        for row, truth, named, share in headings:
            assert (truth, named) == (Y_NEW[int(row)], predicted[int(row)]) and truth != named
            assert share == f"{p[int(row), int(named == 'well')]:.0%}"


def test_calibration_is_of_the_most_probable_class_at_any_threshold():
    p = MODEL.predict_proba(X_NEW)
    right = MODEL.classes_[p.argmax(axis=1)] == Y_NEW
    for threshold in (None, 0.1):
        found = evaluate(MODEL, X_NEW, Y_NEW, threshold=threshold)
        assert found.reliability.right.sum() == right.sum()
        assert found.grids()[-1].title == "Calibration: rows by the probability of the most probable class"
    assert (ThresholdModel(MODEL, 0.1).predict(X_NEW) == Y_NEW).sum() != right.sum()
    assert "of their most probable class" in reliability_picture(found.reliability).caption


@pytest.mark.parametrize("seed", range(8))
def test_the_cheapest_threshold_is_that_of_all_cuts(seed):
    rng = np.random.default_rng(seed)
    p, positive, w = rng.integers(0, 6, 12) / 6.0, rng.random(12) < 0.4, rng.integers(1, 4, 12).astype(float)
    costs = (float(rng.integers(1, 5)), float(rng.integers(0, 5)))
    found = cheapest_threshold(positive, p, costs, w)
    cuts = [found, 0.0, *((a + b) / 2 for a, b in itertools.pairwise(np.unique(p))), 1.0]
    cost, *others = ((w * np.where(positive, costs[1] * (p < t), costs[0] * (p >= t))).sum() for t in cuts)
    assert cost == min(others)
    repeated = np.repeat(np.arange(12), w.astype(int))
    assert cheapest_threshold(positive[repeated], p[repeated], costs) == found


def test_a_threshold_between_adjacent_numbers_keeps_rows_apart():
    low = 0.3
    high = np.nextafter(low, 1.0)
    t = cheapest_threshold(np.array([False, True]), np.array([low, high]), (1.0, 1.0))
    assert low < t <= high


def test_costs_are_shown_at_four_thresholds():
    found = evaluate(MODEL, X_NEW, Y_NEW, threshold=0.7, costs=(10, 1))
    rows = {row.remark: row for row in found.thresholds.rows}
    assert set(rows) == {"default", "given", "cheapest if calibrated", OPTIMISTIC}
    assert rows["cheapest if calibrated"].threshold == 10 / 11
    assert rows[OPTIMISTIC].cost == min(row.cost for row in rows.values())
    counts = found.confusion.counts
    assert rows["given"].cost == pytest.approx((10 * counts[0, 1] + counts[1, 0]) / len(Y_NEW))
    grid = found.thresholds.grid()
    assert grid in found.grids() and grid.columns[1] == "predicted well" and grid.columns[-2] == "cost of a row"
    assert found.to_json()["thresholds"][0].keys() >= {"threshold", "cost", "misses"}
    none = Thresholds.of(np.array([True, False]), np.array([0.1, 0.2]), "well")
    assert none.grid().rows == (("0.5", "0", "-", "0.0000", "0", "1", "default"),)


@pytest.mark.parametrize(
    ("model", "options", "match"),
    [
        (MODEL, {"threshold": 1.2}, "threshold is 1.2; it must be a probability from 0 to 1"),
        (MODEL, {"threshold": np.nan}, "threshold is nan"),
        (MODEL, {"costs": (1,)}, r"costs is \[1\]; give two finite costs"),
        *[(MODEL, {"costs": costs}, "costs is 3.0; give two finite costs") for costs in (3.0, np.array(3.0))],
        (MODEL, {"costs": (0, 0)}, "not both 0"),
        (MODEL, {"costs": (-1, 1)}, "of at least 0"),
        (LinearSVC().fit(X_NEW, Y_NEW), {"threshold": 0.3}, "probabilities, which the model does not predict"),
        (LinearRegression().fit(X_NEW, X_NEW[:, 0]), {"costs": (1, 2)}, "which the model does not predict"),
        (GaussianNB().fit(*load_iris(return_X_y=True)), {"threshold": 0.3}, "two classes, and the model has 3"),
        (MODEL, {"sample_weight": [1.0]}, "need one weight each"),
    ],
)
def test_what_cannot_be_done_is_refused(model, options, match):
    with pytest.raises(ValueError, match=match):
        evaluate(model, X_NEW, Y_NEW, **options)


@pytest.mark.parametrize(
    ("model", "X", "y", "costs"), [(MODEL, X_NEW, Y_NEW, (1, 2)), (LinearRegression().fit(*DIABETES), *DIABETES, None)]
)
def test_weights_repeat_and_leave_out_rows(model, X, y, costs):
    w = np.random.default_rng(0).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(w)), w)
    weighted = evaluate(model, X, y, sample_weight=w, costs=costs)
    repeated = evaluate(model, X[rows], y[rows], costs=costs)
    assert weighted.n_rows == np.count_nonzero(w)
    assert all(figure.interval is None for figure in weighted.figures)
    for figure in repeated.figures:
        if figure.name != "median_absolute_error":  # of repeated rows it may lie between two of them
            assert weighted[figure.name] == pytest.approx(figure.value), figure.name
    if costs is None:
        assert weighted.figures[0].remark == repeated.figures[0].remark
        return
    np.testing.assert_allclose(weighted.confusion.counts, repeated.confusion.counts)
    assert [row.cost for row in weighted.thresholds.rows] == pytest.approx([r.cost for r in repeated.thresholds.rows])


def test_pictures_count_rows_by_their_weights():
    A, b = DIABETES
    w = (np.arange(len(b)) % 3).astype(float)
    quantiles = GradientBoostingRegressor(10, loss="quantile", quantile=[0.1, 0.9], random_state=0).fit(A[::2], b[::2])
    page = evaluation_page(quantiles, A, b, sample_weight=w)
    shares = np.average(b[:, None] <= quantiles.predict(A), axis=0, weights=w)
    assert all(f"level {q:.0%}: {share:.1%} of rows" in page for q, share in zip((0.1, 0.9), shares, strict=True))
    assert np.count_nonzero(w) < 400 < len(w) and "Dots: the rows;" in page, "without those of weight 0"
    forest = RandomForestClassifier(20, max_depth=3, random_state=0).fit(X[::2, :2], LABELS[::2])
    w = np.where(forest.predict(X_NEW) == Y_NEW, 1.0, 3.0)
    share = w[w > 1.0].sum() / w.sum()
    assert f"the margins; {share:.1%} are at most 0" in evaluation_page(forest, X_NEW, Y_NEW, sample_weight=w)


def test_a_model_no_better_than_a_constant_is_commented():
    constant = GaussianNB(priors=[1e-300, 1.0]).fit(X[:, :1] * 0 + 1e-9 * X[:, :1], LABELS)
    found = evaluate(constant, X_NEW[:, :1] * 0, Y_NEW)
    assert found["accuracy"] == found["accuracy_of_most_frequent"]
    assert found.comment.startswith("by accuracy the model is no better than always predicting the most frequent class")
    assert evaluate(MODEL, X_NEW, Y_NEW).comment is None
    assert "always predicting the mean (R2 -0.5000)" in baseline_comment({"r2": -0.5, "rmse": 3.0})
