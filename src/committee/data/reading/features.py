"""Which columns of a user's table are learned from: none that name the rows, nor text too long for a category."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from committee.data.names import known_names
from committee.data.reading.identifiers import id_like_columns
from committee.data.reading.nearly_numeric import are_numbers, nearly_numeric_columns
from committee.data.reading.units import words_of_units

if TYPE_CHECKING:
    import polars as pl

LONGEST_CATEGORY = 1_000
"""Characters of a category: a model holds each of them."""


@dataclass(frozen=True)
class ChosenFeatures:
    """What columns are learned from.

    Parameters
    ----------
    left_out : tuple of str
        Columns that are not.
    notes : tuple of str
        Why, and what else is odd.
    """

    left_out: tuple[str, ...]
    notes: tuple[str, ...]


def chosen_features(
    X: pl.DataFrame, keep: Sequence[str] = (), part: str = "", categorical: Sequence[str] = ()
) -> ChosenFeatures:
    """Leave out columns that number or name the rows, but for those of `keep`; point out spoilt numbers.

    Parameters
    ----------
    X : polars.DataFrame
        The table without its labels, or its first rows.
    keep : sequence of str
        Columns that are learned from, whatever they look like.
    part : str
        Words for the rows where they are not all: ``" of the first 10,000 rows"``.
    categorical : sequence of str, default=()
        Columns that the user takes for categories, though they may be numbers with a unit.

    Raises
    ------
    ValueError
        If `keep` names no column, or a text is too long for a category.

    Examples
    --------
    >>> import polars as pl
    >>> chosen_features(pl.DataFrame({"row": range(30), "x": [0.5] * 30})).notes
    ("column 'row' is left out: it counts the rows; --keep row learns from it",)
    """
    kept = set(known_names(keep, X.columns, "--keep"))
    nearly = nearly_numeric_columns(X)
    spoilt = {each.name for each in nearly}
    found = [each for each in id_like_columns(X) if each.name not in kept | spoilt and not _is_of_numbers(X[each.name])]
    if len(found) == X.width:
        notes = [f"column {each.name!r} {each.reason}{part}; it is kept, as there is no other" for each in found]
        found = []
    else:
        notes = [
            f"column {each.name!r} is left out: it {each.reason}{part}; --keep {_as_word(each.name)} learns from it"
            for each in found
        ]
    left_out = tuple(each.name for each in found)
    notes += [
        f"column {each.name!r} is read as text because {each.words}{part}; if they mean missing, name them by"
        " --missing, or leave them empty in the file"
        for each in nearly
    ]
    notes += words_of_units(X.drop({*left_out, *spoilt, *categorical}, strict=False))
    refuse_long_text(X.drop(left_out))
    return ChosenFeatures(left_out, tuple(notes))


def refuse_long_text(X: pl.DataFrame) -> None:
    """Raise ``ValueError`` for a column of text that is too long for a category.

    Examples
    --------
    >>> import polars as pl
    >>> refuse_long_text(pl.DataFrame({"city": ["Oslo", "Bern"]}))
    """
    import polars as pl

    for column in X.get_columns():
        if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
            continue
        lengths = column.cast(pl.String).str.len_chars()
        longest = lengths.max()
        if isinstance(longest, int) and longest > LONGEST_CATEGORY:
            raise ValueError(
                f"column {column.name!r} holds a text of {longest:,} characters (row {lengths.arg_max()}), and a"
                f" category has at most {LONGEST_CATEGORY:,}: leave the column out with --drop"
                f" {_as_word(column.name)}, or make categories or numbers of it first"
            )


def _is_of_numbers(column: pl.Series) -> bool:
    """Whether a column of text holds numbers alone, which are not all written in one way."""
    import polars as pl

    return column.dtype == pl.String and bool(are_numbers(column.drop_nulls()).all())


def _as_word(name: str) -> str:
    """Spell a name as a shell takes it."""
    import shlex

    return shlex.quote(name)
