"""Models in MLflow, as the library's own files; the package mlflow is imported when one is logged or loaded."""

from __future__ import annotations

from committee.data.packages import lazy_attributes, stub_imports

_NAMES = stub_imports(__file__)

__all__ = list(_NAMES)

__getattr__, __dir__ = lazy_attributes(__name__, _NAMES)
