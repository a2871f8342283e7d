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
    answers : frozenset of str
        They are numbers, too, of which nothing is known that was learned from: they may be percentages as well.
    """

    text: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    forms: Mapping[str, str] = field(default_factory=dict)
    verbatim: frozenset[str] = frozenset()
    answers: frozenset[str] = frozenset()

    @property
    def plain(self) -> frozenset[str]:
        """Columns of numbers, written in no form that is known."""
        return self.numbers | self.answers


NOTHING = KnownColumns()
"""Of a table of which nothing is known."""
