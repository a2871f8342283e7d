"""Files in: types, missing cells and every way a file may be wrong; the example tables."""

from __future__ import annotations

import errno
import gzip
import json
import os
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest

from committee.data.examples import load_example
from committee.data.readers.features import id_like_columns, nearly_numeric_columns
from committee.data.readers.file_format import total_memory
from committee.data.readers.table_reader import read_table
from committee.data.readers.tables import read_table_with_notes, split_target
from committee.data.table_schema import TableSchema

TEXT = "age,zip,city,member,label\n31,0150,Oslo,true,yes\n,3011,NA,false,no\n45.5,3011,Bern,true,no\n"
ROWS = [(31.0, "0150", "Oslo", True, "yes"), (None, "3011", None, False, "no"), (45.5, "3011", "Bern", True, "no")]


def written(folder: Path, content: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_text_files(tmp_path: Path) -> None:
    paths = [
        written(tmp_path, TEXT),
        written(tmp_path, TEXT.replace("\n", "\r\n"), "crlf.csv"),
        written(tmp_path, "\ufeff" + TEXT, "mark.csv"),
        written(tmp_path, gzip.compress(TEXT.encode(), mtime=0), "table.CSV.gz"),
        written(tmp_path, TEXT.replace(",", "\t"), "table.tsv"),
        written(tmp_path, gzip.compress(TEXT.replace(",", "\t").encode(), mtime=0), "table.tsv.gz"),
        written(tmp_path, TEXT.replace("\n", "\n\n") + "\n\n", "blank.csv"),
        written(tmp_path, TEXT.rstrip("\n"), "unended.csv"),
    ]
    for path in paths:
        frame = read_table(str(path))
        assert frame.rows() == ROWS, path.name
        assert frame.dtypes == [pl.Float64, pl.String, pl.String, pl.Boolean, pl.String]


def test_typed_files(tmp_path: Path) -> None:
    frame = pl.DataFrame(ROWS, schema=["age", "zip", "city", "member", "label"], orient="row")
    frame.write_parquet(tmp_path / "a.parquet")
    for ending in ("feather", "arrow", "ipc"):
        frame.write_ipc(tmp_path / f"a.{ending}")
    pa.feather.write_feather(frame.to_arrow(), str(tmp_path / "z.feather"), compression="zstd")
    for path in tmp_path.iterdir():
        assert read_table(path).rows() == ROWS
        dtypes = [pl.Categorical, pl.Categorical, pl.Boolean, pl.String]
        assert read_table(path, categorical=["zip", "city"], drop=["age"]).dtypes == dtypes


def test_categorical_columns_stay_text(tmp_path: Path) -> None:
    frame = read_table(written(tmp_path, TEXT), categorical=["zip", "member"], drop=["age"])
    assert frame["zip"].to_list() == ["0150", "3011", "3011"]
    assert frame["member"].to_list() == ["true", "false", "true"]
    assert "age" not in frame.columns


def test_types_come_from_the_whole_file(tmp_path: Path) -> None:
    late = "a,b,c\n" + "1,1,1\n" * 5_000 + "x,2.5,\n"
    frame = read_table(written(tmp_path, late))
    assert frame.dtypes == [pl.String, pl.Float64, pl.Int64]


def test_what_is_a_number_and_what_is_missing(tmp_path: Path) -> None:
    text = 'a,b,c,d,e,f\n1,+1,inf,?,"NA",\n2, 2,-1e3,3,null,\nnan,-3,NaN,4,"",\n'
    frame = read_table_with_notes(written(tmp_path, text)).frame
    assert frame.rows() == [
        (1, 1.0, np.inf, None, None, None),
        (2, 2.0, -1000.0, 3, None, None),
        (None, -3.0, None, 4, None, None),
    ]
    assert frame.dtypes == [pl.Int64, pl.Float64, pl.Float64, pl.Float64, pl.Float64, pl.Float64]
    with pytest.raises(ValueError, match="column 'c' holds infinity at row 0"):
        TableSchema.learn(frame).encode(frame)
    assert read_table(written(tmp_path, text), missing=["inf"])["c"].to_list() == [None, -1000.0, None]


def test_quoted_cells(tmp_path: Path) -> None:
    frame = read_table(written(tmp_path, 'name,"a, b"\n"x\ny",1\n"say ""hi""",\n'))
    assert frame.rows() == [("x\ny", 1), ('say "hi"', None)]
    assert frame.columns == ["name", "a, b"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"is empty \(0 bytes\)"),
        ("\n1,2\n", r"2 columns and 0 rows; .*1 line before the column names is left out \(''\)"),
        ("\n\n", "has nothing where the column names must be"),
        ("a,b\n", "2 columns and 0 rows"),
        ("a,b,a\n1,2,3\n", "has the column 'a' more than once"),
        ("a,b\n1,2\n3\n5,6\n", "has 1 cells in line 3, but 2 column names"),
        ('a,b\n"1\n1",2\n3,4,5\n', "has 3 cells in line 4, but 2 column names"),
        ("a,é\n1,2\n".encode("latin1"), "is not UTF-8 text"),
        ("a,b\n1,é\n".encode("latin1"), "is not UTF-8 text"),
        ("a,b\n1,2\n".encode("utf-16-le"), "is not UTF-8 text"),
        ('a,b\n"x,2\n3,4\n', "cannot be read|cells in line"),
        ('"a" ,b\n1,2\n', "has unreadable column names; write each in quotation"),
        ("a,b\r\n1,2\r3,4\r\n", "cannot be read: found more fields"),
        (f"a,b\n1,\n2,3\n{'x' * 2**18},4\n", "cannot be read at row 2: field larger than field limit"),
        (gzip.compress(TEXT.encode(), mtime=0), "is a gzip file; name it table.csv.gz"),
        (b'a"b,c\n1,2\n3,4\n', "stray quotation mark in the column name 'a\"b'; remove it, or double it"),
        (b"a,b\r1,2\r3,4\r", "ends its lines by carriage returns alone.* end them by line feeds"),
        (b"a\r", "ends its lines by carriage returns alone"),
    ],
)
def test_broken_text_files(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_table(written(tmp_path, content))


def test_text_that_is_no_utf_8_far_into_a_file_is_refused_with_its_row(tmp_path: Path) -> None:
    path = written(tmp_path, b"a,b\n" + b"1,2\n" * 5000 + "1,é\n".encode("latin1"))
    with pytest.raises(ValueError, match=r"is not UTF-8 text \(row \d+\); give its encoding, e.g. encoding='cp1252'"):
        read_table(path)


def test_broken_compressed_files(tmp_path: Path) -> None:
    rows = "a,b\n" + "".join(f"{i},{i * i}\n" for i in range(5_000))
    packed = gzip.compress(rows.encode())
    for name, content in {
        "short": packed[:-12],
        "shorter": packed[: len(packed) // 2],
        "header": packed[:5],
        "changed": packed[:2000] + b"\x00\xff\x00\xff" + packed[2004:],
        "checksum": packed[:-8] + b"\x00\x01\x02\x03" + packed[-4:],
    }.items():
        with pytest.raises(ValueError, match=r"cannot be read|not UTF-8|cells in line"):
            read_table(written(tmp_path, content, f"{name}.csv.gz"))
    with pytest.raises(ValueError, match="is not a gzip file though its name ends so"):
        read_table(written(tmp_path, TEXT, "plain.csv.gz"))
    with pytest.raises(ValueError, match="has nothing where"):
        read_table(written(tmp_path, gzip.compress(b"", mtime=0), "nothing.csv.gz"))


@pytest.mark.parametrize(("name", "kind"), [("a.parquet", "Parquet"), ("a.feather", "Feather"), ("a.ipc", "Feather")])
def test_broken_typed_files(tmp_path: Path, name: str, kind: str) -> None:
    for content in (b"PAR1 and no more than that", TEXT.encode()):
        with pytest.raises(ValueError, match=f"cannot be read as {kind}"):
            read_table(written(tmp_path, content, name))


def test_paths_that_are_no_tables(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(ValueError, match=r"unknown ending; it must be one of \.csv, \.csv\.gz"):
        read_table(written(tmp_path, TEXT, "table.doc"))
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ValueError, match="is a folder"):
        read_table(tmp_path / "folder.csv")
    # no pattern is ever expanded
    written(tmp_path, TEXT, "a1.csv")
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "a*.csv")


def test_unknown_names_get_a_hint(tmp_path: Path) -> None:
    path = written(tmp_path, TEXT)
    names: dict[str, Any]
    for names, message in (
        ({"categorical": ["Zipp"]}, "categorical names 'Zipp', which is not there; did you mean 'zip'"),
        ({"drop": ["qqqq"]}, "drop names 'qqqq', which is not there; there are 'age', 'zip'"),
        ({"categorical": "zip"}, "categorical must be a list of names, got the string 'zip'"),
        ({"drop": [1]}, "drop must hold names"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            read_table(path, **names)
    pl.DataFrame({"l": [[1]]}).write_parquet(tmp_path / "l.parquet")
    with pytest.raises(ValueError, match="categorical names 'l', which holds List"):
        read_table(tmp_path / "l.parquet", categorical=["l"])


def test_id_like_columns() -> None:
    n = 40
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "up": np.arange(n) * 3,
            "down": -np.arange(n),
            "shuffled": rng.permutation(n) + 1,
            "income": rng.permutation(n) * 7,
            "customerNo": rng.permutation(n) * 7,
            "sorted price": np.sort(rng.permutation(n * 9)[:n]),
            "number of rooms": rng.permutation(n) * 7,
            "float": np.arange(float(n)),
            "name": [f"person {i}" for i in range(n)],
            "mostly": [f"person {min(i, 30)}" for i in range(n)],
            "gaps": [*[None] * 5, *range(n - 5)],
            "label": [f"{i}" for i in range(n)],
        }
    )
    found = id_like_columns(frame.drop("label"))
    assert found == {
        "up": "counts the rows in steps of 3",
        "down": "counts the rows",
        "customerNo": "has another number in each of the 40 rows",
        "shuffled": "holds each of 40 consecutive numbers once",
        "name": "is text with 40 different values in 40 rows",
    }
    few, many = [3, 17], [3, 5, 8, 17, 39]
    for missing, kind in ((few, None), (few, pl.Float64), (many, None)):  # pandas makes floats of whole numbers
        gaps = pl.Series([None if k in missing else 0 for k in range(n)])
        holed = frame.select(pl.col("up", "down", "shuffled", "income", "customerNo") + gaps).cast(kind or {})
        expected = {
            "up": "counts the rows in steps of 3",
            "down": "counts the rows",
            "customerNo": "has another number in each of the 38 rows that have one",
            "shuffled": "holds 38 of 40 consecutive numbers, each once",
        }
        assert id_like_columns(holed) == (expected if missing is few else {})
    far = pl.DataFrame({"id": [2**63 - 1, None, *range(-(2**63), -(2**63) + 38)]})
    assert id_like_columns(far) == {"id": "has another number in each of the 39 rows that have one"}
    assert "label" in id_like_columns(frame)
    assert id_like_columns(frame.head(19)) == {}


def test_nearly_numeric_columns() -> None:
    numbers = [str(i) for i in range(30)]
    frame = pl.DataFrame(
        {
            "marked": [*numbers, "?", None, "?"],
            "text": [*numbers[:3], *["red"] * 30],
            "digits": [*numbers, "1.5", "-2", "1e3"],
            "number": range(33),
        }
    )
    assert nearly_numeric_columns(frame) == {"marked": "2 cells are no numbers ('?' in row 30)"}


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["a", "b"], "U"),
        (pl.Series(["a", "b"], dtype=pl.Categorical), "U"),
        (pl.Series(["a", "b"], dtype=pl.Enum(["b", "a"])), "U"),
        ([1, 2], "i"),
        ([True, False], "b"),
        ([0.5, 1.5], "f"),
    ],
)
def test_split_target(labels: Any, kind: str) -> None:
    X, y = split_target(pl.DataFrame({"label": labels, "x": [1, 2]}), "label")
    assert X.columns == ["x"]
    assert y.dtype.kind == kind
    assert y.tolist() == list(labels)


def test_split_target_refuses() -> None:
    frame = pl.DataFrame({"x": [1.0, None, np.nan], "label": ["a", None, None], "list": [[1]] * 3})
    for table, name, message in (
        (frame, "Labels", r"target 'Labels' is not a column; did you mean 'label'\?"),
        (frame, "label", r"target 'label' is missing in 2 of 3 rows \(first in row 1\); drop"),
        (frame, "x", "target 'x' is missing in 2 of 3 rows"),
        (frame, "list", "target 'list' holds List"),
        (frame.select("x"), "x", "target 'x' is the only column"),
    ):
        with pytest.raises(ValueError, match=message):
            split_target(table, name)


@pytest.mark.parametrize(
    ("name", "shape", "labels"),
    [
        ("breast_cancer", (569, 31), {"benign", "malignant"}),
        ("digits", (1797, 65), set("0123456789")),
        ("iris", (150, 5), {"setosa", "versicolor", "virginica"}),
        ("wine", (178, 14), {"class_0", "class_1", "class_2"}),
    ],
)
def test_examples(name: str, shape: tuple[int, int], labels: set[str], tmp_path: Path) -> None:
    frame = load_example(name)
    assert frame.shape == shape
    assert frame.columns[-1] == "target"
    assert set(frame["target"]) == labels
    X, y = split_target(frame, "target")
    schema = TableSchema.learn(X)
    assert not schema.categorical.any()
    assert schema.encode(X).shape == (shape[0], shape[1] - 1)
    # a file with the same rows gives the same matrix
    frame.write_csv(tmp_path / "table.csv")
    Z, z = split_target(read_table(tmp_path / "table.csv", categorical=["target"]), "target")
    np.testing.assert_array_equal(schema.encode(Z), schema.encode(X))
    np.testing.assert_array_equal(z, y)


def test_another_name_of_an_example_gets_a_hint() -> None:
    with pytest.raises(ValueError, match="name 'Iris' is no example table; did you mean 'iris'"):
        load_example("Iris")


DATA = os.environ.get("COMMITTEE_DATA")


@pytest.mark.skipif(DATA is None, reason="COMMITTEE_DATA names no folder of tables")
def test_the_catalogue_of_tables() -> None:
    folder = Path(DATA or "")
    for entry in json.loads((folder / "catalogue.json").read_text("utf-8")):
        frame = read_table(folder / entry["file"], categorical=[*entry["categorical"], "target"])
        X, y = split_target(frame, "target")
        assert X.shape == (entry["rows"], len(entry["numeric"]) + len(entry["categorical"])), entry["name"]
        assert sum(X.null_count().row(0)) == entry["missing_cells"], entry["name"]
        assert dict(zip(*np.unique(y, return_counts=True), strict=True)) == entry["class_counts"], entry["name"]
        schema = TableSchema.learn(X)
        categorical = {name for name, found in zip(X.columns, schema.categories, strict=True) if found is not None}
        assert categorical == set(entry["categorical"]), entry["name"]
        assert np.isnan(schema.encode(X)).sum() == entry["missing_cells"], entry["name"]
        assert nearly_numeric_columns(X.drop(entry["categorical"])) == {}, entry["name"]


def seconds_of_a_wide_table(path: Path, p: int) -> float:
    """Processor time of reading p columns, looking at them and coding them, and of refusing them."""
    lines = [",".join(f"c{j}" for j in range(p))]
    lines += [",".join("abc"[(i + j) % 3] if j % 4 == 0 else f"{i * j % 7}.5" for j in range(p)) for i in range(25)]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    start = time.process_time()
    frame = read_table(path, categorical=[f"c{j}" for j in range(1, p, 4)], drop=["c2"])
    assert not id_like_columns(frame)
    assert not nearly_numeric_columns(frame)
    schema = TableSchema.learn(frame, [name for name in frame.columns if int(name[1:]) % 4 < 2])
    assert schema.encode(frame).shape == (25, p - 1)
    with pytest.raises(ValueError, match="missing"):
        schema.encode(frame.rename({name: f"{name}!" for name in frame.columns}))
    return time.process_time() - start


@pytest.mark.slow
def test_wide_tables_take_time_in_proportion_to_their_columns(tmp_path: Path) -> None:
    """Eight times the columns take about eight times as long; what is quadratic would take sixty-four times."""
    seconds_of_a_wide_table(tmp_path / "first.csv", 50)  # imports
    few, many = (seconds_of_a_wide_table(tmp_path / "wide.csv", p) for p in (500, 4_000))
    assert many < 24.0 * few


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_quotation_marks_in_column_names(tmp_path: Path, ending: str) -> None:
    text = b'"a ""x""",""""\n01,2\n3,4\n'
    path = written(tmp_path, gzip.compress(text) if ending.endswith("gz") else text, f"table{ending}")
    assert read_table(path).columns == ['a "x"', '"']
    assert read_table(path, categorical=['a "x"'], drop=['"']).rows() == [("01",), ("3",)]


@pytest.mark.parametrize("start", [b"", b"a,b\n1,2\n"])
def test_one_endless_line_in_a_small_file_is_refused_before_it_fills_the_memory(
    tmp_path: Path, start: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("committee.data.readers.file_format.MAX_LINE", 2**18)
    path = written(tmp_path, gzip.compress(start + b"0" * 2**25), "table.csv.gz")
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"line of more than 262,144 characters.* correct it"):
            read_table(path)
        assert tracemalloc.get_traced_memory()[1] < 2**23
    finally:
        tracemalloc.stop()


def test_a_file_that_must_not_be_read_is_no_broken_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As everyone but root finds it."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    path = tmp_path / "t.parquet"
    pl.DataFrame({"a": [1]}).write_parquet(path)
    monkeypatch.setattr(pl.LazyFrame, "collect", refuse)
    with pytest.raises(PermissionError, match=r"Permission denied: .*t\.parquet"):
        read_table(path)


def test_a_machine_that_does_not_say_what_memory_it_has_has_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> int:
        raise ValueError("unrecognized configuration name")

    assert 2**20 < total_memory() < 2**60
    monkeypatch.setattr(os, "sysconf", refuse, raising=False)
    assert total_memory() == 2**63


def test_more_than_the_memory_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"a": [0] * 1000, "b": [1.0] * 1000})
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ipc(tmp_path / "t.feather")
    written(tmp_path, gzip.compress(frame.write_csv().encode()), "t.csv.gz")
    monkeypatch.setattr("committee.data.readers.file_format.total_memory", lambda: 32_000)
    for name in ("t.parquet", "t.feather", "t.csv.gz"):
        assert read_table(tmp_path / name).shape == (1000, 2)
    monkeypatch.setattr("committee.data.readers.file_format.total_memory", lambda: 8_000)
    for name in ("t.parquet", "t.feather"):
        with pytest.raises(ValueError, match=r"1,000 rows x 2 columns need .* GiB of memory.* take fewer rows"):
            read_table(tmp_path / name)
    monkeypatch.setattr("committee.data.readers.file_format.total_memory", lambda: 100)
    monkeypatch.setattr("committee.data.readers.file_format.MAX_LINE", 2**13)
    with pytest.raises(ValueError, match="more than half of this machine's memory; take fewer rows"):
        read_table(tmp_path / "t.csv.gz")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".feather", ".csv.gz", ".jsonl"])
def test_names_of_files_in_another_encoding(tmp_path: Path, ending: str) -> None:
    """Polars opens files by names in UTF-8 alone; files that are unpacked or read by others have any name."""
    table, path = pl.DataFrame({"a": [1, 2], "b": [2, 3]}), tmp_path / f"table{ending}"
    text = table.write_csv().encode()
    if ending in (".csv", ".csv.gz"):
        path.write_bytes(text if ending == ".csv" else gzip.compress(text))
    else:
        write = {".parquet": table.write_parquet, ".feather": table.write_ipc, ".jsonl": table.write_ndjson}[ending]
        write(path)
    odd = path.rename(tmp_path / os.fsdecode(b"\xe4" + ending.encode()))
    if ending in (".csv.gz", ".jsonl"):
        assert read_table(odd).equals(table)
        return
    with pytest.raises(ValueError, match=r"udce4.* cannot be opened, as its name or the locale is not UTF-8"):
        read_table(odd)
