"""Sources in pieces: files, lazy frames, Dask collections, arrays and iterables give the same rows as the table."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal
from pyarrow.dataset import dataset

import committee
from committee import scan
from committee.data.out_of_core import sources
from committee.data.out_of_core.converted_files import columns_as_text
from committee.data.out_of_core.training_pieces import Storage, scan_training_pieces

N = 300
RNG = np.random.default_rng(0)
FRAME = pl.DataFrame(
    {
        "size": RNG.normal(size=N).round(2),
        "label": RNG.choice(["no", "yes"], N).tolist(),
        "colour": RNG.choice(["red", "green", None], N).tolist(),
        "count": RNG.integers(0, 9, N),
        "old": (RNG.random(N) < 0.4).tolist(),
        "weight": RNG.integers(0, 3, N).astype(float),
    }
)
FEATURES = FRAME.drop("label", "weight")
MODEL: dict[str, Any] = {"n_estimators": 4, "learning_rate": 0.3, "min_samples_leaf": 3, "random_state": 0}


def model() -> Any:
    return committee.GradientBoostingClassifier(**MODEL)


@pytest.fixture(scope="module")
def whole() -> Any:
    return model().fit(FEATURES, FRAME["label"].to_numpy(), FRAME["weight"].to_numpy())


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "LEAST_ROWS", 64)
    monkeypatch.setattr(sources, "CELLS", 100)


def write_parquet(folder: Path) -> str:
    FRAME[:100].write_parquet(folder / "a.parquet", row_group_size=30)
    FRAME[100:].select(FRAME.columns[::-1]).write_parquet(folder / "b.parquet")
    return str(folder)


def write_one(folder: Path) -> Path:
    FRAME.write_parquet(folder / "all.parquet")
    return folder / "all.parquet"


def write_dictionaries(folder: Path) -> str:
    table = FRAME.to_arrow()
    table = table.set_column(2, "colour", table["colour"].cast(pa.string()).dictionary_encode())
    for number, first in enumerate(range(0, N, 90)):
        pq.write_table(table.slice(first, 90), folder / f"part-{number}.parquet")
    return str(folder / "*.parquet")


def write_csv(folder: Path) -> str:
    FRAME[:160].write_csv(folder / "a.csv")
    FRAME[160:].select(FRAME.columns[::-1]).write_csv(folder / "b.csv")
    return str(folder / "*.csv")


def write_tsv(folder: Path) -> Path:
    with gzip.open(folder / "all.tsv.gz", "wt") as file:
        file.write(FRAME.write_csv(separator="\t"))
    return folder / "all.tsv.gz"


SOURCES: dict[str, Any] = {
    "folder of Parquet": write_parquet,
    "one Parquet file": write_one,
    "dictionaries of Arrow": write_dictionaries,
    "CSV files": write_csv,
    "packed TSV": write_tsv,
    "LazyFrame": lambda _: FRAME.lazy(),
    "LazyFrame of a file": lambda folder: pl.scan_parquet(write_one(folder)),
    "frames": lambda _: [FRAME[:70], FRAME[70:70], FRAME[70:]],
    "frames of pandas": lambda _: [FRAME[:70].to_pandas(), FRAME[70:].to_pandas()],
}


@pytest.mark.parametrize("kind", SOURCES)
def test_columns_of_labels_and_weights(kind, tmp_path, whole):
    pieces = scan(SOURCES[kind](tmp_path))
    found = model().fit(pieces, "label", "weight")
    assert found.table_ == whole.table_
    assert found.feature_names_in_.tolist() == FEATURES.columns
    assert_array_equal(found.predict_proba(FEATURES), whole.predict_proba(FEATURES))
    chosen = pieces if pieces.source.names is not None else scan(SOURCES[kind](tmp_path), columns=FEATURES.columns)
    for answer in ("predict", "predict_proba", "decision_function"):
        assert_array_equal(getattr(found, answer)(chosen), getattr(whole, answer)(FEATURES))
    score = whole.score(FEATURES, FRAME["label"].to_numpy(), FRAME["weight"].to_numpy())
    assert found.score(pieces, "label", sample_weight="weight") == score


@pytest.mark.parametrize("kind", ["folder of Parquet", "CSV files", "LazyFrame", "frames"])
def test_chosen_columns(kind, tmp_path):
    pieces = scan(SOURCES[kind](tmp_path), columns=["count", "size"])
    found = model().fit(pieces, "label", sample_weight="weight")
    chosen = FRAME.select("count", "size")
    whole = model().fit(chosen, FRAME["label"].to_numpy(), FRAME["weight"].to_numpy())
    assert_array_equal(found.predict_proba(pieces), whole.predict_proba(chosen))
    assert found.score(pieces, "label") == whole.score(chosen, FRAME["label"].to_numpy())


def test_labels_of_text_are_coded_piece_by_piece():
    """Labels of text take a byte a row beside the classes, and change nothing."""
    rng = np.random.default_rng(3)
    label = rng.choice(["b", "a rather long name of a class", "c"], N)
    label[250] = "late"
    weight = np.where(np.arange(N) == 250, 0.0, 1.0)  # no row of this class counts
    for settings in ({}, {"class_weight": "balanced"}, {"class_weight": {"b": 2.0}}):
        same = committee.GradientBoostingClassifier(**MODEL, **settings).fit(FEATURES, label, weight)
        frame = FEATURES.with_columns(label=pl.Series(label.tolist()), w=weight)
        types = (pl.String, pl.Categorical, pl.Enum(["late", "c", "b", "a rather long name of a class"]))
        labelled: list[Any] = [[frame.cast({"label": each})[:99], frame.cast({"label": each})[99:]] for each in types]
        labelled.append([each.to_pandas().astype({"label": "category"}) for each in labelled[0]])
        for pieces in labelled:
            found = committee.GradientBoostingClassifier(**MODEL, **settings).fit(scan(pieces), "label", "w")
            assert found.classes_.tolist() == same.classes_.tolist() and found.classes_.dtype == same.classes_.dtype
            assert_array_equal(found.predict_proba(FEATURES), same.predict_proba(FEATURES))
            assert found.score(scan(pieces, columns=FEATURES.columns), "label") == same.score(FEATURES, label)
        tuples = [(FEATURES[:99], label[:99], weight[:99]), (FEATURES[99:], label[99:], weight[99:])]
        found = committee.GradientBoostingClassifier(**MODEL, **settings).fit(scan(tuples))
        assert found.classes_.dtype == same.classes_.dtype
        assert_array_equal(found.predict_proba(FEATURES), same.predict_proba(FEATURES))
    looked = scan_training_pieces(scan(labelled[0]), "label", "w", Storage(None, Path))
    assert looked.y.codes.nbytes == N and looked.y.texts.tolist() == sorted({*label.tolist()})
    with pytest.raises(ValueError, match=r"y holds text, '.*' in row 0; a regressor predicts numbers"):
        committee.GradientBoostingRegressor(n_estimators=2).fit(scan(labelled[0]), "label")


def test_labels_that_are_categories_of_numbers():
    frame = FEATURES.to_pandas().assign(label=pd.Categorical([7, 3, 5] * 100))
    found = model().fit(scan([frame[:99], frame[99:]]), "label")
    assert found.classes_.tolist() == [3, 5, 7]


def test_labels_and_weights_in_memory(whole):
    labels, weights = FRAME["label"].to_numpy(), FRAME["weight"].to_numpy()
    found = model().fit(FEATURES.lazy(), labels, weights)
    assert_array_equal(found.predict_proba(FEATURES), whole.predict_proba(FEATURES))
    assert found.score(FEATURES.lazy(), labels) == whole.score(FEATURES, labels)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_memory_maps(dtype, tmp_path):
    X = (10 * RNG.normal(size=(N, 3))).astype(dtype)
    y = X[:, 0] + RNG.normal(size=N)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    settings = MODEL | {"leaf": "constant"}
    found = committee.GradientBoostingRegressor(**settings).fit(scan(mapped), y)
    whole = committee.GradientBoostingRegressor(**settings).fit(X, y)
    assert_array_equal(found.predict(scan(mapped)), whole.predict(X))


def test_dask_collections(whole):
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    table = dd.from_pandas(FRAME.to_pandas(), npartitions=4)
    labels, weights = table["label"], table["weight"]
    features = table[FEATURES.columns]
    for found in (
        model().fit(table, "label", "weight"),
        model().fit(features, labels, weights),
        model().fit(scan(table), "label", sample_weight="weight"),
    ):
        assert_array_equal(found.predict_proba(features), whole.predict_proba(FEATURES))
    X, y = RNG.normal(size=(N, 4)), RNG.integers(0, 2, N)
    array = da.from_array(X, chunks=(110, 2))
    found, same = model().fit(array, da.from_array(y, chunks=50)), model().fit(X, y)
    assert_array_equal(found.predict_proba(array), same.predict_proba(X))


def test_pandas_without_names():
    X = pd.DataFrame(RNG.normal(size=(N, 3)))
    y = RNG.integers(0, 2, N)
    found, same = model().fit(scan([(X[:99], y[:99]), (X[99:], y[99:])])), model().fit(X, y)
    assert_array_equal(found.predict_proba(X), same.predict_proba(X))
    assert not hasattr(found, "feature_names_in_")


def test_files_without_rows_and_with_other_types(tmp_path, whole):
    FRAME[:0].write_parquet(tmp_path / "a.parquet")
    FRAME[:90].cast({"count": pl.Int8, "weight": pl.Float32}).write_parquet(tmp_path / "b.parquet")
    FRAME[90:].cast({"colour": pl.Categorical, "weight": pl.Int8}).write_parquet(tmp_path / "c.parquet")
    found = model().fit(scan(tmp_path), "label", "weight")
    assert_array_equal(found.predict_proba(FEATURES), whole.predict_proba(FEATURES))
    assert len(found.predict(scan(tmp_path))) == N


def test_types_that_differ_between_files_of_text(tmp_path):
    (tmp_path / "a.csv").write_text("x,kind,y\n" + "1,7,0\n2,8,1\n" * 30, "utf-8")
    (tmp_path / "b.csv").write_text("x,kind,y\n" + "1.5,seven,0\n2.5,8,1\n" * 30, "utf-8")
    found = model().fit(scan(tmp_path), "y")
    assert found.table_.categories == (None, ("7", "8", "seven"))


def test_numbers_that_are_whole_in_some_pieces():
    y = [0, 1] * 20
    parts = [pl.DataFrame({"x": [1, 2] * 20}), pl.DataFrame({"x": [1.0, 2.5] * 20})]
    settings = MODEL | {"categorical_features": ["x"]}
    found = committee.GradientBoostingClassifier(**settings).fit(scan([(part, y) for part in parts]))
    assert found.table_.categories == ((1.0, 2.0, 2.5),)
    found = committee.GradientBoostingClassifier(**settings).fit(scan([(parts[0], y)]))
    assert found.table_.categories == ((1, 2),) and isinstance(found.table_.categories[0][0], int)


def test_columns_without_a_cell_in_some_pieces():
    y = [0, 1] * 20
    text, none = {"x": ["a", "b"] * 20}, {"x": [None] * 40}
    kinds = [pl.DataFrame(none), pl.DataFrame(text), pl.DataFrame(none, schema={"x": pl.Float64})]
    found = model().fit(scan([(part, y) for part in kinds]))
    assert found.table_.categories == (("a", "b"),)
    found = model().fit(scan([(pl.DataFrame(none, schema={"x": pl.String}).with_columns(z=1.0), y)]))
    assert found.table_.categories == ((), None)


def test_declared_order():
    sizes = pl.Enum(["S", "M", "L", "XL"])
    parts = [pl.DataFrame({"x": pl.Series(each * 10, dtype=sizes)}) for each in (["L", "S"], ["M", "L"])]
    y = [0, 1] * 10
    found = model().fit(scan([(part, y) for part in parts]))
    assert found.table_.categories == (("S", "M", "L"),)


def test_orders_declared_in_parquet(tmp_path):
    levels = ["small", "medium", "large", "never"]
    shown, y = ["large", "medium", "small", "large"] * 20, [1, 0, 1, 1] * 20
    frame = pl.DataFrame({"x": pl.Series(shown, dtype=pl.Enum(levels)), "kind": ["b", "a"] * 40, "y": y})
    ordered = pd.CategoricalDtype(levels, ordered=True)
    frame.write_parquet(tmp_path / "polars.parquet", row_group_size=30)
    frame.to_pandas().astype({"x": ordered}).to_parquet(tmp_path / "pandas.parquet", row_group_size=30)
    in_memory = {"polars": pl.read_parquet, "pandas": pd.read_parquet}
    for library, read in in_memory.items():
        path = tmp_path / f"{library}.parquet"
        table: Any = read(path)
        whole = model().fit(table[["x", "kind"]], y)
        assert whole.table_.categories == (("small", "medium", "large"), ("a", "b"))
        for table in (scan(path), scan([pq.read_table(path)[:40], pq.read_table(path)[40:]])):
            found = model().fit(table, "y")
            assert found.table_ == whole.table_
            rows = frame[["x", "kind"]]
            assert_array_equal(found.predict_proba(rows), whole.predict_proba(rows))
        assert model().fit(pq.read_table(path, columns=["x", "kind"]), y).table_ == whole.table_
        files = columns_as_text(scan(path).source, ["y"])
        found = model().fit(replace(scan(path), source=files), np.array(y))
        assert found.table_.categories == (*whole.table_.categories, ("0", "1"))


def test_text_files_without_cells_of_a_column_have_its_type(tmp_path):
    (tmp_path / "a.csv").write_text("x,word,never\n,,\n,,\n", "utf-8")
    (tmp_path / "b.csv").write_text("x,word,never\n1,one,\n2.5,two,\n", "utf-8")
    (tmp_path / "c.csv").write_text("x,word,never\n", "utf-8")
    pieces = list(scan(tmp_path))
    assert [piece.X.schema for piece in pieces] == [pieces[0].X.schema] * len(pieces)
    whole = pl.concat([piece.X for piece in pieces])
    assert whole["x"].to_list() == [None, None, 1.0, 2.5]
    assert whole["word"].to_list() == [None, None, "one", "two"]


def test_a_line_of_too_many_cells_is_refused_whatever_columns_are_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,2\n3,4,5\n", "utf-8")
    for columns in (None, ["x"], ["y"]):
        with pytest.raises(ValueError, match=r"a.csv' has 3 cells in line 3, but 2 column names"):
            list(scan(path, columns=columns))


def test_blank_lines_of_text_files_are_no_rows(tmp_path):
    """As in files that are read whole; lines of separators alone are rows, and of one column a blank line is a cell."""
    begin, rest = "size,label\n1.5,no\n\n", ",\n2.5,yes\n\n\n3.5,no\n\n"
    (tmp_path / "a.csv").write_text(begin + rest, "utf-8")
    (tmp_path / "b.csv").write_text("size,label\n4.5,yes\n", "utf-8")
    pieces = scan([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert pieces.source.n_rows == 5
    assert [row for piece in pieces for row in piece.X.rows()] == [
        (1.5, "no"), (None, None), (2.5, "yes"), (3.5, "no"), (4.5, "yes"),
    ]  # fmt: skip
    assert [row for piece in pieces.source.cells(["label"]) for row in piece.X.rows()][2:] == [
        ("yes",), ("no",), ("yes",),
    ]  # fmt: skip
    (tmp_path / "one.csv").write_text("size\n1.5\n\n2.5\n", "utf-8")
    assert scan(tmp_path / "one.csv").source.n_rows == 3
    (tmp_path / "short.csv").write_text("size,label\n1.5,no\n\n2.5\n", "utf-8")
    with pytest.raises(ValueError, match=r"short.csv' has 1 cells in line 4, but 2 column names"):
        list(scan(tmp_path / "short.csv"))


def test_lists_of_paths_are_read_in_their_order(tmp_path):
    for name, x in (("a", 1), ("b", 2), ("c", 3)):
        pl.DataFrame({"x": [x]}).write_csv(tmp_path / f"{name}.csv")
    pieces = scan([tmp_path / "c.csv", str(tmp_path / "[ab].csv")])
    assert [piece.X["x"].item() for piece in pieces] == [3, 1, 2]
    with pytest.raises(ValueError, match=r"a.csv' is named twice"):
        scan([tmp_path / "a.csv", tmp_path])


def write_rows(path: Path, x: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame({"x": [x, x], "y": [0, 1]}).write_parquet(path)


def first_rows(given: Any) -> list[int]:
    return [piece.X["x"][0].as_py() for piece in scan(given)]


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of Dask's own call of pandas
def test_hidden_files_are_left_out_and_numbers_are_in_order(tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    for x in (10, 2, 1):
        write_rows(tmp_path / f"part.{x}.parquet", x)
    assert first_rows(tmp_path) == dd.read_parquet(tmp_path).compute()["x"].tolist()[::2] == [1, 2, 10]
    for hidden in (".part.3.parquet", "_part.3.parquet", "_temporary/0/part.3.parquet", ".old/part.3.parquet"):
        write_rows(tmp_path / hidden, -1)
    assert first_rows(tmp_path) == first_rows(tmp_path / "*.parquet") == [1, 2, 10]
    assert first_rows(tmp_path / "**/*.parquet") == [1, 2, 10]
    assert first_rows(tmp_path / "_*.parquet") == first_rows(tmp_path / "_part.3.parquet") == [-1]
    assert first_rows([tmp_path / ".part.3.parquet", tmp_path / "_temporary"]) == [-1, -1]
    (tmp_path / "sub").mkdir()
    with pytest.raises(FileNotFoundError, match="there is no file"):
        scan(tmp_path / "sub")


@pytest.mark.parametrize("texts", [["2019", "2020"], ["1", "a b"], ["1", None], ["-1", "07"]])
def test_columns_in_the_names_of_folders(texts, tmp_path):
    for x, text in enumerate(texts):
        name = "__HIVE_DEFAULT_PARTITION__" if text is None else text.replace(" ", "%20")
        write_rows(tmp_path / f"year={name}/kind=k{x}/part-0.parquet", x)
    expected = dataset(str(tmp_path), partitioning="hive").to_table()
    for given in (tmp_path, tmp_path / "*/*/*.parquet"):
        found = pa.concat_tables([piece.X for piece in scan(given)])
        assert found.schema.types == expected.schema.types and found.column_names == ["x", "y", "year", "kind"]
        assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected.to_pylist()))
    trees = committee.TreeVoter(min_samples_leaf=1).fit(scan(tmp_path), "y")
    whole = committee.TreeVoter(min_samples_leaf=1).fit(expected.drop(["y"]), expected["y"].to_numpy())
    assert trees.table_ == whole.table_
    years = scan(tmp_path, columns=["kind"])
    assert [piece.X.column_names for piece in years] == [["kind"]] * 2
    if None not in texts:
        found = committee.TreeVoter(min_samples_leaf=1).fit(scan(tmp_path, columns=["x"]), "year")
        assert len(found.classes_) == 2


def test_names_of_folders_that_cannot_be_columns(tmp_path):
    write_rows(tmp_path / "a/year=1/p.parquet")
    write_rows(tmp_path / "a/year=2/p.parquet")
    one_by_one = [tmp_path / "a/year=1/p.parquet", tmp_path / "a/year=2"]
    with pytest.raises(ValueError, match=r"different values of a column, .*give the folder that holds all of them"):
        scan(one_by_one)
    assert [piece.X.column_names for piece in scan(one_by_one[0])] == [["x", "y"]]
    write_rows(tmp_path / "a/p.parquet")
    with pytest.raises(ValueError, match=r"column 'year', which names of folders give, is not in all"):
        scan(tmp_path / "a")
    write_rows(tmp_path / "b/k=1/k=2/p.parquet")
    with pytest.raises(ValueError, match="two folders give column 'k'; rename one"):
        scan(tmp_path / "b")
    write_rows(tmp_path / "c/x=7/p.parquet", 7)  # polars writes such columns into the files, too
    assert [piece.X.column_names for piece in scan(tmp_path / "c")] == [["x", "y"]]
    write_rows(tmp_path / "d/k=%ff/p.parquet")
    with pytest.raises(ValueError, match="'k=%ff' stands for text that is not UTF-8"):
        scan(tmp_path / "d")
    (tmp_path / "e/k=1").mkdir(parents=True)
    (tmp_path / "e/k=1/p.csv").write_text("x,y\n1,2\n", "utf-8")
    with pytest.raises(
        ValueError, match=r"p.csv' is in a folder whose name gives column 'k', .* for Parquet files only"
    ):
        scan(tmp_path / "e")
