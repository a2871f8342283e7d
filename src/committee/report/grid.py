"""Tables of text, for the terminal and for pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from committee.data.packages import require_package
from committee.data.text import printable

if TYPE_CHECKING:
    from rich.table import Table as RichTable

LEAST_TEXT = 32
"""Characters to which a column of text may be narrowed before its table is divided."""

_NAMES = ("model", "member", "candidate")

BLANK = "-"


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


def rich_tables(grid: Grid, width: int) -> list[RichTable]:
    """Return a grid without its title: one table, or several that repeat its first columns, up to the names."""
    require_package("rich", "a table of the terminal")
    if not any(grid.columns):
        return [_rich_table(grid, range(len(grid.columns)))]
    place = next((j for j, name in enumerate(grid.columns) if name in _NAMES), 0)
    if width < 100 and grid.columns[place] in _NAMES:
        rows = tuple((*row[:place], row[place].replace(":", ":\n"), *row[place + 1 :]) for row in grid.rows)
        grid = replace(grid, rows=rows)
    sizes = [
        2 + max(map(_longest_line, (_heading(name), *(row[j] for row in grid.rows))))
        for j, name in enumerate(grid.columns)
    ]
    for j in range(place + 1, len(sizes)):
        if grid.justify[j] == "l":  # text, whose lines are broken
            sizes[j] = min(sizes[j], LEAST_TEXT)
    named = range(place + 1)
    parts = [list(named)]
    for j in range(place + 1, len(sizes)):
        if len(parts[-1]) > len(named) and sum(sizes[k] for k in (*parts[-1], j)) - 2 > width:
            parts.append(list(named))
        parts[-1].append(j)
    return [_rich_table(grid, part) for part in parts]


def _heading(name: str) -> str:
    return printable(name).replace(" (", "\n(")  # units on a line of their own


def _longest_line(text: str) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, printable(text).split("\n")))


def _rich_table(grid: Grid, shown: Iterable[int]) -> RichTable:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    places = list(shown)
    headed = any(grid.columns)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False, show_header=headed)
    for j in places:
        name, side = grid.columns[j], grid.justify[j]
        justify: Literal["left", "right"] = "left" if side == "l" else "right"
        whole = side == "r" or name in _NAMES
        table.add_column(Text(_heading(name)), justify=justify, no_wrap=whole, overflow="fold")
    for row in grid.rows:
        # Text, not markup: a name may hold square brackets.
        table.add_row(*(Text(printable(row[j])) for j in places))
    return table
