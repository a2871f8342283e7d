"""The numbers of Martinez and Gray's Tables 2 to 11, their data, and the results of our runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr

from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.papers.margins.cells import DEEP_FOREST, FOREST, Ensembles
from committee.papers.shared.cells import Key
from committee.papers.shared.pages import LEVEL
from committee.papers.shared.tables import Folder, NamedTable, check_rows, document_numbers, labels_of, read_from_folder
from committee.report.folds import Labels, Table
from committee.report.statistics import corrected_paired_t_test

HELPS, HURTS, NEITHER = "+", "-", "="  # outcomes of a paired test of new weights


@dataclass(frozen=True)
class SourceData:
    title: str  # the document's name of the table
    name: str  # the catalogue's name; the titles Diabetes and Pima are the same table
    rows: int  # rows that are used
    positive: tuple[str, ...]  # labels of the class +1
    complete_rows: bool = False  # only rows without a missing value are used
    indicators: bool = False  # categories become columns of zeros and ones
    document_training_rows: int | None = None  # from the document's Table 1; None: 70 % of the rows

    @property
    def training_by_test(self) -> float:
        """Factor that turns the document's errors, apparently shares of training rows, into shares of test rows."""
        if self.document_training_rows is None:
            return 7.0 / 3.0
        return self.document_training_rows / (self.rows - self.document_training_rows)


BUNDLED = SourceData("Breast cancer, diagnostic", "wdbc", 569, ("M",))  # of small runs


@dataclass(frozen=True)
class PublishedRow:
    errors: tuple[float, ...]  # as published (`training_by_test`): the ensemble's, then with each objective's weights
    changes: tuple[float, ...]  # of the margins, in the order of the table's `changes`; empty in Tables 6 and 7
    marks: str  # per objective: `HELPS`, `HURTS` or `NEITHER`, by its paired t-test at 0.05


@dataclass(frozen=True)
class PublishedTable:
    number: int
    ensemble: str  # out of "forest", "AdaBoost"
    objectives: tuple[str, ...]  # one, or the three of PWS
    changes: tuple[str, ...]
    """Figures in each row's `changes`: gains ``("mean", "least")``, decreases ``("variance", "range")``, or none."""
    rows: dict[str, PublishedRow]  # by title
    not_errors: tuple[str, ...]  # titles whose row has numbers of another table in place of errors

    @property
    def whole_rows(self) -> dict[str, PublishedRow]:
        return {title: row for title, row in self.rows.items() if title not in self.not_errors}


def source_data() -> list[SourceData]:
    return [
        SourceData(**{**data, "positive": tuple(data["positive"])})
        for data in document_numbers("margins/tables.json")["data"]
    ]


def published() -> list[PublishedTable]:
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


def read_data(data: SourceData, folder: Folder) -> NamedTable:
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


SHOWN = 5e-5  # smallest change that four digits show; smaller ones count as none

ERROR, MEAN, MINIMUM, LEAST, VARIANCE, RANGE = "error", "mean", "minimum", "least", "variance", "range"
MEDIAN, EQUILIBRIUM = "median", "equilibrium"


@dataclass(frozen=True, eq=False)
class MarginResults:
    """Finished cells by table, repeat and ensemble."""

    cells: Mapping[Key, Cell]
    names: tuple[str, ...]  # of the tables, each once
    repeats: int
    asked: Ensembles = Ensembles()  # noqa: RUF009 - frozen

    def of_table(self, name: str, ensemble: str) -> list[Cell]:
        return [self.cells[name, repeat, ensemble] for repeat in range(self.repeats)]

    def error(self, name: str, ensemble: str, objective: str | None = None) -> float:
        cells = self.of_table(name, ensemble)
        wrong = [(cell if objective is None else cell["objectives"][objective])["wrong"] for cell in cells]
        return float(np.mean([count / cell["test_rows"] for count, cell in zip(wrong, cells, strict=True)]))

    def change(self, name: str, ensemble: str, objective: str, figure: str) -> float:
        cells = self.of_table(name, ensemble)
        if figure == ERROR:
            return self.error(name, ensemble, objective) - self.error(name, ensemble)
        if figure == LEAST:
            return float(np.mean([cell["objectives"][objective][LEAST] for cell in cells]))
        return float(np.mean([cell["objectives"][objective][figure] - cell[figure] for cell in cells]))

    def mark(self, name: str, ensemble: str, objective: str, *, corrected: bool = False) -> str:
        """Return `HELPS`, `HURTS` or `NEITHER` by a paired t-test of an objective's errors."""
        cells = self.of_table(name, ensemble)
        if len(cells) < 2:
            return NEITHER
        # whole numbers of rows, so that equal differences are equal
        less = [cell["objectives"][objective]["wrong"] - cell["wrong"] for cell in cells]
        ratio = cells[0]["test_rows"] / cells[0]["training_rows"] if corrected else 0.0
        test = corrected_paired_t_test(less, ratio)
        return NEITHER if not test.pvalue < LEVEL else HELPS if test.difference < 0.0 else HURTS

    def states(self, name: str, ensemble: str, objective: str) -> list[str]:
        return [cell["objectives"][objective]["state"] for cell in self.of_table(name, ensemble)]


@dataclass(frozen=True)
class Directions:
    tables: int
    raised: dict[str, int]
    """Number of tables on which a figure rises by `SHOWN` or more, by its name."""
    lowered: dict[str, int]  # the same for "variance" and "range", where they fall
    marks: str  # `HELPS`, `HURTS` or `NEITHER` for each table

    @property
    def tests(self) -> tuple[int, int, int]:
        return self.marks.count(HELPS), self.marks.count(HURTS), self.marks.count(NEITHER)


def directions(results: MarginResults, ensemble: str, objective: str, *, corrected: bool = False) -> Directions:
    def changes(figure: str) -> F64:
        return np.array([results.change(name, ensemble, objective, figure) for name in results.names])

    return Directions(
        len(results.names),
        {figure: int((changes(figure) >= SHOWN).sum()) for figure in (MEAN, MEDIAN, LEAST, MINIMUM, EQUILIBRIUM)},
        {figure: int((changes(figure) <= -SHOWN).sum()) for figure in (VARIANCE, RANGE)},
        "".join(results.mark(name, ensemble, objective, corrected=corrected) for name in results.names),
    )


def document_name(ensemble: str) -> str:
    return FOREST if ensemble == DEEP_FOREST else ensemble


def table_of(ensemble: str, objective: str) -> PublishedTable | None:
    theirs = document_name(ensemble)
    found = [table for table in published() if table.ensemble == theirs and objective in table.objectives]
    return found[0] if found else None


def document_directions(ensemble: str, objective: str) -> Directions | None:
    table = table_of(ensemble, objective)
    if table is None:
        return None
    rows = list(table.whole_rows.values())
    place = table.objectives.index(objective)
    # the document's changes of variance and range are decreases
    counts = {figure: sum(row.changes[i] >= SHOWN for row in rows) for i, figure in enumerate(table.changes)}
    return Directions(
        len(rows),
        {figure: count for figure, count in counts.items() if figure in (MEAN, LEAST)},
        {figure: count for figure, count in counts.items() if figure in (VARIANCE, RANGE)},
        "".join(row.marks[place] for row in rows),
    )


@dataclass(frozen=True)
class Association:
    points: int  # pairs of an objective and a table
    rho: float | None  # Spearman's correlation over all points; None if a change is constant
    within: float | None = None  # mean over the tables of rho over the objectives
    negative: int = 0  # tables with a negative rho over the objectives
    positive: int = 0


def association(results: MarginResults, ensemble: str, objectives: Sequence[str], figure: str) -> Association:
    of = np.array([[results.change(name, ensemble, o, figure) for o in objectives] for name in results.names])
    errors = np.array([[results.change(name, ensemble, o, ERROR) for o in objectives] for name in results.names])
    # what differs by rounding alone is equal
    of, errors = of.round(9), errors.round(9)
    own = [rho for x, y in zip(of, errors, strict=True) if (rho := rank_correlation(x, y)) is not None]
    return Association(
        of.size,
        rank_correlation(of.ravel(), errors.ravel()),
        float(np.mean(own)) if own else None,
        sum(rho < 0.0 for rho in own),
        sum(rho > 0.0 for rho in own),
    )


def document_association(ensemble: str, figure: str) -> Association | None:
    points = [
        (row.changes[table.changes.index(figure)] * (-1.0 if figure in (VARIANCE, RANGE) else 1.0),
         row.errors[1] - row.errors[0])
        for table in published()
        if table.ensemble == document_name(ensemble) and figure in table.changes
        for row in table.whole_rows.values()
    ]  # fmt: skip
    if not points:
        return None
    x, y = np.array(points).round(9).T
    return Association(len(points), rank_correlation(x, y))


def rank_correlation(x: F64, y: F64) -> float | None:
    if len(x) < 2 or np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return None
    return round(float(spearmanr(x, y).statistic), 12)
