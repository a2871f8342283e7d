"""The QuadBoost document rebuilt: cells, files, resumption, the command."""

import csv
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from committee.cli.main import app
from committee.papers.quadboost import tables
from committee.papers.quadboost.methods import LEARNERS
from committee.papers.quadboost.rebuild import rebuild
from tests.papers.rebuilding import assert_other_rows_are_refused, assert_refused_before_the_run, broken_off_and_resumed

BY_TITLE = {row.title: row for row in tables.published()}


@dataclass(frozen=True)
class Threshold:
    """A stand-in: one column cut at its median of the training rows, the better way round."""

    column: int
    quadratic: bool = False

    def choose(self, X, y, folds, plan):
        return {"alpha": float(self.column)}, 0.25

    def test_errors(self, rows, others, plan):
        return {"100": 0.25} if self.column >= 5 else {}

    def fit(self, X, y, params):
        column = self.column % X.shape[1]
        at = np.nanmedian(X[:, column])
        sign = 1 if np.mean(np.where(X[:, column] > at, 1, -1) == y) >= 0.5 else -1

        def vote(rows):
            return sign * np.where(rows[:, column] > at, 1, -1)

        return SimpleNamespace(predict=vote, decision_function=vote, committee_=SimpleNamespace(n_voters=1))


@pytest.fixture
def stand_ins(monkeypatch):
    for k, method in enumerate(LEARNERS):
        monkeypatch.setitem(LEARNERS, method, Threshold(k, quadratic=k < 4))


def test_cells_hold_what_was_predicted(stand_ins, folder, tmp_path):
    seen = []
    grids = rebuild(folder, tmp_path, tables=["zoo", "wine"], repeats=2, progress=lambda *step: seen.append(step))
    assert len(grids) == 7 and seen[-1] == (28, 28, "zoo") and seen[0] == (1, 28, "wine"), "in the document's order"
    assert {path.name for path in tmp_path.iterdir()} == {
        "cells.jsonl", "quadboost.png", "table1.csv", "table2.csv", "tables.md",
    }  # fmt: skip
    table = tables.read_binary(BY_TITLE["wine"], folder)
    train, test = tables.draw_split(BY_TITLE["wine"], 0, 1)
    X = tables.prepared(table, train)
    model = Threshold(2).fit(X[train], table.y[train], {})
    with (tmp_path / "table1.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    own = next(line for line in lines if (line["name"], line["method"], line["repeat"]) == ("wine", tables.LINF, "1"))
    assert float(own["error"]) == pytest.approx((model.predict(X[test]) != table.y[test]).mean(), abs=1e-6)
    assert float(own["risk"]) == pytest.approx(4 * float(own["error"]), abs=1e-5)
    assert len(lines) == 2 * 7 * 2 and [line["risk"] for line in lines if line["method"] == tables.LPBOOST] == [""] * 4
    page = (tmp_path / "tables.md").read_text("utf-8")
    assert page.count("|---|") == 7 and "| zoo | 51 | 50 |" in page


def test_an_interrupted_run_goes_on(stand_ins, folder, tmp_path):
    options = {"tables": ["wine", "zoo"], "repeats": 2}
    whole = rebuild(folder, tmp_path / "whole", **options)
    resumed, seen = broken_off_and_resumed(rebuild, 8, folder, tmp_path / "broken", **options)
    assert len(seen) == 20 and resumed[:6] == whole[:6], "all but the times"
    one = rebuild(folder, tmp_path / "whole", tables=["wine"], progress=lambda *_: pytest.fail("run again"), repeats=1)
    assert "mean of 1 split(s)" in one[0].title


def test_cells_of_other_seeds_grids_or_rows_are_refused(stand_ins, folder, tmp_path):
    rebuild(folder, tmp_path / "out", tables=["wine"], repeats=1)
    for options, message in (
        ({"seed": 1}, "seed=0 instead of 1"),
        ({"max_rounds": 9}, "max_rounds=1000000 instead of 9"),
    ):
        with pytest.raises(ValueError, match=message):
            rebuild(folder, tmp_path / "out", tables=["wine"], repeats=1, **options)
    assert_other_rows_are_refused(rebuild, folder, tmp_path, "wine")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repeats": 0}, "repeats, jobs, max_rounds and max_grown must be at least 1; got repeats=0"),
        ({"tables": ["zo"]}, "tables names 'zo', which is not there; did you mean 'zoo'"),
        ({}, "does not name the table 'australian'"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_run(folder, tmp_path, options, message):
    assert_refused_before_the_run(rebuild, folder, tmp_path, options, message)


def run(*arguments):
    return CliRunner().invoke(app, ["papers", "quadboost", *map(str, arguments)])


def test_the_command(stand_ins, folder, tmp_path):
    result = run("--data", folder, "--tables", "wine,zoo", "--repeats", 1, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    for words in (
        "Table 1: test error in percent",
        "Average ranks over 2 table(s)",
        "Linf - vanilla",
        "L2 beats vanilla",
    ):
        assert words in result.stdout
    assert f"written to {tmp_path / 'out'}" in result.stderr.replace("\n", "")
    result = run("--tables", "wine", "--out", tmp_path / "none")
    assert (
        result.exit_code == 2
        and "with `committee papers fetch` and give it with --data or COMMITTEE_DATA"
        in result.output.replace("\n", " ")
    )


def test_the_learners_themselves(folder, tmp_path):
    """A little of everything by the seven methods, in two processes."""
    result = run("--data", folder, "--tables", "wine,zoo", "--quick", "--repeats", 1, "--jobs", 2, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    with (tmp_path / "table1.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 14 and all(float(line["error"]) < 0.45 for line in lines)
    by_method = {line["method"]: line for line in lines if line["name"] == "wine"}
    assert by_method[tables.L1]["alpha"] and not by_method[tables.L1]["rounds"]
    assert by_method[tables.L2]["alpha"] and by_method[tables.L2]["rounds"] and by_method[tables.VANILLA]["rounds"]
    assert by_method[tables.LPBOOST]["C"] and by_method[tables.LPBOOST]["nu"] and by_method[tables.ADABOOST]["rounds"]
