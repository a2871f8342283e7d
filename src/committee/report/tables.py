"""A comparison as tables of text and as sentences, the same for the terminal and for the HTML report."""

from __future__ import annotations

import numpy as np

from committee.data.text import pluralize
from committee.report.comparison import Comparison
from committee.report.grid import BLANK, Grid
from committee.report.metric_choice import known_metric, metrics_of
from committee.report.metrics import Metric
from committee.report.metrics_of_numbers import METRICS_OF_NUMBERS
from committee.report.model_result import LEVEL, ModelResult

MOST_DEVIATIONS = 3
"""With more figures than these the table of predictions has means alone."""


def pvalue(p: float) -> str:
    """A p-value with three digits."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def size_text(comparison: Comparison, value: float) -> str:
    """A value of the metric of the places, or a difference of two: with the decimals of the best model's mean."""
    if comparison.task == "classes":
        return f"{value:.4f}"
    best = abs(comparison.ranked[0].mean(comparison.metric) or 0.0) if comparison.ranked else 0.0
    if not 1e-4 <= best < 1e12:
        return f"{value:.4g}"
    return f"{value:,.{max(0, 3 - int(np.floor(np.log10(best))))}f}"


def quality_grid(comparison: Comparison) -> Grid:
    """Quality of the predictions: place, scores and average rank; models that failed or were not run stand last."""
    metrics = _metrics("quality", comparison)
    columns = ("", "model", *(metrics[name].heading for name in metrics), "rank")
    brief = len(metrics) > MOST_DEVIATIONS
    rows = []
    for model in comparison.models:
        row = [BLANK if model.place is None else str(model.place), model.name]
        if model.error is not None or not model.fold_results:
            row += ["failed" if model.error is not None else "not run", *[BLANK] * (len(columns) - 3)]
        else:
            rank = BLANK if model.average_rank is None else f"{model.average_rank:.2f}"
            texts = [_text(model, name) for name in metrics]
            row += [*(text.partition(" ±")[0] if brief else text for text in texts), rank]
        rows.append(tuple(row))
    return Grid(
        "Predictions on the test rows",
        columns,
        tuple(rows),
        "rl" + "r" * (len(columns) - 2),
        _notes(comparison),
        tuple(model.name for model in comparison.models),
        0 if comparison.ranked else None,
    )


def difference_grid(comparison: Comparison) -> Grid:
    """How much worse than the best each model is: difference, its 95 % interval, and adjusted p.

    A star marks a difference that is significant at level 0.05.
    """
    rows, keys = [], []
    for model in comparison.ranked:
        test = model.against_best
        if test is not None:
            low, high = (size_text(comparison, end) for end in test.interval)
            star = "*" if test.significant else ""
            p = pvalue(test.adjusted_pvalue) + star
            rows.append((model.name, size_text(comparison, test.difference), f"{low} to {high}", p))
            keys.append(model.name)
    best = comparison.ranked[0].name if comparison.ranked else ""
    title = f"How much worse than {best} in {metric_words(comparison.metric)}"
    columns = ("model", "worse by", "95% interval", "p")
    return Grid(title, columns, tuple(rows), "lrrr", _notes(comparison), tuple(keys))


def failures_grid(comparison: Comparison) -> Grid:
    """Models that failed, in which fold first, and why."""
    rows = []
    for model in comparison.models:
        if model.error is not None:
            fold, _, why = model.error.partition(": ")
            rows.append((model.name, fold.removeprefix("fold "), why))
    return Grid("Models that failed", ("model", "fold", "why"), tuple(rows), "lrl")


def cost_grid(comparison: Comparison) -> Grid:
    """Time and size of the models, and their training margins; models that failed or were not run are left out."""
    metrics = _metrics("cost", comparison)
    columns = ("model", *(metric.heading for metric in metrics.values()))
    shown = [model for model in comparison.models if model.error is None and model.fold_results]
    rows = tuple((model.name, *(_text(model, name) for name in metrics)) for model in shown)
    title = "Time and size" if comparison.task == "numbers" else "Time, size and training margins"
    keys = tuple(model.name for model in shown)
    return Grid(title, columns, rows, "l" + "r" * len(metrics), _notes(comparison), keys)


def _metrics(table: str, comparison: Comparison) -> dict[str, Metric]:
    """Metrics of a table: those that are always shown, and those that were asked for."""
    return {
        name: metric
        for name, metric in metrics_of(comparison.task == "numbers").items()
        if metric.table == table and (metric.shown or name in comparison.metrics)
    }


def metric_words(name: str) -> str:
    """Words for a metric in a sentence.

    Examples
    --------
    >>> metric_words("log_loss"), metric_words("mcc"), metric_words("rmse")
    ('log loss', 'MCC', 'RMSE')
    """
    return {"f1_macro": "F1", "mcc": "MCC", "roc_auc": "ROC AUC", "brier": "Brier score"}.get(
        name, name.upper() if name in METRICS_OF_NUMBERS else name.replace("_", " ")
    )


def _text(model: ModelResult, metric: str) -> str:
    values = model.values(metric)
    return known_metric(metric).text(values) if values.size else BLANK


def grids(comparison: Comparison) -> list[Grid]:
    """The tables of a comparison, without those that have no row."""
    made = (quality_grid, failures_grid, difference_grid, cost_grid)
    return [grid for each in made if (grid := each(comparison)).rows]


def table_sentence(comparison: Comparison) -> str:
    """Describe the table of the comparison in one sentence."""
    table = comparison.table
    numeric = table.columns - table.categorical
    share = table.missing_cells / max(table.rows * table.columns, 1)
    missing = (
        f"{pluralize(table.missing_cells, 'missing cell')} ({share:.1%})" if table.missing_cells else "no missing cell"
    )
    repeats = f" x {comparison.repeats} repeats" if comparison.repeats > 1 else ""
    return (
        f"{table.name}: {pluralize(table.rows, 'row')}, {pluralize(table.columns, 'column')} ({numeric:,} numeric,"
        f" {table.categorical:,} categorical), {_predicted(comparison)}, {missing};"
        f" {comparison.folds}{' stratified' if table.classes else ''} folds{repeats}, seed {comparison.seed}"
    )


def parameters_set(comparison: Comparison) -> list[tuple[str, str]]:
    """Models of which parameters were set, each with these."""
    return [
        (model, ", ".join(f"{name}={value}" for name, value in values.items()))
        for model, values in comparison.parameters.items()
    ]


def _predicted(comparison: Comparison) -> str:
    table = comparison.table
    if table.numbers is None:
        return f"{len(table.classes)} classes of {table.target!r}"
    return f"numbers of {table.target!r} from {table.numbers[0]:.6g} to {table.numbers[2]:.6g}"


def _notes(comparison: Comparison) -> dict[str, str]:
    """Explanations of columns, by their headings."""
    told = dict(measures(comparison))
    told |= dict.fromkeys(("voters", "nodes"), told["voters, nodes"])
    told |= {heading: told["margins"] for heading in ("mean margin", "min margin") if "margins" in told}
    return told


def measures(comparison: Comparison) -> list[tuple[str, str]]:
    """Names of the figures, each with a sentence that says how it was measured."""
    words = metric_words(comparison.metric)
    others = max(len(comparison.ranked) - 1, 0)
    notes = {
        table: [metric.note for metric in _metrics(table, comparison).values() if metric.note]
        for table in ("quality", "cost")
    }
    run = _side_by_side(comparison.jobs)
    return [
        *notes["quality"],
        (
            "rank",
            f"Rank by {words} among the models within each fold (1 is best, ties averaged), averaged.",
        ),
        (
            "worse by",
            f"Difference between the mean {words} of the model and that of the best model, positive if worse.",
        ),
        (
            "95% interval",
            "95 % confidence interval of that difference, from the same t-test as p, for each model alone. It may"
            " exclude 0 although p, which is adjusted for the number of models, is above 0.05.",
        ),
        (
            "p",
            "Paired test of each model against the best: corrected resampled t-test (Nadeau and Bengio 2003)"
            f" on the folds' {words}, two-sided, adjusted by Holm's rule for {pluralize(others, 'comparison')}. A star"
            f" marks p at most {LEVEL}. The best model is selected on the same folds, so the differences are slightly"
            " optimistic.",
        ),
        *((name, sentence.format(run=run)) for name, sentence in notes["cost"]),
    ]


def _side_by_side(jobs: int) -> str:
    return "one fit at a time" if jobs == 1 else f"{jobs} fits in parallel, which makes times less exact"
