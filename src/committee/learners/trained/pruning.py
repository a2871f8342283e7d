"""One call for a smaller vote of an ensemble that is trained already."""

from __future__ import annotations

from typing import Any, Literal, cast

from numpy.typing import ArrayLike

from committee.learners.blend.blend import Blend
from committee.learners.trained.leaf_reweighter import LeafReweighter
from committee.learners.trained.leaf_reweighter_regressor import LeafReweighterRegressor
from committee.learners.trained.pruning_levels import SMALL, Limits, predicts_numbers
from committee.learners.trained.reweighter import MarginReweighter, pruning_level
from committee.learners.trained.trained_ensemble import RowsGiven


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
    """Return a smaller vote, from one that is trained already and stays as it is.

    Parameters
    ----------
    ensemble : fitted classifier or regressor, Committee or RegressionCommittee
        A learner of this library, or what `Committee.from_estimator` or `RegressionCommittee.from_estimator` takes. A
        committee of ensembles has a `prune` of its own; here whole fits can be dropped, ``level="voter"``, by rows that
        it has not seen.
    X : table or array-like (n, p)
        Rows that `on` says more of.
    y : array-like (n,)
        Their labels, or numbers.
    level : {"leaf", "subtree", "depth", "tree", "voter"}, default="leaf"
        Part that is dropped. "leaf": trees and sub-trees, whichever does best in folds. "subtree": the weakest
        sub-trees, of as many trees as do best. "depth": the lowest levels of these. "tree": whole trees. In these four
        all leaves that stay vote anew (`LeafReweighter`, of numbers `LeafReweighterRegressor`). "voter": whole voters,
        whatever they are, and the others get new weights (`MarginReweighter`); of classes alone.
    max_nodes : float or int, default=None
        Nodes that stay: a share (0, 1] of the ensemble's, or a number. None: a tenth, or no limit if there is one of
        voters.
    max_voters : int, default=None
        Voters that stay; at the level of voters.
    min_gain : float, default=None
        Price of accuracy, of numbers of R^2: the smallest vote is taken that is less than this below the best. None:
        the largest that the limits allow.
    max_loss : float, default=None
        A contract in place of a size: nodes are halved, from `max_nodes` (None: a third) on, and the smallest cut is
        taken that loses at most this much of `metric` against the whole ensemble, standard error included, as estimated
        on rows that the trees have not seen: 0.005 is half a point of accuracy; of numbers it is a share of what the
        whole loses, and 0.01 a mean squared error one percent larger. What is lost and its standard error are
        ``lost_`` and ``lost_error_``; few rows tell a small loss from none, so that much has to be allowed there. If
        all cuts lose more, the ensemble comes back whole, and a warning says so. Voters are dropped a fifth at a time,
        from all on, or the most that the limits allow.
    metric : str or callable, default=None
        What `max_loss` counts: "accuracy", "log_loss", "brier"; of numbers "squared_error", "absolute_error" or
        "pinball"; a scorer of scikit-learn or its name, such as "roc_auc" or "r2", which judges all rows together; or a
        function that judges each. See the two classes. None: accuracy, or squared error, or pinball of ensembles of a
        quantile.
    quantile : float, default=None
        The quantile that an ensemble of numbers predicts, where its own parameters do not say so; votes are then fitted
        by pinball loss.
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
    LeafReweighter, LeafReweighterRegressor or MarginReweighter
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

    As small as half a point of accuracy allows:

    >>> smallest = prune(forest, X[::2], y[::2], max_loss=0.005)
    >>> smallest.lost_ <= 0.005
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
            f"level='voter' gives voters weights by their margins, which are of votes for classes, and ensemble is a "
            f"{type(ensemble).__name__}; level='tree' drops whole trees of numbers."
        )
    if quantile is not None and not numbers:
        raise ValueError(
            f"quantile={quantile!r} is of ensembles of numbers, and ensemble is a {type(ensemble).__name__}, which "
            "votes for classes; leave it out."
        )
    if max_nodes is None and max_voters is None and max_loss is None:
        max_nodes = SMALL
    limits = Limits(max_nodes, max_voters, min_gain, max_loss, metric)
    of_numbers: dict[str, Any] = {} if quantile is None else {"quantile": quantile}
    way = pruning_level(level)(on, objective, n_jobs, **of_numbers)
    smaller = way.of_ensemble(ensemble, limits, X, y, sample_weight)
    return cast("LeafReweighter | LeafReweighterRegressor | MarginReweighter", smaller)
