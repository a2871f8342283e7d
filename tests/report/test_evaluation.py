"""Evaluations against scikit-learn, confidence intervals against resampling, and prediction sets on labelled rows."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binomtest
from sklearn import metrics
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

from committee import (
    AdaBoostClassifier,
    ConformalClassifier,
    ConformalRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    TreeVoter,
)
from committee.objectives.losses import Quantile
from committee.report import ReliabilityDisplay
from committee.report.evaluation import Confusion, evaluate, out_of_fold
from committee.report.figures import FEWEST, _auc_influence, interval_of_number, quantile_levels
from committee.report.metrics import Reliability
from committee.report.model_pages import evaluation_page
from committee.report.page import Picture
from committee.report.prediction_pictures import confusion_picture, set_section
from committee.report.prediction_sets import CoveredRows

FIGURES = {"rmse": metrics.root_mean_squared_error, "mae": metrics.mean_absolute_error, "r2": metrics.r2_score}


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    names = np.array(["red", "white", "rose"])[y]
    return X[::2], names[::2], X[1::2], names[1::2]


@pytest.fixture(scope="module")
def numbers():
    X, y = load_diabetes(return_X_y=True)
    return X[::2], y[::2], X[1::2], y[1::2]


def test_figures_of_classes_are_scikit_learns(wine):
    X, y, X_new, y_new = wine
    model = AdaBoostClassifier(20).fit(X, y)
    found, predicted, p = evaluate(model, X_new, y_new), model.predict(X_new), model.predict_proba(X_new)
    assert found["accuracy"] == metrics.accuracy_score(y_new, predicted)
    assert found["f1_macro"] == pytest.approx(metrics.f1_score(y_new, predicted, average="macro"))
    assert found["log_loss"] == pytest.approx(metrics.log_loss(y_new, p, labels=model.classes_))
    assert found["roc_auc"] == pytest.approx(metrics.roc_auc_score(y_new, p, multi_class="ovr"))
    assert found["accuracy_of_most_frequent"] == np.unique(y_new, return_counts=True)[1].max() / len(y_new)
    np.testing.assert_array_equal(found.confusion.counts, metrics.confusion_matrix(y_new, predicted))
    expected = metrics.precision_recall_fscore_support(y_new, predicted)
    np.testing.assert_allclose(found.confusion.precision, expected[0])
    np.testing.assert_allclose(found.confusion.recall, expected[1])
    assert found.reliability.weight.sum() == found.n_rows == len(y_new)
    right = int((predicted == y_new).sum())
    low, high = binomtest(right, len(y_new)).proportion_ci(0.95, "wilson")
    assert found.figures[0].interval == pytest.approx((low, high))
    assert found.figures[0].words("{:.2f}".format) == f"95% CI {low:.2f} to {high:.2f}"


def test_labels_that_the_model_does_not_know_count_as_wrong(wine):
    X, y, X_new, y_new = wine
    model = TreeVoter(max_depth=2).fit(X, y)
    odd = y_new.astype("U9")
    odd[:3] = "sparkling"
    found = evaluate(model, X_new, odd)
    assert found["accuracy"] == (model.predict(X_new) == odd).mean()
    assert found.confusion.classes.tolist() == ["red", "rose", "sparkling", "white"]
    assert found.confusion.counts[2].sum() == 3 and found.confusion.counts[:, 2].sum() == 0
    assert np.isnan(found.confusion.precision[2]) and found.confusion.recall[2] == 0.0
    assert found["log_loss"] > 1.0


def test_many_classes_are_shown_by_their_mistakes():
    X, y = pl.DataFrame({"x": np.arange(60.0)}), np.repeat([f"class {k:02d}" for k in range(12)], 5)
    _, mistakes, classes, *_ = evaluate(TreeVoter(max_depth=3).fit(X, y), X, y).grids()
    assert mistakes.title == "Most frequent mistakes of 12 classes" and len(mistakes.rows) <= 15
    assert all(true != taken for true, taken, _ in mistakes.rows) and len(classes.rows) == 12


@pytest.mark.parametrize(
    ("counts", "cells", "tips", "right"),
    [
        ([[1234567, 1], [0, 3]], ["1,234,567", "1", "3"], ["1,234,567 rows", "1 row"], "1,234,570 of 1,234,571 rows"),
        ([[6.0, 2.0], [0.0, 1.0]], ["6.0", "2.0", "1.0"], ["6 rows", "2 rows"], "7 of 9.0 rows"),
        (
            [[32.66666666666662, 3.0000000000000004], [0.03, 0.01]],
            ["32.6667", "3.0", "0.03", "0.01"],
            ["32.6667 rows of x predicted as x, 91.6%", "3 rows", "0.03 rows", "0.01 rows of y predicted as y, 25.0%"],
            "32.6767 of 35.7067 rows",
        ),
        ([[1.7e6 / 3.0, 0.0], [0.0, 2e-7]], ["566,667.0", "2e-07"], ["566,667 rows", "0 rows"], "of 566,667.0 rows"),
    ],
)
def test_rows_and_weights_of_the_confusion_picture(counts, cells, tips, right):
    picture = confusion_picture(Confusion(np.array(["x", "y"]), np.array(counts))).body
    shown = re.findall(r'<text[^>]*data-tip="[^"]* predicted as [^>]*>([^<]*)<', picture)
    assert shown == cells
    assert all(f'data-tip="{tip} of' in picture for tip in tips) and f"{right} are predicted right" in picture


def test_tables_of_weighted_rows_say_so(wine):
    X, y, X_new, y_new = wine
    model = AdaBoostClassifier().fit(X, y)
    found = evaluate(model, X_new, y_new, sample_weight=np.full(len(y_new), 0.5))
    metrics, _, classes, calibration = found.grids()
    assert metrics.title == f"Metrics on {len(y_new)} rows, by weight"
    assert classes.columns[1] == calibration.columns[1] == "weight" and calibration.title.startswith(
        "Calibration: weight"
    )
    assert evaluate(model, X_new, y_new).grids()[2].columns[1] == "rows"


def test_figures_of_numbers_are_scikit_learns(numbers):
    X, y, X_new, y_new = numbers
    model = GradientBoostingRegressor(n_estimators=20).fit(X, y)
    found, predicted = evaluate(model, X_new, y_new), model.predict(X_new)
    for name, score in FIGURES.items():
        assert found[name] == pytest.approx(score(y_new, predicted))
    assert found.confusion is None and len(found.grids()) == 1
    one = evaluate(model, X_new[:1], y_new[:1])  # R2 says nothing of one row
    assert [figure.name for figure in one.figures] == ["rmse", "mae", "median_absolute_error"]


def test_quantiles_have_pinball_loss_and_coverage(numbers):
    X, y, X_new, y_new = numbers
    model = GradientBoostingRegressor(20, loss="quantile", quantile=[0.2, 0.5, 0.9]).fit(X, y)
    found, predicted = evaluate(model, X_new, y_new), model.predict(X_new)
    for level, column in zip((0.2, 0.5, 0.9), predicted.T, strict=True):
        loss = np.where(y_new >= column, level * (y_new - column), (1 - level) * (column - y_new)).mean()
        assert found[f"pinball_{level:g}"] == pytest.approx(loss)
        assert found[f"coverage_{level:g}"] == (y_new <= column).mean()
    assert found["interval_coverage"] == ((predicted[:, 0] <= y_new) & (y_new <= predicted[:, 2])).mean()
    assert found["interval_width"] == pytest.approx((predicted[:, 2] - predicted[:, 0]).mean())
    assert found["mae"] == pytest.approx(2 * found["pinball_0.5"])  # of the median
    upper = evaluate(GradientBoostingRegressor(20, loss=Quantile(0.9)).fit(X, y), X_new, y_new)
    assert [figure.name for figure in upper.figures] == ["pinball_0.9", "coverage_0.9"]
    assert quantile_levels(GradientBoostingRegressor(loss="quantiles"), 3) == (0.1, 0.5, 0.9)


def test_what_is_refused(numbers):
    X, y, X_new, y_new = numbers
    model = GradientBoostingRegressor(n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match=r"y has 3 values and X has 221 rows"):
        evaluate(model, X_new, y_new[:3])
    with pytest.raises(ValueError, match=r"shape \(0,\)"):
        evaluate(model, X_new, y_new[:0])
    with pytest.raises(ValueError, match="not finite"):
        evaluate(model, X_new, np.full(len(y_new), np.inf))
    both = GradientBoostingRegressor(n_estimators=2).fit(X, np.column_stack([y, -y]))
    with pytest.raises(ValueError, match="2 numbers of each row; evaluate a model of one"):
        evaluate(both, X_new, y_new)


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

    def evaluate_one(name, p, y):
        if name == "log_loss":
            return -np.log(p[np.arange(len(y)), y]).mean()
        if name == "brier":
            return ((p - np.eye(n_classes)[y]) ** 2).sum(axis=1).mean() / (2 if n_classes == 2 else 1)
        return np.mean([metrics.roc_auc_score(y == k, p[:, k]) for k in range(n_classes)])

    for name in ("log_loss", "brier", "roc_auc"):
        low, high = figures[name].interval
        assert figures[name].value == pytest.approx(evaluate_one(name, p, y))
        assert low < figures[name].value < high
        spread = spread_of_resampled(lambda rows, name=name: evaluate_one(name, p[rows], y[rows]), 500, 2)
        assert (high - low) / (2 * 1.96) == pytest.approx(spread, rel=0.12), name


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


def test_each_row_is_judged_by_the_fit_that_has_not_seen_it():
    X, y = load_iris(return_X_y=True)
    model = TreeVoter(max_depth=3, min_samples_leaf=1)
    found = out_of_fold(model, X, y, folds=4, seed=3)
    splitter = StratifiedKFold(4, shuffle=True, random_state=3)
    assert found["accuracy"] == (cross_val_predict(model, X, y, cv=splitter) == y).mean()
    p = cross_val_predict(model, X, y, cv=splitter, method="predict_proba")
    expected = -np.log(np.clip(p[np.arange(150), y], np.finfo(float).eps, 1.0)).mean()
    assert found["log_loss"] == pytest.approx(expected)
    assert found.brief() == f"accuracy {found['accuracy']:.4f} (most frequent class: 0.3333), " + (
        f"log loss {found['log_loss']:.4f}"
    )


def test_numbers_and_quantiles():
    X, y = load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(n_estimators=10, random_state=0)
    expected = cross_val_predict(model, X, y, cv=KFold(5, shuffle=True, random_state=0))
    assert out_of_fold(model, X, y)["rmse"] == pytest.approx(np.sqrt(((expected - y) ** 2).mean()))
    quantiles = out_of_fold(GradientBoostingRegressor(10, loss="quantiles"), pl.DataFrame(X), y)
    assert quantiles.brief().startswith("pinball loss ") and "; coverage 0." in quantiles.brief()
    assert 0.0 < quantiles["coverage_0.1"] < quantiles["coverage_0.9"] < 1.0


def test_a_class_of_one_row_and_too_few_rows():
    X, y = load_iris(return_X_y=True)
    odd = np.where(np.arange(150) == 0, 9, y)  # no training row has it when it is asked for
    found = out_of_fold(TreeVoter(max_depth=3), X, odd)
    assert found.confusion.classes.tolist() == [0, 1, 2, 9] and np.isfinite(found["log_loss"])
    assert out_of_fold(TreeVoter(), X[:8], y[:8]) is None
    assert out_of_fold(TreeVoter(), X[:50], y[:50]) is None  # one class


HALF = np.arange(442) % 2 == 0


def test_sets_are_counted_by_size_and_by_class():
    X, y = load_wine(return_X_y=True)
    names, half = np.array(["red", "white", "rosé"])[y], HALF[: len(y)]
    model = ConformalClassifier(RandomForestClassifier(30, random_state=0), alpha=0.05).fit(X[half][:, :2], names[half])
    new = names[~half].astype(object)
    new[0] = "cider"  # a class that no set can hold
    found = CoveredRows.of(model, X[~half][:, :2], new)
    sets = model.predict_set(X[~half][:, :2])
    inside = np.array([label in model.classes_[row] for label, row in zip(new, sets, strict=True)])
    np.testing.assert_array_equal(found.inside, inside)
    sizes, by_class = set_section(found).parts
    assert isinstance(sizes, Picture) and isinstance(by_class, Picture) and sizes.figures and by_class.figures
    counted = {name: (int(n), right) for name, n, _, right in sizes.figures.rows}
    for size, name in enumerate(["no class", "1 class", "2 classes", "3 classes"][: sets.sum(axis=1).max() + 1]):
        rows = sets.sum(axis=1) == size
        assert counted[name] == (rows.sum(), f"{inside[rows].mean():.1%}" if rows.any() else "-")
    assert by_class.figures.rows[0][:3] == ("cider", "1", "0.0%")
    for name, n, covered, interval in by_class.figures.rows:
        hits = inside[new == name]
        wilson = binomtest(int(hits.sum()), len(hits)).proportion_ci(0.95, "wilson")
        assert (int(n), covered) == (len(hits), f"{hits.mean():.1%}")
        assert interval == f"{wilson.low:.1%} to {wilson.high:.1%}"

    page = evaluation_page(model, X[~half][:, :2], names[~half])
    assert "Sets on these rows" in page and "Coverage by class" in page
    assert re.search(r"The sets contain the true class of \d+\.\d% of the rows \(target: 95%\)", page)
    assert "on these rows" not in evaluation_page(model.estimator_, X[~half][:, :2], names[~half])


@pytest.mark.parametrize("score", ["absolute", "normalised"])
def test_intervals_are_shown_by_width_and_by_size(score):
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(20, random_state=0)
    model = ConformalRegressor(forest, nonconformity=score, random_state=0).fit(X[HALF], y[HALF])
    found = CoveredRows.of(model, X[~HALF], y[~HALF])
    low, high = model.predict_interval(X[~HALF]).T
    np.testing.assert_array_equal(found.inside, (low <= y[~HALF]) & (y[~HALF] <= high))
    widths, by_size = set_section(found).parts
    assert isinstance(widths, str) == (score == "absolute")
    assert isinstance(by_size, Picture) and by_size.figures
    order = np.argsort((low + high) / 2.0, kind="stable")
    for part, (_, n, covered, _) in zip(np.array_split(order, 7), by_size.figures.rows, strict=True):
        assert (int(n), covered) == (len(part), f"{found.inside[part].mean():.1%}")
    page = evaluation_page(model, X[~HALF], y[~HALF])
    assert "Coverage by size" in page and "The intervals contain the true number of" in page


def test_the_median_width_of_weighted_rows_is_that_of_repeated_rows():
    ends, weights = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 8.0]]), np.array([1, 1, 3])
    y = np.full(3, 0.5)
    found = CoveredRows(0.9, y, y > 0.0, intervals=ends, weights=weights.astype(float))
    again = CoveredRows(0.9, y.repeat(weights), y.repeat(weights) > 0.0, intervals=ends.repeat(weights, axis=0))
    assert found.sentence == again.sentence and found.sentence.endswith("their median width is 8.")


def test_pictures_of_weighted_rows_are_those_of_repeated_rows():
    rng = np.random.default_rng(0)
    y, sets, weights = rng.choice(["a", "b"], 90), rng.random((90, 2)) < 0.7, rng.integers(4, size=90)
    every, settings = np.repeat(np.arange(90), weights), {"alpha": 0.1, "groups_": None, "group_by": None}
    model = SimpleNamespace(classes_=np.array(["a", "b"]), predict_set=lambda rows: sets[rows], **settings)
    found = CoveredRows.of(model, np.arange(90), y, weights.astype(float))
    again = CoveredRows.of(model, every, y[every])
    for part, other in zip(set_section(found).parts, set_section(again).parts, strict=True):
        assert [row[:3] for row in part.figures.rows] == [row[:3] for row in other.figures.rows]
    ends = np.stack([np.zeros(90), np.r_[np.inf, 1.0:90.0]], axis=1)
    model = SimpleNamespace(predict_interval=lambda rows: ends[rows], **settings)
    inside = rng.random(90) < 0.7
    truth = np.where(inside, 0.5, -1.0)
    weights = np.r_[2.5, np.arange(1.0, 90.0)]
    widths, by_size = set_section(CoveredRows.of(model, np.arange(90), truth, weights)).parts
    assert "half of them at most 63. Wide" in widths.caption and "2.5 more are infinite" in widths.caption
    for part, row in zip(np.array_split(np.arange(1, 90), 2), by_size.figures.rows, strict=True):
        covered = np.average(inside[part], weights=weights[part])
        assert row[1:] == (f"{weights[part].sum():,.0f}", f"{covered:.1%}", "-")


def test_infinite_intervals():
    X, y = load_diabetes(return_X_y=True)
    model = ConformalRegressor(RandomForestRegressor(30, random_state=0), alpha=0.01, random_state=0)
    with pytest.warns(UserWarning, match="scored"):
        model.fit(X[:30], y[:30])
    found = CoveredRows.of(model, X[30:], y[30:])
    assert found.inside.all()
    assert set_section(found).parts == ["All intervals are infinite: too few rows were scored for such an alpha."]
    assert "All intervals are infinite" in evaluation_page(model, X[30:], y[30:])


rows = st.lists(st.tuples(st.floats(0.5, 1.0), st.booleans(), st.integers(1, 3)), min_size=1, max_size=30)


def reliability(some, *, repeated=False):
    sure, right, weight = (np.array(part) for part in zip(*some, strict=True))
    if repeated:
        return Reliability.of(np.repeat(np.c_[1 - sure, sure], weight, axis=0), np.repeat(right, weight))
    return Reliability.of(np.c_[1 - sure, sure], right, weight)


@given(rows)
def test_bins_are_counted_by_hand(some):
    found = reliability(some)
    error = 0.0
    for k in range(10):
        inside = [(p, right, w) for p, right, w in some if min(int(p * 10), 9) == k]
        assert found.weight[k] == sum(w for _, _, w in inside)
        assert found.right[k] == sum(w for _, right, w in inside if right)
        error += abs(sum(w * (right - p) for p, right, w in inside))
    assert_allclose(found.calibration_error, error / found.weight.sum(), atol=1e-12)
    assert 0.0 <= found.calibration_error <= 1.0


@given(rows, rows)
def test_weights_are_repeated_rows_and_folds_add_up(some, others):
    for ours, theirs in (
        (reliability(some), reliability(some, repeated=True)),
        (Reliability.sum([reliability(some), reliability(others)]), reliability(some + others)),
    ):
        for name in ("weight", "expected", "right"):
            assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-9)


@pytest.mark.parametrize(
    ("p", "right"), [(np.empty((0, 2)), []), ([0.5], [True]), ([[0.5, 0.5]], [True, False]), ([[0.5, 1.5]], [True])]
)
def test_what_are_no_probabilities_is_refused(p, right):
    with pytest.raises(ValueError, match="probability"):
        Reliability.of(p, right)


def test_the_picture_has_a_curve_for_each_model_and_no_empty_bins():
    X, y = load_breast_cancer(return_X_y=True)
    models = {"forest": RandomForestClassifier(30, random_state=0), "boosted": AdaBoostClassifier(50)}
    display = ReliabilityDisplay.from_estimators(
        {k: m.fit(X[::2], y[::2]) for k, m in models.items()}, X[1::2], y[1::2]
    )
    *curves, diagonal = display.ax_.get_lines()
    assert diagonal.get_xdata().tolist() == diagonal.get_ydata().tolist() and len(curves) == 2
    for line, curve in zip(curves, display.curves.values(), strict=True):
        assert len(line.get_xdata()) == (curve.weight >= 0.005 * curve.weight.sum()).sum()
        assert (line.get_ydata() <= 1.0).all()
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts[0] == f"forest ({display.curves['forest'].calibration_error:.3f})"
    with pytest.raises(ValueError, match="curves is empty"):
        ReliabilityDisplay({})
    model = RandomForestRegressor(2, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="estimator is a RandomForestRegressor, which has no predict_proba"):
        ReliabilityDisplay.from_estimators({"forest": model}, X, y)


def test_the_reliability_of_one_classifier_and_of_its_probabilities():
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(5, random_state=0).fit(X[::2], y[::2])
    p, weight = model.predict_proba(X[1::2]), np.arange(75.0)
    display = ReliabilityDisplay.from_estimator(model, X[1::2], y[1::2], weight)
    ((name, curve),) = display.curves.items()
    same = ReliabilityDisplay.from_predictions(y[1::2], p, weight, name=name).curves[name]
    assert name == "RandomForestClassifier" and curve.calibration_error == same.calibration_error
    one_class = ReliabilityDisplay.from_predictions(np.zeros(75, dtype=int), p, classes=[0, 1, 2]).curves["predictions"]
    assert one_class.right.sum() == (p.argmax(axis=1) == 0).sum()
    two, column = ([0, 1, 1], [0.2, 0.4, 0.9])
    (curve,) = ReliabilityDisplay.from_predictions(two, column).curves.values()
    assert curve.right.sum() == 2.0 and curve.expected.sum() == pytest.approx(0.8 + 0.6 + 0.9)
    with pytest.raises(ValueError, match=r"y_prob has shape \(75, 3\) for 75 labels of 1 classes; give a row"):
        ReliabilityDisplay.from_predictions(np.zeros(75), p)
