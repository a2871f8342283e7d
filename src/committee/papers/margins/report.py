"""The rebuilt comparison of margins as tables: to print, as CSV and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from committee.papers.margins.cells import (
    ADABOOST,
    DEEP_FOREST,
    ENSEMBLES,
    FAILED,
    FOREST,
    LESS,
    MAXIMISE,
    NO_ROOM,
    NO_SOLUTION,
    PWS,
    SM1,
    SM2,
    SM2_SIMPLEX,
    SOLVED,
    UWS,
    VARIANTS,
)
from committee.papers.margins.results import (
    EQUILIBRIUM,
    ERROR,
    LEAST,
    MEAN,
    MEDIAN,
    MINIMUM,
    RANGE,
    VARIANCE,
    Directions,
    MarginResults,
    association,
    directions,
    document_association,
    document_directions,
    document_name,
)
from committee.papers.margins.tables import NEITHER, PublishedTable, SourceData, published, source_data
from committee.papers.shared.pages import grid_of, write_csv, write_page
from committee.report.grid import BLANK, Grid

_CHANGES = {
    MEAN: "mean gain",
    LEAST: "least gain",
    VARIANCE: "less variance",
    RANGE: "less range",
}
_RAISED = (MEAN, MEDIAN, MINIMUM, EQUILIBRIUM, LEAST)
_SETS = {
    "UWS, EWS, PWS": MAXIMISE,
    "document's seven": (*MAXIMISE, SM1, SM2),
}


def grids(results: MarginResults) -> list[Grid]:
    """All tables, in the order of the page; of tables that the document does not have, those without its numbers."""
    beside_document = [likeness_grid(results)] if _data(results) else []
    return [
        *(
            table_grid(results, table, ensemble)
            for table in published()
            for ensemble in ENSEMBLES
            if table.ensemble == document_name(ensemble) and beside_document
        ),
        *beside_document,
        direction_grid(results),
        association_grid(results),
        *(state_grid(results, ensemble) for ensemble in ENSEMBLES),
        seconds_grid(results),
    ]


def _data(results: MarginResults) -> list[SourceData]:
    return [data for data in source_data() if data.name in results.names]


# --- Tables 2 to 11 --------------------------------------------------------------------------------------------------


def table_grid(results: MarginResults, table: PublishedTable, ensemble: str) -> Grid:
    """One of the document's Tables 2 to 11: ours of an ensemble, the document's in brackets.

    A title that shares its table with another has the same figures of ours.
    """
    body = [(data.title, *_row(results, data, table, ensemble)) for data in _data(results)]
    columns = ("table", ensemble, *table.objectives, *(_CHANGES[change] for change in table.changes))
    what = " and change of the margins" if table.changes else ""
    title = (
        f"Table {table.number}, {ensemble}: share of test rows wrong{what}, mean of {results.repeats} split(s) (the"
        " document's in brackets); + errs significantly less than the ensemble, - more"
    )
    return grid_of(title, columns, body)


def _row(results: MarginResults, data: SourceData, table: PublishedTable, ensemble: str) -> Iterator[str]:
    name, row = data.name, table.rows[data.title]
    yield f"{results.error(name, ensemble):.4f} ({row.errors[0]:.4f})"
    for objective, error, mark in zip(table.objectives, row.errors[1:], row.marks, strict=True):
        beside = BLANK if data.title in table.not_errors else f"{error:.4f}{_shown(mark)}"
        own = results.error(name, ensemble, objective)
        yield f"{own:.4f}{_shown(results.mark(name, ensemble, objective))} ({beside})"
    for figure, change in zip(table.changes, row.changes, strict=True):
        sign = -1.0 if figure in (VARIANCE, RANGE) else 1.0
        yield f"{fixed(sign * results.change(name, ensemble, table.objectives[0], figure))} ({change:.4f})"


def _shown(mark: str) -> str:
    return "" if mark == NEITHER else mark


def fixed(value: float, digits: int = 4) -> str:
    """A number with so many digits after the point, and no minus sign before zeros alone.

    Examples
    --------
    >>> from committee.papers.margins.report import fixed
    >>> fixed(-0.00001), fixed(-0.5, 2)
    ('0.0000', '-0.50')
    """
    return f"{round(value, digits) + 0.0:.{digits}f}"


# --- likeness of the document's ensembles -----------------------------------------------------------------------------


def likeness_grid(results: MarginResults) -> Grid:
    """The document's errors as shares of the test rows, and its mean gains of UWS, beside ours."""
    tables = {table.number: table for table in published()}
    body = []
    for data in _data(results):
        gain = tables[2].rows[data.title].changes[0]
        line = [data.title]
        for theirs, own in ((FOREST, (FOREST, DEEP_FOREST)), (ADABOOST, (ADABOOST,))):
            error = np.median([t.rows[data.title].errors[0] for t in tables.values() if t.ensemble == theirs])
            line += [f"{error:.4f}", f"{error * data.training_by_test:.3f}"]
            line += [f"{results.error(data.name, ensemble):.3f}" for ensemble in own]
        gains = (fixed(results.change(data.name, ensemble, UWS, MEAN), 3) for ensemble in (FOREST, DEEP_FOREST))
        body.append((*line, f"{gain:.3f}", *gains))
    columns = (
        *("table", "its forest", "of test", "forest", "deep", "its AdaBoost", "of test", "AdaBoost"),
        *("its gain", "forest", "deep"),
    )
    title = (
        "Which ensembles: the document's error of its forest, median of its tables, the same times training rows over"
        " test rows, ours of trees of four leaves and without limits; AdaBoost likewise; mean gain of UWS on its forest"
        " and on both of ours"
    )
    return grid_of(title, columns, body)


# --- directions ------------------------------------------------------------------------------------------------------


def direction_grid(results: MarginResults) -> Grid:
    """In how many tables each objective does what, the document's counts in brackets."""
    body = []
    for ensemble in ENSEMBLES:
        for objective in results.asked.objectives:
            ours = directions(results, ensemble, objective)
            strict = directions(results, ensemble, objective, corrected=True)
            theirs = document_directions(ensemble, objective)
            counts = [
                f"{mine[figure]}" + _bracketed(theirs, figure)
                for mine, figures in (
                    (ours.raised, _RAISED),
                    (ours.lowered, (VARIANCE, RANGE)),
                )
                for figure in figures
            ]
            tests = "-".join(map(str, ours.tests))
            beside = "" if theirs is None else f" ({'-'.join(map(str, theirs.tests))})"
            body.append((f"{ensemble}, {objective}", *counts, tests + beside, "-".join(map(str, strict.tests))))
    columns = (
        *("weights", "mean up", "median up", "min up", "equ. up", "all up", "var down", "range down"),
        *("+ - =", "corrected"),
    )
    title = (
        f"Directions: in how many of {len(results.names)} tables mean margin, median, minimum, equilibrium margin and"
        f" every margin rise, variance and range fall, by the mean of {results.repeats} split(s) (in how many of the"
        " document's 15; of 14 for PWS);"
        " where weights help (+), hurt (-) or do neither (=) by a paired t-test of the test error at 0.05, ordinary and"
        " corrected"
    )
    return grid_of(title, columns, body)


def _bracketed(theirs: Directions | None, figure: str) -> str:
    if theirs is None:
        return ""
    count = {**theirs.raised, **theirs.lowered}.get(figure)
    return "" if count is None else f" ({count})"


# --- what goes with what ---------------------------------------------------------------------------------------------


def association_grid(results: MarginResults) -> Grid:
    """Rank correlations of changes of the margins with changes of the test error."""
    body = []
    for ensemble in ENSEMBLES:
        for said, objectives in _SETS.items():
            for figure in (MEAN, MEDIAN, MINIMUM, EQUILIBRIUM, VARIANCE, RANGE):
                found = association(results, ensemble, objectives, figure)
                theirs = document_association(ensemble, figure) if len(objectives) > len(MAXIMISE) else None
                beside = BLANK if theirs is None else f"{_rho(theirs.rho)} of {theirs.points}"
                line = (f"{ensemble}, {said}", figure, f"{found.points}", _rho(found.rho), _rho(found.within))
                body.append((*line, f"{found.negative}-{found.positive}", beside))
    columns = ("weights", "change of", "points", "rho", "within", "tables - +", "document")
    title = (
        "What goes with what: Spearman's correlation of the change of a figure of the training margins with the change"
        " of the test error, over tables and objectives; its mean within a table; tables where that is negative and"
        " positive"
    )
    return grid_of(title, columns, body, text=2)


def _rho(value: float | None) -> str:
    return BLANK if value is None else fixed(value, 2)


# --- trees, room and time --------------------------------------------------------------------------------------------


def state_grid(results: MarginResults, ensemble: str) -> Grid:
    """The ensemble on each table, and how often its objectives have room and solutions."""
    full = None if results.asked.depth is None else 2**results.asked.depth
    body = []
    for name in results.names:
        cells = results.of_table(name, ensemble)
        least = [cell["objectives"][SM1] for cell in cells]
        xi = [found["xi"] for found in least if found["state"] == LESS]
        stuck = (_share(results.states(name, ensemble, objective), NO_ROOM) for objective in (UWS, PWS[0]))
        unsolved = (f["state"] in (NO_SOLUTION, FAILED) for cell in cells for f in cell["objectives"].values())
        body.append(
            (
                name,
                f"{np.mean([cell['voters'] for cell in cells]):.0f}",
                BLANK if full is None else _percent([cell["full_trees"] for cell in cells]),
                *(fixed(float(np.mean([cell[figure] for cell in cells])), 3) for figure in (MEAN, MINIMUM)),
                *stuck,
                f"{np.mean([cell['objectives'][UWS]['trees'] for cell in cells]):.0f}",
                _share([found["state"] for found in least], SOLVED, NO_ROOM),
                f"{np.mean(xi):.4f}" if xi else BLANK,
                f"{sum(unsolved):,}",
            )
        )
    columns = (
        *(
            "table",
            "trees",
            BLANK if full is None else f"{full} leaves",
            "mean",
            "min",
            "UWS stuck",
            "PWS.05 stuck",
            "UWS trees",
            "SM1 at .05",
        ),
        *("else xi", "unsolved"),
    )
    title = (
        f"{ensemble[0].upper()}{ensemble[1:]}: trees, those with all leaves of their depth, training margins; splits"
        " where MM gains nothing, trees that UWS gives weight; splits where SM1 has a solution at xi=.05, the mean"
        " largest xi of the others; programs without solution or that a solver failed on"
    )
    return grid_of(title, columns, body)


def _percent(shares: Sequence[float]) -> str:
    return f"{100.0 * float(np.mean(shares)):.0f}%"


def _share(states: Sequence[str], *of: str) -> str:
    return _percent([found in of for found in states])


def seconds_grid(results: MarginResults) -> Grid:
    """Seconds on one thread, of all ensembles together."""
    parts = {
        "training": lambda cell: cell["fit_seconds"],
        "UWS, EWS, PWS": lambda cell: sum(cell["objectives"][name]["seconds"] for name in MAXIMISE),
        "SM1": lambda cell: cell["objectives"][SM1]["seconds"],
        "SM2": lambda cell: sum(cell["objectives"][name]["seconds"] for name in (SM2, SM2_SIMPLEX)),
    }
    if results.asked.variants:
        parts["variants"] = lambda cell: sum(cell["objectives"][name]["seconds"] for name in VARIANTS)
    table = []
    for name in results.names:
        cells = [cell for ensemble in ENSEMBLES for cell in results.of_table(name, ensemble)]
        table.append([sum(map(part, cells)) / results.repeats for part in parts.values()])
    rows = [
        (name, *(f"{value:.2f}" for value in row), f"{sum(row):.2f}", f"{sum(row) * 100 / 60:.1f}")
        for name, row in zip((*results.names, "all"), [*table, np.sum(table, axis=0).tolist()], strict=True)
    ]
    title = f"Seconds of one split, three ensembles of {results.asked.trees} trees, one thread; minutes of 100 splits"
    return grid_of(title, ("table", *parts, "one split", "100 splits"), rows)


# --- files -----------------------------------------------------------------------------------------------------------


def write(results: MarginResults, tables: Sequence[Grid], out: Path) -> None:
    """Write ``splits.csv`` (a line per table, ensemble, split and objective), and the tables as ``tables.md``."""
    lines = (line for name in results.names for ensemble in ENSEMBLES for line in _lines(results, name, ensemble))
    write_csv(lines, out / "splits.csv")
    write_page(tables, out / "tables.md")


def _lines(results: MarginResults, name: str, ensemble: str) -> Iterator[dict[str, object]]:
    for cell in results.of_table(name, ensemble):
        for objective, found in cell["objectives"].items():
            yield {
                "table": name,
                "ensemble": ensemble,
                "repeat": cell["repeat"],
                "objective": objective,
                "state": found["state"],
                "xi": "" if found["xi"] is None else found["xi"],
                "voters": cell["voters"],
                "voters_with_weight": found["trees"],
                "full_trees": "" if cell["full_trees"] is None else cell["full_trees"],
                f"{ERROR}_before": f"{cell['wrong'] / cell['test_rows']:.6f}",
                ERROR: f"{found['wrong'] / cell['test_rows']:.6f}",
                **{
                    key: f"{value[figure]:.6f}"
                    for figure in (MEAN, MEDIAN, MINIMUM, EQUILIBRIUM, VARIANCE, RANGE)
                    for key, value in ((f"{figure}_before", cell), (figure, found))
                },
                "least_gain": f"{found[LEAST]:.6f}",
                "seconds": found["seconds"],
            }
