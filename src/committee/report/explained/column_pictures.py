"""Pictures of columns: importances, mean contributions, and effects on predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.data.text import pluralize
from committee.report.column_effects import Effect
from committee.report.displays.mean_contributions import MOVED, SPREAD, MeanContributionDisplay
from committee.report.displays.partial_dependence import LOCAL, ROWS, WHERE_MISSING, PartialDependenceDisplay
from committee.report.drawing.chart import shared_legend
from committee.report.drawing.rows import Bar, bars, rest_bar
from committee.report.drawing.scale import format_number
from committee.report.drawing.svg import side_by_side
from committee.report.explanation import Explanation
from committee.report.grid import Grid
from committee.report.inspection import Importances
from committee.report.page import Picture

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_BARS = 12
"""Columns that are drawn; all importances if there is only one more."""

MOST_EXPLAINED, FEWEST_EXPLAINED = 200, 20
"""Most and fewest rows whose contributions are averaged."""

SMALL = 0.15
"""Share of the largest effect below which a column gets the finer scale."""

_WORK = 2e8  # nodes times rows and classes that are walked for contributions: some ten seconds


def importance_picture(found: Importances) -> Picture:
    order = found.order
    shown = order[:MOST_BARS] if len(order) > MOST_BARS + 1 else order
    rows = [Bar(found.columns[j], share := float(found.shares[j]), f"{share:.1%}") for j in shown]
    rest = order[len(shown) :]
    total = float(found.shares[rest].sum())
    rows += rest_bar(len(rest), total, f"{total:.1%}")
    unused = len(found.columns) - len(order)
    note = f" {unused:,} of {len(found.columns):,} columns are not used." if unused else ""
    return Picture(
        "",
        f"{found.measure[:1].upper()}{found.measure[1:]} on the training rows, of each column. It describes the model,"
        f" not the data: of two correlated columns, one may have it all.{note}",
        bars(rows, "Shares of the columns: " + "; ".join(f"{bar.name} {bar.text}" for bar in rows[:5])),
        Grid("Importances", ("column", "share"), tuple((bar.name, bar.text) for bar in rows), "lr"),
    )


def contribution_picture(found: Explanation) -> Picture | None:
    if found.X is None:
        return None
    try:
        committee = found.model.committee_
        per_row = max(1.0, float(committee.n_nodes) * committee.voters.n_outputs)
        most = max(FEWEST_EXPLAINED, min(MOST_EXPLAINED, int(_WORK / per_row)))
        mean = MeanContributionDisplay.of(found.model, found.X, max_rows=most, max_features=MOST_BARS)
    except (AttributeError, TypeError, ValueError):  # voters without trees, members with a log link
        return None
    rows = mean.bars()
    what = f"Mean absolute contribution of each column to the {mean.subject}"
    if mean.subject == MOVED:
        what = "Mean probability that each column moves between classes"
    caption = (
        f"{what}, over {pluralize(len(mean.sizes), 'row')}. Lines: {SPREAD}; a line that ends inside its bar belongs to"
        " a column that matters in few rows."
    )
    description = "Mean contributions: " + "; ".join(f"{bar.name} {bar.text}" for bar in rows[:5])
    return Picture("Mean contributions", caption, bars(rows, description))


def effect_pictures(found: list[Effect], outputs: list[tuple[int, str]], *, of_classes: bool) -> Picture:
    from markupsafe import Markup

    columns = [k for k, _ in outputs]
    spans = [float(np.ptp(effect.dependence[:, columns], axis=0).max()) for effect in found]
    is_small = [span < SMALL * max(spans) for span in spans]
    large, small = ([each for each, is_one in zip(found, is_small, strict=True) if is_one == k] for k in (False, True))
    drawn = [PartialDependenceDisplay(large, outputs, of_classes=of_classes)]
    body = _panels(drawn[0])
    if small:
        drawn.append(PartialDependenceDisplay(small, outputs, of_classes=of_classes, kind="average"))
        finer = f"These columns have less than {SMALL:.0%} of the largest effect above; their scale is finer."
        body += Markup("<p>{}</p>").format(finer) + _panels(drawn[1])
    charts = [chart for each in drawn for _, chart in each.panels()]
    shown = {label for chart in charts for _, label in chart.labels}
    return Picture("", _caption(found, shown, of_classes), (shared_legend(charts) if len(shown) > 1 else "") + body)


def _panels(display: PartialDependenceDisplay) -> Markup:
    def text(value: float) -> str:
        return f"{value:.0%}" if display.of_classes else format_number(value, 3)

    drawn = []
    for effect, (heading, chart) in zip(display.effects, display.panels(), strict=True):
        assert isinstance(effect, Effect)  # pages have no maps of pairs
        curves = [effect.dependence[:, k] for k, _ in display.outputs]
        ranges = "; ".join(f"from {text(curve.min())} to {text(curve.max())}" for curve in curves)
        if effect.missing is not None:
            ranges += f"; {WHERE_MISSING} " + ", ".join(text(effect.missing[k]) for k, _ in display.outputs)
        drawn.append(chart.svg(f"{display.subject} by {effect.column}: {ranges}", heading=heading))
    return side_by_side(drawn)


def _caption(found: list[Effect], shown: set[str], of_classes: bool) -> str:
    what = "probabilities" if of_classes else "predictions"
    if found[0].n_rows:
        caption = (
            f"Partial dependence: mean {what} of {found[0].n_rows:,} rows if all of them had the value on the"
            " horizontal axis in this column, and their own values in all others."
        )
        caption += " Strokes on the axis are rows." if any(len(effect.seen) for effect in found) else ""
    else:
        caption = (
            f"Mean {what} if only this column is known: at splits on other columns, rows go both ways, in the shares of"
            " the training rows that the trees have stored. No data is needed."
        )
    if any(effect.missing is not None for effect in found):
        caption += f" Dotted level: mean {what} if the value were missing in all rows."
    if ROWS in shown:
        caption += (
            " Pale lines: predictions of single rows. Where they are not parallel, the effect depends on other columns."
        )
    if LOCAL in shown:
        caption += (
            " The dashed curve shows accumulated local effects, which change each row's value only a little. Where it"
            " differs from the mean, the column is correlated with others."
        )
    return caption
