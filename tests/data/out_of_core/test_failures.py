"""What can go wrong with tables in pieces: clear errors, and no scratch folder that stays."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import committee
from committee import scan
from committee.data.out_of_core import sources
from committee.data.out_of_core.training_pieces import OutOfCoreMatrix, Storage
from committee.files.writing import SCRATCH_PREFIX

N = 120
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(N, 3)), RNG.integers(0, 2, N)
FRAME = pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(label=pl.Series(Y))


def model(**params: Any) -> Any:
    settings = {"n_estimators": 3, "learning_rate": 0.3, "min_samples_leaf": 3, "random_state": 0}
    return committee.GradientBoostingClassifier(**settings | params)  # type: ignore[arg-type]


def refuses(pieces: Any, message: str, kind: type[Exception] = ValueError, y: Any = None, weights: Any = None) -> None:
    unfitted = model()
    before = dict(vars(unfitted))
    with pytest.raises(kind, match=message):
        unfitted.fit(pieces, y, weights)
    assert vars(unfitted) == before


class Changing:
    """Pieces that are others in each pass."""

    def __init__(self, *passes: list[Any]) -> None:
        self.passes = iter(passes)

    def __iter__(self) -> Iterator[Any]:
        return iter(next(self.passes))


HEAD = FRAME[:60]
CONTRADICTIONS: dict[str, tuple[Any, str]] = {
    "a column is missing": (FRAME[60:].drop("b"), "piece 1: the columns are not the learned ones: 'b' missing"),
    "a further column": (FRAME[60:].with_columns(z=1), "piece 1: the columns are not the learned ones: 'z' unexpected"),
    "another order": (FRAME[60:].select("b", "a", "c", "label"), "piece 1: the columns are in another order.*select"),
    "text": (FRAME[60:].with_columns(b=pl.lit("x")), "piece 1: column 'b' holds text here and numbers in pieces befor"),
    "dates": (FRAME[60:].with_columns(b=pl.date(2020, 1, 1)), "piece 1: column 'b' holds dates here and .* in pieces"),
    "labels of another type": (
        FRAME[60:].with_columns(label=pl.lit("yes")),
        "piece 1: its labels are of type <U3 in 1D, and those of pieces before of int64 in 1D; make",
    ),
    "a label is missing": (FRAME[60:].with_columns(label=None), "piece 1: column 'label' is missing in 60 rows"),
    "no labels": (FRAME[60:].drop("label"), "piece 1: there is no column 'label'; there are 'a', 'b', 'c'"),
    "infinity": (FRAME[60:].with_columns(b=np.inf), "piece 1: column 'b' holds infinity at row 0; replace it"),
    "an array": (X[60:], "piece 1: 'label' names a column, but the pieces are arrays"),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_pieces_that_contradict_each_other(case):
    piece, message = CONTRADICTIONS[case]
    refuses(scan([HEAD, piece]), message, y="label")


def test_cells_without_weight_have_a_kind():
    only = HEAD.with_columns(b=pl.Series([None] * 59 + [1.0]))
    message, weights = CONTRADICTIONS["text"][1], np.append(np.ones(N - 1), 0.0)
    refuses(scan([only, CONTRADICTIONS["text"][0]]), message, y="label", weights=np.roll(weights, 60))


OTHER_TUPLES: dict[str, tuple[list[Any], str]] = {
    "fewer labels": ([(X, Y[:-1])], "piece 0: it has 120 rows and 119 labels"),
    "fewer weights": ([(X, Y, Y[:-1])], "piece 0: it has 120 rows and 119 weights"),
    "labels in some": ([(X, Y), (X,)], "some pieces bring y and some do not: there are 120 for 240 rows"),
    "weights in some": ([(X, Y), (X, Y, Y)], "some pieces bring weights and some do not: there are 120 for 240 rows"),
    "a list of both": ([[X, Y]], r"piece 0 is a list of 2 that is no table; give rows of one length.* tuple, \(X, y\)"),
    "rows of two lengths": ([(X, Y), ([[1.0, 2.0, 3.0], [4.0]], [0, 1])], "piece 1 is a list of 2 that is no table"),
    "labels of two lengths": ([([[1.0], [2.0]], [[0], [1, 2]])], "piece 0: its y has entries of several lengths"),
    "weights of text": ([(X, Y, Y.astype(str))], "piece 0: its weights hold text, such as '[01]'; weights are numbers"),
    "four parts": ([(X, Y, Y, Y)], r"piece 0 is a tuple of 4; give X, \(X, y\) or"),
    "other columns": ([(X, Y), (X[:, :2], Y)], "piece 1: it has 2 columns, and the pieces before 3; give the same"),
    "no columns": ([(X[:, :0], Y)], r"0 feature\(s\)"),
    "no rows": ([(X[:0], Y[:0])], "the pieces have 0 rows; at least one is needed"),
    "no pieces": ([], "the pieces have 0 rows; at least one is needed"),
    "no labels": ([X], "A classifier requires y to be passed"),
    "negative weights": ([(X, Y, Y - 1.0)], r"sample_weight\[\d+\] is -1.0; weights must not be negative"),
    "no weight": ([(X, Y, 0.0 * Y)], "sample_weight is zero for every row"),
    "text": ([(X, Y), (X.astype(str), Y)], "piece 1: column 'x0' holds '.*' at row 0, and X is an array; make it"),
}


@pytest.mark.parametrize("case", OTHER_TUPLES)
def test_tuples_that_contradict_each_other(case):
    pieces, message = OTHER_TUPLES[case]
    refuses(scan(pieces), message)


def test_labels_of_another_length():
    refuses(scan(X), "inconsistent numbers of samples", y=Y[:-1])
    refuses(scan(X), "sample_weight has shape .*one weight each", y=Y, weights=Y[:-1])


def test_categories_declared_in_some_pieces():
    numbers = pd.DataFrame({"x": [1, 2] * 20})
    pieces = [(numbers.astype("category"), [0, 1] * 20), (numbers, [0, 1] * 20)]
    refuses(scan(pieces), "piece 1: column 'x' is declared categorical in some pieces and not in others")
    orders = [pd.CategoricalDtype(order, ordered=True) for order in (["a", "b"], ["b", "a"])]
    text = pd.DataFrame({"x": ["a", "b"] * 20})
    pieces = [(text.astype(dtype), [0, 1] * 20) for dtype in orders]
    refuses(scan(pieces), "piece 1: column 'x' declares other categories, or in another order")


def test_pieces_that_change():
    parts = [(X[:50], Y[:50]), (X[50:], Y[50:])]
    refuses(scan(Changing(parts, parts[:1])), "the pieces had 120 rows in the first pass, and 50 in the next")
    refuses(scan(Changing(parts, [*parts, (X, Y)])), "the pieces had 120 rows in the first pass, and 240 in the next")
    refuses(scan(Changing(parts, parts[::-1])), "piece 0 holds other rows than in the first pass.*in the same order")


@pytest.mark.parametrize("library", ["polars", "Enum", "pandas", "Arrow", "codes"])
def test_categories_that_change(library):
    settings: dict[str, Any] = {}
    dtype = pl.Enum(["y", "new", "x"]) if library == "Enum" else pl.String
    kept = np.where(RNG.random(N) < 0.5, "x", "y").tolist()
    columns = (kept, [*kept[:-1], "new"], kept[::-1])  # a third category in the last row, and other cells in all rows
    frames = [FRAME.with_columns(c=pl.Series(cells, dtype=dtype)) for cells in columns]
    given: list[Any] = frames
    if library == "pandas":
        given = [frame.to_pandas().astype({"c": "category"}) for frame in frames]
    if library == "Arrow":
        given = [frame.to_arrow() for frame in frames]
    if library == "codes":
        settings, numbers = {"categorical_features": [2]}, {"x": 3.0, "y": 7.0, "new": 9.0}
        given = [(frame.with_columns(pl.col("c").replace_strict(numbers))) for frame in frames]
        given = [(frame.select("a", "b", "c").to_numpy(), Y) for frame in given]
    label = None if library == "codes" else "label"
    model(**settings).fit(scan(Changing([given[0]], [given[0]])), label)
    new = "9.0" if library == "codes" else "'new'"
    for other, message in (
        (given[1], f"piece 0: column '.*' holds the category {new} at row 119, which was not there in the first"),
        (given[2], "piece 0 holds other rows than in the first pass"),
    ):
        with pytest.raises(ValueError, match=f"{message}.*the same, in the same order"):
            model(**settings).fit(scan(Changing([given[0]], [other])), label)


def test_categories_that_come_in_the_second_pass_alone():
    empty = FRAME.with_columns(c=pl.lit(None, dtype=pl.String))
    parts = [FRAME[:50].with_columns(c=None), empty[50:]]
    refuses(
        scan(Changing(parts, [parts[0], parts[1].with_columns(c=pl.lit("x"))])),
        "piece 1: column 'c' holds the category 'x' at row 0, which was not there",
        y="label",
    )


def test_weights_too_small_to_count_with_pieces_that_change():
    weights = np.ones(N)
    weights[7] = 1e-300
    parts = [(X, Y, weights)]
    refuses(scan(Changing(parts, [(X[::-1], Y, weights)], parts)), "piece 0 holds other rows than in the first pass")
    refuses(scan(Changing(parts, parts[:0])), "the pieces had 120 rows in the first pass, and 0 in the next")
    refuses(scan(Changing(parts, parts * 2)), "the pieces had 120 rows in the first pass, and 240 in the next")


def test_a_file_that_changes(tmp_path, monkeypatch):
    path = tmp_path / "rows.parquet"
    FRAME.write_parquet(path)
    blocks = OutOfCoreMatrix.blocks

    def after_a_change(matrix: OutOfCoreMatrix, n_threads: int = 1) -> Any:
        FRAME[::-1].write_parquet(path)
        os.utime(path, ns=(0, 0))
        return blocks(matrix)

    monkeypatch.setattr(OutOfCoreMatrix, "blocks", after_a_change)
    refuses(scan(path), r"rows.parquet' has changed since its rows were first read; begin again", y="label")

    def after_its_end(matrix: OutOfCoreMatrix, n_threads: int = 1) -> Any:
        path.unlink()
        return blocks(matrix)

    FRAME.write_parquet(path)
    monkeypatch.setattr(OutOfCoreMatrix, "blocks", after_its_end)
    refuses(scan(path), "has changed since its rows were first read", y="label")


def test_sources_that_are_none(tmp_path):
    cases: list[tuple[Any, type[Exception], str]] = [
        (iter([X]), TypeError, "a list_iterator, which can be read only once.*give a list, or an object whose __iter"),
        ((piece for piece in [X]), TypeError, "a generator, which can be read only once"),
        (7, TypeError, "scan was given a int; give a path, an array"),
        (FRAME, TypeError, "scan was given a DataFrame; pass a frame in memory to fit"),
        (X[0], ValueError, "an array of 1 dimensions"),
        (tmp_path / "none.parquet", FileNotFoundError, "there is no file"),
        (str(tmp_path / "*.parquet"), FileNotFoundError, "there is no file"),
        (tmp_path, FileNotFoundError, "there is no file.*endings that are read are .parquet, .csv"),
    ]
    for given, kind, message in cases:
        with pytest.raises(kind, match=message):
            scan(given)
    (tmp_path / "a.doc").write_text("x\n", "utf-8")
    with pytest.raises(ValueError, match=r"a.doc' has an unknown ending; files read in pieces end in .parquet"):
        scan(tmp_path / "a.doc")
    (tmp_path / "a.csv").write_text("x,y\n1,0\n", "utf-8")
    FRAME.write_parquet(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"several kinds, such as .*; scan those of one kind"):
        scan(tmp_path)


def test_arguments_that_are_none(tmp_path):
    for arguments, kind, message in [
        ({"memory_limit": "much"}, ValueError, "memory_limit='much' is no number of bytes"),
        ({"memory_limit": 0}, ValueError, "memory_limit=0 is no number of bytes"),
        ({"memory_limit": -3}, ValueError, "memory_limit=-3 is no number of bytes"),
        ({"memory_limit": np.nan}, ValueError, "memory_limit=nan is no number of bytes"),
        ({"memory_limit": [1]}, ValueError, r"memory_limit=\[1\] is no number of bytes"),
        ({"columns": "a"}, TypeError, r"columns must be a list of names, got the string 'a'; write \['a'\]"),
        ({"columns": []}, ValueError, "columns must name at least one column"),
        ({"scratch": tmp_path / "none"}, FileNotFoundError, "is no folder; make it first"),
    ]:
        with pytest.raises(kind, match=message):
            scan(X, **arguments)
    refuses(scan([FRAME], columns=["a", "bb"]), "piece 0: there is no column 'bb'; did you mean 'b'", y="label")
    refuses(scan([FRAME]), "piece 0: there is no column 'lable'; did you mean 'label'", y="lable")
    refuses(scan(X, columns=["a"]), r"columns=\['a'\] are names, but the pieces are arrays, whose columns have", y=Y)
    for named in ({"y": "label"}, {"y": Y, "weights": "label"}):
        message = "column 'label' holds labels or weights, and columns= names it among the features; leave it out"
        refuses(scan(FRAME.lazy(), columns=["a", "label"]), message, **named)
    fitted = model().fit(FRAME.select("a", "b"), Y)
    with pytest.raises(ValueError, match="column 'label' holds labels or weights"):
        fitted.score(scan(FRAME.lazy(), columns=["a", "b", "label"]), "label")
    text = FRAME.with_columns(t=pl.lit("much"))
    refuses(scan([text]), "piece 0: sample_weight='t' holds text, such as 'much'; weights", y="label", weights="t")


def test_paths_in_the_place_of_tables(tmp_path):
    FRAME.write_parquet(tmp_path / "a.parquet")
    fitted = model().fit(X, Y)
    for path in (tmp_path / "a.parquet", str(tmp_path)):
        refuses(path, r"X is a path, not a table; pass committee.scan\('.*'\)", TypeError, y="label")
        with pytest.raises(TypeError, match="X is a path"):
            fitted.predict(path)
    for given in ("s3://bucket/x.parquet", Path("https://example.org/*.csv"), ["gs://bucket/x.parquet"]):
        with pytest.raises(ValueError, match=r"is a remote path, which is not supported; copy"):
            scan(given)


def test_errors_of_lazy_frames_have_one_line():
    query = FRAME.lazy().with_columns(b=pl.lit("x").cast(pl.Int64))
    for lazy, message in (
        (query, "the LazyFrame cannot be read: conversion from `str` to `i64` failed"),
        (FRAME.lazy().select("a", "zz"), "the LazyFrame cannot be read: unable to find column"),
    ):
        with pytest.raises(ValueError, match=message) as raised:
            model().fit(lazy, Y)
        assert "\n" not in str(raised.value)
    refuses(scan(FRAME.lazy(), columns=["a", "bb"]), "there is no column 'bb'; did you mean 'b'", y="label")


def test_rows_in_errors_are_counted_within_the_piece(tmp_path):
    path = tmp_path / "a.parquet"
    FRAME.with_columns(b=pl.when(pl.int_range(N) == 70).then(np.inf).otherwise("b")).write_parquet(path)
    with patch.object(sources, "CELLS", 3 * 64), patch.object(sources, "LEAST_ROWS", 64):
        message = "rows 64 to 119: column 'b' holds infinity at row 6; .*; rows are counted from the beginning of the p"
        refuses(scan(path), message, y="label")


def test_a_scratch_folder_that_cannot_be_made(tmp_path):
    with patch("tempfile.mkdtemp", side_effect=PermissionError(errno.EACCES, "Permission denied")):
        refuses(
            scan([(X, Y)], memory_limit=1, scratch=tmp_path),
            r"no scratch folder can be made here \(Permission denied\); choose another by scan\(..., scratch=",
            PermissionError,
        )


def test_a_column_of_folders_that_some_files_hold_too(tmp_path):
    for folder, frame in (("b=1", FRAME.drop("b")), ("b=2", FRAME)):
        (tmp_path / folder).mkdir()
        frame.write_parquet(tmp_path / folder / "a.parquet")
    refuses(scan(tmp_path), "column 'b' is in this file, and in others only in names of folders", y="label")


def test_broken_files(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no more")
    refuses(scan(tmp_path), "a.parquet' cannot be read as Parquet", y="label")
    FRAME.write_parquet(tmp_path / "a.parquet")
    FRAME.drop("b").write_parquet(tmp_path / "b.parquet")
    refuses(scan(tmp_path), "b.parquet'.*column 'b'", y="label")
    refuses(scan(tmp_path, columns=["a", "b"]), "b.parquet': there is no column 'b', which others have", y="label")
    refuses(scan(tmp_path, columns=["a", "zz"]), "a.parquet': there is no column 'zz'; there are 'a', 'b'", y="label")
    folder = tmp_path / "text"
    folder.mkdir()
    FRAME.write_csv(folder / "a.csv")
    (folder / "b.csv").write_text("a,label\n1,0\n", "utf-8")
    refuses(scan(folder), "b.csv': column 'b' is missing in some files", y="label")
    (folder / "b.csv").write_text("a,b,b,label\n1,2,3,0\n", "utf-8")
    refuses(scan(folder), "b.csv' has the column 'b' more than once", y="label")
    (folder / "b.csv").write_text("a,b,c,label\n1,2,3,0\n1,2,3,4,5,6\n", "utf-8")
    refuses(scan(folder), "b.csv' has 6 cells in line 3, but 4 column names", y="label")


@pytest.mark.parametrize(
    ("text", "option", "remedies"),
    [
        (
            b"a,label\n1,0\n1,2,3\n",
            "--sep",
            ["name the separator with TableReader(separator=...)", "column names with TableReader(skip_lines=...) ("],
        ),
        ("a,st\xe4dt\n1,0\n".encode("cp1252"), "--encoding cp1252", ["e.g. TableReader(encoding='cp1252') for a file"]),
        (b"1,2,2\n1,0,3\n", "--no-header", ["a row of data, TableReader(header=False) names the columns"]),
        (b"a     label\n10    0\n1     1\n", "--scratch", ["or read it whole with TableReader"]),
    ],
)
def test_errors_of_text_files_name_options_for_the_command_line_alone(text, option, remedies, tmp_path):
    (tmp_path / "a.csv").write_bytes(text)
    pieces = scan(tmp_path / "a.csv")
    by_options = replace(pieces, source=replace(pieces.source, by_options=True))
    with pytest.raises(ValueError, match=option):
        list(by_options)
    with pytest.raises(ValueError) as raised:
        list(pieces)
    message = str(raised.value)
    assert "--" not in message and all(remedy in message for remedy in remedies)
    assert ("(TableReader reads the file into memory" in message) == (option != "--scratch")
    assert message.endswith("; scan also takes a polars LazyFrame)") == (option in ("--sep", "--no-header"))


def test_callers_that_take_no_pieces():
    fitted = model().fit(X, Y)
    for call in (fitted.contributions, fitted.apply, lambda rows: next(fitted.staged_predict(rows))):
        with pytest.raises(TypeError, match=r"X is read in chunks, which fit, predict.*give rows in memory here"):
            call(scan(X))
    with pytest.raises(TypeError, match="X is read in chunks"):
        model(early_stopping=True).fit(X, Y, X_val=scan(X), y_val=Y)
    with pytest.raises(TypeError, match="X is read in chunks"):
        committee.MarginReweighter(fitted).fit(scan(X), Y)
    with pytest.raises(TypeError, match=r"X is read in chunks \(Pieces\), not supported here"):
        committee.quadboost_path(scan(X), Y)
    with pytest.raises(ValueError, match="score needs y: give"):
        fitted.score(scan(X))
    with pytest.raises(ValueError, match=r"piece 1: X has 2 features, but .* is expecting 3"):
        fitted.predict(scan([X, X[:, :2]]))
    with pytest.raises(ValueError, match="the pieces have 0 rows"):
        fitted.predict(scan([X[:0]]))


def left(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(SCRATCH_PREFIX)]


def test_the_scratch_folder_is_removed(tmp_path, monkeypatch):
    pieces = scan([(X, Y)], memory_limit=1, scratch=tmp_path)
    seen = []
    mapped = Storage.mapped

    def watched(storage: Storage, *given: Any) -> Any:
        array = mapped(storage, *given)
        seen.append(left(tmp_path))
        return array

    monkeypatch.setattr(Storage, "mapped", watched)
    model().fit(pieces)
    assert [len(folders) for folders in seen] == [1] and not left(tmp_path)
    committee.SBPMTClassifier(n_estimators=2, random_state=0).fit(pieces)
    assert len(seen) > 1 and all(seen) and not left(tmp_path)

    for error in (KeyboardInterrupt, MemoryError, ValueError):

        def fails(*given: Any, error: type[BaseException] = error) -> Any:
            watched(*given)
            raise error("here")

        monkeypatch.setattr(Storage, "mapped", fails)
        with pytest.raises(error, match="here"):
            model().fit(pieces)
        assert seen[-1] and not left(tmp_path)


def test_a_full_disk(tmp_path, monkeypatch):
    def full(*given: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(OSError, match=r"no room for 360 bytes of codes in the scratch folder; free some") as raised:
        model().fit(scan([(X, Y)], memory_limit="10 B", scratch=tmp_path))
    assert raised.value.errno == errno.ENOSPC and not left(tmp_path)

    def broken(*given: Any) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "posix_fallocate", broken, raising=False)
    with pytest.raises(OSError, match=re.escape("[Errno 5] Input/output error")):
        model().fit(scan([(X, Y)], memory_limit=1, scratch=tmp_path))
    assert not left(tmp_path)


def test_systems_that_reserve_no_room(tmp_path, monkeypatch):
    whole = model().fit(X, Y)
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    monkeypatch.setattr("committee.data.out_of_core.training_pieces._ZEROS", 100)
    found = model().fit(scan([(X, Y)], memory_limit=1, scratch=tmp_path))
    np.testing.assert_array_equal(found.predict_proba(X), whole.predict_proba(X))


def test_checkpoints_know_the_rows(tmp_path, monkeypatch):
    path = tmp_path / "fit"
    whole = model().fit(scan([(X, Y)]))

    class StoppedError(Exception):
        pass

    def stops(estimator: Any, *_: Any) -> None:
        raise StoppedError

    monkeypatch.setattr(type(whole), "_finished", stops)
    with pytest.raises(StoppedError):
        model().fit(scan([(X, Y)]), checkpoint=path)
    monkeypatch.undo()
    monkeypatch.setattr(sources, "CELLS", 10)
    with pytest.raises(committee.CheckpointError, match="other rows"):
        model().fit(scan([(X + 1, Y)]), checkpoint=path)
    again = model().fit(scan([(X[:7], Y[:7]), (X[7:], Y[7:])]), checkpoint=path)
    np.testing.assert_array_equal(again.predict_proba(X), whole.predict_proba(X))


def test_an_unseen_category_of_a_piece_is_explained_once():
    kinds = pd.DataFrame({"kind": list("abd") * 20})
    pipeline = make_pipeline(OneHotEncoder(), RandomForestClassifier(3, random_state=0)).fit(kinds, Y[:60])
    reweighted = committee.MarginReweighter(pipeline).fit(kinds, Y[:60])
    found = (
        r"^piece 0: column 'kind' holds the category 'z' at row 1 \(rows are counted from the beginning of the piece\)"
    )
    with pytest.raises(ValueError, match=found) as caught:
        reweighted.predict(scan([pd.DataFrame({"kind": ["a", "z"]})]))
    assert str(caught.value).count("did not occur in training") == 1
