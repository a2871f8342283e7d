"""Upper bounds on errors, one file per theorem; each says its terms, whether it is vacuous and what would help.

An argument out of its range raises a ValueError that names the argument, its value and the range.
"""

from committee.data.packages import lazy_attributes, stub_imports

_NAMES = stub_imports(__file__)
__all__ = list(_NAMES)
__getattr__, __dir__ = lazy_attributes(__name__, _NAMES)
