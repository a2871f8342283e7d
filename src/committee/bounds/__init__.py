"""Upper bounds on error rates.

An argument out of its range raises a ValueError that names the argument and range. docs/theory.md has the sources in
full.
"""

from committee.data.packages import lazy_attributes, stub_imports

_NAMES = stub_imports(__file__)
__all__ = list(_NAMES)
__getattr__, __dir__ = lazy_attributes(__name__, _NAMES)
