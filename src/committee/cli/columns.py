"""Columns of the tables that commands read: the options that name them, those that look odd, those a model knows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from committee.cli.terminal import note

if TYPE_CHECKING:
    import polars as pl

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


def look_at_columns(frame: pl.DataFrame) -> list[str]:
    """Point out columns that look like identifiers, or like numbers spoilt by a few words."""
    from committee.data.read import id_like_columns, nearly_numeric_columns

    notes = [
        f"column {column.name!r} looks like an identifier ({column.reason}); drop it with --drop {column.name}"
        for column in id_like_columns(frame)
    ]
    for nearly in nearly_numeric_columns(frame):
        values = ", ".join(map(repr, nearly.values))
        notes.append(
            f"column {nearly.name!r} is read as text because {nearly.count} cell(s) are no numbers"
            f" ({values}); if they mean missing, leave them empty in the file"
        )
    for text in notes:
        note(text)
    return notes


def columns_of(learner: Any, data: Path, drop: list[str]) -> Any:
    """Columns that the model learned from, in its order, with its types."""
    from committee.data.names import listing
    from committee.data.read import read_table

    frame = read_table(data, drop=drop)
    table = learner.table_
    if table is None:  # voters that look at the table themselves
        names = getattr(learner, "feature_names_in_", None)
        categories = (None,) * learner.n_features_in_
    else:
        names, categories = table.names, table.categories
    if names is None:
        # Learned from an array: columns are matched by place.
        return frame.to_numpy()
    types, learned = frame.schema, set(names)
    missing = [name for name in names if name not in types]
    extra = [name for name in types if name not in learned]
    if missing:
        raise ValueError(f"{data} lacks the column(s) {listing(missing)} that the model learned from")
    classes = getattr(learner, "classes_", None)
    if len(extra) == 1 and classes is not None and _holds_only(frame[extra[0]], classes):
        note(f"column {extra[0]!r} holds classes of the model: taken for the labels and set aside")
    elif extra:
        raise ValueError(
            f"{data} has the column(s) {listing(extra)} that the model does not know;"
            f" leave them out with --drop {','.join(extra)}"
        )
    # Categories of text may look like numbers in this file: then read them once more as text.
    text = [n for n, c in zip(names, categories, strict=True) if c and isinstance(c[0], str)]
    import polars as pl

    if any(types[name] not in (pl.String, pl.Categorical, pl.Enum) for name in text):
        frame = read_table(data, categorical=text, drop=drop)
    return frame.select(names)


def _holds_only(column: pl.Series, classes: Any) -> bool:
    known = {str(label) for label in classes}
    return all(str(value) in known for value in column.drop_nulls().unique().to_list())
