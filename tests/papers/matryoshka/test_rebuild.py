"""The theory of matryoshki rebuilt: files, resumption, the command."""

import csv
import json

import pytest
from typer.testing import CliRunner

from committee.cli.main import app
from committee.papers.matryoshka.cells import METHODS, Setting
from committee.papers.matryoshka.rebuild import rebuild
from committee.papers.shared.cells import key_of
from tests.papers.rebuilding import assert_other_rows_are_refused, assert_refused_before_the_run


@pytest.mark.slow
def test_a_quick_run_writes_everything_and_is_not_run_again(folder, tmp_path):
    seen = []
    options = {"tables": ["sonar", "credit"], "repeats": 5, "quick": True}
    grids = rebuild(folder, tmp_path, **options, progress=lambda *step: seen.append(step))
    assert len(grids) == 14 and seen[-1] == (120, 120, "credit") and seen[0] == (1, 120, "sonar")
    assert {path.name for path in tmp_path.iterdir()} == {
        "cells-quick.jsonl", "cells.csv", "pairs.csv", "tables.md", "bounds.png", "cost.png", "softness.png",
        "draws.png", "figure2.png", "figure3.png", "figure2-left.csv", "figure2-right.csv", "figure3.csv",
    }  # fmt: skip
    with (tmp_path / "cells.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 120 and {line["repeat"] for line in lines} == {"0", "1"}, "two are enough"
    with (tmp_path / "figure2-left.csv").open(encoding="utf-8") as file:
        points = {(p["curve"], p["rho"], float(p["x"])): float(p["bound"]) for p in csv.DictReader(file)}
    assert points["2-matryoshka", "31/32", 1024.0] == pytest.approx(0.2471858, abs=1e-7)
    assert (tmp_path / "tables.md").read_text("utf-8").count("\n|---|") == 14
    assert rebuild(folder, tmp_path, **options, progress=lambda *_: pytest.fail("run again")) == grids


@pytest.mark.slow
def test_growth_alone(folder, tmp_path):
    options = {"tables": ["sonar"], "repeats": 1, "quick": True}
    grids = rebuild(folder, tmp_path, **options, growth=True)
    assert [len(grid.rows) for grid in grids] == [4, 3, 4]
    assert {path.name for path in tmp_path.iterdir()} == {"cells-quick.jsonl", "cells-growth.csv", "tables-growth.md"}
    seen = []
    rebuild(folder, tmp_path, **options, progress=lambda *step: seen.append(step))
    assert seen[0] == (10, 30, "sonar"), "a whole run goes on from its nine cells"


@pytest.mark.slow
def test_other_runs_and_tables_are_refused(folder, tmp_path):
    options = {"tables": ["sonar"], "repeats": 1, "quick": True}
    rebuild(folder, tmp_path / "out", **options)
    with pytest.raises(ValueError, match="seed 0 instead of 1"):
        rebuild(folder, tmp_path / "out", **options, seed=1)
    assert_other_rows_are_refused(rebuild, folder, tmp_path, "sonar", quick=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repeats": 0}, "repeats and jobs must be at least 1; got repeats=0"),
        ({"tables": ["sona"]}, "tables names 'sona', which is not there; did you mean 'sonar'"),
        ({}, "does not name the table 'ionosphere'"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_run(folder, tmp_path, options, message):
    assert_refused_before_the_run(rebuild, folder, tmp_path, options, message)


@pytest.mark.slow
def test_the_command(folder, tmp_path):
    """A little of everything, in two processes."""
    arguments = ["--data", folder, "--tables", "credit", "--quick", "--jobs", 2, "--out", tmp_path / "out"]
    result = CliRunner().invoke(app, ["papers", "matryoshka", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    for words in ("M_2(T, rho)", "greedy matryoshka", "AdaBoost below boosting tree", "Softness, T", "first rise"):
        assert words in result.stdout
    assert f"written to {tmp_path / 'out'}" in result.stderr.replace("\n", "")
    cells = [json.loads(line) for line in (tmp_path / "out" / "cells-quick.jsonl").read_text("utf-8").splitlines()[1:]]
    place = {"table": "", "repeat": 0, **Setting("", 0).place}
    assert len({key_of(cell, place) for cell in cells}) == len(cells) == 60
    assert {cell["method"] for cell in cells} == {*METHODS}
