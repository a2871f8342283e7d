"""What is said of a target: classes or numbers, and how to have it otherwise."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.labels import MOST_NUMERIC_CLASSES, all_integers
from committee.data.text import pluralize

if TYPE_CHECKING:
    from numpy.typing import NDArray


def refuse_spoilt_numbers(target: str, y: NDArray[Any]) -> None:
    """Refuse a target of numbers that is text for a few cells that are none."""
    if len(np.unique(y)) <= MOST_NUMERIC_CLASSES:
        return
    import polars as pl

    from committee.data.readers.features import nearly_numeric_columns

    for nearly in nearly_numeric_columns(pl.DataFrame({target: y})):
        raise ValueError(
            f"target {nearly.name!r} is text, as {nearly.words}; leave these rows out, or say --task classes"
        )


def refuse_decimals(target: str, y: NDArray[Any]) -> None:
    """Refuse numbers with decimals as classes."""
    if y.dtype.kind == "f" and not all_integers(y):
        first = float(y[y != np.floor(y)][0])
        raise ValueError(
            f"target {target!r} holds numbers with decimals, such as {first:.10g}, which are no classes; leave --task"
            f" classes out to predict numbers, or make text of them by --categorical {shlex.quote(target)}"
        )


def of_target(target: str, y: NDArray[Any], numbers: bool) -> str:
    """What is predicted, and how to have it otherwise."""
    values = np.unique(y).tolist()
    either = y.dtype.kind in "iuf" and all_integers(y) and len(values) > 2
    if numbers:
        otherwise = "; --task classes takes them for classes" if either and len(values) <= len(y) // 2 else ""
        return f"target {target!r}: numbers from {values[0]:.6g} to {values[-1]:.6g}{otherwise}"
    otherwise = "; --task numbers takes them for numbers" if either else ""
    return f"target {target!r}: {pluralize(len(values), 'class', 'classes')}{otherwise}"
