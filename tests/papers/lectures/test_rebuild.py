"""The lecture notes rebuilt: files, resumption, the command."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from committee.cli.main import app
from committee.papers.lectures import simulations
from committee.papers.lectures.margins import PICTURES
from committee.papers.lectures.rebuild import rebuild
from committee.papers.lectures.simulations import QUICK


@pytest.mark.slow
def test_everything_is_written(rebuilt):
    grids, out = rebuilt
    assert len(grids) == 4
    pictures = {"boosting.png", "forest.png", *(f"{name}.png" for name in PICTURES)}
    tables = {
        "tables.md",
        "margins.csv",
        "margin-curves.csv",
        "boosting.csv",
        "leaves.csv",
        "forest.csv",
    }
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
    margins = rebuild(folder, tmp_path, quick=True, parts=["margins"], progress=lambda *step: seen.append(step))
    assert margins == grids[:1] and len(seen) == 1
    with pytest.raises(ValueError, match="with seed 0 instead of 1"):
        rebuild(folder, tmp_path, quick=True, seed=1)


@pytest.mark.slow
def test_pictures_are_the_same_twice(rebuilt, folder, tmp_path):
    _, out = rebuilt
    (tmp_path / "cells-quick.jsonl").write_bytes((out / "cells-quick.jsonl").read_bytes())
    rebuild(folder, tmp_path, quick=True)
    for path in out.glob("*.png"):
        assert path.read_bytes() == (tmp_path / path.name).read_bytes()


def run(*arguments):
    return CliRunner().invoke(app, ["papers", "lectures", *map(str, arguments)])


@pytest.mark.slow
def test_the_command(folder, tmp_path):
    result = run("--data", folder, "--parts", "margins", "--quick", "--out", tmp_path / "out", "--jobs", 2)
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())  # the title is folded
    assert "Margins of AdaBoost on vehicle" in words and "voting bound with C = 1" in words
    assert f"written to {tmp_path / 'out'}" in result.stderr.replace("\n", "")


def test_errors_of_the_command_are_one_line(folder, tmp_path):
    result = run("--data", folder, "--parts", "margin", "--quick", "--out", tmp_path / "out")
    assert result.exit_code == 2 and "parts names 'margin', which is not there; did you mean 'margins'" in result.output
    result = run("--data", folder, "--jobs", 0, "--out", tmp_path / "out")
    assert result.exit_code == 2 and "jobs must be at least 1; got jobs=0" in result.output
    result = run("--data", tmp_path, "--out", tmp_path / "out")
    assert result.exit_code == 2 and "holds no catalogue.json" in result.output
    assert not (tmp_path / "out").exists()


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
