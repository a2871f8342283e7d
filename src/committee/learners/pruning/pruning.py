"""Smaller votes of a trained ensemble."""

from __future__ import annotations

from typing import Any, Literal, cast

from numpy.typing import ArrayLike

from committee.learners.blend.blend import Blend
from committee.learners.reweighting.leaf_reweighter import (
    DEFAULT_SHARE,
    LeafReweighter,
    LeafReweighterRegressor,
    Limits,
)
from committee.learners.reweighting.margin_reweighter import MarginReweighter, level_function
from committee.learners.trained_ensembles.trained_ensemble import RowsGiven, predicts_numbers


def prune(
    ensemble: Any,
    X: Any,
    y: ArrayLike,
    *,
    level: Literal["leaf", "subtree", "depth", "tree", "voter"] = "leaf",
    max_nodes: float | None = None,
    max_voters: int | None = None,
    min_gain: float | None = None,
    max_loss: float | None = None,
    metric: Any = None,
    quantile: float | None = None,
    on: RowsGiven = "oob",
    objective: Any = "doom",
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> LeafReweighter | LeafReweighterRegressor | MarginReweighter:
    """Return a smaller vote of a trained ensemble, which is not changed.

    Parameters
    ----------
    ensemble : fitted classifier or regressor, Committee or RegressionCommittee
        A learner of this library, or any that `Committee.from_estimator` or `RegressionCommittee.from_estimator` takes.
        A `CommitteeClassifier` takes only ``level="voter"``, which drops whole members' fits by rows that it has not
        seen; its own `prune` needs no rows, and is the only one for a `CommitteeRegressor`.
    X : table or array-like (n, p)
        Rows as `on` describes them.
    y : array-like (n,)
        Labels, or numbers.
    level : {"leaf", "subtree", "depth", "tree", "voter"}, default="leaf"
        Part that is dropped. "leaf": trees and sub-trees, whichever does best in cross-validation. "subtree": the
        weakest sub-trees. "depth": the lowest levels. "tree": whole trees. These four refit the votes of all leaves
        (`LeafReweighter`, `LeafReweighterRegressor`). "voter": whole voters of any kind, with new weights for the
        others (`MarginReweighter`); for classifiers.
    max_nodes : float or int, default=None
        Most nodes: a share (0, 1] of the ensemble's, or a number. None: a tenth without `max_voters` and `max_loss`.
    max_voters : int, default=None
        Most voters, with ``level="voter"``.
    min_gain : float, default=None
        Decrease of accuracy or R^2 that is too large: the smallest vote is chosen whose score is less than this below
        the best. None: the largest within the limits.
    max_loss : float, default=None
        Largest accepted loss increase by `metric`, see `LeafReweighter`; sizes are tried from `max_nodes` (a third if
        None) down. 0.005 is half a point of accuracy; in regression, 0.01 is a mean squared error one percent larger.
        Few rows have large standard errors, and need a larger value. ``level="voter"`` drops a fifth of the voters at a
        time.
    metric : str or callable, default=None
        Metric of `max_loss`, see `LeafReweighter` and `LeafReweighterRegressor`. None: accuracy, squared error, or
        pinball loss if the ensemble predicts a quantile.
    quantile : float, default=None
        Level of the quantile that a regression ensemble predicts, if its parameters do not have it.
    on : {"oob", "train", "validation"}, default="oob"
        Origin of the rows, see `LeafReweighter`; "oob" needs an ensemble whose draws are stored or can be repeated.
    objective : str or Objective, default="doom"
        Objective of the new weights, with ``level="voter"``.
    sample_weight : array-like (n,), default=None
        Row weights.
    n_jobs : int or None, default=None
        Threads that walk the voters.

    Returns
    -------
    LeafReweighter, LeafReweighterRegressor or MarginReweighter
        Fitted. Its `ensemble` is its own small committee.

    Raises
    ------
    NotFittedError, TypeError, ValueError
        See the returned classes; also for a limit that the level does not have.

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
    if isinstance(ensemble, Blend) and (level != "voter" or not hasattr(ensemble, "classes_")):
        raise TypeError(
            f"ensemble is a {type(ensemble).__name__}, whose members are ensembles of several kinds; call its own "
            "prune(max_nodes=...), which needs no rows, or its distil."
        )
    numbers = predicts_numbers(ensemble)
    if level == "voter" and numbers:
        raise ValueError(
            f"level='voter' weighs voters by margins of votes for classes, and ensemble is a "
            f"{type(ensemble).__name__}; level='tree' drops whole trees of numbers."
        )
    if quantile is not None and not numbers:
        raise ValueError(
            f"quantile={quantile!r} is for ensembles of numbers, and ensemble is a {type(ensemble).__name__}, which "
            "votes for classes; leave it out."
        )
    if max_nodes is None and max_voters is None and max_loss is None:
        max_nodes = DEFAULT_SHARE
    limits = Limits(max_nodes, max_voters, min_gain, max_loss, metric)
    options = {"on": on, "objective": objective, "n_jobs": n_jobs} | ({"quantile": quantile} if numbers else {})
    smaller = level_function(level)(ensemble, limits, X, y, sample_weight, **options)
    return cast("LeafReweighter | LeafReweighterRegressor | MarginReweighter", smaller)
