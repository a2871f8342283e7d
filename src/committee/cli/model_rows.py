"""Rows of tables for a fitted model: the columns that it uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from committee.cli.options import TableOptions
from committee.cli.row_columns import fitted_exposure, without_exposure
from committee.cli.terminal import note, print_notes
from committee.data.dates import restore_times
from committee.data.readers.features import LearnedColumns, table_schema
from committee.data.text import quoted

if TYPE_CHECKING:
    import polars as pl


# --- columns ---------------------------------------------------------------------------------------------


def check_columns(learner: Any, data: str, used: Sequence[str], names: Sequence[str]) -> None:
    made = getattr(learner, "provenance_", None)
    present, known = set(names), {*used, *(() if made is None else (made.target,))}
    missing = [name for name in used if name not in present]
    extra = [name for name in names if name not in known]
    if missing:
        raise ValueError(f"{data} lacks the {_columns(missing)}, used by the model; add {_them(missing)} to the table")
    if extra:
        note(f"the model does not use the {_columns(extra)}")


def check_not_dropped(learner: Any, table: TableOptions) -> None:
    used = set(LearnedColumns.of_model(learner).used)
    if dropped := [name for name in table.dropped if name in used]:
        raise ValueError(
            f"--drop names the {_columns(dropped)}, used by the model; leave {_them(dropped)} out of --drop"
        )


def _columns(names: Sequence[str]) -> str:
    return f"{'column' if len(names) == 1 else 'columns'} {quoted(names)}"


def _them(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"


# --- rows ------------------------------------------------------------------------------------------------


def read_features(learner: Any, data: Path, table: TableOptions) -> Any:
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
    """Columns `ids` are unchanged, columns `answers` become numbers."""
    from committee.cli.training_table import PrintingReader

    check_not_dropped(learner, table)
    reader = PrintingReader.of_model(learner, **table.reader_settings)
    frame = reader.rows(data, ids=ids, answers=answers, drop=table.dropped, rows_needed=rows_needed)
    return _with_model_names(learner, frame)


def _with_model_names(learner: Any, frame: pl.DataFrame) -> pl.DataFrame:
    # LightGBM stores column names with underscores in place of spaces; older models have names with blanks around them
    missing = set(LearnedColumns.of_model(learner).used).difference(frame.columns)
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
    names = LearnedColumns.of_model(learner).names
    if names is not None:
        check_columns(learner, data, names, [name for name in frame.columns if name not in ids or name in names])
        return restore_times(frame.select(names), {} if learner.table_ is None else learner.table_.typed_forms)
    # fitted on an array: columns are matched by position; converted models may have text categories even so
    X, table = frame.drop(ids, strict=False), table_schema(learner)
    has_text = table is not None and any(levels and isinstance(levels[0], str) for levels in table.categories)
    return X if has_text else X.to_numpy()


@dataclass
class UnknownCategories:
    learner: Any
    counts: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, X: Any) -> None:
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
        return [self._note(name, counts) for name, counts in self.counts.items()]

    def _note(self, name: str, counts: Counter[str]) -> str:
        table = table_schema(self.learner)
        read_as = "the mean of all rows" if table.coded(table.names.index(name)) is None else "missing"
        n = sum(counts.values())
        cells = "1 cell holds an unknown category" if n == 1 else f"{n:,} cells hold unknown categories"
        shown = ", ".join(f"{value!r} ({count:,})" for value, count in counts.most_common(3))
        more = f" and {len(counts) - 3:,} more" if len(counts) > 3 else ""
        return f"column {name!r}: {cells}, read as {read_as}: {shown}{more}"


def note_unknown_categories(learner: Any, X: Any) -> None:
    unknown = UnknownCategories(learner)
    unknown.add(X)
    print_notes(unknown.notes())
