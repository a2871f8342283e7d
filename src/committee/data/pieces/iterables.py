"""Any object that can be iterated again and again, and gives pieces of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from committee.data.pieces.piece import Piece


@dataclass(frozen=True, eq=False)
class IterablePieces:
    """An iterable of X, of (X, y) or of (X, y, weight).

    Raises
    ------
    TypeError
        If it can be iterated only once.

    Examples
    --------
    >>> pieces = IterablePieces([(np.zeros((2, 1)), [0, 1]), (np.zeros((1, 1)), [1])])
    >>> [(piece.name, len(piece), len(piece.y)) for piece in pieces.pieces(None)]
    [('piece 0', 2, 2), ('piece 1', 1, 1)]
    """

    iterable: Iterable[Any]

    def __post_init__(self) -> None:
        if isinstance(self.iterable, Iterator):
            raise TypeError(
                f"scan was given a {type(self.iterable).__name__}, which can be read only once, and a fit reads its "
                "rows at least twice; give a list, or an object whose __iter__ begins anew"
            )

    @property
    def names(self) -> None:
        """They are known once a piece is there."""

    def pieces(self, columns: Sequence[str] | None) -> Iterator[Piece]:
        """Give the pieces in turn."""
        for number, given in enumerate(self.iterable):
            parts = given if isinstance(given, tuple) else (given,)
            if not 1 <= len(parts) <= 3:
                raise ValueError(f"piece {number} is a tuple of {len(parts)}; give X, (X, y) or (X, y, weight)")
            y, weight = (None if part is None else _array(part) for part in (*parts[1:], None, None)[:2])
            yield Piece(_table(parts[0]), f"piece {number}", y, weight)


def _table(X: Any) -> Any:
    return np.asarray(X) if isinstance(X, list) else X


def _array(values: Any) -> Any:
    return values if hasattr(values, "__len__") and hasattr(values, "dtype") else np.asarray(values)
