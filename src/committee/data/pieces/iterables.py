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
            X, y, weight = (*parts, None, None)[:3]
            yield Piece(
                _table(X, number), f"piece {number}", _vector(y, "y", number), _vector(weight, "weight", number)
            )


def _table(X: Any, number: int) -> Any:
    if not isinstance(X, list):
        return X
    try:
        rows = np.asarray(X)
    except ValueError:  # rows of several lengths
        rows = np.empty(0)
    if rows.ndim != 2:
        raise ValueError(
            f"piece {number} is a list of {len(X)} that is no table; give rows of one length, and X with y as a tuple, "
            "(X, y)"
        )
    return rows


def _vector(values: Any, name: str, number: int) -> Any:
    if values is None or (hasattr(values, "__len__") and hasattr(values, "dtype")):
        return values
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(f"piece {number}: its {name} has entries of several lengths; give one for each row") from error
