"""HTML pages of a fitted model: its description, its evaluation on labelled rows, and the explanation of one row."""

from __future__ import annotations

import platform
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from committee.data.number_types import F64
from committee.data.text import pluralize, quoted
from committee.report.column_effects import encoded_rows
from committee.report.displays.curves import EvaluationDisplay, RiskPathDisplay
from committee.report.displays.ensemble_text import is_small
from committee.report.displays.small_ensembles import SmallEnsembleDisplay
from committee.report.displays.trials import TrialsDisplay
from committee.report.drawing.rows import Bar, bars, rest_bar
from committee.report.drawing.scale import format_number, format_signed
from committee.report.drawing.svg import AGAINST, FOR, REST, legend
from committee.report.explanation import Explanation, RowExplanation, row_grid, row_sentences
from committee.report.figures import CONFIDENCE, accuracy_interval, quantile_levels, quantile_sentences
from committee.report.inspection import changed_parameters, has_model_trees, inspection
from committee.report.members import MemberAnswers, has_members, rows_grids, score_name
from committee.report.model_pictures import (
    TreeLeaves,
    contribution_picture,
    effect_pictures,
    importance_picture,
    leaves_picture,
    terms_picture,
    trials_picture,
)
from committee.report.page import Part, Picture, Section, Terms, render_page
from committee.report.prediction_pictures import (
    confusion_picture,
    learning_curves,
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
from committee.report.provenance import known_rows_sentence, training_terms
from committee.voters.forest import Forest
from committee.voters.rounds import LinearLeaves, Rounds

FEW_ROWS, FEW_OF_A_CLASS = 200, 20
"""Rows, of all classes and of one, below which metrics are uncertain."""

_ESTIMATES = {"oof_score_": "out-of-fold", "oob_score_": "out-of-bag"}


def evaluation_page(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    offset: F64 | None = None,
    sample_weight: F64 | None = None,
    threshold: float | None = None,
    costs: tuple[float, float] | None = None,
    title: str = "",
    data: str = "",
) -> str:
    """Render a self-contained HTML page of the evaluation of a fitted model on labelled rows, named `data`."""
    found = Explanation.of(model, X, y, offset, sample_weight=sample_weight, threshold=threshold, costs=costs)
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
    offset: F64 | None = None,
    sample_weight: F64 | None = None,
    name: str | None = None,
    data: str = "",
    file_bytes: int | None = None,
    margins: F64 | None = None,
) -> str:
    """Render a self-contained HTML page that describes a fitted learner.

    Rows `X`, named `data`, are preferably none of the training.
    """
    found = Explanation.of(model, X, y, offset, sample_weight=sample_weight)
    kind = type(found.model).__name__
    lead = f"{kind}, described by the model alone. Rows add contributions of columns, labelled rows also metrics."
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
    shown, (n_rest, rest) = found.largest(most)
    lines = [Bar(name, value, format_signed(value)) for name, value in shown]
    lines += rest_bar(n_rest, rest, format_signed(rest))
    start, end = float(found.contributions[-1]), float(found.contributions.sum())
    subject = found.subject.partition(": ")[0]
    return Picture(
        "",
        f"From {format_number(start)} ({found.start}) to {format_number(end)}, the {subject}: what each column adds.",
        legend([(FOR, "adds"), (AGAINST, "subtracts"), (REST, "all other columns")])
        + bars(lines, "; ".join(f"{bar.name} {bar.text}" for bar in lines), most_lines=2),
    )


def _rows_and_training(found: Explanation, n_rows: int, data: str) -> str:
    rows, known = f"{n_rows:,} rows" + (f" of {data}" if data else ""), found.known_rows
    rows += ", which have weights" if found.weights is not None else ""
    if known is None or not known.n_judged:
        return f"{rows}, which should not have been used in training"
    if known.n_known:
        return f"{rows}, {known.share:.1%} of which were used in training or equal rows that were"
    sample = "" if known.exact else f", judged by {known.n_judged:,} of them"
    return f"{rows}, none of which was used in training{sample}"


def _evaluation_sections(found: Explanation) -> list[Section]:
    if found.evaluation is None:
        return []
    metrics, thresholds = replace(found.evaluation.grids()[0], title="Metrics"), found.evaluation.thresholds
    return [
        Section("Metrics", [metrics] if thresholds is None else [metrics, thresholds.grid()]),
        *([] if found.covered is None else [set_section(found.covered)]),
        *(_class_sections(found) if found.of_classes else _number_sections(found)),
        Section("Largest errors", wrong_rows(found)),
    ]


def _column_sections(found: Explanation) -> list[Section]:
    importances = None if found.importances is None else importance_picture(found.importances)
    pictures = [each for each in (importances, contribution_picture(found)) if each is not None]
    sections = [Section("Feature importance", pictures)]
    if found.effects:
        effects = effect_pictures(found.effects, found.shown_outputs, of_classes=found.of_classes)
        sections.append(Section("Effects of columns", [effects]))
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
    y, predicted = found.y.astype(np.float64), found.predicted.astype(np.float64)
    parts: list[Part] = []
    if levels := quantile_levels(found.model, found.predictions.shape[1]):
        parts.append(quantile_picture(y, found.predictions, levels, found.weights))
    if found.weights is not None:
        y, predicted = y[found.weights > 0.0], predicted[found.weights > 0.0]
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
        interval = ""
        if found.weights is None:
            low, high = accuracy_interval(found.y, found.predicted)
            interval = f" ({CONFIDENCE:.0%} CI {low:.1%} to {high:.1%})"
        baseline = by_name["accuracy_of_most_frequent"].value
        return [
            f"Accuracy {by_name['accuracy'].value:.1%}{interval}; always predicting the most frequent class gives"
            f" {baseline:.1%}.",
            *caution,
        ]
    if quantile_levels(found.model, found.predictions.shape[1]):
        return quantile_sentences(found.evaluation.figures) + caution
    rmse, r2 = by_name["rmse"], by_name.get("r2")
    sentences = [f"RMSE: {rmse.value:.4g} ({rmse.remark})."]
    return sentences + ([f"R2: {r2.value:.3f} ({r2.remark})."] if r2 is not None else []) + caution


def _tables(found: Explanation, file_bytes: int | None, margins: F64 | None) -> Section:
    given: dict[str, Any] = {"file_bytes": file_bytes, "margins": margins, "sample_weight": found.weights}
    grids = inspection(found.conformal or found.model, **given)
    # a picture shows the most used features
    parts: list[Part] = [grid for grid in grids if not grid.title.startswith("Most used features")]
    if getattr(found.model, "evals_result_", None):
        parts.append(learning_curves(EvaluationDisplay.of(found.model)))
    if len((getattr(found.model, "trials_", None) or {}).get("loss", [])) > 1:
        parts.append(trials_picture(TrialsDisplay.of(found.model)))
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
        parts.append(terms_picture(found.model, encoded))
    return parts


def _members(found: Explanation) -> list[Section]:
    if found.X is None or not has_members(found.model):
        return []
    y = found.y if found.y is None or found.offset is None else found.y / np.exp(found.offset)
    answers = MemberAnswers.of(found.model, found.X, y)
    parts: list[Part] = [*rows_grids(answers), *member_pictures(answers)]
    return [Section("Members on these rows", parts)]


def model_card(found: Explanation, *, data: str = "") -> Section:
    libraries = ", ".join(f"{name} {version(name)}" for name in ("committee", "numpy", "scikit-learn"))
    terms = [
        *_model_terms(found.model),
        *training_terms(found.model),
        *_evaluation_terms(found, data),
        ("page made", datetime.now(UTC).date().isoformat()),
        ("versions", f"Python {platform.python_version()}, {libraries}"),
    ]
    return Section("Model card", [Terms(terms), Terms(limits(found), "Limits")])


def _model_terms(model: Any) -> list[tuple[str, str]]:
    committee = model.committee_
    size = (
        f"{pluralize(committee.n_voters, 'voter')}, {pluralize(committee.n_nodes, 'node')}, {committee.nbytes:,} bytes"
    )
    changed = ", ".join(f"{name}={value}" for name, value in changed_parameters(model))
    n = committee.voters.n_outputs
    target = "a number" if n == 1 else f"{n} numbers"
    if hasattr(model, "classes_"):
        labels = quoted([str(label) for label in model.classes_.tolist()])
        target = f"{pluralize(len(model.classes_), 'class', 'classes')}: {labels}"
    columns = f"{model.n_features_in_:,}"
    if model.table_ is not None:
        columns += f": {quoted([model.table_.source.column(j) for j in range(model.n_features_in_)])}"
    rows = [
        ("model", type(model).__name__),
        ("parameters", changed or "defaults"),
        ("predicts", target),
        ("columns", columns),
        ("size", size),
    ]
    if getattr(getattr(model, "provenance_", None), "estimate", None) is not None:
        return rows  # this estimate is on at least as many rows
    for attribute, kind in _ESTIMATES.items():
        value = getattr(model, attribute, None)
        if isinstance(value, float) and np.isfinite(value):
            rows.append(("estimate of its fit", f"{kind} {score_name(model)} {value:.4f}"))
    return rows


def _evaluation_terms(found: Explanation, data: str) -> list[tuple[str, str]]:
    if found.evaluation is None:
        return [("evaluated on", "no rows: none with labels or numbers were given")]
    rows = pluralize(found.evaluation.n_rows, "row") + (f" of {data}" if data else "")
    metrics = [f"{each.heading} {each.value:.4g}" for each in found.evaluation.figures[:6]]
    known = found.known_rows
    if known is not None and known.n_judged:
        sample = "" if known.exact else f", estimated from {known.n_judged:,} of them"
        rows += f"; {known.share:.1%} of them are equal to training rows{sample}"
    return [("evaluated on", rows), ("metrics", ", ".join(metrics))]


def limits(found: Explanation) -> list[tuple[str, str]]:
    model, rows = found.model, list[tuple[str, str]]()
    if hasattr(model, "classes_"):
        rows.append(("classes", "Every row gets one of the classes above, even a row unlike all of them."))
    table = None if model.table_ is None else model.table_.source
    if table is not None:
        columns = [j for j in range(table.n_features) if table.categories[j]]
        for counted, coded in (("missing", True), ("the mean of all rows", False)):
            if names := [table.column(j) for j in columns if (table.coded(j) is not None) is coded]:
                rows.append(("categories", f"Categories unseen in training count as {counted} ({quoted(names)})."))
    voters = model.committee_.voters
    if isinstance(voters, LinearLeaves | Forest | Rounds):
        rows.append(("extrapolation", "Beyond the range of the training rows predictions are constant."))
    is_uncalibrated = getattr(model, "temperature_", None) is None and not has_members(model)
    if hasattr(model, "classes_") and is_uncalibrated:
        rows.append(("probabilities", "Not calibrated: check their reliability before use."))
    rows += _row_limits(found)
    if found.offset is not None:
        text = (
            "Predictions and metrics are for the exposures of the rows, effects and contributions for an exposure of 1."
        )
        rows.append(("exposure", text))
    rows.append(("causes", "Effects of columns are those on the model's predictions, not causes."))
    return rows


def _row_limits(found: Explanation) -> list[tuple[str, str]]:
    if found.y is None:
        return []
    rows = []
    if found.evaluation is not None:
        known = known_rows_sentence(found.model, found.known_rows, found.evaluation)
        rows += [] if known is None else [("training rows", known[0].upper() + known[1:] + ".")]
    if len(found.y) < FEW_ROWS:
        text = f"The metrics are of {pluralize(len(found.y), 'row')}: those of another sample may differ much."
        rows.append(("few rows", text))
    if found.of_classes:
        labels, counts = np.unique(found.y, return_counts=True)
        named = list(zip(labels.tolist(), counts.tolist(), strict=True))
        rare = [f"{label} ({n:,})" for label, n in named if n < FEW_OF_A_CLASS]
        absent = [str(label) for label in found.model.classes_.tolist() if label not in set(labels.tolist())]
        if rare:
            rows.append(("rare classes", f"Their metrics are uncertain: {', '.join(rare[:10])}."))
        if absent:
            rows.append(("absent classes", f"Not evaluated: {', '.join(absent[:10])}."))
    return rows
