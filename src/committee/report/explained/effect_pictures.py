"""Effects of single columns as pictures beside each other, on one scale, or two where some effects are far larger."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.data.number_types import F64
from committee.report.explained.effects import Effect
from committee.report.page import Picture
from committee.report.svg.axes import COLORS, Axes
from committee.report.svg.element import legend, side_by_side
from committee.report.svg.letters import fitted
from committee.report.svg.scale import Scale, plain
from committee.report.svg.time_scale import TimeScale

if TYPE_CHECKING:
    from markupsafe import Markup

SMALL = 0.15
"""Share of the largest effect below which a curve's shape cannot be seen on the same scale."""


def effect_pictures(found: list[Effect], outputs: list[tuple[int, str]], *, of_classes: bool) -> Picture:
    """One picture for each column.

    Parameters
    ----------
    found : list of Effect
        One at least.
    outputs : list of (int, str)
        Which columns of the answers are drawn, and what they are.
    of_classes : bool
        Whether the answers are probabilities.
    """
    from markupsafe import Markup

    columns = [k for k, _ in outputs]
    subject = _subject(outputs, of_classes)
    local = any(effect.local is not None for effect in found) and len(outputs) == 1

    def panels(effects: list[Effect]) -> Markup:
        scale = _common_scale(effects, columns, of_classes)
        return side_by_side([_panel(effect, columns, scale, subject, of_classes=of_classes) for effect in effects])

    small = _small_ones(found, columns)
    drawn = panels([effect for effect in found if effect not in small])
    if small:
        finer = f"These change the answer by less than {SMALL:.0%} of what the columns above do; their scale is finer."
        drawn += Markup("<p>{}</p>").format(finer) + panels(small)
    named = [(COLORS[i % len(COLORS)], name) for i, (_, name) in enumerate(outputs)] if len(outputs) > 1 else []
    what = "probabilities" if of_classes else "predictions"
    if found[0].n_rows:
        caption = (
            f"Partial dependence: mean {what} of {found[0].n_rows:,} rows if all of them had the value below in this "
            "column, and what they have in all others."
        )
        caption += " Strokes on the axis are rows." if any(len(effect.seen) for effect in found) else ""
    else:
        caption = (
            "What the trees answer if this column alone is known: rows go both ways at splits on others, in the shares "
            "of the training rows, which the trees remember. It takes no data."
        )
    if local:
        caption += (
            " The dashed curve has accumulated local effects, which ask only what a small step does to the rows near "
            "it: where the two part, the column goes together with others."
        )
    key = legend(named) if named else Markup("")
    return Picture("", caption, key + drawn)


def _subject(outputs: list[tuple[int, str]], of_classes: bool) -> str:
    if len(outputs) > 1:
        return "probability of each class" if of_classes else "prediction"
    return f"probability of {fitted(outputs[0][1], 150.0)}" if of_classes else "prediction"


def _small_ones(found: list[Effect], columns: list[int]) -> list[Effect]:
    """The columns that would be flat lines on the scale of those with the largest effects."""
    spans = [float(np.ptp(effect.dependence[:, columns], axis=0).max()) for effect in found]
    return [effect for effect, span in zip(found, spans, strict=True) if span < SMALL * max(spans)]


def _common_scale(found: list[Effect], columns: list[int], of_classes: bool) -> Scale:
    """One scale for several columns, so that a flat curve is a column that changes little."""
    all_values = [
        each[..., columns].ravel() for e in found for each in (e.dependence, e.local, e.missing) if each is not None
    ]
    values: F64 = np.concatenate(all_values)
    scale = Scale.over(values, margin=0.06, percent=of_classes)
    if of_classes:  # probabilities lie between 0 and 1
        return Scale(max(0.0, scale.low), min(1.0, scale.high), percent=True)
    return scale


def _panel(effect: Effect, columns: list[int], y: Scale, subject: str, *, of_classes: bool) -> Markup:
    spaced = Scale(-0.6, len(effect.names) - 0.4) if effect.names else Scale.over(effect.places)
    if effect.form is not None:
        spaced = TimeScale(spaced.low, spaced.high, form=effect.form)
    axes = Axes(spaced, y, "", subject, names=effect.names)
    for i, k in enumerate(columns):
        color = COLORS[i % len(COLORS)]
        if effect.names:
            tips = [
                f"{name}: {y.text(round(v, 4))}" for name, v in zip(effect.names, effect.dependence[:, k], strict=True)
            ]
            axes.dots(effect.places, effect.dependence[:, k], size=5.0, color=color, tips=tips)
            continue
        axes.curve(effect.places, effect.dependence[:, k], color=color)
        if effect.local is not None and len(columns) == 1:
            axes.curve(effect.places, effect.local[:, k], color=COLORS[1], dashed=True)
    if not effect.names:
        axes.marks(effect.seen)
    ends = [(effect.dependence[:, k].min(), effect.dependence[:, k].max()) for k in columns]
    said = "; ".join(f"from {_text(low, of_classes)} to {_text(high, of_classes)}" for low, high in ends)
    heading = effect.column
    if effect.missing is not None:
        heading += " (missing: " + ", ".join(_text(effect.missing[k], of_classes) for k in columns) + ")"
    return axes.svg(f"{subject} by {effect.column}: {said}", heading=heading)


def _text(value: float, of_classes: bool) -> str:
    return f"{value:.0%}" if of_classes else plain(value, 3)
