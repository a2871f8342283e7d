"""Untidy tables: what a fit reads of them is stored, and later commands read other files in the same way."""

import re

import numpy as np
import polars as pl
import pytest

from committee import load
from tests.cli.calls import fail, succeed

TREE = ("-t", "y", "-m", "tree", "-p", "min_samples_leaf=1", "--folds", 0)
NUMBERS = np.random.default_rng(0).normal(size=(60, 2)).round(2).tolist()
TIDY = [[f"{a}", f"{b}", "red" if a < 0 else "blue", "yes" if a + b > 0 else "no"] for a, b in NUMBERS]
HEADER = ["a", "b", "colour", "y"]


def written(path, rows=TIDY, header=HEADER, above="", mark=","):
    path.write_text(above + "".join(mark.join(row) + "\n" for row in [header, *rows] if row), "utf-8")
    return path


def changed(cell):
    """Rows with a change of their cells of the columns a, b, colour and y."""
    return [cell(k, *row) for k, row in enumerate(TIDY)]


def accounting(text):
    return f"({text[1:]})" if text.startswith("-") else text


@pytest.fixture
def tidy(tmp_path):
    """A tidy table and the predictions of a tree that was fitted to it."""
    table, model = written(tmp_path / "tidy.csv"), tmp_path / "tidy.safetensors"
    succeed("fit", table, *TREE, "-o", model)
    return table, model, succeed("predict", model, table).stdout


UNTIDY = {
    "accounting": {"rows": changed(lambda k, a, b, c, y: [accounting(a), b.lstrip("-") + "-" * ("-" in b), c, y])},
    "blanks in cells": {"rows": changed(lambda k, a, b, c, y: [a, b, c + " " * (k % 2), " " * (k % 3) + y])},
    "blanks in names": {"header": ["a", " b", " colour ", "y "]},
    "lines above": {"above": "# exported, 2024\nA title\n\n"},
    "aligned": {"mark": "   "},
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", UNTIDY)
def test_an_untidy_table_gives_the_model_of_the_tidy_one(tidy, tmp_path, name):
    table, of_tidy, expected = tidy
    untidy, model = written(tmp_path / "untidy.csv", **UNTIDY[name]), tmp_path / "untidy.safetensors"
    assert "target 'y': 2 classes" in succeed("fit", untidy, *TREE, "-o", model).stderr
    assert load(model).table_.categories == load(of_tidy).table_.categories
    for each in (of_tidy, model):
        for file in (table, untidy):
            assert succeed("predict", each, file).stdout == expected
            assert re.search("accuracy +1.0000", succeed("evaluate", each, file).stdout)
        if name != "aligned":
            assert succeed("predict", each, tmp_path / "untid[y].csv").stdout == expected  # in chunks


def test_a_table_without_column_names(tidy, tmp_path):
    bare, model = written(tmp_path / "bare.csv", TIDY, []), tmp_path / "bare.safetensors"
    assert "look like a row of data" not in succeed("fit", tidy[0], *TREE).stderr
    options = ("-t", "column_4", *TREE[2:], "--no-header")
    succeed("fit", bare, *options, "-o", model)
    for file in (bare, tmp_path / "bar[e].csv"):
        assert succeed("predict", model, file, "--no-header").stdout == tidy[2]
        result = succeed("predict", model, file)
        assert result.stdout == tidy[2]
        assert "is read without column names, as in training; its columns are column_1, ..." in result.stderr
    ids = succeed("predict", model, bare, "--id", "column_4").stdout
    assert [line.split(",")[1] for line in ids.splitlines()] == tidy[2].splitlines()
    named = written(tmp_path / "named.csv", TIDY, [f"column_{k}" for k in range(1, 5)])
    assert succeed("predict", model, named).stdout == tidy[2]


def test_classes_that_differ_by_case_alone_are_noted(tmp_path):
    rows = changed(lambda k, a, b, c, y: [a, b, c, y.upper() if k % 4 == 0 and y == "yes" else y])
    said = succeed("fit", written(tmp_path / "a.csv", rows), *TREE).stderr
    n = sum(row[-1] == "YES" for row in rows)
    assert f"classes that differ by case alone: 'YES' ({n}) and 'yes' (" in said and "'y': 3 classes" in said


@pytest.mark.parametrize("command", ["fit", "evaluate"])
def test_rows_without_a_target_are_left_out_or_refused(tidy, tmp_path, command):
    rows = changed(lambda k, a, b, c, y: [a, b, c, "" if k in (5, 8) else y])
    path, model = written(tmp_path / "a.csv", rows), tmp_path / "a.safetensors"
    words = ["fit", path, *TREE, "-o", model] if command == "fit" else ["evaluate", tidy[1], path]
    note = "2 rows of 60 without target 'y' left out, the first row 5; --strict refuses them"
    result = succeed(*words)
    assert note in result.stderr and ("58 rows" in result.stderr or "58 rows" in result.stdout)
    assert "target 'y' is missing in 2 of 60 rows (first in row 5)" in fail(*words, "--strict")
    empty = written(tmp_path / "b.csv", changed(lambda k, a, b, c, y: [a, b, c, ""]))
    assert "target 'y' is missing in 60 of 60 rows" in fail(words[0], *[empty if w == path else w for w in words[1:]])


def test_infinity_is_named_or_missing_as_the_model_has_learned(tidy, tmp_path):
    rows = changed(lambda k, a, b, c, y: ["-inf" if k == 7 else a, b, c, y])
    path, model = written(tmp_path / "a.csv", rows), tmp_path / "a.safetensors"
    gap = written(tmp_path / "gap.csv", changed(lambda k, a, b, c, y: ["" if k == 7 else a, b, c, y]))
    for words in (["fit", path, *TREE], ["predict", tidy[1], path], ["evaluate", tidy[1], path]):
        assert "column 'a' holds infinity in line 9 of" in fail(*words)
    succeed("fit", path, *TREE, "--missing", "inf", "-o", model)
    assert load(model).table_.missing == ("inf",)
    expected = succeed("predict", model, gap).stdout
    for file in (path, tmp_path / "[a].csv"):
        assert succeed("predict", model, file).stdout == expected
    pl.read_csv(gap).with_columns(pl.col("a").fill_null(float("inf"))).write_parquet(tmp_path / "a.parquet")
    assert succeed("predict", model, tmp_path / "a.parquet").stdout == expected
