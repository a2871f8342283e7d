"""Figure 2 of the SBPMT paper, and its studies."""

from __future__ import annotations

import csv
import json

import numpy as np
import polars as pl
import pytest
from sklearn.naive_bayes import GaussianNB

from committee import SBPMTClassifier
from committee.papers.sbpmt import rivals, simulation
from committee.papers.sbpmt.rebuild import rebuild
from committee.papers.shared.pages import save
from committee.papers.shared.tables import mease_wyner
from committee.report.compared_rows import Labels, Table

SHORT = simulation.Simulation(300, 500, 4, (0.3, 1.0))
"""The simulation in miniature."""


def test_one_long_boosting_gives_the_errors_of_all_short_ones():
    X, y = mease_wyner(700, np.random.default_rng(1))
    X_test, y_test = mease_wyner(2000, np.random.default_rng(2))
    long = SBPMTClassifier(**{**simulation.BENCHMARK, "n_boosting_rounds": 8}, random_state=0).fit(X, y)
    errors = simulation.errors_by_round(long, X_test, y_test, 8)
    for T in (1, 2, 5, 8):
        own = SBPMTClassifier(**{**simulation.BENCHMARK, "n_boosting_rounds": T}, random_state=0).fit(X, y)
        assert errors[T - 1] == pytest.approx((own.predict(X_test) != y_test).mean(), abs=1e-12)


def test_the_simulation_resumes_and_averages(tmp_path):
    rebuild(None, tmp_path, figure=2, simulation=SHORT)
    seen = []
    rebuild(None, tmp_path, figure=2, simulation=SHORT, repeats=2, progress=lambda *step: seen.append(step))
    assert seen == [(2, 2, "simulation")], "the first repeat is there"
    first, second = (
        [json.loads(line)] for line in (tmp_path / "cells-figure2.jsonl").read_text("utf-8").splitlines()[1:]
    )
    one, both = simulation.errors_of(first, SHORT), simulation.errors_of(first + second, SHORT)
    assert {name: errors.shape for name, errors in both.items()} == {
        "subagging times": (2, 4),
        "AdaBoost iterations": (2, 4),
        "ProbitBoost iterations": (2, 4),
        "subagging ratio": (2, 2),
    }
    for name, errors in both.items():
        np.testing.assert_array_equal(errors[:1], one[name])
        assert (errors[0] != errors[1]).any() and ((errors > 0.05) & (errors < 0.5)).all()
    with (tmp_path / "figure2.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 14 and {line["runs"] for line in lines} == {"2"}
    assert float(lines[0]["test_error"]) == pytest.approx(both["subagging times"][:, 0].mean(), abs=1e-6)


def test_figure_2_is_written_without_any_table(tmp_path):
    [grid] = rebuild(None, tmp_path, figure=2, simulation=SHORT)
    made = {"cells-figure2.jsonl", "figure2.csv", "figure2.png", "tables-figure2.md"}
    assert {path.name for path in tmp_path.iterdir()} == made
    assert [row[0] for row in grid.rows] == ["1", "2"] and [row[4] for row in grid.rows] == ["0.3", "1"]


def test_figure2_has_the_four_panels(tmp_path):
    errors = {name: np.full((3, len(values)), 0.2) for name, values in simulation.PAPER.curves.items()}
    picture = simulation.figure2(errors)
    assert [ax.get_xlabel() for ax in picture.axes] == list(simulation.PAPER.curves)
    save(picture, tmp_path / "a.png")
    save(simulation.figure2(errors), tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_figure2_as_a_table():
    errors = {name: np.full((2, len(values)), 0.25) for name, values in simulation.PAPER.curves.items()}
    errors["subagging ratio"][:, 0] = 0.5
    grid = simulation.grid(errors)
    assert grid.columns == ("at", *list(simulation.PAPER.curves)[:3], "at", "subagging ratio")
    assert grid.rows[0] == ("1", "25.00", "25.00", "25.00", "0.05", "50.00")
    assert len(grid.rows) == 7 and "mean of 2 run(s)" in grid.title


GROWTH = simulation.Growth((60, 150), (0.0, 0.25, 0.5), 400)


def test_each_exponent_has_the_error_of_a_fit_of_its_own():
    cell = simulation.error_cell(GROWTH, 150, 3, 1)
    random = np.random.default_rng([3, 1, 150])
    (X, y), (X_test, y_test) = mease_wyner(150, random), mease_wyner(400, random)
    for error, rounds in zip(cell["errors"], (1, 4, 13), strict=True):
        model = SBPMTClassifier(**{**simulation.BENCHMARK, "n_boosting_rounds": rounds}, random_state=1).fit(X, y)
        assert error == pytest.approx((model.predict(X_test) != y_test).mean(), abs=1e-12)


def test_growing_tables_are_rebuilt(tmp_path):
    options = {"study": "consistency", "growth": GROWTH, "repeats": 2}
    [grid] = rebuild(None, tmp_path, **options)
    assert rebuild(None, tmp_path, **options, progress=lambda *_: pytest.fail("run again")) == [grid]
    assert grid.columns == ("rows", "T = 1", "T = n^0.25", "T = n^0.5")
    assert [row[0] for row in grid.rows] == ["60", "150"]
    with (tmp_path / "consistency.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [line["rounds"] for line in lines] == ["1", "3", "8", "1", "4", "13"] and lines[0]["runs"] == "2"
    own = [simulation.error_cell(GROWTH, 60, 0, repeat)["errors"][0] for repeat in range(2)]
    assert float(lines[0]["test_error"]) == pytest.approx(np.mean(own)) and grid.rows[0][1] == f"{50 * sum(own):.2f}"


def test_kinds_of_columns():
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0, None, 5.0], "b": list("xyxyxy"), "c": [7, 7, 7, 7, 7, 9]})
    labels = Labels.read(pl.Series(list("nnnyyy")))
    found = rivals.columns_of(Table(frame, labels))
    assert list(found) == ["all", "numeric alone", "numbers cut"]
    assert found["numeric alone"].frame.columns == ["a", "c"]
    cut = found["numbers cut"].frame
    assert cut["a"].to_list() == ["0", "1", "2", "3", None, "4"] and cut["b"].to_list() == list("xyxyxy")
    assert cut["c"].to_list() == ["0"] * 5 + ["1"], "equal numbers are one category"
    assert list(rivals.columns_of(Table(frame.select("b"), labels))) == ["all"]
    assert list(rivals.columns_of(Table(frame.select("a"), labels))) == ["all", "numbers cut"]


def test_columns_are_compared_on_the_same_tables(quick, folder, tmp_path, monkeypatch):
    bayes = rivals.Rival("sklearn", lambda schema, seed: GaussianNB())
    fast = {rivals.FOREST: bayes, "other": bayes}
    monkeypatch.setattr(rivals, "RIVALS", fast)
    [grid] = rebuild(folder, tmp_path, study="numeric", tables=["iris", "glass"])
    assert [row[0] for row in grid.rows] == ["all (2)", "numeric alone (2)", "all (2)", "numbers cut (2)"]
    assert grid.columns == ("columns", "SBPMT", "random forest", "minus random forest")
    with (tmp_path / "numeric-default.csv").open(encoding="utf-8") as file:
        lines = {(line["name"], line["columns"], line["method"]): line for line in csv.DictReader(file)}
    assert len(lines) == 12
    gains = [float(lines[name, "numbers cut", "random forest"]["less_than_sbpmt"]) for name in ("iris", "glass")]
    assert grid.rows[3][3].startswith(f"{np.mean(gains):+.2f} ±")
    mean = np.mean([float(lines[name, "all", "SBPMT"]["accuracy"]) for name in ("iris", "glass")])
    assert grid.rows[0][1] == grid.rows[2][1] == f"{mean:.2f}"
