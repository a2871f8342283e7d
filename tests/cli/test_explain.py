"""``committee explain``: figures that add up, classes, pictures, and what is refused."""

import re

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris

from committee import GradientBoostingRegressor, LogitBoostClassifier, RandomForestClassifier, load
from tests.cli.calls import fail, succeed


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    X, y = load_iris(return_X_y=True, as_frame=True)
    frame = pl.from_pandas(X)
    frame.write_csv(folder / "new.csv")
    RandomForestClassifier(10, random_state=0).fit(frame, np.array(["a", "b", "c"])[y]).save(folder / "classes.st")
    RandomForestClassifier(10, random_state=0).fit(frame, y == 0).save(folder / "two.st")
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
    expected = load(files / "classes.st").contributions(X[101:102])[0, :, 1]
    found = adds(out)
    assert next(iter(found)) == "(mean of training rows)" and list(found)[-1] == "(score)"
    inner = [value for words, value in found.items() if words[0] != "("]
    order = np.argsort(-np.abs(expected[:-1]), kind="stable")
    np.testing.assert_allclose(inner, expected[:-1][order][: len(inner)], atol=0.005)
    assert found["(score)"] == pytest.approx(expected.sum(), abs=0.005)
    assert "row 101 of" in out and "predicted c" in out and "The score for b is" in out


def test_numbers_and_few_columns(files):
    out = succeed("explain", files / "numbers.st", files / "new.csv", "--row", -1, "--most", 1).stdout
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
    assert "has 150 rows, numbered from 0 to 149" in fail(*options, "--row", -151)
    assert "--class 'd' is no class of the model; there are 'a', 'b', 'c'" in fail(*options, "--class", "d")
    assert "of two classes there is one score" in fail(
        "explain", files / "two.st", files / "new.csv", "--class", "True"
    )
    assert "predicts numbers; leave it out" in fail("explain", files / "numbers.st", files / "new.csv", "--class", "a")
    assert "unknown ending for a picture; write .svg, .png, .pdf" in fail(*options, "--picture", tmp_path / "row.gif")
    assert "cannot be explained: contributions need voters that are native trees" in fail(
        "explain", files / "lines.st", files / "new.csv"
    )
