"""A comparison as tables of text and as sentences, the same for the terminal and for the HTML report."""

from __future__ import annotations

from math import isclose

from committee.report.comparison import LEVEL, Comparison, ModelResult
from committee.report.grid import BLANK, Grid
from committee.report.metrics import METRICS

MOST_DEVIATIONS = 3
"""With more figures than these the table of predictions has means alone."""


def _pvalue(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def quality_grid(comparison: Comparison) -> Grid:
    """Quality of the predictions: place, scores, average rank and adjusted p of the test against the best.

    A star marks a difference that is significant at level 0.05. Failed models stand last.
    """
    metrics = _metrics("quality", comparison)
    columns = ("", "model", *(METRICS[name].heading for name in metrics), "rank", "p")
    brief = len(metrics) > MOST_DEVIATIONS
    rows = []
    for model in comparison.models:
        test = model.against_best
        if model.place == 1:
            p = "best"
        else:
            p = BLANK if test is None else _pvalue(test.adjusted_pvalue) + ("*" if test.significant else "")
        row = [BLANK if model.place is None else str(model.place), model.name]
        if model.error is not None:
            row += ["failed", *[BLANK] * (len(columns) - 3)]
        else:
            rank = BLANK if model.average_rank is None else f"{model.average_rank:.2f}"
            texts = [_text(model, name) for name in metrics]
            row += [*(text.partition(" ±")[0] if brief else text for text in texts), rank, p]
        rows.append(tuple(row))
    return Grid("Predictions on the test rows", columns, tuple(rows), "rl" + "r" * (len(columns) - 2))


def cost_grid(comparison: Comparison) -> Grid:
    """Time and size of the models, and their training margins; models that failed are left out."""
    metrics = _metrics("cost", comparison)
    columns = ("model", *(METRICS[name].heading for name in metrics))
    rows = tuple(
        (model.name, *(_text(model, name) for name in metrics)) for model in comparison.models if model.error is None
    )
    return Grid("Time, size and training margins", columns, rows, "l" + "r" * len(metrics))


def _metrics(table: str, comparison: Comparison) -> list[str]:
    """Names of the metrics of a table: those that are always shown, and those that were asked for."""
    return [
        name
        for name, metric in METRICS.items()
        if metric.table == table and (metric.shown or name in comparison.metrics)
    ]


def metric_words(name: str) -> str:
    """Words for a metric in a sentence.

    Examples
    --------
    >>> metric_words("log_loss"), metric_words("mcc"), metric_words("average_precision")
    ('log loss', 'MCC', 'average precision')
    """
    return {"f1_macro": "F1", "mcc": "MCC", "roc_auc": "ROC AUC", "brier": "Brier score"}.get(
        name, name.replace("_", " ")
    )


def _text(model: ModelResult, metric: str) -> str:
    values = model.values(metric)
    return METRICS[metric].text(values) if values.size else BLANK


def grids(comparison: Comparison) -> list[Grid]:
    """Both tables of a comparison, without those that have no row."""
    return [grid for grid in (quality_grid(comparison), cost_grid(comparison)) if grid.rows]


def table_sentence(comparison: Comparison) -> str:
    """Describe the table of the comparison in one sentence."""
    table = comparison.table
    numeric = table.columns - table.categorical
    share = table.missing_cells / max(table.rows * table.columns, 1)
    missing = f"{table.missing_cells:,} missing cells ({share:.1%})" if table.missing_cells else "no missing cell"
    repeats = f" x {comparison.repeats} repeats" if comparison.repeats > 1 else ""
    return (
        f"{table.name}: {table.rows:,} rows, {table.columns:,} columns ({numeric:,} numeric,"
        f" {table.categorical:,} categorical), {len(table.classes)} classes of {table.target!r}, {missing};"
        f" {comparison.folds} stratified folds{repeats}, seed {comparison.seed}"
    )


def verdict(comparison: Comparison) -> list[str]:
    """Say in words who is best, which differences mean something, and who failed."""
    sentences = []
    if comparison.ranked:
        best, *others = comparison.ranked
        metric = comparison.metric
        kind, words = METRICS[metric].best, metric_words(metric)
        value = best.mean(metric) or 0.0
        tied = [m.name for m in others if isclose(m.mean(metric) or 0.0, value, rel_tol=1e-9)]
        if tied:
            sentences.append(
                f"{best.name}, {', '.join(tied)} share the {kind} mean {words} ({value:.4f});"
                f" {best.name} has the best average rank, and the others are tested against it."
            )
        else:
            sentences.append(f"{best.name} has the {kind} mean {words} ({value:.4f}).")
        worse = [m for m in others if m.against_best is not None and m.against_best.significant]
        level = [m for m in others if m not in worse]
        if worse:
            sentences.append(f"Significantly worse than {best.name}: {_names(worse, with_p=True)}.")
        if level:
            sentences.append(f"Not significantly different from {best.name}: {_names(level)}.")
    for model in comparison.models:
        if model.error is not None:
            sentences.append(f"{model.name} failed in {model.error.rstrip('.')}.")
        elif model.place is None:
            sentences.append(f"{model.name} has no {metric_words(comparison.metric)}, so it takes no place.")
    return sentences


def _names(models: list[ModelResult], *, with_p: bool = False) -> str:
    texts = []
    for model in models:
        test = model.against_best
        p = "" if test is None else _pvalue(test.adjusted_pvalue)
        suffix = f" (p {p})" if p.startswith("<") else f" (p = {p})"
        texts.append(model.name + (suffix if with_p and p else ""))
    return ", ".join(texts)


def measures(comparison: Comparison) -> list[tuple[str, str]]:
    """Names of the figures, each with a sentence that says how it was measured."""
    words = metric_words(comparison.metric)
    others = max(len(comparison.ranked) - 1, 0)
    notes = {
        table: [note for name in _metrics(table, comparison) if (note := METRICS[name].note)]
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
            "p",
            "Paired test of each model against the best: corrected resampled t-test (Nadeau and Bengio 2003)"
            f" on the folds' {words}, two-sided, adjusted by Holm's rule for {others} comparison(s). A star"
            f" marks p at most {LEVEL}. The best is chosen on the same folds, so its lead is a little"
            " flattered.",
        ),
        *((name, sentence.format(run=run)) for name, sentence in notes["cost"]),
    ]


def _side_by_side(jobs: int) -> str:
    return "one fit at a time" if jobs == 1 else f"{jobs} fits ran side by side, which disturbs times a little"
