"""Cells as people write them - prices, percentages, postcodes, dates, marks for missing - are read alike everywhere."""

import gzip
import io
import json
import zipfile
from datetime import UTC, date, datetime

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

from committee import load
from committee.data.readers.cells import COMMA, THOUSANDS, parse_numbers, with_sign
from committee.data.table_schema import TableSchema
from tests.cli.calls import fail, run, succeed, without_provenance
from tests.crafted_sheets import ods, xlsx

HEADER = ["zip", "rate", "price", "euro", "weight", "age", "day", "size", "answer"]
TREE = ("-t", "answer", "-m", "tree", "-p", "min_samples_leaf=1", "--folds", 0)


def cells(n=80, day="{d:02}/{m:02}/2024"):
    """Rows of cells, as text."""
    rng = np.random.default_rng(0)
    found = []
    for k in range(n):
        code = rng.choice(["01067", "80331", "10115"])
        size = round(float(rng.normal()), 2)
        euro = f"EUR {rng.integers(1, 9)}.{rng.integers(1000):03},{rng.integers(100):02}"
        age = ["?", "n/a"][k % 2] if k % 20 in (7, 8) else str(rng.integers(20, 70))
        when = day.format(d=rng.integers(1, 13), m=rng.integers(1, 13))
        answer = "yes" if (size > 0) ^ (code == "01067") else "no"
        price, weight = f"${rng.random() * 3000:,.2f}", f"{rng.integers(1, 9) / 2} kg"
        size_as_text = "-999" if k % 15 == 3 else f"{size}"
        found.append([code, f"{rng.integers(101)}%", price, euro, weight, age, when, size_as_text, answer])
    return found


def written(path, rows, header=HEADER):
    path.write_text("".join(";".join(map(str, row)) + "\n" for row in [header, *rows]), "utf-8")
    return path


def pieced(path):
    """A pattern of one file alone, which is read in pieces."""
    return path.with_name(f"{path.stem[:-1]}[{path.stem[-1]}]{path.suffix}")


def read_text(path):
    return pl.read_csv(path, infer_schema=False)


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A table, the model that learned from it, and what was said."""
    folder = tmp_path_factory.mktemp("learned")
    table, model = written(folder / "all.csv", cells()), folder / "model.safetensors"
    result = run("fit", table, *TREE, "--missing", "-999", "-o", model)
    assert result.exit_code == 0, result.output
    return table, model, result.stderr


def test_numbers_that_the_user_wants_as_categories_are_not_pointed_out(tmp_path):
    rows = [[k % 40 + 0.5, k % 7, "yes" if k % 3 else "no"] for k in range(80)]
    table = written(tmp_path / "all.csv", rows, ["code", "size", "answer"])
    said = run("fit", table, *TREE, "--categorical", "code", "-o", tmp_path / "model")
    assert said.exit_code == 0 and "holds text whose" not in said.stderr
    assert load(tmp_path / "model").table_.categories[0][:2] == ("0.5", "1.5")


def test_numbers_of_any_cells_are_read_and_said(learned, tmp_path):
    table, model, said = learned
    assert "codes with zeros in front are kept as text, as categories: 'zip' (such as '01067')" in said
    assert "column 'age': 8 cells are read as missing ('?' 4 times, 'n/a' 4 times), as all others are numbers" in said
    assert "column 'rate' is read as percentages: '" in said and "column 'price' is read as numbers with $" in said
    assert "column 'weight' is left as categories, though 80 of its 80 cells are numbers with a unit" in said
    schema = load(model).table_
    written_as = {"rate": "0,5 %", "price": "1,000 $", "euro": "0,5 EUR", "day": "%d/%m/%Y"}
    assert schema.forms == written_as and schema.missing == ("-999",)
    assert schema.categories[0] == ("01067", "10115", "80331")
    # of prices that the user wants as categories it is not said that they might be numbers
    for file in (table, pieced(table)):
        told = run("fit", file, *TREE[:-2], "--missing", "-999", "--categorical", "price").stderr
        assert "with a unit" in told and "'price'" not in told and "target 'answer'" in told
    assert TableSchema.from_json(json.loads(json.dumps(schema.to_json()))).missing == ("-999",)
    # in pieces, too, to the bit
    parts = [written(tmp_path / f"{k}.csv", cells()[k * 40 : k * 40 + 40]) for k in range(2)]
    again = tmp_path / "again.safetensors"
    told = succeed("fit", *parts, *TREE[:-2], "--missing", "-999", "-o", again).stderr
    assert without_provenance(again) == without_provenance(model)
    assert "column 'age': 8 cells are read as missing" in told and "'zip' (such as '01067')" in told
    # and in a spreadsheet, but for the marks of its text, which are no numbers there
    sheet = tmp_path / "sheet.xlsx"
    sheet.write_bytes(xlsx([HEADER, *cells()]))
    succeed("fit", sheet, *TREE, "--decimal", ",", "--drop", "price,size", "-o", again)
    assert load(again).table_.forms == {"rate": "0,5 %", "euro": "0,5 EUR", "day": "%d/%m/%Y"}


def test_new_files_are_read_as_the_one_that_was_learned_from(learned, tmp_path):
    _, model, _ = learned
    typed = pl.DataFrame(
        [["01067", 0.12, 3.2, 1200.5, "0.5 kg", None, datetime(2024, 4, 3, tzinfo=UTC), None]],
        HEADER[:-1],
        orient="row",
    )
    typed.write_parquet(tmp_path / "typed.parquet")
    expected = succeed("predict", model, tmp_path / "typed.parquet", "--proba").stdout
    ways = [
        ["01067", "12%", "$3.20", "EUR 1.200,50", "0.5 kg", "?", "03/04/2024", "-999"],
        ["01067", "12 %", "3.2 $", "1200,5 EUR", "0.5 kg", "N/A", "2024-04-03", "-999.0"],
        ["01067", "12.0%", "3.20", "1200.5", "0.5 kg", "-", "03-04-2024", ""],
    ]
    for way in ways:
        new = written(tmp_path / "new.csv", [way], HEADER[:-1])
        result = succeed("predict", model, new, "--proba")
        assert result.stdout == expected, way
        assert "column 'age': 1 cell is read as missing" in result.stderr
        result = succeed("predict", model, pieced(new), "--proba")
        assert result.stdout == expected, way
        assert "column 'age': 1 cell is read as missing" in result.stderr
    spoilt = written(tmp_path / "new.csv", [ways[0], ["01067", "much", *ways[0][2:]]], HEADER[:-1])
    said = "column 'rate' holds numbers written as '0,5 %', but 1 cell does not fit ('much' in row 1); correct them"
    assert said in fail("predict", model, spoilt) and said in fail("predict", model, pieced(spoilt))
    # 12 is not 12 %, nor 3 pounds 3 dollars
    for at, cell in ((1, "12"), (2, "£3")):
        way = [*ways[0][:at], cell, *ways[0][at + 1 :]]
        assert f"1 cell does not fit ('{cell}' in row 0)" in fail("predict", model, written(spoilt, [way], HEADER[:-1]))


def test_text_of_typed_files_is_read_as_that_of_text_files(learned, tmp_path, monkeypatch):
    table, model, said = learned
    texts = pl.read_csv(table, separator=";", infer_schema=False)
    whole, halves = tmp_path / "whole.parquet", [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    texts.write_parquet(whole)
    texts.write_ndjson(tmp_path / "lines.jsonl")
    for k, half in enumerate(halves):
        texts[k * 40 : k * 40 + 40].write_parquet(half)
    expected, again = succeed("predict", model, table, "--proba").stdout, tmp_path / "again.safetensors"
    monkeypatch.setattr("committee.cli.training_chunks.SHOWN_ROWS", 80)
    for files in ([whole], halves, [tmp_path / "lines.jsonl"]):
        told = succeed("fit", *files, *TREE, "--missing", "-999", "-o", again).stderr
        assert without_provenance(again) == without_provenance(model), files
        notes = [note for note in said.splitlines() if note.startswith("note: ") and "separated" not in note]
        assert all(note in told for note in notes)
        assert "text that holds numbers alone is read as numbers: 'size'" in told
        assert succeed("predict", model, *files, "--proba").stdout == expected
    # whole numbers are classes, codes are found behind the rows that are looked at, commas may be decimal ones
    monkeypatch.setattr("committee.cli.training_chunks.SHOWN_ROWS", 30)
    rows = [[str(k % 7), "80331", f"{k},5", f"{k % 9}.{k % 8}00", str(k % 2)] for k in range(60)]
    rows[55][1], rows[50][0] = "01067", "4.5"
    header = ["x", "zip", "comma", "point", "answer"]
    first = written(tmp_path / "a.csv", rows, header)
    texts = pl.read_csv(first, separator=";", infer_schema=False)
    texts.write_parquet(whole)
    for k, half in enumerate(halves):
        texts[k * 30 : k * 30 + 30].write_parquet(half)
    succeed("fit", first, *TREE, "-o", model.with_name("other"))
    for files in ([whole], halves):
        told = succeed("fit", *files, *TREE[:-2], "-o", again).stderr
        assert without_provenance(again) == without_provenance(model.with_name("other")), files
        assert "points between thousands, as the file has decimal commas: 'point'" in told
        assert "codes with zeros in front are kept as text, as categories: 'zip' (such as '01067')" in told
        assert load(again).classes_.tolist() == [0, 1] and load(again).table_.categories[0] is None
        succeed("fit", *files, *TREE[:-2], "--categorical", "x", "-o", again)
        assert load(again).table_.categories[0] == ("0", "1", "2", "3", "4", "4.5", "5", "6")


def test_columns_that_name_rows_are_written_as_they_stand(learned, tmp_path):
    _, model, _ = learned
    rows = [*cells()[:7], ["NA", "12 %", "$3.20", "EUR 1.200,50", " 0.5 kg", "?", "03/04/2024", "-7", "null"]]
    names = [name for name in HEADER if name != "answer"]
    asked = ("--id", ",".join(["answer", *names, "day"]))
    new, part = written(tmp_path / "new.csv", rows), written(tmp_path / "part0.csv", rows)
    new.write_text(new.read_text("utf-8").replace("yes\n", "yes\n\n", 1), "utf-8")  # a blank line is no row
    expected = pl.DataFrame(rows, HEADER, orient="row").select("answer", *names)
    plain = read_text(io.StringIO(succeed("predict", model, new).stdout))
    for ending, read in ((".csv", read_text), (".parquet", pl.read_parquet), (".feather", pl.read_ipc)):
        out = tmp_path / f"out{ending}"
        for file in (new, pieced(part)):
            succeed("predict", model, file, *asked, "-o", out)
            assert read(out).equals(expected.hstack(plain)), (ending, file)
    said = "--id names 'wait', which is not there; did you mean 'weight'"
    assert said in fail("predict", model, new, "--id", "wait")
    assert said in fail("predict", model, pieced(part), "--id", "wait")
    shown = succeed("predict", model, new, "--id", "size,answer", "--drop", "answer", "--safe-cells").stdout
    assert "\n-7,null," in shown  # a number is no formula
    # a spreadsheet has whole numbers and text, Parquet and JSON lines have types of their own
    sheet = tmp_path / "sheet.xlsx"
    sheet.write_bytes(xlsx([[*HEADER, "n"], *([*row, k] for k, row in enumerate(rows))]))
    succeed("predict", model, sheet, "--id", "zip,rate,n", "-o", tmp_path / "out.parquet")
    found = pl.read_parquet(tmp_path / "out.parquet")
    assert found["zip"].to_list() == expected["zip"].to_list() and found["rate"].to_list() == expected["rate"].to_list()
    assert found["n"].to_list() == list(range(8)) and found["n"].dtype.is_integer()
    typed = expected.with_columns(
        age=pl.Series([*range(30, 37), None], dtype=pl.Int16),
        day=pl.Series([datetime(2024, 4, k + 1, tzinfo=UTC).date() for k in range(8)]),
        rate=pl.Series([k / 8 for k in range(8)]),
        price=1.5,
        euro=2.5,
        size=pl.lit(0.25, pl.Float32),
    )
    typed.write_parquet(tmp_path / "typed0.parquet")
    typed.write_ndjson(tmp_path / "typed.jsonl")
    for file in (tmp_path / "typed0.parquet", pieced(tmp_path / "typed0.parquet")):
        for ending, read in ((".parquet", pl.read_parquet), (".feather", pl.read_ipc)):
            succeed("predict", model, file, *asked, "-o", tmp_path / f"out{ending}")
            assert read(tmp_path / f"out{ending}").drop("prediction").equals(typed)
        assert ",30,2024-04-01," in succeed("predict", model, file, "--id", "answer,age,day").stdout
    assert ",30,2024-04-01," in succeed("predict", model, tmp_path / "typed.jsonl", "--id", "answer,age,day").stdout


def test_one_bad_cell_is_blamed_alone_in_a_file_that_is_written_otherwise(tmp_path):
    plain = [[f"{k / 8}", f"2024-01-{k % 28 + 1:02}", "ab"[k % 2]] for k in range(40)]
    model = tmp_path / "model.safetensors"
    header = ["x", "day", "answer"]
    succeed("fit", written(tmp_path / "a.csv", plain, header), *TREE, "-o", model)
    other = [[cell.replace(".", ","), f"{int(day[-2:]):02}.01.2024", answer] for cell, day, answer in plain]
    assert succeed("predict", model, written(tmp_path / "b.csv", other, header)).stdout
    for at, bad, written_as in (
        (0, "much", "column 'x' holds numbers written as '0,5'"),
        (1, "soon", "column 'day' holds dates or times written as %d.%m.%Y"),
    ):
        spoilt = [row[:] for row in other]
        spoilt[5][at] = bad
        said = fail("predict", model, written(tmp_path / "b.csv", spoilt, header))
        assert f"{written_as}, but 1 cell does not fit ('{bad}' in row 5)" in said
    percent = [[f"{cell}%", day, answer] for cell, day, answer in plain]
    path = written(tmp_path / "b.csv", percent, header)
    for each in (path, pieced(path)):
        said = fail("predict", model, each)
        assert "column 'x' holds percentages here ('0.0%' in row 0 and 39 more), and plain numbers" in said


def test_the_order_of_day_and_month_is_that_of_the_table_that_was_learned_from(learned, tmp_path, monkeypatch):
    table, model, said = learned
    assert "are read with the day before the month, as no cell settles it; --dates month-first reads them" in said
    contrary = [[*row[:6], "03/14/2024", *row[7:]] for row in cells()[:3]]
    new = written(tmp_path / "new.csv", [*cells()[3:5], *contrary])
    for each in (new, pieced(new)):
        said = fail("predict", model, each)
        assert "a cell has the month first ('03/14/2024' in row 2); give --dates month-first" in said
    assert "column 'day' is read with the day before the month" in fail("evaluate", model, new, "-t", "answer")
    succeed("predict", model, new, "--dates", "month-first")
    assert "dates 'day' is none of day-first, month-first, iso" in fail("predict", model, new, "--dates", "day")
    # where the user says it at first, it is not asked again
    other = tmp_path / "other.safetensors"
    assert "no cell settles" not in succeed("fit", table, *TREE, "--dates", "month-first", "-o", other).stderr
    assert load(other).table_.forms["day"] == "%m/%d/%Y"
    said = fail("predict", other, written(new, [[*row[:6], "14/03/2024", *row[7:]] for row in cells()[:3]]))
    assert "column 'day' is read with the month before the day" in said
    said = fail("fit", new, *TREE, "--dates", "month-first")
    assert "column 'day' has the day first ('14/03/2024' in row 0), and --dates is month-first" in said
    said = succeed("fit", new, *TREE, "--dates", "iso").stderr
    assert "its dates, such as '14/03/2024', are not of --dates iso" in said
    # learned from dates that cannot be mistaken: a file that leaves it open is not guessed
    iso = written(tmp_path / "iso.csv", cells(day="2024-{m:02}-{d:02}"))
    succeed("fit", iso, *TREE, "-o", other)
    assert "choose with --dates day-first or --dates month-first" in fail("predict", other, table)
    succeed("predict", other, table, "--dates", "day-first")
    succeed("prune", table, "-t", "answer", "--trees", 20, "--missing", "-999", "--test", table)
    # in pieces all rows settle it, not only the first
    monkeypatch.setattr("committee.cli.training_chunks.SHOWN_ROWS", 30)
    parts = [written(tmp_path / f"{k}.csv", rows) for k, rows in enumerate((cells()[:40], contrary))]
    assert "no cell settles" not in succeed("fit", *parts, *TREE[:-2], "-o", other).stderr
    assert load(other).table_.forms["day"] == "%m/%d/%Y"
    written(parts[0], [*cells()[:40], ["80331", "1%", "$2", "EUR 3,0", "1 kg", "5", "31/12/2024", "1", "no"]])
    assert "has dates with the day first and with the month first" in fail("fit", *parts, *TREE[:-2])


def test_cells_that_mean_missing(tmp_path):
    rows = [[str(k % 9), "red" if k % 2 else "none", k % 3, "ab"[k % 2]] for k in range(40)]
    rows[3][0], rows[4][0], rows[5][1], rows[6][2] = "-999", "-999.0", "none ", "-"
    header = ["x", "colour", "y", "answer"]
    path, model = written(tmp_path / "a.csv", rows, header), tmp_path / "model.safetensors"
    said = succeed("fit", path, *TREE, "-o", model).stderr
    assert "column 'y': 1 cell is read as missing ('-' once)" in said and "column 'colour'" not in said
    said = succeed("fit", path, *TREE, "--categorical", "y", "--missing", "-999,none", "-o", model).stderr
    table = load(model).table_
    assert "read as missing" not in said and table.missing == ("-999", "none")
    assert table.categories == (None, ("red",), ("-", "0", "1", "2"))
    typed = pl.read_csv(path, separator=";").with_columns(pl.col("x").cast(pl.Float64))
    typed.write_parquet(tmp_path / "a.parquet")
    same = tmp_path / "same.safetensors"
    succeed("fit", tmp_path / "a.parquet", *TREE, "--missing", "-999,none", "-o", same)
    assert load(same).committee_.predict(load(same).validate_rows(typed.drop("answer").with_columns(x=1.0, y=2.0))).size
    assert load(same).table_.categories == (None, ("red",), None)  # text of numbers, as in a text file
    expected = succeed("predict", model, path).stdout
    for name in ("a.csv", "a.parquet"):
        assert succeed("predict", model, tmp_path / name).stdout == expected
        assert succeed("predict", model, pieced(tmp_path / name)).stdout == expected, name
    assert "accuracy" in succeed("evaluate", model, path, "-t", "answer").stdout
    # a smaller model remembers it, too
    small = tmp_path / "small.safetensors"
    succeed("prune", path, "-t", "answer", "--trees", 20, "--missing", "-999", "-o", small)
    assert load(small).table_.missing == ("-999",)
    rows[7][3] = "-999"
    written(path, rows, header)
    assert "target 'answer' is missing in 1 of 40 rows" in fail("fit", path, *TREE, "--missing", "-999", "--strict")


def test_numbers_with_signs_against_pythons_own_formats():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(size=50) * 10.0 ** rng.integers(0, 8, 50), [0.0, 12.0, 1250.0]]).round(3)
    for sign in ("", "$", "EUR", "kr", "%", "US$"):
        for base, table in ((THOUSANDS, {}), (COMMA, str.maketrans(",.", ".,"))):
            for pattern in ("{v:,.3f}", "{v:.3f}", "{v:,.3f} "):
                texts = [pattern.format(v=abs(v)).translate(table) for v in values]
                minus = ["-" if v < 0 else "" for v in values]
                for place in ("{m}{t}{s}", "{m}{s}{t}", "{s} {m}{t}", "{m}{t} {s}"):
                    shown = [place.format(m=m, t=t.strip(), s=sign) for m, t in zip(minus, texts, strict=True)]
                    found = parse_numbers(pl.Series(shown), with_sign(base, sign))
                    scale = 100.0 if sign == "%" else 1.0
                    assert_allclose(found.to_numpy(), values / scale, rtol=1e-15)
        no_numbers = pl.Series(["1 \u00a4", "x", f"{sign}1{sign}x", ""])
        assert parse_numbers(no_numbers, with_sign(COMMA, sign)).null_count() >= 3


N = 60
PLAIN_HEADER = ["id", "size", "price", "colour", "day", "answer"]


def rows():
    """Cells as Python's values."""
    rng = np.random.default_rng(0)
    size, price = rng.normal(size=N).round(2), (rng.random(N) * 5000).round(2)
    colour = rng.choice(["red", "blue"], N)
    day = [date(2023, 1 + 5 * k % 12, 1 + 7 * k % 28) for k in range(N)]
    answer = np.where((size > 0) ^ (colour == "red"), "yes", "no")
    return [[k + 1, float(size[k]), float(price[k]), str(colour[k]), day[k], str(answer[k])] for k in range(N)]


def german(number):
    return f"{number:,.2f}".translate(str.maketrans(",.", ".,"))


def text(separator=",", number=str, day="%Y-%m-%d", end="\n", tail="", header=PLAIN_HEADER):
    """The table as text."""
    lines = [separator.join(header) + tail]
    for key, size, price, colour, when, answer in rows():
        cells = [str(key), number(size), number(price), colour, when.strftime(day), answer]
        lines.append(separator.join(cells) + tail)
    return end.join(lines) + end


def frame():
    return pl.DataFrame(rows(), schema=PLAIN_HEADER, orient="row")


def written_as(folder, name):
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
        "pandas": text(header=["", *PLAIN_HEADER[1:]]),
        "blank": text().replace("\n", "\n\n"),
        "apostrophes": text(number=lambda number: f"{number:,.2f}".replace(",", "'")),
        "lines": "".join(json.dumps(dict(zip(PLAIN_HEADER, row, strict=True)), default=str) + "\n" for row in rows()),
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
        path.write_bytes({"xlsx": xlsx, "ods": ods}[kind]([PLAIN_HEADER, *rows()]))
    return path


WAYS = [
    "semicolons.csv", "excel.csv", "tabs.csv", "pipes.txt", "quoted.csv", "thousands.csv", "pandas.csv", "blank.csv",
    "apostrophes.csv", "lines.jsonl", "utf16.csv", "western.csv", "packed.csv.gz", "zipped.zip", "typed.parquet",
    "xlsx-sheet.xlsx", "ods-sheet.ods",
]  # fmt: skip
PLAIN_TREE = ("-t", "answer", "-m", "tree", "-p", "min_samples_leaf=1", "--folds", 2)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The table in the plainest way, and what is predicted by the model that learned from it."""
    folder = tmp_path_factory.mktemp("plain")
    table, model = folder / "plain.csv", folder / "model.safetensors"
    table.write_text(text(), "utf-8")
    assert run("fit", table, *PLAIN_TREE, "-o", model).exit_code == 0
    return table, model, run("predict", model, table, "--proba").stdout


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", WAYS)
def test_however_a_table_is_written_it_is_the_same_table(name, tmp_path, plain):
    table, plain_model, expected = plain
    path, model = written_as(tmp_path, name), tmp_path / "model.safetensors"
    said = succeed("fit", path, *PLAIN_TREE, "-o", model).stderr
    learned = load(model)
    assert learned.table_ == load(plain_model).table_
    assert learned.table_.names == ("size", "price", "colour", "day") and learned.table_.categories[3] is None
    assert "read as dates, times or durations: 'day'" in said
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
    said = succeed("fit", path, *PLAIN_TREE, "-o", model, "--keep", "id").stderr
    assert "is left out" not in said
    assert load(model).table_.forms == {"size": "0,5", "price": "0,5", "day": "%m/%d/%Y"}
    new.write_text("id;size;price;colour;day\n7;-0,5;1.250;red;03/04/2024\n", "utf-8")
    plain_new = tmp_path / "plain.csv"
    plain_new.write_text("id,size,price,colour,day\n7,-0.5,1250,red,2024-03-04\n", "utf-8")
    assert run("predict", model, new, "--proba").stdout == run("predict", model, plain_new, "--proba").stdout
    new.write_text("id;size;price;colour;day\n7;-0,5;1;red;20240304\n", "utf-8")
    assert "column 'day' was learned as dates, times or durations but holds Int64" in fail("predict", model, new)
    # by the other commands, too
    assert "accuracy" in succeed("evaluate", model, path, "-t", "answer").stdout
    assert "row 3" in succeed("explain", model, path, "--row", 3).stdout


def test_options_say_what_is_not_recognised(tmp_path, plain):
    path = tmp_path / "a.csv"
    path.write_bytes(text(";", german).replace("colour", "größe").encode("cp1252"))
    assert "is not UTF-8 text; give its encoding, e.g. --encoding cp1252" in fail("fit", path, *PLAIN_TREE)
    assert "target 'answer'" in succeed("fit", path, *PLAIN_TREE, "--encoding", "cp1252").stderr
    assert "there is no text encoding 'latin-99'" in fail("fit", path, *PLAIN_TREE, "--encoding", "latin-99")
    path.write_text(text(" "), "utf-8")
    assert "are taken to be separated by blanks" in succeed("fit", path, *PLAIN_TREE).stderr
    assert "target 'answer'" in succeed("fit", path, *PLAIN_TREE, "--sep", "space").stderr
    assert "separator 'ab' is no character that separates cells" in fail("fit", path, *PLAIN_TREE, "--sep", "ab")
    assert "decimal 'x' is neither '.' nor ','" in fail("fit", path, *PLAIN_TREE, "--decimal", "x")
    path.write_text("x;y;answer\n" + "".join(f"{k % 7},{k:03};{k};{'ab'[k % 2]}\n" for k in range(40)), "utf-8")
    assert "decimal comma: 'x'" in succeed("fit", path, *PLAIN_TREE, "--keep", "y").stderr
    assert "decimal comma" not in succeed("fit", path, *PLAIN_TREE, "--keep", "y", "--decimal", ".").stderr
    assert "a sheet is given for" in fail("fit", path, *PLAIN_TREE, "--sheet", "1")
    book = tmp_path / "book.xlsx"
    book.write_bytes(xlsx([["nothing"]], [PLAIN_HEADER, *rows()]))
    said = run("fit", book, *PLAIN_TREE).stderr
    assert "has 2 sheets ('Sheet1', 'Sheet2'); the first is read, --sheet names another" in said
    assert "target 'answer'" in succeed("fit", book, *PLAIN_TREE, "--sheet", "Sheet2").stderr
    assert "target 'answer'" in succeed("fit", book, *PLAIN_TREE, "--sheet", "2").stderr
    assert "has no sheet 'Sheet3'; did you mean" in fail("fit", book, *PLAIN_TREE, "--sheet", "Sheet3")


def test_columns_that_are_left_out_and_kept(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(text(header=["", *PLAIN_HEADER[1:]]), "utf-8")
    said = succeed("fit", path, *PLAIN_TREE).stderr
    assert "column '' is left out: it counts the rows; --keep '' learns from it" in said
    assert "left out" not in succeed("fit", path, *PLAIN_TREE, "--drop", "").stderr
    assert "trained on 60 rows x 5 columns" in succeed("fit", path, *PLAIN_TREE, "--keep", "").stderr
    assert "--keep names 'idd', which is not there" in fail("fit", path, *PLAIN_TREE, "--keep", "idd")
    long = [["x" * (100_000 + k % 2), "ab"[k % 2]] for k in range(40)]
    path.write_text("".join(",".join(row) + "\n" for row in [["note", "answer"], *long]), "utf-8")
    said = fail("fit", path, *PLAIN_TREE)
    assert "column 'note' holds a text of 100,001 characters (row 1), and a category has at most 1,000" in said


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        (
            [f"{k}{',.'[k % 2]}5" for k in range(40)],
            "text, as some numbers have decimal commas and others decimal points: 'x'",
        ),
        (
            [*(f"2023-01-{k % 28 + 1:02}" for k in range(40)), "soon"],
            "column 'x' is read as text because 1 cell is no date or time ('soon' in row 40); if they mean missing",
        ),
        (
            [*(f"{k % 7 + k / 100:.2f}" for k in range(40)), "low"],
            "column 'x' is read as text because 1 cell is no number ('low' in row 40); if they mean missing",
        ),
    ],
)
def test_columns_that_are_text_for_a_few_cells_are_pointed_out(cells, note, tmp_path):
    path = written(tmp_path / "a.csv", [[cell, "ab"[k % 3 == 0]] for k, cell in enumerate(cells)], ["x", "answer"])
    assert note in succeed("fit", path, *PLAIN_TREE).stderr


def test_pieces_are_read_as_whole_tables_are(tmp_path, plain):
    _, plain_model, expected = plain
    lines = text(";", german, "%d.%m.%Y").splitlines(keepends=True)
    parts = tmp_path / "parts"
    parts.mkdir()
    for k, (first, last) in enumerate(((1, 8), (8, 31), (31, N + 1))):
        (parts / f"{k}.csv").write_text("".join([lines[0], *lines[first:last]]), "utf-8")
    whole, model = written_as(tmp_path, "semicolons.csv"), tmp_path / "model.safetensors"
    said = succeed("fit", parts, *PLAIN_TREE[:-2], "-o", model).stderr
    assert "read as numbers with a decimal comma: 'size', 'price'" in said and "'id' is left out" in said
    assert load(model).table_.forms == {"size": "0,5", "price": "0,5", "day": "%d.%m.%Y"}
    one = tmp_path / "one.safetensors"
    succeed("fit", whole, *PLAIN_TREE, "-o", one)
    assert without_provenance(one) == without_provenance(model)
    assert run("predict", plain_model, parts, "--proba").stdout == expected
    assert run("predict", model, parts, "--proba").stdout == expected
    (parts / "3.csv").write_text(lines[0] + lines[1].replace(";", ";0,5.5;", 1).replace(";red", "", 1), "utf-8")
    assert run("predict", model, parts).exit_code == 2
    (parts / "3.csv").write_bytes("id;a\nü;1\n".encode("cp1252"))
    assert "3.csv" in fail("predict", model, parts)


def test_points_between_thousands_are_no_decimal_points(tmp_path):
    lines = ["a;b;c;answer\n", *(f"{k % 7},5;{k % 3}.{k:03};{k}.5;{'ab'[k % 2]}\n" for k in range(60))]
    models = [tmp_path / "one.safetensors", tmp_path / "two.safetensors"]
    whole, parts = tmp_path / "whole.csv", [tmp_path / "0.csv", tmp_path / "1.csv"]
    for path, some in ((whole, lines[1:]), (parts[0], lines[1:30]), (parts[1], lines[30:])):
        path.write_text("".join([lines[0], *some]), "utf-8")
    for model, paths in zip(models, ([whole], parts), strict=True):
        said = succeed("fit", *paths, *PLAIN_TREE[:-2], "-o", model).stderr
        assert "points between thousands, as the file has decimal commas: 'b'" in said
        assert load(model).table_.forms == {"a": "0,5", "b": "0,5"}
    assert without_provenance(models[0]) == without_provenance(models[1])


def test_a_column_that_names_rows_is_no_column_of_the_predictions(tmp_path, plain):
    frame().rename({"id": "prediction"}).write_parquet(tmp_path / "typed.parquet")
    said = fail("predict", plain[1], tmp_path / "typed.parquet", "--id", "prediction")
    assert "--id names 'prediction', which is a column of the predictions" in said


def test_no_rows_have_no_predictions(tmp_path, plain):
    _, model, _ = plain
    path, out = tmp_path / "a.csv", tmp_path / "out.parquet"
    path.write_text(",".join(PLAIN_HEADER) + "\n", "utf-8")
    shown = succeed("predict", model, path, "--id", "id", "--proba").stdout
    assert shown == "id,prediction,probability:no,probability:yes\n"
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
    assert "note: column 'colour': 4 cells hold unknown categories, read as missing: 'green' (3), 'grey' (1)" in said


def test_an_unknown_one_of_many_categories_counts_as_the_mean(tmp_path):
    rows = pl.DataFrame(
        {"shop": [f"s{k % 20}" for k in range(100)], "y": [("no", "yes")[k % 20 > 9] for k in range(100)]}
    )
    table, model, new = (tmp_path / name for name in ("t.csv", "m.safetensors", "new.csv"))
    rows.write_csv(table), pl.DataFrame({"shop": ["other"]}).write_csv(new)
    succeed("fit", table, "-t", "y", "-m", "tree", "--folds", 0, "-o", model)
    said = succeed("predict", model, new).stderr
    assert "column 'shop': 1 cell holds an unknown category, read as the mean of all rows: 'other' (1)" in said
    succeed("evaluate", model, table, "--report", tmp_path / "page.html")
    limits = (tmp_path / "page.html").read_text("utf-8")
    assert "Categories unseen in training count as the mean of all rows" in limits and "count as missing" not in limits


def test_large_files_are_read_in_pieces(plain, monkeypatch):
    table, model, expected = plain
    monkeypatch.setattr("committee.cli.files.LARGE", 1000)
    result = succeed("predict", model, table, "--proba")
    assert "1 file, read in chunks" in result.stderr and result.stdout == expected


@pytest.mark.parametrize("name", ["semicolons.csv", "typed.parquet", "lines.jsonl", "xlsx-sheet.xlsx", "zipped.zip"])
def test_standard_input(name, tmp_path, plain):
    _, model, expected = plain
    content = written_as(tmp_path, name).read_bytes()
    assert run("predict", model, "-", "--proba", "-o", "-", input=content).stdout == expected
    said = run("fit", "-", *PLAIN_TREE, input=content)
    assert said.exit_code == 0 and "trained on 60 rows x 4 columns" in said.stderr
    empty = run("predict", model, "-", input=b"")
    assert empty.exit_code == 2 and "standard input is empty" in empty.stderr
