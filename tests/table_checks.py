"""What every learner must be able to do with the tables that come in: layouts, frames, gaps and sparse rows."""

import copy
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from operator import methodcaller
from pathlib import Path
from typing import Any
from unittest.mock import patch

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray
from scipy.sparse import csc_array, csc_matrix, csr_array
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

from committee import scan
from committee.learners.blend.blend import Blend
from tests.small_portfolio import use_members_of_sparse_rows
from tests.subjects import Subject, assert_same_bits, assert_same_parts, everything, weights


def check_inputs_are_not_changed(subject: Subject) -> None:
    X, y = subject.numbers()
    w = weights() * (y != 1)
    given = (X, y, w)
    before = copy.deepcopy(given)
    for array in given:
        array.flags.writeable = False
    subject.answers(subject.fit(X, y, w), X)
    frame = pd.DataFrame(X)
    subject.answers(subject.fit(frame, pd.Series(y), pd.Series(w)), frame)
    for array, copied in zip(given, before, strict=True):
        assert_array_equal(array, copied)


def check_memory_layouts(subject: Subject) -> None:
    X, y = subject.numbers()
    X = X.astype(np.float32).astype(np.float64)
    model = subject.fit(X, y)
    wide = np.zeros((240, 10))
    wide[::2, ::2] = X
    for same in (X.astype(np.float32), np.asfortranarray(X), wide[::2, ::2], X.tolist(), X.astype(object)):
        assert_same_bits(subject.fit(same, y), model, X)
        assert_array_equal(subject.answers(model, same), subject.answers(model, X))
    whole = np.rint(4 * X)
    for dtype in (np.int8, np.int64, np.float32):
        assert_same_bits(subject.fit(whole.astype(dtype), y.astype(dtype)), subject.fit(whole, y.astype(dtype)), whole)


def check_frames_of_numbers(subject: Subject) -> None:
    X, y = subject.numbers()
    frame = pd.DataFrame(X, columns=list("abcde"))
    plain = subject.fit(X, y)
    for table in (frame, pl.DataFrame(X, schema=list("abcde")), pa.Table.from_pandas(frame), frame.astype("Float64")):
        model = subject.fit(table, y)
        assert_same_bits_of_tables(subject, model, plain, table, X)
        assert model.feature_names_in_.tolist() == list("abcde")
        assert_array_equal(subject.answers(model, frame), subject.answers(plain, X))


def assert_same_bits_of_tables(subject: Subject, model: Any, other: Any, table: Any, other_table: Any) -> None:
    assert_same_parts(model, other)
    assert_array_equal(subject.answers(model, table), subject.answers(other, other_table))


def check_frames_of_everything(subject: Subject) -> None:
    columns, y = everything(missing=subject.takes_missing)
    first = subject.fit(pl.DataFrame(columns), y)
    categorical = pd.DataFrame(columns).astype({"colour": "category"})
    tables = [pd.DataFrame(columns), pa.table(columns), categorical]
    tables.append(pl.DataFrame(columns).with_columns(pl.col("colour").cast(pl.Categorical)))
    for table in tables:
        assert_same_bits_of_tables(subject, subject.fit(table, y), first, table, pl.DataFrame(columns))
    assert first.score(tables[0], y) > (0.0 if subject.predicts_numbers else 0.6)


def check_missing_at_fit(subject: Subject) -> None:
    X, y = subject.numbers()
    X[np.random.default_rng(5).random(X.shape) < 0.2] = np.nan
    X[:, 4] = np.nan
    model = subject.fit(X, y)
    assert np.isfinite(subject.answers(model, X)).all()
    frame = pl.DataFrame(X, schema=list("abcde"))
    for table in (frame, frame.fill_nan(None), frame.fill_nan(None).to_pandas(), frame.fill_nan(None).to_arrow()):
        assert_same_bits_of_tables(subject, subject.fit(table, y), model, table, X)


def check_missing_only_at_predict(subject: Subject) -> None:
    X, y = subject.numbers()
    model = subject.fit(X, y)
    p, whole = subject.answers(model, np.where(X > 1, np.nan, X)), (X <= 1).all(axis=1)
    for said in (p, subject.answers(model, np.full((2, 5), np.nan))):
        assert np.isfinite(said).all()
        assert subject.predicts_numbers or np.allclose(said.sum(axis=1), 1.0)
    assert_array_equal(p[whole], subject.answers(model, X)[whole])


def check_unseen_category_is_missing(subject: Subject) -> None:
    columns, y = everything(missing=True)
    model = subject.fit(pl.DataFrame(columns), y)
    unseen = pl.DataFrame(columns | {"colour": ["mauve"] * len(y)})
    absent = pl.DataFrame(columns | {"colour": pl.Series([None] * len(y), dtype=pl.String)})
    assert_array_equal(subject.answers(model, unseen), subject.answers(model, absent))
    assert_array_equal(subject.answers(model, unseen.to_pandas()), subject.answers(model, absent))


def check_sparse_rows(subject: Subject) -> None:
    """A sparse table gives the bits of the same table with all its cells, or a refusal that says what to do."""
    X, y = subject.numbers()
    X[np.abs(X) < 1.0] = 0.0
    model = clone(subject.model)
    if not get_tags(model).input_tags.sparse:
        step = FunctionTransformer(methodcaller("toarray"), accept_sparse=True)
        with pytest.raises(
            TypeError, match=r"X is a sparse csr_array, which .*methodcaller\('toarray'\), accept_sparse"
        ):
            model.fit(csr_array(X), y)
        assert_array_equal(make_pipeline(step, model).fit(csr_array(X), y).predict(csc_array(X)), model.predict(X))
        return
    if hasattr(model, "leaf"):  # leaves with lines are for dense rows
        subject = replace(subject, model=model.set_params(leaf="constant"))
    with pytest.MonkeyPatch.context() as patch:
        if isinstance(model, Blend):  # some of its members are for dense rows
            use_members_of_sparse_rows(patch)
        dense, sparse = subject.fit(X, y, weights()), subject.fit(csr_array(X), y, weights())
        assert_same_bits(dense, sparse, X)
        for rows in (csr_array(X), csc_matrix(X)):
            assert_array_equal(subject.answers(sparse, rows), subject.answers(dense, X))
            for ours, theirs in zip(sparse.staged_predict(rows), dense.staged_predict(X), strict=True):
                assert_array_equal(ours, theirs)


def check_pieces(subject: Subject) -> None:
    """Rows in pieces, of arrays and of frames, with bin numbers in memory and in a file; the last brings a class."""
    X, y = subject.numbers()
    w = weights() * (y != 1)
    if not subject.predicts_numbers:
        y = np.where(y == y.max(), y[-1], y)
        y[-1] = 7
    target, ends = subject.target(y), [50, 50, 119, len(y)]
    whole = subject.fit(X, y, w)
    for limit in (None, 1):
        pieces = scan(cut(ends, X, target, w), memory_limit=limit)
        model = clone(subject.model).fit(pieces)
        assert_same_bits(model, whole, X)
        assert_array_equal(subject.answers(model, scan(cut([3, 100, len(y)], X))), subject.answers(whole, X))
        assert model.score(pieces) == whole.score(X, target, w)
    columns, y = everything(missing=subject.takes_missing)
    frame, target = pl.DataFrame(columns), subject.target(y)
    whole = subject.fit(frame, y)
    model = clone(subject.model).fit(frame.lazy(), target)
    assert model.table_ == whole.table_
    assert_same_bits_of_tables(subject, model, whole, frame.lazy(), frame)


@contextmanager
def sampled(most: int) -> Iterator[None]:
    """Let edges be learned from at most so many rows."""
    with (
        patch("committee.data.bins.MAX_SAMPLE", most),
        patch("committee.data.out_of_core.table_summary.MAX_SAMPLE", most),
    ):
        yield


def cut(ends: Sequence[int], *parts: Any) -> list[Any]:
    """Rows of tables and vectors, as pieces that end there; a part that is None is in no piece."""
    given = [part for part in parts if part is not None]
    starts = [0, *ends[:-1]]
    tuples = [tuple(part[a:b] for part in given) for a, b in zip(starts, ends, strict=True)]
    return [each[0] if len(each) == 1 else each for each in tuples]


@st.composite
def ends_of_pieces(draw: st.DrawFn, n: int) -> list[int]:
    """Where pieces of n rows end; some of them are empty."""
    return [*sorted(draw(st.lists(st.integers(0, n), max_size=6))), n]


def table(n: int, seed: int, kind: str) -> Any:
    """An array, or a frame with text, booleans and many levels, the last of them in its last rows alone."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(rng.integers(0, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    if kind == "array":
        return X
    few = rng.choice(["a", "b", "c"], n).astype(object)
    few[n - 1] = "late"
    few[rng.random(n) < 0.2] = None
    many = np.array([f"level {k}" for k in rng.integers(0, 25 if kind == "many levels" else 5, n)])
    columns = {"x": X[:, 0], "few": few.tolist(), "y": X[:, 1], "flag": (X[:, 2] > 0).tolist(), "many": many.tolist()}
    return pl.DataFrame(columns)


def saved(model: Any) -> bytes:
    """The bytes of a model's file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        model.save(path)
        return path.read_bytes()


def weights_of(n: int, seed: int, kind: str) -> NDArray[np.float64] | None:
    """Weights of rows: none, whole numbers with zeros, or some too small to count."""
    rng = np.random.default_rng(seed)
    if kind == "none":
        return None
    weights = rng.integers(0, 4, n).astype(float)
    weights[0] = weights[n - 1] = 1.0
    if kind == "tiny":
        weights[rng.random(n) < 0.2] = 1e-200
        weights[0] = 1.0
    return weights
