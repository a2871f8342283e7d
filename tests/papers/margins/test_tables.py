"""The numbers of Martinez and Gray, and their tables as two classes."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from committee.papers.margins.cells import ADABOOST, DEEP_FOREST, FOREST, OBJECTIVES, PWS, SM1, SM2, SM2_SIMPLEX
from committee.papers.margins.figures import CHANGES
from committee.papers.margins.results import document_directions, table_of
from committee.papers.margins.tables import (
    HELPS,
    HURTS,
    NEITHER,
    SourceData,
    published,
    read_data,
    repeated_rows,
    source_data,
)
from committee.papers.shared.folds import Fold

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
    (tmp_path / "t.csv").write_text("a,b,target\n1,x,p\n,y,p\n2,,e\n3,x,e\n", "utf-8")
    (tmp_path / "catalogue.json").write_text(
        json.dumps([{"name": "t", "file": "t.csv", "categorical": ["b"]}]), "utf-8"
    )
    whole = read_data(SourceData("T", "t", 2, ("p",), complete_rows=True), tmp_path)
    assert whole.table.frame.rows() == [(1, "x"), (3, "x")] and whole.positive.tolist() == [True, False]
    (tmp_path / "t.csv").write_text("b,c,target\nx,u,p\ny,u,p\n,v,e\nx,v,s\n", "utf-8")
    entry = {"name": "t", "file": "t.csv", "categorical": ["b", "c"]}
    (tmp_path / "catalogue.json").write_text(json.dumps([entry]), "utf-8")
    shown = read_data(SourceData("T", "t", 4, ("p", "s"), indicators=True), tmp_path)
    assert shown.table.frame.columns == ["b_missing", "b_x", "b_y", "c_u", "c_v"]
    assert shown.table.frame["b_missing"].to_list() == [0, 0, 1, 0] and shown.positive.tolist() == [
        True,
        True,
        False,
        True,
    ]


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
