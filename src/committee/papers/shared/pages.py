"""Tables of text: made of records, written as Markdown and CSV, and the numbers in them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from math import isnan
from pathlib import Path

from committee.files.writing import write_file
from committee.report.grid import BLANK, Grid


def grid_of(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, text: int = 1) -> Grid:
    """Return a grid whose first columns are text and whose others are figures."""
    return Grid(title, tuple(columns), tuple(map(tuple, rows)), "l" * text + "r" * (len(columns) - text))


def number(value: float | None, digits: int = 3) -> str:
    """Return a figure with so many digits after the point; a dash for None and NaN."""
    return BLANK if value is None or isnan(value) else f"{value:.{digits}f}"


def percent(value: float | None, sign: str = "") -> str:
    """Return a share in percent with two digits; a dash for None and NaN."""
    return BLANK if value is None or isnan(value) else f"{100 * value:{sign}.2f}"


def markdown(grid: Grid) -> str:
    """Return a grid as a Markdown table, without its title.

    Examples
    --------
    >>> from committee.papers.shared.pages import markdown
    >>> from committee.report.grid import Grid
    >>> print(markdown(Grid("", ("a", "b"), (("x", "1"),), "lr")))
    | a | b |
    |---|--:|
    | x | 1 |
    """
    sides = ["---" if side == "l" else "--:" for side in grid.justify]
    text = ["| " + " | ".join(line) + " |" for line in (grid.columns, *grid.rows)]
    return "\n".join([text[0], "|" + "|".join(sides) + "|", *text[1:]])


def write_page(grids: Iterable[Grid], path: Path) -> None:
    """Write grids as Markdown, each below its title."""
    write_file(path, "\n\n".join(f"{grid.title}.\n\n{markdown(grid)}" for grid in grids) + "\n")


def write_csv(lines: Iterable[Mapping[str, object]], path: Path) -> None:
    """Write records as CSV; the first one names the columns."""
    first, *others = lines
    text = StringIO()
    writer = csv.DictWriter(text, list(first), lineterminator="\n")
    writer.writeheader()
    writer.writerows([first, *others])
    write_file(path, text.getvalue())


def write_grid(grid: Grid, path: Path, names: Mapping[str, str] | None = None) -> None:
    """Write a grid as CSV, its headings as names of one word, or as `names` has them."""
    headings = [(names or {}).get(column) or re.sub(r"\W+", "_", column).strip("_") for column in grid.columns]
    write_csv((dict(zip(headings, row, strict=True)) for row in grid.rows), path)
