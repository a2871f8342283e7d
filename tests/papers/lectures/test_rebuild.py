"""The lecture notes rebuilt: files, resumption, the command."""

import pytest
from typer.testing import CliRunner

from committee.cli.main import app
from committee.papers.lectures.margin_figures import PICTURES
from committee.papers.lectures.rebuild import rebuild


def test_everything_is_written(rebuilt):
    grids, out = rebuilt
    assert len(grids) == 5
    pictures = {"boosting.png", "forest.png", *(f"{name}.png" for name in PICTURES)}
    tables = {
        "tables.md",
        "margins.csv",
        "margin-curves.csv",
        "voting-bound.csv",
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
    assert margins == grids[:2] and len(seen) == 1
    with pytest.raises(ValueError, match="with seed=0 instead of 1"):
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
    assert "Margins of AdaBoost on vehicle" in result.stdout and "Voting bound" in result.stdout
    assert f"written to {tmp_path / 'out'}" in result.stderr.replace("\n", "")


def test_errors_of_the_command_are_one_line(folder, tmp_path):
    result = run("--data", folder, "--parts", "margin", "--quick", "--out", tmp_path / "out")
    assert result.exit_code == 2 and "parts names 'margin', which is not there; did you mean 'margins'" in result.output
    result = run("--data", folder, "--jobs", 0, "--out", tmp_path / "out")
    assert result.exit_code == 2 and "jobs must be at least 1; got jobs=0" in result.output
    result = run("--data", tmp_path, "--out", tmp_path / "out")
    assert result.exit_code == 2 and "holds no catalogue.json" in result.output
    assert not (tmp_path / "out").exists()
