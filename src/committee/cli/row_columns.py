"""Columns with one value per row that models do not learn from as such: groups, times and weights."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import polars as pl

    from committee.cli.options import TrainingOptions
    from committee.data.number_types import F64

Group = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="COLUMN",
        help="Column of groups, such as patients: rows of a group are in one fold. The model does not learn from it.",
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="COLUMN",
        help="Column of dates or numbers that orders the rows: every fold is predicted from the rows before it. It"
        " stays a column of the model unless --drop names it.",
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(
        "--weight",
        metavar="COLUMN",
        help="Column of row weights, at least 0. The model does not learn from it.",
    ),
]


@dataclass(frozen=True)
class RowColumns:
    """Names of the columns of groups, times and weights, `None` where there is none."""

    group: str | None = None
    time: str | None = None
    weight: str | None = None

    @property
    def named(self) -> dict[str, str]:
        given = {"--group": self.group, "--time": self.time, "--weight": self.weight}
        return {option: name for option, name in given.items() if name is not None}

    @property
    def numeric(self) -> tuple[str, ...]:
        return () if self.weight is None else (self.weight,)

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Make errors on the readers' `keep` and `numeric` name the option that the column was given by."""
        try:
            yield
        except ValueError as error:
            text = str(error)
            for option, name in self.named.items():
                text = re.sub(rf"^(--)?(keep|numeric) names {re.escape(repr(name))}", f"{option} names {name!r}", text)
            raise ValueError(text) from error

    def to_read(self, table: TrainingOptions) -> TrainingOptions:
        """Return the options by which files are read: the times are read even if the model does not learn from them."""
        return table if self.time is None else replace(table, drop=[n for n in table.dropped if n != self.time])

    def check(self, target: str | None, dropped: tuple[str, ...] = ()) -> None:
        if self.group is not None and self.time is not None:
            raise ValueError("--group and --time do not go together; leave one of them out")
        options: dict[str, str] = {}
        for option, name in self.named.items():
            if name == target:
                raise ValueError(f"{option} {name!r} is the target; name another column")
            if name in dropped and option != "--time":
                raise ValueError(f"{option} {name!r} is left out by --drop; leave it out of --drop")
            if name in options:
                raise ValueError(f"{options[name]} and {option} both name {name!r}; name different columns")
            options[name] = option


NO_COLUMNS = RowColumns()


@dataclass(frozen=True, eq=False)
class RowValues:
    """Groups, times and weights of rows, each (n,), `None` where there are none."""

    groups: pl.Series | None = None
    time: pl.Series | None = None
    weights: F64 | None = None

    @property
    def of_fit(self) -> dict[str, Any]:
        """Argument ``sample_weight`` of fits, if there are weights."""
        return {} if self.weights is None else {"sample_weight": self.weights}


def take_row_columns(
    frame: pl.DataFrame, columns: RowColumns, dropped: tuple[str, ...] = ()
) -> tuple[pl.DataFrame, RowValues]:
    """Take groups and weights out of a table, and times if `dropped` names them; return the rest, and the values."""
    from committee.data.text import pluralize, suggest_names

    for option, name in columns.named.items():
        if name not in frame.columns:
            raise ValueError(f"{option} {name!r} is not a column; {suggest_names(name, frame.columns)}")
        if (missing := int(frame[name].null_count())) and option != "--weight":
            row = int(frame[name].is_null().arg_max() or 0)
            raise ValueError(
                f"{option} {name!r} is missing in {pluralize(missing, 'row')}, first in row {row:,} (from 0, not"
                " counting rows left out); fill it in, or drop these rows"
            )
    time = None if columns.time is None else frame[columns.time]
    if time is not None and not (time.dtype.is_numeric() or time.dtype.is_temporal()):
        raise ValueError(
            f"--time {columns.time!r} holds {time[0]!r}, which has no order of time; name a column of dates or numbers"
        )
    groups = None if columns.group is None else frame[columns.group]
    weights = None if columns.weight is None else numbers_of(frame[columns.weight], "weight", positive=False)
    left_out = {columns.group, columns.weight, *({columns.time} & set(dropped))}
    rest = frame.drop(name for name in left_out if name is not None)
    return rest, RowValues(groups, time, weights)


def numbers_of(column: pl.Series, what: str, *, positive: bool) -> F64:
    """Return a column of finite numbers, at least 0 or above 0; `what` names it in errors."""
    import polars as pl

    least = "above 0" if positive else "of at least 0"
    if not (column.dtype.is_numeric() or column.dtype == pl.String):
        raise ValueError(f"{what} {column.name!r} holds {column.dtype}; it must be a number {least} in every row")
    numbers = column.cast(pl.Float64, strict=False)
    sound = (numbers.is_finite() & ((numbers > 0.0) if positive else (numbers >= 0.0))).fill_null(False)
    if not sound.all():
        row = int((~sound).arg_max() or 0)
        raise ValueError(
            f"{what} {column.name!r} is {column[row]!r} in row {row:,} (from 0, not counting rows left out); it must be"
            f" a number {least} in every row. Correct it, or leave the row out"
        )
    return numbers.to_numpy()
