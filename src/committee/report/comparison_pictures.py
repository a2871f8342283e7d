"""Pictures of a comparison on its page: every one readable with three models and with twenty-five."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from committee.report.grid import Grid
from committee.report.metric_choice import known_metric
from committee.report.page import Picture
from committee.report.svg.axes import COLORS, Axes
from committee.report.svg.dot_rows import DotRow, dot_rows
from committee.report.svg.element import side_by_side
from committee.report.svg.scale import Scale
from committee.report.tables import metric_words, size_text

if TYPE_CHECKING:
    from committee.report.comparison import Comparison
    from committee.report.model_result import ModelResult

MOST_FOLDS = 20
"""Folds that a table of their figures has columns for."""

FEW = 0.005
"""Share of the rows below which a bin of probabilities is too empty to be drawn."""


def differences_picture(comparison: Comparison) -> list[Picture]:
    """How much worse than the best the others are, with intervals; nothing where nothing is tested."""
    tested = [(each, each.against_best) for each in comparison.ranked if each.against_best is not None]
    rows, words = [], metric_words(comparison.metric)
    for model, test in tested:
        low, high = (size_text(comparison, end) for end in test.interval)
        text = size_text(comparison, test.difference)
        tip = f"{model.name}\nworse by {text}\n95% interval {low} to {high}"
        rows.append(DotRow(model.name, [test.difference], text, _color(comparison, model), test.interval, [tip]))
    if not rows:
        return []
    best = comparison.ranked[0].name
    description = f"By how much {words} is worse than that of {best}: " + "; ".join(f"{r.name} {r.end}" for r in rows)
    caption = (
        "Dots: mean difference over the folds. Lines: 95 % intervals. An interval that contains 0 (dashed line) is"
        " compatible with no difference."
    )
    return [Picture("", caption, dot_rows(rows, description=description, reference=0.0))]


def folds_picture(comparison: Comparison) -> Picture:
    """The metric of the places in every fold."""
    metric, words = comparison.metric, metric_words(comparison.metric)
    rows = []
    for model in comparison.ranked:
        values = model.values(metric).tolist()
        tips = [f"{model.name}\nfold {k + 1}: {size_text(comparison, value)}" for k, value in enumerate(values)]
        text = known_metric(metric).text(model.values(metric))
        rows.append(DotRow(model.name, values, text, _color(comparison, model), tips=tips))
    description = f"{words} in every fold; means: " + "; ".join(f"{row.name} {row.end}" for row in rows)
    caption = "Dots: folds. Vertical line: mean. Horizontal line: ±1 standard deviation."
    return Picture("", caption, dot_rows(rows, description=description), _folds_grid(comparison))


def _folds_grid(comparison: Comparison) -> Grid | None:
    ranked, metric = comparison.ranked, comparison.metric
    n = len(ranked[0].fold_results)
    if n > MOST_FOLDS:
        return None
    rows = tuple((m.name, *(size_text(comparison, v) for v in m.values(metric).tolist())) for m in ranked)
    columns = ("model", *(f"fold {k + 1}" for k in range(n)))
    return Grid(f"{metric_words(metric)} in every fold", columns, rows, "l" + "r" * n, keys=_names(ranked))


def margins_picture(comparison: Comparison) -> list[Picture]:
    """Cumulative curves of the training margins, one panel for each model that has some."""
    curves = [(m, m.margin_quantiles) for m in comparison.ranked if m.margin_quantiles is not None]
    if not curves:
        return []
    lowest = min(quantiles[0] for _, quantiles in curves)
    x, y = Scale(-0.1 if lowest > -0.1 else -1.0, 1.0), Scale(0.0, 1.0, percent=True)
    levels = [i / 100.0 for i in range(101)]
    drawn, rows = [], []
    for model, quantiles in curves:
        low, mid, high = (f"{quantiles[i]:.3f}" for i in (5, 50, 95))
        share = sum(value <= 0.0 for value in quantiles) / len(quantiles)
        axes = Axes(x, y, "", "", small=True)
        axes.guide([0.0, 0.0], [0.0, 1.0])
        if model is not curves[0][0]:
            axes.guide(curves[0][1], levels)
        tip = f"{model.name}\nmedian margin {mid}, 5% at most {low}"
        axes.curve(quantiles, levels, color=_color(comparison, model), tip=tip)
        description = f"Training margins of {model.name}: median {mid}"
        drawn.append(axes.svg(description, heading=model.name, key=model.name))
        rows.append((model.name, low, mid, high, f"{share:.1%}"))
    caption = (
        "Share of training rows (vertical axis) with a margin of at most the value on the horizontal axis, mean over"
        " folds. Rows left of the dashed line at 0 are misclassified. The further right a curve, the more unanimous the"
        f" vote. Dashed curve: {curves[0][0].name}."
    )
    columns = ("model", "5% at most", "median", "95% at most", "at most 0")
    figures = Grid("Training margins", columns, tuple(rows), "lrrrr", keys=_names([model for model, _ in curves]))
    return [Picture("", caption, side_by_side(drawn, small=True), figures)]


def reliability_picture(comparison: Comparison) -> list[Picture]:
    """How often elected classes are right beside their probability, one panel for each model that gives some."""
    curves = [(m, m.reliability) for m in comparison.ranked if m.reliability is not None]
    if not curves:
        return []
    drawn, rows = [], []
    both = Scale(0.0, 1.0, percent=True)
    for model, reliability in curves:
        share = reliability.weight / reliability.weight.sum()
        bins = [i for i in range(len(share)) if share[i] >= FEW]
        sure, right = (each[bins] / reliability.weight[bins] for each in (reliability.expected, reliability.right))
        error = f"{reliability.calibration_error:.3f}"
        axes = Axes(both, both, "", "", small=True)
        axes.guide([0.0, 1.0], [0.0, 1.0])
        color = _color(comparison, model)
        axes.curve(sure, right, color=color)
        tips = [
            f"{model.name}\n{of:.1%} of the rows: probability {p:.3f}, right {r:.3f}"
            for of, p, r in zip(share[bins], sure, right, strict=True)
        ]
        axes.dots(sure, right, size=2.5 + 4.0 * share[bins] ** 0.5, color=color, tips=tips)
        description = f"Reliability of {model.name}: error {error}"
        drawn.append(axes.svg(description, heading=model.name, key=model.name))
        rows.append((model.name, error))
    caption = (
        "Test rows of all folds by the probability of the predicted class (horizontal axis), and the share of them"
        " predicted correctly (vertical axis). Dashed line: calibrated probabilities. Below it, probabilities are too"
        " high."
    )
    columns = ("model", "calibration error")
    figures = Grid("Expected calibration error", columns, tuple(rows), "lr", keys=_names([m for m, _ in curves]))
    return [Picture("", caption, side_by_side(drawn, small=True), figures)]


def size_picture(comparison: Comparison) -> list[Picture]:
    """The metric of the places against the nodes of all trees, of models whose nodes are counted."""
    metric, words = comparison.metric, metric_words(comparison.metric)
    counted = [
        (model, nodes, value)
        for model in comparison.ranked
        if (nodes := model.mean("n_nodes")) and (value := model.mean(metric)) is not None
    ]
    if not counted:
        return []
    x = Scale.over([nodes for _, nodes, _ in counted], margin=0.08, log=True)
    y = Scale.over([value for *_, value in counted], margin=0.08)
    description = f"{words} against nodes: " + "; ".join(
        f"{model.name} {size_text(comparison, value)} with {nodes:,.0f}" for model, nodes, value in counted
    )
    axes = Axes(x, y, "nodes in all trees", words)
    for model, nodes, value in counted:
        tip = f"{model.place}. {model.name}\n{words} {size_text(comparison, value)}, {nodes:,.0f} nodes"
        axes.dots([nodes], [value], size=5.0, color=_color(comparison, model), tips=[tip], key=model.name)
    names = _names([model for model, *_ in counted])
    places = [str(model.place) for model, *_ in counted]
    axes.labels([nodes for _, nodes, _ in counted], [value for *_, value in counted], places, names)
    better = "further up" if known_metric(metric).best == "highest" else "further down"
    caption = f"Smaller models are further left, better models {better}. Numbers: places in the first table."
    return [Picture("", caption, axes.svg(description))]


def _color(comparison: Comparison, model: ModelResult) -> str:
    """The colour that a model has in all pictures."""
    return COLORS[[each.name for each in comparison.ranked].index(model.name) % len(COLORS)]


def _names(models: Sequence[ModelResult]) -> tuple[str, ...]:
    return tuple(model.name for model in models)
