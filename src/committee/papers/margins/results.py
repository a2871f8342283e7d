"""Findings of the rebuilt comparison of margins: errors, changes of margins, in how many tables, associations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import spearmanr

from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.papers.margins.cells import DEEP_FOREST, FOREST, Ensembles
from committee.papers.margins.tables import HELPS, HURTS, NEITHER, PublishedTable, published
from committee.papers.shared.cells import Key
from committee.papers.shared.paired import LEVEL
from committee.report.statistics import corrected_paired_t_test

SHOWN = 5e-5
"""The smallest change that four digits after the point show; a smaller one counts as none, as it must in the
document's tables."""

ERROR, MEAN, MINIMUM, LEAST, VARIANCE, RANGE = "error", "mean", "minimum", "least", "variance", "range"
MEDIAN, EQUILIBRIUM = "median", "equilibrium"


@dataclass(frozen=True, eq=False)
class MarginResults:
    """Finished cells by table, repeat and ensemble."""

    cells: Mapping[Key, Cell]
    names: tuple[str, ...]
    """Of the tables, each once."""
    repeats: int
    asked: Ensembles = Ensembles()  # noqa: RUF009 - frozen

    def of_table(self, name: str, ensemble: str) -> list[Cell]:
        """The cells of an ensemble on a table, a repeat each."""
        return [self.cells[name, repeat, ensemble] for repeat in range(self.repeats)]

    def error(self, name: str, ensemble: str, objective: str | None = None) -> float:
        """Mean test error, of the ensemble or with an objective's weights."""
        cells = self.of_table(name, ensemble)
        wrong = [(cell if objective is None else cell["objectives"][objective])["wrong"] for cell in cells]
        return float(np.mean([count / cell["test_rows"] for count, cell in zip(wrong, cells, strict=True)]))

    def change(self, name: str, ensemble: str, objective: str, figure: str) -> float:
        """Change by an objective's weights, mean over the repeats: new less old.

        The figure is "error", of the test rows, or "mean", "median", "minimum", "equilibrium", "variance" or "range" of
        the training margins; "least" is the least gain of a row.
        """
        cells = self.of_table(name, ensemble)
        if figure == ERROR:
            return self.error(name, ensemble, objective) - self.error(name, ensemble)
        if figure == LEAST:
            return float(np.mean([cell["objectives"][objective][LEAST] for cell in cells]))
        return float(np.mean([cell["objectives"][objective][figure] - cell[figure] for cell in cells]))

    def mark(self, name: str, ensemble: str, objective: str, *, corrected: bool = False) -> str:
        """Outcome of a two-sided paired t-test of the test errors over the repeats, at 0.05; `NEITHER` of one repeat.

        It is the ordinary one, which is the document's, or corrected by Nadeau and Bengio, as the splits share rows.
        """
        cells = self.of_table(name, ensemble)
        if len(cells) < 2:
            return NEITHER
        # whole numbers of rows, so that equal differences are equal
        less = [cell["objectives"][objective]["wrong"] - cell["wrong"] for cell in cells]
        ratio = cells[0]["test_rows"] / cells[0]["training_rows"] if corrected else 0.0
        test = corrected_paired_t_test(less, ratio)
        return NEITHER if not test.pvalue < LEVEL else HELPS if test.difference < 0.0 else HURTS

    def states(self, name: str, ensemble: str, objective: str) -> list[str]:
        """Outcome of the objective in each repeat."""
        return [cell["objectives"][objective]["state"] for cell in self.of_table(name, ensemble)]


@dataclass(frozen=True)
class Directions:
    """In how many tables an objective does what."""

    tables: int
    raised: dict[str, int]
    """By "mean", "median", "least", "minimum" and "equilibrium": tables where it rises, by what four digits show."""
    lowered: dict[str, int]
    """By "variance" and "range": where it falls."""
    marks: str
    """A mark for each table."""

    @property
    def tests(self) -> tuple[int, int, int]:
        """Tables where it helps, hurts, and does neither."""
        return self.marks.count(HELPS), self.marks.count(HURTS), self.marks.count(NEITHER)


def directions(results: MarginResults, ensemble: str, objective: str, *, corrected: bool = False) -> Directions:
    """Ours; for `corrected` see `MarginResults.mark`."""

    def changes(figure: str) -> F64:
        return np.array([results.change(name, ensemble, objective, figure) for name in results.names])

    return Directions(
        len(results.names),
        {figure: int((changes(figure) >= SHOWN).sum()) for figure in (MEAN, MEDIAN, LEAST, MINIMUM, EQUILIBRIUM)},
        {figure: int((changes(figure) <= -SHOWN).sum()) for figure in (VARIANCE, RANGE)},
        "".join(results.mark(name, ensemble, objective, corrected=corrected) for name in results.names),
    )


def document_name(ensemble: str) -> str:
    """The document's ensemble that stands beside one of ours."""
    return FOREST if ensemble == DEEP_FOREST else ensemble


def table_of(ensemble: str, objective: str) -> PublishedTable | None:
    """The document's table of an objective, of the forest for either forest; None of ours."""
    theirs = document_name(ensemble)
    found = [table for table in published() if table.ensemble == theirs and objective in table.objectives]
    return found[0] if found else None


def document_directions(ensemble: str, objective: str) -> Directions | None:
    """The document's, over its fifteen rows; rows that hold no errors are left out. None of an objective of ours.

    Beside the deep forest stands what the document says of its forest.

    Examples
    --------
    >>> from committee.papers.margins.results import document_directions
    >>> found = document_directions("AdaBoost", "UWS")
    >>> found.tables, found.raised, found.tests
    (15, {'mean': 13, 'least': 3}, (1, 10, 4))
    """
    table = table_of(ensemble, objective)
    if table is None:
        return None
    rows = list(table.whole_rows.values())
    place = table.objectives.index(objective)
    # its tables say by how much variance and range fell
    counts = {figure: sum(row.changes[i] >= SHOWN for row in rows) for i, figure in enumerate(table.changes)}
    return Directions(
        len(rows),
        {figure: count for figure, count in counts.items() if figure in (MEAN, LEAST)},
        {figure: count for figure, count in counts.items() if figure in (VARIANCE, RANGE)},
        "".join(row.marks[place] for row in rows),
    )


@dataclass(frozen=True)
class Association:
    """Association of changes of a margin figure with changes of the test error."""

    points: int
    """An objective on a table each."""
    rho: float | None
    """Spearman's rank correlation over all points; None where nothing varies."""
    within: float | None = None
    """Mean over the tables of that over the objectives."""
    negative: int = 0
    positive: int = 0
    """Tables by the sign of theirs."""


def association(results: MarginResults, ensemble: str, objectives: Sequence[str], figure: str) -> Association:
    """Ours: mean changes over the repeats, of margins (a figure of `MarginResults.change`) and of errors."""
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
    """The document's, over the rows of its tables that have the figure; None where it has it nowhere."""
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
    """Spearman's; None where one of the two does not vary.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.papers.margins.results import rank_correlation
    >>> rank_correlation(np.array([1.0, 2.0, 9.0]), np.array([0.3, 0.2, 0.1]))
    -1.0
    """
    if len(x) < 2 or np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return None
    return round(float(spearmanr(x, y).statistic), 12)
