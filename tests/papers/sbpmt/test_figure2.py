"""Figure 2 of the SBPMT paper: the simulation by one parameter at a time."""

import csv
import json

import numpy as np
import pytest

from committee import SBPMTClassifier
from committee.papers.sbpmt import figure2, figures
from committee.papers.sbpmt.rebuild import rebuild
from committee.papers.shared.figures import save
from committee.papers.shared.mease_wyner import mease_wyner

SHORT = figure2.Simulation(300, 500, 4, (0.3, 1.0))
"""The simulation in miniature."""


def test_one_long_boosting_gives_the_errors_of_all_short_ones():
    X, y = mease_wyner(700, np.random.default_rng(1))
    X_test, y_test = mease_wyner(2000, np.random.default_rng(2))
    long = SBPMTClassifier(**{**figure2.BENCHMARK, "n_boosting_rounds": 8}, random_state=0).fit(X, y)
    errors = figure2.errors_by_round(long, X_test, y_test, 8)
    for T in (1, 2, 5, 8):
        own = SBPMTClassifier(**{**figure2.BENCHMARK, "n_boosting_rounds": T}, random_state=0).fit(X, y)
        assert errors[T - 1] == pytest.approx((own.predict(X_test) != y_test).mean(), abs=1e-12)


def test_the_simulation_resumes_and_averages(tmp_path):
    rebuild(None, tmp_path, figure=2, simulation=SHORT)
    seen = []
    rebuild(None, tmp_path, figure=2, simulation=SHORT, repeats=2, progress=lambda *step: seen.append(step))
    assert seen == [(2, 2, "simulation")], "the first repeat is there"
    first, second = (
        [json.loads(line)] for line in (tmp_path / "cells-figure2.jsonl").read_text("utf-8").splitlines()[1:]
    )
    one, both = figure2.errors_of(first, SHORT), figure2.errors_of(first + second, SHORT)
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
    with pytest.raises(ValueError, match="repeats and jobs must be at least 1"):
        rebuild(None, tmp_path, figure=2, repeats=0)
    with pytest.raises(ValueError, match="figure=1 cannot be rebuilt; use 2, 3 or 4"):
        rebuild(None, tmp_path, figure=1)


def test_figure2_has_the_four_panels(tmp_path):
    errors = {name: np.full((3, len(values)), 0.2) for name, values in figure2.PAPER.curves.items()}
    picture = figures.figure2(errors)
    assert [ax.get_xlabel() for ax in picture.axes] == list(figure2.PAPER.curves)
    save(picture, tmp_path / "a.png")
    save(figures.figure2(errors), tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_figure2_as_a_table():
    errors = {name: np.full((2, len(values)), 0.25) for name, values in figure2.PAPER.curves.items()}
    errors["subagging ratio"][:, 0] = 0.5
    grid = figure2.grid(errors)
    assert grid.columns == ("at", *list(figure2.PAPER.curves)[:3], "at", "subagging ratio")
    assert grid.rows[0] == ("1", "25.00", "25.00", "25.00", "0.05", "50.00")
    assert len(grid.rows) == 7 and "mean of 2 run(s)" in grid.title
