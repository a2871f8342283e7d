"""What a fitted learner is: its parameters, size, voters, margins and features, as tables of text."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.names import listing
from committee.report.tables import Grid

__all__ = ["describe_margins", "inspection"]

MOST_FEATURES = 10
MOST_VOTERS = 5


def inspection(model: Any, *, file_bytes: int | None = None, margins: NDArray[np.float64] | None = None) -> list[Grid]:
    """Describe a fitted learner of this library.

    Parameters
    ----------
    model : CommitteeClassifier
        Fitted.
    file_bytes : int, default=None
        Size of the file it came from.
    margins : ndarray of shape (n,), default=None
        Its margins on some table, to be described.

    Returns
    -------
    list of Grid
        What it is, its parameters, its heaviest voters, its margins, its most used features - those it has.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import AdaBoostClassifier
    >>> from committee.report.inspection import inspection
    >>> model = AdaBoostClassifier(n_estimators=5).fit(*load_iris(return_X_y=True))
    >>> inspection(model)[0].rows[0]
    ('learner', 'AdaBoostClassifier')
    """
    found: list[Grid | None] = [
        _identity(model, file_bytes),
        _parameters(model),
        _voters(model),
        _further(model),
    ]
    if margins is not None:
        found.append(Grid("Margins", ("", ""), describe_margins(margins), "ll"))
    found.append(_features(model))
    return [grid for grid in found if grid is not None and grid.rows]


def _identity(model: Any, file_bytes: int | None) -> Grid:
    committee, table = model.committee_, model.table_
    n_categorical = int(np.count_nonzero(table.categorical))
    rows = [
        ("learner", type(model).__name__),
        ("classes", f"{len(model.classes_)}: {listing(str(label) for label in model.classes_)}"),
        ("columns", f"{table.n_features - n_categorical} numeric, {n_categorical} categorical"),
        ("voters", f"{committee.n_voters:,}" + _if_equal(committee.weights)),
        ("nodes", f"{committee.n_nodes:,} ({_span(committee.voters.n_nodes)} in a voter)"),
        ("memory", f"{committee.nbytes:,} bytes"),
    ]
    if file_bytes is not None:
        rows.append(("file", f"{file_bytes:,} bytes"))
    return Grid("Model", ("", ""), tuple(rows), "ll")


def _if_equal(weights: NDArray[np.float64]) -> str:
    return f", each of weight {weights[0]:.4g}" if np.ptp(weights) == 0.0 else ""


def _span(nodes: NDArray[np.int64]) -> str:
    low, high = int(nodes.min()), int(nodes.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _parameters(model: Any) -> Grid:
    """Parameters that differ from the defaults."""
    defaults = type(model)().get_params(deep=False)
    given = model.get_params(deep=False)
    changed = [(name, repr(v)) for name, v in given.items() if repr(v) != repr(defaults.get(name, ...))]
    rows = changed or [("(all)", "defaults")]
    return Grid("Parameters set", ("", ""), tuple(rows), "ll")


def _voters(model: Any) -> Grid | None:
    committee = model.committee_
    weights, nodes = np.asarray(committee.weights), np.asarray(committee.voters.n_nodes)
    total = float(np.abs(weights).sum()) or 1.0
    if np.ptp(weights) == 0.0:
        return None
    heaviest = np.argsort(-np.abs(weights), kind="stable")[:MOST_VOTERS]
    rows = [(str(t + 1), f"{weights[t]:.4f}", f"{abs(weights[t]) / total:.1%}", f"{nodes[t]:,}") for t in heaviest]
    title = f"Heaviest of {weights.size:,} voters (median weight {np.median(weights):.4f})"
    return Grid(title, ("voter", "weight", "share", "nodes"), tuple(rows), "rrrr")


def _further(model: Any) -> Grid:
    """Fitted figures that the learner keeps beyond its committee, such as an out-of-bag score."""
    rows: list[tuple[str, str]] = []
    for name in model._stored_attributes:
        value = getattr(model, name, None)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and "margin" in name and value.ndim == 1:
            known = value[np.isfinite(value)]
            rows += [(f"{name} {what}", text) for what, text in describe_margins(known)] if known.size else []
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
    return Grid(f"Most used features ({used} of {importances.size} used)", ("feature", "share of gain"), rows, "lr")
