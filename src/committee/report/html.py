"""The report of a comparison as one HTML file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from committee.report.displays.comparison import ComparisonDisplay, SizeDisplay
from committee.report.displays.margin import MarginDisplay
from committee.report.displays.reliability import ReliabilityDisplay
from committee.report.drawn import svg_of
from committee.report.metric_choice import known_metric
from committee.report.page import Picture, Section, Terms, render_page
from committee.report.tables import grids, measures, metric_words, table_sentence
from committee.report.verdict import verdict

if TYPE_CHECKING:
    from committee.report.comparison import Comparison


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
    return render_page(
        f"Comparison on {comparison.table.name}",
        [
            *(Section(grid.title, [grid]) for grid in grids(comparison)),
            *(Section(picture.heading, [picture]) for picture in _pictures(comparison)),
            Section("The table", [_table_terms(comparison)]),
            Section("How the figures were measured", [Terms(measures(comparison))]),
            Section("Versions", [Terms(list(comparison.versions.items()))]),
        ],
        lead=table_sentence(comparison) + ".",
        verdict=verdict(comparison),
        notes=[*comparison.notes, *notes, *warned],
        choices=[model.name for model in comparison.ranked],
    )


def _table_terms(comparison: Comparison) -> Terms:
    table = comparison.table
    return Terms(
        [
            ("rows", f"{table.rows:,}"),
            ("columns", f"{table.columns - table.categorical:,} numeric, {table.categorical:,} categorical"),
            ("missing cells", f"{table.missing_cells:,}"),
            ("target", table.target),
            ("classes", ", ".join(f"{name} ({count:,})" for name, count in table.classes.items())),
        ]
    )


def _pictures(comparison: Comparison) -> list[Picture]:
    if not comparison.ranked:
        return []
    words = metric_words(comparison.metric)
    colors = {model.name: i for i, model in enumerate(comparison.ranked)}
    pictures = [
        Picture(
            f"{capital(words)} in every fold",
            "One dot per fold; the bar is the mean and one standard deviation either side.",
            svg_of(
                ComparisonDisplay(comparison).plot().figure_,
                f"{capital(words)} per model: " + _means(comparison),
            ),
        )
    ]
    curves = {m.name: m.margin_quantiles for m in comparison.ranked if m.margin_quantiles is not None}
    if curves:
        pictures.append(
            Picture(
                "Training margins",
                "Share of training rows whose margin is at most the value below, averaged over folds. Left of"
                " zero are rows that the vote gets wrong; a curve further right is a more unanimous vote.",
                svg_of(
                    MarginDisplay(curves, colors=colors).plot().figure_,
                    "Cumulative distribution of the training margins of " + ", ".join(curves),
                ),
            )
        )
    reliable = {m.name: m.reliability for m in comparison.ranked if m.reliability is not None}
    if reliable:
        errors = "; ".join(f"{name} {each.calibration_error:.3f}" for name, each in reliable.items())
        pictures.append(
            Picture(
                "Reliability",
                "Test rows of all folds by the probability of the class they are given, and how often it is right. On"
                " the line probabilities mean what they say; below it a model is too sure of itself.",
                svg_of(
                    ReliabilityDisplay(reliable, colors=colors).plot().figure_,
                    f"Expected calibration errors: {errors}",
                ),
            )
        )
    better = "further up" if known_metric(comparison.metric).best == "highest" else "further down"
    if any(model.mean("n_nodes") for model in comparison.ranked):
        pictures.append(
            Picture(
                f"Size against {words}",
                f"Further left is smaller, {better} is better; bars show one standard deviation over folds.",
                svg_of(
                    SizeDisplay(comparison).plot().figure_,
                    f"{capital(words)} against the number of nodes: " + _means(comparison),
                ),
            )
        )
    return pictures


def _means(comparison: Comparison) -> str:
    return "; ".join(f"{model.name} {model.mean(comparison.metric):.4f}" for model in comparison.ranked)


def capital(words: str) -> str:
    """Words as the beginning of a heading."""
    return words[:1].upper() + words[1:]
