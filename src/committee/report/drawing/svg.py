"""SVG and HTML elements of pictures, in which texts of tables and models are escaped, and the widths of their texts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from markupsafe import Markup

Color: TypeAlias = int | str
"""Number of a colour of the palette, or "ink", "soft", "pale", "grid", "line" or "paper"."""

FOR, AGAINST, REST = 0, 1, "pale"
"""Colours of positive values, of negative values, and of the sum of others."""

SIZE = 12.0
"""Font size in pixels."""


def css(color: Color) -> str:
    return f"var(--c{color % 7})" if isinstance(color, int) else f"var(--{color})"


def element(tag: str, content: str | Markup = "", **attributes: str | float | None) -> Markup:
    from markupsafe import Markup, escape

    written = Markup("")
    for name, value in attributes.items():
        if value is not None:
            text = value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
            written += Markup(' {}="{}"').format(name.rstrip("_").replace("_", "-"), text)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(tag), written, escape(content))


def breakable(text: str) -> Markup:
    from markupsafe import Markup, escape

    return Markup(re.sub(r"(?<=[_:/])(?=[^\W_])", "<wbr>", str(escape(text))))


def text_line(
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
    return element(
        "text",
        text,
        x=x,
        y=y,
        text_anchor=None if anchor == "start" else anchor,
        class_=kind or None,
        data_tip=tip,
        transform=f"rotate(-90 {x:.2f} {y:.2f})" if turned else None,
        data_key=key,
    )


def svg_picture(
    parts: Sequence[Markup], width: float, height: float, description: str, *, heading: str = "", key: str | None = None
) -> Markup:
    from markupsafe import Markup

    picture = element(
        "svg",
        Markup("").join(parts),
        class_="chart",
        role="img",
        aria_label=description,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        style=f"max-width: {width * 1.25 / 16:.2f}rem",  # a quarter wider than drawn, so that text hardly grows
        font_size=SIZE,
    )
    if not heading:
        return picture
    return element("div", element("h4", breakable(heading)) + picture, class_="panel", data_key=key)


def side_by_side(pictures: Sequence[Markup], *, small: bool = False) -> Markup:
    from markupsafe import Markup

    return element("div", Markup("").join(pictures), class_="panels small" if small else "panels")


def legend(entries: Sequence[tuple[Color, str]]) -> Markup:
    from markupsafe import Markup

    items = (
        Markup('<li><span class="chip" style="background: {}"></span>{}</li>').format(css(color), text)
        for color, text in entries
    )
    return Markup('<ul class="legend">{}</ul>').format(Markup("").join(items))


# --- widths of texts --------------------------------------------------------------------------------------------------


def text_width(text: str, size: float = SIZE) -> float:
    """Estimate the width of a text in the unit of `size`."""
    return size * sum(map(_character_width, text))


def _character_width(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    return 0.95 if character in "MWmw@%" else 0.72 if character.isupper() else 0.61


def middle_cut(text: str, most: int = 26) -> str:
    if len(text) <= most:
        return text
    return f"{text[: most // 2].rstrip()}…{text[len(text) - most + most // 2 + 1 :].lstrip()}"


def fitted(text: str, width: float, size: float = SIZE) -> str:
    if text_width(text, size) <= width:
        return text
    while text and text_width(text + "…", size) > width:
        text = text[:-1].rstrip()
    return text + "…"


def wrapped(text: str, width: float, most: int, size: float = SIZE) -> list[str]:
    lines, rest = [""], text.split()
    while rest:
        longer = f"{lines[-1]} {rest[0]}".strip()
        if text_width(longer, size) <= width:
            lines[-1] = longer
            rest.pop(0)
        elif len(lines) == most:
            lines[-1] = fitted(f"{lines[-1]} {' '.join(rest)}", width, size)
            break
        elif lines[-1]:
            lines.append("")
        else:  # one word wider than a line
            lines[-1] = fitted(rest.pop(0), width, size)
    return lines
