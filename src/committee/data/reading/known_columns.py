"""What is known of a table's columns before it is read: from the model that it is for, or from the user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class KnownColumns:
    """Columns of which it is known what their cells are.

    Parameters
    ----------
    text : frozenset of str
        They are text, whatever they look like.
    numbers : frozenset of str
        They are numbers, so that a zero in front is no part of a code, and a mark that is no number means missing.
    forms : dict
        How they are written of those that are numbers but not written as such.
    verbatim : frozenset of str
        They are kept as they stand in a file of text.
    """

    text: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    forms: Mapping[str, str] = field(default_factory=dict)
    verbatim: frozenset[str] = frozenset()


NOTHING = KnownColumns()
"""Of a table of which nothing is known."""
