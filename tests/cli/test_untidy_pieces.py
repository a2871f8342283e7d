"""Untidy files that are read in chunks: the model of the same rows in tidy files, or an error that names the place."""

import re

import polars as pl
import pytest

from tests.cli.calls import fail, succeed, without_provenance
from tests.cli.test_untidy_tables import TIDY, UNTIDY, changed, written

TREE = ("-t", "y", "-m", "tree", "-p", "min_samples_leaf=1")


def halves(folder, **untidy):
    """The rows in two files, of which only the second is untidy."""
    folder.mkdir()
    rows = untidy.pop("rows", TIDY)
    written(folder / "part-0.csv", rows[:30], untidy.get("header", ["a", "b", "colour", "y"]))
    written(folder / "part-1.csv", rows[30:], **untidy)
    return folder


@pytest.fixture
def tidy(tmp_path):
    table, model = halves(tmp_path / "tidy"), tmp_path / "tidy.safetensors"
    succeed("fit", table, *TREE, "-o", model)
    return table, model, succeed("predict", model, table).stdout


NOTES = {
    "accounting": "read as negative numbers: 'a' (such as '(",
    "blanks in cells": "blanks around cells are left out: 'colour' (such as '",
    "blanks in names": "blanks around column names are left out: ' b', ' colour ', 'y '",
    "lines above": "3 lines before the column names are left out ('# exported, 2024', 'A title', '')",
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", NOTES)
def test_untidy_files_give_the_model_of_tidy_ones(tidy, tmp_path, name):
    of_tidy, expected = tidy[1:]
    untidy, model = halves(tmp_path / "untidy", **UNTIDY[name]), tmp_path / "untidy.safetensors"
    assert NOTES[name] in succeed("fit", untidy, *TREE, "-o", model).stderr
    if name != "accounting":  # whose format is stored
        assert without_provenance(model) == without_provenance(of_tidy)
    for each in (of_tidy, model):
        assert succeed("predict", each, untidy).stdout == expected
        assert re.search("accuracy +1.0000", succeed("evaluate", each, untidy).stdout)


def test_blanks_of_later_rows_are_noted_after_the_fit(tidy, tmp_path, monkeypatch):
    monkeypatch.setattr("committee.cli.training_chunks.SHOWN_ROWS", 10)
    untidy = halves(tmp_path / "untidy", rows=changed(lambda k, a, b, c, y: [a, b, c + " " * (k > 40), y]))
    said = succeed("fit", untidy, *TREE, "-o", tmp_path / "m.safetensors").stderr
    assert "blanks around cells are left out: 'colour' (such as '" in said
    assert without_provenance(tmp_path / "m.safetensors")[0] == without_provenance(tidy[1])[0]


def test_files_without_column_names(tidy, tmp_path):
    bare, model = halves(tmp_path / "bare", header=[]), tmp_path / "bare.safetensors"
    options = ("-t", "column_4", *TREE[2:])
    succeed("fit", bare, *options, "--no-header", "-o", model)
    assert succeed("predict", model, bare, "--no-header").stdout == tidy[2]
    line = fail("fit", bare, *options)
    assert "is missing in some files; if the first line is a row of data, --no-header names the columns" in line


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_rows_without_a_target_are_left_out_or_refused(tidy, tmp_path, kind):
    gaps, kept = (5, 34), [k for k in range(60) if k not in (5, 34)]
    untidy = halves(tmp_path / "a", rows=changed(lambda k, a, b, c, y: [a, b, c, "" if k in gaps else y]))
    less = halves(tmp_path / "b", rows=[TIDY[k] for k in kept])
    for folder in (untidy, less):
        for file in folder.glob("*.csv"):
            if kind == "parquet":
                pl.read_csv(file).write_parquet(file.with_suffix(".parquet"))
                file.unlink()
    result = succeed("fit", untidy, *TREE, "-o", tmp_path / "a.safetensors")
    assert "2 rows of 60 without target 'y' left out, the first row 5; --strict refuses them" in result.stderr
    succeed("fit", less, *TREE, "-o", tmp_path / "b.safetensors")
    assert without_provenance(tmp_path / "a.safetensors")[0] == without_provenance(tmp_path / "b.safetensors")[0]
    assert "column 'y' is missing in 1 rows" in fail("fit", untidy, *TREE, "--strict")
    assert "58 rows" in succeed("evaluate", tidy[1], untidy).output
    empty = halves(tmp_path / "c", rows=changed(lambda k, a, b, c, y: [a, b, c, ""]))
    assert "target 'y' is missing in 60 of 60 rows" in fail("fit", empty, *TREE)


def test_classes_that_differ_by_case_alone_are_noted(tmp_path):
    untidy = halves(tmp_path / "a", rows=changed(lambda k, a, b, c, y: [a, b, c, y.upper() if k % 9 == 0 else y]))
    assert "classes that differ by case alone: 'NO' (" in succeed("fit", untidy, *TREE).stderr


def test_infinity_is_named_or_missing(tidy, tmp_path):
    rows = changed(lambda k, a, b, c, y: ["-inf" if k == 37 else a, b, c, y])
    untidy, model = halves(tmp_path / "a", rows=rows, above="# exported\n"), tmp_path / "a.safetensors"
    gap = halves(tmp_path / "gap", rows=changed(lambda k, a, b, c, y: ["" if k == 37 else a, b, c, y]))
    for words in (["fit", untidy, *TREE], ["predict", tidy[1], untidy], ["evaluate", tidy[1], untidy]):
        line = fail(*words)
        assert "column 'a' holds infinity in line 10 of" in line and "part-1.csv'; correct the cell" in line
    succeed("fit", untidy, *TREE, "--missing", "inf", "-o", model)
    assert succeed("predict", model, untidy).stdout == succeed("predict", model, gap).stdout
    pl.read_csv(gap / "part-1.csv").with_columns(pl.col("a").fill_null(float("inf"))).write_parquet(
        tmp_path / "a.parquet"
    )
    line = fail("fit", tmp_path / "a.parquet", "--scratch", tmp_path, *TREE)
    assert "column 'a' holds infinity in row 7 of" in line and "--missing inf" in line


def test_errors_name_file_line_and_column(tidy, tmp_path):
    for name, cells, message in (
        ("nul", ["1", "2", "r\0ed", "no"], "part-1.csv' has a NUL byte in line 9 (column 'colour')"),
        ("long", ["1", "2", "red", "no", "5"], "part-1.csv' has 5 cells in line 9, but 4 column names"),
    ):
        rows = changed(lambda k, *row, cells=cells: cells if k == 37 else list(row))
        folder = halves(tmp_path / name, rows=rows)
        for words in (["fit", folder, *TREE], ["predict", tidy[1], folder]):
            assert message in fail(*words)
    aligned = halves(tmp_path / "aligned", mark="   ")
    assert "part-1.csv' has columns aligned by blanks; write it with a separator" in fail("fit", aligned, *TREE)
