"""Columns of the tables that commands read: the options that name them, those that look odd, those a model knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from committee.cli.inputs import frame_of
from committee.cli.terminal import note

if TYPE_CHECKING:
    import polars as pl

    from committee.data.pieces.scan import Pieces

Target = Annotated[str | None, typer.Option("--target", "-t", help="Column that holds the labels.")]
Categorical = Annotated[
    list[str] | None,
    typer.Option(metavar="A,B", help="Columns of numbers that are categories.", show_default=False),
]
Drop = Annotated[list[str] | None, typer.Option(metavar="A,B", help="Columns to leave out.", show_default=False)]


def split_names(values: list[str] | None) -> list[str] | None:
    """Turn ``--drop a,b --drop c`` into names; None where the option was not given."""
    if values is None:
        return None
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def look_at_columns(frame: pl.DataFrame, part: str = "") -> list[str]:
    """Point out columns that look like identifiers, or like numbers spoilt by a few words, in all rows or a `part`."""
    from committee.data.read import id_like_columns, nearly_numeric_columns

    notes = [
        f"column {column.name!r} looks like an identifier ({column.reason}{part}); drop it with --drop {column.name}"
        for column in id_like_columns(frame)
    ]
    for nearly in nearly_numeric_columns(frame):
        values = ", ".join(map(repr, nearly.values))
        notes.append(
            f"column {nearly.name!r} is read as text because {nearly.count} cell(s) are no numbers"
            f" ({values}){part}; if they mean missing, leave them empty in the file"
        )
    for text in notes:
        note(text)
    return notes


def columns_of(learner: Any, data: Path, drop: list[str]) -> Any:
    """Columns that the model learned from, in its order, with its types."""
    import polars as pl

    from committee.data.read import read_table

    frame = read_table(data, drop=drop)
    names, text = learned_columns(learner)
    if names is None:
        # Learned from an array: columns are matched by place.
        return frame.to_numpy()
    types = frame.schema
    _refuse_other_columns(str(data), learner, names, list(types), lambda name: [frame[name]])
    # Categories of text may look like numbers in this file: then read them once more as text.
    if any(types[name] not in (pl.String, pl.Categorical, pl.Enum) for name in text):
        frame = read_table(data, categorical=text, drop=drop)
    return frame.select(names)


def pieced_columns_of(learner: Any, pieces: Pieces) -> Pieces:
    """The same of a table in pieces; of a model that learned from an array, all columns in their order."""
    from committee.data.pieces.text_columns import with_text

    names, text = learned_columns(learner)
    if names is None:
        return pieces

    def cells(name: str) -> Iterator[pl.Series]:
        for piece in replace(pieces, columns=(name,)):
            yield frame_of(piece)[name]

    _refuse_other_columns("the table", learner, names, list(pieces.columns or ()), cells)
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


def _refuse_other_columns(
    data: str, learner: Any, learned: Any, names: list[str], cells: Callable[[str], Iterable[pl.Series]]
) -> None:
    """Refuse columns that are missing, and such as the model does not know but for one that holds its classes."""
    from committee.data.names import listing

    there, known = set(names), set(learned)
    missing = [name for name in learned if name not in there]
    extra = [name for name in names if name not in known]
    if missing:
        raise ValueError(f"{data} lacks the column(s) {listing(missing)} that the model learned from")
    classes = getattr(learner, "classes_", None)
    if len(extra) == 1 and classes is not None and _hold_only(cells(extra[0]), classes):
        note(f"column {extra[0]!r} holds classes of the model: taken for the labels and set aside")
    elif extra:
        raise ValueError(
            f"{data} has the column(s) {listing(extra)} that the model does not know;"
            f" leave them out with --drop {','.join(extra)}"
        )


def _hold_only(columns: Iterable[pl.Series], classes: Any) -> bool:
    known = {str(label) for label in classes}
    return all(str(value) in known for column in columns for value in column.drop_nulls().unique().to_list())
