"""The first pass over training rows in pieces: labels, weights, and the first look at the columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from committee.data.frame_columns import CategoricalFeatures, is_frame, open_frame
from committee.data.in_pieces import InPieces
from committee.data.number_types import Mask
from committee.data.pieces.first_look import FirstLook
from committee.data.pieces.scan import Pieces
from committee.data.pieces.storage import Storage
from committee.data.pieces.targets import TargetsSoFar
from committee.data.pieces.unchanged import FileStates


@dataclass(frozen=True, eq=False)
class LookedPieces(InPieces):
    """Training rows in pieces that have been looked at once.

    Parameters
    ----------
    pieces : Pieces
        The table.
    look : FirstLook
        What is known of its columns, by the rows that count.
    counted : bool array (n,) or None
        Rows that counted in the look; None: all.
    n_rows : int
        All rows.
    example : frame or array
        One row.
    y, weights : array (n,) or None
        Labels and weights of all rows, where the user or the pieces give them.
    files : FileStates
        The files as they were before the pass.
    storage : Storage
        Where arrays as long as the table go.
    """

    pieces: Pieces
    look: FirstLook
    counted: Mask | None
    n_rows: int
    example: Any
    y: Any
    weights: Any
    files: FileStates
    storage: Storage

    def __len__(self) -> int:
        return self.n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.n_rows, len(self.look.columns)

    def looked_again(self, counted: Mask | None, max_bins: int) -> LookedPieces:
        """Take the look again where other rows count than were thought to, or more bins are asked for."""
        same = (counted is None and self.counted is None) or (
            counted is not None and self.counted is not None and np.array_equal(counted, self.counted)
        )
        if same and max_bins <= self.look.max_bins:
            return self
        self.files.refuse_changes()
        look, first = FirstLook(self.look.categorical_features, max_bins), 0
        for piece in self.pieces.of_features():
            last = first + len(piece)
            if last > self.n_rows:
                self.refuse_other_rows(last)
            with piece.named_in_errors():
                look.look(piece.X, look.n_rows, None if counted is None else counted[first:last])
            first = last
        self.refuse_other_rows(first)
        return replace(self, look=look, counted=counted)

    def refuse_other_rows(self, n_rows: int) -> None:
        """Raise if a later pass had another number of rows, or a file has changed.

        Raises
        ------
        ValueError
            Saying so.
        """
        self.files.refuse_changes()
        if n_rows != self.n_rows:
            raise ValueError(
                f"the pieces had {self.n_rows} rows in the first pass, and {n_rows} in the next; they must be the same "
                "whenever they are read"
            )


def look_at(
    pieces: Pieces,
    y: Any,
    sample_weight: Any,
    storage: Storage,
    categorical_features: CategoricalFeatures = "from_dtype",
    max_bins: int = 255,
) -> LookedPieces:
    """Read all pieces once.

    Parameters
    ----------
    pieces : Pieces
        The table.
    y, sample_weight : str, array-like (n,) or None
        The name of a column, one entry for each row, or None: what the pieces bring.
    storage : Storage
        Where arrays as long as the table are to go.
    categorical_features : "from_dtype", None, names, indices or boolean mask
        As of `TableSchema.learn`.
    max_bins : int
        Of how many distinct numbers of a column are to be known.

    Raises
    ------
    TypeError, ValueError
        If a piece contradicts those before, naming it, or there are no rows.
    """
    found = TargetsSoFar(y, sample_weight)
    pieces = pieces.with_targets(found.named)
    look, example, files = FirstLook(categorical_features, max_bins), None, pieces.files
    for piece in pieces:
        with piece.named_in_errors():
            counted = found.take(piece)
            features = piece.with_columns(pieces.columns, pieces.without).X
            look.look(features, look.n_rows, counted)
        if example is None and len(piece):
            example = open_frame(features).head(1).to_native() if is_frame(features) else features[:1]
    if example is None:
        raise ValueError("the pieces have 0 rows; at least one is needed.")
    files.refuse_changes()
    weights = found.weights()
    counted_rows = None if weights is None else found.counted_rows()
    if counted_rows is not None and counted_rows.all():
        counted_rows = None
    return LookedPieces(
        pieces, look, counted_rows, found.n_rows, example, found.coded_labels(), weights, files, storage
    )
