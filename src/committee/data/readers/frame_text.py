"""Columns of text in data frames whose cells are numbers or dates, which learners refuse to take as categories."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Literal

from committee.data.categories import Category
from committee.data.dates import infer_time_format
from committee.data.readers.cells import (
    COMMON_MARKS,
    are_digit_codes,
    are_missing_marks,
    matching_formats,
    parse_plain_numbers,
)
from committee.data.text import quoted

MOST_CODES = 16
"""Whole numbers as text are codes of categories up to this many different ones."""
NUMBER_SHARE = 0.9
"""Share of plain numbers among the different values of a column from which its text is taken for a mistake."""

_FEW = 8  # values that rule out most columns of text without a parser


def numbers_or_dates(texts: Sequence[str]) -> Literal["numbers", "dates or times"] | None:
    present = [text for text in texts if text.strip().lower() not in COMMON_MARKS]
    if not present or not all(any(map(str.isdigit, text)) for text in present[:_FEW]):
        return None
    if find_spec("polars") is None:
        return "numbers" if all(map(_is_number, present)) and not _are_codes(present) else None
    import polars as pl

    column = pl.Series(present)
    column = column.set(are_missing_marks(column), None).drop_nulls()
    if column.is_empty() or are_digit_codes(column):
        return None
    if not parse_plain_numbers(column).null_count() or matching_formats(column):
        return "numbers"
    return None if infer_time_format(column)[0] is None else "dates or times"


def check_text_categories(categories: Mapping[str, Sequence[Category]], *, pieces: bool = False) -> None:
    """Raise for undeclared text whose different values ``categories[name]`` are all numbers or dates, except codes.

    Nearly all suffice if they are plain numbers, as a fold of the rows may lack the others.
    """
    remedy = _remedy_of_pieces if pieces else _remedy
    for name, found in categories.items():
        cells = [str(cell) for cell in found]
        present = [cell for cell in cells if cell.strip().lower() not in COMMON_MARKS]
        numbers = [cell for cell in present if _is_number(cell)]
        few = len(numbers) <= MOST_CODES and all(float(cell).is_integer() for cell in numbers)
        if len(present) < 2 or (few and len(numbers) == len(present)):
            continue
        if (kind := numbers_or_dates(cells)) is not None:
            marks = sorted(set(cells).difference(present))
            raise ValueError(_refusal(name, present, marks, kind, remedy(name, kind, [])))
        if not few and len(numbers) >= NUMBER_SHARE * len(cells) and not _are_codes(numbers):
            odd = sorted(set(cells).difference(numbers))
            raise ValueError(_refusal(name, numbers, odd, "numbers", remedy(name, "numbers", odd)))


def _refusal(name: str, cells: Sequence[str], odd: Sequence[str], kind: str, remedy: str) -> str:
    others = f" except {quoted(odd, 3)}" if odd else ""
    return (
        f"column {name!r} holds text whose {len(cells) + len(odd)} different values are {kind} ({quoted(cells, 2)})"
        f"{others}, and text is taken as categories. {remedy}. For categories, name it in categorical_features or"
        " declare its type categorical."
    )


def _remedy(name: str, kind: str, odd: Sequence[str]) -> str:
    convert = "pandas.to_numeric" if kind == "numbers" else "pandas.to_datetime"
    missing = f"missing={odd[:3]!r}" if odd else ""
    by_reader = f"Read the table by X = committee.TableReader({missing}).fit_transform(X)"
    return f"{by_reader}, or convert the column, e.g. by {convert}"


def _remedy_of_pieces(name: str, kind: str, odd: Sequence[str]) -> str:
    strict = ", strict=False" if odd else ""
    convert = f"cast(pl.Float64{strict})" if kind == "numbers" else "str.to_datetime()"
    return (
        f"Convert the column in the pieces, as by pl.col({name!r}).{convert} in a LazyFrame of polars, or fit the files"
        " by the command line, which reads them"
    )


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _are_codes(numbers: Sequence[str]) -> bool:
    return any(len(cell) > 1 and cell[0] == "0" and cell[1].isdigit() for cell in numbers)
