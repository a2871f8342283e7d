"""The report of a comparison as one HTML file that needs nothing else: no network, no script, no fonts."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from committee.data.extras import needed
from committee.report.displays.comparison import ComparisonDisplay, SizeDisplay
from committee.report.displays.margin import MarginDisplay
from committee.report.displays.reliability import ReliabilityDisplay
from committee.report.metrics import METRICS
from committee.report.tables import grids, measures, metric_words, table_sentence, verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from committee.report.comparison import Comparison


@dataclass(frozen=True)
class Picture:
    """A picture of a report: heading, a sentence about it, text for who cannot see it, and its data URI.

    A wide one may take all of the page.
    """

    heading: str
    caption: str
    description: str
    uri: str
    wide: bool = False


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
    return page(
        "report.html.j2",
        ranked=True,
        comparison=comparison,
        sentence=table_sentence(comparison),
        verdict=verdict(comparison),
        notes=[*comparison.notes, *notes],
        warned=[(model.name, text) for model in comparison.models for text in model.warnings],
        grids=grids(comparison),
        pictures=_pictures(comparison),
        measures=measures(comparison),
    )


def page(template: str, **parts: Any) -> str:
    """A whole HTML page from one of this folder's templates."""
    needed("jinja2", "a page")
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: files("committee.report").joinpath(name).read_text("utf-8")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template(template).render(**parts)


def _pictures(comparison: Comparison) -> list[Picture]:
    if not comparison.ranked:
        return []
    words = metric_words(comparison.metric)
    colors = {model.name: i for i, model in enumerate(comparison.ranked)}
    pictures = [
        Picture(
            f"{capital(words)} in every fold",
            "One dot per fold; the bar is the mean and one standard deviation either side.",
            f"{capital(words)} per model: " + _means(comparison),
            data_uri(ComparisonDisplay(comparison).plot().figure_),
        )
    ]
    curves = {m.name: m.margin_quantiles for m in comparison.ranked if m.margin_quantiles is not None}
    if curves:
        pictures.append(
            Picture(
                "Training margins",
                "Share of training rows whose margin is at most the value below, averaged over folds. Left of"
                " zero are rows that the vote gets wrong; a curve further right is a more unanimous vote.",
                "Cumulative distribution of the training margins of " + ", ".join(curves),
                data_uri(MarginDisplay(curves, colors=colors).plot().figure_),
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
                f"Expected calibration errors: {errors}",
                data_uri(ReliabilityDisplay(reliable, colors=colors).plot().figure_),
            )
        )
    better = "further up" if METRICS[comparison.metric].best == "highest" else "further down"
    if any(model.mean("n_nodes") for model in comparison.ranked):
        pictures.append(
            Picture(
                f"Size against {words}",
                f"Further left is smaller, {better} is better; bars show one standard deviation over folds.",
                f"{capital(words)} against the number of nodes: " + _means(comparison),
                data_uri(SizeDisplay(comparison).plot().figure_),
            )
        )
    return pictures


def _means(comparison: Comparison) -> str:
    return "; ".join(f"{model.name} {model.mean(comparison.metric):.4f}" for model in comparison.ranked)


def capital(words: str) -> str:
    """Words as the beginning of a heading."""
    return words[:1].upper() + words[1:]


def data_uri(figure: Figure) -> str:
    """Draw a figure as SVG in a data URI: sharp at any size, and apart from the ids of the other pictures."""
    import matplotlib

    buffer = io.BytesIO()
    # Without a date and with fixed ids, the same comparison gives the same bytes.
    with matplotlib.rc_context({"svg.hashsalt": "committee", "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
