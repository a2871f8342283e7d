"""Losses: how wrong a score is, its gradient and hessian, and the link that reads the score."""

from committee.data.packages import lazy_attributes, stub_imports

_NAMES = stub_imports(__file__)
__all__ = list(_NAMES)
__getattr__, __dir__ = lazy_attributes(__name__, _NAMES)
