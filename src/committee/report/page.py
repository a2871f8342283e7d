"""Parts of reports, and their rendering: tables in the terminal, and pages of one HTML file each."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Literal, TypeAlias

from committee.data.packages import require_package
from committee.data.text import printable
from committee.report.drawing.svg import breakable

if TYPE_CHECKING:
    from markupsafe import Markup
    from rich.table import Table as RichTable


LEAST_TEXT = 32
"""Characters to which a column of text may be narrowed before its table is divided."""

_NAMES = ("model", "member", "candidate")

BLANK = "-"


@dataclass(frozen=True)
class Grid:
    """A table of text; with empty headings a list of names and values."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    justify: str  # "l" (text) or "r" (figures) of each column
    notes: Mapping[str, str] = field(default_factory=dict)  # explanations by heading
    keys: tuple[str, ...] = ()  # models of the rows, which a reader can hide
    best: int | None = None  # row to emphasise

    def __post_init__(self) -> None:
        assert len(self.justify) == len(self.columns)
        assert len(self.keys) in (0, len(self.rows))


def rich_tables(grid: Grid, width: int) -> list[RichTable]:
    """Return a grid as one table, or as several that repeat its first columns."""
    require_package("rich", "a table of the terminal")
    from rich.cells import cell_len

    if not any(grid.columns):
        return [_rich_table(grid, range(len(grid.columns)))]
    place = next((j for j, name in enumerate(grid.columns) if name in _NAMES), 0)
    if width < 100 and grid.columns[place] in _NAMES:
        rows = tuple((*row[:place], row[place].replace(":", ":\n"), *row[place + 1 :]) for row in grid.rows)
        grid = replace(grid, rows=rows)
    sizes = []
    for j, name in enumerate(grid.columns):
        texts = (printable(text) for text in (_heading(name), *(row[j] for row in grid.rows)))
        sizes.append(2 + max(cell_len(line) for text in texts for line in text.split("\n")))
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


# --- pages ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Picture:
    heading: str
    caption: str
    body: Markup
    figures: Grid | None = None  # numbers that a reader can unfold


@dataclass(frozen=True)
class Terms:
    rows: Sequence[tuple[str, str]]
    title: str = ""


Part: TypeAlias = "Grid | Picture | Terms | str"


@dataclass(frozen=True)
class Section:
    heading: str
    parts: Sequence[Part]
    note: str = ""


def render_page(
    title: str,
    sections: Iterable[Section],
    *,
    lead: str = "",
    verdict: Iterable[str] = (),
    notes: Iterable[str] = (),
    choices: Iterable[str] = (),
) -> str:
    """Render a whole HTML page; a reader can hide and show each of `choices`, such as the names of models."""
    require_package("jinja2", "a page")
    import jinja2

    folder = files("committee.report")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: folder.joinpath(name).read_text("utf-8")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals["kind_of"] = lambda part: type(part).__name__
    environment.globals["breakable"] = breakable
    shown = [section for section in sections if section.parts]
    anchors = [re.sub(r"[^a-z0-9]+", "-", each.heading.lower()).strip("-") or "section" for each in shown]
    anchors = [each if anchors.index(each) == i else f"{each}-{i + 1}" for i, each in enumerate(anchors)]
    script = folder.joinpath("page.js").read_text("utf-8")
    page = environment.get_template("page.html.j2").render(
        script=script,
        script_digest=b64encode(sha256(script.encode()).digest()).decode(),
        title=title,
        lead=lead,
        verdict=list(verdict),
        notes=list(notes),
        choices=list(choices),
        sections=list(zip(anchors, shown, strict=True)),
    )
    return printable(page)
