"""Arrays in: what NumPy can read as a matrix of numbers, and nothing that it would only guess at."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.in_pieces import InPieces
from committee.data.sparse import is_sparse


def is_matrix(X: Any) -> bool:
    """Say whether `X` is already what `numeric_matrix` would make of it, so that nothing is left to look at.

    That is a two-dimensional C-contiguous float64 array of NumPy's own type, not of a subclass.

    Examples
    --------
    >>> is_matrix(np.zeros((1, 2))), is_matrix(np.zeros((1, 2), dtype=int))
    (True, False)
    """
    return type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and X.flags.c_contiguous


def numeric_matrix(X: Any, names: Sequence[str] | None) -> NDArray[np.float64]:
    """Return numbers in two dimensions as a C-contiguous float64 array.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Numbers; NaN is missing.
    names : sequence of str or None
        What errors call the columns; None: ``x0``, ``x1``, ...

    Returns
    -------
    ndarray of shape (n, p), float64, C-contiguous
        ``X`` itself if it is that already.

    Raises
    ------
    TypeError
        For a sparse matrix, a masked array, and objects that NumPy finds no number in.
    ValueError
        If ``X`` is not two-dimensional, complex, made of dates, or holds text, be it ``"1.5"``.

    Examples
    --------
    >>> numeric_matrix([[1, None], [2, 3]], None)
    array([[ 1., nan],
           [ 2.,  3.]])
    """
    if is_matrix(X):
        checked: NDArray[np.float64] = X
        return checked
    if is_sparse(X):
        raise TypeError(f"X is a sparse {type(X).__name__}, which is not supported here; pass X.toarray()")
    refuse_path(X)
    if isinstance(X, InPieces):
        raise TypeError(
            "X is read in pieces, which fit, predict, predict_proba, decision_function and score take; give rows in "
            "memory here, such as one piece after the other"
        )
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError("X is a masked array, whose mask would be lost; pass X.filled(numpy.nan)")
    values = np.asarray(X)
    if values.dtype.kind in "UT" and isinstance(X, list | tuple):
        values = np.asarray(X, dtype=object)  # one text had made text of every number
    if values.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {values.ndim}D array instead; Reshape your data: X.reshape(-1, 1) "
            "for one column, X.reshape(1, -1) for one row"
        )
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: X is an array of {values.dtype}")
    if values.dtype.kind in "mM":
        raise ValueError(f"X is an array of {values.dtype}; make numbers of the times (days since a date, ...)")
    if values.dtype.kind in "OSUTV":
        _refuse_text(values, names)
    try:
        return np.ascontiguousarray(values, dtype=np.float64)
    except OverflowError:
        place = next(place for place, value in enumerate(values.flat) if is_beyond_float(value))
        row, j = divmod(place, values.shape[1])
        raise ValueError(beyond_float(_name_of(j, values, names), row)) from None


def refuse_path(X: Any) -> None:
    """Raise if a path is given in the place of a table.

    Raises
    ------
    TypeError
        Saying what to write.
    """
    if isinstance(X, str | os.PathLike):
        path = os.fspath(X)
        raise TypeError(f"X is the path {path!r}, and no table; write committee.scan({path!r})")


def is_beyond_float(value: Any) -> bool:
    """Say whether a cell is a number that no float64 can hold, not even rounded, as a whole one of 400 digits."""
    try:
        float(value)
    except OverflowError:
        return True
    except (TypeError, ValueError):
        pass
    return False


def beyond_float(name: str, row: int) -> str:
    """Return what errors say of a cell that `is_beyond_float`."""
    return f"column {name!r} holds a number of more than 300 digits at row {row}; scale it or mark it missing (NaN)"


def _name_of(j: int, values: NDArray[Any], names: Sequence[str] | None) -> str:
    return f"x{j}" if names is None or len(names) != values.shape[1] else names[j]


def _refuse_text(values: NDArray[Any], names: Sequence[str] | None) -> None:
    """Raise if a cell of an array is text, even one that reads as a number."""
    for place, value in enumerate(values.flat):
        if isinstance(value, str | bytes | np.void):
            row, j = divmod(place, values.shape[1])
            value = value.item() if isinstance(value, np.generic) else value
            raise ValueError(
                f"column {_name_of(j, values, names)!r} holds {value!r} at row {row}, and X is an array; make it "
                "numeric, or pass a frame (pandas, polars, Arrow), where text columns are categories"
            )
