"""A table of text: what the terminal prints, and what a page shows with columns that can be sorted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from committee.data.packages import require_package
from committee.data.text import printable

if TYPE_CHECKING:
    from rich.table import Table as RichTable

BLANK = "-"
"""Stands where there is no such figure."""


@dataclass(frozen=True)
class Grid:
    """A table of text.

    Attributes
    ----------
    title : str
        Heading.
    columns : tuple of str
        Headings of the columns; a table with none but empty ones is a list of names and values.
    rows : tuple of tuple of str
        Cells.
    justify : str
        For each column "l" (text) or "r" (figures).
    notes : mapping of str to str
        Explanations of columns by their heading, which a page shows on demand.
    keys : tuple of str
        Of each row the name of what it describes: a page that lets models be hidden hides their rows, too. Empty if
        there are none.
    best : int or None
        Number of a row to emphasise.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    justify: str
    notes: Mapping[str, str] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    best: int | None = None

    def __post_init__(self) -> None:
        assert len(self.justify) == len(self.columns)
        assert len(self.keys) in (0, len(self.rows))


def rich_table(grid: Grid, width: int) -> RichTable:
    """Make a grid a rich table, without its title; a narrow one breaks models' names at their colon."""
    require_package("rich", "a table of the terminal")
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_header=any(grid.columns),
    )
    narrow = width < 100
    for column, side in zip(grid.columns, grid.justify, strict=True):
        justify: Literal["left", "right"] = "left" if side == "l" else "right"
        least = 14 if column == "model" else None  # a row must say whose it is, however many figures there are
        heading = printable(column).replace(" (", "\n(")  # a unit has a line of its own
        table.add_column(Text(heading), justify=justify, no_wrap=side == "r", overflow="fold", min_width=least)
    for row in grid.rows:
        # Text, not markup: a name may hold square brackets.
        broken = [
            cell.replace(":", ":\n") if narrow and column == "model" else cell
            for cell, column in zip(row, grid.columns, strict=True)
        ]
        table.add_row(*(Text(printable(cell)) for cell in broken))
    return table
