"""Columns of text that hold numbers or codes, in text files, spreadsheets and files with types."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from committee.data.dates import infer_time_format
from committee.data.readers.cell_forms import (
    PLAIN,
    WHOLE,
    ColumnFormats,
    convert_columns,
    find_number_formats,
    grouping_points_note,
)
from committee.data.readers.cells import (
    COMMA,
    MISSING,
    NUMBER_FORMATS,
    PERCENT,
    DigitCodes,
    are_digit_codes,
    are_missing_marks,
    describe_cells,
    format_base,
    format_sign,
    have_grouping_points,
    infer_plain_numbers,
    is_text,
    mark_counts,
    matching_formats,
    missing_marks_note,
    parse_plain_numbers,
    replace_missing_marks,
    text_columns,
)
from committee.data.readers.file_format import FileFormat, KnownColumns
from committee.data.readers.formats import SeparatedText, read_separated, read_texts
from committee.data.text import quoted

if TYPE_CHECKING:
    import polars as pl

SEPARATOR = ","  # numbers in files without a separator are read as in CSV
_BLOCK = 2**20  # bytes that are searched at a time


def replace_common_marks(
    frame: pl.DataFrame, known: KnownColumns, texts: Container[str]
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    changed, notes = [], []
    for column in text_columns(frame, texts):
        marked = are_missing_marks(column)
        if not marked.any():
            continue
        rest = column.set(marked, None)
        numbers, present = parse_plain_numbers(rest), rest.drop_nulls()
        all_numbers = numbers.null_count() == rest.null_count()
        learned = column.name in known.plain or column.name in known.forms
        if not learned and (
            present.is_empty()
            or not (all_numbers or matching_formats(present) or infer_time_format(present)[0] is not None)
        ):
            continue
        notes.append(missing_marks_note(column.name, mark_counts(column, marked), learned=learned))
        changed.append(numbers if all_numbers and not are_digit_codes(rest) else rest)
    return frame.with_columns(changed), tuple(notes)


def convert_text_columns(
    frame: pl.DataFrame, known: KnownColumns, texts: Container[str], decimal: str | None, separator: str
) -> tuple[pl.DataFrame, ColumnFormats]:
    forms = {name: form for name, form in known.forms.items() if name in frame.columns and form in NUMBER_FORMATS}
    unknown = [column for column in text_columns(frame, texts) if column.name not in forms]
    found = find_number_formats([column for column in unknown if not are_digit_codes(column)], decimal, separator)
    reject_percentages(frame, found.forms, known)
    forms |= found.forms
    frame = convert_columns(frame, forms)
    plain = [column.name for column in text_columns(frame) if column.name in known.plain]
    # a target column without any number holds no targets
    plain = [name for name in plain if name not in known.answers or parse_plain_numbers(frame[name]).count()]
    return convert_columns(frame, dict.fromkeys(plain, PLAIN)), replace(found, forms=forms)


def reject_percentages(frame: pl.DataFrame, forms: Mapping[str, str], known: KnownColumns) -> None:
    for name in known.numbers.intersection(forms):
        if format_sign(forms[name]) == PERCENT:  # 12 % may be 12 or 0.12
            raise ValueError(
                f"column {name!r} holds percentages here ({describe_cells(frame[name], frame[name].is_not_null(), 1)}),"
                " and plain numbers in training; write them as in training"
            )


def read_typed_text(
    frame: pl.DataFrame, texts: frozenset[str], form: FileFormat, known: KnownColumns
) -> tuple[pl.DataFrame, ColumnFormats]:
    written = replace_missing_marks(frame, form.missing, list(known.verbatim))
    candidates = text_columns(written, texts)
    if not candidates:
        return frame, ColumnFormats()
    candidates = [column for column in candidates if column.name not in known.forms]
    codes = [column for column in candidates if column.name not in known.plain and are_digit_codes(column)]
    texts |= {column.name for column in codes}
    plain = (infer_plain_numbers(column) for column in candidates if column.name not in texts)
    numbers = [column for column in plain if column is not None]
    read, of_marks = replace_common_marks(written.with_columns(numbers), known, texts)
    read, found = convert_text_columns(read, known, texts, form.decimal, SEPARATOR)
    grouped = grouping_point_columns(written.select(each.name for each in numbers), form.decimal, found.forms)
    read = convert_columns(read.with_columns(written.select(grouped)), dict.fromkeys(grouped, COMMA))
    new = [each.name for each in numbers if each.name not in (*grouped, *known.plain)]
    notes = [digit_codes_note(codes)] if codes else []
    notes += [plain_numbers_note(new)] if new else []
    notes += [grouping_points_note(grouped)] if grouped else []
    forms = found.forms | dict.fromkeys(grouped, COMMA)
    return read, replace(found, forms=forms, notes=(*notes, *of_marks, *found.notes))


def grouping_point_columns(written: pl.DataFrame, decimal: str | None, forms: Mapping[str, str]) -> list[str]:
    if decimal != "," and COMMA not in map(format_base, forms.values()):
        return []
    return [column.name for column in written.get_columns() if have_grouping_points(column)]


def plain_numbers_note(names: Sequence[str]) -> str:
    shown = quoted(names)
    return f"text that holds numbers alone is read as numbers: {shown}; --categorical takes columns for categories"


@dataclass
class PlainNumbers:
    codes: DigitCodes = field(default_factory=DigitCodes)
    whole: bool = True
    numbers: bool = True

    def take(self, column: pl.Series) -> None:
        if not is_text(column):
            self.whole = self.whole and column.dtype.is_integer()
            return
        self.codes.take(column)
        marks = are_missing_marks(column)
        marked = marks & ~column.is_in(MISSING).fill_null(False)
        found = infer_plain_numbers(column.set(marked, None))
        if found is not None:
            self.whole = self.whole and found.dtype.is_integer() and not marked.any()
        elif column.set(marks, None).count():
            self.numbers = False

    @property
    def form(self) -> str | None:
        if self.codes.are_codes or not self.numbers:
            return None
        return WHOLE if self.whole else PLAIN


def restore_digit_codes(
    text: SeparatedText, frame: pl.DataFrame, but: Container[str]
) -> tuple[pl.DataFrame, list[str]]:
    whole = [column.name for column in frame.get_columns() if column.name not in but and _are_whole(column)]
    if not whole or not may_have_codes(text):
        return frame, []
    texts = read_texts(text, whole)
    codes = [name for name in whole if are_digit_codes(texts[name])]
    if codes and texts.height != frame.height:  # blank lines have been left out
        texts = read_separated(text, codes)
    return frame.with_columns(texts[name] for name in codes), codes


def digit_codes_note(columns: list[pl.Series]) -> str:
    padded = {column.name: column.filter(column.str.contains(r"^\s*0\d").fill_null(False))[0] for column in columns}
    shown = ", ".join(f"{name!r} (such as {cell!r})" for name, cell in padded.items())
    return f"codes with zeros in front are kept as text, as categories: {shown}"


def _are_whole(column: pl.Series) -> bool:
    if column.dtype.is_integer():
        return True
    return column.dtype.is_float() and bool((column == column.floor()).fill_null(True).all())


def may_have_codes(text: SeparatedText) -> bool:
    """Return whether a cell may begin with a zero and a digit."""
    if not text.is_utf_8:
        return True
    begins = re.compile(b"[%s\"'\\s]0[0-9]" % re.escape(text.separator.encode()))
    before = b"\n"
    with text.errors(), text.file.opened() as opened:
        while block := opened.read(_BLOCK):
            if begins.search(before + block):
                return True
            before = block[-2:]
    return False
