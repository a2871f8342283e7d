"""Upper bounds on errors, one file per theorem; each says its terms, whether it is vacuous and what would help.

An argument out of its range raises a ValueError that names the argument, its value and the range.
"""

from committee.data.lazy_names import lazy_names, names_of_stub

_NAMES = names_of_stub(__file__)
__all__ = list(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
