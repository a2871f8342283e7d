"""The studies beside the paper: growing tables, and kinds of columns."""

import csv

import numpy as np
import polars as pl
import pytest
from sklearn.naive_bayes import GaussianNB

from committee import SBPMTClassifier
from committee.papers.sbpmt import consistency, figure2, numeric_columns, rivals
from committee.papers.sbpmt.rebuild import rebuild
from committee.papers.shared.mease_wyner import mease_wyner
from committee.report.crossvalidation import Table
from committee.report.targets import Labels

GROWTH = consistency.Growth((60, 150), (0.0, 0.25, 0.5), 400)


def test_each_exponent_has_the_error_of_a_fit_of_its_own():
    cell = consistency.error_cell(GROWTH, 150, 3, 1)
    random = np.random.default_rng([3, 1, 150])
    (X, y), (X_test, y_test) = mease_wyner(150, random), mease_wyner(400, random)
    for error, rounds in zip(cell["errors"], (1, 4, 13), strict=True):
        model = SBPMTClassifier(**{**figure2.BENCHMARK, "n_boosting_rounds": rounds}, random_state=1).fit(X, y)
        assert error == pytest.approx((model.predict(X_test) != y_test).mean(), abs=1e-12)


def test_growing_tables_are_rebuilt(tmp_path):
    seen = []
    [grid] = rebuild(None, tmp_path, study="consistency", growth=GROWTH, repeats=2)
    [again] = rebuild(
        None, tmp_path, study="consistency", growth=GROWTH, repeats=2, progress=lambda *step: seen.append(step)
    )
    assert grid == again and not seen
    assert grid.columns == ("rows", "T = 1", "T = n^0.25", "T = n^0.5") and [row[0] for row in grid.rows] == [
        "60",
        "150",
    ]
    with (tmp_path / "consistency.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [line["rounds"] for line in lines] == ["1", "3", "8", "1", "4", "13"] and lines[0]["runs"] == "2"
    own = [consistency.error_cell(GROWTH, 60, 0, repeat)["errors"][0] for repeat in range(2)]
    assert float(lines[0]["test_error"]) == pytest.approx(np.mean(own)) and grid.rows[0][1] == f"{50 * sum(own):.2f}"


def test_kinds_of_columns():
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0, None, 5.0], "b": list("xyxyxy"), "c": [7, 7, 7, 7, 7, 9]})
    labels = Labels.read(pl.Series(list("nnnyyy")))
    found = numeric_columns.columns_of(Table(frame, labels))
    assert list(found) == ["all", "numeric alone", "numbers cut"]
    assert found["numeric alone"].frame.columns == ["a", "c"]
    cut = found["numbers cut"].frame
    assert cut["a"].to_list() == ["0", "1", "2", "3", None, "4"] and cut["b"].to_list() == list("xyxyxy")
    assert cut["c"].to_list() == ["0"] * 5 + ["1"], "equal numbers are one category"
    assert list(numeric_columns.columns_of(Table(frame.select("b"), labels))) == ["all"]
    assert list(numeric_columns.columns_of(Table(frame.select("a"), labels))) == ["all", "numbers cut"]


def test_columns_are_compared_on_the_same_tables(quick, folder, tmp_path, monkeypatch):
    bayes = rivals.Rival("sklearn", lambda schema, seed: GaussianNB())
    fast = {rivals.FOREST: bayes, "other": bayes}
    monkeypatch.setattr(rivals, "RIVALS", fast)
    [grid] = rebuild(folder, tmp_path, study="numeric", tables=["iris", "glass"])
    assert [row[0] for row in grid.rows] == ["all (2)", "numeric alone (2)", "all (2)", "numbers cut (2)"]
    assert grid.columns == ("columns", "SBPMT", "random forest", "less random forest")
    with (tmp_path / "numeric-default.csv").open(encoding="utf-8") as file:
        lines = {(line["name"], line["columns"], line["method"]): line for line in csv.DictReader(file)}
    assert len(lines) == 12
    gains = [float(lines[name, "numbers cut", "random forest"]["less_than_sbpmt"]) for name in ("iris", "glass")]
    assert grid.rows[3][3].startswith(f"{np.mean(gains):+.2f} ±")
    mean = np.mean([float(lines[name, "all", "SBPMT"]["accuracy"]) for name in ("iris", "glass")])
    assert grid.rows[0][1] == grid.rows[2][1] == f"{mean:.2f}"
