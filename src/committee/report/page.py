"""Pages of reports: one HTML file each, without network or fonts, and with one small script.

A content security policy in the page allows this script alone, its style and nothing else. Control and formatting
characters of names and labels, such as those that change the direction of text, are shown as escapes.

A page has a title, sections, and a table of contents made from their headings. A section holds tables (`Grid`),
pictures (`Picture`), lists of terms (`Terms`) and sentences (`str`). ``page.css`` is the style for screens of any
width, light or dark, and for print. ``page.js`` sorts tables, shows tooltips and hides models; pages are readable
without it.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, TypeAlias

from committee.data.packages import require_package
from committee.data.text import printable
from committee.report.drawing.svg import breakable
from committee.report.grid import Grid

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True)
class Picture:
    """A picture of `report.drawing` with a heading, a caption, and its numbers as a table that a reader can unfold."""

    heading: str
    caption: str
    body: Markup
    figures: Grid | None = None


@dataclass(frozen=True)
class Terms:
    rows: Sequence[tuple[str, str]]
    title: str = ""


Part: TypeAlias = "Grid | Picture | Terms | str"


@dataclass(frozen=True)
class Section:
    """A part of a page; titles and headings of its parts that equal its own are not repeated."""

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
    """Render a whole HTML page; the same arguments give the same text.

    Sections without parts are left out. `lead` stands below the title, `verdict` and `notes` before the sections. A
    reader can hide and show each of `choices`, such as the names of models: table rows by `Grid.keys`, and parts of
    pictures by ``data-key``.
    """
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
    script = folder.joinpath("page.js").read_text("utf-8")
    page = environment.get_template("page.html.j2").render(
        script=script,
        script_digest=b64encode(sha256(script.encode()).digest()).decode(),
        title=title,
        lead=lead,
        verdict=list(verdict),
        notes=list(notes),
        choices=list(choices),
        sections=_anchored([section for section in sections if section.parts]),
    )
    return printable(page)


def _anchored(sections: list[Section]) -> list[tuple[str, Section]]:
    anchors = [re.sub(r"[^a-z0-9]+", "-", each.heading.lower()).strip("-") or "section" for each in sections]
    return [
        (anchor if anchors.index(anchor) == i else f"{anchor}-{i + 1}", section)
        for i, (anchor, section) in enumerate(zip(anchors, sections, strict=True))
    ]
