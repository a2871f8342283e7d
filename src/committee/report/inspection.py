"""A fitted learner described: parameters, size, voters, margins and features, as tables of text."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.text import pluralize, quoted
from committee.report.grid import Grid
from committee.report.members import IN_MEMBERS_GRID, has_members, left_out_grid, members_grid
from committee.report.prediction_sets import model_inside, sets_grid
from committee.report.training_words import training_terms
from committee.vote.explain.contributions import node_means
from committee.vote.explain.rules import leaf_models, model_trees
from committee.voters.forest import Forest
from committee.voters.linear_leaves import LinearLeaves

MOST_FEATURES = 10
MOST_VOTERS = 5
MOST_LEAVES = 8
MOST_TERMS = 3


def inspection(model: Any, *, file_bytes: int | None = None, margins: NDArray[np.float64] | None = None) -> list[Grid]:
    """Describe a fitted learner of this library.

    Parameters
    ----------
    model : BaseClassifier or BaseRegressor
        Fitted.
    file_bytes : int, default=None
        Size of the file it came from.
    margins : ndarray of shape (n,), default=None
        Its margins on some table, to be described.

    Returns
    -------
    list of Grid
        Its kind and size, parameters, members or heaviest voters, margins, most used features, and of model trees the
        leaves of the first; those that it has.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import AdaBoostClassifier
    >>> from committee.report.inspection import inspection
    >>> model = AdaBoostClassifier(n_estimators=5).fit(*load_iris(return_X_y=True))
    >>> inspection(model)[0].rows[0]
    ('learner', 'AdaBoostClassifier')
    """
    sets = sets_grid(model)
    model = model_inside(model)
    grids: list[Grid | None] = [
        _identity(model, file_bytes),
        sets,
        Grid("Training", ("", ""), tuple(training_terms(model)) if hasattr(model, "provenance_") else (), "ll"),
        _parameters(model),
        *([members_grid(model), left_out_grid(model)] if has_members(model) else [_voters(model)]),
        _further(model),
    ]
    if margins is not None:
        grids.append(Grid("Margins", ("", ""), describe_margins(margins), "ll"))
    grids.append(_features(model))
    if has_model_trees(model):
        grids.append(_leaves(model))
    return [grid for grid in grids if grid is not None and grid.rows]


def _identity(model: Any, file_bytes: int | None) -> Grid:
    committee = model.committee_
    rows = [
        ("learner", type(model).__name__),
        _answers(model),
        ("columns", _columns(model)),
        ("voters", f"{committee.n_voters:,}" + _if_equal(committee.weights)),
        ("nodes", f"{committee.n_nodes:,} ({_span(committee.voters.n_nodes)} in a voter)"),
        *_lines(committee.voters),
        ("memory", f"{committee.nbytes:,} bytes"),
    ]
    if file_bytes is not None:
        rows.append(("file", f"{file_bytes:,} bytes"))
    return Grid("Model", ("", ""), tuple(rows), "ll")


def _lines(voters: Any) -> list[tuple[str, str]]:
    """Leaves of boosted trees that have lines, and how many these are."""
    if not isinstance(voters, LinearLeaves):
        return []
    n_leaves, n_lines = int((voters.forest.feature < 0).sum()), np.diff(voters.lines.start)
    return [("lines", f"{n_lines.sum():,} in {np.count_nonzero(n_lines):,} of {n_leaves:,} leaves")]


def _columns(model: Any) -> str:
    if model.table_ is None:  # voters that look at the table themselves
        return f"{model.n_features_in_}, read by each voter on its own"
    n_categorical = int(np.count_nonzero(model.table_.n_levels))
    return f"{model.table_.n_features - n_categorical} numeric, {n_categorical} categorical"


def _answers(model: Any) -> tuple[str, str]:
    """The classes that it chooses from, or the number of numbers it predicts."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        n = model.committee_.voters.n_outputs
        return ("predicts", "a number" if n == 1 else f"{n} numbers")
    return ("classes", f"{len(classes)}: {quoted(str(label) for label in classes)}")


def _if_equal(weights: NDArray[np.float64]) -> str:
    return f", each of weight {weights[0]:.4g}" if np.ptp(weights) == 0.0 else ""


def _span(nodes: NDArray[np.int64]) -> str:
    low, high = int(nodes.min()), int(nodes.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _parameters(model: Any) -> Grid:
    rows = changed_parameters(model) or [("(all)", "defaults")]
    return Grid("Parameters set", ("", ""), tuple(rows), "ll")


def changed_parameters(model: Any) -> list[tuple[str, str]]:
    """Parameters of a learner that differ from the defaults, and their values."""
    trained = dict.fromkeys(model.trained_parameters)  # another model, whose parameters are no setting of this one
    defaults = type(model)(**trained).get_params(deep=False)
    given = {name: value for name, value in model.get_params(deep=False).items() if name not in trained}
    return [(name, repr(v)) for name, v in given.items() if repr(v) != repr(defaults.get(name, ...))]


def _voters(model: Any) -> Grid | None:
    committee = model.committee_
    weights, nodes = np.asarray(committee.weights), np.asarray(committee.voters.n_nodes)
    total = float(np.abs(weights).sum()) or 1.0
    if np.ptp(weights) == 0.0:
        return None
    heaviest = np.argsort(-np.abs(weights), kind="stable")[:MOST_VOTERS]
    rows = [(str(t + 1), f"{weights[t]:.4f}", f"{abs(weights[t]) / total:.1%}", f"{nodes[t]:,}") for t in heaviest]
    title = f"Heaviest of {pluralize(weights.size, 'voter')} (median weight {np.median(weights):.4f})"
    return Grid(title, ("voter", "weight", "share", "nodes"), tuple(rows), "rrrr")


def _further(model: Any) -> Grid:
    """Fitted figures that the learner keeps beyond its committee, such as an out-of-bag score."""
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
    return Grid("Kept from training", ("", ""), tuple(rows), "ll")


def describe_margins(margins: NDArray[np.float64]) -> tuple[tuple[str, str], ...]:
    """Rows, mean, median, minimum and lower quartile of margins, and the share that is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.report.inspection import describe_margins
    >>> describe_margins(np.array([-0.5, 0.5, 1.0]))[1]
    ('mean', '0.333')
    """
    return (
        ("rows", f"{margins.size:,}"),
        ("mean", f"{margins.mean():.3f}"),
        ("median", f"{np.median(margins):.3f}"),
        ("minimum", f"{margins.min():.3f}"),
        ("lower quartile", f"{np.quantile(margins, 0.25):.3f}"),
        ("at most 0 (wrong or tied)", f"{np.mean(margins <= 0.0):.1%}"),
    )


def _features(model: Any) -> Grid | None:
    try:
        importances = np.asarray(model.feature_importances_)
    except AttributeError:
        return None
    most = [j for j in np.argsort(-importances, kind="stable")[:MOST_FEATURES] if importances[j] > 0.0]
    rows = tuple((model.table_.column(j), f"{importances[j]:.3f}") for j in most)
    used = int(np.count_nonzero(importances))
    title = f"Most used features ({used} of {importances.size} used)"
    return Grid(title, ("feature", importance_words(model)), rows, "lr")


def importance_words(model: Any) -> str:
    """What the importances of a fitted learner are shares of."""
    splits = "share of gain, lines aside" if isinstance(model.committee_.voters, LinearLeaves) else "share of gain"
    return "share of risk decrease" if has_model_trees(model) else splits


def has_model_trees(model: Any) -> bool:
    """Whether a fitted learner is made of model trees, with the record that explaining them takes."""
    if isinstance(model.committee_.voters, Forest):  # as of any model that has seen one class alone
        return False
    # of the class: on the model the property would make the whole table
    return hasattr(type(model), "leaf_models_") and model_trees(model).record is not None


def _leaves(model: Any) -> Grid:
    """The leaves of the first model tree, each with the class elected at the mean of its rows, and its score."""
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
        score = score_in_words(intercept, scores[best, -len(design) :].row(0), names, importance)
        rows.append((str(leaf), shorten(rule, 140, placeholder=" ..."), f"{n:,}", f"{label}: {score}"))
    trees = len(members.forest)
    title = f"Largest of {pluralize(leaves.height, 'leaf', 'leaves')}" + (
        f" of the first of {trees:,} trees" if trees > 1 else ""
    )
    return Grid(title, ("leaf", "rule", "rows", "score for"), tuple(rows), "rlrl")


def score_in_words(
    intercept: float, coefficients: Sequence[float], names: Sequence[str], importance: NDArray[np.float64]
) -> str:
    """A linear score as text, its terms by the importance of their columns, the least important counted.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.report.inspection import score_in_words
    >>> score_in_words(-1.5, [0.25, 0.0, -2.0], ["age", "size", "colour = red"], np.array([0.1, 0.2, 0.7]))
    '-1.5 - 2 (colour = red) + 0.25 age'
    """
    used = [c for c in np.argsort(-importance, kind="stable").tolist() if coefficients[c] != 0.0]
    terms = [f"{intercept:.3g}"]
    for c in used[:MOST_TERMS]:
        name = f"({names[c]})" if " = " in names[c] else names[c]
        terms.append(f"{'-' if coefficients[c] < 0 else '+'} {abs(coefficients[c]):.3g} {name}")
    if len(used) > MOST_TERMS:
        terms.append(f"+ {len(used) - MOST_TERMS} more")
    return " ".join(terms)
