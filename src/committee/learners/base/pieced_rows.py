"""Rows in pieces at the door of a learner: the look that a fit begins with, and answers piece by piece."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.coded_text import Labels
from committee.data.number_types import F64
from committee.data.pieces.looked_elsewhere import LookedElsewhere
from committee.data.pieces.pieced_matrix import PiecedMatrix
from committee.data.pieces.scan import as_pieces
from committee.data.pieces.storage import Storage
from committee.data.pieces.targets import TargetsSoFar
from committee.data.pieces.training_pass import LookedPieces, look_at
from committee.data.rows import counted, row_weights
from committee.files.scratch import scratch_folder


def looked_at(
    X: Any, y: Any, sample_weight: Any, scratch: ExitStack, categorical_features: Any, max_bins: int
) -> LookedPieces:
    """Look at training rows in pieces; the folder for what does not fit in memory goes with the context `scratch`."""
    if isinstance(X, LookedPieces):
        return X
    pieces = as_pieces(X)

    @cache
    def folder() -> Path:
        return scratch.enter_context(scratch_folder(pieces.scratch))

    storage = Storage(pieces.memory_limit, folder)
    return look_at(pieces, y, sample_weight, storage, categorical_features, max_bins)


def of_fit(X: Any) -> LookedPieces:
    """Return rows in pieces that have been looked at.

    Raises
    ------
    TypeError
        If they have not, as callers other than `fit` do not.
    """
    if not isinstance(X, LookedPieces):
        raise TypeError(f"rows in pieces ({type(X).__name__}) are taken by fit alone; give rows in memory")
    return X


def encoded_pieces(
    X: LookedPieces, target: Labels, sample_weight: ArrayLike | None, digests: bool
) -> tuple[PiecedMatrix, Labels, F64, bool]:
    """Return matrix, target and weights of the training rows that count, and whether all weights are equal."""
    uniform = sample_weight is None
    weights = np.ones(len(X)) if uniform else row_weights(sample_weight, target)
    keep = None if uniform else counted(weights)
    if keep is None or keep.all():
        keep = None
    else:
        target, weights = target[keep], weights[keep]
    looked = X.looked_again(keep, X.look.max_bins)
    table = looked.look.schema
    if isinstance(looked, LookedElsewhere):
        return looked.matrix(table, digests), target, weights, uniform
    return PiecedMatrix(looked, table, digests), target, weights, uniform


def by_pieces(
    X: Any,
    answer: Callable[[Any], NDArray[Any]],
    names: NDArray[Any] | None,
    targets: TargetsSoFar | None = None,
) -> NDArray[Any]:
    """Answer for the rows of each piece after the other, and gather `targets` of the same pieces.

    Of a source that knows its columns those called `names` are read, where it was not told which.

    Raises
    ------
    ValueError
        If there are no rows; and what `answer` raises, with the name of the piece.
    """
    pieces = as_pieces(X).for_model(None if names is None else names.tolist(), () if targets is None else targets.named)
    answers = []
    for piece in pieces:
        if not len(piece):
            continue
        with piece.named_in_errors():
            if targets is not None:
                targets.take(piece)
            answers.append(answer(piece.with_columns(pieces.columns, pieces.without).X))
    if not answers:
        raise ValueError("the pieces have 0 rows; at least one is needed.")
    return np.concatenate(answers)
