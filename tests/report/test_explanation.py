"""Contents of pages: effects of columns, importances, rows of the largest errors, leaves."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from committee import CommitteeClassifier, GradientBoostingRegressor, RandomForestClassifier, SBPMTClassifier
from committee.data.table_schema import TableSchema
from committee.report.column_effects import MOST_ROWS, TableRows, effects, stored_effects
from committee.report.explanation import Explanation
from committee.report.inspection import Importances
from committee.report.model_pages import evaluation_page
from committee.report.model_pictures import MOST_BARS, TreeLeaves, importance_picture
from committee.vote.explain.tree_expectations import split_thresholds
from tests.small_portfolio import use_small_members, with_second_layer


def table(n: int = 240) -> pd.DataFrame:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"size": random.normal(size=n), "town": random.choice(["Oslo", "Bern", "Riga"], n)})
    frame["late"] = random.integers(0, 4, n).astype(float)
    frame.loc[::7, "late"] = np.nan
    return frame


class Sum:
    """Answers that are sums of functions of one column each, so that both kinds of effects are these functions."""

    def __init__(self, frame):
        self.table_ = TableSchema.learn(frame)

    def validate_rows(self, X):
        return X

    def predict(self, X):
        encoded = self.table_.encode(X)
        return (np.sin(encoded[:, 0]) + encoded[:, 1] ** 2 + np.nan_to_num(encoded[:, 2], nan=-5.0))[:, None]


def test_effects_of_a_sum_are_its_terms():
    frame = pl.from_pandas(table())
    model = Sum(frame)
    size, town, late = effects(model, frame, np.arange(3), model.predict)
    for each, term in ((size, np.sin), (late, lambda x: x)):
        for curve in (each.dependence[:, 0], each.local[:, 0]):
            expected = term(each.places)
            assert_allclose(curve - curve[0], expected - expected[0], atol=1e-9)
    assert town.names == ("Bern", "Oslo", "Riga") and town.local is None
    codes = np.array([sorted(town.names).index(name) for name in town.names])
    assert_allclose(town.dependence[:, 0] - town.dependence[0, 0], codes**2 - codes[0] ** 2, atol=1e-9)
    assert_allclose(late.missing[0] - late.dependence[0, 0], -5.0 - late.places[0])
    assert size.missing is None and size.n_rows == len(frame) < MOST_ROWS
    assert_allclose(size.dependence.mean(), model.predict(frame).mean(), atol=1.0)


def test_columns_without_effect_and_rows_of_any_kind():
    constant = pl.DataFrame({"a": [1.0] * 30, "b": ["x"] * 30, "c": [None] * 29 + [1.0]})
    model = Sum(constant)
    assert effects(model, constant, np.arange(3), model.predict) == []
    frame = table(10)
    some, others = np.array([0, 3]), np.array([4, 5])
    for kind in (pl.DataFrame, pd.DataFrame):
        changed = TableRows(kind(frame)).with_column(some, 0, others)
        assert list(changed["size"]) == frame["size"][[4, 5]].tolist()
        assert list(changed["town"]) == frame["town"][[0, 3]].tolist()
    assert TableRows(frame).texts(2)[:2] == ["", str(frame["late"][1])]


def test_effects_without_rows_of_columns_with_few_splits_are_of_intervals():
    random = np.random.default_rng(0)
    X = pl.DataFrame({"node": random.choice([3, 9], 200), "level": random.choice([1, 2, 5], 200)})
    X = X.with_columns(day=pl.Series(random.choice([19_723, 19_875], 200)).cast(pl.Date))
    y = (X["node"] > 5) * 2.0 + (X["level"] > 1) + (X["day"].dt.month() > 3) + random.normal(0.0, 0.1, 200)
    model = GradientBoostingRegressor(30, random_state=0).fit(X, y.to_numpy())
    node, level, day = stored_effects(model, np.arange(3))
    assert node.names == ("≤ 6", "> 6") and level.names == ("≤ 1.5", "≤ 3.5", "> 3.5")
    assert day.names == ("≤ 2024-03-17", "> 2024-03-17")
    assert node.places.tolist() == [0, 1] and np.diff(node.dependence[:, 0]) == pytest.approx(2.0, abs=0.2)


def test_lines_in_leaves_have_no_effects_of_intervals():
    random = np.random.default_rng(0)
    X = np.column_stack([random.choice([3.0, 9.0], 400), random.normal(size=400)])
    y = (X[:, 0] > 5) * X[:, 1] + random.normal(0.0, 0.1, 400) > 0.0
    model = SBPMTClassifier(3, 3, random_state=0).fit(X, y)
    assert set(split_thresholds(model.committee_, 0)) == {6.0}
    assert [effect.column for effect in stored_effects(model, np.arange(2))] == ["x1"]


def test_rows_that_are_most_wrong():
    X, y = load_breast_cancer(return_X_y=True)
    model = RandomForestClassifier(20, random_state=0).fit(X[::3], y[::3])
    found = Explanation.of(model, X[1::3], y[1::3])
    rows = found.wrong_rows(1000)
    wrong = model.predict(X[1::3]) != y[1::3]
    assert set(rows.tolist()) == set(np.flatnonzero(wrong).tolist())
    own = model.predict_proba(X[1::3])[np.arange(len(wrong)), y[1::3]]
    assert_allclose(own[rows], np.sort(own[wrong]))
    assert found.row(int(rows[0])).predicted == model.predict(X[1::3])[rows[0]]
    numbers = Explanation.of(GradientBoostingRegressor(n_estimators=5).fit(X, y), X, y)
    assert_allclose(np.sort(numbers.errors)[::-1][:5], numbers.errors[numbers.wrong_rows(5)])


def test_importances_add_up_to_one_with_the_bar_of_the_others():
    X, y = load_breast_cancer(return_X_y=True)
    found = Importances.of(RandomForestClassifier(20, random_state=0).fit(X, y))
    figures = importance_picture(found).figures
    assert (
        len(figures.rows) == MOST_BARS + 1 and figures.rows[-1][0] == f"{len(found.order) - MOST_BARS} others, together"
    )
    assert sum(float(share.rstrip("%")) for _, share in figures.rows) == pytest.approx(100.0, abs=0.7)
    assert Importances.of(RandomForestClassifier(2).fit(np.zeros((4, 1)), [0, 1, 0, 1])) is None


def test_page_of_an_evaluation_says_what_was_asked():
    X, y = load_wine(return_X_y=True, as_frame=True)
    y = y.map({0: "<red>", 1: "white", 2: "rosé"})
    model = RandomForestClassifier(10, random_state=0).fit(X[::2], y[::2])
    page = evaluation_page(model, X[1::2], y[1::2], title="Wines & more", data="new.csv")
    for words in ("Wines &amp; more", "89 rows of new.csv", "&lt;red&gt;", "Confusion matrix", "Reliability", "Margins",
                  "Precision by recall", "Effects of columns", "Model card", "Limits"):  # fmt: skip
        assert words in page
    assert "<red>" not in page and "http" not in page.replace("http://www.w3.org/", "").replace("http-equiv", "")
    known = y != "white"  # a class that the model does not have, one row, and none
    model = RandomForestClassifier(5, random_state=0).fit(X[known], y[known])
    assert "Confusion matrix" in evaluation_page(model, X, y)
    assert "Model card" in evaluation_page(model, X[:1], y[:1])
    with pytest.raises(ValueError, match="give one label or number for each row, and at least one row"):
        evaluation_page(model, X[:0], y[:0])


@pytest.mark.parametrize(
    ("loss", "words"), [("squared_error", "True by predicted"), ("quantile", "level of the quantile")]
)
def test_page_of_numbers_and_of_quantiles(loss, words):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    quantile = {"quantile": [0.1, 0.5, 0.9]} if loss == "quantile" else {}
    model = GradientBoostingRegressor(n_estimators=10, loss=loss, **quantile).fit(X[::2], y[::2])
    page = evaluation_page(model, X[1::2], y[1::2])
    assert words in page and "Residuals by prediction" in page and "Rows of the largest errors" in page
    first = page[page.index('class="verdict"') :].split("</p>")[0]
    answers = model.predict(X[1::2]).reshape(len(y[1::2]), -1)
    inside = np.mean((answers[:, 0] <= y[1::2]) & (y[1::2] <= answers[:, -1]))
    said = f"{inside:.1%} of the rows lie between the quantiles 0.1 and 0.9; the target is 80%." if quantile else "RMSE"
    assert said in first


def test_leaves_are_not_those_of_a_second_layer():
    assert TreeLeaves.of(with_second_layer()) is None  # and lines have no tree


def test_leaves_of_a_member_have_the_names_of_columns_categories_and_classes(monkeypatch):
    use_small_members(monkeypatch)
    random = np.random.default_rng(0)
    X = pd.DataFrame({"size": random.normal(size=200), "city": random.choice(["Oslo", "Bern"], 200)})
    y = np.where(X["city"] == "Oslo", np.where(X["size"] > 0.0, "large", "small"), "none")
    model = CommitteeClassifier("fast", random_state=0).fit(X, y)
    found = TreeLeaves.of(model)
    assert found.names == ("large", "none", "small")
    rules = " ".join(leaf.rule for leaf in found.leaves)
    assert "city = Oslo" in rules and "size >" in rules and "x0" not in rules
