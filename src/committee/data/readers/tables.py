"""Tables from files of many formats, spreadsheets and data frames, as polars frames; their target columns."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee.data.columns import Column, column_names, is_frame, open_frame, read_columns
from committee.data.dates import restore_times
from committee.data.packages import require_package
from committee.data.readers.cell_forms import convert_columns, grouping_points_note
from committee.data.readers.cells import (
    COMMA,
    MISSING,
    NUMBER_FORMATS,
    are_digit_codes,
    are_missing,
    format_base,
    have_grouping_points,
    is_text,
    parse_plain_numbers,
    reject_infinity,
    replace_missing_marks,
    text_columns,
    with_flags,
)
from committee.data.readers.file_format import (
    BROKEN,
    DEFAULT_FORMAT,
    NO_KNOWN_COLUMNS,
    FileFormat,
    KnownColumns,
    TableFile,
    read_unpacked,
    table_file,
)
from committee.data.readers.formats import (
    SeparatedText,
    distinct_header,
    drop_nameless,
    first_error_line,
    is_nameless,
    no_header_note,
    read_cells,
    read_header,
    read_separated,
    read_typed,
    reject_nul_bytes,
    stripped_names,
    stripped_names_note,
    written_header,
)
from committee.data.readers.text_columns import (
    convert_text_columns,
    digit_codes_note,
    read_typed_text,
    replace_common_marks,
    restore_digit_codes,
)
from committee.data.text import check_names, pluralize, quoted, suggest_names

if TYPE_CHECKING:
    import polars as pl


FilePath: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True)
class ReadTable:
    frame: pl.DataFrame
    forms: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read_table_with_notes(
    source: FilePath | pl.DataFrame,
    *,
    categorical: Iterable[str] = (),
    drop: Iterable[str] = (),
    form: FileFormat = DEFAULT_FORMAT,
    known: KnownColumns = NO_KNOWN_COLUMNS,
    rows_needed: bool = True,
) -> ReadTable:
    import polars as pl

    # a single text is refused by `check_names`
    wanted, dropped = (names if isinstance(names, str) else tuple(names) for names in (categorical, drop))
    texts = frozenset([*wanted, *dropped]) | known.text | known.verbatim
    if isinstance(source, pl.DataFrame):
        what: object = "X"
        read = _of_typed(source, texts, form, known)
    else:
        what = file = table_file(source)
        read = _read(file, texts, form, known)
    frame = read.frame
    if not frame.width or not (frame.height or not rows_needed):
        remarks = "".join(f"; {note}" for note in read.notes)
        raise ValueError(
            f"{what} has {pluralize(frame.width, 'column')} and {pluralize(frame.height, 'row')}; both must be at least"
            f" 1{remarks}"
        )
    as_text = {*check_names(wanted, frame.columns, "categorical"), *known.text}
    dropped = check_names(dropped, frame.columns, "drop")
    frame = replace_missing_marks(frame, form.missing, list(known.verbatim))
    types = frame.schema
    nested = [name for name in wanted if types[name].is_nested()]
    if nested:
        raise ValueError(f"categorical names {nested[0]!r}, which holds {types[nested[0]]}; drop it instead")
    text_types = (pl.String, pl.Categorical, pl.Enum)
    casts = [name for name in types if name in as_text and types[name] not in text_types]
    frame = frame.with_columns(pl.col(casts).cast(pl.String)).drop(dropped)
    return replace(read, frame=frame)


def polars_frame(X: Any) -> pl.DataFrame:
    if not is_frame(X):
        raise TypeError(f"X is {type(X).__name__}; give the path of a file, or a frame (pandas, polars, Arrow)")
    import polars as pl

    frame = open_frame(X)
    names = column_names(frame.columns)
    if names is None:
        raise TypeError("the columns of X have no names; name them, as in X.columns = ['age', 'city']")
    if isinstance(X, pl.DataFrame):
        return X
    columns = read_columns(frame, names)
    times = {column.name: column.form for column in columns if column.form is not None}
    return restore_times(pl.DataFrame([_polars_column(column) for column in columns]), times)


def _polars_column(column: Column) -> pl.Series:
    import polars as pl

    if (column.kind == "number" and not column.declared) or column.seconds is not None:
        return pl.Series(column.name, np.asarray(column.numbers()), nan_to_null=True)
    cells = [None if absent else cell for cell, absent in zip(column.series.to_list(), column.missing(), strict=True)]
    if column.kind == "boolean":
        return pl.Series(column.name, cells, pl.Boolean)
    texts = pl.Series(column.name, [None if cell is None else str(cell) for cell in cells], pl.String)
    if not column.declared:
        return texts
    order = column.order
    return texts.cast(pl.Categorical if order is None else pl.Enum(list(map(str, order))))


def _of_typed(frame: pl.DataFrame, texts: frozenset[str], form: FileFormat, known: KnownColumns) -> ReadTable:
    frame, found = read_typed_text(frame, texts, form, known)
    return ReadTable(frame, found.forms, found.notes)


def _read(file: TableFile, texts: frozenset[str], form: FileFormat, known: KnownColumns) -> ReadTable:
    if form.sheet is not None and file.kind != "sheets":
        raise ValueError(f"a sheet is given for {file}, which is no spreadsheet; leave the sheet out")
    if file.kind not in ("sheets", "text"):
        return _of_typed(read_typed(file), texts, form, known)
    read = (_read_sheet if file.kind == "sheets" else _read_text)(file, texts, form, known)
    frame, more = drop_nameless(file, read.frame)
    return replace(read, frame=frame, notes=(*read.notes, *more))


def _read_sheet(file: TableFile, texts: frozenset[str], form: FileFormat, known: KnownColumns) -> ReadTable:
    frame, notes = read_sheet(file, form.sheet, but=texts)
    frame = replace_missing_marks(frame, form.missing, list(known.verbatim))
    frame, more = replace_common_marks(frame, known, texts)
    notes += more
    if codes := [column for column in text_columns(frame, texts) if are_digit_codes(column)]:
        notes += (digit_codes_note(codes),)
    frame, found = convert_text_columns(frame, known, texts, form.decimal, "\t")
    return ReadTable(frame, found.forms, (*notes, *found.notes))


def _read_text(file: TableFile, texts: frozenset[str], form: FileFormat, known: KnownColumns) -> ReadTable:
    import polars as pl

    text = SeparatedText.of(file, form)
    names = written_header(text)
    notes = (*text.notes, *stripped_names_note(names, stripped_names(names)))
    written = {name for name, own in known.forms.items() if own in NUMBER_FORMATS}
    frame = read_separated(text, texts | written)
    if known.verbatim:
        frame = frame.with_columns(read_cells(text, known.verbatim))
    reject_nul_bytes(text, frame)
    notes += no_header_note(text, frame)
    frame, codes = restore_digit_codes(text, frame, texts | written | known.plain)
    if codes:
        texts |= set(codes)
        notes += (digit_codes_note([frame[name] for name in codes]),)
    frame = replace_missing_marks(frame, form.missing, list(known.verbatim))
    frame, more = replace_common_marks(frame, known, texts)
    notes += more
    frame, found = convert_text_columns(with_flags(frame, texts), known, texts, form.decimal, text.separator)
    forms = found.forms
    # in a file of decimal commas a point before three digits is no decimal point, though the reader takes it for one
    decimals = (column.name for column in frame.get_columns() if column.dtype == pl.Float64)
    pointed = [name for name in decimals if name not in forms]
    if pointed and (form.decimal == "," or COMMA in map(format_base, forms.values())):
        again = read_separated(text, pointed)
        if grouped := [name for name in pointed if have_grouping_points(again[name])]:
            comma = dict.fromkeys(grouped, COMMA)
            frame = convert_columns(frame.with_columns(again.select(grouped)), comma)
            forms |= comma
            notes += (grouping_points_note(grouped),)
    return ReadTable(frame, forms, (*notes, *found.notes))


def reject_infinite_cells(
    source: FilePath | pl.DataFrame, frame: pl.DataFrame, form: FileFormat, names: Container[str] | None = None
) -> None:
    def place(row: int) -> str:
        if not isinstance(source, str | os.PathLike):
            return f"row {row:,} of X"
        file = table_file(source)
        if file.kind != "text":
            return f"row {row:,} of {file}"
        return f"line {SeparatedText.of(file, form).line_of_row(row, frame.width):,} of {file}"

    columns = frame.get_columns()
    reject_infinity((column for column in columns if names is None or column.name in names), place)


def split_target(frame: pl.DataFrame, target: str) -> tuple[pl.DataFrame, NDArray[Any]]:
    import polars as pl

    if target not in frame.columns:
        below = any(column.str.contains(target, literal=True).any() for column in text_columns(frame))
        remedy = "; if the column names are below the first line, name --sep or --skip-lines" if below else ""
        raise ValueError(f"target {target!r} is not a column; {suggest_names(target, frame.columns)}{remedy}")
    if frame.width == 1:
        raise ValueError(f"target {target!r} is the only column; a table needs at least one more")
    labels = frame[target]
    if labels.dtype.is_float():
        labels = labels.fill_nan(None)
    if labels.null_count():
        first, drop = labels.is_null().arg_max(), "drop these rows, or " * (labels.null_count() < frame.height)
        raise ValueError(
            f"target {target!r} is missing in {labels.null_count()} of {frame.height} rows "
            f"(first in row {first}); {drop}fill in their labels"
        )
    if labels.dtype in (pl.String, pl.Categorical, pl.Enum):
        y: NDArray[Any] = np.array(labels.cast(pl.String).to_list(), dtype=np.str_)
    elif labels.dtype.is_numeric() or labels.dtype == pl.Boolean:
        y = labels.to_numpy()
    else:
        raise ValueError(f"target {target!r} holds {labels.dtype}; make its labels text, numbers or booleans")
    return frame.drop(target), y


def drop_unlabelled(frame: pl.DataFrame, target: str, *, strict: bool) -> tuple[pl.DataFrame, tuple[str, ...]]:
    if strict or target not in frame.columns:
        return frame, ()
    missing = are_missing(frame[target])
    n = int(missing.sum())
    if n in (0, frame.height):
        return frame, ()
    return frame.filter(~missing), (unlabelled_note(target, n, frame.height, int(missing.arg_max() or 0)),)


def unlabelled_note(target: str, n_missing: int, n: int, first: int) -> str:
    rows = "1 row" if n_missing == 1 else f"{n_missing:,} rows"
    return f"{rows} of {n:,} without target {target!r} left out, the first row {first:,}; --strict refuses them"


def case_notes(target: str, y: NDArray[Any]) -> tuple[str, ...]:
    if y.dtype.kind != "U":
        return ()
    same: dict[str, list[str]] = {}
    for label, count in sorted(Counter(y.tolist()).items()):
        same.setdefault(label.casefold(), []).append(f"{label!r} ({count:,})")
    groups = [" and ".join(group) for group in same.values() if len(group) > 1]
    if not groups:
        return ()
    shown = ", ".join(groups[:3]) + (f" and {len(groups) - 3:,} more" if len(groups) > 3 else "")
    return (f"target {target!r} has classes that differ by case alone: {shown}; write each in one way",)


def read_raw_cells(path: Path, names: Sequence[str], form: FileFormat) -> pl.DataFrame:
    file = table_file(path)
    if file.kind == "sheets":
        frame, _ = drop_nameless(file, read_sheet(file, form.sheet, but=names)[0])
        columns = frame.select(check_names(names, frame.columns, "--id")).get_columns()
        return frame.select(map(_whole, columns))
    if file.kind != "text":
        frame = read_typed(file)
        return frame.select(check_names(names, frame.columns, "--id"))
    text = SeparatedText.of(file, form)
    header = distinct_header(file, read_header(text))
    # of columns without a name only the one that holds cells can be meant
    nameless = [name for name in header if is_nameless(name)] if "" in names else []
    cells = read_cells(text, [*check_names(names, header, "--id"), *nameless])
    return drop_nameless(file, cells)[0].select(names) if nameless else cells.select(names)


def read_sheet(file: TableFile, sheet: str | None, but: Container[str]) -> tuple[pl.DataFrame, tuple[str, ...]]:
    import polars as pl

    require_package("fastexcel", f"the spreadsheet {file}")
    import fastexcel

    try:
        with file.opened() as opened:
            book = fastexcel.read_excel(read_unpacked(file, opened).getvalue())
        name, notes = _chosen_sheet(file, book.sheet_names, sheet)
        first = book.load_sheet(name, header_row=None, n_rows=1, dtypes="string").to_polars()
        if not first.height or not first.width:
            raise ValueError(f"sheet {name!r} of {file} is empty")
        written = ["" if cell is None else str(cell) for cell in first.row(0)]
        header = distinct_header(file, stripped_names(written))
        frame = book.load_sheet(name, header_row=0, schema_sample_rows=None).to_polars()
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError, *BROKEN) as error:
        raise ValueError(f"{file} cannot be read as a spreadsheet: {first_error_line(error)}") from error
    frame.columns = header
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    # one cell of text makes the whole column text in fastexcel
    return frame.with_columns(_typed(column) for column in frame.get_columns() if column.name not in but), (
        *notes,
        *stripped_names_note(written, header),
    )


def _chosen_sheet(file: TableFile, names: list[str], sheet: str | None) -> tuple[str, tuple[str, ...]]:
    if sheet is None:
        several = f"{file} has {len(names)} sheets ({quoted(names, 5)}); the first is read, --sheet names another"
        return names[0], (several,) if len(names) > 1 else ()
    if sheet in names:
        return sheet, ()
    if sheet.isdecimal() and 1 <= int(sheet) <= len(names):
        return names[int(sheet) - 1], ()
    raise ValueError(f"{file} has no sheet {sheet!r}; {suggest_names(sheet, names)}")


def _typed(column: pl.Series) -> pl.Series:
    if is_text(column):
        present = column.set(column.is_in(MISSING).fill_null(False), None)
        numbers = parse_plain_numbers(present)
        are_numbers = numbers.null_count() == present.null_count() and not are_digit_codes(present)
        column = numbers if are_numbers else present
    return _whole(column)


def _whole(column: pl.Series) -> pl.Series:
    import polars as pl

    if column.dtype != pl.Float64 or column.null_count() == len(column):
        return column
    whole = column.cast(pl.Int64, strict=False)
    return whole if (whole.cast(pl.Float64) == column).fill_null(True).all() and not whole.null_count() else column
