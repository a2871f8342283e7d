"""One score of a fitted learner of voters that answer at random, as pictures need it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from committee.report.displays.voter_words import voter_words

F64 = NDArray[np.float64]


@dataclass(frozen=True)
class NestedScore:
    """The voters of one score, numbered from 0, and where their answers lead.

    Attributes
    ----------
    first : int
        Node of the learner's graph that is voter 0.
    words : list of str (T,)
        What each voter asks.
    following : int array (T, 2)
        Where + and - lead: a later voter, or -1 for nowhere.
    vote : float64 array (T, 2)
        What + and - add to the score.
    reach : float64 array (T,)
        Share of training rows that meet each voter.
    bounds, edges : float64 array (T,)
        The bound after each voter, and each voter's edge.
    dolls : list of list of int, or None
        Voters of each collected sub-tree; None for a learner that collects none.
    subject : str
        What the score speaks for.
    """

    first: int
    words: list[str]
    following: NDArray[np.int64]
    vote: F64
    reach: F64
    bounds: F64
    edges: F64
    dolls: list[list[int]] | None
    subject: str

    @classmethod
    def of(cls, estimator: Any, for_class: Any = None) -> NestedScore:
        """One score of a fitted learner.

        Parameters
        ----------
        estimator : ProbabilisticAdaBoostClassifier, BoostingTreeClassifier or MatryoshkaClassifier
            Fitted.
        for_class : class label, default=None
            Whose score, of more than two classes; None: the first's. Of two classes there is one score, for the second.

        Raises
        ------
        NotFittedError
            If it is not fitted.
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
        d, label = _place(estimator.classes_.tolist(), for_class)
        first, end = int(graph.start[d]), int(graph.start[d + 1])
        following = graph.next[first:end].astype(np.int64)
        dolls = getattr(estimator, "dolls_", None)
        return cls(
            first,
            [voter_words(graph.voters, t, estimator.table_) for t in range(first, end)],
            np.where(following >= 0, following - first, -1),
            graph.vote[first:end],
            estimator.reach_[first:end],
            estimator.bounds_[first:end],
            estimator.edges_[first:end],
            None if dolls is None else [[t - first for t in doll] for doll in dolls if first <= doll[0] < end],
            f"score for {label}",
        )


def _place(classes: list[Any], for_class: Any) -> tuple[int, Any]:
    """The score that speaks for a class, and that class."""
    speaking = classes[1:] if len(classes) == 2 else classes
    if for_class is None:
        return 0, speaking[0]
    if for_class not in speaking:
        there = ", ".join(map(repr, speaking))
        raise ValueError(
            f"for_class={for_class!r} has no score; choose {'one of ' if len(speaking) > 1 else ''}{there}."
        )
    return speaking.index(for_class), for_class
