"""Ensembles of other libraries as they come, and with pytabkit's tuned defaults: both kinds of target, one thread.

They see the encoded matrix of `TableSchema.encode`: float64, categories as codes, NaN for what is missing; each is told
which columns are categories in its library's own way. The tuned defaults are those of D. Holzmueller, L. Grinsztajn,
I. Steinwart (2024), Better by default: strong pre-tuned MLPs and boosted trees on tabular data, table C.1 and C.2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
TUNED_LIGHTGBM = {
    "n_estimators": 1000,
    "learning_rate": 0.04,
    "num_leaves": 50,
    "min_child_samples": 40,
    "subsample": 0.75,
    "bagging_freq": 1,
    "min_sum_hessian_in_leaf": 1e-7,
}
TUNED_XGBOOST = {
    "n_estimators": 1000,
    "learning_rate": 0.08,
    "max_depth": 6,
    "reg_lambda": 0.0,
    "min_child_weight": 5e-6,
    "colsample_bylevel": 0.9,
    "subsample": 0.65,
}


class OnText:
    """A model whose categories are text; a subclass makes it."""

    _model: Any
    _columns: list[int]
    """Those of categories."""

    def fit(self, X: NDArray[np.float64], y: NDArray[Any]) -> Self:
        """Fit on encoded rows."""
        self._model.fit(self._rows(X), y)
        return self

    def predict(self, X: NDArray[np.float64]) -> NDArray[Any]:
        """Predict numbers."""
        return np.asarray(self._model.predict(self._rows(X)))

    def predict_proba(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Predict probabilities."""
        return np.asarray(self._model.predict_proba(self._rows(X)))

    def _rows(self, X: NDArray[np.float64]) -> Any:
        return _as_text(X, self._columns)


class ChimeraBoost(OnText):
    """ChimeraBoost's defaults; its kernels, which are compiled when they are first called, are compiled before."""

    def __init__(self, numbers: bool, categorical: Flags, seed: int) -> None:
        from chimeraboost import ChimeraBoostClassifier, ChimeraBoostRegressor

        _chimeraboost_compiled()
        self._columns = np.flatnonzero(categorical).tolist()
        kind = ChimeraBoostRegressor if numbers else ChimeraBoostClassifier
        self._model = kind(cat_features=self._columns or None, thread_count=1, random_state=seed)


@cache
def _chimeraboost_compiled() -> None:
    from chimeraboost.warmup import warmup

    warmup()


class CatBoost(OnText):
    """CatBoost's defaults; its categories are text."""

    def __init__(self, numbers: bool, categorical: Flags, seed: int, **settings: Any) -> None:
        from catboost import CatBoostClassifier, CatBoostRegressor

        self._columns = np.flatnonzero(categorical).tolist()
        kind = CatBoostRegressor if numbers else CatBoostClassifier
        self._model = kind(
            cat_features=self._columns,
            random_seed=seed,
            thread_count=1,
            logging_level="Silent",
            allow_writing_files=False,
            **settings,
        )


def _as_text(X: NDArray[np.float64], columns: list[int]) -> Any:
    """Rows whose categories are text."""
    if not columns:
        return X
    rows = X.astype(object)
    rows[:, columns] = X[:, columns].astype(str)
    return rows


def _lightgbm(numbers: bool, categorical: Flags, seed: int, **settings: Any) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    columns = ",".join(str(j) for j in np.flatnonzero(categorical))
    options = {"cat_feature": columns} if columns else {}
    kind = LGBMRegressor if numbers else LGBMClassifier
    return kind(n_jobs=1, random_state=seed, verbose=-1, **options, **settings)


def _xgboost(numbers: bool, categorical: Flags, seed: int, **settings: Any) -> Any:
    from xgboost import XGBClassifier, XGBRegressor

    types = ["c" if each else "q" for each in categorical] if categorical.any() else None
    kind = XGBRegressor if numbers else XGBClassifier
    return kind(enable_categorical=True, feature_types=types, n_jobs=1, random_state=seed, verbosity=0, **settings)


def _scikit_learn(numbers: bool, categorical: Flags, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingRegressor if numbers else HistGradientBoostingClassifier
    return kind(categorical_features=categorical if categorical.any() else None, random_state=seed)


def _explainable_boosting(numbers: bool, categorical: Flags, seed: int) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    types = ["nominal" if each else "continuous" for each in categorical]
    kind = ExplainableBoostingRegressor if numbers else ExplainableBoostingClassifier
    return kind(feature_types=types, n_jobs=1, random_state=seed)


BOOSTERS: dict[str, Callable[[bool, Flags, int], Any]] = {
    "LightGBM": _lightgbm,
    "XGBoost": _xgboost,
    "scikit-learn": _scikit_learn,
    "CatBoost": CatBoost,
    "LightGBM, tuned defaults": lambda *three: _lightgbm(*three, **TUNED_LIGHTGBM),
    "XGBoost, tuned defaults": lambda *three: _xgboost(*three, **TUNED_XGBOOST),
    "ChimeraBoost": ChimeraBoost,
    "explainable boosting": _explainable_boosting,
}
"""Called with whether targets are numbers, which columns are categories, and a seed."""
