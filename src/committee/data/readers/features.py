"""Feature columns: chosen and noted in training tables, and read alike in new tables (`LearnedColumns`)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from committee.data.columns import text_reason, whole_number_reason
from committee.data.dates import infer_time_format, kind_of_format, parse_seconds, restore_times
from committee.data.readers.cell_forms import MOST_CODES, convert_columns, find_time_formats
from committee.data.readers.cells import (
    COMMA,
    CURRENCIES,
    THOUSANDS,
    are_digit_codes,
    are_missing,
    cell_sign,
    describe_cells,
    is_text,
    parse_numbers,
    parse_plain_numbers,
    strip_cells,
    strip_to_levels,
    text_columns,
    with_sign,
)
from committee.data.readers.file_format import FileFormat, KnownColumns
from committee.data.text import check_names

if TYPE_CHECKING:
    import polars as pl


LONGEST_CATEGORY = 1_000  # most characters of a category, all of which a model stores
FEWEST_WORDS = 3.0  # shorter text that is mostly distinct identifies rows: names, codes
MOST_UNITS = 8  # more distinct endings are no units: house numbers such as 12a are no quantities

_SIGNS = "|".join(map(re.escape, CURRENCIES))
_QUANTITY = rf"^[+-]?\s*({_SIGNS})?\s*[+-]?(\d[\d.,\s']*)\s*([^\d\s.,+-][^\d\s]{{0,9}})?$"
_ORDINALS = ("st", "nd", "rd", "th")


def select_features(
    X: pl.DataFrame,
    keep: Sequence[str] = (),
    part: str = "",
    categorical: Sequence[str] = (),
    *,
    free_text: bool = False,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    nearly = nearly_numeric_columns(X)
    sentences = [name for name in X.columns if free_text and name not in categorical and are_sentences(X[name])]
    others = {*check_names(keep, X.columns, "--keep"), *nearly, *sentences}
    ids = id_like_columns(X)
    found = {name: reason for name, reason in ids.items() if name not in others and not _is_of_numbers(X[name])}
    if len(found) == X.width:
        notes = [
            f"column {name!r} {reason}{part}; it is kept, as otherwise no column would be left"
            for name, reason in found.items()
        ]
        found = {}
    else:
        notes = [
            f"column {name!r} is left out: it {reason}{part}; --keep {shlex.quote(name)} learns from it"
            for name, reason in found.items()
        ]
    notes += [
        f"column {name!r} is read as text because {cells}{part}; if they mean missing, name them by --missing, or leave"
        " them empty"
        for name, cells in nearly.items()
    ]
    notes += unit_notes(X.drop({*found, *nearly, *categorical}, strict=False))
    reject_long_text(X.drop({*found, *sentences}))
    return tuple(found), tuple(notes)


def are_sentences(column: pl.Series) -> bool:
    if not is_text(column):
        return False
    words = column.drop_nulls().unique().str.count_matches(r"\S+").mean()
    return isinstance(words, float) and words >= FEWEST_WORDS


def reject_long_text(X: pl.DataFrame) -> None:
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
                f" {shlex.quote(column.name)}, or make categories or numbers of it first"
            )


def _is_of_numbers(column: pl.Series) -> bool:
    return is_text(column) and bool(are_numbers(column.drop_nulls()).all())


def id_like_columns(frame: pl.DataFrame) -> dict[str, str]:
    import polars as pl

    found: dict[str, str] = {}
    for column in frame.get_columns():
        reason = None
        if is_text(column):
            reason = text_reason(column.drop_nulls().n_unique(), len(column))
        elif column.dtype.is_float() or (column.dtype.is_integer() and column.dtype not in (pl.Int128, pl.UInt128)):
            present = ~are_missing(column)
            if column.dtype.is_integer() or not present.all():
                reason = whole_number_reason(column.name, column.filter(present).to_numpy(), present.to_numpy())
        if reason is not None:
            found[column.name] = reason
    return found


def nearly_numeric_columns(frame: pl.DataFrame) -> dict[str, str]:
    found: dict[str, str] = {}
    for column in text_columns(frame):
        others = ~are_numbers(column) & column.is_not_null()
        n = int(others.sum())
        if 0 < n <= 0.1 * (len(column) - column.null_count()):
            cells = "1 cell is no number" if n == 1 else f"{n:,} cells are no numbers"
            found[column.name] = f"{cells} ({describe_cells(column, others)})"
    return found


def are_numbers(texts: pl.Series) -> pl.Series:
    signs = {"", *(cell_sign(cell) or "" for cell in texts.drop_nulls().head(3))}
    found = parse_plain_numbers(texts).is_not_null()
    for form in (with_sign(base, sign) for sign in signs for base in (COMMA, THOUSANDS)):
        found |= parse_numbers(texts, form).is_not_null()
    return found


def unit_notes(frame: pl.DataFrame) -> list[str]:
    notes = []
    for column in text_columns(frame):
        present = column.drop_nulls()
        parts = present.str.strip_chars().str.extract_groups(_QUANTITY).struct.unnest()
        before, number, behind = parts.get_columns()
        signs = (before.fill_null("") + behind.fill_null("")).str.to_lowercase()
        quantities = number.is_not_null() & (signs != "") & ~signs.is_in(_ORDINALS)
        n = int(quantities.sum())
        some_numbers = 2 * n > len(present) and number.filter(quantities).n_unique() >= 3
        if some_numbers and signs.filter(quantities).n_unique() <= MOST_UNITS:
            notes.append(
                f"column {column.name!r} is left as categories, though {n:,} of its {len(present):,} cells are numbers"
                f" with a unit, such as {present.filter(quantities)[0]!r}; write them as numbers in one unit to have"
                " them learned as such"
            )
    return notes


@dataclass(frozen=True)
class LearnedFeatures:
    X: pl.DataFrame
    forms: dict[str, str]
    notes: tuple[str, ...]
    left_out: tuple[str, ...]


def learned_features(
    X: pl.DataFrame,
    dates: str | None,
    keep: Sequence[str] | Literal["all"],
    numeric: Sequence[str],
    categorical: Sequence[str],
    *,
    free_text: bool,
) -> LearnedFeatures:
    import polars as pl

    times = find_time_formats([column for column in X.get_columns() if column.name not in categorical], dates)
    X = convert_columns(X, times.forms)
    left_out: tuple[str, ...] = ()
    notes = times.notes
    if keep != "all":
        kept = keep if isinstance(keep, str) else [name for name in (*keep, *times.forms) if name not in numeric]
        features = X.drop(numeric, strict=False)  # which are features in any case
        left_out, more = select_features(features, kept, categorical=categorical, free_text=free_text)
        notes += more
    # committees compute the months, weekdays and hours of dates, which must not look like numbers
    typed = {name: form for name, form in times.forms.items() if kind_of_format(form) == "date"}
    X = restore_times(X.drop(left_out), typed)
    declared = [one.name for one in text_columns(X) if one.name in categorical or _half_are_numbers_or_dates(one)]
    X = X.with_columns(pl.col(name).cast(pl.Categorical) for name in declared)
    return LearnedFeatures(X, times.forms, notes, left_out)


def _half_are_numbers_or_dates(column: pl.Series) -> bool:
    # text that a learner would refuse, on these rows or on a part of them
    distinct = column.drop_nulls().unique()
    if distinct.is_empty() or are_digit_codes(distinct):
        return False
    parsed, plain = are_numbers(distinct), parse_plain_numbers(distinct).drop_nulls()
    if int(parsed.sum()) == len(plain) <= MOST_CODES and (plain == plain.floor()).all():
        return False
    for form in {infer_time_format(distinct[[k]])[0] for k in range(min(3, len(distinct)))} - {None}:
        parsed |= parse_seconds(distinct, str(form)).is_not_null()
    return 2 * int(parsed.sum()) >= len(distinct)


def table_schema(model: Any) -> Any:
    return None if model.table_ is None else model.table_.source


@dataclass(frozen=True)
class LearnedColumns:
    names: tuple[str, ...] | None = None  # None: fitted on an array, columns match by position
    text: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()  # without a format of their own
    forms: Mapping[str, str] = field(default_factory=dict)
    typed: Mapping[str, str] = field(default_factory=dict)  # formats of columns that become typed
    missing: tuple[str, ...] = ()
    levels: Mapping[str, tuple[str, ...]] | None = None  # categories; None: all cells are stripped
    target: str | None = None
    target_kind: Literal["text", "booleans", "numbers"] | None = None
    target_form: str | None = None  # None: plain numbers, or text
    declared: tuple[str, ...] = ()  # of a categorical type

    @classmethod
    def of_model(cls, model: Any) -> Self:
        table, made = table_schema(model), getattr(model, "provenance_", None)
        target: dict[str, Any] = {}
        if made is not None:
            kind: str | None = None if hasattr(model, "classes_") else "numbers"
            if kind is None and np.asarray(model.classes_).dtype.kind == "U":
                kind = "text"
            target = {"target": made.target or None, "target_kind": kind, "target_form": made.written}
        if table is None:  # voters that read the table themselves
            names = getattr(model, "feature_names_in_", None)
            return cls(None if names is None else tuple(map(str, names)), levels={}, **target)
        dates = {name: form for name, form in table.forms.items() if kind_of_format(form) == "date"}
        typed = dates | (model.table_.forms if model.table_.typed else {})
        known: dict[str, Any] = {"forms": table.forms, "typed": typed, "missing": model.table_.missing, **target}
        columns = [(table.column(j), found) for j, found in enumerate(table.categories)]
        levels = {name: tuple(map(str, found)) for name, found in columns if found and isinstance(found[0], str)}
        text = frozenset([*levels, *model.table_.texts])
        numbers = frozenset(name for name, found in columns if found is None and name not in table.forms)
        return cls(table.names, text, numbers, levels=levels, **known)

    @classmethod
    def of_frame(cls, X: pl.DataFrame, forms: Mapping[str, str], **known: Any) -> Self:
        import polars as pl

        kinds = X.schema
        text = frozenset(name for name, kind in kinds.items() if kind in (pl.String, pl.Categorical, pl.Enum))
        numbers = frozenset(name for name, kind in kinds.items() if kind.is_numeric() and name not in forms)
        typed = {name: form for name, form in forms.items() if kinds[name].is_temporal()}
        declared = tuple(name for name, kind in kinds.items() if kind == pl.Categorical)
        return cls(tuple(X.columns), text, numbers, dict(forms), typed, declared=declared, **known)

    @property
    def used(self) -> tuple[str, ...]:
        return () if self.names is None else self.names

    def known(self, ids: Sequence[str] = (), answers: Sequence[str] = (), texts: Sequence[str] = ()) -> KnownColumns:
        """Return kinds of columns: `ids` are not converted, `answers` are numbers, `texts` text."""
        of_answers: dict[str, str] = {}
        if self.target is not None and self.target in answers and self.target_form is not None:
            of_answers[self.target] = self.target_form
        return KnownColumns(
            self.text.union(texts).difference(ids),
            self.numbers.difference(ids),
            {name: form for name, form in self.forms.items() if name not in ids} | of_answers,
            frozenset(ids),
            frozenset(answers).difference(of_answers),
        )

    def file_format(self, form: FileFormat) -> FileFormat:
        numbered = bool(self.used) and all(re.fullmatch(r"column_\d+", name) for name in self.used)
        header = None if numbered and form.header else form.header  # None: detected
        return replace(form, missing=tuple(dict.fromkeys([*form.missing, *self.missing])), header=header)

    def strip(self, frame: pl.DataFrame) -> pl.DataFrame:
        return strip_cells(frame)[0] if self.levels is None else strip_to_levels(frame, self.levels)
