"""Rows of a table with a column changed, whatever kind of table it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from committee.data.frame_columns import is_frame, open_frame
from committee.data.number_types import F64, Index
from committee.data.sparse import is_sparse


@dataclass(frozen=True, eq=False)
class TableRows:
    """Rows of a user's table, by number; a sparse table's are made dense as they are taken."""

    X: Any

    def __len__(self) -> int:
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)

    def taken(self, rows: Index) -> Any:
        """Those rows, as a table of the same kind."""
        if is_sparse(self.X):
            return self.X.tocsr()[rows].toarray()
        if not is_frame(self.X):
            return np.asarray(self.X)[rows]
        return open_frame(self.X)[rows.tolist()].to_native()

    def with_column(self, rows: Index, column: int, values_of: Index) -> Any:
        """Those rows with the values that other rows have in a column."""
        if not is_frame(self.X):
            changed = np.array(self.taken(rows))
            changed[:, column] = np.asarray(self.taken(values_of))[:, column]
            return changed
        frame = open_frame(self.X)
        name = frame.columns[column]
        values = frame[name][values_of.tolist()]
        return frame[rows.tolist()].with_columns(values.alias(name)).to_native()

    def texts(self, column: int) -> list[str]:
        """Values of a column in words; what is missing is an empty text."""
        if not is_frame(self.X):
            values: list[Any] = np.asarray(self.taken(np.arange(len(self))))[:, column].tolist()
        else:
            frame = open_frame(self.X)
            values = frame[frame.columns[column]].to_list()
        return ["" if value is None or value != value else str(value) for value in values]


def spread_rows(n: int, most: int) -> Index:
    """Numbers of so many rows at most, evenly from the first to the last.

    Examples
    --------
    >>> spread_rows(10, 4).tolist()
    [0, 3, 6, 9]
    """
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))


def encoded_rows(model: Any, X: Any) -> F64:
    """Rows as numbers and codes, by the model's own table."""
    rows: F64 = model.table_.encode(model.validate_rows(X))
    return rows
