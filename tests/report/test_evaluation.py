"""Figures of models on rows whose answers are known, beside scikit-learn's."""

import numpy as np
import polars as pl
import pytest
from sklearn import metrics
from sklearn.datasets import load_diabetes, load_wine

from committee import AdaBoostClassifier, GradientBoostingRegressor, TreeVoter
from committee.objectives.losses import Quantile
from committee.report.evaluation import evaluate
from committee.report.number_figures import quantile_levels


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
    z = 1.959963984540054
    center, half = right + z**2 / 2, z * np.sqrt(right * (len(y_new) - right) / len(y_new) + z**2 / 4)
    low, high = (center + np.array([-half, half])) / (len(y_new) + z**2)
    assert found.figures[0].interval == pytest.approx((low, high))
    assert found.figures[0].words("{:.2f}".format) == f"{low:.2f} to {high:.2f} with 95% confidence"


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
    X = pl.DataFrame({"x": np.arange(60.0)})
    y = np.repeat([f"class {k:02d}" for k in range(12)], 5)
    grids = evaluate(TreeVoter(max_depth=3).fit(X, y), X, y).grids()
    assert grids[1].title == "Most frequent mistakes of 12 classes" and len(grids[1].rows) <= 15
    assert all(true != taken for true, taken, _ in grids[1].rows)
    assert len(grids[2].rows) == 12


def test_figures_of_numbers_are_scikit_learns(numbers):
    X, y, X_new, y_new = numbers
    model = GradientBoostingRegressor(n_estimators=20).fit(X, y)
    found, predicted = evaluate(model, X_new, y_new), model.predict(X_new)
    assert found["rmse"] == pytest.approx(metrics.root_mean_squared_error(y_new, predicted))
    assert found["mae"] == pytest.approx(metrics.mean_absolute_error(y_new, predicted))
    assert found["r2"] == pytest.approx(metrics.r2_score(y_new, predicted))
    assert found.confusion is None and len(found.grids()) == 1
    one = evaluate(model, X_new[:1], y_new[:1])  # R2 says nothing of one row
    assert [figure.name for figure in one.figures] == ["rmse", "mae", "median_absolute_error"]


def test_quantiles_have_pinball_loss_and_coverage(numbers):
    X, y, X_new, y_new = numbers
    model = GradientBoostingRegressor("quantile", 20, quantile=[0.2, 0.5, 0.9]).fit(X, y)
    found, predicted = evaluate(model, X_new, y_new), model.predict(X_new)
    for level, column in zip((0.2, 0.5, 0.9), predicted.T, strict=True):
        loss = np.where(y_new >= column, level * (y_new - column), (1 - level) * (column - y_new)).mean()
        assert found[f"pinball_{level:g}"] == pytest.approx(loss)
        assert found[f"coverage_{level:g}"] == (y_new <= column).mean()
    assert found["interval_coverage"] == ((predicted[:, 0] <= y_new) & (y_new <= predicted[:, 2])).mean()
    assert found["interval_width"] == pytest.approx((predicted[:, 2] - predicted[:, 0]).mean())
    assert found["mae"] == pytest.approx(2 * found["pinball_0.5"])  # of the median
    upper = evaluate(GradientBoostingRegressor(Quantile(0.9), 20).fit(X, y), X_new, y_new)
    assert [figure.name for figure in upper.figures] == ["pinball_0.9", "coverage_0.9"]
    assert quantile_levels(GradientBoostingRegressor("quantiles"), 3) == (0.1, 0.5, 0.9)


def test_what_is_refused(numbers):
    X, y, X_new, y_new = numbers
    model = GradientBoostingRegressor(n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match=r"y has 3 answers; X has 221 rows"):
        evaluate(model, X_new, y_new[:3])
    with pytest.raises(ValueError, match=r"shape \(0,\)"):
        evaluate(model, X_new, y_new[:0])
    with pytest.raises(ValueError, match="not finite"):
        evaluate(model, X_new, np.full(len(y_new), np.inf))
    both = GradientBoostingRegressor(n_estimators=2).fit(X, np.column_stack([y, -y]))
    with pytest.raises(ValueError, match="2 numbers of each row; one is evaluated"):
        evaluate(both, X_new, y_new)
