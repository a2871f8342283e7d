"""Limits of smaller votes, the interface of a way to prune, and the way that cuts trees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import ArrayLike
from sklearn.base import is_regressor

from committee.data.number_types import is_number, is_whole
from committee.learners.trained.leaf_reweighter import LeafReweighter
from committee.learners.trained.leaf_reweighter_regressor import LeafReweighterRegressor
from committee.learners.trained.trained_ensemble import RowsGiven
from committee.vote.committee import Committee
from committee.vote.regression import RegressionCommittee

SMALL = 0.1
"""Share of the nodes that stay where no limit is given."""

LARGEST = 1 / 3
"""Share of the nodes of the largest cut that a contract tries where no limit is given."""


@dataclass(frozen=True)
class Limits:
    """Most nodes (a share in (0, 1], or a number) and voters of a smaller vote, and the price of its accuracy; or None.

    The smallest vote is taken that loses less accuracy than `min_gain`, None: the largest within the limits.
    """

    max_nodes: float | None
    max_voters: int | None
    min_gain: float | None
    max_loss: float | None = None
    """Most that the leaves' vote may lose of `metric` against the whole ensemble; the smallest such cut is taken."""
    metric: Any = None
    """What that is; None: accuracy, and of ensembles of numbers what suits them."""

    def __post_init__(self) -> None:
        nodes, voters, gain = self.max_nodes, self.max_voters, self.min_gain
        if voters is not None and not (is_whole(voters) and voters >= 1):
            raise ValueError(f"max_voters={voters!r} must be a whole number of at least 1, or None.")
        whole = is_whole(nodes)
        if nodes is not None and not (is_number(nodes) and (nodes >= 1 if whole else 0.0 < nodes <= 1.0)):
            raise ValueError(f"max_nodes={nodes!r} must be a share in (0, 1], a whole number above 0, or None.")
        if self.max_loss is not None and not (is_number(self.max_loss) and 0.0 <= self.max_loss < float("inf")):
            raise ValueError(f"max_loss={self.max_loss!r} must be a finite number that is not negative, or None.")
        if gain is not None and not (is_number(gain) and gain >= 0.0):
            raise ValueError(f"min_gain={gain!r} must be a share of rows that is not negative, or None.")


@dataclass(frozen=True)
class PruningLevel(ABC):
    """One way to prune: which parts of an ensemble go, and how the others vote then."""

    on: RowsGiven
    objective: Any
    n_jobs: int | None
    quantile: float | None = None
    """Of ensembles of numbers; None: what they say themselves."""

    @abstractmethod
    def of_ensemble(self, ensemble: Any, limits: Limits, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Any:
        """Return a smaller vote of a trained ensemble, which itself it holds no more."""

    @abstractmethod
    def of_reweighted(self, model: Any, limits: Limits, resolve: bool, X: Any, y: Any, sample_weight: Any) -> Any:
        """Return a smaller vote of a re-weighted ensemble; see `MarginReweighter.prune`."""


class LeafPruning(PruningLevel):
    """Trees and sub-trees go, whichever does best, and all leaves that stay vote anew; there is no objective."""

    options: ClassVar[dict[str, Any]] = {}
    """Parameters of the leaves' models that say what goes."""

    def of_ensemble(
        self, ensemble: Any, limits: Limits, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> LeafReweighter | LeafReweighterRegressor:
        """See `PruningLevel`."""
        if limits.max_voters is not None:
            raise ValueError(
                f"max_voters={limits.max_voters!r} is of whole voters, and this level limits nodes; give "
                "max_nodes instead, or level='voter'."
            )
        most = limits.max_nodes
        if most is None:
            most = SMALL if limits.max_loss is None else LARGEST
        kind = LeafReweighterRegressor if predicts_numbers(ensemble) else LeafReweighter
        given = {"metric": limits.metric, "quantile": self.quantile}
        model = kind(
            ensemble,
            max_nodes=most,
            min_gain=limits.min_gain,
            max_loss=limits.max_loss,
            on=self.on,
            n_jobs=self.n_jobs,
            **{name: value for name, value in given.items() if value is not None},
            **self.options,
        )
        model.fit(X, y, sample_weight)
        model.ensemble = model.committee_  # smaller in memory and in files too
        return model

    def of_reweighted(
        self, model: Any, limits: Limits, resolve: bool, X: Any, y: Any, sample_weight: Any
    ) -> LeafReweighter:
        """See `PruningLevel`; the new weights are those of the trees before they are cut."""
        if X is None or y is None:
            raise ValueError("level='leaf' looks at rows again; give X and y, those of fit or others as `on` says.")
        leaves = self.of_ensemble(model, limits, X, y, model.fit_weights(y, sample_weight))
        assert isinstance(leaves, LeafReweighter)  # weights that suit margins are of votes for classes
        leaves.ensemble = model
        return leaves


class TreePruning(LeafPruning):
    """Whole trees go, and all leaves of the others vote anew."""

    options: ClassVar[dict[str, Any]] = {"growth": 1.0}


class SubtreePruning(LeafPruning):
    """The weakest sub-trees go, of as many trees as does best."""

    options: ClassVar[dict[str, Any]] = {"growth": (2.0, 4.0, 8.0)}


class DepthPruning(LeafPruning):
    """The lowest levels go, of as many trees as does best."""

    options: ClassVar[dict[str, Any]] = {"growth": (2.0, 4.0, 8.0, 16.0), "cut": "depth"}


def predicts_numbers(ensemble: Any) -> bool:
    """Whether an ensemble predicts numbers, and does not vote for classes."""
    committee = getattr(ensemble, "committee_", ensemble)
    if isinstance(committee, Committee | RegressionCommittee):
        return isinstance(committee, RegressionCommittee)
    return hasattr(ensemble, "__sklearn_tags__") and is_regressor(ensemble)
