"""Columns of text most of whose cells are numbers with a unit, of which each is learned as a category."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from committee.data.reading.number_forms import CURRENCIES

if TYPE_CHECKING:
    import polars as pl

MOST_UNITS = 8
"""Of more different endings they are no units: house numbers such as 12a are no quantities."""

_SIGNS = "|".join(map(re.escape, CURRENCIES))
_QUANTITY = rf"^[+-]?\s*({_SIGNS})?\s*[+-]?(\d[\d.,\s']*)\s*([^\d\s.,+-][^\d\s]{{0,9}})?$"
_ORDINALS = ("st", "nd", "rd", "th")


def words_of_units(frame: pl.DataFrame) -> list[str]:
    """Note on each column that holds numbers with units, or with signs of several currencies.

    Examples
    --------
    >>> import polars as pl
    >>> words_of_units(pl.DataFrame({"weight": ["1.5 kg", "2 kg", "900 g", "heavy"]}))
    ["column 'weight' is left as categories, though 3 of its 4 cells are numbers with a unit, such as '1.5 kg'; write \
them as numbers in one unit to have them learned as such"]
    """
    import polars as pl

    notes = []
    for column in frame.get_columns():
        if column.dtype != pl.String:
            continue
        present = column.drop_nulls()
        parts = present.str.strip_chars().str.extract_groups(_QUANTITY).struct.unnest()
        before, number, behind = parts.get_columns()
        signs = (before.fill_null("") + behind.fill_null("")).str.to_lowercase()
        quantities = number.is_not_null() & (signs != "") & ~signs.is_in(_ORDINALS)
        n = int(quantities.sum())
        if 2 * n <= len(present) or number.filter(quantities).n_unique() < 3:
            continue
        if signs.filter(quantities).n_unique() > MOST_UNITS:
            continue
        notes.append(
            f"column {column.name!r} is left as categories, though {n:,} of its {len(present):,} cells are numbers with"
            f" a unit, such as {present.filter(quantities)[0]!r}; write them as numbers in one unit to have them"
            " learned as such"
        )
    return notes
