"""Comparisons of methods, and the tables (Markdown, CSV) and pictures of a paper's page."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.number_types import F64
from committee.files.writing import replacing, write_file
from committee.report.displays.base import COLORS, GRID, PALE, open_axes
from committee.report.page import BLANK, Grid
from committee.report.statistics import About, SignTest, poisson_binomial_test, sign_test

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def grid_of(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, text: int = 1) -> Grid:
    return Grid(title, tuple(columns), tuple(map(tuple, rows)), "l" * text + "r" * (len(columns) - text))


def number(value: float | None, digits: int = 3) -> str:
    return BLANK if value is None or isnan(value) else f"{value:.{digits}f}"


def percent(value: float | None, sign: str = "") -> str:
    return BLANK if value is None or isnan(value) else f"{100 * value:{sign}.2f}"


def markdown(grid: Grid) -> str:
    sides = ["---" if side == "l" else "--:" for side in grid.justify]
    text = ["| " + " | ".join(line) + " |" for line in (grid.columns, *grid.rows)]
    return "\n".join([text[0], "|" + "|".join(sides) + "|", *text[1:]])


def write_page(grids: Iterable[Grid], path: Path) -> None:
    write_file(path, "\n\n".join(f"{grid.title}.\n\n{markdown(grid)}" for grid in grids) + "\n")


def write_csv(lines: Iterable[Mapping[str, object]], path: Path) -> None:
    first, *others = lines
    text = StringIO()
    writer = csv.DictWriter(text, list(first), lineterminator="\n")
    writer.writeheader()
    writer.writerows([first, *others])
    write_file(path, text.getvalue())


def write_grid(grid: Grid, path: Path, names: Mapping[str, str] | None = None) -> None:
    headings = [(names or {}).get(column) or re.sub(r"\W+", "_", column).strip("_") for column in grid.columns]
    write_csv((dict(zip(headings, row, strict=True)) for row in grid.rows), path)


BLUE, ORANGE, GREEN, PINK, AMBER, SKY, _ = COLORS
GREY = PALE


def plain(ax: Axes, title: str | None = None) -> None:
    open_axes(ax)
    ax.grid(axis="y", color=GRID, linewidth=0.7)
    ax.set_axisbelow(True)
    if title is not None:
        ax.set_title(title, loc="left", fontsize="medium")


def legend_below(figure: Figure, ax: Axes, columns: int) -> None:
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize="small")


def save(figure: Figure, path: Path) -> None:
    with replacing(path) as file:  # without date and version, so that it is reproducible
        figure.savefig(file, format="png", dpi=130, metadata={"Software": None})


LEVEL = 0.05


@dataclass(frozen=True)
class PairedComparison:
    signs: SignTest  # of the errors
    less: float  # mean over the tables of the first one's error minus the second's; NaN without tables
    probability: float = np.nan  # probability that the first method errs less on most tables; NaN without test rows


def compared(errors: F64, alone: ArrayLike | None = None, about: About = "these tables") -> PairedComparison:
    """Compare two methods by errors (2, n_tables), and by rows `alone` (n_tables, 2) that only one gets right."""
    # means of shares of whole numbers of rows are equal but for their rounding
    signs = sign_test(*errors.round(12))
    if not errors.size:
        return PairedComparison(signs, np.nan)
    less = float((errors[0] - errors[1]).mean())
    if alone is None:
        return PairedComparison(signs, less)
    return PairedComparison(signs, less, poisson_binomial_test(*np.asarray(alone, dtype=np.float64).T, about=about))


def signs_text(signs: SignTest) -> str:
    star = "*" if signs.pvalue <= LEVEL else ""
    return f"{signs.wins}-{signs.losses}-{signs.ties}, {signs.pvalue:.3f}{star}"


def standard_error(values: Sequence[float] | F64) -> float:
    n = len(values)
    return float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else 0.0


def packed(right: NDArray[np.bool_]) -> str:
    return np.packbits(right).tobytes().hex()


def unpacked(digits: str, count: int) -> NDArray[np.bool_]:
    return np.unpackbits(np.frombuffer(bytes.fromhex(digits), dtype=np.uint8), count=count).astype(bool)
