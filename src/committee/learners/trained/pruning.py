"""Smaller votes from ensembles that are trained already: limits, and the levels at which something is dropped."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, Protocol

from numpy.typing import ArrayLike

from committee.learners.trained.leaf_reweighter import LeafReweighter
from committee.learners.trained.reweighter import MarginReweighter
from committee.learners.trained.trained_ensemble import RowsGiven

SMALL = 0.1
"""Share of the nodes that stay where no limit is given."""


@dataclass(frozen=True)
class Limits:
    """Most nodes (a share in (0, 1], or a number) and voters of a smaller vote, and the price of its accuracy; or None.

    The smallest vote is taken that loses less accuracy than `min_gain`, None: the largest within the limits.
    """

    max_nodes: float | None
    max_voters: int | None
    min_gain: float | None

    def __post_init__(self) -> None:
        nodes, voters, gain = self.max_nodes, self.max_voters, self.min_gain
        if voters is not None and not (isinstance(voters, Integral) and voters >= 1):
            raise ValueError(f"max_voters={voters!r} must be a whole number of at least 1, or None.")
        whole = isinstance(nodes, Integral)
        if nodes is not None and not (isinstance(nodes, Real) and (nodes >= 1 if whole else 0.0 < nodes <= 1.0)):
            raise ValueError(f"max_nodes={nodes!r} must be a share in (0, 1], a whole number above 0, or None.")
        if gain is not None and not (isinstance(gain, Real) and gain >= 0.0):
            raise ValueError(f"min_gain={gain!r} must be a share of rows that is not negative, or None.")


class PruningLevel(Protocol):
    """One way to prune: which parts of an ensemble go, and how the others vote then."""

    def __init__(self, on: RowsGiven, objective: Any, n_jobs: int | None) -> None: ...

    def of_ensemble(
        self, ensemble: Any, limits: Limits, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> LeafReweighter | MarginReweighter:
        """Return a smaller vote of a trained ensemble, which itself it holds no more."""

    def of_reweighted(
        self, model: MarginReweighter, limits: Limits, resolve: bool, X: Any, y: Any, sample_weight: Any
    ) -> LeafReweighter | MarginReweighter:
        """Return a smaller vote of a re-weighted ensemble; see `MarginReweighter.prune`."""


@dataclass(frozen=True)
class LeafPruning:
    """Trees and sub-trees go, and all leaves that stay vote anew; there is no objective."""

    on: RowsGiven
    objective: Any
    n_jobs: int | None

    def of_ensemble(
        self, ensemble: Any, limits: Limits, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> LeafReweighter:
        """See `PruningLevel`."""
        if limits.max_voters is not None:
            raise ValueError(
                f"max_voters={limits.max_voters!r} with level='leaf', which limits nodes; give max_nodes instead, or "
                "level='voter'."
            )
        most = SMALL if limits.max_nodes is None else limits.max_nodes
        model = LeafReweighter(ensemble, max_nodes=most, min_gain=limits.min_gain, on=self.on, n_jobs=self.n_jobs)
        model.fit(X, y, sample_weight)
        model.ensemble = model.committee_  # smaller in memory and in files too
        return model

    def of_reweighted(
        self, model: MarginReweighter, limits: Limits, resolve: bool, X: Any, y: Any, sample_weight: Any
    ) -> LeafReweighter:
        """See `PruningLevel`; the new weights are those of the trees before they are cut."""
        if X is None or y is None:
            raise ValueError("level='leaf' looks at rows again; give X and y, those of fit or others as `on` says.")
        leaves = self.of_ensemble(model, limits, X, y, sample_weight)
        leaves.ensemble = model
        return leaves


@dataclass(frozen=True)
class VoterPruning:
    """Whole voters go, whatever they are, least weight first; the others have weights by an objective."""

    on: RowsGiven
    objective: Any
    n_jobs: int | None

    def of_ensemble(
        self, ensemble: Any, limits: Limits, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> MarginReweighter:
        """See `PruningLevel`."""
        model = MarginReweighter(ensemble, self.objective, on=self.on, n_jobs=self.n_jobs).fit(X, y, sample_weight)
        return model.without_voters(limits)

    def of_reweighted(
        self, model: MarginReweighter, limits: Limits, resolve: bool, X: Any, y: Any, sample_weight: Any
    ) -> MarginReweighter:
        """See `PruningLevel`."""
        return model.without_voters(limits, resolve, X, y, sample_weight)


LEVELS: dict[str, type[PruningLevel]] = {"leaf": LeafPruning, "voter": VoterPruning}
"""Every way to prune under its name; a further one is one more class, in a file of its own, and one more entry."""


def pruning_level(name: str) -> type[PruningLevel]:
    """Return the level of a name, or refuse it."""
    if name not in LEVELS:
        raise ValueError(f"level={name!r} is unknown; choose {' or '.join(map(repr, LEVELS))}.")
    return LEVELS[name]


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
        A learner of this library, or what `Committee.from_estimator` takes.
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
    if max_nodes is None and max_voters is None:
        max_nodes = SMALL
    limits = Limits(max_nodes, max_voters, min_gain)
    return pruning_level(level)(on, objective, n_jobs).of_ensemble(ensemble, limits, X, y, sample_weight)
