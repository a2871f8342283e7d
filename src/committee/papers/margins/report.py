"""Tables of the comparison of margins, and of boosting over depths, as text, CSV and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.papers.margins.cells import (
    ADABOOST,
    DEEP_FOREST,
    ENSEMBLES,
    FOREST,
    LESS,
    MAXIMISE,
    METHODS,
    NO_ROOM,
    SM1,
    SM2,
    SOLVED,
    UWS,
)
from committee.papers.margins.results import (
    EQUILIBRIUM,
    ERROR,
    LEAST,
    MEAN,
    MEDIAN,
    MINIMUM,
    NEITHER,
    RANGE,
    SHOWN,
    VARIANCE,
    Directions,
    MarginResults,
    PublishedTable,
    SourceData,
    association,
    directions,
    document_association,
    document_directions,
    document_name,
    published,
    rank_correlation,
    source_data,
)
from committee.papers.shared.cells import Key
from committee.papers.shared.pages import compared, grid_of, number, signs_text, write_csv, write_page
from committee.report.page import BLANK, Grid

_CHANGES = {MEAN: "mean gain", LEAST: "least gain", VARIANCE: "variance decrease", RANGE: "range decrease"}
_RAISED = (MEAN, MEDIAN, MINIMUM, EQUILIBRIUM, LEAST)
_SETS = {"UWS, EWS, PWS": MAXIMISE, "document's seven": (*MAXIMISE, SM1, SM2)}


def grids(results: MarginResults) -> list[Grid]:
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
        state_grid(results),
    ]


def _data(results: MarginResults) -> list[SourceData]:
    return [data for data in source_data() if data.name in results.names]


def table_grid(results: MarginResults, table: PublishedTable, ensemble: str) -> Grid:
    body = [(data.title, *_row(results, data, table, ensemble)) for data in _data(results)]
    columns = ("table", ensemble, *table.objectives, *(_CHANGES[change] for change in table.changes))
    what = " and change of the margins" if table.changes else ""
    title = (
        f"Table {table.number}, {ensemble}: share of test rows wrong{what}, mean of {results.repeats} split(s) (the"
        " document's in brackets); +: error significantly below the ensemble's, -: above"
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
    return f"{round(value, digits) + 0.0:.{digits}f}"  # no minus before zero


def likeness_grid(results: MarginResults) -> Grid:
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
        *("table", "doc. forest", "rescaled", "forest", "deep", "doc. AdaBoost", "rescaled", "AdaBoost"),
        *("doc. gain", "forest", "deep"),
    )
    title = (
        "The document's errors beside ours: its forest's (median of its tables), the same rescaled by training rows"
        " over test rows, our forest's of four leaves and our deep forest's; AdaBoost likewise; mean gain of UWS on"
        " its forest and on both of ours"
    )
    return grid_of(title, columns, body)


def direction_grid(results: MarginResults) -> Grid:
    body = []
    for ensemble in ENSEMBLES:
        for objective in results.asked.objectives:
            ours = directions(results, ensemble, objective)
            strict = directions(results, ensemble, objective, corrected=True)
            theirs = document_directions(ensemble, objective)
            counts = [
                f"{mine[figure]}" + _bracketed(theirs, figure)
                for mine, figures in ((ours.raised, _RAISED), (ours.lowered, (VARIANCE, RANGE)))
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
        " document's 15; of 14 for PWS); where weights help (+), hurt (-) or do neither (=) by a paired t-test of the"
        " test error at 0.05, ordinary and corrected"
    )
    return grid_of(title, columns, body)


def _bracketed(theirs: Directions | None, figure: str) -> str:
    if theirs is None:
        return ""
    count = {**theirs.raised, **theirs.lowered}.get(figure)
    return "" if count is None else f" ({count})"


_ASSOCIATION = ("within", "tables - +", "document")


def association_grid(results: MarginResults) -> Grid:
    body = []
    for said, objectives in _SETS.items():
        for figure in (MEAN, MEDIAN, MINIMUM, EQUILIBRIUM, VARIANCE, RANGE):
            line = [said, figure, f"{association(results, ENSEMBLES[0], objectives, figure).points}"]
            for ensemble in ENSEMBLES:
                found = association(results, ensemble, objectives, figure)
                theirs = document_association(ensemble, figure) if len(objectives) > len(MAXIMISE) else None
                beside = BLANK if theirs is None else f"{_rho(theirs.rho)} of {theirs.points}"
                line += [_rho(found.rho), _rho(found.within), f"{found.negative}-{found.positive}", beside]
            body.append(line)
    columns = ("objectives", "change of", "points", *(h for e in ENSEMBLES for h in (f"{e}: rho", *_ASSOCIATION)))
    title = (
        "Do margins predict the test error: Spearman's correlation (rho) of the change of a statistic of the training"
        " margins with the change of the test error, over tables and objectives; its mean within a table; tables"
        " where that is negative and positive; the document's rho and its number of points"
    )
    return grid_of(title, columns, body, text=2)


def _rho(value: float | None) -> str:
    return BLANK if value is None else fixed(value, 2)


def state_grid(results: MarginResults) -> Grid:
    body = [(name, *(cell for each in ENSEMBLES for cell in _state(results, name, each))) for name in results.names]
    columns = (f"{each}: min" for each in ENSEMBLES)
    rest = ("UWS no gain", "SM1 feasible", "largest xi")
    title = (
        "Smallest training margin; share of splits where UWS raises no margin; share of splits where SM1 is feasible"
        " at xi = .05, and mean largest feasible xi of the others"
    )
    return grid_of(title, ("table", *(heading for first in columns for heading in (first, *rest))), body)


def _state(results: MarginResults, name: str, ensemble: str) -> tuple[str, ...]:
    cells = results.of_table(name, ensemble)
    squeezed = [cell["objectives"][SM1] for cell in cells]
    xi = [found["xi"] for found in squeezed if found["state"] == LESS]
    return (
        fixed(float(np.mean([cell[MINIMUM] for cell in cells])), 3),
        _share(results.states(name, ensemble, UWS), NO_ROOM),
        _share([found["state"] for found in squeezed], SOLVED, NO_ROOM),
        f"{np.mean(xi):.4f}" if xi else BLANK,
    )


def _share(states: Sequence[str], *of: str) -> str:
    return f"{100.0 * float(np.mean([found in of for found in states])):.0f}%"


def write(results: MarginResults, tables: Sequence[Grid], out: Path) -> None:
    lines = (line for name in results.names for ensemble in ENSEMBLES for line in _lines(results, name, ensemble))
    write_csv(lines, out / "splits.csv")
    write_page(side_by_side(tables), out / "tables.md")


def side_by_side(grids: Sequence[Grid]) -> list[Grid]:
    joined: dict[tuple[str, ...], Grid] = {}
    for grid in grids:
        key = grid.columns[2:] if grid.title.startswith("Table ") else (grid.title,)
        joined[key] = _joined(joined[key], grid) if key in joined else grid
    return list(joined.values())


def _joined(left: Grid, right: Grid) -> Grid:
    heads, _, what = left.title.partition(": ")
    title = f"{heads}; {right.title.partition(': ')[0]}: {what}"
    rows = ((*a, *b[1:]) for a, b in zip(left.rows, right.rows, strict=True))
    return grid_of(title, (*left.columns, *right.columns[1:]), rows)


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


@dataclass(frozen=True, eq=False)
class DepthResults:
    """Finished cells of the comparison over depths, by table, repeat and name of the depth."""

    cells: Mapping[Key, Cell]
    names: tuple[str, ...]
    repeats: int
    depths: tuple[str, ...]

    def over_tables(self, depth: str, figure: Callable[[Cell], float]) -> F64:
        return np.array(
            [np.mean([figure(self.cells[name, r, depth]) for r in range(self.repeats)]) for name in self.names]
        )

    def of_method(self, depth: str, method: str, figure: str) -> F64:
        if figure == "error":
            return self.over_tables(depth, lambda cell: cell["methods"][method]["wrong"] / cell["test_rows"])
        return self.over_tables(depth, lambda cell: cell["methods"][method][figure])


def depth_grids(results: DepthResults) -> list[Grid]:
    return [method_grid(results), against_grid(results), theorem_grid(results)]


_FIGURES = {
    "voters": ("trees", 0),
    "leaves": ("leaves", 1),
    "minimum": ("min", 3),
    "median": ("median", 3),
    "mean": ("mean", 3),
    "equilibrium": ("equ.", 3),
    "error": ("test error", 4),
    "seconds": ("seconds", 2),
}


def method_grid(results: DepthResults) -> Grid:
    body = []
    for depth in results.depths:
        for method in METHODS:
            means = (results.of_method(depth, method, figure).mean() for figure in _FIGURES)
            texts = (number(float(mean), digits) for mean, (_, digits) in zip(means, _FIGURES.values(), strict=True))
            body.append((depth, method, *texts))
    title = (
        f"Boosting over depths: trees, their leaves, training margins and test errors, means of {len(results.names)}"
        f" table(s) and {results.repeats} split(s)"
    )
    return grid_of(title, ("depth", "method", *(heading for heading, _ in _FIGURES.values())), body, text=2)


def against_grid(results: DepthResults) -> Grid:
    others = [method for method in METHODS if method != ADABOOST]
    body = [(depth, method, *_against(results, depth, method)) for depth in results.depths for method in others]
    title = (
        "Against AdaBoost of the same depth: tables on which the smallest margin is larger (min up), and of these the"
        " numbers with a lower (+), higher (-) and equal (=) error; the same where it is smaller (min down);"
        " Spearman's correlation (rho) over the tables of both changes; tables won-lost-tied, p of the sign test"
    )
    columns = ("depth", "method", "min up", "error + - =", "min down", "error + - =", "rho", "won-lost-tied")
    return grid_of(title, columns, body, text=2)


def _against(results: DepthResults, depth: str, method: str) -> Iterator[str]:
    def change(figure: str) -> F64:
        # what differs by rounding alone is equal
        return (results.of_method(depth, method, figure) - results.of_method(depth, ADABOOST, figure)).round(9)

    margins, errors = change("minimum"), change("error")
    for these in (margins >= SHOWN, margins <= -SHOWN):
        some = errors[these]
        yield f"{these.sum()}"
        yield f"{(some < 0.0).sum()}-{(some > 0.0).sum()}-{(some == 0.0).sum()}"
    yield number(rank_correlation(margins, errors), 2)
    both = np.array([results.of_method(depth, name, "error") for name in (method, ADABOOST)])
    yield signs_text(compared(both).signs)


_THEOREM = {
    "mean": "mean",
    "variance": "var",
    "loss": "ln loss",
    "gaussian": "Gauss",
    "distance": "KS",
    "mean_rises": "mean up",
    "variance_falls": "var down",
    "share_variance_falls": "norm. var down",
    "ratio": "mean/sd",
    "best_ratio": "best",
}


def theorem_grid(results: DepthResults) -> Grid:
    body = []
    for depth in results.depths:
        cells = [results.cells[name, r, depth]["theorem"] for name in results.names for r in range(results.repeats)]
        known = [cell for cell in cells if cell is not None]
        body.append((depth, f"{len(known)}", *(_median(known, figure) for figure in _THEOREM)))
    title = (
        "Theorem 3: AdaBoost's unnormalised training margins, medians over tables and splits without a perfect tree"
        " (runs): mean, variance; logarithm of the loss, and its value for Gaussian margins; Kolmogorov-Smirnov"
        " distance from these; shares of the rounds in which the mean rises, the variance falls, and the variance of"
        " the normalised margins falls; mean over standard deviation, and the best of the same trees"
    )
    return grid_of(title, ("depth", "runs", *_THEOREM.values()), body)


def _median(cells: Sequence[Cell], figure: str) -> str:
    if figure in ("ratio", "best_ratio"):
        values = [np.inf if cell[figure] is None else cell[figure] for cell in cells]
    else:
        values = [cell[figure] for cell in cells if cell[figure] is not None]
    return number(float(np.median(values)), 2) if values else BLANK


def depth_lines(results: DepthResults) -> Iterator[dict[str, object]]:
    keys: Sequence[tuple[str, int, str]] = [
        (name, r, depth) for name in results.names for r in range(results.repeats) for depth in results.depths
    ]
    for name, r, depth in keys:
        cell = results.cells[name, r, depth]
        for method, found in cell["methods"].items():
            figures = {key: f"{value:.6f}" if isinstance(value, float) else value for key, value in found.items()}
            error = f"{found['wrong'] / cell['test_rows']:.6f}"
            yield {"table": name, "repeat": r, "depth": depth, "method": method, "error": error, **figures}
