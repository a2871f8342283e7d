"""The numbers of Martinez and Gray's Tables 2 to 11, and the tables of two classes that they are about."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from committee.data.names import listing
from committee.papers.shared.folds import NamedTable
from committee.papers.shared.tables import DATA_VARIABLE, SourceTable, load_source_table
from committee.report.crossvalidation import Labels, Table

HELPS, HURTS, NEITHER = "+", "-", "="
"""What a paired test says of new weights: significantly fewer test errors, more, neither."""


@dataclass(frozen=True)
class SourceData:
    """A table of the document, and how it becomes two classes.

    Attributes
    ----------
    title, name : str
        As the document calls it; as the catalogue does. Two titles, Diabetes and Pima, are one table.
    rows : int
        Rows that are used.
    positive : tuple of str
        Labels of the class +1.
    complete_rows : bool
        Only rows without a missing value are used.
    indicators : bool
        Categories become columns of zeros and ones.
    document_training_rows : int or None
        Where the document's Table 1 tells them; None: 70 % of the rows.
    """

    title: str
    name: str
    rows: int
    positive: tuple[str, ...]
    complete_rows: bool = False
    indicators: bool = False
    document_training_rows: int | None = None

    @property
    def training_by_test(self) -> float:
        """The document's training rows over its test rows, by which its errors are to be multiplied: they look like
        rows predicted wrong as a share of the training rows.

        Examples
        --------
        >>> from committee.papers.margins.tables import source_data
        >>> [round(data.training_by_test, 3) for data in source_data() if data.title in ("Pima", "Splice")]
        [2.333, 0.46]
        """
        if self.document_training_rows is None:
            return 7.0 / 3.0
        return self.document_training_rows / (self.rows - self.document_training_rows)


@dataclass(frozen=True)
class PublishedRow:
    """A row of one of the document's tables.

    Attributes
    ----------
    errors : tuple of float
        Share of test rows that the ensemble gets wrong, then with each objective's weights.
    changes : tuple of float
        Of the margins, as the table's columns say; empty in Tables 6 and 7.
    marks : str
        Per objective: `HELPS`, `HURTS` or `NEITHER`, by its paired t-test at 0.05.
    """

    errors: tuple[float, ...]
    changes: tuple[float, ...]
    marks: str


@dataclass(frozen=True)
class PublishedTable:
    """One of the document's Tables 2 to 11.

    Attributes
    ----------
    number : int
    ensemble : {"forest", "AdaBoost"}
    objectives : tuple of str
        One, or the three of PWS.
    changes : tuple of str
        ``("mean", "least")``, the mean and the least gain of a row's margin; ``("variance", "range")``, by how much
        they fell; or none.
    rows : dict of str to PublishedRow
        By title.
    not_errors : tuple of str
        Titles whose row holds numbers of another table in places of errors.
    """

    number: int
    ensemble: str
    objectives: tuple[str, ...]
    changes: tuple[str, ...]
    rows: dict[str, PublishedRow]
    not_errors: tuple[str, ...]

    @property
    def whole_rows(self) -> dict[str, PublishedRow]:
        """Rows whose errors are errors."""
        return {title: row for title, row in self.rows.items() if title not in self.not_errors}


@cache
def _document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((files("committee.papers.margins") / "tables.json").read_text("utf-8"))
    return found


def source_data() -> list[SourceData]:
    """The document's fifteen tables, in its order.

    Examples
    --------
    >>> from committee.papers.margins.tables import source_data
    >>> [data.title for data in source_data() if data.name == "pima"]
    ['Diabetes', 'Pima']
    """
    return [SourceData(**{**data, "positive": tuple(data["positive"])}) for data in _document()["data"]]


def published() -> list[PublishedTable]:
    """The document's Tables 2 to 11.

    Examples
    --------
    >>> from committee.papers.margins.tables import published
    >>> table = published()[0]
    >>> table.number, table.objectives, table.rows["Sonar"]
    (2, ('UWS',), PublishedRow(errors=(0.0773, 0.0847), changes=(0.0802, 0.0065), marks='-'))
    """
    document = _document()
    return [
        PublishedTable(
            found["number"],
            found["ensemble"],
            tuple(found["objectives"]),
            tuple(found["changes"]),
            {title: PublishedRow(tuple(row[0]), tuple(row[1]), row[2]) for title, row in found["rows"].items()},
            tuple(title for number, title in document["not_errors"] if number == found["number"]),
        )
        for found in document["tables"]
    ]


def repeated_rows() -> list[tuple[str, tuple[int, ...]]]:
    """Rows of four equal numbers, not all changes zero, that stand under one title in several of the tables.

    Returns
    -------
    list of (str, tuple of int)
        The title and the numbers of the tables.

    Examples
    --------
    >>> from committee.papers.margins.tables import repeated_rows
    >>> ("ColonCancer", (4, 9, 11)) in repeated_rows()
    True
    """
    places: dict[tuple[str, tuple[float, ...]], list[int]] = {}
    for table in published():
        for title, row in table.rows.items():
            numbers = (*row.errors, *row.changes)
            if any(numbers[2:]):
                places.setdefault((title, numbers), []).append(table.number)
    return [(title, tuple(numbers)) for (title, _), numbers in places.items() if len(numbers) > 1]


def read_data(data: SourceData, folder: Path | None) -> NamedTable:
    """Read a table, and make two classes of it.

    Parameters
    ----------
    data : SourceData
    folder : Path or None
        Folder of tables with a catalogue.json.

    Raises
    ------
    ValueError
        If there is no folder, it lacks the table, or the table has other labels or another number of rows.
    """
    if folder is None:
        raise ValueError(f"the tables of this document are read from a folder; give one with --data or {DATA_VARIABLE}")
    found = load_source_table(SourceTable(data.name, data.rows), folder)
    frame, labels = found.frame, found.labels.classes[found.labels.codes]
    unknown = sorted(set(data.positive) - set(labels.tolist()))
    if unknown:
        raise ValueError(f"table {data.name!r} has no row labelled {listing(unknown)}; give another folder with --data")
    if data.complete_rows:
        _, X = found.encoded()
        whole = ~np.isnan(X).any(axis=1)
        frame, labels = frame.filter(whole), labels[whole]
    if data.indicators:
        frame = frame.fill_null("missing").to_dummies()
    if len(labels) != data.rows:
        raise ValueError(
            f"table {data.name!r} has {len(labels)} rows to be used, but the document's has {data.rows}; give another"
            " folder with --data"
        )
    codes = np.isin(labels, data.positive).astype(np.intp)
    return NamedTable(data.name, Table(frame, Labels(np.array(["-1", "+1"]), codes, "target")))
