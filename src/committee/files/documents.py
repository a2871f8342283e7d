"""Parts of a model file: named arrays, columns and classes of a model, and its provenance."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as attribute
from datetime import UTC, date, datetime
from importlib.metadata import version
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from committee.data.bins import RowSketch
from committee.data.number_types import MAX_FEATURES
from committee.data.table_schema import TableSchema
from committee.data.typed_json import decode, decode_array, encode, encode_array, field

Document: TypeAlias = dict[str, Any]  # a JSON object
Arrays: TypeAlias = dict[str, NDArray[Any]]


_TWO_MORE = 1000  # bytes that two more arrays take in a file, with a margin


def header_bytes(document: Document) -> int:
    text = json.dumps(document, separators=(",", ":"))
    return len(text) + text.count('"') + text.count("\\")  # which the header escapes


def to_single(numbers: NDArray[np.float64]) -> NDArray[Any]:
    with np.errstate(over="ignore"):
        single = numbers.astype(np.float32)
    return single if single.astype(np.float64).tobytes() == numbers.tobytes() else numbers


@dataclass(frozen=True)
class Tensors:
    """Arrays of a file, by the names that one part of its document gives them."""

    arrays: Arrays  # of the whole file; reading a part removes its own
    prefix: str = ""  # of this part's names in the file
    depth: int = 0  # number of learners that contain this part
    shared: dict[Any, Any] = attribute(default_factory=dict)
    """Of committees that the file holds: on writing the prefix by ``id``, on reading the committee by prefix."""

    def part(self, name: str) -> Tensors:
        return replace(self, prefix=f"{self.prefix}{name}.")

    def member(self, number: int) -> Tensors:
        return replace(self.part(str(number)), depth=self.depth + 1)

    def put(self, **arrays: NDArray[Any]) -> None:
        for name, array in arrays.items():
            self.arrays[self.prefix + name] = array

    def put_fields(self, holder: object, names: Iterable[str]) -> None:
        for name in names:
            self.arrays[self.prefix + name] = getattr(holder, name)

    def put_reals(self, **arrays: NDArray[np.float64]) -> None:
        """Put arrays, as float32 if that is exact, and without zeros if that is shorter."""
        for name, array in arrays.items():
            stored, some = to_single(array), array.view(np.int64) != 0
            rest, bits = stored[some], np.packbits(some)
            if array.ndim == 1 or rest.nbytes + bits.nbytes + _TWO_MORE >= stored.nbytes:
                self.put(**{name: stored})
            else:
                shape = np.array(array.shape, dtype=np.int64)
                self.put(**{name: rest, f"{name}.nonzero": bits, f"{name}.shape": shape})

    def take_reals(self, name: str) -> NDArray[np.float64]:
        stored = self.take(name)
        if stored.dtype not in (np.float32, np.float64):
            raise ValueError(f"{self.prefix}{name} is {stored.dtype}; it must be float32 or float64")
        if f"{self.prefix}{name}.shape" not in self.arrays:
            return stored.astype(np.float64, copy=False)
        shape, bits = self.take(f"{name}.shape", np.int64, 1), self.take(f"{name}.nonzero", np.uint8, 1)
        size = int(np.prod(shape.astype(object), initial=1))
        if (shape < 0).any() or len(bits) != -(-size // 8):
            raise ValueError(f"{self.prefix}{name}.nonzero has {len(bits)} bytes for the shape {shape.tolist()[:9]}")
        some = np.unpackbits(bits, count=size).astype(bool)
        if stored.shape != (int(some.sum()),):
            raise ValueError(f"{self.prefix}{name} has the shape {stored.shape} for {int(some.sum())} numbers")
        full = np.zeros(size)
        full[some] = stored
        return full.reshape(shape)

    def take(self, name: str, dtype: DTypeLike | None = None, ndim: int | None = None) -> NDArray[Any]:
        full = self.prefix + name
        if full not in self.arrays:
            raise ValueError(f"the array {full!r} is absent")
        array = self.arrays.pop(full)
        if dtype is not None and (array.dtype != dtype or array.ndim != ndim):
            raise ValueError(
                f"{full} is {array.dtype} of {array.ndim} dimensions; it must be {np.dtype(dtype)} of {ndim}"
            )
        return array

    def take_fields(self, names: Sequence[str]) -> dict[str, Any]:
        return dict(zip(names, map(self.take, names), strict=True))

    def take_numbers(self, name: str, n: int, what: str) -> NDArray[np.float64]:
        numbers = self.take(name)
        if numbers.dtype != np.float64 or numbers.shape != (n,) or not np.isfinite(numbers).all():
            raise ValueError(f"{self.prefix}{name} are not {n} finite float64 numbers, {what}")
        return numbers


MAX_UNLISTED = 2**22  # most columns of a model without a table, whose file may be short though each column costs memory


@dataclass(frozen=True, eq=False)
class Header:
    n_features: int
    names: NDArray[Any] | None
    classes: NDArray[Any] | None  # None for a model that predicts numbers
    table: TableSchema | None  # None if voters read tables themselves

    @property
    def width(self) -> int:
        return self.n_features if self.table is None else self.table.n_features

    def to_document(self) -> Document:
        classes = {} if self.classes is None else {"classes": encode_array(np.asarray(self.classes), "classes_")}
        names = None if self.names is None else encode_array(np.asarray(self.names), "feature_names_in_")
        return {
            "n_features": int(self.n_features),
            "feature_names": names,
            **classes,
            "table": None if self.table is None else self.table.to_json(),
        }

    @classmethod
    def from_document(cls, document: Document, read: Callable[[Document], NDArray[Any]] | None) -> Header:
        n_features = read_count(document, "n_features")
        classes = None if read is None else read(field(document, "classes", dict))
        given, names = field(document, "feature_names", dict, None), None
        if given is not None:
            names = decode_array(given)
            if names.dtype != object or not all(type(name) is str for name in names):
                raise ValueError("feature_names are not text")
            if len(names) != n_features or len(set(names)) != n_features:
                raise ValueError(f"feature_names are not {n_features} different names")
        table = _read_table(document, n_features, names)
        if table is None and names is None and n_features > MAX_UNLISTED:
            raise ValueError(f"n_features is {n_features}; without a table or names it may be at most {MAX_UNLISTED}")
        return cls(n_features, names, classes, table)


def read_count(document: Document, name: str) -> int:
    number: int = field(document, name, int)
    if not 1 <= number <= MAX_FEATURES:
        raise ValueError(f"{name} is {number}; it must be from 1 to {MAX_FEATURES}")
    return number


def read_classes(document: Document) -> NDArray[Any]:
    classes = decode_array(document)
    if not len(classes) or len(set(map(type, classes.tolist()))) > 1 or classes.tolist()[0] is None:
        raise ValueError("classes are empty, null, or of several types")
    if classes.dtype.kind == "f" and not np.isfinite(classes).all():
        raise ValueError("classes hold a number that is not finite")
    return classes


def read_sorted_classes(document: Document) -> NDArray[Any]:
    classes = read_classes(document)
    if not np.all(classes[:-1] < classes[1:]):
        raise ValueError("classes are not sorted and unique")
    return classes


def _read_table(document: Document, n_features: int, names: NDArray[Any] | None) -> TableSchema | None:
    if isinstance(document.get("table"), TableSchema):  # that of an earlier member
        table: TableSchema = document["table"]
    elif field(document, "table", dict, None) is None:
        return None
    elif "derived" in document["table"]:
        from committee.data.derived_table import read_schema  # few models have derived columns

        table = read_schema(document["table"])
    else:
        table = TableSchema.from_json(document["table"])
    if table.source.n_features != n_features:
        raise ValueError(f"the table has {table.source.n_features} columns; n_features is {n_features}")
    if table.source.names != (None if names is None else tuple(names)):
        raise ValueError("feature_names are not the names of the table's columns")
    return table


LONGEST = 2**16  # most characters of a name
MOST_ENTRIES = 200  # most versions, or figures of an estimate
MOST_ROWS = 2**53


@dataclass(frozen=True)
class Estimate:
    """Scores of a model on rows that it was not trained on."""

    by: str  # method, such as "5 folds"
    n_rows: int
    figures: Mapping[str, float]  # by name, such as "accuracy"

    def __post_init__(self) -> None:
        _check_name("by", self.by)
        _check_rows(self.n_rows)
        if not 1 <= len(self.figures) <= MOST_ENTRIES:
            raise ValueError(f"an estimate has {len(self.figures)} figures; give 1 to {MOST_ENTRIES}")
        for name, value in self.figures.items():
            _check_name("a figure", name)
            if type(value) is not float:
                raise ValueError(f"the estimate of {name!r} is of type {type(value).__name__}; it must be float")

    def to_document(self) -> Document:
        figures = {name: encode(value, name) for name, value in self.figures.items()}
        return {"by": self.by, "n_rows": self.n_rows, "figures": figures}

    @classmethod
    def from_document(cls, document: Document) -> Self:
        _check_keys(document, {"by", "n_rows", "figures"})
        figures = {name: decode(value) for name, value in field(document, "figures", dict).items()}
        return cls(field(document, "by", str), field(document, "n_rows", int), figures)


@dataclass(frozen=True, eq=False)
class Provenance:
    """Origin of a fitted model: its attribute ``provenance_``, which `save` writes and `load` reads.

    Commands such as ``committee fit`` set it; in Python it is made by `committee.report.provenance.provenance_of` and
    assigned. A new ``fit`` removes it, and a clone has none.

    Parameters
    ----------
    target : str
        Name of the target column.
    data : str
        Name of the training table, such as its file name.
    n_rows : int
        Number of rows of the table.
    trained : datetime.date, default=today
        Day of the training in UTC.
    versions : mapping of str to str, default=installed
        Versions of Python and of packages, by name.
    estimate : Estimate, default=None
        Scores of the model on rows that it was not trained on.
    rows : RowSketch, default=None
        Digests by which training rows are recognised; None: not kept.
    written : str, default=None
        Number format of the target in files (`committee.data.readers.cell_forms`); None: plain numbers or text.
    exposure : str, default=None
        Name of the column whose logarithm was the offset of the training rows; None: there was none.

    Raises
    ------
    ValueError
        If a name is too long, or a number or the number format is invalid.
    """

    target: str
    data: str
    n_rows: int
    trained: date = attribute(default_factory=lambda: datetime.now(UTC).date())
    versions: Mapping[str, str] = attribute(
        default_factory=lambda: {
            "Python": platform.python_version(),
            **{name: version(name) for name in ("committee", "numpy", "scikit-learn")},
        }
    )
    estimate: Estimate | None = None
    rows: RowSketch | None = None
    written: str | None = None
    exposure: str | None = None

    def __post_init__(self) -> None:
        _check_name("target", self.target, empty=True)
        _check_name("data", self.data, empty=True)
        if self.exposure is not None:
            _check_name("exposure", self.exposure, empty=True)
        _check_rows(self.n_rows)
        if len(self.versions) > MOST_ENTRIES:
            raise ValueError(f"{len(self.versions)} versions are given; at most {MOST_ENTRIES} are kept")
        if self.written is not None:
            from committee.data.readers.cell_forms import KNOWN_FORMATS  # few models have any

            if self.written not in KNOWN_FORMATS:
                raise ValueError(f"{str(self.written)[:40]!r} is not a known number format")
        for name, text in self.versions.items():
            _check_name("a package", name)
            _check_name(f"the version of {name!r}", text)

    def to_document(self, tensors: Tensors) -> Document:
        rows = self.rows
        if rows is not None:
            tensors.put(digests=rows.digests)
        later = {"written": self.written, "exposure": self.exposure}  # absent from older files
        return {
            **{name: value for name, value in later.items() if value is not None},
            "target": self.target,
            "data": self.data,
            "n_rows": self.n_rows,
            "trained": self.trained.isoformat(),
            "versions": dict(self.versions),
            "estimate": None if self.estimate is None else self.estimate.to_document(),
            "rows": None
            if rows is None
            else {"complete": rows.complete, "n_rows": rows.n_rows, "n_repeated": rows.n_repeated},
        }

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> Self:
        needed = {"target", "data", "n_rows", "trained", "versions", "estimate", "rows"}
        _check_keys(document, needed | (document.keys() & {"written", "exposure"}))
        versions = field(document, "versions", dict)
        for name, text in versions.items():
            if type(text) is not str:
                raise ValueError(f"the version of {name!r} is of type {type(text).__name__}; it must be str")
        day = field(document, "trained", str)
        trained = date.fromisoformat(day[:10])
        if trained.isoformat() != day:
            raise ValueError(f"the day of training is {day[:40]!r}; it must be written as 2026-01-31")
        estimate = field(document, "estimate", dict, None)
        return cls(
            field(document, "target", str),
            field(document, "data", str),
            field(document, "n_rows", int),
            trained,
            versions,
            None if estimate is None else Estimate.from_document(estimate),
            _read_rows(field(document, "rows", dict, None), field(document, "n_rows", int), tensors),
            field(document, "written", str) if "written" in document else None,
            field(document, "exposure", str) if "exposure" in document else None,
        )


def _read_rows(document: Document | None, n_rows: int, tensors: Tensors) -> RowSketch | None:
    if document is None:
        return None
    _check_keys(document, {"complete", "n_rows", "n_repeated"})
    n, repeated = field(document, "n_rows", int), field(document, "n_repeated", int)
    complete = field(document, "complete", bool)
    if n > n_rows or (complete and n != n_rows):
        raise ValueError(f"a sketch of {str(n)[:40]} rows does not go with {n_rows} rows")
    return RowSketch(tensors.take("digests", np.uint64, 1), complete, n, repeated)


def _check_keys(document: Document, wanted: set[str]) -> None:
    if document.keys() != wanted:
        odd = sorted(document.keys() ^ wanted)[0]
        raise ValueError(f"the provenance {'has no' if odd in wanted else 'has an unknown'} entry {odd[:40]!r}")


def _check_name(what: str, text: Any, *, empty: bool = False) -> None:
    if type(text) is not str or len(text) > LONGEST or not (text or empty):
        found = f"{len(text)} characters" if isinstance(text, str) else type(text).__name__
        raise ValueError(f"{what} is {found}; it must be a text of {0 if empty else 1} to {LONGEST} characters")


def _check_rows(n: Any) -> None:
    if type(n) is not int or not 1 <= n <= MOST_ROWS:
        raise ValueError(f"n_rows is {str(n)[:40]}; it must be a whole number from 1 to {MOST_ROWS}")
