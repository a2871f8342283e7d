"""Tables that need not fit in memory: `scan`, and the pieces that it reads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from committee.data.in_pieces import InPieces
from committee.data.memory_text import bytes_of
from committee.data.pieces.piece import Piece
from committee.data.pieces.source import Source
from committee.data.pieces.sources import source_of
from committee.data.pieces.unchanged import FileStates


@dataclass(frozen=True, eq=False)
class Pieces(InPieces):
    """A table that is read piece by piece; made by `scan`.

    Parameters
    ----------
    source : Source
        Where its pieces come from.
    columns : tuple of str or None
        Columns that are features; None: all that are neither labels nor weights.
    memory_limit : float or None
        Most bytes that the bin numbers of a fit may have in memory.
    scratch : Path or None
        Folder in which a fit makes its scratch folder; None: the system's.
    """

    source: Source
    columns: tuple[str, ...] | None = None
    memory_limit: float | None = None
    scratch: Path | None = None
    without: tuple[str, ...] = ()
    """Columns that are labels or weights."""

    def __iter__(self) -> Iterator[Piece]:
        """Read the pieces with the columns that are features, labels or weights."""
        columns = None if self.columns is None else tuple(dict.fromkeys([*self.columns, *self.without]))
        return self._read(columns)

    def of_features(self) -> Iterator[Piece]:
        """Read the pieces without the columns of labels and weights."""
        columns, names = self.columns, self.source.names
        if columns is None and names is not None:
            columns = tuple(name for name in names if name not in self.without)
        for piece in self._read(columns):
            with piece.named_in_errors():
                features = piece.with_columns(self.columns, self.without)
            yield features

    def with_targets(self, names: tuple[str, ...]) -> Pieces:
        """Return the pieces with these columns as labels and weights.

        Raises
        ------
        ValueError
            If one of them is among the `columns` that are to be features.
        """
        for name in names:
            if name in (self.columns or ()):
                raise ValueError(
                    f"column {name!r} holds labels or weights, and columns= names it among the features; leave it out"
                    " there"
                )
        return replace(self, without=names)

    def for_model(self, names: Sequence[str] | None, without: tuple[str, ...]) -> Pieces:
        """Return the pieces for a model of columns with these `names`, which are read if nobody has said which."""
        if names is None or self.columns is not None or self.source.names is None:
            return self.with_targets(without)
        return replace(self, columns=tuple(names), without=without)

    def _read(self, columns: tuple[str, ...] | None) -> Iterator[Piece]:
        return self.source.pieces(None if self.source.names is None else columns)

    @property
    def files(self) -> FileStates:
        """The files that are read, as they are now; none of sources that are in memory."""
        return FileStates.of(getattr(self.source, "files", ()))


def scan(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    memory_limit: float | str | None = None,
    scratch: str | os.PathLike[str] | None = None,
) -> Pieces:
    """Read a table in pieces, for `fit`, `predict` and `score` of every learner that takes it.

    Parameters
    ----------
    source : path, array, lazy frame, Dask collection or iterable
        A file, a folder or a pattern such as ``"big/*.parquet"`` of Parquet or CSV files, or a list of such; an array,
        memory-mapped or not; a polars LazyFrame; a Dask dataframe or array; or any object that gives the same pieces
        whenever it is iterated: X, (X, y) or (X, y, weight), each a frame or an array.
    columns : sequence of str, default=None
        Columns that are features; None: all that are neither labels nor weights.
    memory_limit : int or str, default=None
        Most memory that the bin numbers of a fit, one or two bytes a cell, may take, such as ``"2 GB"``; where they
        would take more they are written to a file in a scratch folder and mapped. None: they are in memory.
    scratch : path, default=None
        Folder in which a fit makes its scratch folder, and removes it when it ends; None: the system's.

    Returns
    -------
    Pieces

    Raises
    ------
    FileNotFoundError
        If no file is there.
    TypeError, ValueError
        If `source` is nothing of these, can be read only once, or another argument is no such thing.

    Examples
    --------
    >>> import committee, numpy as np
    >>> X = np.arange(8.0).reshape(4, 2)
    >>> model = committee.TreeVoter(min_samples_leaf=1).fit(scan([(X[:3], [0, 0, 1]), (X[3:], [1])]))
    >>> model.predict(scan(X)).tolist()
    [0, 0, 1, 1]
    """
    limit = None if memory_limit is None else bytes_of(memory_limit)
    if isinstance(columns, str):
        raise TypeError(f"columns must be a list of names, got the string {columns!r}; write [{columns!r}]")
    chosen = None if columns is None else tuple(columns)
    if chosen is not None and not chosen:
        raise ValueError("columns must name at least one column, or be None")
    folder = None if scratch is None else Path(scratch)
    if folder is not None and not folder.is_dir():
        raise FileNotFoundError(f"scratch={str(folder)!r} is no folder; make it first")
    return Pieces(source_of(source), chosen, limit, folder)


def as_pieces(X: Any) -> Pieces:
    """Return what `is_in_pieces` as pieces."""
    return X if isinstance(X, Pieces) else scan(X)
