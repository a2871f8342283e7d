"""Untidy tables, whole and in chunks: the model of tidy ones, or an error with the place of the bad cell."""

import re

import numpy as np
import polars as pl
import pytest

from committee import load
from tests.cli.calls import fail, succeed, without_provenance

TREE = ("-t", "y", "-m", "tree", "-p", "min_samples_leaf=1", "--folds", 0)
NUMBERS = np.random.default_rng(0).normal(size=(60, 2)).round(2).tolist()
TIDY = [[f"{a}", f"{b}", "red" if a < 0 else "blue", "yes" if a + b > 0 else "no"] for a, b in NUMBERS]
HEADER = ["a", "b", "colour", "y"]


def written(path, rows=TIDY, header=HEADER, above="", mark=","):
    path.write_text(above + "".join(mark.join(row) + "\n" for row in [header, *rows] if row), "utf-8")
    return path


def whole(place, **untidy):
    return written(place.with_suffix(".csv"), **untidy)


def halves(folder, **untidy):
    """The rows in two files, of which only the second is untidy."""
    folder.mkdir()
    rows = untidy.pop("rows", TIDY)
    written(folder / "part-0.csv", rows[:30], untidy.get("header", HEADER))
    written(folder / "part-1.csv", rows[30:], **untidy)
    return folder


@pytest.fixture(params=[whole, halves])
def write(request):
    return request.param


def changed(cell):
    """Rows with a change of their cells of the columns a, b, colour and y."""
    return [cell(k, *row) for k, row in enumerate(TIDY)]


def accounting(text):
    return f"({text[1:]})" if text.startswith("-") else text


@pytest.fixture(scope="module")
def tidy(tmp_path_factory):
    """A tidy table and the predictions of a tree that was fitted to it."""
    folder = tmp_path_factory.mktemp("tidy")
    table, model = written(folder / "tidy.csv"), folder / "tidy.safetensors"
    succeed("fit", table, *TREE, "-o", model)
    return table, model, succeed("predict", model, table).stdout


UNTIDY = {
    "accounting": {"rows": changed(lambda k, a, b, c, y: [accounting(a), b.lstrip("-") + "-" * ("-" in b), c, y])},
    "blanks in cells": {"rows": changed(lambda k, a, b, c, y: [a, b, c + " " * (k % 2), " " * (k % 3) + y])},
    "blanks in names": {"header": ["a", " b", " colour ", "y "]},
    "lines above": {"above": "# exported, 2024\nA title\n\n"},
    "aligned": {"mark": "   "},
}
NOTES = {
    "accounting": "read as negative numbers: 'a' (such as '(",
    "blanks in cells": "blanks around cells are left out: 'colour' (such as '",
    "blanks in names": "blanks around column names are left out: ' b', ' colour ', 'y '",
    "lines above": "3 lines before the column names are left out ('# exported, 2024', 'A title', '')",
    "aligned": "are taken to be separated by blanks",
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("write", "name"), [(whole, "aligned"), *((way, name) for way in (whole, halves) for name in list(UNTIDY)[:-1])]
)
def test_an_untidy_table_gives_the_model_of_the_tidy_one(tidy, tmp_path, write, name):
    table, of_tidy, expected = tidy
    untidy, model = write(tmp_path / "untidy", **UNTIDY[name]), tmp_path / "untidy.safetensors"
    assert NOTES[name] in succeed("fit", untidy, *TREE, "-o", model).stderr
    if name != "accounting":  # whose format is stored
        assert without_provenance(model) == without_provenance(of_tidy)
    for each, file in ((of_tidy, untidy), (model, untidy), (model, table)):
        assert succeed("predict", each, file).stdout == expected
        assert re.search("accuracy +1.0000", succeed("evaluate", each, file).stdout)
    if write is whole and name != "aligned":
        for each in (of_tidy, model):
            assert succeed("predict", each, tmp_path / "untid[y].csv").stdout == expected  # in chunks


def test_blanks_of_later_rows_are_noted_after_the_fit(tidy, tmp_path, monkeypatch):
    monkeypatch.setattr("committee.cli.training_chunks.SHOWN_ROWS", 10)
    untidy = halves(tmp_path / "untidy", rows=changed(lambda k, a, b, c, y: [a, b, c + " " * (k > 40), y]))
    assert NOTES["blanks in cells"] in succeed("fit", untidy, *TREE, "-o", tmp_path / "m.safetensors").stderr
    assert without_provenance(tmp_path / "m.safetensors")[0] == without_provenance(tidy[1])[0]


def test_a_table_without_column_names(tidy, tmp_path, write):
    bare, model = write(tmp_path / "bare", header=[]), tmp_path / "bare.safetensors"
    options = ("-t", "column_4", *TREE[2:], "--no-header")
    succeed("fit", bare, *options, "-o", model)
    assert succeed("predict", model, bare, "--no-header").stdout == tidy[2]
    if write is halves:
        line = fail("fit", bare, *options[:-1])
        assert "is missing in some files; if the first line is a row of data, --no-header names the columns" in line
        return
    assert "look like a row of data" not in succeed("fit", tidy[0], *TREE).stderr
    assert succeed("predict", model, tmp_path / "bar[e].csv", "--no-header").stdout == tidy[2]
    for file in (bare, tmp_path / "bar[e].csv"):
        result = succeed("predict", model, file)
        assert result.stdout == tidy[2]
        assert "is read without column names, as in training; its columns are column_1, ..." in result.stderr
    ids = succeed("predict", model, bare, "--id", "column_4").stdout
    assert [line.split(",")[1] for line in ids.splitlines()] == tidy[2].splitlines()
    named = written(tmp_path / "named.csv", TIDY, [f"column_{k}" for k in range(1, 5)])
    assert succeed("predict", model, named).stdout == tidy[2]


def test_classes_that_differ_by_case_alone_are_noted(tmp_path, write):
    rows = changed(lambda k, a, b, c, y: [a, b, c, y.upper() if k % 4 == 0 and y == "yes" else y])
    said = succeed("fit", write(tmp_path / "a", rows=rows), *TREE).stderr
    n = sum(row[-1] == "YES" for row in rows)
    assert f"classes that differ by case alone: 'YES' ({n}) and 'yes' (" in said and "'y': 3 classes" in said


@pytest.mark.parametrize(("write", "kind"), [(whole, "csv"), (halves, "csv"), (halves, "parquet")])
def test_rows_without_a_target_are_left_out_or_refused(tidy, tmp_path, write, kind):
    gaps = (5, 34)
    untidy = write(tmp_path / "a", rows=changed(lambda k, a, b, c, y: [a, b, c, "" if k in gaps else y]))
    less = write(tmp_path / "b", rows=[row for k, row in enumerate(TIDY) if k not in gaps])
    if kind == "parquet":
        for file in [*untidy.iterdir(), *less.iterdir()]:
            pl.read_csv(file).write_parquet(file.with_suffix(".parquet"))
            file.unlink()
    note = "2 rows of 60 without target 'y' left out, the first row 5; --strict refuses them"
    assert note in succeed("fit", untidy, *TREE, "-o", tmp_path / "a.safetensors").stderr
    succeed("fit", less, *TREE, "-o", tmp_path / "b.safetensors")
    assert without_provenance(tmp_path / "a.safetensors")[0] == without_provenance(tmp_path / "b.safetensors")[0]
    judged = succeed("evaluate", tidy[1], untidy)
    assert note in judged.stderr and "58 rows" in judged.output
    refused = "target 'y' is missing in 2 of 60 rows (first in row 5)"
    assert refused in fail("evaluate", tidy[1], untidy, "--strict")
    assert ("column 'y' is missing in 1 rows" if write is halves else refused) in fail("fit", untidy, *TREE, "--strict")
    empty = write(tmp_path / "c", rows=changed(lambda k, a, b, c, y: [a, b, c, ""]))
    for words in (["fit", empty, *TREE], ["evaluate", tidy[1], empty]):
        assert "target 'y' is missing in 60 of 60 rows" in fail(*words)


def test_infinity_is_named_or_missing_as_the_model_has_learned(tidy, tmp_path, write):
    rows = changed(lambda k, a, b, c, y: ["-inf" if k == 37 else a, b, c, y])
    untidy, model = write(tmp_path / "a", rows=rows, above="# exported\n"), tmp_path / "a.safetensors"
    gap = write(tmp_path / "gap", rows=changed(lambda k, a, b, c, y: ["" if k == 37 else a, b, c, y]))
    place = f"line 10 of '{untidy}/part-1.csv'" if write is halves else f"line 40 of '{untidy}'"
    for words in (["fit", untidy, *TREE], ["predict", tidy[1], untidy], ["evaluate", tidy[1], untidy]):
        assert f"column 'a' holds infinity in {place}; correct the cell" in fail(*words)
    succeed("fit", untidy, *TREE, "--missing", "inf", "-o", model)
    assert load(model).table_.missing == ("inf",)
    expected = succeed("predict", model, gap).stdout
    for file in (untidy, *([] if write is halves else [tmp_path / "[a].csv"])):
        assert succeed("predict", model, file).stdout == expected


def test_infinity_of_typed_files_is_named_or_missing(tmp_path):
    gap = written(tmp_path / "gap.csv", changed(lambda k, a, b, c, y: ["" if k == 7 else a, b, c, y]))
    path, model = tmp_path / "a.parquet", tmp_path / "a.safetensors"
    pl.read_csv(gap).with_columns(pl.col("a").fill_null(float("inf"))).write_parquet(path)
    line = fail("fit", path, "--scratch", tmp_path, *TREE)
    assert "column 'a' holds infinity in row 7 of" in line and "--missing inf" in line
    succeed("fit", gap, *TREE, "--missing", "inf", "-o", model)
    assert succeed("predict", model, path).stdout == succeed("predict", model, gap).stdout


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
