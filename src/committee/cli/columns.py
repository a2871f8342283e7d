"""Columns of the tables that commands read: the options that name them, and those that a model learned from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from committee.cli.pieced_forms import first_rows, forms_of_new_numbers, separator_of
from committee.cli.table_options import TableOptions
from committee.cli.terminal import note, say_notes
from committee.cli.unknown_categories import notes_of_unknown

if TYPE_CHECKING:
    import polars as pl

    from committee.data.out_of_core.scan import Pieces
    from committee.data.readers.file_format import FileFormat, KnownColumns

Target = Annotated[str | None, typer.Option("--target", "-t", help="Column that holds the labels.")]
TaskOption = Annotated[
    str | None,
    typer.Option(
        metavar="classes|numbers",
        help="By default text and a few whole numbers are classes, other numbers are numbers.",
        show_default=False,
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(metavar="A,B", help="Columns of numbers that are categories.", show_default=False),
]


def columns_of(learner: Any, data: Path, table: TableOptions) -> Any:
    """Columns of a file that the model learned from, in its order, with its types.

    Notes name the others, and categories that the model has not learned.
    """
    X = features_of(learner, read_for(learner, data, table), str(data))
    say_notes(notes_of_unknown(learner, X))
    return X


def read_for(
    learner: Any,
    data: Path,
    table: TableOptions,
    *,
    ids: Sequence[str] = (),
    answers: Sequence[str] = (),
    rows_needed: bool = True,
) -> pl.DataFrame:
    """Read a file whole, with the types and the forms of cells of the model that it is for.

    Columns of `ids` are read as they are, those of `answers` as numbers though the model has not learned from them.
    """
    from committee.data.readers.cell_forms import convert_columns
    from committee.data.readers.cells import NUMBER_FORMATS, missing_marks_note
    from committee.data.readers.tables import read_table_with_notes

    known = known_columns(learner, ids, answers)
    read = read_table_with_notes(
        data, drop=table.dropped, form=form_for(learner, table), known=known, rows_needed=rows_needed
    )
    say_notes(read.notes)
    marks: dict[str, Counter[str]] = {}
    times = {name: form for name, form in known.forms.items() if form not in NUMBER_FORMATS}
    frame = convert_columns(read.frame, times, table.dates, marks)
    say_notes(missing_marks_note(name, counts, learned=True) for name, counts in marks.items())
    return _as_learned(learner, frame)


def _as_learned(learner: Any, frame: pl.DataFrame) -> pl.DataFrame:
    """Call columns as the model does that differ from its names by spaces alone, for which LightGBM has underscores."""
    names = learned_columns(learner)[0]
    learned = set[str](() if names is None else names).difference(frame.columns)
    written: dict[str, list[str]] = {}
    for name in frame.columns:
        written.setdefault(name.replace(" ", "_"), []).append(name)
    same = {written[name][0]: name for name in learned if len(written.get(name, ())) == 1}
    if same:
        from committee.data.text import quoted

        note(f"taken for the columns of the model whose names have underscores for spaces: {quoted(same)}")
    return frame.rename(same)


def known_columns(learner: Any, ids: Sequence[str] = (), answers: Sequence[str] = ()) -> KnownColumns:
    """What a model knows of the columns of files."""
    from committee.data.readers.file_format import KnownColumns

    forms, (names, text) = forms_of(learner), learned_columns(learner)
    of_answers = {name: form for name in answers if (form := form_of_answers(learner, name)) is not None}
    table = learner.table_
    plain = () if table is None or names is None else zip(names, table.categories, strict=True)
    return KnownColumns(
        frozenset(text),
        frozenset(name for name, levels in plain if levels is None and name not in forms),
        forms | of_answers,
        frozenset(ids).difference(() if names is None else names),
        frozenset(answers).difference(of_answers),
    )


def form_of_answers(learner: Any, name: str) -> str | None:
    """How the numbers of a column were written that the model predicts; None of another one, and of plain numbers."""
    made = getattr(learner, "provenance_", None)
    return made.written if made is not None and made.target == name else None


def form_for(learner: Any, table: TableOptions) -> FileFormat:
    """How files for a model are written: cells that were missing in training are so here, too."""
    form = table.form
    learned = () if learner.table_ is None else learner.table_.missing
    return replace(form, missing=tuple(dict.fromkeys([*form.missing, *learned])))


def forms_of(learner: Any) -> dict[str, str]:
    """How numbers are written in the files that the model learned from, such as with decimal commas or as dates."""
    return {} if learner.table_ is None else learner.table_.forms


def features_of(learner: Any, frame: pl.DataFrame, data: str, ids: Sequence[str] = ()) -> Any:
    """Columns of a table, called `data` in errors, that the model learned from; a note names others, but for `ids`."""
    names, _ = learned_columns(learner)
    if names is None:
        # Learned from an array: columns are matched by place. Converted models may have text even so.
        X = frame.drop(ids, strict=False)
        return X if _has_text(learner.table_) else X.to_numpy()
    choose_learned(data, names, [name for name in frame.columns if name not in ids or name in names])
    return frame.select(names)


def _has_text(table: Any) -> bool:
    """Whether a column's categories are text."""
    return table is not None and any(levels and isinstance(levels[0], str) for levels in table.categories)


def pieced_columns_of(
    learner: Any,
    pieces: Pieces,
    table: TableOptions,
    ids: Sequence[str] = (),
    answers: Sequence[str] = (),
    marks: dict[str, Counter[str]] | None = None,
) -> Pieces:
    """The columns of a table in pieces that the model learned from, and `answers`; of one of an array all columns.

    A note names others, but for `ids`. Common marks for missing cells are counted in `marks` as the pieces are read.
    """
    import polars as pl

    from committee.data.out_of_core.file_sources import TextFiles, columns_as_text, convert_files
    from committee.data.readers.cell_forms import PLAIN
    from committee.data.readers.text_columns import reject_percentages

    names, text = learned_columns(learner)
    if names is None:
        return pieces
    unnamed = {*ids, *answers}.difference(names)
    choose_learned("the table", names, [name for name in pieces.columns or () if name not in unnamed])
    others, known = [name for name in answers if name not in names], known_columns(learner)
    forms = dict(known.forms)
    of_text = isinstance(pieces.source, TextFiles)
    rows = first_rows(replace(pieces, columns=tuple(names)))
    texts = [column.name for column in rows.get_columns() if column.dtype == pl.String]
    rows = _written_otherwise(rows.select(texts))
    new = forms_of_new_numbers(rows, separator_of(pieces), {*text, *forms}, table.decimal)
    say_notes(new.notes)
    reject_percentages(rows, new.forms, known)
    plain = dict.fromkeys(known.numbers.intersection(texts), PLAIN)
    text, forms = [*text, *(forms if of_text else ()), *(others if of_text else ())], forms | plain | new.forms
    how = {"missing": form_for(learner, table).missing, "dates": table.dates, "verbatim": tuple(others)}
    source = convert_files(columns_as_text(pieces.source, text), forms, **how, marks={} if marks is None else marks)
    return replace(pieces, source=source, columns=(*names, *others))


def _written_otherwise(rows: pl.DataFrame) -> pl.DataFrame:
    """Columns of text without common marks for missing cells, but for those that are plain numbers then."""
    from committee.data.readers.cells import are_missing_marks, parse_plain_numbers

    found = [column.set(are_missing_marks(column), None) for column in rows.get_columns()]
    return rows.select(column for column in found if parse_plain_numbers(column).null_count() > column.null_count())


def learned_columns(learner: Any) -> tuple[Any, list[str]]:
    """Names of the columns that the model learned from, None if it was an array; and those of text."""
    table = learner.table_
    if table is None:  # voters that look at the table themselves
        return getattr(learner, "feature_names_in_", None), []
    if table.names is None:
        return None, []
    of_columns = zip(table.names, table.categories, strict=True)
    return table.names, [name for name, levels in of_columns if levels and isinstance(levels[0], str)]


def choose_learned(data: str, learned: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a table that lacks columns of the model, and note those that it does not need."""
    there, known = set(names), set(learned)
    missing = [name for name in learned if name not in there]
    extra = [name for name in names if name not in known]
    if missing:
        raise ValueError(f"{data} lacks the {_columns(missing)} that the model learned from")
    if extra:
        note(f"the model does not use the {_columns(extra)}")


def _columns(names: Sequence[str]) -> str:
    from committee.data.text import quoted

    return f"{'column' if len(names) == 1 else 'columns'} {quoted(names)}"
