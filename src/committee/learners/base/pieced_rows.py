"""Rows in pieces: the scan that a fit begins with, and predictions piece by piece."""

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


def scan_training_pieces(
    X: Any, y: Any, sample_weight: Any, scratch: ExitStack, categorical_features: Any, max_bins: int
) -> LookedPieces:
    """Scan training rows in pieces; the context `scratch` owns the folder of what does not fit in memory."""
    if isinstance(X, LookedPieces):
        return X
    pieces = as_pieces(X)

    @cache
    def folder() -> Path:
        return scratch.enter_context(scratch_folder(pieces.scratch))

    storage = Storage(pieces.memory_limit, folder)
    return look_at(pieces, y, sample_weight, storage, categorical_features, max_bins)


def encode_pieces(
    X: Any, target: Labels, sample_weight: ArrayLike | None, digests: bool
) -> tuple[PiecedMatrix, Labels, F64, bool]:
    """Matrix, target and weights of scanned rows with weight, and whether all weights are equal."""
    uniform = sample_weight is None
    weights = np.ones(len(X)) if uniform else row_weights(sample_weight, target)
    keep = None if uniform else counted(weights)
    if keep is None or keep.all():
        keep = None
    else:
        target, weights = target[keep], weights[keep]
    scanned = X.looked_again(keep, X.look.max_bins)
    table = scanned.look.schema
    if isinstance(scanned, LookedElsewhere):
        return scanned.matrix(table, digests), target, weights, uniform
    return PiecedMatrix(scanned, table, digests), target, weights, uniform


def predict_pieces(
    X: Any,
    predict: Callable[[Any], NDArray[Any]],
    names: NDArray[Any] | None,
    targets: TargetsSoFar | None = None,
) -> NDArray[Any]:
    """Predict the rows of each piece in turn, and gather the labels and weights of the same pieces in `targets`.

    Only the columns `names` are read, where the source has a list of its columns and no selection of them.
    """
    pieces = as_pieces(X).for_model(None if names is None else names.tolist(), () if targets is None else targets.named)
    predictions = []
    for piece in pieces:
        if not len(piece):
            continue
        with piece.named_in_errors():
            if targets is not None:
                targets.take(piece)
            predictions.append(predict(piece.with_columns(pieces.columns, pieces.without).X))
    if not predictions:
        raise ValueError("the pieces have 0 rows; at least one is needed.")
    return np.concatenate(predictions)
