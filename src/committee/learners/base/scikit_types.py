"""scikit-learn's base classes, with types.

It comes without: below a base of type Any, mypy accepts any argument of a learner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Self

    from sklearn.utils import Tags

    class BaseEstimator:
        """The members that learners use by type; the rest of `sklearn.base.BaseEstimator` is Any."""

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def __sklearn_tags__(self) -> Tags: ...
        def __getstate__(self) -> dict[str, Any]: ...
        def __getattr__(self, name: str) -> Any: ...

    class ClassifierMixin:
        """The mean accuracy."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    class RegressorMixin:
        """The share of the variance."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    class CallbackSupportMixin:
        """Callbacks of a fit."""

    class MetaEstimatorMixin:
        """Says that an estimator holds others."""

else:
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin
    from sklearn.callback import CallbackSupportMixin

__all__ = ["BaseEstimator", "CallbackSupportMixin", "ClassifierMixin", "MetaEstimatorMixin", "RegressorMixin"]
