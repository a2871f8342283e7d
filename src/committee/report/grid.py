"""Tables of text, for the terminal and for pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from committee.data.packages import require_package
from committee.data.text import printable

if TYPE_CHECKING:
    from rich.table import Table as RichTable

BLANK = "-"
"""Cell without a figure."""


@dataclass(frozen=True)
class Grid:
    """A table of text; with empty headings a list of names and values.

    `justify` has "l" (text) or "r" (figures) for each column. `notes` are explanations by heading. `keys` are the
    models of the rows, which readers of pages can hide. `best` is the index of a row to emphasise.
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
    """Return a rich table without the title; a narrow one breaks names of models at their colon."""
    require_package("rich", "a table of the terminal")
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False, show_header=any(grid.columns)
    )
    narrow = width < 100
    for column, side in zip(grid.columns, grid.justify, strict=True):
        justify: Literal["left", "right"] = "left" if side == "l" else "right"
        least = 14 if column == "model" else None  # the model of a row stays readable
        heading = printable(column).replace(" (", "\n(")  # units on a line of their own
        table.add_column(Text(heading), justify=justify, no_wrap=side == "r", overflow="fold", min_width=least)
    for row in grid.rows:
        # Text, not markup: a name may hold square brackets.
        broken = [
            cell.replace(":", ":\n") if narrow and column == "model" else cell
            for cell, column in zip(row, grid.columns, strict=True)
        ]
        table.add_row(*(Text(printable(cell)) for cell in broken))
    return table
