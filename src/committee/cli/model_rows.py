"""Rows of tables for a fitted model: the columns that it uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from committee.cli.exposure import fitted_exposure, without_exposure
from committee.cli.options import TableOptions
from committee.cli.terminal import note, print_notes
from committee.data.dates import restore_times
from committee.data.text import quoted

if TYPE_CHECKING:
    import polars as pl

    from committee.data.readers.file_format import FileFormat, KnownColumns
    from committee.data.table_schema import TableSchema


# --- columns ---------------------------------------------------------------------------------------------


def table_schema(learner: Any) -> TableSchema | None:
    """Return the schema of the tables that a model reads, `None` if its voters read the table themselves."""
    return None if learner.table_ is None else learner.table_.source


def used_columns(learner: Any) -> tuple[Any, list[str]]:
    """Return the names of the columns that a model uses (`None` if fitted on an array), and of the text columns."""
    table = table_schema(learner)
    if table is None:  # voters that read the table themselves
        return getattr(learner, "feature_names_in_", None), []
    if table.names is None:
        return None, []
    columns = zip(table.names, table.categories, strict=True)
    texts = learner.table_.texts
    return table.names, [name for name, levels in columns if name in texts or (levels and isinstance(levels[0], str))]


def text_levels(learner: Any) -> dict[str, tuple[str, ...]]:
    """Return the categories of a model's columns of text."""
    table = table_schema(learner)
    if table is None or table.names is None:
        return {}
    columns = zip(table.names, table.categories, strict=True)
    return {name: tuple(map(str, levels)) for name, levels in columns if levels and isinstance(levels[0], str)}


def check_columns(data: str, used: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a table that lacks columns of the model, and note the columns that the model does not use."""
    present, known = set(names), set(used)
    missing = [name for name in used if name not in present]
    extra = [name for name in names if name not in known]
    if missing:
        raise ValueError(f"{data} lacks the {_columns(missing)}, used by the model; add {_them(missing)} to the table")
    if extra:
        note(f"the model does not use the {_columns(extra)}")


def _columns(names: Sequence[str]) -> str:
    return f"{'column' if len(names) == 1 else 'columns'} {quoted(names)}"


def _them(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"


def target_format(learner: Any, name: str) -> str | None:
    """Return the number format of the target (decimal comma, percent, currency); `None` if plain, or another column."""
    made = getattr(learner, "provenance_", None)
    return made.written if made is not None and made.target == name else None


def file_format(learner: Any, table: TableOptions) -> FileFormat:
    """Return the file format of the options, with the marks for missing cells of the model added."""
    form = table.form
    learned = () if learner.table_ is None else learner.table_.missing
    return replace(form, missing=tuple(dict.fromkeys([*form.missing, *learned])))


def known_columns(learner: Any, ids: Sequence[str] = (), answers: Sequence[str] = ()) -> KnownColumns:
    """Return the formats and kinds of the columns of files for a model."""
    from committee.data.readers.file_format import KnownColumns

    table, (names, text) = table_schema(learner), used_columns(learner)
    forms: dict[str, str] = {} if table is None else table.forms
    of_answers = {name: form for name in answers if (form := target_format(learner, name)) is not None}
    plain = () if table is None or names is None else zip(names, table.categories, strict=True)
    return KnownColumns(
        frozenset(text),
        frozenset(name for name, levels in plain if levels is None and name not in forms),
        forms | of_answers,
        frozenset(ids).difference(() if names is None else names),
        frozenset(answers).difference(of_answers),
    )


# --- rows ------------------------------------------------------------------------------------------------


def read_features(learner: Any, data: Path, table: TableOptions) -> Any:
    """Read the columns that a model uses without its exposure, and note unknown categories."""
    frame = without_exposure(read_for_model(learner, data, table), fitted_exposure(learner, None))
    X = select_features(learner, frame, str(data))
    note_unknown_categories(learner, X)
    return X


def read_for_model(
    learner: Any,
    data: Path,
    table: TableOptions,
    *,
    ids: Sequence[str] = (),
    answers: Sequence[str] = (),
    rows_needed: bool = True,
) -> pl.DataFrame:
    """Read a file in the column formats of a model. Columns `ids` are unchanged, columns `answers` become numbers."""
    from committee.data.readers.cell_forms import convert_columns
    from committee.data.readers.cells import NUMBER_FORMATS, missing_marks_note, strip_to_levels
    from committee.data.readers.tables import read_table_with_notes, reject_infinite_cells

    known, form = known_columns(learner, ids, answers), file_format(learner, table)
    read = read_table_with_notes(data, drop=table.dropped, form=form, known=known, rows_needed=rows_needed)
    print_notes(read.notes)
    used = used_columns(learner)[0]
    reject_infinite_cells(data, read.frame, form, {*(() if used is None else used), *answers})
    marks: dict[str, Counter[str]] = {}
    times = {name: form for name, form in known.forms.items() if form not in NUMBER_FORMATS}
    frame = convert_columns(strip_to_levels(read.frame, text_levels(learner)), times, table.dates, marks)
    print_notes(missing_marks_note(name, counts, learned=True) for name, counts in marks.items())
    return _with_model_names(learner, frame)


def _with_model_names(learner: Any, frame: pl.DataFrame) -> pl.DataFrame:
    # LightGBM stores column names with underscores in place of spaces; older models have names with blanks around them
    names = used_columns(learner)[0]
    missing = set[str](() if names is None else names).difference(frame.columns)
    blanks = {name.strip(): name for name in missing if name.strip() != name and name.strip() in frame.columns}
    frame = frame.rename(blanks)
    missing = missing.difference(blanks.values())
    written: dict[str, list[str]] = {}
    for name in frame.columns:
        written.setdefault(name.replace(" ", "_"), []).append(name)
    same = {written[name][0]: name for name in missing if len(written.get(name, ())) == 1}
    if same:
        note(f"matched with columns of the model that have underscores for spaces: {quoted(same)}")
    return frame.rename(same)


def select_features(learner: Any, frame: pl.DataFrame, data: str, ids: Sequence[str] = ()) -> Any:
    """Select the columns that a model uses from a table, called `data` in errors; a note names others except `ids`."""
    names, _ = used_columns(learner)
    if names is not None:
        check_columns(data, names, [name for name in frame.columns if name not in ids or name in names])
        return restore_times(frame.select(names), {} if learner.table_ is None else learner.table_.typed_forms)
    # fitted on an array: columns are matched by position; converted models may have text categories even so
    X, table = frame.drop(ids, strict=False), table_schema(learner)
    has_text = table is not None and any(levels and isinstance(levels[0], str) for levels in table.categories)
    return X if has_text else X.to_numpy()


@dataclass
class UnknownCategories:
    """Counts of categories that a model has not learned, over chunks of a table."""

    learner: Any
    counts: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, X: Any) -> None:
        """Count the unknown categories of a frame; arrays have no categories."""
        import polars as pl

        table = table_schema(self.learner)
        if not isinstance(X, pl.DataFrame) or table is None or table.names is None:
            return
        for name, categories in zip(table.names, table.categories, strict=True):
            if not categories or not isinstance(categories[0], str) or name not in X.columns:
                continue
            cells = X[name].cast(pl.String).drop_nulls()
            counts = cells.filter(~cells.is_in(list(categories))).value_counts()
            if counts.height:
                self.counts.setdefault(name, Counter()).update(dict(counts.iter_rows()))

    def notes(self) -> list[str]:
        """Return one note per column."""
        return [self._note(name, counts) for name, counts in self.counts.items()]

    @staticmethod
    def _note(name: str, counts: Counter[str]) -> str:
        n = sum(counts.values())
        cells = "1 cell holds an unknown category" if n == 1 else f"{n:,} cells hold unknown categories"
        shown = ", ".join(f"{value!r} ({count:,})" for value, count in counts.most_common(3))
        more = f" and {len(counts) - 3:,} more" if len(counts) > 3 else ""
        return f"column {name!r}: {cells}, read as missing: {shown}{more}"


def note_unknown_categories(learner: Any, X: Any) -> None:
    """Print notes on the categories of rows that a model has not learned."""
    unknown = UnknownCategories(learner)
    unknown.add(X)
    print_notes(unknown.notes())
