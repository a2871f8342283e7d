"""Columns of the tables that commands read: the options that name them, and those that a model learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from committee.cli.pieced_forms import first_rows, forms_of_new_numbers
from committee.cli.table_options import TableOptions
from committee.cli.terminal import note, say_notes

if TYPE_CHECKING:
    import polars as pl

    from committee.data.pieces.scan import Pieces

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
    """Columns of a file that the model learned from, in its order, with its types; a note names the others."""
    return features_of(learner, read_for(learner, data, table), str(data))


def read_for(
    learner: Any, data: Path, table: TableOptions, *, ids: Sequence[str] = (), rows_needed: bool = True
) -> pl.DataFrame:
    """Read a file whole, with the types and the forms of cells of the model that it is for; columns of `ids` as is."""
    from committee.data.read import read_noted
    from committee.data.reading.cell_forms import NUMBERS, in_numbers

    known, (names, text) = forms_of(learner), learned_columns(learner)
    read = read_noted(
        data,
        drop=table.dropped,
        form=table.form,
        as_text=text,
        verbatim=set(ids).difference(() if names is None else names),
        known=known,
        rows_needed=rows_needed,
    )
    say_notes(read.notes)
    return in_numbers(read.frame, {name: form for name, form in known.items() if form not in NUMBERS})


def forms_of(learner: Any) -> dict[str, str]:
    """How numbers are written in the files that the model learned from, such as with decimal commas or as dates."""
    return {} if learner.table_ is None else learner.table_.forms


def features_of(learner: Any, frame: pl.DataFrame, data: str, ids: Sequence[str] = ()) -> Any:
    """Columns of a table, called `data` in errors, that the model learned from; a note names others, but for `ids`."""
    names, _ = learned_columns(learner)
    if names is None:
        # Learned from an array: columns are matched by place. Converted models may have text even so.
        return frame.drop(ids) if _has_text(learner.table_) else frame.drop(ids).to_numpy()
    choose_learned(data, names, [name for name in frame.columns if name not in ids or name in names])
    return frame.select(names)


def _has_text(table: Any) -> bool:
    """Whether a column's categories are text."""
    return table is not None and any(levels and isinstance(levels[0], str) for levels in table.categories)


def pieced_columns_of(learner: Any, pieces: Pieces, table: TableOptions, ids: Sequence[str] = ()) -> Pieces:
    """The columns of a table in pieces that the model learned from, and `ids`; of one of an array all columns."""
    from committee.data.pieces.columns_with_forms import with_forms
    from committee.data.pieces.text_columns import with_text
    from committee.data.pieces.text_files import TextFiles

    names, text = learned_columns(learner)
    if names is None:
        return pieces
    choose_learned("the table", names, [name for name in pieces.columns or () if name not in ids or name in names])
    others, forms = [name for name in ids if name not in names], forms_of(learner)
    if isinstance(pieces.source, TextFiles):
        rows = first_rows(replace(pieces, columns=tuple(names)))
        new = forms_of_new_numbers(rows, pieces.source.separator, {*text, *forms}, table.decimal)
        say_notes(new.notes)
        text, forms = [*text, *forms, *others], forms | new.forms
    source = with_forms(with_text(pieces.source, text), forms)
    return replace(pieces, source=source, columns=(*names, *others))


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
    from committee.data.names import listing

    there, known = set(names), set(learned)
    missing = [name for name in learned if name not in there]
    extra = [name for name in names if name not in known]
    if missing:
        raise ValueError(f"{data} lacks the column(s) {listing(missing)} that the model learned from")
    if extra:
        note(f"the model does not use the column(s) {listing(extra)}")
