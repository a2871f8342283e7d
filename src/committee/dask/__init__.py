"""Fits and predictions on a Dask cluster, bit-identical to local ones; Dask is imported when a name is first used."""

from __future__ import annotations

from committee.data.packages import lazy_attributes, stub_imports

_NAMES = stub_imports(__file__)

__all__ = list(_NAMES)

__getattr__, __dir__ = lazy_attributes(__name__, _NAMES, requires="distributed")
