"""The experiments on margins rebuilt: files, resumption, the command."""

import polars as pl
import pytest
from typer.testing import CliRunner

from committee.cli.main import app
from committee.papers.margins.cells import ENSEMBLES, MAXIMISE, OBJECTIVES, SM2_SIMPLEX, VARIANTS
from committee.papers.margins.rebuild import rebuild
from tests.papers.rebuilding import assert_other_rows_are_refused, assert_refused_before_the_run, broken_off_and_resumed


def run(*arguments):
    return CliRunner().invoke(app, ["papers", "margins", *map(str, arguments)])


@pytest.mark.slow
def test_the_command(folder, tmp_path):
    out = tmp_path / "out"
    result = run(
        "--data", folder, "--tables", "sonar,ionosphere", "--repeats", 1, "--depth-splits", 0, "--jobs", 2, "--out", out
    )
    assert result.exit_code == 0, result.output
    assert "Directions: in how many of 2 tables" in " ".join(result.stdout.split())
    assert {path.name for path in out.iterdir()} == {
        "cells.jsonl", "splits.csv", "tables.md", "together.png", "figure2.png", "figure2-deep.png", "figure3.png",
        "figure4.png", "figure5.png", "figure5-deep.png", "figure6.png", "figure6-simplex.png",
    }  # fmt: skip
    lines = pl.read_csv(out / "splits.csv")
    assert len(lines) == 2 * len(ENSEMBLES) * len(OBJECTIVES) and set(lines["objective"]) == set(OBJECTIVES)
    largest = lines.filter(pl.col("objective").is_in(MAXIMISE))
    assert (largest["mean"] >= largest["mean_before"] - 1e-6).all() and (largest["least_gain"] >= -1e-6).all()
    assert (largest["minimum"] >= largest["minimum_before"] - 1e-6).all()
    assert (out / "tables.md").read_text("utf-8").count("|---|") == 10
    one = run("--data", folder, "--figure", 4, "--out", tmp_path / "one")
    assert one.exit_code == 0 and {path.name for path in (tmp_path / "one").iterdir()} == {"figure4.png"}


@pytest.mark.slow
def test_an_interrupted_run_goes_on(folder, tmp_path):
    options = {"tables": ["sonar"], "repeats": 2, "depth_splits": 0}
    whole = rebuild(folder, tmp_path / "whole", **options)
    resumed, seen = broken_off_and_resumed(rebuild, 3, folder, tmp_path / "broken", **options)
    assert seen == [(done, 6, "sonar") for done in (4, 5, 6)]
    assert resumed == whole
    one = rebuild(
        folder,
        tmp_path / "whole",
        tables=["sonar"],
        repeats=1,
        depth_splits=0,
        progress=lambda *_: pytest.fail("run again"),
    )
    assert "mean of 1 split(s)" in one[0].title


@pytest.mark.slow
def test_other_ensembles_and_objectives(folder, tmp_path):
    """Stumps, other k, targets and measures of distance; and trees without a limit, which are all one ensemble."""
    options = {"tables": ["ionosphere"], "repeats": 1, "trees": 8, "depth_splits": 0}
    rebuild(folder, tmp_path / "stumps", depth=1, variants=True, **options)
    lines = pl.read_csv(tmp_path / "stumps" / "splits.csv").filter(pl.col("ensemble") == "forest")
    found = {line["objective"]: line for line in lines.to_dicts()}
    assert list(found) == [*OBJECTIVES, *VARIANTS]
    assert found["UWS"]["voters"] == 8 and found["UWS"]["full_trees"] == 1.0
    targets = [found[name]["mean"] for name in (SM2_SIMPLEX, *(v for v in VARIANTS if "target" in v))]
    assert targets == sorted(targets) and targets[0] < targets[-1], "a larger target, a larger mean"
    with pytest.raises(ValueError, match="depth 1 instead of 0"):
        rebuild(folder, tmp_path / "stumps", depth=0, variants=True, **options)
    rebuild(folder, tmp_path / "deep", depth=0, **options)
    assert set(pl.read_csv(tmp_path / "deep" / "splits.csv")["full_trees"]) == {None}


def test_cells_of_other_seeds_or_rows_are_refused(folder, tmp_path):
    rebuild(folder, tmp_path / "out", tables=["ionosphere"], repeats=1, depth_splits=0)
    with pytest.raises(ValueError, match="seed 0 instead of 1"):
        rebuild(folder, tmp_path / "out", tables=["ionosphere"], repeats=1, seed=1)
    assert_other_rows_are_refused(rebuild, folder, tmp_path, "ionosphere")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repeats": 0}, "repeats, trees and jobs must be at least 1; got repeats=0, trees=200, jobs=1"),
        ({"jobs": 0}, "got repeats=10, trees=200, jobs=0"),
        ({"trees": 0}, "got repeats=10, trees=0, jobs=1"),
        ({"depth": -1}, "depth=-1 is not a tree depth; use 1 to 30, or 0 for trees without a limit"),
        ({"depth": 31}, "depth=31 is not a tree depth"),
        ({"depth_splits": -1}, "depth_splits=-1 is below 0; use 0 to leave out the comparison over depths"),
        ({"tables": ["sonr"]}, "tables names 'sonr', which is not there; did you mean 'sonar'"),
        ({"figure": 7}, "figure=7 cannot be rebuilt; use 1, 2, 3, 4, 5 or 6"),
        ({"figure": 6, "tables": ["sonar"]}, "figure=6 needs table 'ionosphere'; add it to --tables"),
        ({"figure": 1}, "does not name the table 'splice'"),
        ({}, "does not name the table 'australian'"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_run(folder, tmp_path, options, message):
    assert_refused_before_the_run(rebuild, folder, tmp_path, options, message)


def test_the_command_refuses_in_one_line(folder, tmp_path):
    result = run("--tables", "sonar", "--out", tmp_path / "none")
    assert (
        result.exit_code == 2
        and "with `committee papers fetch` and give it with --data or COMMITTEE_DATA"
        in result.output.replace("\n", " ")
    )
    result = run("--data", folder, "--figure", 9, "--out", tmp_path / "none")
    assert result.exit_code == 2 and "figure=9 cannot be rebuilt" in result.output
