"""The lecture notes: cells of AdaBoost's margins, simulations, and the rebuilt files and tables."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from committee import AdaBoostClassifier
from committee.papers.lectures import margins, simulations
from committee.papers.lectures.margins import (
    ALL,
    LEVELS,
    PICTURES,
    REFUSING,
    STUMPS,
    TREES,
    MarginCurves,
    below,
    curves,
    margin_cell,
    share_at,
)
from committee.papers.lectures.rebuild import rebuild
from committee.papers.lectures.simulations import FULL, QUICK
from committee.papers.shared.tables import SOURCE_TABLES, load_source_table
from committee.report.folds import stratified_folds
from tests.papers.conftest import records, write_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small table of four classes under the name of the lecture notes'."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3)).round(3)
    kind = np.array(["bus", "opel", "saab", "van"])[2 * (X[:, 0] > 0) + (X[:, 1] + 0.5 * rng.normal(size=160) > 0)]
    vehicle = pl.DataFrame(X, schema=["a", "b", "c"], orient="row").with_columns(pl.Series("target", kind))
    return write_folder(tmp_path_factory.mktemp("tables"), vehicle=vehicle)


@pytest.fixture(scope="module")
def rebuilt(folder, tmp_path_factory):
    """Everything, quickly, by two processes: the tables printed and the folder written."""
    out = tmp_path_factory.mktemp("rebuilt")
    return rebuild(folder, out, quick=True, jobs=2), out


def test_the_full_plan_is_the_lecture_notes():
    assert FULL.rounds == (5, 100, 1000) and FULL.folds == 10


def test_a_margin_cell_is_adaboost_cut_off(folder):
    table = load_source_table(SOURCE_TABLES["vehicle"], folder)
    train, test = stratified_folds(table.labels.codes, 2, 1, 0)[0]
    cell = margin_cell(table, "van", STUMPS, (train, test), (2, 6))
    X, y = table.rows(train), table.labels.classes[table.labels.codes][train] == "van"
    for T in (2, 6):
        short = AdaBoostClassifier(T).fit(X, y)
        margins, stage = short.committee_.margins(X, y), cell["stages"][str(T)]
        assert stage["voters"] == T and stage["minimum"] == pytest.approx(margins.min())
        assert stage["mean"] == pytest.approx(margins.mean())
        assert stage["train_error"] == pytest.approx(np.mean(short.predict(X) != y))
        assert stage["below"] == below(margins) and stage["below"][-1] == len(train)
        assert stage["bound"] >= stage["train_error"] and stage["certified"] >= stage["train_error"]
    assert cell["test_rows"] == len(test)


def test_levels_count_margins_at_them():
    counts = dict(zip(LEVELS.round(3).tolist(), below(np.array([-1.0, -0.1, 0.1, 0.1 + 1e-15, 1.0])), strict=True))
    assert (counts[-1.0], counts[-0.105], counts[-0.1], counts[0.1], counts[0.995], counts[1.0]) == (1, 1, 2, 4, 4, 5)


def test_curves_put_folds_together():
    def cell(counts, wrong, rows):
        stage = {"below": counts, "test_below": counts, "test_wrong": wrong, "rows_needed": 10.0}
        rest = dict.fromkeys(("minimum", "mean", "train_error", "bound", "theta", "certified"), 0.5)
        return {"problem": "van", "learner": STUMPS, "rows": rows, "test_rows": rows, "stages": {"5": stage | rest}}

    (found,) = curves([cell([0] * 200 + [3] * 201, 1, 3), cell([1] * 401, 0, 1)])
    assert (found.rounds, found.test_error, found.minimum) == (5, 0.25, 0.5)
    assert found.train[0] == 0.25 and found.train[-1] == 1.0
    assert share_at(found, 0.1) == 1.0


@pytest.mark.slow
def test_every_row_is_tested_once_and_curves_rise_to_one(rebuilt):
    _, out = rebuilt
    lines = records(out / "margin-curves.csv")
    assert len(lines) == (4 * 2 + 1) * 3 * len(LEVELS)
    for side in ("train", "test"):
        shares = np.array([float(line[side]) for line in lines]).reshape(-1, len(LEVELS))
        assert (np.diff(shares, axis=1) >= 0.0).all() and (shares[:, -1] == 1.0).all()
    margins = records(out / "margins.csv")
    assert [line["rounds"] for line in margins[:3]] == ["2", "5", "10"]
    assert {(line["class"], line["voters"]) for line in margins} == {
        *((name, voters) for name in ("bus", "opel", "saab", "van") for voters in ("stumps", "abstaining")),
        (ALL, "trees"),
    }
    for line in margins:
        assert 100 * float(line["certified"]) >= float(line["train_error"])


def test_panels_and_colours():
    cell = dict.fromkeys(("minimum", "mean", "train_error", "test_error", "bound", "theta", "certified"), 0.5)
    shares = np.clip(LEVELS + 0.5, 0.0, 1.0)
    found = [
        MarginCurves(problem, learner, T, shares, shares, rows_needed=1.0, **cell)
        for problem, learner in [(p, v) for p in ("bus", "van", "saab") for v in (STUMPS, REFUSING)] + [(ALL, TREES)]
        for T in FULL.rounds
    ]
    figure = margins.stumps(found)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["bus", "van", "saab", ""]
    assert len({line.get_color() for line in figure.axes[0].lines[:6]}) == 3
    refusing = margins.refusing(found).axes[0]
    assert len(refusing.lines) == 5 and len({line.get_color() for line in refusing.lines[:4]}) == 2
    assert len(margins.trees(found).axes) == 1


# --- the rebuilt files ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_everything_is_written(rebuilt):
    grids, out = rebuilt
    assert len(grids) == 4 and "voting bound with C = 1" in grids[0].title
    pictures = {"boosting.png", "forest.png", *(f"{name}.png" for name in PICTURES)}
    tables = {"tables.md", "margins.csv", "margin-curves.csv", "boosting.csv", "leaves.csv", "forest.csv"}
    assert {path.name for path in out.iterdir()} == pictures | tables | {"cells-quick.jsonl"}


@pytest.mark.slow
def test_finished_cells_are_not_run_again(rebuilt, folder, tmp_path):
    grids, out = rebuilt
    lines = (out / "cells-quick.jsonl").read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "cells-quick.jsonl").write_text("".join(lines[:-1]), "utf-8")  # broken off before the last
    seen = []
    again = rebuild(folder, tmp_path, quick=True, progress=lambda *step: seen.append(step))
    assert seen == [(len(lines) - 1, len(lines) - 1, "forest")]
    assert again == grids
    for path in out.glob("*.png"):
        assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path
    margins = rebuild(folder, tmp_path, quick=True, parts=["margins"], progress=lambda *step: seen.append(step))
    assert margins == grids[:1] and len(seen) == 1
    with pytest.raises(ValueError, match="with seed 0 instead of 1"):
        rebuild(folder, tmp_path, quick=True, seed=1)


@pytest.mark.slow
def test_losses_and_subsamples_have_their_lines(rebuilt):
    grids, _ = rebuilt
    grid = next(grid for grid in grids if grid.title.startswith("Gradient boosting"))
    assert [row[:3] for row in grid.rows][:2] == [
        ("two classes, error %", "exponential, by votes", "1"),
        ("two classes, error %", "exponential", "1"),
    ]
    assert len(grid.rows) == 1 + 3 * 3 + 3
    for row in grid.rows:
        assert float(row[3].split()[0]) >= float(row[4]) - 0.01 and 1 <= int(row[5]) <= QUICK.boosting_rounds


@pytest.mark.slow
def test_l0_and_l1_make_leaves_zero_and_l2_does_not(rebuilt):
    grids, _ = rebuilt
    grid = next(grid for grid in grids if grid.title.startswith("Regularised leaves"))
    share = {row[0]: float(row[3]) for row in grid.rows}
    assert share["none"] == share["leaf_l2=10"] == 100.0
    assert 100.0 > share["leaf_l0=0.5"] > share["leaf_l0=2"]
    assert 100.0 > share["leaf_l1=0.5"] > share["leaf_l1=2"]


def test_simulations_differ_from_repeat_to_repeat_only():
    for task in ("classes", "numbers"):
        one, again, other = (QUICK.simulated(task, 0, repeat) for repeat in (0, 0, 1))
        assert all((a == b).all() for a, b in zip(one, again, strict=True)) and (one[0] != other[0]).any()
        assert [len(part) for part in one] == [QUICK.training_rows] * 2 + [QUICK.test_rows] * 2


@pytest.mark.parametrize(("repeats", "bands"), [(1, 0), (2, 2)])
def test_a_single_repeat_has_no_band_of_errors(repeats, bands):
    oob = np.array([[0.4, 0.3, 0.21], [0.5, 0.2, 0.3]])[:repeats]
    left, right = simulations.forest_picture(simulations.ForestCurves(oob, oob - 0.1), 100).axes
    assert len(right.collections) == bands
    np.testing.assert_allclose(left.lines[0].get_ydata(), 100.0 * oob.mean(axis=0))
    np.testing.assert_allclose(right.lines[0].get_ydata(), 10.0)


def test_numbers_of_trees_chosen_out_of_bag():
    oob = np.array([[0.4, 0.3, 0.21, 0.2, 0.22], [0.5, 0.2, 0.3, 0.3, 0.19]])
    found = simulations.ForestCurves(oob, oob)
    assert found.smallest().tolist() == [4, 5]
    assert found.within_one_standard_error(100).tolist() == [3, 2]
    rows = simulations.grid(found, 100).rows
    assert [row[0] for row in rows] == ["1", "2", "5", "least out of bag", "within one s.e."]
    assert rows[3][1:5] == ("4", "19.50", "19.50", "+0.00 ±0.00")
    # out of bag, 5 trees are judged by 2
    assert rows[2][5:] == ("25.00", "-4.50 ±3.50") and (found.test_of_as_many[:, -1] == oob[:, 1]).all()
