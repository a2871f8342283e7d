"""A classifier and a regressor that answer what a row tells them, so that a test says what is answered."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin


class ToldClassifier(ClassifierMixin, BaseEstimator):
    """The columns of a row are its probabilities."""

    def fit(self, X: Any, y: Any) -> "ToldClassifier":
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.asarray(X, dtype=np.float64)

    def predict(self, X: Any) -> Any:
        return self.classes_[np.argmax(X, axis=1)]


class ToldRegressor(RegressorMixin, BaseEstimator):
    """The columns of a row, but for the last, are its predictions."""

    def fit(self, X: Any, y: Any) -> "ToldRegressor":
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: Any) -> Any:
        told = np.asarray(X, dtype=np.float64)[:, :-1]
        return told[:, 0] if told.shape[1] == 1 else told
