"""Columns with one value per row that models do not learn from as such: groups, times, weights and exposures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any

import typer

from committee.cli.terminal import note
from committee.data.text import pluralize, suggest_names

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
ModelExposure = Annotated[
    str | None,
    typer.Option(
        "--exposure", metavar="COLUMN", help="Column of the exposure. Default: the one that the model was fitted with."
    ),
]

LOSS_REMEDY = "use --model gradient_boosting -p loss=poisson (or gamma, tweedie)"


@dataclass(frozen=True)
class RowColumns:
    group: str | None = None
    time: str | None = None
    weight: str | None = None

    @property
    def named(self) -> dict[str, str]:
        given = {"--group": self.group, "--time": self.time, "--weight": self.weight}
        return {option: name for option, name in given.items() if name is not None}

    @property
    def set_folds(self) -> bool:
        return self.group is not None or self.time is not None

    @property
    def numeric(self) -> tuple[str, ...]:
        return () if self.weight is None else (self.weight,)

    def named_options(self, error: str) -> str:
        """Replace parameters in a message by the options of the command line."""
        for option, name in self.named.items():
            error = re.sub(rf"^(--)?(keep|numeric) names {re.escape(repr(name))}", f"{option} names {name!r}", error)
        return error

    def to_read(self, table: TrainingOptions) -> TrainingOptions:
        # a dropped time is read, and is no feature
        return table if self.time is None else replace(table, drop=[n for n in table.dropped if n != self.time])

    def check(self, target: str | None, dropped: tuple[str, ...] = (), exposure: str | None = None) -> None:
        for option, name in (("--target", target), ("--exposure", exposure)):
            if name in dropped:
                raise ValueError(f"{option} {name!r} is left out by --drop; leave it out of --drop")
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
    groups: pl.Series | None = None
    time: pl.Series | None = None
    weights: F64 | None = None

    @property
    def of_fit(self) -> dict[str, Any]:
        return {} if self.weights is None else {"sample_weight": self.weights}


def take_row_columns(
    frame: pl.DataFrame, columns: RowColumns, dropped: tuple[str, ...] = ()
) -> tuple[pl.DataFrame, RowValues]:
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
    if weights is not None:
        refuse_no_weight(weights, columns.weight)
    # times that are not dropped stay features
    left_out = {columns.group, columns.weight, *({columns.time} & set(dropped))}
    rest = frame.drop(name for name in left_out if name is not None)
    return rest, RowValues(groups, time, weights)


def refuse_no_weight(weights: F64, name: str | None) -> None:
    if not weights.any():
        raise ValueError(f"--weight {name!r} is 0 in every row; give a row that counts a weight above 0")


def numbers_of(column: pl.Series, what: str, *, positive: bool) -> F64:
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


def fits_offsets(learner: Any) -> bool:
    if "offset" not in signature(learner.fit).parameters:
        return False
    if learner._chosen_loss().link.name != "log":
        raise ValueError(f"--exposure needs a log link, as its logarithm is an offset of the score; {LOSS_REMEDY}")
    return True


def check_exposure_column(name: str | None, target: str, others: Mapping[str, str]) -> None:
    if name is not None and name == target:
        raise ValueError(f"--exposure {name!r} is the target; name another column")
    for option, column in others.items():
        if column == name:
            raise ValueError(f"--exposure and {option} both name {name!r}; name different columns")


def take_exposure(frame: pl.DataFrame, name: str) -> tuple[pl.DataFrame, F64]:
    if name not in frame.columns:
        known = suggest_names(name, frame.columns)
        raise ValueError(f"the table has no exposure {name!r}, which evaluate --exposure names; {known}")
    return frame.drop(name), numbers_of(frame[name], "exposure", positive=True)


def fitted_exposure(learner: Any, given: str | None) -> str | None:
    made = getattr(learner, "provenance_", None)
    learned: str | None = None if made is None else made.exposure
    if given is not None and learned is None:
        raise ValueError(
            f"--exposure {given!r} is for models fitted with --exposure, which this one was not; leave it out"
        )
    return learned if given is None else given


def log_exposure(frame: pl.DataFrame, name: str | None) -> tuple[pl.DataFrame, F64 | None]:
    if name is None:
        return frame, None
    if name not in frame.columns:
        note_without_exposure(name)
        return frame, None
    import numpy as np

    rest, exposure = take_exposure(frame, name)
    return rest, np.log(exposure)


def note_without_exposure(name: str) -> None:
    note(f"the table has no exposure {name!r}: predictions are for an exposure of 1")
