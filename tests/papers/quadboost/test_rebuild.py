"""The QuadBoost document rebuilt: cells, files, resumption, the command."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from committee.cli.main import app
from committee.papers.quadboost import report, tables
from committee.papers.quadboost.methods import LEARNERS
from committee.papers.quadboost.rebuild import rebuild
from committee.papers.quadboost.report import TableResult, duel
from committee.papers.quadboost.tables import GINI, L2, METHODS, VANILLA
from committee.report.statistics import sign_test
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
        ({"seed": 1}, "seed 0 instead of 1"),
        ({"max_rounds": 9}, "max_rounds 1000000 instead of 9"),
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


def result_of(title, right):
    """Rows predicted right by each method, `right[method]` of shape (repeats, test rows)."""
    row = BY_TITLE[title]
    cell = {
        "risk": None, "voters": 1, "choose_seconds": 1.0, "fit_seconds": 0.1, "repeat": 0, "cv_error": 0.1,
        "params": {"rounds": 3}, "test_errors": {"100": 0.125, "278": 0.25},
    }  # fmt: skip
    return TableResult(row, right, {method: tuple(cell for _ in right[method]) for method in right})


@pytest.fixture
def two_tables():
    """L2 wins zoo by two rows of each split, and is even with vanilla on wine; the others are level with vanilla."""
    found = []
    for title in ("zoo", "wine"):
        base = np.ones((3, BY_TITLE[title].test_rows), dtype=bool)
        base[:, :5] = False
        right = {method: base.copy() for method in (*METHODS, GINI)}
        if title == "zoo":
            right[L2][:, 1:3] = True
        found.append(result_of(title, right))
    return found


def test_duels_count_rows_once_however_many_splits(two_tables):
    found = duel(two_tables, L2, VANILLA)
    assert found.ours.probability == found.splits.mean() == pytest.approx(0.5 * (0.875 + 0.5))
    assert (found.ours.signs.wins, found.ours.signs.losses, found.ours.signs.ties) == (1, 0, 1)
    assert found.ours.less == pytest.approx(-0.5 * 2 / 50)
    # the document: 0.1 against 0.04 on zoo, 0.056 against 0.09 on wine
    assert (found.document.signs.wins, found.document.signs.losses) == (1, 1)
    other = duel(two_tables, VANILLA, L2)
    assert found.ours.probability + other.ours.probability == pytest.approx(1.0)


def test_tables_add_up(two_tables):
    errors, ranks, pairs, claims, stumps, choices, seconds = report.grids(two_tables)
    assert errors.rows[0] == ("zoo", "51", "50", "10.0 (4.0)", "6.0 (10.0)", *["10.0 (4.0)"] * 2, *["10.0 (12.0)"] * 2)
    assert errors.rows[2][0] == "mean of 2" and errors.rows[2][4] == "5.8 (7.8)"
    assert ranks.rows[0][:4] == ("QuadBoost-L2", "2.25", "2.25", "2.25 - 2.25")
    assert sum(float(row[1]) for row in ranks.rows) == pytest.approx(21.0, abs=0.05)
    assert sum(float(row[4]) for row in ranks.rows) == pytest.approx(21.0, abs=0.05)
    assert [row[0] for row in pairs.rows][:2] == ["Linf - L2", "Linf - LPBoost"] and len(pairs.rows) == 15
    assert pairs.rows[0][1] == "0.31" and pairs.rows[0][4] == "0-1-1, 1.000"
    starred = [row[0] for row in pairs.rows if row[5].endswith("*")]
    assert starred == ["Linf - vanilla", "L2 - vanilla", "L2 - L1"]
    assert claims.rows[0][:2] == ("L2 beats vanilla", "undecided")
    assert stumps.rows[0] == ("chosen", "7.81", "7.81", "+0.00", "0-0-2, 1.000")
    assert stumps.rows[1] == ("100", "12.50", "12.50", "+0.00", "0-0-2, 1.000") and len(stumps.rows) == 3
    assert choices.rows[0] == ("QuadBoost-L1", "-", "-", "-", "3", "3", "3")
    assert seconds.rows[3] == ("QuadBoost", "1.000", "1.0", "100.00", "1.0", "0.397", "1.0")


def test_verdicts():
    def says(wins, losses, probability):
        signs = sign_test([0] * wins + [1] * losses, [1] * wins + [0] * losses)
        return report.verdict(SimpleNamespace(ours=SimpleNamespace(signs=signs, probability=probability)))

    assert says(12, 1, 0.99) == "holds" and says(1, 12, 0.01) == "the reverse holds"
    assert says(8, 4, 0.97) == "likely, sign test not significant" and says(4, 8, 0.03) == "the reverse is likely"
    assert says(8, 7, 0.6) == "undecided"
