"""Which tables are read piece by piece."""

from __future__ import annotations

from typing import Any


class InPieces:
    """Base of tables that are read piece by piece."""


def is_in_pieces(X: Any) -> bool:
    """Say whether X is read piece by piece: `Pieces`, a polars LazyFrame or a Dask collection.

    Examples
    --------
    >>> is_in_pieces([[1.0]])
    False
    """
    if isinstance(X, InPieces):
        return True
    library = type(X).__module__.partition(".")[0]
    if library == "polars":
        return type(X).__name__ == "LazyFrame"
    return library.startswith("dask") and hasattr(X, "dask")
