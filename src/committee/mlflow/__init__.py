"""Models in MLflow, as the library's own files; the package mlflow is imported when one is logged or loaded."""

from __future__ import annotations

from committee.data.lazy_names import lazy_names, names_of_stub

_NAMES = names_of_stub(__file__)

__all__ = list(_NAMES)

__getattr__, __dir__ = lazy_names(__name__, _NAMES)
