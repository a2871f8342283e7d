"""One call for a smaller vote of an ensemble that is trained already."""

from __future__ import annotations

from typing import Any, Literal

from numpy.typing import ArrayLike

from committee.learners.blend.blend import Blend
from committee.learners.trained.leaf_reweighter import LeafReweighter
from committee.learners.trained.pruning_levels import SMALL, Limits
from committee.learners.trained.reweighter import MarginReweighter, pruning_level
from committee.learners.trained.trained_ensemble import RowsGiven


def prune(
    ensemble: Any,
    X: Any,
    y: ArrayLike,
    *,
    level: Literal["leaf", "voter"] = "leaf",
    max_nodes: float | None = None,
    max_voters: int | None = None,
    min_gain: float | None = None,
    on: RowsGiven = "oob",
    objective: Any = "doom",
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> LeafReweighter | MarginReweighter:
    """Return a smaller vote, from one that is trained already and stays as it is.

    Parameters
    ----------
    ensemble : fitted classifier or Committee
        A learner of this library, or what `Committee.from_estimator` takes. A committee of ensembles has a `prune` of
        its own; here whole fits can be dropped, ``level="voter"``, by rows that it has not seen.
    X : table or array-like (n, p)
        Rows that `on` says more of.
    y : array-like (n,)
        Their labels.
    level : {"leaf", "voter"}, default="leaf"
        Part that is dropped. "leaf": trees and sub-trees, and all leaves that stay vote anew (`LeafReweighter`).
        "voter": whole voters, whatever they are, the others by new weights (`MarginReweighter`).
    max_nodes : float or int, default=None
        Nodes that stay: a share (0, 1] of the ensemble's, or a number. None: a tenth, or no limit if there is one of
        voters.
    max_voters : int, default=None
        Voters that stay; at the level of voters.
    min_gain : float, default=None
        Price of accuracy: the smallest vote is taken that is less than this below the best. None: the largest that the
        limits allow.
    on : {"oob", "train", "validation"}, default="oob"
        Rows that are given, see the two classes; out of bag needs an ensemble that knows which rows it drew.
    objective : str or Objective, default="doom"
        Of the new weights; at the level of voters.
    sample_weight : array-like (n,), default=None
        Row weights.
    n_jobs : int or None, default=None
        Threads that walk the voters.

    Returns
    -------
    LeafReweighter or MarginReweighter
        Fitted. Its `ensemble` is its own small committee, so that it takes no more room than that.

    Raises
    ------
    NotFittedError, TypeError, ValueError
        As from these classes; and if a limit is given that the level does not have.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from committee import prune
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(300, random_state=0).fit(X[::2], y[::2])
    >>> small = prune(forest, X[::2], y[::2], max_nodes=0.05)
    >>> small.committee_.n_nodes <= 0.05 * small.n_nodes_before_
    True
    """
    if isinstance(ensemble, Blend) and (level == "leaf" or not hasattr(ensemble, "classes_")):
        raise TypeError(
            f"ensemble is a {type(ensemble).__name__}, whose members are ensembles of several kinds; call its own "
            "prune(max_nodes=...), which needs no rows, or its distil."
        )
    if max_nodes is None and max_voters is None:
        max_nodes = SMALL
    limits = Limits(max_nodes, max_voters, min_gain)
    way = pruning_level(level)(on, objective, n_jobs)
    smaller: LeafReweighter | MarginReweighter = way.of_ensemble(ensemble, limits, X, y, sample_weight)
    return smaller
