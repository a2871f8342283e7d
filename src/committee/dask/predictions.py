"""Lazy predictions for the rows of Dask collections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from committee.dask.cluster import without_named


def predict(estimator: Any, X: Any) -> Any:
    """Predict the class or number of each row, shape (n,), or (n, q) for several targets.

    Parameters
    ----------
    estimator : fitted estimator
        A learner, or a scikit-learn estimator with one inside.
    X : Dask dataframe or array, or table or array-like (n, p)
        Rows.

    Returns
    -------
    Dask array, or array
        Lazy if `X` is: one block per partition or block of rows. The block sizes of a dataframe are unknown until
        ``compute_chunk_sizes``.

    Examples
    --------
    ``predict(forest, dd.read_parquet("new/")).to_zarr("classes")``
    """
    return _answers(estimator, "predict", X)


def predict_proba(estimator: Any, X: Any) -> Any:
    """Predict class probabilities, shape (n, n_classes), lazily if `X` is lazy (see `predict`)."""
    return _answers(estimator, "predict_proba", X)


def decision_function(estimator: Any, X: Any) -> Any:
    """Compute scores, shape (n,) for two classes, else (n, n_classes), lazily if `X` is lazy (see `predict`)."""
    return _answers(estimator, "decision_function", X)


def score(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Compute the accuracy of a classifier or R2 of a regressor; workers predict the rows of Dask collections.

    Parameters
    ----------
    estimator : fitted estimator
        As in `predict`.
    X : Dask dataframe or array, or table or array-like (n, p)
        Rows.
    y : Dask series or array, array-like (n,), or str
        Targets, or the name of a column of `X`.
    sample_weight : Dask series or array, array-like (n,), or str, default=None
        Weights, or the name of a column of `X`.

    Returns
    -------
    float
    """
    X, y, sample_weight = without_named(X, y, sample_weight)
    # one after the other: Dask warns of dataframes and arrays together
    given, predicted, weights = (dask.compute(one)[0] for one in (y, predict(estimator, X), sample_weight))
    measure = accuracy_score if is_classifier(estimator) else r2_score
    return float(measure(given, predicted, sample_weight=weights))


def _answers(estimator: Any, method: str, X: Any) -> Any:
    check_is_fitted(estimator)
    if not hasattr(estimator, method):
        raise AttributeError(f"{type(estimator).__name__} has no {method}")
    if not is_dask_collection(X):
        return getattr(estimator, method)(X)
    dtype, width = _type_and_width(estimator, method)
    model = dask.delayed(estimator, pure=False, traverse=False)
    if isinstance(X, da.Array):
        parts, sizes = X.rechunk({1: -1}).to_delayed()[:, 0].tolist(), X.chunks[0]
    else:
        if hasattr(estimator, "feature_names_in_"):
            _check_feature_names(estimator, X._meta, reset=False)  # here, rather than by each worker later
        parts = X.to_delayed()
        sizes = (np.nan,) * len(parts)
    answer = dask.delayed(_answers_of_part, pure=False)
    blocks = [
        da.from_delayed(answer(model, method, part, dtype, width), (size, *width), dtype)
        for part, size in zip(parts, sizes, strict=True)
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _type_and_width(estimator: Any, method: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
    if method != "predict":
        n_classes = len(estimator.classes_)
        return np.dtype(np.float64), () if method == "decision_function" and n_classes == 2 else (n_classes,)
    if is_classifier(estimator):
        return estimator.classes_.dtype, ()
    n_targets = getattr(getattr(estimator, "committee_", None), "n_outputs", 1)
    return np.dtype(np.float64), () if n_targets == 1 else (n_targets,)


def _answers_of_part(
    estimator: Any, method: str, part: Any, dtype: np.dtype[Any], width: tuple[int, ...]
) -> NDArray[Any]:
    if not len(part):
        return np.empty((0, *width), dtype)
    call: Callable[[Any], Any] = getattr(estimator, method)
    return np.asarray(call(part))
