"""Export to ONNX; the package onnx is imported when a model is exported."""

from __future__ import annotations

from committee.data.lazy_names import lazy_names, names_of_stub

_NAMES = names_of_stub(__file__)

__all__ = list(_NAMES)

__getattr__, __dir__ = lazy_names(__name__, _NAMES)
