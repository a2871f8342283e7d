"""``committee explain``: figures that add up, classes, pictures, and what is refused."""

import datetime
import re

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris

from committee import (
    AdaBoostClassifier,
    GradientBoostingRegressor,
    LogitBoostClassifier,
    RandomForestClassifier,
    load,
)
from committee.report.explained.column_effects import effects
from committee.report.row_explanation import RowExplanation
from committee.vote.explain.contributions import probability_contributions
from tests.cli.calls import fail, succeed


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    X, y = load_iris(return_X_y=True, as_frame=True)
    frame = pl.from_pandas(X)
    frame.write_csv(folder / "new.csv")
    RandomForestClassifier(10, random_state=0).fit(frame, np.array(["a", "b", "c"])[y]).save(folder / "classes.st")
    RandomForestClassifier(10, random_state=0).fit(frame, y == 0).save(folder / "two.st")
    AdaBoostClassifier(5).fit(frame, y == 0).save(folder / "scores.st")
    GradientBoostingRegressor("quantile", 8, quantile=[0.4, 0.5, 0.6]).fit(frame, X.iloc[:, 1]).save(
        folder / "quantiles.st"
    )
    GradientBoostingRegressor(n_estimators=10).fit(frame, 1000.0 * X.iloc[:, 0]).save(folder / "numbers.st")
    LogitBoostClassifier(5).fit(frame, y).save(folder / "lines.st")
    return folder


def adds(out):
    """Figures of the table of what columns add, by what stands before them."""
    lines = out.partition("─\n")[2].splitlines()
    return {
        words: float(figure.replace(",", "")) for words, figure in (re.split(r"  +", line.strip()) for line in lines)
    }


def test_figures_add_up_and_are_the_contributions(files):
    out = succeed("explain", files / "classes.st", files / "new.csv", "--row", 101, "--class", "b").stdout
    X = pl.read_csv(files / "new.csv")
    model = load(files / "classes.st")
    expected = probability_contributions(model.committee_, X[101:102])[0, :, 1]
    found = adds(out)
    assert next(iter(found)) == "(no column known)" and list(found)[-1] == "(probability)"
    inner = [value for words, value in found.items() if words[0] != "("]
    order = np.argsort(-np.abs(expected[:-1]), kind="stable")
    np.testing.assert_allclose(inner, expected[:-1][order][: len(inner)], atol=0.0001)
    assert found["(probability)"] == pytest.approx(model.predict_proba(X[101:102])[0, 1], abs=0.0001)
    assert "row 101 of" in out and "predicted c" in out and "The probability for b is" in out
    of_one = succeed("explain", files / "two.st", files / "new.csv", "--class", "True").stdout
    assert adds(of_one)["(probability)"] == pytest.approx(load(files / "two.st").predict_proba(X[:1])[0, 1], abs=0.0001)
    assert "above 0 for a, below for b" not in of_one


def test_one_of_several_quantiles(files):
    """Each is the sum that it becomes when the sums of a row are put in order, crossed or not."""
    X, model = pl.read_csv(files / "new.csv"), load(files / "quantiles.st")
    sums = model.contributions(X, output="score").sum(axis=1)
    crossed = int(np.flatnonzero((np.diff(sums) < 0.0).any(axis=1))[0])
    predicted = model.predict(X)
    for row in (0, crossed):
        for k, level in enumerate((0.4, 0.5, 0.6)):
            called = ("explain", files / "quantiles.st", files / "new.csv", "--row", row, "--quantile", level)
            out = succeed(*called).stdout
            assert f"The prediction of quantile {level} is" in out and f"{predicted[row, 2]:.4g} (0.6)" in out
            found = adds(out)
            assert found["(prediction)"] == pytest.approx(predicted[row, k], rel=1e-3)
            assert sum(list(found.values())[:-1]) == pytest.approx(found["(prediction)"], rel=1e-3)
    assert "of quantile 0.5" in succeed("explain", files / "quantiles.st", files / "new.csv").stdout
    assert "none of the model's: 0.4, 0.5, 0.6" in fail(*called[:-1], 0.3)
    assert "does not predict several" in fail("explain", files / "numbers.st", files / "new.csv", "--quantile", 0.5)


def test_dates_are_shown_as_dates_and_levels_in_their_order(tmp_path):
    rng = np.random.default_rng(0)
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=int(k)) for k in rng.integers(0, 200, 300)]
    frame = pl.DataFrame({"day": [day.strftime("%d.%m.%Y") for day in days], "late": [day.month > 3 for day in days]})
    frame.write_csv(tmp_path / "days.csv")
    model, page = tmp_path / "model.st", tmp_path / "page.html"
    succeed("fit", tmp_path / "days.csv", "-t", "late", "-m", "random_forest", "-p", "n_estimators=3", "-o", model)
    out = succeed("explain", model, tmp_path / "days.csv", "--row", 5, "--report", page).stdout
    assert f"day = {days[5].isoformat()}" in out and f"day = {days[5].isoformat()}" in page.read_text("utf-8")
    assert "Row 5 of" in page.read_text("utf-8") and "Model card" in page.read_text("utf-8")
    for data in ((), ("--data", tmp_path / "days.csv")):
        succeed("inspect", model, *data, "--report", page)
        text = page.read_text("utf-8")
        assert re.search("day &lt;= 2024-0[34]-[0-9]{2}", text) and "e+09" not in text
        assert re.search(">(2024-)?0[1-6](-[0-9]{2})?</text>", text)
    size = pl.Series(rng.choice(["small", "medium", "large"], 300), dtype=pl.Enum(["small", "medium", "large"]))
    forest = RandomForestClassifier(3, random_state=0).fit(pl.DataFrame({"size": size}), frame["late"])
    (effect,) = effects(forest, pl.DataFrame({"size": size}), np.array([0]), forest.predict_proba)
    assert effect.names == ("small", "medium", "large")


def test_numbers_and_few_columns(files):
    out = succeed("explain", files / "numbers.st", files / "new.csv", "--row", 149, "--most", 1).stdout
    found = adds(out)
    assert len(found) == 4 and "(3 other columns)" in found
    predicted = load(files / "numbers.st").predict(pl.read_csv(files / "new.csv")[-1:])[0]
    assert found["(prediction)"] == pytest.approx(predicted, rel=1e-3)
    assert sum(list(found.values())[:-1]) == pytest.approx(found["(prediction)"], rel=1e-3)
    assert "row 149 of" in out


@pytest.mark.parametrize(("ending", "begins"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_pictures(files, tmp_path, ending, begins):
    path = tmp_path / f"row.{ending}"
    options = ("explain", files / "two.st", files / "new.csv", "--picture", path)
    assert "picture written to" in succeed(*options).stderr
    drawn = path.read_bytes()
    assert drawn.startswith(begins) and len(list(tmp_path.iterdir())) == 1
    succeed(*options)
    assert path.read_bytes() == drawn  # the same every time


def test_refused(files, tmp_path):
    options = ("explain", files / "classes.st", files / "new.csv")
    assert "--row 150 is not there" in fail(*options, "--row", 150)
    assert "has 150 rows, numbered from 0 to 149" in fail(*options, "--row", -1)
    assert "--class 'd' is no class of the model; there are 'a', 'b', 'c'" in fail(*options, "--class", "d")
    assert "of two classes there is one score" in fail(
        "explain", files / "scores.st", files / "new.csv", "--class", "True"
    )
    assert "predicts numbers; leave it out" in fail("explain", files / "numbers.st", files / "new.csv", "--class", "a")
    assert "unknown ending for a picture; write .svg, .png, .pdf" in fail(*options, "--picture", tmp_path / "row.gif")
    assert "cannot be explained: contributions need voters that are native trees" in fail(
        "explain", files / "lines.st", files / "new.csv"
    )


def test_a_category_that_is_not_learned_is_named(tmp_path):
    city, sold = ["Bern", "Oslo", "Rome", "Bern"] * 10, [1.0, 2.0, 3.0, 1.5] * 10
    learned = pl.DataFrame({"city": city, "zone": [1, 2, 3, 4] * 10})
    model = GradientBoostingRegressor(n_estimators=5, categorical_features=["city", "zone"]).fit(learned, sold)
    model.save(tmp_path / "model.st")
    new = pl.DataFrame({"city": ["Oslo", "Tokyo", None], "zone": [1, 9, 2], "sold": [2.0, 9.0, 9.0]})
    new.write_csv(tmp_path / "new.csv")
    options = ("explain", tmp_path / "model.st", tmp_path / "new.csv", "--drop", "sold", "--row")
    page = tmp_path / "row.html"
    result = succeed(*options, 1, "--report", page)
    words = "city = Tokyo (not learned, taken for missing)"
    assert words in result.stdout and words in page.read_text("utf-8")
    assert "zone = 9 (not learned, taken for missing)" in result.stdout
    assert "column 'city': 1 cell holds a category that the model has not learned" in result.stderr
    assert "city is missing" in succeed(*options, 2).stdout and "city = Oslo" in succeed(*options, 0).stdout
    for rows in (new.drop("sold"), new.drop("sold").to_pandas()):
        assert words in RowExplanation.of(model, rows, 1).labels
        assert "city is missing" in RowExplanation.of(model, rows, 2).labels
    succeed("evaluate", tmp_path / "model.st", tmp_path / "new.csv", "-t", "sold", "--report", page)
    assert words in page.read_text("utf-8")
    array = np.column_stack([np.arange(40) % 4, np.arange(40) % 3]).astype(float)
    coded = GradientBoostingRegressor(n_estimators=3, categorical_features=[0]).fit(array, sold)
    found = RowExplanation.of(coded, np.array([[7.0, 1.0], [np.nan, 1.0]]), 0)
    assert found.labels[0] == "x0 = 7 (not learned, taken for missing)"
