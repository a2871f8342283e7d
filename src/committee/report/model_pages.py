"""HTML pages of a fitted model: its description, its evaluation on labelled rows, and the explanation of one row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.report.displays.curves import RiskPathDisplay
from committee.report.displays.ensemble_text import is_small
from committee.report.displays.small_ensembles import SmallEnsembleDisplay
from committee.report.drawing.rows import Bar, bars, rest_bar
from committee.report.drawing.scale import format_number, format_signed
from committee.report.drawing.svg import AGAINST, FOR, REST, legend
from committee.report.explained.column_effects import effect_pictures, encoded_rows
from committee.report.explained.model_card import model_card
from committee.report.explained.model_explanation import Explanation
from committee.report.explained.pictures import (
    confusion_picture,
    importance_picture,
    margin_picture,
    member_pictures,
    quantile_picture,
    ranking_pictures,
    reliability_picture,
    residual_pictures,
    residuals_by_prediction,
    set_section,
    wrong_rows,
)
from committee.report.explained.tree_leaves import TreeLeaves, leaf_terms, leaves_picture, terms_picture
from committee.report.figures import CONFIDENCE, accuracy_interval, quantile_levels, quantile_sentences
from committee.report.inspection import has_model_trees, inspection
from committee.report.member_tables import rows_grids
from committee.report.members import MemberAnswers, has_members
from committee.report.page import Part, Picture, Section, render_page
from committee.report.provenance import known_rows_sentence
from committee.report.row_explanation import RowExplanation, row_grid, row_sentences


def evaluation_page(model: Any, X: Any, y: ArrayLike, *, title: str = "", data: str = "") -> str:
    """Render a self-contained HTML page of the evaluation of a fitted model on labelled rows.

    `data` names the rows, such as by their file. The title is the class name by default.
    """
    found = Explanation.of(model, X, y)
    name = type(model).__name__
    return render_page(
        title or name,
        [*_evaluation_sections(found), *_column_sections(found), model_card(found, data=data)],
        lead=f"{name} on {_rows_and_training(found, len(np.asarray(y)), data)}.",
        verdict=_verdict(found),
    )


def render_model(
    model: Any,
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    name: str | None = None,
    data: str = "",
    file_bytes: int | None = None,
    margins: NDArray[np.float64] | None = None,
) -> str:
    """Render a self-contained HTML page that describes a fitted learner.

    Rows `X`, preferably not used in training, add the effects of columns and the disagreement of members; their labels
    or numbers `y` add the evaluation. `data` names the rows. `file_bytes` and `margins` are as for `inspection`.
    """
    found = Explanation.of(model, X, y)
    kind = type(found.model).__name__
    lead = f"{kind}, described by the model file alone. Rows add effects of columns, and labelled rows add metrics."
    if X is not None:
        lead = f"{kind} on {_rows_and_training(found, len(found.predictions), data)}."
    return render_page(
        name or type(model).__name__,
        [
            *_column_sections(found),
            Section("All trees", _all_trees(found)),
            Section("Leaves as text", _leaves(found)),
            *_members(found),
            *_evaluation_sections(found),
            _tables(found, file_bytes, margins),
            model_card(found, data=data),
        ],
        lead=lead,
    )


def row_page(model: Any, found: RowExplanation, *, row: str, title: str = "", most: int = 12) -> str:
    """Render a self-contained HTML page of the explanation of the row named `row`.

    At most so many columns (`most`) have a bar; the others are summed up in one bar.
    """
    return render_page(
        title or type(model).__name__,
        [
            Section("Contributions of the columns", [_contributions(found, most), row_grid(found, len(found.labels))]),
            model_card(Explanation.of(model)),
        ],
        lead=f"{row[:1].upper()}{row[1:]}: {found.remark}.",
        verdict=row_sentences(found),
    )


def _contributions(found: RowExplanation, most: int) -> Picture:
    from markupsafe import Markup

    shown, (n_rest, rest) = found.largest(most)
    lines = [Bar(name, value, format_signed(value)) for name, value in shown]
    lines += rest_bar(n_rest, rest, format_signed(rest))
    start, end = float(found.contributions[-1]), float(found.contributions.sum())
    subject = found.subject.partition(": ")[0]
    return Picture(
        "",
        f"From {format_number(start)} ({found.start}) to {format_number(end)}, the {subject}: what each column adds.",
        legend([(FOR, "adds"), (AGAINST, "subtracts"), (REST, "all other columns")])
        + bars(lines, "; ".join(f"{bar.name} {bar.text}" for bar in lines), most_lines=2)
        if lines
        else Markup(""),
    )


def _rows_and_training(found: Explanation, n_rows: int, data: str) -> str:
    rows, known = f"{n_rows:,} rows" + (f" of {data}" if data else ""), found.known_rows
    if known is None or not known.n_judged:
        return f"{rows}, which should not have been used in training"
    if known.n_known:
        return f"{rows}, {known.share:.1%} of which were used in training, or equal rows"
    sample = "" if known.exact else f", judged by {known.n_judged:,} of them"
    return f"{rows}, none of which was used in training{sample}"


def _evaluation_sections(found: Explanation) -> list[Section]:
    if found.evaluation is None:
        return []
    return [
        Section("Metrics", [replace(found.evaluation.grids()[0], title="Metrics")]),
        *([] if found.covered is None else [set_section(found.covered)]),
        *(_class_sections(found) if found.of_classes else _number_sections(found)),
        Section("Largest errors", wrong_rows(found)),
    ]


def _column_sections(found: Explanation) -> list[Section]:
    sections = []
    if found.importances is not None:
        sections.append(Section("Feature importance", [importance_picture(found.importances)]))
    if found.effects:
        pictures = effect_pictures(found.effects, found.shown_outputs, of_classes=found.of_classes)
        sections.append(Section("Effects of columns", [pictures]))
    return sections


def _class_sections(found: Explanation) -> list[Section]:
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
    return [Section("Confusion matrix", [matrix, confusion.classes_grid()]), Section("Probabilities", probabilities)]


def _number_sections(found: Explanation) -> list[Section]:
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
    assert found.evaluation is not None
    by_name = {figure.name: figure for figure in found.evaluation.figures}
    learned = known_rows_sentence(found.model, found.known_rows, found.evaluation)
    caution = [] if learned is None else [f"Caution: {learned}."]
    if found.covered is not None:
        caution = [found.covered.sentence, *caution]
    if found.of_classes:
        assert found.y is not None
        low, high = accuracy_interval(found.y, found.predicted)
        baseline = by_name["accuracy_of_most_frequent"].value
        return [
            f"Accuracy {by_name['accuracy'].value:.1%} ({CONFIDENCE:.0%} CI {low:.1%} to {high:.1%}); always predicting"
            f" the most frequent class gives {baseline:.1%}.",
            *caution,
        ]
    if quantile_levels(found.model, found.predictions.shape[1]):
        return quantile_sentences(found.evaluation.figures) + caution
    rmse, r2 = by_name["rmse"], by_name.get("r2")
    sentences = [f"RMSE: {rmse.value:.4g} ({rmse.remark})."]
    return sentences + ([f"R2: {r2.value:.3f} ({r2.remark})."] if r2 is not None else []) + caution


def _tables(found: Explanation, file_bytes: int | None, margins: NDArray[np.float64] | None) -> Section:
    grids = inspection(found.conformal or found.model, file_bytes=file_bytes, margins=margins)
    # a picture shows the most used features
    parts: list[Part] = [grid for grid in grids if not grid.title.startswith("Most used features")]
    if hasattr(found.model, "risk_path_"):
        caption = "Mean training risk after each step."
        svg = RiskPathDisplay.of(found.model).chart().svg("Curves of the mean training risk")
        parts.append(Picture("Training risk by boosting step", caption, svg))
    return Section("Model", parts)


def _all_trees(found: Explanation) -> list[Part]:
    if not is_small(found.model):
        return []
    display = SmallEnsembleDisplay.of(found.model, None if found.X is None else found.sampled_rows)
    caption = "Trees with the largest effect on the vote come first. Below each leaf: its value. Bars share one scale."
    return [Picture("", caption, display.sketch().svg(display.text))]


def _leaves(found: Explanation) -> list[Part]:
    if found.model.table_ is None:
        return []
    encoded = None if found.X is None else encoded_rows(found.model, found.sampled_rows)
    had_missing = None if encoded is None else np.asarray(np.isnan(encoded).any(axis=0))
    parts: list[Part] = []
    tree = TreeLeaves.of(found.model, had_missing)
    if tree is not None:
        parts.append(leaves_picture(tree))
    if encoded is not None and has_model_trees(found.model):
        parts.append(terms_picture(*leaf_terms(found.model, encoded)))
    return parts


def _members(found: Explanation) -> list[Section]:
    if found.X is None or not has_members(found.model):
        return []
    answers = MemberAnswers.of(found.model, found.X, found.y)
    parts: list[Part] = [*rows_grids(answers), *member_pictures(found.model, answers, found.X)]
    return [Section("Members on these rows", parts)]
