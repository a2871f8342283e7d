"""Columns of the tables that commands read: the options that name them, and those that a model learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from committee.cli.table_options import TableOptions
from committee.cli.terminal import note, say_notes

if TYPE_CHECKING:
    import polars as pl

    from committee.data.pieces.scan import Pieces

Target = Annotated[str | None, typer.Option("--target", "-t", help="Column that holds the labels.")]
Categorical = Annotated[
    list[str] | None,
    typer.Option(metavar="A,B", help="Columns of numbers that are categories.", show_default=False),
]


def columns_of(learner: Any, data: Path, table: TableOptions, *, rows_needed: bool = True) -> Any:
    """Columns of a file that the model learned from, in its order, with its types; a note names the others."""
    return features_of(learner, read_for(learner, data, table, rows_needed=rows_needed), str(data))


def read_for(learner: Any, data: Path, table: TableOptions, *, rows_needed: bool = True) -> pl.DataFrame:
    """Read a file whole, with the types of the model that it is for."""
    import polars as pl

    from committee.data.read import read_noted

    read = read_noted(data, drop=table.dropped, form=table.form, rows_needed=rows_needed)
    say_notes(read.notes)
    types = read.frame.schema
    text = [name for name in learned_columns(learner)[1] if name in types]
    # Categories of text may look like numbers in this file: then read them once more as text.
    if all(types[name] in (pl.String, pl.Categorical, pl.Enum) for name in text):
        return read.frame
    return read_noted(data, categorical=text, drop=table.dropped, form=table.form, rows_needed=rows_needed).frame


def features_of(learner: Any, frame: pl.DataFrame, data: str) -> Any:
    """Columns of a table, called `data` in errors, that the model learned from; a note names the others."""
    names, _ = learned_columns(learner)
    if names is None:
        # Learned from an array: columns are matched by place.
        return frame.to_numpy()
    choose_learned(data, names, frame.columns)
    return frame.select(names)


def pieced_columns_of(learner: Any, pieces: Pieces) -> Pieces:
    """The same of a table in pieces; of a model that learned from an array, all columns in their order."""
    from committee.data.pieces.text_columns import with_text

    names, text = learned_columns(learner)
    if names is None:
        return pieces
    choose_learned("the table", names, list(pieces.columns or ()))
    return replace(pieces, source=with_text(pieces.source, text), columns=tuple(names))


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
