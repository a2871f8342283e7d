"""Tables as people have them: one table in many ways of writing it gives one model, and one set of predictions."""

import datetime
import gzip
import json
import zipfile

import numpy as np
import polars as pl
import pytest

from committee import load
from tests.cli.calls import fail, run, succeed, without_provenance
from tests.crafted_sheets import ods, xlsx

N = 60
HEADER = ["id", "size", "price", "colour", "day", "answer"]


def rows():
    """Cells as Python's values."""
    rng = np.random.default_rng(0)
    size, price = rng.normal(size=N).round(2), (rng.random(N) * 5000).round(2)
    colour = rng.choice(["red", "blue"], N)
    day = [datetime.date(2023, 1 + 5 * k % 12, 1 + 7 * k % 28) for k in range(N)]
    answer = np.where((size > 0) ^ (colour == "red"), "yes", "no")
    return [[k + 1, float(size[k]), float(price[k]), str(colour[k]), day[k], str(answer[k])] for k in range(N)]


def german(number):
    return f"{number:,.2f}".translate(str.maketrans(",.", ".,"))


def text(separator=",", number=str, day="%Y-%m-%d", end="\n", tail="", header=HEADER):
    """The table as text."""
    lines = [separator.join(header) + tail]
    for key, size, price, colour, when, answer in rows():
        cells = [str(key), number(size), number(price), colour, when.strftime(day), answer]
        lines.append(separator.join(cells) + tail)
    return end.join(lines) + end


def frame():
    return pl.DataFrame(rows(), schema=HEADER, orient="row")


def written(folder, name):
    """One way to write the table."""
    path = folder / name
    kind = name.replace(".", "-").split("-")[0]
    quoted = text(number=lambda number: f'"{german(number)}"')
    ways = {
        "semicolons": text(";", german, "%d.%m.%Y"),
        "excel": "\ufeff" + text(";", german, "%d.%m.%Y", end="\r\n", tail=";;"),
        "tabs": text("\t"),
        "pipes": text("|", day="%d/%m/%Y"),
        "quoted": quoted,
        "thousands": text(number=lambda number: f'"{number:,.2f}"', day="%d-%b-%Y"),
        "pandas": text(header=["", *HEADER[1:]]),
        "blank": text().replace("\n", "\n\n"),
        "apostrophes": text(number=lambda number: f"{number:,.2f}".replace(",", "'")),
        "lines": "".join(json.dumps(dict(zip(HEADER, row, strict=True)), default=str) + "\n" for row in rows()),
    }
    if kind in ways:
        path.write_text(ways[kind], encoding="utf-8", newline="")
    elif kind == "utf16":
        path.write_text(text("\t"), encoding="utf-16")
    elif kind == "western":
        path.write_text(text(";", german), encoding="cp1252")
    elif kind == "packed":
        path.write_bytes(gzip.compress(ways["semicolons"].encode()))
    elif kind == "zipped":
        with zipfile.ZipFile(path, "w") as folder_in_file:
            folder_in_file.writestr("tables/a.csv", ways["semicolons"])
            folder_in_file.writestr("__MACOSX/tables/._a.csv", "\0")
    elif kind == "typed":
        frame().write_parquet(path)
    else:
        path.write_bytes({"xlsx": xlsx, "ods": ods}[kind]([HEADER, *rows()]))
    return path


WAYS = [
    "semicolons.csv", "excel.csv", "tabs.csv", "pipes.txt", "quoted.csv", "thousands.csv", "pandas.csv", "blank.csv",
    "apostrophes.csv", "lines.jsonl", "utf16.csv", "western.csv", "packed.csv.gz", "zipped.zip", "typed.parquet",
    "xlsx-sheet.xlsx", "ods-sheet.ods",
]  # fmt: skip
TREE = ("-t", "answer", "-m", "tree", "-p", "min_samples_leaf=1", "--folds", 2)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The table in the plainest way, and what is predicted by the model that learned from it."""
    folder = tmp_path_factory.mktemp("plain")
    table, model = folder / "plain.csv", folder / "model.safetensors"
    table.write_text(text(), "utf-8")
    assert run("fit", table, *TREE, "-o", model).exit_code == 0
    return table, model, run("predict", model, table, "--proba").stdout


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", WAYS)
def test_however_a_table_is_written_it_is_the_same_table(name, tmp_path, plain):
    table, plain_model, expected = plain
    path, model = written(tmp_path, name), tmp_path / "model.safetensors"
    said = succeed("fit", path, *TREE, "-o", model).stderr
    learned = load(model)
    assert learned.table_ == load(plain_model).table_
    assert learned.table_.names == ("size", "price", "colour", "day") and learned.table_.categories[3] is None
    assert "dates and times read as seconds: 'day'" in said
    assert "is left out: it counts the rows" in said
    if name in ("semicolons.csv", "excel.csv", "quoted.csv", "western.csv", "packed.csv.gz", "zipped.zip"):
        assert "read as numbers with a decimal comma: 'size', 'price'" in said
    # a model reads files of both kinds, without being told
    for one, other in ((model, path), (model, table), (plain_model, path)):
        assert run("predict", one, other, "--proba").stdout == expected, (one, other)


def test_what_a_model_was_trained_with_settles_what_a_file_leaves_open(tmp_path, plain):
    """In a file of one row, 1,250 is a number and 03/04/2024 a day as in the table that was learned from."""
    path, model, new = tmp_path / "semicolons.csv", tmp_path / "model.safetensors", tmp_path / "new.csv"
    path.write_text(text(";", german, "%m/%d/%Y"), "utf-8")
    said = succeed("fit", path, *TREE, "-o", model, "--keep", "id").stderr
    assert "is left out" not in said
    assert load(model).table_.forms == {"size": "0,5", "price": "0,5", "day": "%m/%d/%Y"}
    new.write_text("id;size;price;colour;day\n7;-0,5;1.250;red;03/04/2024\n", "utf-8")
    plain_new = tmp_path / "plain.csv"
    plain_new.write_text("id,size,price,colour,day\n7,-0.5,1250,red,2024-03-04\n", "utf-8")
    assert run("predict", model, new, "--proba").stdout == run("predict", model, plain_new, "--proba").stdout
    new.write_text("id;size;price;colour;day\n7;-0,5;much;red;03/04/2024\n", "utf-8")
    assert "column 'price' holds numbers written as '0,5', but 1 cell is none ('much' in row 0)" in fail(
        "predict", model, new
    )
    new.write_text("id;size;price;colour;day\n7;-0,5;1;red;soon\n", "utf-8")
    assert "column 'day' holds dates or times written as %m/%d/%Y, but 1 cell is none ('soon' in row 0)" in fail(
        "predict", model, new
    )
    new.write_text("id;size;price;colour;day\n7;-0,5;1;red;20240304\n", "utf-8")
    assert "column 'day' was learned as dates or times and holds Int64 here" in fail("predict", model, new)
    # by the other commands, too
    assert "accuracy" in succeed("evaluate", model, path, "-t", "answer").stdout
    assert "row 3" in succeed("explain", model, path, "--row", 3).stdout


def test_options_say_what_is_not_recognised(tmp_path, plain):
    path = tmp_path / "a.csv"
    path.write_bytes(text(";", german).replace("colour", "größe").encode("cp1252"))
    assert "is not UTF-8 text; say what it is, e.g. --encoding cp1252" in fail("fit", path, *TREE)
    assert "target 'answer'" in succeed("fit", path, *TREE, "--encoding", "cp1252").stderr
    assert "there is no encoding 'latin-99'" in fail("fit", path, *TREE, "--encoding", "latin-99")
    path.write_text(text(" "), "utf-8")
    assert "is no column" in fail("fit", path, *TREE)
    assert "target 'answer'" in succeed("fit", path, *TREE, "--sep", "space").stderr
    assert "separator 'ab' is no character that separates cells" in fail("fit", path, *TREE, "--sep", "ab")
    assert "decimal 'x' is neither '.' nor ','" in fail("fit", path, *TREE, "--decimal", "x")
    path.write_text("x;y;answer\n" + "".join(f"{k % 7},{k:03};{k};{'ab'[k % 2]}\n" for k in range(40)), "utf-8")
    assert "decimal comma: 'x'" in succeed("fit", path, *TREE, "--keep", "y").stderr
    assert "decimal comma" not in succeed("fit", path, *TREE, "--keep", "y", "--decimal", ".").stderr
    assert "a sheet is given for" in fail("fit", path, *TREE, "--sheet", "1")
    book = tmp_path / "book.xlsx"
    book.write_bytes(xlsx([["nothing"]], [HEADER, *rows()]))
    assert (
        "has 2 sheets ('Sheet1', 'Sheet2'); the first is read, --sheet names another" in run("fit", book, *TREE).stderr
    )
    assert "target 'answer'" in succeed("fit", book, *TREE, "--sheet", "Sheet2").stderr
    assert "target 'answer'" in succeed("fit", book, *TREE, "--sheet", "2").stderr
    assert "has no sheet 'Sheet3'; did you mean" in fail("fit", book, *TREE, "--sheet", "Sheet3")


def test_columns_that_are_left_out_and_kept(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(text(header=["", *HEADER[1:]]), "utf-8")
    assert "column '' is left out: it counts the rows; --keep '' learns from it" in succeed("fit", path, *TREE).stderr
    assert "left out" not in succeed("fit", path, *TREE, "--drop", "").stderr
    assert "learned from 60 rows x 5 columns" in succeed("fit", path, *TREE, "--keep", "").stderr
    assert "--keep names 'idd', which is not there" in fail("fit", path, *TREE, "--keep", "idd")
    long = [["x" * (100_000 + k % 2), "ab"[k % 2]] for k in range(40)]
    path.write_text("".join(",".join(row) + "\n" for row in [["note", "answer"], *long]), "utf-8")
    assert "column 'note' holds a text of 100,001 characters (row 1), and a category has at most 1,000" in fail(
        "fit", path, *TREE
    )


def test_a_mixture_of_decimal_marks_is_pointed_out(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x;answer\n" + "".join(f"{k}{',.'[k % 2]}5;{'ab'[k % 3 == 0]}\n" for k in range(40)), "utf-8")
    said = succeed("fit", path, *TREE).stderr
    assert "read as text, as some numbers have decimal commas and others decimal points: 'x'" in said


def test_a_column_of_dates_but_for_a_few_cells_is_pointed_out(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "day,answer\n" + "".join(f"2023-01-{k % 28 + 1:02},{'ab'[k % 2]}\n" for k in range(40)) + "soon,a\n", "utf-8"
    )
    said = succeed("fit", path, *TREE).stderr
    assert (
        "column 'day' is read as text because 1 cell is no date or time ('soon' in row 40); if they mean missing"
        in said
    )


# --- in pieces -------------------------------------------------------------------------------------------


def test_pieces_are_read_as_whole_tables_are(tmp_path, plain):
    _, plain_model, expected = plain
    lines = text(";", german, "%d.%m.%Y").splitlines(keepends=True)
    parts = tmp_path / "parts"
    parts.mkdir()
    for k, (first, last) in enumerate(((1, 8), (8, 31), (31, N + 1))):
        (parts / f"{k}.csv").write_text("".join([lines[0], *lines[first:last]]), "utf-8")
    whole, model = written(tmp_path, "semicolons.csv"), tmp_path / "model.safetensors"
    said = succeed("fit", parts, *TREE[:-2], "-o", model).stderr
    assert "read as numbers with a decimal comma: 'size', 'price'" in said and "'id' is left out" in said
    assert load(model).table_.forms == {"size": "0,5", "price": "0,5", "day": "%d.%m.%Y"}
    one = tmp_path / "one.safetensors"
    succeed("fit", whole, *TREE, "-o", one)
    assert without_provenance(one) == without_provenance(model)
    assert run("predict", plain_model, parts, "--proba").stdout == expected
    assert run("predict", model, parts, "--proba").stdout == expected
    (parts / "3.csv").write_text(lines[0] + lines[1].replace(";", ";0,5.5;", 1).replace(";red", "", 1), "utf-8")
    assert run("predict", model, parts).exit_code == 2
    (parts / "3.csv").write_bytes("id;a\nü;1\n".encode("cp1252"))
    assert "3.csv" in fail("predict", model, parts)


def test_points_between_thousands_are_no_decimal_points(tmp_path):
    """Where other columns have decimal commas: in one file and in several."""
    lines = ["a;b;c;answer\n", *(f"{k % 7},5;{k % 3}.{k:03};{k}.5;{'ab'[k % 2]}\n" for k in range(60))]
    models = [tmp_path / "one.safetensors", tmp_path / "two.safetensors"]
    whole, parts = tmp_path / "whole.csv", [tmp_path / "0.csv", tmp_path / "1.csv"]
    for path, some in ((whole, lines[1:]), (parts[0], lines[1:30]), (parts[1], lines[30:])):
        path.write_text("".join([lines[0], *some]), "utf-8")
    for model, paths in zip(models, ([whole], parts), strict=True):
        said = succeed("fit", *paths, *TREE[:-2], "-o", model).stderr
        assert "points between thousands, as the file has decimal commas: 'b'" in said
        assert load(model).table_.forms == {"a": "0,5", "b": "0,5"}
    assert without_provenance(models[0]) == without_provenance(models[1])


# --- predict ---------------------------------------------------------------------------------------------


def test_predictions_keep_the_columns_that_name_rows(tmp_path, plain):
    _, model, expected = plain
    path, out = tmp_path / "a.csv", tmp_path / "out.parquet"
    path.write_text(
        "\n".join(f"{line},{'key' if k == 0 else f'{k:05}'}" for k, line in enumerate(text().splitlines())), "utf-8"
    )
    result = succeed("predict", model, path, "--id", "key,size")
    assert "does not use the columns 'id', 'answer'" in result.stderr
    found = pl.read_csv(result.stdout.encode(), schema_overrides={"key": pl.String})
    assert found.columns == ["key", "size", "prediction"]
    assert found["key"].to_list() == [f"{k + 1:05}" for k in range(N)]
    assert found["prediction"].to_list() == pl.read_csv(expected.encode())["prediction"].to_list()
    whole = tmp_path / "typed.parquet"
    frame().write_parquet(whole)
    succeed("predict", model, whole, "--id", "id", "-o", out)
    assert pl.read_parquet(out).schema == {"id": pl.Int64, "prediction": pl.String}
    half = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    for k, each in enumerate(half):
        frame()[k * 30 : k * 30 + 30].write_parquet(each)
    succeed("predict", model, *half, "--id", "id", "-o", tmp_path / "pieces.parquet")
    assert pl.read_parquet(tmp_path / "pieces.parquet").equals(pl.read_parquet(out))
    assert "--id names 'kee', which is not there; did you mean 'key'" in fail("predict", model, path, "--id", "kee")
    frame().rename({"id": "prediction"}).write_parquet(whole)
    assert "--id names 'prediction', as a column of the predictions is called" in fail(
        "predict", model, whole, "--id", "prediction"
    )


def test_no_rows_have_no_predictions(tmp_path, plain):
    _, model, _ = plain
    path, out = tmp_path / "a.csv", tmp_path / "out.parquet"
    path.write_text(",".join(HEADER) + "\n", "utf-8")
    assert (
        succeed("predict", model, path, "--id", "id", "--proba").stdout
        == "id,prediction,probability:no,probability:yes\n"
    )
    succeed("predict", model, path, "-o", out)
    assert pl.read_parquet(out).schema == {"prediction": pl.String}
    for name in "01":
        frame()[:0].write_parquet(tmp_path / f"{name}.parquet")
    succeed("predict", model, tmp_path / "0.parquet", tmp_path / "1.parquet", "--id", "id", "-o", out)
    assert pl.read_parquet(out).columns == ["id", "prediction"] and pl.read_parquet(out).is_empty()


def test_unknown_categories_are_counted(tmp_path, plain):
    _, model, _ = plain
    path = tmp_path / "a.csv"
    path.write_text(text().replace("blue", "green", 3).replace("blue", "grey", 1), "utf-8")
    said = succeed("predict", model, path).stderr
    assert (
        "note: column 'colour': 4 cells hold categories that the model has not learned and takes for missing:"
        " 'green' (3), 'grey' (1)" in said
    )


def test_large_files_are_read_in_pieces(plain, monkeypatch):
    table, model, expected = plain
    monkeypatch.setattr("committee.cli.inputs.LARGE", 1000)
    result = succeed("predict", model, table, "--proba")
    assert "1 file, read in pieces" in result.stderr and result.stdout == expected


@pytest.mark.parametrize("name", ["semicolons.csv", "typed.parquet", "lines.jsonl", "xlsx-sheet.xlsx", "zipped.zip"])
def test_standard_input(name, tmp_path, plain):
    _, model, expected = plain
    content = written(tmp_path, name).read_bytes()
    assert run("predict", model, "-", "--proba", "-o", "-", input=content).stdout == expected
    said = run("fit", "-", *TREE, input=content)
    assert said.exit_code == 0 and "learned from 60 rows x 4 columns" in said.stderr
    empty = run("predict", model, "-", input=b"")
    assert empty.exit_code == 2 and "nothing comes by standard input" in empty.stderr
