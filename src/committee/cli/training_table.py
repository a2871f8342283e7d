"""The table that `committee fit` learns from: whole, or in pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from committee.cli.inputs import are_in_pieces, frame_of, scanned, words_of
from committee.cli.reading import watched
from committee.cli.terminal import say

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from committee.data.pieces.scan import Pieces
    from committee.data.pieces.unchanged import FileStates

SHOWN_ROWS = 10_000
"""Of a table in pieces what is said of its rows is said of the first so many."""


@dataclass(frozen=True)
class TrainingTable:
    """Features and labels.

    Parameters
    ----------
    X : frame or Pieces
        What a fit takes.
    y : array (n,)
        Labels.
    rows : frame
        All rows, or the first `SHOWN_ROWS`.
    files : FileStates or None
        Files in pieces, as they were before their labels were read.
    """

    X: Any
    y: NDArray[Any]
    rows: pl.DataFrame
    files: FileStates | None = None

    @property
    def y_of_rows(self) -> NDArray[Any]:
        """Labels of `rows`."""
        y: NDArray[Any] = self.y[: len(self.rows)]
        return y

    @property
    def paths(self) -> list[Path]:
        """The files that are read in pieces."""
        return [] if self.files is None else [path for path, *_ in self.files.states]

    @property
    def part(self) -> str:
        """What share of the rows `rows` are, where they are not all."""
        return "" if len(self.rows) == len(self.y) else f" of the first {len(self.rows):,} rows"


def training_table(
    data: Sequence[Path],
    target: str,
    *,
    drop: Sequence[str],
    categorical: Sequence[str],
    memory_limit: str | None,
    scratch: Path | None,
    progress: bool | None,
    bar: bool,
) -> TrainingTable:
    """Read a table whole, or the labels of one in pieces."""
    from committee.data.read import read_table, split_target

    if not are_in_pieces(data, memory_limit, scratch):
        X, y = split_target(read_table(data[0], categorical=categorical, drop=drop), target)
        return TrainingTable(X, y, X)
    pieces = scanned(data, drop=drop, text=categorical, memory_limit=memory_limit, scratch=scratch)
    assert pieces.columns is not None
    say(words_of(pieces))
    files, seen = pieces.files, watched(pieces, "reading", wanted=progress, bar=bar)
    y = labels_of(seen, target)
    columns = tuple(name for name in pieces.columns if name != target)
    first = next(frame_of(piece) for piece in replace(pieces, columns=columns) if len(piece))
    return TrainingTable(replace(seen, columns=columns), y, first.head(SHOWN_ROWS), files)


def labels_of(pieces: Pieces, target: str) -> NDArray[Any]:
    """Read the labels alone, as `split_target` takes them off a table in memory.

    Raises
    ------
    ValueError
        If there is no such column, no other column, a label is missing, or labels are neither text, numbers nor
        booleans, naming the piece.
    """
    import numpy as np

    from committee.data.names import hint_of_names
    from committee.data.pieces.targets import TargetsSoFar

    names = pieces.columns or ()
    if target not in names:
        raise ValueError(f"target {target!r} is no column; {hint_of_names(target, names)}")
    if len(names) == 1:
        raise ValueError(f"target {target!r} is the only column; a table needs at least one more")
    found = TargetsSoFar(target, None)
    for piece in replace(pieces, columns=(target,)):
        with piece.named_in_errors():
            labels = piece.column(target)
            if labels.dtype.kind not in "Ubiuf":
                raise ValueError(f"target {target!r} holds {labels.dtype}; make its labels text, numbers or booleans")
            if labels.dtype.kind == "f" and (missing := int(np.isnan(labels).sum())):
                raise ValueError(
                    f"target {target!r} is missing in {missing} rows; drop these rows, or fill in their labels"
                )
            found.take(piece)
    y: NDArray[Any] | None = found.labels()
    if y is None:
        raise ValueError("the files have 0 rows; at least one is needed")
    return y
