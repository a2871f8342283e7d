"""The first look at a table in pieces: its columns, and the rows from which edges of bins are learned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.arrays import numeric_matrix
from committee.data.column_edges import MAX_SAMPLE, edges_of, end_to_end
from committee.data.columns import Column
from committee.data.frame_columns import (
    CategoricalFeatures,
    chosen_columns,
    columns_of,
    is_frame,
    match_names,
    names_of,
    open_frame,
)
from committee.data.frames import TableSchema
from committee.data.number_types import F64
from committee.data.pieces.category_words import sampled_words
from committee.data.pieces.column_look import ColumnLook
from committee.data.row_sample import RowSample


@dataclass(eq=False)
class FirstLook:
    """What has to be known of all rows before the first of them can be encoded.

    Pieces are looked at in any order, each with the number of its first row; looks at different rows can be merged,
    pickled and sent. Whatever the pieces, the schema and the edges are those of the same table in memory.

    Parameters
    ----------
    categorical_features : "from_dtype", None, names, indices or boolean mask, default="from_dtype"
        As of `TableSchema.learn`.
    max_bins : int, default=255
        Distinct values of a column of numbers are kept as long as there are no more.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [2.0, 5.0], [4.0, np.nan]])
    >>> first, last = FirstLook(), FirstLook()
    >>> first.look(X[:2])
    >>> last.look(X[2:], first_row=2)
    >>> edges, offset = first.merged(last).edges(255, None)
    >>> edges.tolist(), offset.tolist()
    ([1.5, 3.0], [0, 2, 2])
    """

    categorical_features: CategoricalFeatures = "from_dtype"
    max_bins: int = 255
    most_sampled: int = field(default_factory=lambda: MAX_SAMPLE)
    n_rows: int = 0
    """Rows that count, of all pieces looked at."""
    names: tuple[str, ...] | None = None
    columns: tuple[ColumnLook, ...] = ()
    sample: RowSample | None = None

    def look(self, X: Any, first_row: int = 0, keep: NDArray[np.bool_] | None = None) -> None:
        """Look at a piece.

        Parameters
        ----------
        X : frame or array-like (n, p)
            The piece.
        first_row : int, default=0
            Number of its first row that counts, among all rows of the table that count.
        keep : bool array (n,), default=None
            Which rows count, as they have weight; None: all. Of the others only categories are looked at.

        Raises
        ------
        TypeError, ValueError
            As of `TableSchema.learn`, or if the piece has other columns or types than those before.
        """
        names, columns, cells, n_rows = _read(X, self.categorical_features)
        if not columns:
            raise ValueError("a table must have at least one column, got 0 feature(s)")
        if not self.columns:
            self.names, self.sample = names, RowSample(len(columns), self.most_sampled)
        self._check_columns(names, len(columns))
        assert self.sample is not None
        n = n_rows if keep is None else int(np.count_nonzero(keep))
        chosen = self.sample.chosen(first_row, n)
        at = chosen if keep is None else np.flatnonzero(keep)[chosen]
        sampled = np.empty((len(at), len(columns)))
        looked = []
        for j, (column, values) in enumerate(zip(columns, cells, strict=True)):
            sampled[:, j] = values[at] if isinstance(values, np.ndarray) else sampled_words(values, at)
            if isinstance(values, np.ndarray) and column.kind is not None and not column.categorical:
                known = self.columns[j].values if self.columns else column.values
                column = self._with_numbers(column, values if keep is None else values[keep], known)
            looked.append(self.columns[j].merged(column, self.max_bins) if self.columns else column)
        self.columns = tuple(looked)
        self.sample.add(first_row, sampled, chosen)
        self.n_rows += n

    def _with_numbers(self, column: ColumnLook, values: NDArray[Any], known: F64 | None) -> ColumnLook:
        if known is None:  # too many already: nothing but whether there is a number is of interest
            values = values[:1] if len(values) and not np.isnan(values[0]) else values
        return column.with_numbers(np.ascontiguousarray(values, dtype=np.float64), self.max_bins)

    def merged(self, other: FirstLook) -> Self:
        """Return the look at the rows of both, which have none in common.

        Raises
        ------
        ValueError
            If their columns contradict each other.
        """
        if not self.columns or not other.columns:
            return self._with(self if self.columns else other)
        self._check_columns(other.names, len(other.columns))
        both = self._with(self)
        pairs = zip(self.columns, other.columns, strict=True)
        both.columns = tuple(one.merged(another, self.max_bins) for one, another in pairs)
        assert self.sample is not None and other.sample is not None
        both.sample, both.n_rows = self.sample.merged(other.sample), self.n_rows + other.n_rows
        return both

    def _with(self, looked: FirstLook) -> Self:
        return type(self)(
            self.categorical_features,
            self.max_bins,
            self.most_sampled,
            looked.n_rows,
            looked.names,
            looked.columns,
            looked.sample,
        )

    def _check_columns(self, names: tuple[str, ...] | None, n_columns: int) -> None:
        if not self.columns:
            return
        if self.names is not None and names is not None:
            match_names(self.names, names)
        if n_columns != len(self.columns):
            raise ValueError(f"it has {n_columns} columns, and those before have {len(self.columns)}")

    @property
    def schema(self) -> TableSchema:
        """Names and categories of all pieces, as `TableSchema.learn` finds them."""
        return TableSchema(self.names, tuple(column.found for column in self.columns))

    @property
    def sampled_rows(self) -> NDArray[np.int64]:
        """Numbers of the rows from which edges are learned, rising, among all rows that count."""
        assert self.sample is not None
        return self.sample.rows

    def edges(self, max_bins: int, weights: F64 | None, n_threads: int = 1) -> tuple[F64, NDArray[np.int64]]:
        """Edges of all columns end to end, and where each begins, as `Bins` has them.

        Parameters
        ----------
        max_bins : int
            Most bins of a column, at most that of the look.
        weights : float64 array or None
            Weights of the `sampled_rows`; None: all rows count once.
        n_threads : int, default=1
            Ceiling on the number of threads.
        """
        assert self.sample is not None and max_bins <= self.max_bins
        cells = self.sample.cells
        n_categories = self.schema.n_categories
        sampled, offset = _core.bin_edges(cells, weights, n_categories, max_bins, max(1, len(cells)), n_threads)
        edges = [sampled[offset[j] : offset[j + 1]] for j in range(len(self.columns))]
        if self.n_rows > len(cells):  # the sample may have missed rare values of a column with few of them
            for j, column in enumerate(self.columns):
                few = column.values
                if n_categories[j] == 0 and few is not None and 0 < len(few) <= max_bins:
                    edges[j] = edges_of(few, None, max_bins)
        return end_to_end(edges)


def _read(
    X: Any, categorical_features: CategoricalFeatures
) -> tuple[tuple[str, ...] | None, list[ColumnLook], list[NDArray[Any] | Column], int]:
    """Names, kinds and cells of the columns of a piece, and its rows; cells of categories of a frame as they are."""
    if not is_frame(X):
        matrix = numeric_matrix(X, None)
        chosen = chosen_columns(categorical_features, None, matrix.shape[1])
        of_user = np.zeros(matrix.shape[1], dtype=bool) if chosen is None else chosen
        looks = [ColumnLook.of_numbers(matrix[:, j], f"x{j}", bool(of_user[j])) for j in range(matrix.shape[1])]
        return None, looks, list(matrix.T), len(matrix)
    frame = open_frame(X)
    names = names_of(frame.columns)
    chosen = chosen_columns(categorical_features, names, len(frame.columns))
    columns: list[Column] = columns_of(frame, names)
    looks = [
        ColumnLook.of_series(column, None if chosen is None else bool(chosen[j])) for j, column in enumerate(columns)
    ]
    nothing = np.broadcast_to(np.nan, len(frame))
    cells = [
        nothing if look.kind is None else column if look.categorical else column.numbers()
        for look, column in zip(looks, columns, strict=True)
    ]
    return names, looks, cells, len(frame)
