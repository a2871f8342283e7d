"""Base of the transformers of columns of one kind."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names, _check_n_features

from committee.data.columns import Column, column_names, is_frame, open_frame, read_columns
from committee.data.matrices import is_out_of_core
from committee.data.named_calls import NamedCalls


class ColumnEncoder(NamedCalls, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    _takes: str

    def _columns(self, X: Any, *, reset: bool) -> list[Column]:
        if is_out_of_core(X):
            raise TypeError(
                f"X is read in pieces, and a {type(self).__name__} takes frames; fit it to a frame of some rows, and "
                "give scan an object that yields (transform(piece), labels) for each piece"
            )
        if not is_frame(X):
            kind = type(X).__name__
            raise TypeError(f"X is {kind}, which has no columns of {self._takes}; pass a frame (pandas, polars, Arrow)")
        _check_feature_names(self, X, reset=reset)
        _check_n_features(self, X, reset=reset)
        frame = open_frame(X)
        return list(read_columns(frame, column_names(frame.columns)))
