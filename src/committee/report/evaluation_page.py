"""How good a fitted model is on rows with answers, as one HTML page: figures, where it errs, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from committee.report.evaluation import CONFIDENCE, accuracy_interval
from committee.report.explained.column_effects import effect_pictures
from committee.report.explained.model_card import model_card
from committee.report.explained.model_explanation import Explanation
from committee.report.explained.pictures import (
    confusion_picture,
    importance_picture,
    margin_picture,
    quantile_picture,
    ranking_pictures,
    reliability_picture,
    residual_pictures,
    residuals_by_prediction,
    set_section,
    wrong_rows,
)
from committee.report.known_rows import known_rows_sentence
from committee.report.number_figures import quantile_levels, quantile_sentences
from committee.report.page import Part, Section, render_page


def evaluation_page(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    title: str = "",
    data: str = "",
) -> str:
    """Render the page of a fitted model on rows whose answers are known.

    Parameters
    ----------
    model : fitted learner
        Of classes, numbers, or quantiles of one number.
    X : table or array-like (n, p)
        Rows that it was not trained on.
    y : array-like (n,)
        Their labels or numbers.
    title : str, default=""
        Heading; the class name by default.
    data : str, default=""
        What the rows are called, such as their file's name.

    Returns
    -------
    str
        A whole HTML page that needs nothing else, no network and no file.

    Raises
    ------
    ValueError
        If there is no row, there is not one answer for each, or several targets are predicted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import RandomForestClassifier
    >>> from committee.report.evaluation_page import evaluation_page
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = RandomForestClassifier(10, random_state=0).fit(X[::2], y[::2])
    >>> evaluation_page(model, X[1::2], y[1::2]).splitlines()[0]
    '<!DOCTYPE html>'
    """
    found = Explanation.of(model, X, y)
    name = type(model).__name__
    return render_page(
        title or name,
        [
            *answer_sections(found),
            *column_sections(found),
            model_card(found, data=data),
        ],
        lead=f"{name} on {rows_and_training(found, len(np.asarray(y)), data)}.",
        verdict=_verdict(found),
    )


def rows_and_training(found: Explanation, n_rows: int, data: str) -> str:
    """Words for the rows of a page, and for how many of them training has seen."""
    rows, known = f"{n_rows:,} rows" + (f" of {data}" if data else ""), found.known_rows
    if known is None or not known.n_judged:
        return f"{rows}, of which training should have seen none"
    if known.n_known:
        return f"{rows}, {known.share:.1%} of which training has seen, or equal ones"
    return f"{rows}, of which training has seen none" + ("" if known.exact else f", as {known.n_judged:,} of them tell")


def answer_sections(found: Explanation) -> list[Section]:
    """How good the answers are, and where they are wrong; nothing where the rows' own are not known."""
    if found.evaluation is None:
        return []
    return [
        Section("Figures", [replace(found.evaluation.grids()[0], title="Figures")]),  # the page says of which rows
        *([] if found.covered is None else [set_section(found.covered)]),
        *(_classes(found) if found.of_classes else _numbers(found)),
        Section("Rows that are most wrong", wrong_rows(found)),
    ]


def column_sections(found: Explanation) -> list[Section]:
    """What columns are used, and what they do."""
    sections = []
    if found.importances is not None:
        sections.append(Section("Columns that are used", [importance_picture(found.importances)]))
    if found.effects:
        pictures = effect_pictures(found.effects, found.shown_outputs, of_classes=found.of_classes)
        sections.append(Section("What columns do", [pictures]))
    return sections


def _classes(found: Explanation) -> list[Section]:
    assert found.evaluation is not None and found.evaluation.confusion is not None
    confusion = found.evaluation.confusion
    picture = confusion_picture(confusion)
    matrix: Part = confusion.mistakes_grid() if picture is None else picture
    probabilities: list[Part] = []
    if found.evaluation.reliability is not None:
        probabilities.append(reliability_picture(found.evaluation.reliability))
    if found.rankings:
        probabilities.append(ranking_pictures(found.rankings))
    if found.margins is not None:
        probabilities.append(margin_picture(found.margins))
    return [
        Section("Which classes are taken for which", [matrix, confusion.classes_grid()]),
        Section("Probabilities", probabilities),
    ]


def _numbers(found: Explanation) -> list[Section]:
    assert found.y is not None
    y = found.y.astype(np.float64)
    parts: list[Part] = []
    if levels := quantile_levels(found.model, found.predictions.shape[1]):
        parts.append(quantile_picture(y, found.predictions, levels))
    predicted = found.predicted.astype(np.float64)
    parts.append(residual_pictures(y, predicted))
    if (trend := residuals_by_prediction(y, predicted)) is not None:
        parts.append(trend)
    return [Section("Errors", parts)]


def _verdict(found: Explanation) -> list[str]:
    """The one figure to know, beside what could be had for nothing."""
    assert found.evaluation is not None
    by_name = {figure.name: figure for figure in found.evaluation.figures}
    learned = known_rows_sentence(found.model, found.known_rows, found.evaluation)
    caution = [] if learned is None else [f"But {learned}."]
    if found.covered is not None:
        caution = [found.covered.sentence, *caution]
    if found.of_classes:
        assert found.y is not None
        low, high = accuracy_interval(found.y, found.predicted)
        alone = by_name["accuracy_of_most_frequent"].value
        return [
            f"{by_name['accuracy'].value:.1%} of the rows are predicted right ({low:.1%} to {high:.1%} with "
            f"{CONFIDENCE:.0%} confidence); naming the most frequent class every time would give {alone:.1%}.",
            *caution,
        ]
    if quantile_levels(found.model, found.predictions.shape[1]):
        return quantile_sentences(found.evaluation.figures) + caution
    figure = by_name["rmse"]
    said = [f"{figure.heading}: {figure.value:.4g} ({figure.remark})."]
    if "r2" in by_name:
        said.append(f"R2: {by_name['r2'].value:.3f} ({by_name['r2'].remark}).")
    return said + caution
