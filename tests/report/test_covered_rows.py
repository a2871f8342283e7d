"""Sets and intervals of conformal models on rows with answers: counted right, and drawn on the page."""

import re

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.datasets import load_diabetes, load_wine

from committee import ConformalClassifier, ConformalRegressor, RandomForestClassifier, RandomForestRegressor
from committee.report.covered_rows import CoveredRows
from committee.report.evaluation_page import evaluation_page
from committee.report.explained.pictures import set_section
from committee.report.page import Picture

HALF = np.arange(442) % 2 == 0


def test_sets_are_counted_by_size_and_by_class():
    X, y = load_wine(return_X_y=True)
    names, half = np.array(["red", "white", "rosé"])[y], HALF[: len(y)]
    model = ConformalClassifier(RandomForestClassifier(30, random_state=0), alpha=0.05).fit(X[half][:, :2], names[half])
    new = names[~half].astype(object)
    new[0] = "cider"  # a class that no set can hold
    found = CoveredRows.of(model, X[~half][:, :2], new)
    assert found is not None
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
    assert re.search(r"Sets hold the right class of \d+\.\d% \(asked for: 0\.95\)", page)
    assert "on these rows" not in evaluation_page(model.estimator_, X[~half][:, :2], names[~half])


@pytest.mark.parametrize("score", ["absolute", "normalised"])
def test_intervals_are_shown_by_width_and_by_size(score):
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(20, random_state=0)
    model = ConformalRegressor(forest, nonconformity=score, random_state=0).fit(X[HALF], y[HALF])
    found = CoveredRows.of(model, X[~HALF], y[~HALF])
    assert found is not None
    low, high = model.predict_interval(X[~HALF]).T
    np.testing.assert_array_equal(found.inside, (low <= y[~HALF]) & (y[~HALF] <= high))
    widths, by_size = set_section(found).parts
    assert isinstance(widths, str) == (score == "absolute")
    assert isinstance(by_size, Picture) and by_size.figures
    order = np.argsort((low + high) / 2.0, kind="stable")
    for part, (_, n, covered, _) in zip(np.array_split(order, 7), by_size.figures.rows, strict=True):
        assert (int(n), covered) == (len(part), f"{found.inside[part].mean():.1%}")
    page = evaluation_page(model, X[~HALF], y[~HALF])
    assert "Coverage by size" in page and "Intervals hold the number of" in page


def test_few_rows_and_infinite_intervals_are_said():
    X, y = load_diabetes(return_X_y=True)
    model = ConformalRegressor(RandomForestRegressor(30, random_state=0), alpha=0.01, random_state=0)
    with pytest.warns(UserWarning, match="scored"):
        model.fit(X[:30], y[:30])
    found = CoveredRows.of(model, X[30:], y[30:])
    assert found is not None
    assert found.inside.all()
    assert set_section(found).parts == ["All intervals are infinite: too few rows were scored for such an alpha."]
    assert "All intervals are infinite" in evaluation_page(model, X[30:], y[30:])
