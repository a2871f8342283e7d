"""Fits and predictions on a Dask cluster, with the bits of one machine; Dask is imported when a name is first used."""

from __future__ import annotations

from committee.data.lazy_names import lazy_names, names_of_stub

_NAMES = names_of_stub(__file__)

__all__ = list(_NAMES)

__getattr__, __dir__ = lazy_names(__name__, _NAMES)
