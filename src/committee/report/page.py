"""Pages of reports: one HTML file each that needs nothing else, no network, no fonts, and one small script.

A page has a title, what is to be known first, and sections, from whose headings its contents are made. A section holds
tables (`Grid`), pictures (`Picture`), lists of terms (`Terms`) and sentences (`str`). What they look like, on a screen
of any width, light or dark, and in print, stands in ``page.css``; sorting, tooltips and the choice of models in
``page.js``. Without the script everything can still be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, TypeAlias

from committee.data.extras import needed
from committee.report.grid import Grid
from committee.report.svg.element import breakable

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True)
class Picture:
    """A picture of a page.

    Attributes
    ----------
    heading : str
        Heading; empty where the section's is enough.
    caption : str
        A sentence on how to read it.
    body : Markup
        The picture: of `svg_of`, or of `committee.report.svg`. It says itself, in words, what it shows.
    figures : Grid or None
        What it shows as a table, which a reader can unfold.
    """

    heading: str
    caption: str
    body: Markup
    figures: Grid | None = None


@dataclass(frozen=True)
class Terms:
    """Names, and what is to be said of each."""

    rows: Sequence[tuple[str, str]]
    title: str = ""


Part: TypeAlias = "Grid | Picture | Terms | str"


@dataclass(frozen=True)
class Section:
    """A part of a page with a heading of its own.

    A table's title and a picture's heading that are those of the section are not shown twice.
    """

    heading: str
    parts: Sequence[Part]
    note: str = ""

    @property
    def anchor(self) -> str:
        """What a link to it ends in: its heading in small letters and hyphens."""
        return re.sub(r"[^a-z0-9]+", "-", self.heading.lower()).strip("-") or "section"


def render_page(
    title: str,
    sections: Iterable[Section],
    *,
    lead: str = "",
    verdict: Iterable[str] = (),
    notes: Iterable[str] = (),
    choices: Iterable[str] = (),
) -> str:
    """Make a whole HTML page.

    Parameters
    ----------
    title : str
        Heading of the page.
    sections : iterable of Section
        What it holds; those without parts are left out.
    lead : str, default=""
        A sentence below the title.
    verdict, notes : iterable of str, default=()
        Sentences to be read first, and remarks.
    choices : iterable of str, default=()
        Names that the reader can hide and show, of models customarily: rows of a `Grid` by its ``keys``, and of
        pictures whatever has such a name in ``data-key``.

    Returns
    -------
    str
        The page. The same parts give the same text.

    Examples
    --------
    >>> from committee.report.page import Section, render_page
    >>> page = render_page("A model", [Section("Size", ["It has 3 voters."])])
    >>> '<h2 id="size">Size</h2>' in page
    True
    """
    needed("jinja2", "a page")
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
    return environment.get_template("page.html.j2").render(
        title=title,
        lead=lead,
        verdict=list(verdict),
        notes=list(notes),
        choices=list(choices),
        sections=_anchored(shown),
    )


def _anchored(sections: list[Section]) -> list[tuple[str, Section]]:
    """Each section with an anchor that no other has."""
    anchors = [section.anchor for section in sections]
    return [
        (anchor if anchors.index(anchor) == i else f"{anchor}-{i + 1}", section)
        for i, (anchor, section) in enumerate(zip(anchors, sections, strict=True))
    ]
