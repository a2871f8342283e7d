"""Tables cut into pieces, and models held against each other bit by bit."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import hypothesis.strategies as st
import numpy as np
import polars as pl
from numpy.typing import NDArray


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
