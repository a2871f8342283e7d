"""Where a model comes from: data, day and versions of its training, and what it is worth on rows not trained on."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as attribute
from datetime import UTC, date, datetime
from importlib.metadata import version
from typing import Any, Self

import numpy as np

from committee.data.row_sketch import RowSketch
from committee.data.typed_json import decode, encode, field
from committee.files.tensors import Document, Tensors

LONGEST = 2**16
"""Characters of a name."""
MOST_ENTRIES = 200
"""Versions, or figures of an estimate."""
MOST_ROWS = 2**53


@dataclass(frozen=True)
class Estimate:
    """Figures of a model on rows that it was not trained on, from its own training.

    Parameters
    ----------
    by : str
        How it was made, such as "5 folds".
    n_rows : int
    figures : mapping of str to float
        By their names, such as "accuracy".

    Examples
    --------
    >>> Estimate("5 folds", 150, {"accuracy": 0.95}).figures["accuracy"]
    0.95
    """

    by: str
    n_rows: int
    figures: Mapping[str, float]

    def __post_init__(self) -> None:
        _check_name("by", self.by)
        _check_rows(self.n_rows)
        if not 1 <= len(self.figures) <= MOST_ENTRIES:
            raise ValueError(f"an estimate has {len(self.figures)} figures; give 1 to {MOST_ENTRIES}")
        for name, value in self.figures.items():
            _check_name("a figure", name)
            if type(value) is not float:
                raise ValueError(f"figure {name!r} is a {type(value).__name__}; it must be float")

    def to_document(self) -> Document:
        """Write it into a model file."""
        figures = {name: encode(value, name) for name, value in self.figures.items()}
        return {"by": self.by, "n_rows": self.n_rows, "figures": figures}

    @classmethod
    def from_document(cls, document: Document) -> Self:
        """Undo `to_document`, trusting no value; raises ``ValueError``."""
        _check_keys(document, {"by", "n_rows", "figures"})
        figures = {name: decode(value) for name, value in field(document, "figures", dict).items()}
        return cls(field(document, "by", str), field(document, "n_rows", int), figures)


@dataclass(frozen=True, eq=False)
class Provenance:
    """Where a fitted model comes from: its attribute ``provenance_``, which `save` writes and `load` reads.

    `committee fit` sets it. In Python it is made by `committee.report.known_rows.provenance_of`, and assigned. A new
    ``fit`` removes it; a copy by ``sklearn.base.clone`` has none.

    Parameters
    ----------
    target : str
        Name of the column that is predicted.
    data : str
        What the training table is called, such as its file's name.
    n_rows : int
        Rows of the table.
    trained : datetime.date
        Day of the training, in UTC; today by default.
    versions : mapping of str to str
        Packages, and their versions; by default those that are running.
    estimate : Estimate or None
        What the model is worth on rows that it was not trained on.
    rows : RowSketch or None
        Digests of training rows, by which these are known again. None: not kept.
    written : str or None
        How the numbers of the target are written in files, such as with decimal commas, out of
        `committee.data.reading.cell_forms`. None: as numbers are.

    Raises
    ------
    ValueError
        If a name is empty or too long, or a number impossible.

    Examples
    --------
    >>> from committee.files.provenance import Provenance
    >>> made = Provenance("price", "houses.csv", 200)
    >>> made.target, sorted(made.versions)
    ('price', ['Python', 'committee', 'numpy', 'scikit-learn'])
    """

    target: str
    data: str
    n_rows: int
    trained: date = attribute(default_factory=lambda: datetime.now(UTC).date())
    versions: Mapping[str, str] = attribute(default_factory=lambda: running_versions())
    estimate: Estimate | None = None
    rows: RowSketch | None = None
    written: str | None = None

    def __post_init__(self) -> None:
        _check_name("target", self.target, empty=True)
        _check_name("data", self.data, empty=True)
        _check_rows(self.n_rows)
        if len(self.versions) > MOST_ENTRIES:
            raise ValueError(f"{len(self.versions)} versions are given; at most {MOST_ENTRIES} are kept")
        _check_form(self.written)
        for name, text in self.versions.items():
            _check_name("a package", name)
            _check_name(f"the version of {name!r}", text)

    def to_document(self, tensors: Tensors) -> Document:
        """Write it into a model file."""
        if self.rows is not None:
            tensors.put(digests=self.rows.digests)
        of_target = {} if self.written is None else {"written": self.written}  # files of older versions have none
        return {
            **of_target,
            "target": self.target,
            "data": self.data,
            "n_rows": self.n_rows,
            "trained": self.trained.isoformat(),
            "versions": dict(self.versions),
            "estimate": None if self.estimate is None else self.estimate.to_document(),
            "rows": None if self.rows is None else _describe_rows(self.rows),
        }

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> Self:
        """Undo `to_document`, trusting no value; raises ``ValueError``."""
        needed = {"target", "data", "n_rows", "trained", "versions", "estimate", "rows"}
        _check_keys(document, needed | (document.keys() & {"written"}))
        versions = field(document, "versions", dict)
        for text in versions.values():
            if type(text) is not str:
                raise ValueError(f"a version is a {type(text).__name__}; it must be str")
        estimate = field(document, "estimate", dict, None)
        return cls(
            field(document, "target", str),
            field(document, "data", str),
            field(document, "n_rows", int),
            _read_day(field(document, "trained", str)),
            versions,
            None if estimate is None else Estimate.from_document(estimate),
            _read_rows(field(document, "rows", dict, None), field(document, "n_rows", int), tensors),
            field(document, "written", str) if "written" in document else None,
        )


def running_versions() -> dict[str, str]:
    """Versions of Python and of the packages that answers depend on."""
    packages = {name: version(name) for name in ("committee", "numpy", "scikit-learn")}
    return {"Python": platform.python_version(), **packages}


def _describe_rows(rows: RowSketch) -> Document:
    return {"complete": rows.complete, "n_rows": rows.n_rows, "n_repeated": rows.n_repeated}


def _read_rows(document: Document | None, n_rows: int, tensors: Tensors) -> RowSketch | None:
    if document is None:
        return None
    _check_keys(document, {"complete", "n_rows", "n_repeated"})
    complete, n, repeated = field(document, "complete", bool), field(document, "n_rows", int), document["n_repeated"]
    if type(repeated) is not int or n > n_rows or (complete and n != n_rows):
        raise ValueError(f"a sketch of {str(n)[:40]} rows does not go with {n_rows} rows")
    return RowSketch(tensors.take("digests", np.uint64, 1), complete, n, repeated)


def _read_day(text: str) -> date:
    day = date.fromisoformat(text[:10])
    if day.isoformat() != text:
        raise ValueError(f"the day of training is {text[:40]!r}; it must be written as 2026-01-31")
    return day


def _check_keys(document: Document, wanted: set[str]) -> None:
    if document.keys() != wanted:
        odd = sorted(document.keys() ^ wanted)[0]
        raise ValueError(f"the provenance {'has no' if odd in wanted else 'has an unknown'} entry {odd[:40]!r}")


def _check_name(what: str, text: Any, *, empty: bool = False) -> None:
    if type(text) is not str or len(text) > LONGEST or not (text or empty):
        said = f"{len(text)} characters" if isinstance(text, str) else type(text).__name__
        raise ValueError(f"{what} is {said}; it must be a text of 1 to {LONGEST} characters")


def _check_form(form: str | None) -> None:
    from committee.data.reading.cell_forms import KNOWN  # few models have any

    if form is not None and form not in KNOWN:
        raise ValueError(f"there is no way to write numbers that is called {str(form)[:40]!r}")


def _check_rows(n: Any) -> None:
    if type(n) is not int or not 1 <= n <= MOST_ROWS:
        raise ValueError(f"n_rows is {str(n)[:40]}; it must be a whole number from 1 on")
