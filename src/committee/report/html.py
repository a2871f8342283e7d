"""The report of a comparison as one HTML file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from committee.report.comparison_pictures import (
    differences_picture,
    folds_picture,
    margins_picture,
    reliability_picture,
    size_picture,
)
from committee.report.page import Section, Terms, render_page
from committee.report.tables import (
    cost_grid,
    difference_grid,
    failures_grid,
    measures,
    metric_words,
    parameters_set,
    quality_grid,
    table_sentence,
)
from committee.report.verdict import verdict

if TYPE_CHECKING:
    from committee.report.comparison import Comparison, TableSummary


def render_report(comparison: Comparison, *, notes: Iterable[str] = ()) -> str:
    """Render the report of a comparison.

    Parameters
    ----------
    comparison : Comparison
        What `committee.report.comparison.compare` returned.
    notes : iterable of str, default=()
        Further remarks to show beside those of the comparison.

    Returns
    -------
    str
        A whole HTML page. The same comparison gives the same text.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from committee.report.comparison import compare
    >>> from committee.report.html import render_report
    >>> page = render_report(compare(*load_iris(return_X_y=True), {"bayes": GaussianNB()}))
    >>> page.splitlines()[0]
    '<!DOCTYPE html>'
    """
    warned = [f"{model.name} warned: {text}" for model in comparison.models for text in model.warnings]
    set_ones = parameters_set(comparison)
    return render_page(
        f"Comparison on {comparison.table.name}",
        [
            *_sections(comparison),
            Section("The table", [_table_terms(comparison)]),
            Section("How the figures were measured", [Terms(measures(comparison))]),
            *([Section("Parameters that were set", [Terms(set_ones)])] if set_ones else []),
            Section("Versions", [Terms(list(comparison.versions.items()))]),
        ],
        lead=table_sentence(comparison) + ".",
        verdict=verdict(comparison),
        notes=[*comparison.notes, *notes, *warned],
        choices=[model.name for model in comparison.ranked],
    )


def _sections(comparison: Comparison) -> list[Section]:
    """Tables, each with what belongs to it, and pictures."""
    quality, failures, differences, cost = (
        make(comparison) for make in (quality_grid, failures_grid, difference_grid, cost_grid)
    )
    made = [Section(grid.title, [grid]) for grid in (quality, failures) if grid.rows]
    if differences.rows:
        made.append(Section(differences.title, [*differences_picture(comparison), differences]))
    if cost.rows:
        made.append(Section(cost.title, [cost]))
    if comparison.ranked:
        words = capital(metric_words(comparison.metric))
        made += [
            Section(f"{words} in every fold", [folds_picture(comparison)]),
            Section("Training margins", margins_picture(comparison)),
            Section("Reliability", reliability_picture(comparison)),
            Section(f"Size against {metric_words(comparison.metric)}", size_picture(comparison)),
        ]
    return made


def _table_terms(comparison: Comparison) -> Terms:
    table = comparison.table
    return Terms(
        [
            ("rows", f"{table.rows:,}"),
            ("columns", f"{table.columns - table.categorical:,} numeric, {table.categorical:,} categorical"),
            ("missing cells", f"{table.missing_cells:,}"),
            ("target", table.target),
            _predicted(table),
        ]
    )


def _predicted(table: TableSummary) -> tuple[str, str]:
    if table.numbers is None:
        return "classes", ", ".join(f"{name} ({count:,})" for name, count in table.classes.items())
    least, mean, greatest = table.numbers
    return "numbers", f"from {least:,.6g} to {greatest:,.6g}, mean {mean:,.6g}"


def capital(words: str) -> str:
    """Words as the beginning of a heading."""
    return words[:1].upper() + words[1:]
