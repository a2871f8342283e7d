"""Pictures of a model's predictions on rows: probabilities, numbers, prediction sets, errors, and members."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from committee.data.number_types import F64, Index
from committee.data.text import pluralize
from committee.report.column_effects import spread_rows
from committee.report.displays.curves import EvaluationDisplay, ReliabilityDisplay
from committee.report.displays.margins import MarginDisplay
from committee.report.displays.members import MemberDisagreementDisplay, MemberVotesDisplay, member_color
from committee.report.drawing.chart import RELIABILITY, Band, Chart, Columns, Curve, Dots, Guide, Mark, shared_legend
from committee.report.drawing.rows import Bar, Cell, CellMap, DotRow, DotRows, bars, rest_bar
from committee.report.drawing.scale import Scale, format_number, format_signed
from committee.report.drawing.svg import AGAINST, FOR, REST, legend, side_by_side
from committee.report.evaluation import MOST_IN_MATRIX, Confusion
from committee.report.explanation import Explanation, RankedClass, RowExplanation
from committee.report.figures import CONFIDENCE, accuracy_interval, weighted_quantile
from committee.report.members import MemberAnswers, reliabilities
from committee.report.metrics import Reliability
from committee.report.page import BLANK, Grid, Part, Picture, Section
from committee.report.prediction_sets import CoveredRows
from committee.vote.margin_distribution import MarginDistribution
from committee.vote.weighted_votes import lead

if TYPE_CHECKING:
    from markupsafe import Markup


SHARE = Scale(0.0, 1.0, percent=True)

MOST_DOTS, MOST_SIZES, MOST_CLASSES = 400, 8, 20
"""Most rows, largest size of prediction sets, and most classes drawn."""

MOST_ROWS, MOST_ROW_PICTURES, MOST_ROW_BARS = 10, 4, 6
"""Rows in the table of largest errors, rows with a picture, and columns in such a picture."""

_MARGINS = (
    "Margin: probability of the true class minus the largest other one. Left of zero another class is more probable;"
    " rows near zero are uncertain."
)
_FEWEST_ROWS = 30  # of a part whose coverage is shown


def learning_curves(display: EvaluationDisplay) -> Picture:
    drawn = []
    for metric, chart in zip(display.metrics, (chart for _, chart in display.panels()), strict=True):
        last = "; ".join(
            f"{rows} {format_number(values[metric][-1])}" for rows, values in display.curves.items() if metric in values
        )
        drawn.append(replace(chart, has_legend=False).svg(f"{metric} by boosting round, at the end: {last}"))
    caption = "Losses or scores after each boosting round."
    if display.best:
        caption += f" Dashed line: the {display.best:,} rounds that are kept."
    charts = [chart for _, chart in display.panels()]
    return Picture("Learning curves", caption, shared_legend(charts) + side_by_side(drawn))


# --- classes ---------------------------------------------------------------------------------------------------------


def confusion_picture(found: Confusion) -> Picture | None:
    if len(found.classes) > MOST_IN_MATRIX:
        return None
    counts = found.counts
    of_class = counts.sum(axis=1, keepdims=True)
    share = counts / np.where(of_class > 0, of_class, 1)
    names = [str(label) for label in found.classes.tolist()]
    cells = {}
    for (i, k), n in np.ndenumerate(counts):
        rows = _without_zero(n)
        tip = f"{rows:,} row{'s' * (rows != 1)} of {names[i]} predicted as {names[k]}, {share[i, k]:.1%} of them"
        cells[i, k] = Cell(int(i != k), float(share[i, k]), f"{_rounded(n):,}" if n else "", tip, f"{share[i, k]:.0%}")
    right = f"{_without_zero(np.trace(counts)):,} of {_rounded(counts.sum()):,} rows are predicted right"
    return Picture(
        "Confusion matrix",
        "Rows of each true class by predicted class. The larger the share of the true class, the stronger the colour.",
        legend([(0, "predicted right"), (1, "predicted wrong")])
        + CellMap(names, names, cells, "true", "predicted as").svg(right),
        found.matrix_grid(),
    )


def _rounded(n: float) -> float:
    # to six digits, but at least to a whole number
    return n if n == int(n) else round(float(n), max(0, 5 - math.floor(math.log10(n))))


def _without_zero(n: float) -> float:
    rounded = _rounded(n)
    return int(rounded) if rounded == int(rounded) else rounded


def reliability_picture(found: Reliability) -> Picture:
    error = found.calibration_error
    return Picture(
        "Reliability",
        f"{RELIABILITY} Expected calibration error: {error:.3f}.",
        ReliabilityDisplay({"": found}).chart().svg(f"Reliability curve; calibration error {error:.3f}"),
    )


def ranking_pictures(found: list[RankedClass]) -> Picture:
    roc = [Curve(each.false_positive_rate, each.true_positive_rate, i) for i, each in enumerate(found)]
    precision = [Curve(each.recall, each.precision, i) for i, each in enumerate(found)]
    labels = [f"{each.name}: area {each.area:.3f}, average precision {each.average_precision:.3f}" for each in found]
    chance = [Guide([0.0, 1.0], [found[0].share] * 2)] if len(found) == 1 else []
    charts = {
        "ROC": Chart(SHARE, SHARE, "false positive rate", "true positive rate", [Guide([0.0, 1.0], [0.0, 1.0]), *roc]),
        "Precision by recall": Chart(SHARE, SHARE, "recall", "precision", [*chance, *precision]),
    }
    texts = "; ".join(labels)
    return Picture(
        "ROC, and precision by recall",
        "Each point of a curve is a threshold of the score of a class. Dashed lines: scores without information.",
        legend(list(enumerate(labels)))
        + side_by_side([chart.svg(f"{name}. {texts}", heading=name) for name, chart in charts.items()]),
    )


def margin_picture(found: MarginDistribution) -> Picture:
    return Picture(
        "Margins",
        _MARGINS,
        MarginDisplay({"": found}).chart().svg(f"Cumulative curve of the margins; {found.nu(0.0):.1%} are at most 0"),
    )


# --- numbers ---------------------------------------------------------------------------------------------------------


def residual_pictures(y: F64, predicted: F64) -> Picture:
    rows = spread_rows(len(y), MOST_DOTS)
    x, both = Scale.over(predicted[rows], margin=0.03), Scale.over(y[rows], margin=0.05)
    low, high = max(x.low, both.low), min(x.high, both.high)
    diagonal = [Guide([low, high], [low, high])] if low < high else []
    dots = Dots(predicted[rows], y[rows], 2.5, faint=True)
    against = Chart(x, both, "predicted", "true", [*diagonal, dots])
    residual = y - predicted
    # the outer hundredths would leave all others a bar or two
    low, high = (float(q) for q in np.quantile(residual, [0.01, 0.99]))
    inside = residual[(residual >= low) & (residual <= high)] if low < high else residual
    beyond = len(residual) - len(inside)
    left_out = (
        f" {beyond:,} residuals beyond the 1 % and 99 % quantiles are not in the second picture." if beyond else ""
    )
    quartiles = [format_number(float(q), 3) for q in np.quantile(residual, [0.25, 0.75])]
    of = f"{len(rows):,} of {len(y):,} rows" if len(rows) < len(y) else "the rows"
    return Picture(
        "Predicted and true",
        f"Dots: {of}; on the line predictions are exact. Residuals, true minus predicted, should lie around"
        f" zero.{left_out}",
        side_by_side(
            [
                against.svg("Dots of predicted and true numbers", heading="True by predicted"),
                histogram(inside, "true minus predicted").svg(
                    f"Bars of the residuals; half are between {' and '.join(quartiles)}", heading="Residuals"
                ),
            ]
        ),
    )


def histogram(values: F64, label: str, weights: F64 | None = None) -> Chart:
    counts, edges = np.histogram(values, bins=min(25, max(5, int(np.sqrt(len(values))))), weights=weights)
    top = 1.05 * float(counts.max())
    tips = [
        f"{pluralize(_without_zero(n), 'row')} from {format_number(a, 3)} to {format_number(b, 3)}"
        for n, a, b in zip(counts.tolist(), edges[:-1], edges[1:], strict=True)
    ]
    zero = [Guide([0.0, 0.0], [0.0, top])] if edges[0] < 0.0 < edges[-1] else []
    marks: list[Mark] = [*zero, Columns(edges[:-1], edges[1:], counts, tips=tips)]
    return Chart(Scale(float(edges[0]), float(edges[-1])), Scale(0.0, top), label, "rows", marks)


def residuals_by_prediction(y: F64, predicted: F64) -> Picture | None:
    if len(y) < 50:
        return None
    parts = np.array_split(np.argsort(predicted, kind="stable"), 10)
    x = np.array([predicted[part].mean() for part in parts])
    low, middle, high = (np.array([np.quantile((y - predicted)[part], q) for part in parts]) for q in (0.25, 0.5, 0.75))
    if np.ptp(x) == 0.0:
        return None
    scale = Scale.over(np.concatenate([low, high, [0.0]]), margin=0.05)
    marks: list[Mark] = [Guide([x[0], x[-1]], [0.0, 0.0]), Band(x, low, high), Curve(x, middle)]
    return Picture(
        "Residuals by prediction",
        "Curve: median of the residuals in each tenth of the rows. Band: the middle half. A curve away from zero is a"
        " systematic error; a wider band means less certain predictions.",
        Chart(Scale.over(x), scale, "predicted", "true minus predicted", marks).svg(
            "Median and quartiles of the residuals by tenths of the predictions"
        ),
    )


def quantile_picture(y: F64, predictions: F64, levels: tuple[float, ...], weights: F64 | None) -> Picture:
    share = [float(np.average(y <= column, weights=weights)) for column in predictions.T]
    tips = [f"level {level:.0%}: {found:.1%} of rows at or below" for level, found in zip(levels, share, strict=True)]
    dots = Dots(levels, share, 5.0, label="a predicted quantile", tips=tips)
    guide = Guide([0.0, 1.0], [0.0, 1.0])
    chart = Chart(SHARE, SHARE, "level of the quantile", "share of rows at or below", [guide, dots])
    return Picture(
        "Quantiles",
        "On the line, the share of rows at or below the predicted quantile equals its level.",
        chart.svg("; ".join(tips)),
    )


# --- prediction sets and intervals -----------------------------------------------------------------------------------


def set_section(found: CoveredRows) -> Section:
    if found.sizes is not None:
        return Section("Sets on these rows", [_sizes(found), _by_class(found)])
    assert found.intervals is not None
    parts: list[Part] = [_widths(found)]
    by_size = _by_size(found)
    return Section("Intervals on these rows", parts if by_size is None else [*parts, by_size])


def _sizes(found: CoveredRows) -> Picture:
    assert found.sizes is not None
    n, largest = found.counts.sum(), int(found.sizes.max())
    drawn, rows = [], []
    for size in range(min(largest, MOST_SIZES) + 1):
        is_last = size == MOST_SIZES and largest > size
        chosen = found.sizes >= size if is_last else found.sizes == size
        count = found.counts[chosen].sum()
        name = ("no class" if size == 0 else pluralize(size, "class", "classes")) + (" or more" if is_last else "")
        right = f"{found.coverage(chosen):.1%}" if count else BLANK
        text = f"{count / n:.1%}" + (f", {right} contain the true one" if count and size else "")
        drawn.append(Bar(name, count / n, text))
        rows.append((name, f"{_without_zero(count):,}", f"{count / n:.1%}", right))
    description = "Shares of rows. " + "; ".join(f"{bar.name}: {bar.text}" for bar in drawn)
    columns = ("classes in the set", "rows", "share", "contain the true class")
    return Picture(
        "Classes in a set",
        "Rows by the number of classes in their prediction set. One class is a definite prediction; many classes mean"
        " an uncertain row, and no class a row unlike those of all classes.",
        bars(drawn, description),
        Grid("Sets by size", columns, tuple(rows), "lrrr"),
    )


def _by_class(found: CoveredRows) -> Picture:
    labels, place = np.unique(found.y, return_inverse=True)
    count = np.bincount(place, found.counts)
    shown = sorted(np.argsort(-count, kind="stable")[:MOST_CLASSES].tolist())
    names = [str(label) for label in labels.tolist()]
    picture = _coverage([(names[k], np.flatnonzero(place == k)) for k in shown], found, "class")
    left = len(labels) - len(shown)
    also = f" {pluralize(left, 'class', 'classes')} of fewer rows are left out." if left else ""
    caption = (
        f"Dots: share of each class's rows whose set contains it.{_lines(found)} Dashed line: the required coverage, of"
        f" all rows together unless sets are made by class (per_class).{also}"
    )
    return Picture("Coverage by class", caption, *picture)


def _widths(found: CoveredRows) -> Picture | str:
    assert found.intervals is not None
    width = found.intervals[:, 1] - found.intervals[:, 0]
    is_finite = np.isfinite(width)
    finite, weights = width[is_finite], None if found.weights is None else found.weights[is_finite]
    if not len(finite):
        return "All intervals are infinite: too few rows were scored for such an alpha."
    low, middle, high = float(finite.min()), weighted_quantile(finite, 0.5, weights), float(finite.max())
    infinite = _without_zero(found.counts[~is_finite].sum())
    beyond = f" {infinite:,} more are infinite." if infinite else ""
    if high - low <= 1e-9 * high:
        return f"All intervals are {format_number(middle, 4)} wide: this score has one width for all rows.{beyond}"
    widths = (
        f"from {format_number(low, 3)} to {format_number(high, 3)}, half of them at most {format_number(middle, 3)}"
    )
    return Picture(
        "Widths",
        f"Widths of the intervals: {widths}. Wide ones belong to rows that are hard to predict.{beyond}",
        histogram(finite, "width of the interval", weights).svg(f"Bars of the widths, {widths}"),
    )


def _by_size(found: CoveredRows) -> Picture | None:
    assert found.intervals is not None
    finite = np.flatnonzero(np.isfinite(found.intervals).all(axis=1))
    middle = found.intervals[finite].mean(axis=1)
    n_parts = min(10, len(middle) // _FEWEST_ROWS)
    if n_parts < 2 or np.ptp(middle) == 0.0:
        return None
    parts = np.array_split(np.argsort(middle, kind="stable"), n_parts)
    named = [
        (f"{format_number(float(middle[part[0]]), 3)} to {format_number(float(middle[part[-1]]), 3)}", finite[part])
        for part in parts
    ]
    caption = (
        f"Rows in equal parts by the middle of their interval. Dots: share of numbers within.{_lines(found)} Dashed"
        " line: the required coverage; left of it intervals are too narrow for numbers of that size, right of it too"
        " wide."
    )
    return Picture("Coverage by size", caption, *_coverage(named, found, "middle of the interval"))


def _lines(found: CoveredRows) -> str:
    return f" Lines: {CONFIDENCE:.0%} confidence intervals." if found.weights is None else ""


def _coverage(named: Sequence[tuple[str, Index]], found: CoveredRows, heading: str) -> tuple[Markup, Grid]:
    drawn, rows = [], []
    for name, part in named:
        share, n, inside = found.coverage(part), _without_zero(found.counts[part].sum()), found.inside[part]
        span = accuracy_interval(np.ones(len(part), dtype=bool), inside) if found.weights is None else None
        drawn.append(DotRow(name, [share], f"{share:.1%}", span=span, tips=[pluralize(n, "row")]))
        rows.append((name, f"{n:,}", f"{share:.1%}", BLANK if span is None else f"{span[0]:.1%} to {span[1]:.1%}"))
    description = "Shares of rows that are covered. " + "; ".join(f"{row.name} {row.end}" for row in drawn)
    columns = (heading, "rows", "covered", f"with {CONFIDENCE:.0%} confidence")
    return DotRows(drawn, "covered", found.asked).svg(description), Grid("Coverage", columns, tuple(rows), "lrrr")


# --- rows of the largest errors --------------------------------------------------------------------------------------


def wrong_rows(found: Explanation) -> list[Part]:
    rows = found.wrong_rows(MOST_ROWS).tolist()
    if not rows:
        return []
    explained: dict[tuple[str, ...], tuple[int, RowExplanation]] = {}
    for row in rows:
        each = found.row(row, found.predicted[row] if found.of_classes else None)
        if each is None or len(explained) == MOST_ROW_PICTURES:
            break
        explained.setdefault(each.labels, (row, each))
    table = _wrong_grid(found, rows)
    return [table, _row_contributions(found, list(explained.values()))] if explained else [table]


def _wrong_grid(found: Explanation, rows: list[int]) -> Grid:
    assert found.y is not None
    cells = []
    for row in rows:
        true, predicted = found.y[row], found.predicted[row]
        if found.of_classes:
            shares = found.predictions[row].max(), 1.0 - found.errors[row]
            cells.append((str(row), str(true), str(predicted), *(f"{share:.1%}" for share in shares)))
        else:
            numbers = float(true), float(predicted), float(true) - float(predicted)
            cells.append((str(row), *map(format_number, numbers)))
    of_error = (
        ("largest probability", "probability of the true class") if found.of_classes else ("true minus predicted",)
    )
    justify = "rllrr" if found.of_classes else "rrrr"
    title = "Rows of the largest errors, numbered from 0"
    return Grid(title, ("row", "true", "predicted", *of_error), tuple(cells), justify)


def _row_contributions(found: Explanation, explained: list[tuple[int, RowExplanation]]) -> Picture:
    assert found.y is not None
    shown = [each.largest(MOST_ROW_BARS) for _, each in explained]
    sizes = [value for largest, (_, rest) in shown for value in [*(v for _, v in largest), rest]]
    panels: list[Markup] = []
    for (row, each), (largest, (n_rest, rest)) in zip(explained, shown, strict=True):
        rows = [Bar(name, value, format_signed(value)) for name, value in largest]
        rows += rest_bar(n_rest, rest, format_signed(rest))
        if found.of_classes:
            predicted = found.predicted[row]  # by the threshold, if there is one
            p = found.predictions[row, np.flatnonzero(found.model.classes_ == predicted)[0]]
            heading = f"Row {row} is {found.y[row]}, predicted {predicted} ({p:.0%})"
        else:
            heading = f"Row {row} is {format_number(float(found.y[row]))}, {each.remark}"
        description = f"{heading}: " + "; ".join(f"{bar.name} {bar.text}" for bar in rows[:3])
        panels.append(bars(rows, description, heading=heading, least=min(sizes), largest=max(sizes)))
    first = explained[0][1]
    of_predicted = found.of_classes and (len(found.model.classes_) > 2 or first.total == "probability")
    what = f"{first.total} of the predicted class" if of_predicted else first.subject
    return Picture(
        "Contributions to these predictions",
        f"What each column's value adds to the {what}. All rows have one scale; of equal rows one is shown.",
        legend([(FOR, "adds"), (AGAINST, "subtracts"), (REST, "all other columns together")]) + side_by_side(panels),
    )


# --- members of a committee of ensembles -----------------------------------------------------------------------------


def member_pictures(answers: MemberAnswers) -> list[Picture]:
    of_classes = answers.classes is not None
    pictures = _disagreement(answers, of_classes) if len(answers.names) > 1 else []
    if of_classes and answers.truth is not None:
        pictures += _member_curves(answers)
    return pictures


def _disagreement(answers: MemberAnswers, of_classes: bool) -> list[Picture]:
    what = "Share of rows with different predicted classes" if of_classes else "Root mean squared difference"
    cells = MemberDisagreementDisplay.from_answers(answers).cells()
    caption = f"{what}, for each two members. The last row is the vote."
    pictures = [Picture("Disagreement of members", caption, cells.svg(f"{what}, as a map"))]
    if len(answers.most_disputed(1)):
        what = "probability of the class that the vote predicts" if of_classes else "prediction"
        rows = MemberVotesDisplay(answers).dot_rows()
        caption = f"Rows, numbered from 0. A dot for each member (weight in brackets): {what}."
        body = rows.svg("Predictions of each member on the rows of greatest divergence")
        pictures.append(Picture("Rows on which members disagree most", caption, body))
    return pictures


def _member_curves(answers: MemberAnswers) -> list[Picture]:
    assert answers.truth is not None
    colors = {name: member_color(i) for i, name in enumerate(answers.names)} | {"vote": 6}
    curves = reliabilities(answers)
    margins = {name: lead(p, answers.truth) for name, p in zip(colors, answers.everyone, strict=True)}
    errors = "; ".join(f"{name} {each.calibration_error:.3f}" for name, each in curves.items())
    return [
        Picture(
            "Reliability",
            f"{RELIABILITY} In brackets: expected calibration error.",
            ReliabilityDisplay(curves, colors=colors).chart().svg(errors),
        ),
        Picture(
            "Margins",
            _MARGINS,
            MarginDisplay(margins, colors=colors).chart().svg("Cumulative margins of the vote and of its members"),
        ),
    ]
