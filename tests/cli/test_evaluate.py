"""``committee evaluate``: classes and numbers, labels in other spellings, and what is refused."""

import json

import numpy as np
import polars as pl
import pytest

from committee import AdaBoostClassifier, GradientBoostingRegressor, RandomForestClassifier, load
from committee.data.readers.cells import COMMA
from tests.cli.calls import fail, succeed


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
    GradientBoostingRegressor("quantiles", 10).fit(X, y).save(folder / "quantiles.st")
    return folder


def test_classes(files, tmp_path):
    figures = tmp_path / "figures.json"
    result = succeed(
        "evaluate", files / "classes.st", files / "new.csv", "-t", "code", "--drop", "price", "--json", figures
    )
    assert "Figures on 100 rows" in result.stdout and "with 95% confidence" in result.stdout
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
    assert f"was {forest.oob_score_:.4f}, and {right:.4f} is more than chance allows" in known.stderr
    assert "chance" not in new.stderr


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
    figure = f"accuracy {made.estimate.figures['accuracy']:.4f}" if kind == "classes" else "root mean squared error"
    assert f"(5 folds): {figure}" in said or f", {figure} {made.estimate.figures['rmse']:.4g}" in said
    known = succeed("evaluate", model, tmp_path / "mixed.csv", "--report", page)  # of two columns not known the one
    assert f"target '{target}': " in known.stderr and "only column" not in known.stderr
    assert "note: the model has learned from 20 of these 60 rows (33.3%), or from equal ones" in known.stderr
    text = page.read_text("utf-8")
    assert (
        text.count("he model has learned from 20 of these 60 rows") == 2 and "33.3% of which training has seen" in text
    )
    for words in (f"train.csv: 60 rows, target &#39;{target}&#39;", made.trained.isoformat(), "(5 folds)", "Limits"):
        assert words in text
    new = succeed("evaluate", model, tmp_path / "new.csv", "--report", page)
    assert "learned from" not in new.stderr and "of which training has seen none." in page.read_text("utf-8")
    succeed("inspect", model, "--data", tmp_path / "new.csv", "--report", page)
    assert "train.csv: 60 rows" in succeed("inspect", model).stdout
    assert "train.csv: 60 rows" in page.read_text("utf-8") and "of which training has seen none." in page.read_text(
        "utf-8"
    )
    every.rename({target: "answer"}).drop(other).write_csv(tmp_path / "renamed.csv")
    assert "the only column that the model does not know" in succeed("evaluate", model, tmp_path / "renamed.csv").stderr
    succeed("fit", tmp_path / "train.csv", *options, "--no-row-digests", "--folds", "0")
    made = load(model).provenance_
    assert made.rows is None and made.estimate is None
    assert "learned from" not in succeed("evaluate", model, tmp_path / "train.csv").stderr


def test_equal_rows_may_be_chance(tmp_path):
    """Of two columns of two values every row is known, and that says nothing."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.integers(0, 2, 200), "b": rng.integers(0, 2, 200), "y": rng.integers(0, 2, 200)})
    frame[:100].write_csv(tmp_path / "train.csv")
    frame[100:].write_csv(tmp_path / "new.csv")
    succeed("fit", tmp_path / "train.csv", "-t", "y", "-m", "tree", "-o", tmp_path / "tree.st")
    assert "learned from" not in succeed("evaluate", tmp_path / "tree.st", tmp_path / "new.csv").stderr


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


def test_pages_and_figures_are_written_to_files(files):
    for option in ("--report", "--json"):
        called = ("evaluate", files / "numbers.st", files / "new.csv", "-t", "price", "--drop", "code", option, "-")
        assert "- is standard output" in fail(*called)


def test_the_target_is_told_where_one_column_is_not_known(files, tmp_path):
    frame = pl.read_csv(files / "new.csv").drop("price").with_columns(pl.col("code").cast(pl.Float64))
    frame.write_csv(tmp_path / "floats.csv")
    result = succeed("evaluate", files / "classes.st", tmp_path / "floats.csv")  # 1.0 is the class 1
    assert "note: target 'code': the only column that the model does not know" in result.stderr
    assert "--target is missing: name the column that holds the answers: one of 'price', 'code'" in fail(
        "evaluate", files / "classes.st", files / "new.csv"
    )


def test_labels_that_are_no_classes(files, tmp_path):
    frame = pl.read_csv(files / "new.csv").drop("price")
    labels = pl.Series("code", ["c", *np.array(["a", "b"])[frame["code"][1:]]])
    frame.with_columns(labels).write_csv(tmp_path / "odd.csv")
    result = succeed("evaluate", files / "words.st", tmp_path / "odd.csv")
    assert "target 'code': 1 row of 'c', which the model does not know, counts as wrong" in result.stderr
    assert "holds '0', '1', none of which is a class of the model: 'a', 'b'" in fail(
        "evaluate", files / "words.st", files / "new.csv", "-t", "code", "--drop", "price"
    )
    assert "none of which is a class of the model: '0', '1'" in fail(
        "evaluate", files / "classes.st", tmp_path / "odd.csv"
    )


def test_refused(files, tmp_path):
    assert "target 'colour' is a column that the model learned from; name the one that it predicts" in fail(
        "evaluate", files / "numbers.st", files / "new.csv", "-t", "colour"
    )
    pl.read_csv(files / "new.csv").with_columns(price=pl.lit("low")).write_csv(tmp_path / "text.csv")
    assert "target 'price' is text, and the model predicts numbers" in fail(
        "evaluate", files / "numbers.st", tmp_path / "text.csv", "-t", "price", "--drop", "code"
    )
    assert "is named for two files" in fail(
        "evaluate", files / "numbers.st", files / "new.csv", "-t", "price", "--json", files / "new.csv"
    )
    assert "there is no file" in fail("evaluate", files / "numbers.st", tmp_path / "none.csv", "-t", "price")
