"""Parts of dates as numbers: month, weekday and hour, and the sine and cosine of each."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from committee.data.columns import PLURALS
from committee.data.dates import SECONDS_PER_DAY
from committee.data.derived.column_encoder import ColumnEncoder
from committee.data.number_types import F64

DatePart: TypeAlias = Literal["month", "weekday", "hour"]

PERIODS: dict[DatePart, float] = {"month": 12.0, "weekday": 7.0, "hour": 24.0}

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_MOST_SECONDS = 1e14  # about 3 million years, within what NumPy's days and months hold


def date_part(seconds: F64, part: DatePart) -> F64:
    """Months are counted from 1 with the elapsed share of the month (1.5 is mid-January), weekdays from Monday (1) to
    Sunday (7), hours from 0 with minutes and seconds as fractions.
    """
    known = np.abs(seconds) <= _MOST_SECONDS  # False for NaN
    moments = np.where(known, seconds, 0.0)
    day = np.floor(moments / SECONDS_PER_DAY)
    found: Any
    if part == "hour":
        found = (moments - day * SECONDS_PER_DAY) / 3600.0
    elif part == "weekday":
        found = (day + 3.0) % 7.0 + 1.0  # 1970 began on a Thursday
    else:
        month = day.astype(np.int64).astype("M8[D]").astype("M8[M]")
        first, end = (each.astype("M8[D]").astype(np.int64) for each in (month, month + 1))
        found = month.astype(np.int64) % 12 + 1.0 + (moments / SECONDS_PER_DAY - first) / (end - first)
    return np.where(known, found, np.nan)


def part_text(value: float, part: str) -> str | None:
    names = {"month": _MONTHS, "weekday": _WEEKDAYS}.get(part, ())
    place = math.floor(value) - 1
    if not 0 <= place < len(names):
        return None
    day = 1 + math.floor(30.44 * (value % 1.0))
    return names[place] if part == "weekday" or day == 1 else f"{names[place]} {day}"


def varying_parts(seconds: F64) -> tuple[DatePart, ...]:
    """Dates with the same day of the month, such as those of monthly figures, have no weekdays."""
    dates = seconds[~np.isnan(seconds)]
    varying = [part for part in PERIODS if len(np.unique(date_part(dates, part))) > 1]
    months = np.floor(dates / SECONDS_PER_DAY).astype(np.int64).astype("M8[D]")
    monthly = len(np.unique(months - months.astype("M8[M]"))) < 2
    return tuple(part for part in varying if not (monthly and part == "weekday"))


def part_names(column: str, parts: Iterable[DatePart], *, cyclic: bool) -> list[str]:
    endings = ("", ", sine", ", cosine") if cyclic else ("",)
    return [f"{column} ({part}{ending})" for part in parts for ending in endings]


def part_columns(seconds: F64, parts: Iterable[DatePart], *, cyclic: bool) -> F64:
    columns: list[F64] = []
    for part in parts:
        found = date_part(seconds, part)
        angle = found * (2.0 * np.pi / PERIODS[part])
        columns += [found, np.sin(angle), np.cos(angle)] if cyclic else [found]
    return np.column_stack([np.empty((len(seconds), 0)), *columns])


class DateEncoder(ColumnEncoder):
    """Encode columns of dates as seconds since 1970, month, weekday and hour.

    Of each column the parts that vary in training are kept, without weekdays if all dates have the same day of the
    month. Months are counted from 1 with the elapsed share of the month (1.5 is mid-January), weekdays from Monday (1)
    to Sunday (7), hours from 0 with minutes as fractions. Dates with a time zone are converted to UTC. Missing dates
    are NaN.

    `CommitteeClassifier` and `CommitteeRegressor` add these parts by themselves (``derived_columns``).

    Parameters
    ----------
    cyclic : bool, default=False
        Add the sine and cosine of each part, in which December is next to January and Sunday next to Monday. Linear
        models need these.
    seconds : bool, default=True
        Keep the seconds since 1970, by which models follow a trend.

    Attributes
    ----------
    parts_ : list of tuple of str
        Parts of each column.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array (p,)
        Names of the columns, if all are text.

    Examples
    --------
    >>> import polars as pl
    >>> from datetime import date
    >>> table = pl.DataFrame({"sold": [date(2024, 2, 1), date(2024, 12, 31)]})
    >>> encoder = DateEncoder(seconds=False).fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['sold (month)', 'sold (weekday)']
    >>> encoder.transform(table).round(2).tolist()
    [[2.0, 4.0], [12.97, 2.0]]
    """

    _takes = "dates"
    _parameter_constraints: ClassVar[dict[str, Any]] = {"cyclic": ["boolean"], "seconds": ["boolean"]}

    def __init__(self, cyclic: bool = False, seconds: bool = True) -> None:
        self.cyclic = cyclic
        self.seconds = seconds

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the parts that vary in each column.

        Parameters
        ----------
        X : frame (n, p)
            Columns of dates, dates with times, or periods, of pandas, polars or Arrow.
        y : None
            Ignored.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If `X` is no data frame.
        ValueError
            If a column holds other values than dates.
        """
        self._validate_params()
        cells = self._cells(X, reset=True)
        self.parts_: list[tuple[DatePart, ...]] = [varying_parts(column) for column in cells.T]
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the numbers ``(n, q)`` named by `get_feature_names_out`, of the columns of `fit` (else ValueError)."""
        check_is_fitted(self)
        cells = self._cells(X, reset=False)
        columns = []
        for column, parts in zip(cells.T, self.parts_, strict=True):
            columns += [column[:, None]] if self.seconds else []
            columns.append(part_columns(column, parts, cyclic=self.cyclic))
        return np.concatenate(columns, axis=1)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of `transform`, such as ``sold`` and ``sold (month)``."""
        check_is_fitted(self)
        given = _check_feature_names_in(self, input_features).tolist()
        names: list[str] = []
        for name, parts in zip(given, self.parts_, strict=True):
            names += [name] if self.seconds else []
            names += part_names(name, parts, cyclic=self.cyclic)
        return np.array(names, dtype=object)

    def _cells(self, X: Any, *, reset: bool) -> F64:
        columns = self._columns(X, reset=reset)
        cells = np.full((len(X), len(columns)), np.nan)
        for j, column in enumerate(columns):
            if column.kind == "date" and column.seconds is not None:
                cells[:, j] = column.seconds.values
            elif not column.missing().all():
                raise ValueError(
                    f"column {column.name!r} holds {PLURALS[column.kind]}, and a DateEncoder takes dates; select "
                    "columns of dates by a ColumnTransformer, or convert the column, e.g. by pandas.to_datetime"
                )
        return cells
