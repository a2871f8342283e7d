"""Public names for trained ensembles, and what re-weighting, pruning and certificates share."""

from committee.data.lazy_names import lazy_names, names_of_stub

_NAMES = names_of_stub(__file__)
__all__ = list(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
