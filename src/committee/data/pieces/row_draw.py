"""Some rows of a table in pieces, drawn by their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

    from committee.data.pieces.scan import Pieces

SEED = 0


def drawn_rows(y: NDArray[Any], n: int) -> NDArray[np.int64]:
    """Draw rows of each class by its share, at least one; which they are depends on the labels and on n alone.

    Parameters
    ----------
    y : array (N,)
        Labels of all rows.
    n : int
        Rows to draw.

    Returns
    -------
    int64 array, rising
        Numbers of n rows, or of all if there are no more. Of a class of m rows there are m n / N, rounded down or up,
        or one where that rounds to none.

    Raises
    ------
    ValueError
        If n is less than the number of classes.

    Examples
    --------
    >>> y = np.repeat(["a", "b", "c"], [60, 39, 1])
    >>> np.unique(y[drawn_rows(y, 10)], return_counts=True)[1].tolist()
    [6, 3, 1]
    """
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if n >= len(y):
        return np.arange(len(y))
    if n < len(classes):
        raise ValueError(f"a sample of {n:,} rows has no room for the {len(classes):,} classes; draw more")
    rng, drawn = np.random.default_rng(SEED), []
    by_class = np.split(np.argsort(codes, kind="stable"), np.cumsum(counts)[:-1])
    for rows, size in zip(by_class, _sizes(counts, n), strict=True):
        drawn.append(rng.choice(rows, size, replace=False))
    found: NDArray[np.int64] = np.sort(np.concatenate(drawn))
    return found


def _sizes(counts: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Rows of each class: its share rounded down, at least one, and what is left by the largest remainders."""
    shares = counts * (n / counts.sum())
    sizes: NDArray[np.int64] = np.maximum(1, np.floor(shares).astype(np.int64))
    over = int(sizes.sum()) - n
    if over <= 0:
        sizes[np.argsort(sizes - shares, kind="stable")[:-over]] += 1
    for _ in range(over):  # classes of less than one row have taken them from those of several
        sizes[np.argmax(np.where(sizes > 1, sizes - shares, -np.inf))] -= 1
    return sizes


def read_rows(pieces: Pieces, rows: NDArray[np.int64]) -> pl.DataFrame:
    """Read the rows of these rising numbers of files.

    Raises
    ------
    ValueError
        If a file cannot be read, or its columns are of other types than before, naming the piece.
    """
    import polars as pl

    found: list[pl.DataFrame] = []
    first = 0
    for piece in pieces:
        begin, end = np.searchsorted(rows, [first, first + len(piece)])
        part = pl.DataFrame(piece.X)[rows[begin:end] - first]
        first += len(piece)
        with piece.named_in_errors():
            if found and (odd := _other_type(found[0], part)) is not None:
                raise ValueError(
                    f"column {odd!r} holds {part.schema[odd]} here and {found[0].schema[odd]} in pieces before; make"
                    " their types the same"
                )
        found.append(part)
    return pl.concat(found, how="vertical_relaxed")


def _other_type(one: pl.DataFrame, other: pl.DataFrame) -> str | None:
    """A column of text here and of what is no text there."""
    for (name, dtype), there in zip(one.schema.items(), other.schema.values(), strict=True):
        if dtype != there and not (dtype.is_numeric() and there.is_numeric()):
            return name
    return None
