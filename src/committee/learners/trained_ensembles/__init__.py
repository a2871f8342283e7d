"""Public names for trained ensembles, and code that re-weighting, pruning and certificates share."""

from committee.data.packages import lazy_attributes, stub_imports

_NAMES = stub_imports(__file__)
__all__ = list(_NAMES)
__getattr__, __dir__ = lazy_attributes(__name__, _NAMES)
