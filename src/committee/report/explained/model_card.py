"""Model card: the model, its training and evaluation, the versions, and its limits."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from committee.data.text import pluralize, quoted
from committee.report.explained.model_explanation import Explanation
from committee.report.inspection import changed_parameters
from committee.report.members import has_members
from committee.report.page import Section, Terms
from committee.report.provenance import known_rows_sentence, training_terms
from committee.voters.forest import Forest
from committee.voters.linear_leaves import LinearLeaves
from committee.voters.rounds import Rounds

FEW_ROWS, FEW_OF_A_CLASS = 200, 20
"""Rows, of all classes and of one, below which metrics are uncertain."""

_ESTIMATES = {"oof_score_": "out-of-fold", "oob_score_": "out-of-bag"}
"""Attributes that hold accuracy or R2 on rows that were not trained on."""


def model_card(found: Explanation, *, data: str = "") -> Section:
    """Make the section of a model and of the rows that it was evaluated on, which are called `data`."""
    return Section(
        "Model card",
        [
            Terms([*_model(found.model), *training_terms(found.model), *_evaluation(found, data), *_versions()]),
            Terms(limits(found), "Limits"),
        ],
    )


def _model(model: Any) -> list[tuple[str, str]]:
    committee = model.committee_
    size = (
        f"{pluralize(committee.n_voters, 'voter')}, {pluralize(committee.n_nodes, 'node')}, {committee.nbytes:,} bytes"
    )
    changed = ", ".join(f"{name}={value}" for name, value in changed_parameters(model))
    rows = [
        ("model", type(model).__name__),
        ("parameters", changed or "defaults"),
        ("predicts", _target(model)),
        ("columns", _columns(model)),
        ("size", size),
    ]
    if getattr(getattr(model, "provenance_", None), "estimate", None) is not None:
        return rows  # which is of as many rows or more
    metric = "accuracy" if hasattr(model, "classes_") else "R2"
    for attribute, kind in _ESTIMATES.items():
        value = getattr(model, attribute, None)
        if isinstance(value, float) and np.isfinite(value):
            rows.append(("estimate of its fit", f"{kind} {metric} {value:.4f}"))
    return rows


def _target(model: Any) -> str:
    if hasattr(model, "classes_"):
        labels = quoted([str(label) for label in model.classes_.tolist()])
        return f"{pluralize(len(model.classes_), 'class', 'classes')}: {labels}"
    n = model.committee_.voters.n_outputs
    return "a number" if n == 1 else f"{n} numbers"


def _columns(model: Any) -> str:
    if model.table_ is None:
        return f"{model.n_features_in_:,}"
    return f"{model.n_features_in_:,}: {quoted([model.table_.column(j) for j in range(model.n_features_in_)])}"


def _evaluation(found: Explanation, data: str) -> list[tuple[str, str]]:
    if found.evaluation is None:
        return [("evaluated on", "no rows: none with labels or numbers were given")]
    rows = pluralize(found.evaluation.n_rows, "row") + (f" of {data}" if data else "")
    metrics = [f"{each.heading} {each.value:.4g}" for each in found.evaluation.figures[:6]]
    known = found.known_rows
    if known is not None and known.n_judged:
        sample = "" if known.exact else f", estimated from {known.n_judged:,} of them"
        rows += f"; {known.share:.1%} of them are equal to training rows{sample}"
    return [("evaluated on", rows), ("metrics", ", ".join(metrics))]


def _versions() -> list[tuple[str, str]]:
    today = datetime.now(UTC).date().isoformat()
    libraries = ", ".join(f"{name} {version(name)}" for name in ("committee", "numpy", "scikit-learn"))
    return [("page made", today), ("versions", f"Python {platform.python_version()}, {libraries}")]


def limits(found: Explanation) -> list[tuple[str, str]]:
    """Limits of the model and of its metrics, each with its subject."""
    model, rows = found.model, list[tuple[str, str]]()
    if hasattr(model, "classes_"):
        rows.append(("classes", "Every row gets one of the classes above, even a row unlike all of them."))
    table = model.table_
    coded = [] if table is None else [table.column(j) for j in range(table.n_features) if table.categories[j]]
    if coded:
        rows.append(("categories", f"Categories unseen in training count as missing ({quoted(coded)})."))
    voters = model.committee_.voters
    if isinstance(voters, LinearLeaves):
        rows.append(("extrapolation", "Beyond the range of the training rows predictions follow the leaves' lines."))
    elif isinstance(voters, Forest | Rounds):
        rows.append(("extrapolation", "Beyond the range of the training rows predictions are constant."))
    is_uncalibrated = getattr(model, "temperature_", None) is None and not has_members(model)
    if hasattr(model, "classes_") and is_uncalibrated:
        rows.append(("probabilities", "They are not calibrated: check their reliability before they are used."))
    rows += _row_limits(found)
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
