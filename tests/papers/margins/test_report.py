"""The numbers of Martinez and Gray, their data as two classes, our results as tables, and the rebuilt files."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr, ttest_rel

from committee.papers.margins import cells, report
from committee.papers.margins.cells import ADABOOST, DEEP_FOREST, FOREST, OBJECTIVES, PWS, SM1, SM2, SM2_SIMPLEX
from committee.papers.margins.figures import CHANGES
from committee.papers.margins.rebuild import rebuild
from committee.papers.margins.results import (
    EQUILIBRIUM,
    ERROR,
    HELPS,
    HURTS,
    LEAST,
    MEAN,
    MEDIAN,
    MINIMUM,
    NEITHER,
    RANGE,
    VARIANCE,
    MarginResults,
    SourceData,
    association,
    directions,
    document_association,
    document_directions,
    published,
    read_data,
    source_data,
    table_of,
)
from committee.papers.shared.tables import Fold
from tests.papers.rebuilding import assert_other_rows_are_refused, broken_off_and_resumed, run, write_folder

DOCUMENT = sorted(Path(__file__).resolve().parents[4].glob("shared/seeds/004_*.txt"))
"""The document's text, where it is at hand."""


def test_the_documents_tables_are_whole():
    titles = [data.title for data in source_data()]
    assert len(titles) == 15 and len({data.name for data in source_data()}) == 14
    assert [table.number for table in published()] == list(range(2, 12))
    for table in published():
        assert list(table.rows) == titles and table.ensemble == (FOREST, ADABOOST)[table.number % 2]
        for row in table.rows.values():
            assert len(row.errors) == 1 + len(table.objectives) and len(row.marks) == len(table.objectives)
            assert len(row.changes) == len(table.changes) and set(row.marks) <= {HELPS, HURTS, NEITHER}
    assert {name for table in published() for name in table.objectives} == set(OBJECTIVES) - {SM2_SIMPLEX}


def test_what_the_documents_text_says_of_its_tables():
    """SM2 and AdaBoost: better in 4, worse in 5; EWS and AdaBoost: one better; SM1: none better than the forest."""
    assert document_directions(ADABOOST, SM2).tests == (4, 5, 6)
    assert document_directions(ADABOOST, "EWS").tests[0] == 1
    assert document_directions(FOREST, SM1).tests == (0, 8, 7)
    assert document_directions(FOREST, PWS[1]).tables == 14, "the row of Pima holds numbers of Table 4"
    assert document_directions(DEEP_FOREST, SM1) == document_directions(FOREST, SM1)
    assert document_directions(FOREST, SM2_SIMPLEX) is None and table_of(FOREST, SM2_SIMPLEX) is None


def repeated_rows() -> list[tuple[str, tuple[int, ...]]]:
    """Rows of four equal numbers, not all changes zero, that stand under one title in several of the tables."""
    places: dict[tuple[str, tuple[float, ...]], list[int]] = {}
    for table in published():
        for title, row in table.rows.items():
            numbers = (*row.errors, *row.changes)
            if any(numbers[2:]):
                places.setdefault((title, numbers), []).append(table.number)
    return [(title, tuple(numbers)) for (title, _), numbers in places.items() if len(numbers) > 1]


def test_numbers_that_stand_in_several_of_the_documents_tables():
    assert repeated_rows() == [
        ("Transfusion", (3, 5, 7)), ("ColonCancer", (4, 9, 11)), ("Parkinsons", (4, 9)), ("Splice", (8, 10)),
    ]  # fmt: skip
    by_number = {table.number: table for table in published()}
    assert by_number[6].rows["Pima"].errors == (*by_number[4].rows["Pima"].errors, *by_number[4].rows["Pima"].changes)


def test_the_documents_errors_are_shares_of_the_training_rows():
    """Figure 2: 12 and 10 rows of 145, and no number of the 62 or 63 test rows; Pima stands with both shares."""
    drawn = CHANGES[0].document
    for error, count in ((drawn["error"], 12), (drawn["error after"], 10)):
        assert f"{count / 145:.4f}" == f"{error:.4f}"
        assert all(f"{k / n:.4f}" != f"{error:.4f}" for n in (62, 63) for k in range(n))
    of_all_rows = [table.rows["Pima"].errors[0] for table in published() if table.number != 3]
    assert max(of_all_rows) < 0.11
    assert by_share(3) == pytest.approx(7 / 3 * np.mean(of_all_rows), rel=0.03)


def by_share(number):
    return next(table for table in published() if table.number == number).rows["Pima"].errors[0]


def test_the_numbers_are_those_of_the_text():
    """Where the document's text is beside the repository, every number and star of Tables 2 to 11 is its own."""
    for text in (path.read_text("utf-8") for path in DOCUMENT):
        for table in published():
            after = text.split(f"\nTable {table.number}: ")[1].splitlines()[1:]
            rows = {t: line for t in table.rows for line in after[:20] if line.startswith(f"{t} ")}
            for title, row in table.rows.items():
                words = rows[title].removeprefix(title).split()
                assert tuple(float(re.sub(r"(?<=\d)[*-]$", "", word)) for word in words) == row.errors + row.changes
                if len(table.objectives) > 1:
                    marks = "".join({"*": HELPS, "-": HURTS}.get(word[-1], NEITHER) for word in words[1:])
                else:
                    marks = HURTS if words[0][-1] == "*" else HELPS if words[1][-1] == "*" else NEITHER
                assert marks == row.marks, (table.number, title)


def test_a_table_becomes_two_classes(folder):
    data = {row.name: row for row in source_data()}
    table = read_data(data["sonar"], folder)
    labels = pl.read_csv(folder / "sonar.csv")["target"]
    assert table.positive.tolist() == (labels == "M").to_list() and table.name == "sonar"
    (train, test), (y, _) = Fold(table, 0, 0).split, Fold(table, 0, 0).positive
    assert len(test) == pytest.approx(0.3 * 208, abs=1) and y.mean() == pytest.approx(table.positive.mean(), abs=0.01)
    assert len(train) + len(test) == 208


def test_rows_with_gaps_go_and_categories_become_columns(tmp_path):
    some = pl.DataFrame({"a": [1, None, 2, 3], "b": ["x", "y", None, "x"], "target": list("ppee")})
    write_folder(tmp_path, ("b",), t=some)
    whole = read_data(SourceData("T", "t", 2, ("p",), complete_rows=True), tmp_path)
    assert whole.table.frame.rows() == [(1, "x"), (3, "x")] and whole.positive.tolist() == [True, False]
    some = pl.DataFrame({"b": ["x", "y", None, "x"], "c": list("uuvv"), "target": list("ppes")})
    write_folder(tmp_path, ("b", "c"), t=some)
    shown = read_data(SourceData("T", "t", 4, ("p", "s"), indicators=True), tmp_path)
    assert shown.table.frame.columns == ["b_missing", "b_x", "b_y", "c_u", "c_v"]
    assert shown.table.frame["b_missing"].to_list() == [0, 0, 1, 0]
    assert shown.positive.tolist() == [True, True, False, True]


def test_errors_of_the_document_are_multiplied_by_its_training_rows_over_its_test_rows():
    assert SourceData("Splice", "splice", 3175, ("N",), document_training_rows=1000).training_by_test == 1000 / 2175
    assert SourceData("Pima", "pima", 768, ("1",)).training_by_test == pytest.approx(0.7 / 0.3)


def test_other_tables_than_the_documents_are_refused(folder):
    data = SourceData("Sonar", "sonar", 208, ("M",))
    with pytest.raises(
        ValueError, match="are read from a folder; make a folder with `committee papers fetch` and give it with"
    ):
        read_data(data, None)
    with pytest.raises(ValueError, match="'sonar' has 208 rows to be used, but the document's has 207"):
        read_data(SourceData("Sonar", "sonar", 207, ("M",)), folder)
    with pytest.raises(ValueError, match="'sonar' has no row labelled 'rock'"):
        read_data(SourceData("Sonar", "sonar", 208, ("rock",)), folder)


def made_up(name, ensemble, repeat, wrong, **changes):
    """A cell in which all objectives do the same."""
    own = {
        "wrong": 10, "mean": 0.5, "median": 0.6, "minimum": -0.2, "equilibrium": 0.4, "variance": 0.1, "range": 1.0,
    }  # fmt: skip
    new = {figure: own[figure] + changes.get(figure, 0.0) for figure in own if figure != "wrong"}
    found = {"state": cells.SOLVED, "xi": None, "wrong": wrong, **new, "least": changes.get("least", 0.0), "trees": 9}
    return {
        "table": name, "digest": "", "repeat": repeat, "ensemble": ensemble, "training_rows": 70, "test_rows": 30,
        "voters": 200, "full_trees": 1.0, "fit_seconds": 0.1, **own,
        "objectives": {objective: {**found, "seconds": 0.01} for objective in cells.OBJECTIVES},
    }  # fmt: skip


@pytest.fixture
def results():
    """Three tables, four splits: better and larger margins; worse and smaller ones; nothing."""
    wrong = {"sonar": (8, 9, 8, 7), "pima": (12, 11, 12, 13), "colon": (10, 10, 11, 9)}
    changes = {
        "sonar": {"mean": 0.1, "minimum": 0.05, "least": 0.01, "variance": -0.02, "range": 0.1, "equilibrium": 0.2},
        "pima": {"mean": -0.1, "minimum": -0.1, "least": -0.2, "variance": 0.02, "range": -0.1},
        "colon": {"mean": 0.00004, "variance": -0.00004},
    }
    made = {
        (name, repeat, ensemble): made_up(name, ensemble, repeat, count, **changes[name])
        for name, counts in wrong.items()
        for ensemble in cells.ENSEMBLES
        for repeat, count in enumerate(counts)
    }
    return MarginResults(made, ("sonar", "pima", "colon"), 4)


def test_directions_are_counted(results):
    found = directions(results, cells.FOREST, cells.UWS)
    assert found.tables == 3 and found.raised == {MEAN: 1, MEDIAN: 0, LEAST: 1, MINIMUM: 1, EQUILIBRIUM: 1}
    assert found.lowered == {VARIANCE: 1, RANGE: 1}, "what four digits do not show is no change"
    assert found.marks == HELPS + HURTS + NEITHER and found.tests == (1, 1, 1)
    # by hand: -2, -1, -2, -3 rows; t = 4.90 on 3 degrees of freedom, p = 0.016; the correction makes it 2.97 and 0.059
    assert ttest_rel([8, 9, 8, 7], [10] * 4).pvalue == pytest.approx(0.016, abs=1e-3)
    assert directions(results, cells.FOREST, cells.UWS, corrected=True).tests == (0, 0, 3)
    assert results.change("sonar", cells.FOREST, cells.UWS, ERROR) == pytest.approx(-2 / 30)
    single = MarginResults(results.cells, results.names, 1)
    assert single.mark("sonar", cells.FOREST, cells.UWS) == NEITHER, "one split says nothing"


def test_associations_are_rank_correlations(results):
    for objective in cells.MAXIMISE[1:]:
        for repeat in range(4):
            results.cells["sonar", repeat, cells.FOREST]["objectives"][objective]["mean"] = 0.55
            results.cells["sonar", repeat, cells.FOREST]["objectives"][objective]["wrong"] = 9
    x, y = (
        np.array([[results.change(n, cells.FOREST, o, f) for o in cells.MAXIMISE] for n in results.names])
        for f in (MEAN, ERROR)
    )
    found = association(results, cells.FOREST, cells.MAXIMISE, MEAN)
    assert found.points == 15 and found.rho == pytest.approx(
        spearmanr(x.round(9).ravel(), y.round(9).ravel()).statistic
    )
    assert (found.within, found.negative, found.positive) == (-1.0, 1, 0), "nothing varies on the other two tables"
    rows = [table_of(cells.ADABOOST, name).rows.values() for name in (cells.SM1, cells.SM2)]
    less, error = np.array([(r.changes[0], r.errors[1] - r.errors[0]) for some in rows for r in some]).T
    theirs = document_association(cells.ADABOOST, VARIANCE)
    assert theirs.points == 30 and theirs.rho == pytest.approx(spearmanr((-less).round(9), error.round(9)).statistic)
    assert document_association(cells.ADABOOST, MINIMUM) is None


def test_tables_add_up(results):
    grids = report.grids(results)
    kinds = {k: (cells.FOREST, cells.DEEP_FOREST) if k % 2 == 0 else (cells.ADABOOST,) for k in range(2, 12)}
    assert [g.title.split(":")[0] for g in grids[:15]] == [f"Table {k}, {kind}" for k in kinds for kind in kinds[k]]
    colon, diabetes, pima, sonar = grids[0].rows
    assert sonar == ("Sonar", "0.3333 (0.0773)", "0.2667+ (0.0847-)", "0.1000 (0.0802)", "0.0100 (0.0065)")
    assert diabetes[1:3] == ("0.3333 (0.1039)", "0.4000- (0.1039)") and pima[1] == "0.3333 (0.1014)"
    assert colon[2:] == ("0.3333 (0.1104-)", "0.0000 (0.2026)", "0.0000 (0.0186)")
    assert grids[6].rows[2] == ("Pima", "0.3333 (0.1012)", *["0.4000- (-)"] * 3)
    assert grids[9].rows[3][3:] == ("0.0200 (-0.0060)", "-0.1000 (0.1045)"), "less variance, more range"
    # the median of the document's errors on Sonar, and seven thirds of it
    assert grids[15].rows[3][:5] == ("Sonar", "0.0773", "0.180", "0.333", "0.333")
    assert grids[15].rows[3][5:] == ("0.0741", "0.173", "0.333", "0.080", "0.100", "0.100")
    counts = {row[0]: row[1:] for row in grids[16].rows}
    assert counts["forest, UWS"] == ("1 (10)", "0", "1", "1", "1 (3)", "1", "1", "1-1-1 (1-6-8)", "0-0-3")
    assert counts["AdaBoost, SM2"] == ("1", "0", "1", "1", "1", "1 (14)", "1 (11)", "1-1-1 (4-5-6)", "0-0-3")
    assert grids[-1].columns[4:7] == ("largest xi", "AdaBoost: min", "UWS no gain")
    assert grids[-1].rows[-1] == ("colon", *3 * ("-0.200", "0%", "100%", "-"))


# --- the rebuilt files ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command(folder, tmp_path):
    out = tmp_path / "out"
    options = ("--tables", "sonar,ionosphere", "--repeats", 1, "--depth-splits", 0, "--jobs", 2)
    result = run("margins", "--data", folder, *options, "--out", out)
    assert result.exit_code == 0, result.output
    assert "Directions: in how many of 2 tables" in " ".join(result.stdout.split())
    assert {path.name for path in out.iterdir()} == {
        "cells.jsonl", "splits.csv", "tables.md", "together.png", "figure2.png", "figure2-deep.png", "figure3.png",
        "figure4.png", "figure5.png", "figure5-deep.png", "figure6.png", "figure6-simplex.png",
    }  # fmt: skip
    lines = pl.read_csv(out / "splits.csv")
    assert len(lines) == 2 * len(cells.ENSEMBLES) * len(OBJECTIVES) and set(lines["objective"]) == set(OBJECTIVES)
    largest = lines.filter(pl.col("objective").is_in(cells.MAXIMISE))
    assert (largest["mean"] >= largest["mean_before"] - 1e-6).all() and (largest["least_gain"] >= -1e-6).all()
    assert (largest["minimum"] >= largest["minimum_before"] - 1e-6).all()
    assert (out / "tables.md").read_text("utf-8").count("|---|") == 10
    one = run("margins", "--data", folder, "--figure", 4, "--out", tmp_path / "one")
    assert one.exit_code == 0 and {path.name for path in (tmp_path / "one").iterdir()} == {"figure4.png"}


@pytest.mark.slow
def test_an_interrupted_run_goes_on(folder, tmp_path):
    options = {"tables": ["sonar"], "repeats": 2, "depth_splits": 0}
    whole = rebuild(folder, tmp_path / "whole", **options)
    resumed, seen = broken_off_and_resumed(rebuild, 3, folder, tmp_path / "broken", **options)
    assert seen == [(done, 6, "sonar") for done in (4, 5, 6)]
    assert resumed == whole
    again = options | {"repeats": 1, "progress": lambda *_: pytest.fail("run again")}
    one = rebuild(folder, tmp_path / "whole", **again)
    assert "mean of 1 split(s)" in one[0].title


@pytest.mark.slow
def test_other_ensembles_and_objectives(folder, tmp_path):
    """Stumps, other k, targets and measures of distance; and trees without a limit, which are all one ensemble."""
    options = {"tables": ["ionosphere"], "repeats": 1, "trees": 8, "depth_splits": 0}
    rebuild(folder, tmp_path / "stumps", depth=1, variants=True, **options)
    lines = pl.read_csv(tmp_path / "stumps" / "splits.csv").filter(pl.col("ensemble") == "forest")
    found = {line["objective"]: line for line in lines.to_dicts()}
    assert list(found) == [*OBJECTIVES, *cells.VARIANTS]
    assert found["UWS"]["voters"] == 8 and found["UWS"]["full_trees"] == 1.0
    targets = [found[name]["mean"] for name in (SM2_SIMPLEX, *(v for v in cells.VARIANTS if "target" in v))]
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
