"""The numbers of Martinez and Gray's Tables 2 to 11, and the tables of two classes that they are about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from committee.papers.shared.bundled_tables import Folder
from committee.papers.shared.folds import NamedTable
from committee.papers.shared.tables import check_rows, document_numbers, labels_of, read_from_folder
from committee.report.crossvalidation import Table
from committee.report.targets import Labels

HELPS, HURTS, NEITHER = "+", "-", "="
"""Outcome of a paired test of new weights: significantly fewer test errors, more, neither."""


@dataclass(frozen=True)
class SourceData:
    """A table of the document, and how it becomes two classes."""

    title: str
    name: str
    """As the document calls it; as the catalogue does. Two titles, Diabetes and Pima, are one table."""
    rows: int
    """Rows that are used."""
    positive: tuple[str, ...]
    """Labels of the class +1."""
    complete_rows: bool = False
    """Only rows without a missing value are used."""
    indicators: bool = False
    """Categories become columns of zeros and ones."""
    document_training_rows: int | None = None
    """Where the document's Table 1 tells them; None: 70 % of the rows."""

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


BUNDLED = SourceData("Breast cancer, diagnostic", "wdbc", 569, ("M",))
"""Not one of the document's tables, but it comes along."""


@dataclass(frozen=True)
class PublishedRow:
    """A row of one of the document's tables."""

    errors: tuple[float, ...]
    """Share of test rows that the ensemble gets wrong, then with each objective's weights."""
    changes: tuple[float, ...]
    """Of the margins, as the table's columns say; empty in Tables 6 and 7."""
    marks: str
    """Per objective: `HELPS`, `HURTS` or `NEITHER`, by its paired t-test at 0.05."""


@dataclass(frozen=True)
class PublishedTable:
    """One of the document's Tables 2 to 11."""

    number: int
    ensemble: str
    """Out of "forest", "AdaBoost"."""
    objectives: tuple[str, ...]
    """One, or the three of PWS."""
    changes: tuple[str, ...]
    """``("mean", "least")``, the mean and the least gain of a row's margin; ``("variance", "range")``, by how much they
    fell; or none."""
    rows: dict[str, PublishedRow]
    """By title."""
    not_errors: tuple[str, ...]
    """Titles whose row holds numbers of another table in places of errors."""

    @property
    def whole_rows(self) -> dict[str, PublishedRow]:
        """Rows whose errors are errors."""
        return {title: row for title, row in self.rows.items() if title not in self.not_errors}


def source_data() -> list[SourceData]:
    """The document's fifteen tables, in its order.

    Examples
    --------
    >>> from committee.papers.margins.tables import source_data
    >>> [data.title for data in source_data() if data.name == "pima"]
    ['Diabetes', 'Pima']
    """
    return [
        SourceData(**{**data, "positive": tuple(data["positive"])})
        for data in document_numbers("margins/tables.json")["data"]
    ]


def published() -> list[PublishedTable]:
    """The document's Tables 2 to 11.

    Examples
    --------
    >>> from committee.papers.margins.tables import published
    >>> table = published()[0]
    >>> table.number, table.objectives, table.rows["Sonar"]
    (2, ('UWS',), PublishedRow(errors=(0.0773, 0.0847), changes=(0.0802, 0.0065), marks='-'))
    """
    document = document_numbers("margins/tables.json")
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


def read_data(data: SourceData, folder: Folder) -> NamedTable:
    """Read a table, and make two classes of it; refused with other labels or another number of rows."""
    found = read_from_folder(data.name, folder, data.positive)
    frame, labels = found.frame, labels_of(found)
    if data.complete_rows:
        _, X = found.encoded()
        whole = ~np.isnan(X).any(axis=1)
        frame, labels = frame.filter(whole), labels[whole]
    if data.indicators:
        frame = frame.fill_null("missing").to_dummies()
    check_rows(data.name, len(labels), data.rows)
    codes = np.isin(labels, data.positive).astype(np.intp)
    return NamedTable(data.name, Table(frame, Labels(np.array(["-1", "+1"]), codes, "target")))
