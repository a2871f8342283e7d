"""One piece of a table: some of its rows, perhaps with their labels and weights."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.arrays import numeric_matrix
from committee.data.coded_text import CodedText, Labels
from committee.data.columns import Column
from committee.data.frame_columns import is_frame, open_frame
from committee.data.names import hint_of_names

_ROW = re.compile(r"\brow \d")


@dataclass(frozen=True)
class Piece:
    """Rows as they come from a source.

    Parameters
    ----------
    X : frame or array (n, p)
        Cells.
    name : str
        What errors call the piece: its number or its file, and its rows.
    y, weight : array-like (n,) or None
        What the source brings of labels and of weights.
    """

    X: Any
    name: str
    y: Any = None
    weight: Any = None

    def __len__(self) -> int:
        return len(open_frame(self.X)) if is_frame(self.X) else len(self.X)

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Name the piece in an error about its cells, and say how rows are counted where it names one."""
        try:
            yield
        except (TypeError, ValueError) as error:
            counted = "; rows are counted from the beginning of the piece" if _ROW.search(str(error)) else ""
            kind = ValueError if isinstance(error, UnicodeError) else type(error)  # which is made of more than a text
            raise kind(f"{self.name}: {error}{counted}") from error

    def with_columns(self, columns: Sequence[str] | None, without: Sequence[str]) -> Piece:
        """Return the piece with some of its columns alone: those that are asked for, or all but some.

        Raises
        ------
        ValueError
            If columns are asked for that are not there, or of an array, where they have no names.
        """
        if not is_frame(self.X):
            if columns is not None:
                raise ValueError(
                    f"columns={list(columns)!r} are names, but the pieces are arrays, whose columns have none"
                )
            return self
        frame = open_frame(self.X)
        wanted = [name for name in frame.columns if name not in without] if columns is None else list(columns)
        if wanted == frame.columns:
            return self
        self._check(wanted, frame.columns)
        return replace(self, X=frame.select(wanted).to_native())

    def column(self, name: str) -> Labels:
        """Return the cells of one column: text, whole numbers, booleans or numbers.

        Raises
        ------
        ValueError
            If there is none, or a cell is missing in a column that is not of floating-point numbers.
        """
        import narwhals as nw

        if not is_frame(self.X):
            raise ValueError(f"{name!r} names a column, but the pieces are arrays, whose columns have no names")
        frame = open_frame(self.X)
        self._check([name], frame.columns)
        cells = frame[name]
        if cells.null_count():
            raise ValueError(f"column {name!r} is missing in {cells.null_count()} rows; leave such rows out")
        if isinstance(cells.dtype, nw.String | nw.Categorical | nw.Enum):
            column = Column.read(cells, name)
            if column.kind == "text":
                texts = np.array(sorted(map(str, column.distinct())), dtype=np.str_)
                codes = column.codes(texts.tolist())
                return CodedText.of_parts([CodedText(codes.astype(np.uint32), texts)])
        found: NDArray[Any] = cells.to_numpy()
        return found

    def rows(self, first: int, last: int, name: str) -> Piece:
        """Return some of the rows as a piece of that name."""
        X = open_frame(self.X)[first:last].to_native() if is_frame(self.X) else self.X[first:last]
        y, weight = (None if each is None else each[first:last] for each in (self.y, self.weight))
        return Piece(X, name, y, weight)

    @property
    def n_columns(self) -> int:
        """Number of its columns."""
        return len(open_frame(self.X).columns) if is_frame(self.X) else numeric_matrix(self.X, None).shape[1]

    @staticmethod
    def _check(wanted: Sequence[str], names: Sequence[str]) -> None:
        for name in wanted:
            if name not in names:
                raise ValueError(f"there is no column {name!r}; {hint_of_names(name, names)}")
