"""The score of one class in a fitted graph of voters that answer at random."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted


def nested_score(estimator: Any, for_class: Any = None) -> tuple[slice, str]:
    """Nodes of the graph that add up to the score of a class, and the name of that score.

    The nodes are a slice of the arrays of ``estimator.graph_``, and of ``reach_``, ``bounds_`` and ``edges_``.
    `for_class` is the label whose score it is; None: the first's. Of two classes there is one score, for the second.

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    ValueError
        If it has no graph, or no score for that label.
    """
    check_is_fitted(estimator)
    graph = getattr(estimator, "graph_", None)
    if graph is None:
        raise ValueError(
            f"{type(estimator).__name__} has no graph of voters that answer at random; give a fitted "
            "ProbabilisticAdaBoostClassifier, BoostingTreeClassifier or MatryoshkaClassifier."
        )
    classes = estimator.classes_.tolist()
    scored = classes[1:] if len(classes) == 2 else classes
    label = scored[0] if for_class is None else for_class
    if label not in scored:
        one_of = "one of " if len(scored) > 1 else ""
        raise ValueError(f"for_class={label!r} has no score; choose {one_of}{', '.join(map(repr, scored))}.")
    start = graph.start.tolist()
    i = scored.index(label)
    return slice(start[i], start[i + 1]), f"score for {label}"
