"""Boosting over tree depths as tables: do larger smallest margins hurt, and are AdaBoost's margins Gaussian?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.papers.margins.cells import ADABOOST
from committee.papers.margins.depths import METHODS
from committee.papers.margins.results import SHOWN, rank_correlation
from committee.papers.shared.cells import Key
from committee.papers.shared.pages import grid_of, number, write_csv
from committee.papers.shared.paired import compared, signs_text
from committee.report.grid import BLANK, Grid


@dataclass(frozen=True, eq=False)
class DepthResults:
    """Finished cells of the comparison over depths, by table, repeat and name of the depth."""

    cells: Mapping[Key, Cell]
    names: tuple[str, ...]
    repeats: int
    depths: tuple[str, ...]

    def over_tables(self, depth: str, figure: Callable[[Cell], float]) -> F64:
        """Mean over the repeats of a figure of a cell, for each table."""
        return np.array(
            [np.mean([figure(self.cells[name, r, depth]) for r in range(self.repeats)]) for name in self.names]
        )

    def of_method(self, depth: str, method: str, figure: str) -> F64:
        """A figure of a method, for each table; "error" is the share of test rows that it gets wrong."""
        if figure == "error":
            return self.over_tables(depth, lambda cell: cell["methods"][method]["wrong"] / cell["test_rows"])
        return self.over_tables(depth, lambda cell: cell["methods"][method][figure])


def grids(results: DepthResults) -> list[Grid]:
    """The methods over depths, each against AdaBoost, and Theorem 3."""
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
    """Margins and errors of every method at every depth."""
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
    """Do larger smallest margins hurt? Every method against AdaBoost of the same depth."""
    others = [method for method in METHODS if method != ADABOOST]
    body = [(depth, method, *_against(results, depth, method)) for depth in results.depths for method in others]
    title = (
        "Against AdaBoost of that depth: tables on which the smallest margin is larger, and on which of these the"
        " method errs less (+), more (-), as much; the same where it is smaller; Spearman's correlation over the tables"
        " of the changes of smallest margin and test error; tables with less, more, equal error, p of the sign test"
    )
    columns = ("depth", "method", "min up", "errs + - =", "min down", "errs + - =", "rho", "all tables")
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
    "share_variance_falls": "divided",
    "ratio": "mean/sd",
    "best_ratio": "best",
}


def theorem_grid(results: DepthResults) -> Grid:
    """What Theorem 3 says of AdaBoost, measured: medians over tables and splits."""
    body = []
    for depth in results.depths:
        cells = [results.cells[name, r, depth]["theorem"] for name in results.names for r in range(results.repeats)]
        known = [cell for cell in cells if cell is not None]
        body.append((depth, f"{len(known)}", *(_median(known, figure) for figure in _THEOREM)))
    title = (
        "Theorem 3: AdaBoost's training margins before they are divided, medians over tables and"
        " splits without a perfect tree (runs); the logarithm of its loss, and what it would be of Gaussian margins;"
        " Kolmogorov and Smirnov's distance from these; shares of the rounds in which the mean rises, the variance"
        " falls, and that of the divided margins falls; mean over standard deviation, and the best of the same trees"
    )
    return grid_of(title, ("depth", "runs", *_THEOREM.values()), body)


def _median(cells: Sequence[Cell], figure: str) -> str:
    """Median of what is known; ratios that are not are without a limit, of margins that are all equal."""
    if figure in ("ratio", "best_ratio"):
        values = [np.inf if cell[figure] is None else cell[figure] for cell in cells]
    else:
        values = [cell[figure] for cell in cells if cell[figure] is not None]
    return number(float(np.median(values)), 2) if values else BLANK


def write(results: DepthResults, out: Path) -> None:
    """Write ``depths.csv``, a line per table, split, depth and method."""
    write_csv(_lines(results), out / "depths.csv")


def _lines(results: DepthResults) -> Iterator[dict[str, object]]:
    keys: Sequence[tuple[str, int, str]] = [
        (name, r, depth) for name in results.names for r in range(results.repeats) for depth in results.depths
    ]
    for name, r, depth in keys:
        cell = results.cells[name, r, depth]
        for method, found in cell["methods"].items():
            figures = {key: f"{value:.6f}" if isinstance(value, float) else value for key, value in found.items()}
            error = f"{found['wrong'] / cell['test_rows']:.6f}"
            yield {"table": name, "repeat": r, "depth": depth, "method": method, "error": error, **figures}
