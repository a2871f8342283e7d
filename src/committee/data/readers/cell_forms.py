"""Columns of text that are numbers or dates: formats, notes on them, conversion, and refusal in frames."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from committee.data.categories import Category
from committee.data.dates import (
    DATE_FORMAT,
    DURATION_FORMAT,
    TIME_FORMATS,
    allowed_formats,
    day_month_order,
    infer_time_format,
    mixed_order_cells,
    non_time_cells,
    parse_seconds,
    swap_day_month,
    typed_seconds,
)
from committee.data.readers.cells import (
    COMMA,
    COMMON_MARKS,
    NUMBER_FORMATS,
    PERCENT,
    THOUSANDS,
    are_digit_codes,
    are_missing_marks,
    common_sign,
    describe_cells,
    format_base,
    format_sign,
    infer_number_formats,
    infer_plain_numbers,
    is_text,
    mark_counts,
    matching_formats,
    parse_numbers,
    parse_plain_numbers,
    unusual_negatives,
    with_sign,
)
from committee.data.text import quoted

if TYPE_CHECKING:
    import polars as pl


KNOWN_FORMATS = frozenset({*NUMBER_FORMATS, *TIME_FORMATS, DURATION_FORMAT})  # formats that a model file may name
PLAIN = "0.5"  # format of plain numbers, which no model file names
WHOLE = "1"  # format of plain integers, which stay integers


@dataclass(frozen=True)
class ColumnFormats:
    forms: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    unsure: dict[str, str] = field(default_factory=dict)  # by column, notes on dates of unknown order


def find_number_formats(columns: Sequence[pl.Series], decimal: str | None, separator: str) -> ColumnFormats:
    forms, mixed = infer_number_formats(columns, decimal, separator)
    notes = []
    negatives: dict[str, str] = {}
    plain = set[str]()  # with neither a decimal comma nor marks between thousands
    for column in columns:
        if column.name in forms and (marked := unusual_negatives(column)).any():
            negatives[column.name] = column.filter(marked)[0]
            if not column.str.contains(r"[^\d.()\s+\u2212\u2013-]").any():
                plain.add(column.name)
    for form, words in (
        (COMMA, "with a decimal comma"),
        (THOUSANDS, "with commas, spaces or apostrophes between thousands"),
    ):
        if names := [name for name, own in forms.items() if own == form and name not in plain]:
            notes.append(f"read as numbers {words}: {quoted(names)}")
    if negatives:
        shown = ", ".join(f"{name!r} (such as {cell!r})" for name, cell in negatives.items())
        notes.append(f"read as negative numbers: {shown}")
    for column in columns:
        if sign := format_sign(form := forms.get(column.name, "")):
            cell = column.drop_nulls()[:1]
            what = "percentages" if sign == PERCENT else f"numbers with {sign}"
            number = parse_numbers(cell, form)[0]
            notes.append(f"column {column.name!r} is read as {what}: {cell[0]!r} is {number:.10g}")
    if mixed:
        notes.append(
            f"read as text, as some numbers have decimal commas and others decimal points: {quoted(mixed)};"
            " write them in one way"
        )
    return ColumnFormats(forms, tuple(notes))


def grouping_points_note(names: Sequence[str]) -> str:
    return f"points between thousands, as the file has decimal commas: {quoted(names)}"


def find_time_formats(columns: Sequence[pl.Series], order: str | None) -> ColumnFormats:
    forms: dict[str, str] = {}
    unsure: dict[str, str] = {}
    shown, others = [], []
    for column in columns:
        form, sure = infer_time_format(column, order)
        if form is None:
            others += _text_notes(column, order)
            continue
        name, forms[column.name] = column.name, form
        first = str(column.drop_nulls().head(1).to_list()[0]) if column.null_count() < len(column) else "no cell"
        shown.append(f"{name!r} (such as {first!r})")
        if not sure:
            unsure[name] = (
                f"dates of {name!r} such as {first!r} are read with the day before the month, as no cell settles it;"
                " --dates month-first reads them the other way"
            )
            others.append(unsure[name])
    notes = [f"read as dates, times or durations: {', '.join(shown)}"] if shown else []
    return ColumnFormats(forms, (*notes, *others), unsure)


def _text_notes(column: pl.Series, order: str | None) -> list[str]:
    # a column of text some of whose cells are dates or times
    if not is_text(column) or column.null_count() == len(column):
        return []
    form = None if order is None else infer_time_format(column)[0]
    if form is not None and order == "iso":
        cell = column.drop_nulls()[0]
        return [f"column {column.name!r} is read as text because its dates, such as {cell!r}, are not of --dates iso"]
    if form is not None:
        wrong = parse_seconds(column, swap_day_month(form) or form).is_null() & column.is_not_null()
        raise ValueError(
            f"column {column.name!r} has the {'month' if order == 'day-first' else 'day'} first"
            f" ({describe_cells(column, wrong)}), and --dates is {order}; change it, or write dates as 2024-12-31"
        )
    mixed = mixed_order_cells(column.drop_nulls())
    if mixed is not None:
        return [
            f"column {column.name!r} is read as text because some dates have the day before the month ({mixed[0]!r})"
            f" and others the month before the day ({mixed[1]!r}); write them as 2024-12-31"
        ]
    wrong = non_time_cells(column)
    if not wrong.any():
        return []
    n = int(wrong.sum())
    what = "1 cell is no date or time" if n == 1 else f"{n:,} cells are no dates or times"
    return [
        f"column {column.name!r} is read as text because {what} ({describe_cells(column, wrong)}); if they mean"
        " missing, name them by --missing, or leave them empty"
    ]


def convert_columns(
    frame: pl.DataFrame,
    forms: Mapping[str, str],
    dates: str | None = None,
    marks: dict[str, Counter[str]] | None = None,
) -> pl.DataFrame:
    """Convert columns by `forms`, and count marks for missing values in `marks`."""
    changed = []
    for name, form in forms.items():
        if name not in frame.columns:
            continue
        column = frame[name]
        if column.null_count() < len(column) and is_text(column):
            marked = are_missing_marks(column)
            if marks is not None and marked.any():
                marks.setdefault(name, Counter()).update(mark_counts(column, marked))
            column = column.set(marked, None) if marked.any() else column
        changed.append(_converted(column, form, dates))
    return frame.with_columns(changed)


def _converted(column: pl.Series, form: str, dates: str | None) -> pl.Series:
    import polars as pl

    if column.null_count() == len(column):
        return column.cast(pl.Float64, strict=False)
    if form == WHOLE and is_text(column):
        whole = infer_plain_numbers(column)
        return _numbers(column, PLAIN) if whole is None else whole
    if form in (*NUMBER_FORMATS, PLAIN, WHOLE):
        return _numbers(column, form) if is_text(column) else column
    if column.dtype.is_temporal():
        return typed_seconds(column)
    if not is_text(column):
        raise ValueError(
            f"column {column.name!r} was learned as dates, times or durations but holds {column.dtype}; write it as in"
            " training"
        )
    return _times(column, form, dates)


def _numbers(column: pl.Series, form: str) -> pl.Series:
    # another file may write the same numbers in another format
    best, found = form, _parsed(column, form)
    for other in _equivalent_formats(column, form):
        if found.null_count() == column.null_count():
            break
        read = _parsed(column, other)
        if read.null_count() < found.null_count():
            best, found = other, read
    wrong = found.is_null() & column.is_not_null()
    if wrong.any():
        what = "must hold numbers" if best == PLAIN else f"holds numbers written as {best!r}"
        raise ValueError(_wrong_cells_message(column, wrong, what))
    return found


def _parsed(column: pl.Series, form: str) -> pl.Series:
    return parse_plain_numbers(column) if form == PLAIN else parse_numbers(column, form)


def _equivalent_formats(column: pl.Series, form: str) -> list[str]:
    # with or without the sign of a currency; percentages always have theirs, and another currency is another number
    sign = format_sign(form)
    signs = [sign]
    if sign != PERCENT:
        of_cells = common_sign(column.drop_nulls()) or ""
        signs += [each for each in ("", of_cells) if each != PERCENT and not (sign and each)]
    bases = (format_base(form), THOUSANDS, COMMA)
    others = [with_sign(base, each) for each in signs for base in bases if base != PLAIN]
    return [other for other in dict.fromkeys(others) if other != form]


def _times(column: pl.Series, form: str, dates: str | None) -> pl.Series:
    # another file may use another format with day and month in the same order
    order = dates or day_month_order(form)
    if dates is not None and day_month_order(form) not in (None, dates):
        form = swap_day_month(form) or form if dates != "iso" else DATE_FORMAT
    found = parse_seconds(column, form)
    if found.null_count() == column.null_count():
        return found
    own, sure = infer_time_format(column, order)
    if own is not None:
        if sure:
            return parse_seconds(column, own)
        raise ValueError(
            f"column {column.name!r} was learned from dates of another format, and its cells here"
            f" ({column.drop_nulls()[0]!r}) may have the day or the month first; choose with --dates day-first or"
            " --dates month-first"
        )
    allowed = (form, *allowed_formats(order))
    best = min(allowed, key=lambda each: parse_seconds(column, each).null_count())  # the first of equals
    wrong = parse_seconds(column, best).is_null() & column.is_not_null()
    if order in ("day-first", "month-first"):
        _reject_other_order(column, wrong, order)
    what = "must hold durations" if best == DURATION_FORMAT else f"holds dates or times written as {best}"
    raise ValueError(_wrong_cells_message(column, wrong, what))


def _reject_other_order(column: pl.Series, wrong: pl.Series, order: str) -> None:
    other = "month-first" if order == "day-first" else "day-first"
    forms = [form for form in TIME_FORMATS if day_month_order(form) == other]
    contrary = max((wrong & parse_seconds(column, form).is_not_null() for form in forms), key=lambda each: each.sum())
    if contrary.any():
        first, second = ("day", "month") if order == "day-first" else ("month", "day")
        raise ValueError(
            f"column {column.name!r} is read with the {first} before the {second}, as in training or by --dates,"
            f" and a cell has the {second} first ({describe_cells(column, contrary)}); give --dates {other} if all"
            f" dates of this file do, and fit again with it if those of training did; or write dates as 2024-12-31"
        )


def _wrong_cells_message(column: pl.Series, wrong: pl.Series, what: str) -> str:
    n = int(wrong.sum())
    unfit = "1 cell does not fit" if n == 1 else f"{n:,} cells do not fit"
    return (
        f"column {column.name!r} {what}, but {unfit} ({describe_cells(column, wrong)}); correct them, name them by"
        " --missing if they mean missing, or take the column as text with --categorical when fitting"
    )


MOST_CODES = 16  # different whole numbers in a column of text that are codes of categories
NUMBER_SHARE = 0.9  # of numbers among the different values of a column, from which its text is a mistake

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
    """Refuse columns of text whose `categories` are numbers or dates."""
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
        # not of all values, as a fold of the rows may lack the others
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
    shown = ", ".join(map(repr, odd[:3])) + ", ..." * (len(odd) > 3)
    missing = f"missing=[{shown}]" if odd else ""
    by_reader = f"Read the table by X = committee.TableReader({missing}).fit_transform(X)"
    return f"{by_reader}, or convert the column to {kind}"


def _remedy_of_pieces(name: str, kind: str, odd: Sequence[str]) -> str:
    strict = ", strict=False" if odd else ""
    plain, convert = (
        ("plain numbers", f"cast(pl.Float64{strict})") if kind == "numbers" else ("ISO dates", "str.to_datetime()")
    )
    return (
        f"Convert the column in the pieces, {plain} as by pl.col({name!r}).{convert} in a LazyFrame of polars, or fit"
        " files by the command line, which reads them"
    )


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _are_codes(numbers: Sequence[str]) -> bool:
    return any(len(cell) > 1 and cell[0] == "0" and cell[1].isdigit() for cell in numbers)
