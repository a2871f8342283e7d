"""A matplotlib figure as SVG inside a page: its text is text, its colours follow the page's, light or dark."""

from __future__ import annotations

import io
import re
from hashlib import blake2b
from typing import TYPE_CHECKING

from committee.data.extras import needed
from committee.report.displays.base import COLORS, GREY, GRID, INK, PALE

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure

_THEME = {
    INK: "var(--ink)",
    "#000000": "var(--ink)",
    "#ffffff": "var(--paper)",
    GREY: "var(--soft)",
    PALE: "var(--pale)",
    GRID: "var(--grid)",
    "#b0b0b0": "var(--grid)",
    "#cccccc": "var(--line)",
} | {color.lower(): f"var(--c{i})" for i, color in enumerate(COLORS)}
"""Colours of the displays, and which of the page's stand for them."""

_SMALLEST = 0.72
"""A picture becomes no narrower than this share of its width: its text is then 7 points high. It scrolls instead."""


def svg_of(figure: Figure, description: str, *, themed: bool = True) -> Markup:
    """Draw a figure as inline SVG.

    Parameters
    ----------
    figure : matplotlib Figure
        The picture.
    description : str
        What it shows, for who cannot see it.
    themed : bool, default=True
        Whether its colours are those of the displays' palette, which a dark page can exchange. A picture with a scale
        of colours of its own stays as it is, on white.

    Returns
    -------
    Markup
        An element for `committee.report.page.Picture`. The same figure gives the same text.

    Examples
    --------
    >>> from committee.report import MarginDisplay
    >>> from committee.report.drawn import svg_of
    >>> svg_of(MarginDisplay({"a": [0.1]}).plot().figure_, "One margin of 0.1").startswith("<div")
    True
    """
    needed("matplotlib", "a picture of a page")
    needed("jinja2", "a page")
    import matplotlib
    from markupsafe import Markup

    buffer = io.StringIO()
    # Without a date and with fixed ids, the same figure gives the same bytes.
    with matplotlib.rc_context({"svg.hashsalt": "committee", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    drawing = text[text.index("<svg") :]
    drawing = re.sub(r"<metadata>.*?</metadata>", "", drawing, flags=re.DOTALL)
    if themed:
        drawing = re.sub("#[0-9a-f]{6}", lambda found: _THEME.get(found[0], found[0]), drawing)
    # ids are the page's, and two pictures have the same ones
    own = "d" + blake2b(drawing.encode() + description.encode(), digest_size=4).hexdigest()
    drawing = re.sub(r'\bid="', f'id="{own}-', drawing)
    drawing = re.sub(r'(href="#|url\(#)', rf"\1{own}-", drawing)
    drawing = drawing.replace("font: ", "font-synthesis: none; font: ")
    width = figure.get_figwidth()
    head, _, rest = drawing.partition(">")
    view = re.search(r'viewBox="[^"]*"', head)
    assert view is not None
    style = f"max-width: {width * 96:.0f}px; min-width: {width * 96 * _SMALLEST:.0f}px"
    opened = Markup('<svg class="drawn" role="img" aria-label="{}" style="{}" {} xmlns:xlink="{}">').format(
        description, style, Markup(view[0]), "http://www.w3.org/1999/xlink"
    )
    box = Markup('<div class="drawn-box{}" role="region" tabindex="0" aria-label="{}">{}{}</div>')
    return box.format("" if themed else " paper", "Picture: " + description[:60], opened, Markup(rest))
