"""Description of a fitted learner as tables: parameters, size, voters, margins, features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

import numpy as np

from committee.data.number_types import F64
from committee.data.text import pluralize, quoted
from committee.report.members import IN_MEMBERS_GRID, has_members, left_out_grid, members_grid
from committee.report.page import Grid
from committee.report.prediction_sets import model_inside, sets_grid
from committee.report.provenance import training_terms
from committee.vote.explain.contributions import node_means
from committee.vote.explain.rules import leaf_models, model_coefficients, model_trees
from committee.vote.margin_distribution import MarginDistribution
from committee.voters.forest import Forest
from committee.voters.rounds import LinearLeaves

MOST_FEATURES = 10
MOST_VOTERS = 5
MOST_LEAVES = 8
MOST_TERMS = 3


def inspection(
    model: Any, *, file_bytes: int | None = None, margins: F64 | None = None, sample_weight: F64 | None = None
) -> list[Grid]:
    inside, committee = model_inside(model), model_inside(model).committee_
    grids: list[Grid | None] = [
        _summary(inside, file_bytes),
        sets_grid(model),
        Grid("Training", ("", ""), tuple(training_terms(inside)) if hasattr(inside, "provenance_") else (), "ll"),
        Grid("Parameters set", ("", ""), tuple(changed_parameters(inside) or [("(all)", "defaults")]), "ll"),
        *([members_grid(inside), left_out_grid(inside)] if has_members(inside) else [_heaviest_voters(committee)]),
        _stored_values(inside),
        None if margins is None else Grid("Margins", ("", ""), describe_margins(margins, sample_weight), "ll"),
        _features(inside),
        _leaves(inside) if has_model_trees(inside) else None,
    ]
    return [grid for grid in grids if grid is not None and grid.rows]


def _summary(model: Any, file_bytes: int | None) -> Grid:
    committee, classes = model.committee_, getattr(model, "classes_", None)
    voters, weights, n_nodes = committee.voters, committee.weights, committee.voters.n_nodes
    low, high = int(n_nodes.min()), int(n_nodes.max())
    rows = [("learner", type(model).__name__)]
    if classes is None:
        rows.append(("predicts", "a number" if voters.n_outputs == 1 else f"{voters.n_outputs} numbers"))
    else:
        rows.append(("classes", f"{len(classes)}: {quoted(str(label) for label in classes)}"))
    if model.table_ is None:
        rows.append(("columns", f"{model.n_features_in_}, read by the voters themselves"))
    else:
        table = model.table_.source
        n_categorical = int(np.count_nonzero(table.n_levels))
        derived = model.table_.n_derived
        more = f", {derived} derived" if derived else ""
        rows.append(("columns", f"{table.n_features - n_categorical} numeric, {n_categorical} categorical{more}"))
    equal = f", each of weight {weights[0]:.4g}" if np.ptp(weights) == 0.0 else ""
    span = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    rows += [("voters", f"{committee.n_voters:,}{equal}"), ("nodes", f"{committee.n_nodes:,} ({span} per voter)")]
    if isinstance(voters, LinearLeaves):
        n_leaves, n_lines = int((voters.forest.feature < 0).sum()), np.diff(voters.lines.start)
        rows.append(("lines", f"{n_lines.sum():,} in {np.count_nonzero(n_lines):,} of {n_leaves:,} leaves"))
    rows.append(("memory", f"{committee.nbytes:,} bytes"))
    if file_bytes is not None:
        rows.append(("file", f"{file_bytes:,} bytes"))
    return Grid("Model", ("", ""), tuple(rows), "ll")


def changed_parameters(model: Any) -> list[tuple[str, str]]:
    trained = dict.fromkeys(model.trained_parameters)  # another model, not a setting of this one
    defaults = type(model)(**trained).get_params(deep=False)
    given = {name: value for name, value in model.get_params(deep=False).items() if name not in trained}
    return [(name, repr(v)) for name, v in given.items() if repr(v) != repr(defaults.get(name, ...))]


def _heaviest_voters(committee: Any) -> Grid | None:
    weights, nodes = np.asarray(committee.weights), np.asarray(committee.voters.n_nodes)
    total = float(np.abs(weights).sum()) or 1.0
    if np.ptp(weights) == 0.0:
        return None
    heaviest = np.argsort(-np.abs(weights), kind="stable")[:MOST_VOTERS]
    rows = [(str(t + 1), f"{weights[t]:.4f}", f"{abs(weights[t]) / total:.1%}", f"{nodes[t]:,}") for t in heaviest]
    title = f"Heaviest of {pluralize(weights.size, 'voter')} (median weight {np.median(weights):.4f})"
    return Grid(title, ("voter", "weight", "share", "nodes"), tuple(rows), "rrrr")


def _stored_values(model: Any) -> Grid:
    rows: list[tuple[str, str]] = []
    for name, value in model.stored_values().items():
        if name in IN_MEMBERS_GRID:
            continue
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and name.endswith("margins_") and value.ndim == 1:
            known = value[np.isfinite(value)]
            rows += [(f"{name} {what}", text) for what, text in describe_margins(known)] if known.size else []
        elif isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.ndim == 1 and 0 < value.size <= 10:
            rows.append((name, ", ".join(f"{number:.4g}" for number in value.tolist())))
        elif isinstance(value, float):
            rows.append((name, f"{value:.4g}"))
        elif isinstance(value, int | str):
            rows.append((name, str(value)))
    return Grid("Fitted attributes", ("", ""), tuple(rows), "ll")


def describe_margins(margins: F64, weights: F64 | None = None) -> tuple[tuple[str, str], ...]:
    figures: tuple[float, ...]
    if weights is None:
        rows = "rows", f"{margins.size:,}"
        figures = margins.mean(), np.median(margins), margins.min(), np.quantile(margins, 0.25)
        wrong = float(np.mean(margins <= 0.0))
    else:
        found = MarginDistribution(margins, weights)
        rows, wrong = ("rows with weight", f"{found.n_rows:,}"), found.nu(0.0)
        figures = found.mean, found.median, found.minimum, found.quantile(0.25)
    names = ("mean", "median", "minimum", "lower quartile")
    texts = (f"{figure:.3f}" for figure in figures)
    return (rows, *zip(names, texts, strict=True), ("at most 0 (wrong or tied)", f"{wrong:.1%}"))


@dataclass(frozen=True, eq=False)
class Importances:
    columns: tuple[str, ...]
    shares: F64
    measure: str

    @classmethod
    def of(cls, model: Any) -> Importances | None:
        try:
            shares = np.asarray(model.feature_importances_, dtype=np.float64)
        except AttributeError:
            return None
        if not shares.any():
            return None
        lines = isinstance(model.committee_.voters, LinearLeaves)
        measure = "share of gain, without linear functions" if lines else "share of gain"
        columns = tuple(model.table_.source.column(j) for j in range(len(shares)))
        return cls(columns, shares, "share of risk decrease" if has_model_trees(model) else measure)

    @property
    def order(self) -> list[int]:
        ranked = np.argsort(-self.shares, kind="stable")
        return [j for j in ranked.tolist() if self.shares[j] > 0.0]


def _features(model: Any) -> Grid | None:
    found = Importances.of(model)
    if found is None:
        return None
    rows = tuple((found.columns[j], f"{found.shares[j]:.3f}") for j in found.order[:MOST_FEATURES])
    title = f"Most used features ({len(found.order)} of {len(found.columns)} used)"
    return Grid(title, ("feature", found.measure), rows, "lr")


def has_model_trees(model: Any) -> bool:
    if isinstance(model.committee_.voters, Forest):  # as of any model fitted on one class
        return False
    # of the class, as the property of the model would compute the whole table
    return hasattr(type(model), "leaf_models_") and model_trees(model).record is not None


def _leaves(model: Any) -> Grid:
    members = model_trees(model)
    frame = leaf_models(members, model.classes_, model.table_, [0])
    design = members.design
    names, importance = design.names(model.table_), np.asarray(model.feature_importances_)[design.source]
    mean = node_means(members, 0)
    rows = []
    leaves = frame.unique("leaf", keep="first", maintain_order=True).sort("rows", descending=True, maintain_order=True)
    for leaf, rule, n in leaves[["leaf", "rule", "rows"]].rows()[:MOST_LEAVES]:
        scores = frame.filter(frame["leaf"] == leaf)
        best = int(np.argmax(mean[leaf]))
        label, intercept = scores["class"][best], scores["intercept"][best]
        score = score_in_words(intercept, model_coefficients(scores, design)[best].tolist(), names, importance)
        rows.append((str(leaf), shorten(rule, 140, placeholder=" ..."), f"{n:,}", f"{label}: {score}"))
    trees = len(members.forest)
    of_trees = f" of the first of {trees:,} trees" if trees > 1 else ""
    title = f"Largest of {pluralize(leaves.height, 'leaf', 'leaves')}{of_trees}"
    return Grid(title, ("leaf", "rule", "rows", "score for"), tuple(rows), "rlrl")


def score_in_words(intercept: float, coefficients: Sequence[float], names: Sequence[str], importance: F64) -> str:
    used = [c for c in np.argsort(-importance, kind="stable").tolist() if coefficients[c] != 0.0]
    terms = [f"{intercept:.3g}"]
    for c in used[:MOST_TERMS]:
        name = f"({names[c]})" if " = " in names[c] else names[c]
        terms.append(f"{'-' if coefficients[c] < 0 else '+'} {abs(coefficients[c]):.3g} {name}")
    if len(used) > MOST_TERMS:
        terms.append(f"+ {len(used) - MOST_TERMS} more")
    return " ".join(terms)
