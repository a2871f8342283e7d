"""Elements of SVG as markup, with all that comes from a table or a model escaped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from committee.report.svg.letters import SIZE

if TYPE_CHECKING:
    from markupsafe import Markup

Attribute = str | float | None


def element(tag: str, content: str | Markup = "", **attributes: Attribute) -> Markup:
    """An element; of names of attributes a trailing underscore is left out, others become hyphens.

    Examples
    --------
    >>> element("text", "a < b", x=1.25, text_anchor="end")
    Markup('<text x="1.25" text-anchor="end">a &lt; b</text>')
    """
    from markupsafe import Markup, escape

    given = (
        Markup(' {}="{}"').format(name.rstrip("_").replace("_", "-"), _short(value))
        for name, value in attributes.items()
        if value is not None
    )
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(tag), Markup("").join(given), escape(content))


def _short(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def breakable(text: str) -> Markup:
    """Text of a page that may be broken after the signs between the words of a name, rather than within a word.

    Examples
    --------
    >>> breakable("many_leaves:3")
    Markup('many_<wbr>leaves:<wbr>3')
    """
    from markupsafe import Markup, escape

    return Markup(re.sub(r"(?<=[_:/])(?=[^\W_])", "<wbr>", str(escape(text))))


def words(
    text: str,
    x: float,
    y: float,
    *,
    anchor: str = "start",
    kind: str = "",
    tip: str | None = None,
    turned: bool = False,
    key: str | None = None,
) -> Markup:
    """A line of text whose letters stand on y; ``kind`` "soft" or "strong"."""
    turn = f"rotate(-90 {x:.2f} {y:.2f})" if turned else None
    anchored = None if anchor == "start" else anchor
    return element(
        "text", text, x=x, y=y, text_anchor=anchored, class_=kind or None, data_tip=tip, transform=turn, data_key=key
    )


def drawing(
    parts: list[Markup], width: float, height: float, description: str, *, heading: str = "", key: str | None = None
) -> Markup:
    """A whole picture: as wide as its column, up to a quarter wider than drawn, so that its text keeps its size."""
    from markupsafe import Markup

    inside = Markup("").join(parts)
    picture = element(
        "svg",
        inside,
        class_="chart",
        role="img",
        aria_label=description,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        style=f"max-width: {width * 1.25 / 16:.2f}rem",
        font_size=SIZE,
    )
    if not heading:
        return picture
    return element("div", element("h4", breakable(heading)) + picture, class_="panel", data_key=key)


def side_by_side(pictures: list[Markup], *, small: bool = False) -> Markup:
    """Pictures beside each other as far as there is room, below each other where not."""
    from markupsafe import Markup

    return element("div", Markup("").join(pictures), class_="panels small" if small else "panels")


def legend(entries: list[tuple[str, str]]) -> Markup:
    """What each colour means: pairs of a colour and words."""
    from markupsafe import Markup

    items = (
        Markup('<li><span class="chip" style="background: {}"></span>{}</li>').format(color, text)
        for color, text in entries
    )
    return Markup('<ul class="legend">{}</ul>').format(Markup("").join(items))
