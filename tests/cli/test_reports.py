"""``committee evaluate``: classes and numbers, labels in other spellings, and what is refused."""

import datetime
import json
import re

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from committee import AdaBoostClassifier, GradientBoostingRegressor, LogitBoostClassifier, RandomForestClassifier, load
from committee.data.readers.cells import COMMA
from committee.report.column_effects import effects
from committee.report.explanation import RowExplanation
from committee.vote.explain.contributions import probability_contributions
from tests.cli.calls import fail, fails, succeed


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A table of new rows, a model of classes, one of numbers and one of quantiles."""
    folder = tmp_path_factory.mktemp("evaluate")
    rng = np.random.default_rng(0)
    n = 300
    frame = pl.DataFrame({"size": rng.normal(size=n).round(3), "colour": rng.choice(["red", "green"], size=n)})
    price = (frame["size"] * 3 + (frame["colour"] == "red")).round(2)
    frame = frame.with_columns(price=price, code=(frame["size"] > 0).cast(pl.Int64))
    frame[200:].write_csv(folder / "new.csv")
    X = frame[:200].select("size", "colour")
    AdaBoostClassifier(10).fit(X, frame["code"][:200].to_numpy()).save(folder / "classes.st")
    AdaBoostClassifier(10).fit(X, np.array(["a", "b"])[frame["code"][:200]]).save(folder / "words.st")
    y = frame["price"][:200].to_numpy()
    GradientBoostingRegressor(n_estimators=10).fit(X, y).save(folder / "numbers.st")
    GradientBoostingRegressor(10, loss="quantiles").fit(X, y).save(folder / "quantiles.st")
    return folder


def test_classes(files, tmp_path):
    figures = tmp_path / "figures.json"
    options = ("-t", "code", "--drop", "price", "--json", figures)
    result = succeed("evaluate", files / "classes.st", files / "new.csv", *options)
    assert "Metrics on 100 rows" in result.stdout and "95% CI" in result.stdout
    for words in ("log loss", "ROC AUC", "Confusion matrix", "recall", "Calibration"):
        assert words in result.stdout
    assert "target 'code': 2 classes" in result.stderr
    document = json.loads(figures.read_text("utf-8"))
    frame = pl.read_csv(files / "new.csv")
    predicted = load(files / "classes.st").predict(frame.select("size", "colour"))
    assert document["rows"] == 100
    assert document["figures"]["accuracy"] == (predicted == frame["code"].to_numpy()).mean()
    assert np.sum(document["confusion"]["counts"]) == 100


def test_answers_are_written_as_they_were_in_training(tmp_path):
    """A comma before three digits is a decimal comma where the training had such, and not one between thousands."""
    rng = np.random.default_rng(1)
    a, y = rng.normal(size=200), rng.uniform(1.0, 9.0, 200).round(3)
    rows = [f"{u:.2f};{v:.3f}".replace(".", ",") for u, v in zip(a, y, strict=True)]
    rows[0] = "0,5;2,25"
    (tmp_path / "train.csv").write_text("\n".join(["a;price", *rows]) + "\n", "utf-8")
    (tmp_path / "new.csv").write_text("a;price\n0,25;1,125\n0,5;2,625\n1,25;3,250\n", "utf-8")
    (tmp_path / "more.csv").write_text("a;price\n0,25;4,125\n", "utf-8")
    model = tmp_path / "tree.st"
    succeed("fit", tmp_path / "train.csv", "-t", "price", "-m", "tree", "-o", model, "--folds", 0)
    assert load(model).provenance_.written == COMMA
    assert "numbers from 1.125 to 3.25" in succeed("evaluate", model, tmp_path / "new.csv").stderr
    both = succeed("evaluate", model, tmp_path / "new.csv", tmp_path / "more.csv")
    assert "numbers from 1.125 to 4.125" in both.stderr
    boosted = ("-m", "gradient_boosting", "-p", "n_estimators=3")
    succeed("fit", tmp_path / "train.csv", tmp_path / "new.csv", "-t", "price", *boosted, "-o", model)
    assert load(model).provenance_.written == COMMA


def test_rows_that_the_model_has_learned_from_are_pointed_out(tmp_path):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    frame = frame.with_columns(y=(frame["a"] + rng.normal(size=300) > 0).cast(pl.Int64))
    frame[:200].write_csv(tmp_path / "known.csv")
    frame[200:].write_csv(tmp_path / "new.csv")
    forest = RandomForestClassifier(30, oob_score=True, random_state=0)
    forest.fit(frame[:200].select("a", "b"), frame["y"][:200]).save(tmp_path / "forest.st")
    known, new = (
        succeed("evaluate", tmp_path / "forest.st", tmp_path / f"{name}.csv", "-t", "y") for name in ("known", "new")
    )
    right = (forest.predict(frame[:200].select("a", "b")) == frame["y"][:200].to_numpy()).mean()
    assert f"was {forest.oob_score_:.4f}; {right:.4f} is higher than chance allows" in known.stderr
    assert "chance" not in new.stderr
    table, model = tmp_path / "known.csv", tmp_path / "forest.st"
    options = ("-m", "random_forest", "-p", "oob_score=True", "--no-row-digests", "--folds", 0, "-o", model)
    succeed("fit", table, "-t", "y", *options)
    said = " ".join(succeed("certify", model, table).stderr.split())
    assert f"note: on rows not seen in training the accuracy was {load(model).oob_score_:.4f}" in said
    assert said.endswith("Give rows not used in training, or --on oob.")


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_a_model_knows_its_target_and_its_rows(kind, files, tmp_path):
    every = pl.read_csv(files / "new.csv")
    every[:60].write_csv(tmp_path / "train.csv")
    every[40:].write_csv(tmp_path / "mixed.csv")
    every[60:].write_csv(tmp_path / "new.csv")
    model, page, target = tmp_path / "model.st", tmp_path / "page.html", {"classes": "code", "numbers": "price"}[kind]
    other = {"code": "price", "price": "code"}[target]
    options = ("-t", target, "--drop", other, "-m", "gradient_boosting", "-p", "n_estimators=5", "-o", model)
    said = succeed("fit", tmp_path / "train.csv", *options).stderr
    made = load(model).provenance_
    assert (made.target, made.data, made.n_rows, made.estimate.by) == (target, "train.csv", 60, "5 folds")
    figure = f"accuracy {made.estimate.figures['accuracy']:.4f}" if kind == "classes" else "RMSE"
    assert f"(5 folds): {figure}" in said or f", {figure} {made.estimate.figures['rmse']:.4g}" in said
    known = succeed("evaluate", model, tmp_path / "mixed.csv", "--report", page)  # of two columns not known the one
    assert f"target '{target}': " in known.stderr and "only column" not in known.stderr
    assert "note: the model was trained on 20 of these 60 rows (33.3%), or on equal ones" in known.stderr
    assert "trained on 20 of these 60 rows" in succeed("inspect", model, "--data", tmp_path / "mixed.csv").stderr
    text = page.read_text("utf-8")
    assert text.count("he model was trained on 20 of these 60 rows") == 2
    shown = f"train.csv: 60 rows, target &#39;{target}&#39;"
    for words in ("33.3% of which were used in training", shown, made.trained.isoformat(), "(5 folds)", "Limits"):
        assert words in text
    new = succeed("evaluate", model, tmp_path / "new.csv", "--report", page)
    assert "was trained on" not in new.stderr and "none of which was used in training." in page.read_text("utf-8")
    succeed("inspect", model, "--data", tmp_path / "new.csv", "--report", page)
    assert "train.csv: 60 rows" in succeed("inspect", model).stdout
    text = page.read_text("utf-8")
    assert "train.csv: 60 rows" in text and "none of which was used in training." in text
    every.rename({target: "answer"}).drop(other).write_csv(tmp_path / "renamed.csv")
    assert "the only column that the model does not use" in succeed("evaluate", model, tmp_path / "renamed.csv").stderr
    succeed("fit", tmp_path / "train.csv", *options, "--no-row-digests", "--folds", "0")
    made = load(model).provenance_
    assert made.rows is None and made.estimate is None
    assert "was trained on" not in succeed("evaluate", model, tmp_path / "train.csv").stderr


def test_equal_rows_may_be_chance(tmp_path):
    """Of two columns of two values every row is known, and that says nothing."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.integers(0, 2, 200), "b": rng.integers(0, 2, 200), "y": rng.integers(0, 2, 200)})
    frame[:100].write_csv(tmp_path / "train.csv")
    frame[100:].write_csv(tmp_path / "new.csv")
    succeed("fit", tmp_path / "train.csv", "-t", "y", "-m", "tree", "-o", tmp_path / "tree.st")
    assert "was trained on" not in succeed("evaluate", tmp_path / "tree.st", tmp_path / "new.csv").stderr


def test_numbers_and_quantiles(files):
    page = files / "page.html"
    called = ("evaluate", files / "numbers.st", files / "new.csv", "-t", "price", "--drop", "code", "--report", page)
    out = succeed(*called).stdout
    text = page.read_text("utf-8")
    assert "numbers.st" in text and "100 rows of new.csv" in text and "Residuals by prediction" in text
    assert "RMSE" in out and "R2" in out and "Confusion" not in out
    out = succeed("evaluate", files / "quantiles.st", files / "new.csv", "-t", "price", "--drop", "code").stdout
    assert "pinball loss of 0.9" in out and "coverage of 0.1 to 0.9" in out
    predicted = succeed("predict", files / "quantiles.st", files / "new.csv", "-o", "-").stdout
    assert predicted.startswith("prediction:0.1,prediction:0.5,prediction:0.9\n")


def test_the_target_is_told_where_one_column_is_not_known(files, tmp_path):
    frame = pl.read_csv(files / "new.csv").drop("price").with_columns(pl.col("code").cast(pl.Float64))
    frame.write_csv(tmp_path / "floats.csv")
    result = succeed("evaluate", files / "classes.st", tmp_path / "floats.csv")  # 1.0 is the class 1
    assert "note: target 'code': the only column that the model does not use" in result.stderr
    assert "--target is missing: name the column of the labels or numbers: one of 'price', 'code'" in fail(
        "evaluate", files / "classes.st", files / "new.csv"
    )


def test_a_column_of_text_without_a_name_is_no_target(tmp_path):
    frame = pl.DataFrame({"": ["a", "b", "3", "d"] * 10, "x": range(40), "y": range(40)})
    GradientBoostingRegressor(3).fit(frame.drop("y"), frame["y"]).save(tmp_path / "model.st")
    frame.write_csv(tmp_path / "rows.csv")
    assert "target 'y': numbers" in succeed("evaluate", tmp_path / "model.st", tmp_path / "rows.csv").stderr


def test_labels_that_are_no_classes(files, tmp_path):
    frame = pl.read_csv(files / "new.csv").drop("price")
    labels = pl.Series("code", ["c", *np.array(["a", "b"])[frame["code"][1:]]])
    frame.with_columns(labels).write_csv(tmp_path / "odd.csv")
    result = succeed("evaluate", files / "words.st", tmp_path / "odd.csv")
    assert "target 'code': 1 row of 'c', unknown to the model, which metrics count" in result.stderr
    assert "holds '0', '1'; the classes of the model are 'a', 'b'" in fail(
        "evaluate", files / "words.st", files / "new.csv", "-t", "code", "--drop", "price"
    )
    assert "the classes of the model are '0', '1'" in fail("evaluate", files / "classes.st", tmp_path / "odd.csv")


def test_refused(files, tmp_path):
    for name, price in (("text", pl.lit("low")), ("flags", pl.lit(True))):
        pl.read_csv(files / "new.csv").with_columns(price=price).write_csv(tmp_path / f"{name}.csv")
    used = "target 'colour' is a column that the model uses; name the column that it predicts"
    text, flags = (f"target 'price' is {kind}, and the model predicts numbers" for kind in ("text", "boolean"))
    new, price = files / "new.csv", ("-t", "price", "--drop", "code")
    cases = [
        (used, new, "-t", "colour"),
        (text, tmp_path / "text.csv", *price),
        (flags, tmp_path / "flags.csv", *price),
        ("is named for two files", new, *price, "--json", new),
        ("there is no file", tmp_path / "none.csv", *price),
        ("- is standard output", new, *price, "--report", "-"),
        ("- is standard output", new, *price, "--json", "-"),
    ]
    fails(["evaluate", files / "numbers.st"], cases)


@pytest.fixture(scope="module")
def iris_models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    X, y = load_iris(return_X_y=True, as_frame=True)
    frame = pl.from_pandas(X)
    frame.write_csv(folder / "new.csv")
    RandomForestClassifier(10, random_state=0).fit(frame, np.array(["a", "b", "c"])[y]).save(folder / "classes.st")
    RandomForestClassifier(10, random_state=0).fit(frame, y == 0).save(folder / "two.st")
    AdaBoostClassifier(5).fit(frame, y == 0).save(folder / "scores.st")
    quantiles = GradientBoostingRegressor(8, loss="quantile", quantile=[0.4, 0.5, 0.6])
    quantiles.fit(frame, X.iloc[:, 1]).save(folder / "quantiles.st")
    GradientBoostingRegressor(n_estimators=10).fit(frame, 1000.0 * X.iloc[:, 0]).save(folder / "numbers.st")
    LogitBoostClassifier(5).fit(frame, y).save(folder / "lines.st")
    return folder


def adds(out):
    """Figures of the table of what columns add, by what stands before them."""
    lines = out.partition("─\n")[2].splitlines()
    cells = [re.split(r"  +", line.strip()) for line in lines]
    return {words: float(figure.replace(",", "")) for words, figure in cells}


def test_figures_add_up_and_are_the_contributions(iris_models):
    out = succeed("explain", iris_models / "classes.st", iris_models / "new.csv", "--row", 101, "--class", "b").stdout
    X = pl.read_csv(iris_models / "new.csv")
    model = load(iris_models / "classes.st")
    expected = probability_contributions(model.committee_, X[101:102])[0, :, 1]
    found = adds(out)
    assert next(iter(found)) == "(baseline)" and list(found)[-1] == "(probability)"
    inner = [value for words, value in found.items() if words[0] != "("]
    order = np.argsort(-np.abs(expected[:-1]), kind="stable")
    assert_allclose(inner, expected[:-1][order][: len(inner)], atol=0.0001)
    assert found["(probability)"] == pytest.approx(model.predict_proba(X[101:102])[0, 1], abs=0.0001)
    assert "row 101 of" in out and "predicted c" in out and "The probability for b is" in out
    assert f"With no column known it is {found['(baseline)']:.4f}, the baseline." in out
    of_one = succeed("explain", iris_models / "two.st", iris_models / "new.csv", "--class", "True").stdout
    expected = load(iris_models / "two.st").predict_proba(X[:1])[0, 1]
    assert adds(of_one)["(probability)"] == pytest.approx(expected, abs=0.0001)
    assert "above 0 for a, below for b" not in of_one


def test_one_of_several_quantiles(iris_models):
    """Each is the sum that it becomes when the sums of a row are put in order, crossed or not."""
    files = iris_models / "quantiles.st", iris_models / "new.csv"
    X, model = pl.read_csv(files[1]), load(files[0])
    sums = model.contributions(X, output="score").sum(axis=1)
    crossed = int(np.flatnonzero((np.diff(sums) < 0.0).any(axis=1))[0])
    predicted = model.predict(X)
    for row in (0, crossed):
        for k, level in enumerate((0.4, 0.5, 0.6)):
            called = ("explain", *files, "--row", row, "--quantile", level)
            out = succeed(*called).stdout
            assert f"The prediction of quantile {level} is" in out and f"{predicted[row, 2]:.4g} (0.6)" in out
            found = adds(out)
            assert found["(prediction)"] == pytest.approx(predicted[row, k], rel=1e-3)
            assert sum(list(found.values())[:-1]) == pytest.approx(found["(prediction)"], rel=1e-3)
    assert "of quantile 0.5" in succeed("explain", *files).stdout
    assert "is not predicted by the model; use one of 0.4, 0.5, 0.6" in fail(*called[:-1], 0.3)
    numbers = ("explain", iris_models / "numbers.st", iris_models / "new.csv", "--quantile", 0.5)
    assert "does not predict several quantiles" in fail(*numbers)


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
        assert re.search(">(≤ )?(2024-)?0[1-6](-[0-9]{2})?</text>", text)
    size = pl.Series(rng.choice(["small", "medium", "large"], 300), dtype=pl.Enum(["small", "medium", "large"]))
    forest = RandomForestClassifier(3, random_state=0).fit(pl.DataFrame({"size": size}), frame["late"])
    (effect,) = effects(forest, pl.DataFrame({"size": size}), np.array([0]), forest.predict_proba)
    assert effect.names == ("small", "medium", "large")


def test_numbers_and_few_columns(iris_models):
    out = succeed("explain", iris_models / "numbers.st", iris_models / "new.csv", "--row", 149, "--most", 1).stdout
    found = adds(out)
    assert len(found) == 4 and "(3 other columns)" in found
    predicted = load(iris_models / "numbers.st").predict(pl.read_csv(iris_models / "new.csv")[-1:])[0]
    assert found["(prediction)"] == pytest.approx(predicted, rel=1e-3)
    assert sum(list(found.values())[:-1]) == pytest.approx(found["(prediction)"], rel=1e-3)
    assert "row 149 of" in out


@pytest.mark.parametrize(("ending", "begins"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_pictures(iris_models, tmp_path, ending, begins):
    path = tmp_path / f"row.{ending}"
    options = ("explain", iris_models / "two.st", iris_models / "new.csv", "--picture", path)
    assert "picture written to" in succeed(*options).stderr
    drawn = path.read_bytes()
    assert drawn.startswith(begins) and len(list(tmp_path.iterdir())) == 1
    succeed(*options)
    assert path.read_bytes() == drawn  # the same every time


def test_explain_refuses(iris_models, tmp_path):
    trees = "cannot be explained: Shapley values need voters that are native trees"
    cases = [
        ("--row 150 does not exist", "classes", "--row", 150),
        ("has 150 rows, numbered from 0 to 149", "classes", "--row", -1),
        ("--class 'd' is not a class of the model; there are 'a', 'b', 'c'", "classes", "--class", "d"),
        ("the model has one score for its two classes", "scores", "--class", "True"),
        ("predicts numbers; leave out --class", "numbers", "--class", "a"),
        ("unknown ending for a picture; use one of .svg, .png, .pdf", "classes", "--picture", tmp_path / "row.gif"),
        (trees, "lines"),
        ("fit one with -m gradient_boosting or -m random_forest", "lines"),
    ]
    for message, model, *options in cases:
        assert message in fail("explain", iris_models / f"{model}.st", iris_models / "new.csv", *options)


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
    words = "city = Tokyo (unknown, read as missing)"
    assert words in result.stdout and words in page.read_text("utf-8")
    assert "zone = 9 (unknown, read as missing)" in result.stdout
    assert "column 'city': 1 cell holds an unknown category, read as missing" in result.stderr
    assert "city is missing" in succeed(*options, 2).stdout and "city = Oslo" in succeed(*options, 0).stdout
    for rows in (new.drop("sold"), new.drop("sold").to_pandas()):
        assert words in RowExplanation.of(model, rows, 1).labels
        assert "city is missing" in RowExplanation.of(model, rows, 2).labels
    succeed("evaluate", tmp_path / "model.st", tmp_path / "new.csv", "-t", "sold", "--report", page)
    assert words in page.read_text("utf-8")
    array = np.column_stack([np.arange(40) % 4, np.arange(40) % 3]).astype(float)
    coded = GradientBoostingRegressor(n_estimators=3, categorical_features=[0]).fit(array, sold)
    found = RowExplanation.of(coded, np.array([[7.0, 1.0], [np.nan, 1.0]]), 0)
    assert found.labels[0] == "x0 = 7 (unknown, read as missing)"
