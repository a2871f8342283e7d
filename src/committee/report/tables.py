"""A comparison as tables of text and as sentences, the same for the terminal and for the HTML report."""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose
from typing import TYPE_CHECKING, Literal

from committee.report.comparison import LEVEL, Comparison, ModelResult

if TYPE_CHECKING:
    from rich.table import Table as RichTable

__all__ = [
    "Grid",
    "cost_grid",
    "grids",
    "measures",
    "quality_grid",
    "rich_table",
    "table_sentence",
    "verdict",
]

BLANK = "-"
"""Stands where a model has no such figure."""


@dataclass(frozen=True)
class Grid:
    """A table of text: title, column headings, rows, and for each column "l" (text) or "r" (figures)."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    justify: str

    def __post_init__(self) -> None:
        assert len(self.justify) == len(self.columns)


def _score(model: ModelResult, metric: str) -> str:
    """Mean and standard deviation with 4 digits after the point, or 3 where the number is large."""
    mean, sd = model.mean(metric), model.sd(metric)  # type: ignore[arg-type]
    if mean is None:
        return BLANK
    digits = 4 if mean < 10 else 3
    return f"{mean:.{digits}f}" + ("" if sd is None else f" ±{sd:.{digits}f}")


def _figure(value: float | None) -> str:
    """Three significant digits without an exponent; whole numbers with thousands separated."""
    if value is None:
        return BLANK
    if value >= 99.95:
        return f"{value:,.0f}"
    if value == 0.0:
        return "0"
    if abs(value) < 0.001:
        return "<0.001"
    digits = 1 if value >= 9.995 else 2 if value >= 0.9995 else 3
    return f"{value:.{digits}f}"


def _count(value: float | None) -> str:
    return BLANK if value is None else f"{value:,.0f}"


def _fixed(value: float | None, digits: int) -> str:
    return BLANK if value is None else f"{value:.{digits}f}"


def _pvalue(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def quality_grid(comparison: Comparison) -> Grid:
    """How well the models predict: place, scores, average rank and adjusted p of the test against the best.

    A star marks a difference that is significant at level 0.05. Failed models stand last.
    """
    binary = len(comparison.table.classes) == 2
    columns = ("", "model", "accuracy", "log loss", *(("ROC AUC",) if binary else ()), "rank", "p")
    rows = []
    for model in comparison.models:
        test = model.against_best
        if model.place == 1:
            p = "best"
        else:
            p = BLANK if test is None else _pvalue(test.adjusted_pvalue) + ("*" if test.significant else "")
        cells = [BLANK if model.place is None else str(model.place), model.name]
        if model.error is not None:
            cells += ["failed", *[BLANK] * (len(columns) - 3)]
        else:
            cells += [_score(model, "accuracy"), _score(model, "log_loss")]
            cells += [_fixed(model.mean("roc_auc"), 4)] if binary else []
            cells += [_fixed(model.average_rank, 2), p]
        rows.append(tuple(cells))
    return Grid("Predictions on the test rows", columns, tuple(rows), "rl" + "r" * (len(columns) - 2))


def cost_grid(comparison: Comparison) -> Grid:
    """What the models cost, and their training margins; models that failed are left out."""
    columns = ("model", "fit s", "µs/row", "voters", "nodes", "mean margin", "min margin")
    rows = tuple(
        (
            model.name,
            _figure(model.median("fit_seconds")),
            _figure(model.median("predict_microseconds")),
            _count(model.mean("n_voters")),
            _count(model.mean("n_nodes")),
            _fixed(model.mean("mean_margin"), 3),
            _fixed(model.mean("minimum_margin"), 3),
        )
        for model in comparison.models
        if model.error is None
    )
    return Grid("Time, size and training margins", columns, rows, "lrrrrrr")


def grids(comparison: Comparison) -> list[Grid]:
    """Both tables of a comparison, without those that have no row."""
    return [grid for grid in (quality_grid(comparison), cost_grid(comparison)) if grid.rows]


def table_sentence(comparison: Comparison) -> str:
    """Say what the models were compared on, in one sentence."""
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
        metric = comparison.rank_by
        kind, what = "highest" if metric == "accuracy" else "lowest", metric.replace("_", " ")
        value = best.mean(metric) or 0.0
        tied = [m.name for m in others if isclose(m.mean(metric) or 0.0, value, rel_tol=1e-9)]
        if tied:
            sentences.append(
                f"{best.name}, {', '.join(tied)} share the {kind} mean {what} ({value:.4f});"
                f" {best.name} has the best average rank, and the others are tested against it."
            )
        else:
            sentences.append(f"{best.name} has the {kind} mean {what} ({value:.4f}).")
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
            sentences.append(f"{model.name} has no {comparison.rank_by.replace('_', ' ')}, so it takes no place.")
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
    """How each figure was measured: pairs of its name and a sentence."""
    metric = comparison.rank_by.replace("_", " ")
    others = max(len(comparison.ranked) - 1, 0)
    return [
        ("accuracy", "Share of test rows predicted right: mean over folds ± standard deviation over folds."),
        (
            "log loss",
            "Mean of minus the logarithm (base e) of the probability given to the true class; probabilities"
            " are clipped at 2.2e-16, as scikit-learn does.",
        ),
        ("ROC AUC", "Area under the ROC curve, tables of two classes only."),
        (
            "rank",
            f"Rank by {metric} among the models within each fold (1 is best, ties averaged), averaged.",
        ),
        (
            "p",
            "Paired test of each model against the best: corrected resampled t-test (Nadeau and Bengio 2003)"
            f" on the folds' {metric}, two-sided, adjusted by Holm's rule for {others} comparison(s). A star"
            f" marks p at most {LEVEL}. The best is chosen on the same folds, so its lead is a little"
            " flattered.",
        ),
        (
            "fit s",
            "Median over folds of the wall time from the training rows of the table to the fitted model,"
            f" encoding included, on one thread; {_side_by_side(comparison.jobs)}.",
        ),
        (
            "µs/row",
            "Median over folds of the wall time of predict, from table rows to labels, in one batch of at"
            " least 4,096 rows (test rows, repeated where there are fewer), per row.",
        ),
        (
            "voters, nodes",
            "Trees (or other voters), and inner nodes and leaves in all of them; means over folds.",
        ),
        (
            "margins",
            "Of the training rows: the weighted votes for the true class less those for the strongest other"
            " class, as a share of all votes; means over folds. A dash where a model's votes are not read.",
        ),
    ]


def _side_by_side(jobs: int) -> str:
    return "one fit at a time" if jobs == 1 else f"{jobs} fits ran side by side, which disturbs times a little"


def rich_table(grid: Grid, width: int) -> RichTable:
    """Make a grid a rich table, without its title; a narrow one breaks models' names at their colon."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_header=any(grid.columns),
    )
    narrow = width < 100
    for column, side in zip(grid.columns, grid.justify, strict=True):
        justify: Literal["left", "right"] = "left" if side == "l" else "right"
        table.add_column(Text(column), justify=justify, no_wrap=side == "r", overflow="fold")
    for row in grid.rows:
        # Text, not markup: a name may hold square brackets.
        broken = [
            cell.replace(":", ":\n") if narrow and column == "model" else cell
            for cell, column in zip(row, grid.columns, strict=True)
        ]
        table.add_row(*map(Text, broken))
    return table
