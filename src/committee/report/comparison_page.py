"""The report of a comparison as one HTML page, and displays of two of its pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from committee.data.text import merge_alike
from committee.report.comparison import Comparison, ModelResult
from committee.report.comparison_tables import (
    cost_grid,
    difference_grid,
    failures_grid,
    measures,
    model_warnings,
    parameters_set,
    quality_grid,
    size_text,
    table_sentence,
    verdict,
)
from committee.report.displays.base import ChartDisplay, Display, draw_chart, draw_dot_rows
from committee.report.drawing.chart import RELIABILITY, Chart, Curve, Dots, Guide, Mark, reliability_chart
from committee.report.drawing.rows import DotRow, DotRows
from committee.report.drawing.scale import Scale
from committee.report.drawing.svg import side_by_side
from committee.report.metrics import known_metric
from committee.report.page import Grid, Picture, Section, Terms, render_page

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Panel: TypeAlias = tuple[ModelResult, Chart, str, tuple[str, ...]]
"""Model, its chart, the chart in words, and the cells of the model in the table below."""

MOST_FOLDS = 20


def render_report(comparison: Comparison, *, notes: Iterable[str] = ()) -> str:
    metric, parameters = comparison.metric_words, parameters_set(comparison)
    quality, failures, differences, cost = (
        make(comparison) for make in (quality_grid, failures_grid, difference_grid, cost_grid)
    )
    sections = [Section(grid.title, [grid]) for grid in (quality, failures) if grid.rows]
    if differences.rows:
        sections.append(Section(differences.title, [_differences(comparison), differences]))
    if cost.rows:
        sections.append(Section(cost.title, [cost]))
    if comparison.ranked:
        sections += [
            Section(f"{metric[:1].upper()}{metric[1:]} in every fold", [_folds(comparison)]),
            Section("Training margins", _margins(comparison)),
            Section("Reliability", _reliability(comparison)),
            Section(f"Size against {metric}", _sizes(comparison)),
        ]
    sections += [
        Section("The table", [_table_terms(comparison)]),
        Section("How the figures were measured", [Terms(measures(comparison))]),
        Section("Parameters that were set", [Terms(parameters)] if parameters else []),
        Section("Versions", [Terms(list(comparison.versions.items()))]),
    ]
    return render_page(
        f"Comparison on {comparison.table.name}",
        sections,
        lead=table_sentence(comparison) + ".",
        verdict=verdict(comparison),
        notes=merge_alike([*comparison.notes, *notes, *model_warnings(comparison)]),
        choices=[model.name for model in comparison.ranked],
    )


def _table_terms(comparison: Comparison) -> Terms:
    table = comparison.table
    if table.numbers is None:
        target = "classes", ", ".join(f"{name} ({count:,})" for name, count in table.classes.items())
    else:
        least, mean, greatest = table.numbers
        target = "numbers", f"from {least:,.6g} to {greatest:,.6g}, mean {mean:,.6g}"
    return Terms(
        [
            ("rows", f"{table.rows:,}"),
            ("columns", f"{table.columns - table.categorical:,} numeric, {table.categorical:,} categorical"),
            ("missing cells", f"{table.missing_cells:,}"),
            ("target", table.target),
            target,
        ]
    )


def _differences(comparison: Comparison) -> Picture:
    rows = []
    for model in comparison.ranked:
        if (test := model.against_best) is not None:
            low, high = (size_text(comparison, end) for end in test.interval)
            text = size_text(comparison, test.difference)
            tip = f"{model.name}\nworse by {text}\n95% interval {low} to {high}"
            color = _color(comparison, model)
            rows.append(DotRow(model.name, [test.difference], text, color, test.interval, [tip]))
    metric, best = comparison.metric_words, comparison.ranked[0].name
    values = "; ".join(f"{row.name} {row.end}" for row in rows)
    caption = (
        "Dots: mean difference over the folds. Lines: 95 % intervals. An interval that contains 0 (dashed line) is"
        " compatible with no difference."
    )
    description = f"Difference in {metric} from {best}: {values}"
    return Picture("", caption, DotRows(rows, metric, 0.0).svg(description))


def fold_rows(comparison: Comparison) -> DotRows:
    metric, rows = comparison.metric, []
    for i, model in enumerate(comparison.ranked):
        values = model.values(metric)
        tips = [
            f"{model.name}\nfold {k + 1}: {size_text(comparison, value)}" for k, value in enumerate(values.tolist())
        ]
        rows.append(DotRow(model.name, values.tolist(), known_metric(metric).text(values), i, tips=tips))
    return DotRows(rows, comparison.metric_words)


def _folds(comparison: Comparison) -> Picture:
    rows = fold_rows(comparison)
    description = f"{rows.label} in every fold; means: " + "; ".join(f"{row.name} {row.end}" for row in rows.rows)
    caption = "Dots: folds. Vertical line: mean. Horizontal line: ±1 standard deviation."
    n = len(comparison.ranked[0].fold_results)
    if n > MOST_FOLDS:
        return Picture("", caption, rows.svg(description))
    columns = ("model", *(f"fold {k + 1}" for k in range(n)))
    cells = tuple((row.name, *(size_text(comparison, value) for value in row.values)) for row in rows.rows)
    figures = Grid(f"{rows.label} in every fold", columns, cells, "l" + "r" * n, keys=tuple(row[0] for row in cells))
    return Picture("", caption, rows.svg(description), figures)


def _margins(comparison: Comparison) -> list[Picture]:
    curves = [(m, m.margin_quantiles) for m in comparison.ranked if m.margin_quantiles is not None]
    if not curves:
        return []
    lowest = min(quantiles[0] for _, quantiles in curves)
    x, y = Scale(-0.1 if lowest > -0.1 else -1.0, 1.0), Scale(0.0, 1.0, percent=True)
    levels = [i / 100.0 for i in range(101)]
    first, first_quantiles = curves[0]
    panels = []
    for model, quantiles in curves:
        low, median, high = (f"{quantiles[i]:.3f}" for i in (5, 50, 95))
        share = sum(value <= 0.0 for value in quantiles) / len(quantiles)
        best = [] if model is first else [Guide(first_quantiles, levels)]
        tip = f"{model.name}\nmedian margin {median}, 5% at most {low}"
        curve = Curve(quantiles, levels, color=_color(comparison, model), tip=tip)
        chart = Chart(x, y, "", "", [Guide([0.0, 0.0], [0.0, 1.0]), *best, curve], small=True)
        description = f"Training margins of {model.name}: median {median}"
        panels.append((model, chart, description, (low, median, high, f"{share:.1%}")))
    caption = (
        "Share of training rows (vertical axis) with a margin of at most the value on the horizontal axis, mean over"
        " folds. Rows left of the dashed line at 0 are misclassified. The further right a curve, the more unanimous the"
        f" vote. Dashed curve: {first.name}."
    )
    return [_panels(panels, caption, "Training margins", ("5% at most", "median", "95% at most", "at most 0"))]


def _reliability(comparison: Comparison) -> list[Picture]:
    panels = []
    for model in comparison.ranked:
        if model.reliability is not None:
            error = f"{model.reliability.calibration_error:.3f}"
            colors = {model.name: _color(comparison, model)}
            chart = reliability_chart({model.name: model.reliability}, colors, small=True)
            panels.append((model, chart, f"Reliability of {model.name}: error {error}", (error,)))
    caption = f"Test rows of all folds. {RELIABILITY}"
    return [_panels(panels, caption, "Expected calibration error", ("calibration error",))] if panels else []


def _panels(panels: Sequence[Panel], caption: str, title: str, columns: tuple[str, ...]) -> Picture:
    charts = [chart.svg(text, heading=model.name, key=model.name) for model, chart, text, _ in panels]
    rows = tuple((model.name, *cells) for model, *_, cells in panels)
    keys = tuple(model.name for model, *_ in panels)
    figures = Grid(title, ("model", *columns), rows, "l" + "r" * len(columns), keys=keys)
    return Picture("", caption, side_by_side(charts, small=True), figures)


def size_chart(comparison: Comparison, *, numbered: bool = False) -> Chart:
    metric, marks = comparison.metric, list[Mark]()
    words, sizes, values = comparison.metric_words, list[float](), list[float]()
    for i, model in enumerate(comparison.ranked):
        nodes, value, deviation = model.mean("n_nodes"), model.mean(metric), model.sd(metric) or 0.0
        if not nodes or value is None:
            continue
        sizes.append(nodes)
        values += [value - deviation, value + deviation]
        tip = f"{model.place}. {model.name}\n{words} {size_text(comparison, value)}, {nodes:,.0f} nodes"
        texts, label = ([str(model.place)], "") if numbered else ([], model.name)
        marks.append(Curve([nodes, nodes], values[-2:], color=i, width=1.0, key=model.name))
        marks.append(
            Dots([nodes], [value], 5.0, color=i, marker=i, label=label, tips=[tip], texts=texts, key=model.name)
        )
    x = Scale.over(sizes, margin=0.08, log=True) if sizes else Scale(1.0, 10.0, log=True)
    return Chart(x, Scale.over(values, margin=0.08), "nodes in all trees (mean over folds)", words, marks)


def _sizes(comparison: Comparison) -> list[Picture]:
    chart = size_chart(comparison, numbered=True)
    if not chart.marks:
        return []
    metric = comparison.metric
    values = "; ".join(
        f"{model.name} {size_text(comparison, value)} with {nodes:,.0f}"
        for model in comparison.ranked
        if (nodes := model.mean("n_nodes")) and (value := model.mean(metric)) is not None
    )
    better = "further up" if known_metric(metric).best == "highest" else "further down"
    caption = (
        f"Smaller models are further left, better models {better}. Numbers: places in the first table. Vertical lines:"
        " ±1 standard deviation."
    )
    return [Picture("", caption, chart.svg(f"{comparison.metric_words} against nodes: {values}"))]


def _color(comparison: Comparison, model: ModelResult) -> int:
    return [each.name for each in comparison.ranked].index(model.name)


class ComparisonDisplay(Display):
    """The ranking metric of every ranked model: a dot per fold, the mean, and one standard deviation either side.

    Parameters
    ----------
    comparison : Comparison
        Result of `committee.report.comparison.compare`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from committee.report.comparison import compare
    >>> from committee.report import ComparisonDisplay
    >>> display = ComparisonDisplay(compare(*load_iris(return_X_y=True), {"bayes": GaussianNB()})).plot()
    >>> display.ax_.get_xlabel()
    'accuracy'
    """

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    def _draw(self, ax: Axes | None) -> None:
        rows = fold_rows(self.comparison)
        draw_dot_rows(rows, self._axes(ax, 7.2, 0.9 + 0.42 * max(len(rows.rows), 1)))


class SizeDisplay(ChartDisplay):
    """The ranking metric against the mean number of nodes in all trees of a model, on a logarithmic scale.

    Models without a place or a number of nodes are left out. Lines are one standard deviation either side of the mean.

    Parameters
    ----------
    comparison : Comparison
        Result of `committee.report.comparison.compare`.
    """

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    def chart(self) -> Chart:
        return size_chart(self.comparison)

    def _draw(self, ax: Axes | None) -> None:
        draw_chart(self.chart(), self._axes(ax, 7.2, 3.6), is_legend_beside=True)
