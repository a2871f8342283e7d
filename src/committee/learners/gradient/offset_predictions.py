"""Predictions of the learners that boost a loss, beyond an offset of each row's scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.matrices import is_out_of_core
from committee.data.number_types import F64
from committee.learners.base.predictors import BaseClassifier, BaseRegressor


class OffsetClassifier(BaseClassifier):
    """Classifier whose methods take an `offset`.

    It has shape ``(n,)`` for the score of two classes, else ``(n, n_classes)``; a text names its column.
    """

    def decision_function(self, X: Any, *, offset: ArrayLike | str | None = None) -> F64:
        """Score F(x): ``(n,)`` for two classes, positive for ``classes_[1]``; else ``(n, n_classes)``.

        The `offset` is added to the score. None means 0, even if the model was trained with offsets.
        """
        return self._answers(X, "decision_function", offset=offset)

    def predict(self, X: Any, *, offset: ArrayLike | str | None = None) -> NDArray[Any]:
        """Elected class of every row, ``(n,)``; a tie goes to the first of the tied classes."""
        return self._answers(X, "predict", offset=offset)

    def predict_proba(self, X: Any, *, offset: ArrayLike | str | None = None) -> F64:
        """Class probabilities ``(n, n_classes)``; the largest is the class that `predict` gives."""
        return self._answers(X, "predict_proba", offset=offset)

    def predict_log_proba(self, X: Any, *, offset: ArrayLike | str | None = None) -> F64:
        """Logarithms of `predict_proba` ``(n, n_classes)``; minus infinity where a probability is 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, offset=offset))

    def score(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: ArrayLike | str | None = None
    ) -> float:
        """Mean accuracy. `y` and `sample_weight` may name columns, or be part of the pieces of an out-of-core table."""
        if offset is None:
            return super().score(X, y, sample_weight)
        if is_out_of_core(X):
            return self._score_of_pieces(X, y, sample_weight, "accuracy_score", offset)
        from sklearn.metrics import accuracy_score

        X, y, sample_weight, offset = self._named_for_score(X, y, sample_weight=sample_weight, offset=offset)
        return float(accuracy_score(y, self.predict(X, offset=offset), sample_weight=sample_weight))

    def staged_decision_function(self, X: Any, *, offset: ArrayLike | str | None = None) -> Iterator[F64]:
        """Score after each voter."""
        return self._staged(X, "staged_decision_function", offset)

    def staged_predict(self, X: Any, *, offset: ArrayLike | str | None = None) -> Iterator[NDArray[Any]]:
        """Elected classes after each voter."""
        return self._staged(X, "staged_predict", offset)

    def staged_predict_proba(self, X: Any, *, offset: ArrayLike | str | None = None) -> Iterator[F64]:
        """Class probabilities after each voter."""
        return self._staged(X, "staged_predict_proba", offset)


class OffsetRegressor(BaseRegressor):
    """Regressor whose methods take an `offset`: ``(n,)``, or ``(n, D)`` of D scores; a text names its column."""

    def predict(self, X: Any, *, offset: ArrayLike | str | None = None) -> F64:
        """Predicted number of every row, ``(n,)``; ``(n, D)`` where the learner predicts D of them.

        The offset is added to the score, before the link: with a log link the logarithm of an exposure multiplies the
        prediction by the exposure. None means 0, even if the model was trained with offsets.
        """
        return self._answers(X, "predict", offset=offset)

    def score(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: ArrayLike | str | None = None
    ) -> float:
        """R^2. `y` and `sample_weight` may name columns, or be part of the pieces of an out-of-core table."""
        if offset is None:
            return super().score(X, y, sample_weight)
        if is_out_of_core(X):
            return self._score_of_pieces(X, y, sample_weight, "r2_score", offset)
        from sklearn.metrics import r2_score

        X, y, sample_weight, offset = self._named_for_score(X, y, sample_weight=sample_weight, offset=offset)
        return float(r2_score(y, self.predict(X, offset=offset), sample_weight=sample_weight))

    def staged_predict(self, X: Any, *, offset: ArrayLike | str | None = None) -> Iterator[F64]:
        """Predictions after each voter."""
        return self._staged(X, "staged_predict", offset)
