"""Rows in pieces: the scan that a fit begins with, and predictions piece by piece."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.labels import Labels
from committee.data.number_types import F64
from committee.data.out_of_core.out_of_core_matrix import OutOfCoreMatrix
from committee.data.out_of_core.scan import as_pieces
from committee.data.out_of_core.training_pass import Storage, TargetCollector, TrainingPieces, scan_training_pieces
from committee.data.rows import nonzero_weights
from committee.files.writing import scratch_folder


def training_pieces(
    X: Any, y: Any, sample_weight: Any, scratch: ExitStack, categorical_features: Any, max_bins: int
) -> TrainingPieces:
    """Scan training rows in pieces; the folder for data beyond the memory limit is removed when `scratch` closes."""
    if isinstance(X, TrainingPieces):
        return X
    pieces = as_pieces(X)

    @cache
    def folder() -> Path:
        return scratch.enter_context(scratch_folder(pieces.scratch))

    storage = Storage(pieces.memory_limit, folder)
    return scan_training_pieces(pieces, y, sample_weight, storage, categorical_features, max_bins)


def encode_pieces(
    X: Any, target: Labels, sample_weight: ArrayLike | None, digests: bool
) -> tuple[OutOfCoreMatrix, Labels, F64, bool]:
    uniform = sample_weight is None
    weights = np.ones(len(X)) if uniform else np.asarray(sample_weight, dtype=np.float64)
    keep = None if uniform else nonzero_weights(weights)
    if keep is None or keep.all():
        keep = None
    else:
        target, weights = target[keep], weights[keep]
    scanned = X.rescan(keep, X.summary.max_bins)
    if not getattr(X.pieces.source, "decides_text", False):
        scanned.summary.check_texts()
    table = scanned.summary.schema
    if scanned.is_remote:
        return scanned.matrix(table, digests), target, weights, uniform
    return OutOfCoreMatrix(scanned, table, digests), target, weights, uniform


def predict_pieces(
    X: Any,
    predict: Callable[..., NDArray[Any]],
    names: NDArray[Any] | None,
    targets: TargetCollector | None = None,
    offset: ArrayLike | str | None = None,
) -> NDArray[Any]:
    if isinstance(offset, str):
        raise ValueError(
            f"offset={offset!r} names a column, and X is read in pieces; give an array of the offsets of all rows."
        )
    pieces = as_pieces(X).for_model(None if names is None else names.tolist(), () if targets is None else targets.named)
    offsets = None if offset is None else np.asarray(offset)
    predictions, first = list[NDArray[Any]](), 0
    for piece in pieces:
        if not len(piece):
            continue
        with piece.named_in_errors():
            if targets is not None:
                targets.take(piece)
            rows = piece.with_columns(pieces.columns, pieces.without).X
            own = () if offsets is None else (offsets[first : first + len(piece)],)
            predictions.append(predict(rows, *own))
            first += len(piece)
    if not predictions:
        raise ValueError("the pieces have 0 rows; at least one is needed.")
    if offsets is not None and first != len(offsets):
        raise ValueError(f"offset has shape {offsets.shape}, and X has {first} rows; give an offset for each row.")
    return np.concatenate(predictions)
