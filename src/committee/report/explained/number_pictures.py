"""Predicted numbers beside the true ones, and what is left between them."""

from __future__ import annotations

import numpy as np

from committee.data.counts import counted
from committee.data.number_types import F64
from committee.report.explained.columns import spread_rows
from committee.report.page import Picture
from committee.report.svg.axes import COLORS, Axes
from committee.report.svg.element import legend, side_by_side
from committee.report.svg.scale import Scale, plain

MOST_DOTS = 400


def residual_pictures(y: F64, predicted: F64) -> Picture:
    """Predicted against true, and how residuals are spread."""
    rows = spread_rows(len(y), MOST_DOTS)
    x, both = Scale.over(predicted[rows], margin=0.03), Scale.over(y[rows], margin=0.05)
    against = Axes(x, both, "predicted", "true")
    low, high = max(x.low, both.low), min(x.high, both.high)
    if low < high:
        against.guide([low, high], [low, high])
    against.dots(predicted[rows], y[rows], size=2.5, faint=True)
    residual = y - predicted
    # the outer hundredths would leave all others a bar or two
    low, high = (float(q) for q in np.quantile(residual, [0.01, 0.99]))
    inside = residual[(residual >= low) & (residual <= high)] if low < high else residual
    counts, edges = np.histogram(inside, bins=min(25, max(5, int(np.sqrt(len(inside))))))
    spread = Axes(
        Scale(float(edges[0]), float(edges[-1])), Scale(0.0, 1.05 * float(counts.max())), "true less predicted", "rows"
    )
    tips = [
        f"{counted(n, 'row')} from {plain(a, 3)} to {plain(b, 3)}"
        for n, a, b in zip(counts.tolist(), edges[:-1], edges[1:], strict=True)
    ]
    spread.columns(edges[:-1], edges[1:], counts, tips=tips)
    if edges[0] < 0.0 < edges[-1]:
        spread.guide([0.0, 0.0], [0.0, 1.05 * float(counts.max())])
    beyond = len(residual) - len(inside)
    left = f" {beyond:,} residuals, the outer hundredths, lie beyond the second picture." if beyond else ""
    quarter, three_quarters = (float(q) for q in np.quantile(residual, [0.25, 0.75]))
    of = f"{len(rows):,} of {len(y):,} rows" if len(rows) < len(y) else "the rows"
    return Picture(
        "Predicted and true",
        f"A dot is one of {of}; on the line predictions are right. What is left, true less predicted, should lie "
        f"around zero.{left}",
        side_by_side(
            [
                against.svg("Dots of predicted and true numbers", heading="True by predicted"),
                spread.svg(
                    f"Bars of the residuals; half are between {plain(quarter, 3)} and {plain(three_quarters, 3)}",
                    heading="Residuals",
                ),
            ]
        ),
    )


def residuals_by_prediction(y: F64, predicted: F64) -> Picture | None:
    """Middle and middle half of the residuals, by tenths of the rows in the order of the predictions."""
    if len(y) < 50:
        return None
    order = np.argsort(predicted, kind="stable")
    parts = np.array_split(order, 10)
    x = np.array([predicted[part].mean() for part in parts])
    low, middle, high = (np.array([np.quantile((y - predicted)[part], q) for part in parts]) for q in (0.25, 0.5, 0.75))
    if np.ptp(x) == 0.0:
        return None
    axes = Axes(
        Scale.over(x), Scale.over(np.concatenate([low, high, [0.0]]), margin=0.05), "predicted", "true less predicted"
    )
    axes.guide([x[0], x[-1]], [0.0, 0.0])
    axes.band(x, low, high)
    axes.curve(x, middle)
    return Picture(
        "Residuals by prediction",
        "The curve is the median of the residuals in each tenth of the rows, the band has half of them. A curve that "
        "leaves zero is a mistake with a pattern; a band that widens says that large predictions are less sure.",
        axes.svg("Median and quartiles of the residuals by tenths of the predictions"),
    )


def quantile_picture(y: F64, answers: F64, levels: tuple[float, ...]) -> Picture:
    """What share of rows lies below each predicted quantile, beside the share that is meant."""
    share = np.array([float(np.mean(y <= answers[:, k])) for k in range(len(levels))])
    axes = Axes(
        Scale(0.0, 1.0, percent=True), Scale(0.0, 1.0, percent=True), "share that is meant", "share of rows below"
    )
    axes.guide([0.0, 1.0], [0.0, 1.0])
    tips = [
        f"{level:.0%} is meant, {found:.1%} of the rows lie below" for level, found in zip(levels, share, strict=True)
    ]
    axes.dots(levels, share, size=5.0, tips=tips)
    said = "; ".join(tips)
    return Picture(
        "Quantiles",
        "On the line the predicted quantiles mean what they say.",
        legend([(COLORS[0], "a predicted quantile")]) + axes.svg(said),
    )
