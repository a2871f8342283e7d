"""Which classes are taken for which, as a map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.data.counts import counted
from committee.report.confusion import MOST_IN_MATRIX, Confusion
from committee.report.page import Picture
from committee.report.svg.axes import WIDTH
from committee.report.svg.element import drawing, element, legend, words
from committee.report.svg.letters import SIZE, fitted, text_width

if TYPE_CHECKING:
    from markupsafe import Markup

_PALEST, _DARKEST, _LONGEST = 0.12, 0.5, 120.0
"""Opacity of a single row and of a whole class in one cell, on which ink is still read; and room for a class's name."""


def confusion_picture(found: Confusion) -> Picture | None:
    """A cell for each true class and each predicted one; None where there are too many classes."""
    if len(found.classes) > MOST_IN_MATRIX:
        return None
    counts = found.counts
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    names = [str(label) for label in found.classes.tolist()]
    left = min(_LONGEST, max(map(text_width, names)) + 8.0)
    side = (WIDTH - left - 1.0) / len(names)
    height = min(46.0, max(30.0, side))
    flat = max(map(text_width, names)) < side - 4.0
    top = 2.0 * SIZE + 10.0 if flat else SIZE + 14.0 + min(_LONGEST, max(map(text_width, names)))
    parts: list[Markup] = [words("predicted as", left, SIZE, kind="soft"), words("is", 1.0, top - 6.0, kind="soft")]
    for k, name in enumerate(names):
        at = left + (k + 0.5) * side
        if flat:
            parts.append(words(name, at, top - 6.0, anchor="middle"))
        else:
            parts.append(words(fitted(name, _LONGEST), at + 0.36 * SIZE, top - 6.0, turned=True, tip=name))
        parts.append(words(fitted(name, left - 8.0), 1.0, top + (k + 0.5) * height + 0.36 * SIZE, tip=name))
    for (i, k), n in np.ndenumerate(counts):
        x, y, color = left + k * side, top + i * height, "var(--c0)" if i == k else "var(--c1)"
        tip = f"{counted(int(n), 'row')} of {names[i]} predicted as {names[k]}, {share[i, k]:.1%} of them"
        box = {"x": x + 1.0, "y": y + 1.0, "width": side - 2.0, "height": height - 2.0}
        parts.append(element("rect", **box, class_="cell", data_tip=tip))
        if n:
            opacity = _PALEST + (_DARKEST - _PALEST) * share[i, k]
            parts.append(element("rect", **box, style=f"fill: {color}; fill-opacity: {opacity:.3f}", data_tip=tip))
        text = f"{n:,}" if text_width(f"{n:,}") < side - 3.0 else f"{share[i, k]:.0%}"
        if n and text_width(text) < side - 3.0:
            parts.append(words(text, x + side / 2.0, y + height / 2.0 + 0.36 * SIZE, anchor="middle", tip=tip))
    right = int(np.trace(counts))
    return Picture(
        "Confusion matrix",
        "Rows of each true class by the class that is predicted. The larger a cell's share of its class, the stronger "
        "its colour.",
        legend([("var(--c0)", "predicted right"), ("var(--c1)", "predicted wrong")])
        + drawing(
            parts, WIDTH, top + len(names) * height + 2.0, f"{right:,} of {counts.sum():,} rows are predicted right"
        ),
        found.matrix_grid(),
    )
