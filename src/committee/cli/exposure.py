"""Exposure columns: units over which counts and amounts accumulate, such as years insured."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any

import typer

from committee.cli.row_columns import numbers_of
from committee.cli.terminal import note

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from committee.data.number_types import F64

REMEDY = "add --model gradient_boosting -p loss=poisson (or gamma, tweedie)"

ModelExposure = Annotated[
    str | None,
    typer.Option(
        "--exposure", metavar="COLUMN", help="Column of the exposure. Default: the one that the model was fitted with."
    ),
]


def fits_offsets(learner: Any) -> bool:
    """Return whether a learner takes the logarithm of an exposure as offset; refuse boosting without a log link."""
    if "offset" not in signature(learner.fit).parameters:
        return False
    if learner._chosen_loss().link.name != "log":
        raise ValueError(f"--exposure needs a log link, as its logarithm is an offset of the score; {REMEDY}")
    return True


def rates_of(learner: Any, y: NDArray[Any], exposure: F64, weights: F64 | None) -> tuple[F64, F64]:
    """Return numbers per unit of exposure and their row weights, both ``(n,)``, for learners without offsets.

    For a loss with a log link the fit equals that with the logarithm of the exposure as offset: with the variance power
    p (Poisson 1, gamma 2) a rate has the weight exposure^(2 - p). Other losses have p = 1, as variances of counts and
    amounts grow with the exposure.
    """
    power = 2.0 - getattr(getattr(learner, "number_loss", None), "variance_power", 1.0)
    units = (exposure / exposure.mean()) ** power
    return y / exposure, units if weights is None else units * weights


def check_exposure_column(name: str | None, target: str, others: Mapping[str, str]) -> None:
    """Refuse an exposure that is the target, or a column of another option; `others` are columns by option."""
    if name is not None and name == target:
        raise ValueError(f"--exposure {name!r} is the target; name another column")
    for option, column in others.items():
        if column == name:
            raise ValueError(f"--exposure and {option} both name {name!r}; name different columns")


def take_exposure(frame: pl.DataFrame, name: str) -> tuple[pl.DataFrame, F64]:
    """Take the exposure out of a table; return the other columns and the exposure of each row, ``(n,)``."""
    from committee.data.text import suggest_names

    if name not in frame.columns:
        raise ValueError(f"--exposure {name!r} is not a column; {suggest_names(name, frame.columns)}")
    return frame.drop(name), numbers_of(frame[name], "exposure", positive=True)


def fitted_exposure(learner: Any, given: str | None) -> str | None:
    """Return the name of the exposure column for rows of a model; None if it was fitted without one."""
    made = getattr(learner, "provenance_", None)
    learned: str | None = None if made is None else made.exposure
    if given is not None and learned is None:
        raise ValueError(
            f"--exposure {given!r} is for models fitted with --exposure, which this one was not; leave it out"
        )
    return given or learned


def log_exposure(frame: pl.DataFrame, name: str | None) -> tuple[pl.DataFrame, F64 | None]:
    """Take the exposure, if there is one, out of rows to predict; return the other columns and its logarithm.

    A note is printed if the table lacks the column, as predictions are then per unit of exposure.
    """
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


def without_exposure(frame: pl.DataFrame, name: str | None) -> pl.DataFrame:
    """Leave the exposure, if there is one, out of rows to explain, with a note."""
    if name is None:
        return frame
    note(f"explained for an exposure of 1; multiply the prediction by {name!r}")
    return frame.drop(name, strict=False)
