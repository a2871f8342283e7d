"""A model card: what the model is, what it was judged by, by which versions, and where it must not be trusted."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from committee.data.counts import counted
from committee.data.names import listing
from committee.report.explained.explanation import Explanation
from committee.report.inspection import changed_parameters
from committee.report.known_rows import known_rows_sentence
from committee.report.members import has_members
from committee.report.page import Section, Terms
from committee.report.training_words import training_terms
from committee.voters.forest import Forest
from committee.voters.linear_leaves import LinearLeaves
from committee.voters.rounds import Rounds

FEW_ROWS, FEW_OF_A_CLASS = 200, 20
"""Rows below which figures say little."""

_ESTIMATES = {
    "oof_score_": "on rows that each fit had not seen",
    "oob_score_": "on rows out of bag",
}
"""Attributes that hold accuracy or R2 on rows not trained on, and what these rows were."""


def model_card(found: Explanation, *, data: str = "") -> Section:
    """Terms and limits of a model, and of what it was judged by."""
    return Section(
        "Model card",
        [
            Terms([*_model(found.model), *training_terms(found.model), *_judged(found, data), *_made()]),
            Terms(limits(found), "Limits"),
        ],
    )


def _model(model: Any) -> list[tuple[str, str]]:
    committee = model.committee_
    size = f"{counted(committee.n_voters, 'voter')}, {counted(committee.n_nodes, 'node')}, {committee.nbytes:,} bytes"
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
    name = "accuracy" if hasattr(model, "classes_") else "R2"
    for attribute, words in _ESTIMATES.items():
        value = getattr(model, attribute, None)
        if isinstance(value, float) and np.isfinite(value):
            rows.append(("estimate of its fit", f"{name} {value:.4f} {words}"))
    return rows


def _target(model: Any) -> str:
    if hasattr(model, "classes_"):
        labels = listing([str(label) for label in model.classes_.tolist()])
        return f"{counted(len(model.classes_), 'class', 'classes')}: {labels}"
    n = model.committee_.voters.n_outputs
    return "a number" if n == 1 else f"{n} numbers"


def _columns(model: Any) -> str:
    if model.table_ is None:
        return f"{model.n_features_in_:,}"
    return f"{model.n_features_in_:,}: {listing([model.table_.column(j) for j in range(model.n_features_in_)])}"


def _judged(found: Explanation, data: str) -> list[tuple[str, str]]:
    if found.evaluation is None:
        return [("judged by", "nothing on this page: no rows with answers were given")]
    rows = counted(found.evaluation.n_rows, "row") + (f" of {data}" if data else "")
    figures = [f"{each.heading} {each.value:.4g}" for each in found.evaluation.figures[:6]]
    known = found.known_rows
    if known is not None:
        how = "" if known.exact else f", told by {known.n_judged:,} of them"
        rows += f"; {known.share:.1%} of them are rows of the training, or equal to some{how}" if known.n_judged else ""
    return [("judged by", rows), ("figures", ", ".join(figures))]


def _made() -> list[tuple[str, str]]:
    today = datetime.now(UTC).date().isoformat()
    libraries = ", ".join(f"{name} {version(name)}" for name in ("committee", "numpy", "scikit-learn"))
    return [("page made", today), ("versions", f"Python {platform.python_version()}, {libraries}")]


def limits(found: Explanation) -> list[tuple[str, str]]:
    """What the model cannot do, and what the figures do not say, each with its subject."""
    model, said = found.model, []
    if hasattr(model, "classes_"):
        said.append(("classes", "It answers with one of the classes above, whatever a row is."))
    said += _limits_of_columns(model)
    voters = model.committee_.voters
    if isinstance(voters, LinearLeaves):
        text = "Beyond the numbers that it was trained on its lines go on; nothing says that they should."
        said.append(("beyond", text))
    elif isinstance(voters, Forest | Rounds):
        said.append(("beyond", "Beyond the numbers that it was trained on, it answers as at their ends."))
    members = has_members(model)  # each of which has a temperature of its own
    if hasattr(model, "classes_") and not members and getattr(model, "temperature_", None) is None:
        text = "They have no temperature: see whether they mean what they say before they are used."
        said.append(("probabilities", text))
    said += _limits_of_rows(found)
    said.append(("causes", "What columns do is what they do in the model. It is no statement of causes."))
    return said


def _limits_of_columns(model: Any) -> list[tuple[str, str]]:
    table = model.table_
    if table is None:
        return []
    coded = [table.column(j) for j in range(table.n_features) if table.categories[j] is not None]
    if not coded:
        return []
    return [("categories", f"One that training did not have counts as missing ({listing(coded)}).")]


def _limits_of_rows(found: Explanation) -> list[tuple[str, str]]:
    if found.y is None:
        return []
    said = []
    if found.evaluation is not None:
        learned = known_rows_sentence(found.model, found.known_rows, found.evaluation)
        said += [] if learned is None else [("known rows", learned[0].upper() + learned[1:] + ".")]
    if len(found.y) < FEW_ROWS:
        text = f"The figures are of {counted(len(found.y), 'row')}: another such sample could well say something else."
        said.append(("few rows", text))
    if found.of_classes:
        labels, counts = np.unique(found.y, return_counts=True)
        named = list(zip(labels.tolist(), counts.tolist(), strict=True))
        rare = [f"{label} ({n:,})" for label, n in named if n < FEW_OF_A_CLASS]
        unseen = [str(label) for label in found.model.classes_.tolist() if label not in set(labels.tolist())]
        if rare:
            said.append(("rare classes", f"Their figures say little: {', '.join(rare[:10])}."))
        if unseen:
            said.append(("classes without a row", f"The figures say nothing of {', '.join(unseen[:10])}."))
    return said
