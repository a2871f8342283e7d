"""Columns derived from dates and texts, and their transformers: parts of dates, and components of words and letters."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_feature_names, _check_feature_names_in, _check_n_features, check_is_fitted

from committee.data.columns import PLURALS, Column, column_names, is_frame, open_frame, read_columns
from committee.data.dates import SECONDS_PER_DAY
from committee.data.matrices import is_out_of_core
from committee.data.number_types import F64
from committee.data.parallel import one_blas_thread
from committee.data.text import NamedCalls, is_unicode

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import TfidfVectorizer


class ColumnEncoder(NamedCalls, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    _takes: str

    def _columns(self, X: Any, *, reset: bool) -> list[Column]:
        if is_out_of_core(X):
            raise TypeError(
                f"X is read in pieces, and a {type(self).__name__} takes frames; fit it to a frame of some rows, and "
                "give scan an object that yields (transform(piece), labels) for each piece"
            )
        if not is_frame(X):
            kind = type(X).__name__
            raise TypeError(f"X is {kind}, which has no columns of {self._takes}; pass a frame (pandas, polars, Arrow)")
        _check_feature_names(self, X, reset=reset)
        _check_n_features(self, X, reset=reset)
        frame = open_frame(X)
        return list(read_columns(frame, column_names(frame.columns)))


DatePart: TypeAlias = Literal["month", "weekday", "hour"]

PERIODS: dict[DatePart, float] = {"month": 12.0, "weekday": 7.0, "hour": 24.0}

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_MOST_SECONDS = 1e14  # about 3 million years, within what NumPy's days and months hold


def date_part(seconds: F64, part: DatePart) -> F64:
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
    """Encode columns of dates as seconds since 1970, and by their parts: month, weekday and hour.

    Of each column the parts that vary in training are kept, without weekdays if all dates have the same day of the
    month. Months are counted from 1 with the elapsed share of the month (1.5 is mid-January), weekdays from Monday (1)
    to Sunday (7), hours from 0 with minutes and seconds as fractions. Dates with a time zone are converted to UTC.
    Missing dates are NaN.

    `CommitteeClassifier` and `CommitteeRegressor` add these parts to data frames by themselves (``derived_columns``).

    Parameters
    ----------
    cyclic : bool, default=False
        Add a sine and a cosine of each part that is kept, by which December is next to January and Sunday next to
        Monday, for linear models.
    seconds : bool, default=True
        Return the seconds of each column, too, by which models follow a trend.

    Attributes
    ----------
    parts_ : list of tuple of str
        Parts of each column that are kept, of ``"month"``, ``"weekday"`` and ``"hour"``.
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
        """Find the parts of each column to keep.

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
        """Return the numbers ``(n, q)`` named by `get_feature_names_out`; raise for other columns than in `fit`."""
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


N_COMPONENTS = 30
LEARNED_TEXTS = 20_000
COMPARED_TEXTS = 1_000

_KINDS: tuple[dict[str, Any], ...] = (
    {"analyzer": "word", "token_pattern": r"(?u)\b\w+\b", "max_features": 2_000},
    {"analyzer": "char_wb", "ngram_range": (3, 4), "max_features": 4_000},
)


@dataclass(frozen=True, eq=False)
class TextTerms:
    """Tf-idf of words and of runs of letters, projected on the first components of the SVD of each."""

    terms: tuple[tuple[str, ...], ...]  # words, and runs of letters
    idf: tuple[F64, ...]
    components: tuple[F64, ...]  # (k, number of terms) for each kind of terms, numbers of float32

    @classmethod
    def learn(cls, texts: Iterable[str], n_components: int = N_COMPONENTS) -> Self | None:
        from sklearn.decomposition import TruncatedSVD  # which few models need

        distinct = sorted(set(texts))
        distinct = distinct[:: -(-len(distinct) // LEARNED_TEXTS) or 1]
        terms: list[tuple[str, ...]] = []
        idf: list[F64] = []
        components: list[F64] = []
        for kind, most in zip(_KINDS, (-(-n_components // 2), n_components), strict=True):
            learner = _vectorizer(kind)
            try:
                counts = learner.fit_transform(distinct)
            except ValueError:  # no terms
                counts = np.zeros((0, 0))
            if len(distinct) < 2 or counts.shape[1] < 2:
                terms.append(())
                idf.append(np.zeros(0))
                components.append(np.zeros((0, 0)))
                continue
            # texts of the same terms have no variance, by which scikit-learn divides
            with one_blas_thread(), np.errstate(invalid="ignore"):
                svd = TruncatedSVD(min(most, counts.shape[1] - 1), random_state=0).fit(counts)
            terms.append(tuple(map(str, learner.get_feature_names_out())))
            idf.append(np.asarray(learner.idf_, dtype=np.float64))
            components.append(np.asarray(svd.components_.astype(np.float32).astype(np.float64)))
        return cls(tuple(terms), tuple(idf), tuple(components)) if any(terms) else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextTerms) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.terms)

    @property
    def n_components(self) -> int:
        return sum(map(len, self.components))

    @cached_property
    def _encoders(self) -> list[TfidfVectorizer]:
        encoders = []
        for kind, terms, idf in zip(_KINDS, self.terms, self.idf, strict=True):
            if terms:
                encoders.append(_vectorizer(kind | {"vocabulary": terms}))
                encoders[-1].idf_ = idf
        return encoders

    def _counts(self, texts: Iterable[str]) -> list[Any]:
        return [encoder.transform(texts) for encoder in self._encoders]

    def resemblance(self, texts: Iterable[str]) -> float:
        """Return the median over texts of the similarity to the most similar other text."""
        distinct = sorted(set(texts))
        counts = self._counts(distinct[:: -(-len(distinct) // COMPARED_TEXTS) or 1])
        cosines = np.mean([(each @ each.T).toarray() for each in counts], axis=0)
        np.fill_diagonal(cosines, 0.0)
        return float(np.median(cosines.max(axis=1)))

    def matrix(self, texts: Sequence[str | None]) -> F64:
        place: dict[str, int] = {}
        at = np.array([-1 if text is None else place.setdefault(text, len(place)) for text in texts], dtype=np.intp)
        found = np.full((len(place) + 1, self.n_components), np.nan)
        if place:
            known = [each for each in self.components if len(each)]
            pairs = zip(self._counts(place), known, strict=True)
            found[:-1] = np.concatenate([counts @ each.T for counts, each in pairs], axis=1)
        return found[at]

    def names(self, column: str) -> list[str]:
        words, (by_words, by_letters) = self.terms[0], self.components
        names = []
        for k, sizes in enumerate(np.abs(by_words), 1):
            largest = ", ".join(words[place] for place in np.argsort(-sizes, kind="stable")[:2])
            names.append(f"{column} (text {k}: {largest})")
        return names + [f"{column} (letters {k})" for k in range(1, len(by_letters) + 1)]

    def to_json(self) -> dict[str, Any]:
        terms, idf = [list(each) for each in self.terms], [each.tolist() for each in self.idf]
        packed = [base64.b64encode(each.astype("<f4").tobytes()).decode() for each in self.components]
        return {"terms": terms, "idf": idf, "svd": packed}

    @classmethod
    def from_json(cls, stored: Any) -> Self:
        if not isinstance(stored, dict) or set(stored) != {"terms", "idf", "svd"}:
            raise ValueError("the terms of a text column must be an object with 'terms', 'idf' and 'svd'")
        terms, idf, packed = stored["terms"], stored["idf"], stored["svd"]
        for key, found, kind in (("terms", terms, list), ("idf", idf, list), ("svd", packed, str)):
            if not isinstance(found, list) or [type(each) for each in found] != [kind] * len(_KINDS):
                raise ValueError(f"{key!r} of a text column must be a list of {len(_KINDS)}, for words and letters")
        for words, numbers in zip(terms, idf, strict=True):
            if not all(isinstance(term, str) and is_unicode(term) for term in words) or len(set(words)) < len(words):
                raise ValueError("'terms' of a text column must be different texts")
            if len(numbers) != len(words) or not all(isinstance(x, float) and 0.0 < x < _MOST_IDF for x in numbers):
                raise ValueError(f"'idf' of a text column must be {len(words)} numbers above 0, below {_MOST_IDF:g}")
        if not any(terms):
            raise ValueError("'terms' of a text column must not be empty")
        components = tuple(_unpacked(each, len(words)) for each, words in zip(packed, terms, strict=True))
        return cls(tuple(map(tuple, terms)), tuple(np.array(each) for each in idf), components)


_MOST_IDF = 100.0


def _vectorizer(settings: dict[str, Any]) -> TfidfVectorizer:
    from sklearn.feature_extraction.text import TfidfVectorizer  # which few models need

    return TfidfVectorizer(**settings, sublinear_tf=True)


def _unpacked(packed: str, n_terms: int) -> F64:
    try:
        found = np.frombuffer(base64.b64decode(packed, validate=True), dtype="<f4").astype(np.float64)
    except ValueError as error:
        raise ValueError("'svd' of a text column is no base64 text of float32 numbers") from error
    if (len(found) % n_terms if n_terms else len(found)) or bool(n_terms) != bool(len(found)):
        raise ValueError(
            f"'svd' of a text column has {len(found)} numbers; it needs one or more, equally many, for each of"
            f" {n_terms} terms"
        )
    if not np.isfinite(found).all():
        raise ValueError("'svd' of a text column has a number that is not finite")
    return found.reshape(-1, n_terms) if n_terms else np.zeros((0, 0))


class TextEncoder(ColumnEncoder):
    """Encode columns of text as few numbers: tf-idf of words and of runs of letters, each reduced by an SVD.

    Terms are, in up to 20,000 different texts, the 2,000 most frequent words and the 4,000 most frequent runs of 3 and
    4 letters or other characters, weighted and reduced by scikit-learn's ``TfidfVectorizer`` and ``TruncatedSVD``.
    Missing texts are NaN.

    `CommitteeClassifier` and `CommitteeRegressor` encode texts of data frames by themselves (``derived_columns``).

    Parameters
    ----------
    n_components : int, default=30
        Largest number of components of a column's runs of letters; words have half as many, rounded up.

    Attributes
    ----------
    terms_ : list of TextTerms or None
        Terms and components of each column; None without two different texts, or without two terms of a kind.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array (p,)
        Names of the columns, if all are text.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"note": ["late parcel", "late again", "fine parcel", None]})
    >>> encoder = TextEncoder(n_components=2).fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['note (text 1: late, parcel)', 'note (letters 1)', 'note (letters 2)']
    >>> encoder.transform(table).shape
    (4, 3)
    """

    _takes = "text"
    _parameter_constraints: ClassVar[dict[str, Any]] = {"n_components": [Interval(Integral, 1, 1_000, closed="both")]}

    def __init__(self, n_components: int = N_COMPONENTS) -> None:
        self.n_components = n_components

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn terms and components of each column.

        Parameters
        ----------
        X : frame (n, p)
            Columns of text, of pandas, polars or Arrow.
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
            If a column holds other values than text.
        """
        self._validate_params()
        columns = [column_texts(column) for column in self._columns(X, reset=True)]
        self.terms_: list[TextTerms | None] = [
            TextTerms.learn([text for text in texts if text is not None], self.n_components) for texts in columns
        ]
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the numbers ``(n, q)`` named by `get_feature_names_out`; raise for other columns than in `fit`."""
        check_is_fitted(self)
        columns = [column_texts(column) for column in self._columns(X, reset=False)]
        parts = [terms.matrix(texts) for terms, texts in zip(self.terms_, columns, strict=True) if terms is not None]
        return np.concatenate([np.empty((len(columns[0]), 0)), *parts], axis=1)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of `transform`, such as ``note (text 1: late, parcel)``."""
        check_is_fitted(self)
        pairs = zip(_check_feature_names_in(self, input_features).tolist(), self.terms_, strict=True)
        return np.array([name for column, one in pairs if one is not None for name in one.names(column)], dtype=object)


def column_texts(column: Column) -> list[str | None]:
    missing = column.missing()
    if column.kind != "text" and not missing.all():
        raise ValueError(
            f"column {column.name!r} must hold text, but holds {PLURALS[column.kind]}; make it text, or leave it out"
            " when fitting"
        )
    if missing.all():
        return [None] * len(missing)
    return [None if absent else str(cell) for cell, absent in zip(column.series.to_list(), missing, strict=True)]
