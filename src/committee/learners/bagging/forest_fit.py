"""The fit that both random forests share: trees of seeds drawn up front, in parallel, and their out-of-bag curve."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any, Generic, Literal, Self, TypeVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from committee.data.binning import Binned
from committee.data.parallel import closed_in_silence, n_threads
from committee.data.rows import Rows, TargetRows
from committee.learners.bagging.draws import among_all
from committee.learners.bagging.forest_trees import DeepCriterion, DrawnTree, ForestTrees, RowDraw
from committee.learners.bagging.oob_curve import EnoughTrees, OutOfBag, Rule
from committee.learners.bagging.reserve import Reserve
from committee.learners.base import shared_parameters as shared
from committee.learners.base.estimator import CommitteeEstimator
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import COUNT, fitted, parameter, required, with_parameters
from committee.vote.committee import Committee
from committee.vote.regression import RegressionCommittee
from committee.voters.forest import Forest
from committee.voters.growing import GrowthLimits

R = TypeVar("R", Rows, TargetRows)


@with_parameters
class ForestEstimator(CommitteeEstimator, Generic[R]):
    """What both forests do: trees of seeds drawn up front, in parallel, and their out-of-bag curve."""

    reserve = 0.0  # a parameter of the classifier
    oob_curve_: NDArray[np.float64] = fitted()

    n_estimators: int | Literal["oob"] = parameter(
        100, """Number of trees. "oob": as many as the out-of-bag error asks for, at most `max_estimators`.""", COUNT
    )
    _: KW_ONLY
    criterion: DeepCriterion = required("What a split lowers.")
    max_depth: int | None = shared.max_depth()
    max_leaf_nodes: int | None = shared.max_leaf_nodes(more="Limited trees are grown by another, slower kernel.")
    min_samples_leaf: int = shared.min_samples_leaf(more="A row that is drawn several times counts once.")
    min_weight_leaf: float = shared.min_weight_leaf("drawn weight")
    min_impurity_decrease: float = shared.min_impurity_decrease(of="impurity, as a share of the drawn weight,")
    max_features: int | float | str | None = shared.max_features("sqrt")
    bootstrap: bool = shared.bootstrap(True, "A row drawn k times has k times its weight.")
    max_samples: float | int | None = shared.max_samples(
        None, "None: as many as there are, which without replacement is all."
    )
    max_bins: int = shared.max_bins()
    oob_score: bool = shared.oob_score("""On by itself with ``n_estimators="oob"``.""")
    oob_rule: Rule = parameter(
        "one_standard_error",
        """How many trees ``n_estimators="oob"`` keeps: as many as the least out-of-bag error has ("minimum"), or
        the fewest whose error is within a standard error of that.""",
    )
    max_estimators: int = parameter(1000, """Most trees that ``n_estimators="oob"`` grows.""", COUNT)
    categorical_features: Any = shared.categorical_features()
    random_state: Any = shared.random_state("the rows and columns that trees draw")
    n_jobs: int | None = shared.n_jobs("Trees grown at the same time, one thread each")

    def _fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Self:
        most = self.max_estimators if self.n_estimators == "oob" else self.n_estimators
        tasks = FitTasks(self, X, y, sample_weight, most)
        random = check_random_state(self.random_state)
        rows, reserve = self._training_rows(X, y, sample_weight, random)
        tasks.begin()
        draw = self._draw(len(rows))
        binned = rows.binned(self.table_, self.max_bins, n_threads(self.n_jobs))
        seeds = random.randint(2**31 - 1, size=most)
        oob = self._out_of_bag(rows) if self._judged(draw) else None
        growth = Growth(self, self._trees(rows, binned, draw), seeds, oob)
        for _ in growth.trees():
            if tasks.part("voter")(lambda: {"committee_": self._vote_of(growth.voters)}):
                break
        for name in self._stored_attributes:
            self.__dict__.pop(name, None)  # of an earlier fit, on other rows
        voters, oob = growth.kept(draw)
        self.committee_ = self._vote_of(voters)
        if oob is not None:
            self.oob_curve_ = np.array(growth.curve)
            self._judge(rows, oob, sample_weight if reserve is None else reserve.others)
        if reserve is not None:
            reserve.judge(self, oob)
        tasks.end(dict)
        return self

    def _judged(self, draw: RowDraw) -> bool:
        """Rows that a tree's draw left out are asked what it says of them."""
        return draw.leaves_out and (self.oob_score or self.n_estimators == "oob" or self.reserve > 0.0)

    def _draw(self, n: int) -> RowDraw:
        draw = RowDraw.of(n, self.max_samples, self.bootstrap)
        # out-of-bag votes may be those on the reserve, but the number of trees is not chosen by it
        if not draw.leaves_out and (self.n_estimators == "oob" or (self.oob_score and not self.reserve)):
            asks = "n_estimators='oob'" if self.n_estimators == "oob" else "oob_score=True"
            raise ValueError(
                f"{asks} needs rows that trees do not see, but bootstrap={self.bootstrap} and "
                f"max_samples={self.max_samples} show them all; set bootstrap=True or max_samples below 1.0."
            )
        return draw

    def _limits(self) -> GrowthLimits:
        return GrowthLimits.of(self)

    def _judge(self, rows: R, oob: OutOfBag, sample_weight: ArrayLike | None) -> None:
        """Set the attributes of the out-of-bag vote."""
        unjudged = ~oob.judged
        if unjudged.mean() > 0.01 and (self.oob_score or self.n_estimators == "oob"):
            warnings.warn(
                f"{unjudged.sum()} rows were left out of no draw and have no out-of-bag vote; "
                "more estimators or a smaller max_samples would give them one.",
                stacklevel=5,
            )
        self._set_oob(rows, oob, among_all(oob.mean_vote, sample_weight))

    @abstractmethod
    def _training_rows(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, random: np.random.RandomState
    ) -> tuple[R, Reserve | None]:
        """The rows that trees may draw, and those that are kept from all of them."""

    @abstractmethod
    def _trees(self, rows: R, binned: Binned, draw: RowDraw) -> ForestTrees[R]: ...

    @abstractmethod
    def _out_of_bag(self, rows: R) -> OutOfBag: ...

    @abstractmethod
    def _vote_of(self, voters: list[Forest]) -> Committee | RegressionCommittee: ...

    @abstractmethod
    def _set_oob(self, rows: R, oob: OutOfBag, votes: NDArray[np.float64]) -> None:
        """Set the attributes of the out-of-bag vote, which is NaN where there is none."""


class Growth:
    """The trees as they are grown, and how many of them to keep."""

    def __init__(
        self, model: ForestEstimator[Any], grow: ForestTrees[Any], seeds: NDArray[np.int64], oob: OutOfBag | None
    ) -> None:
        self.n_jobs, self.grow, self.seeds, self.oob = model.n_jobs, grow, seeds, oob
        self.enough = EnoughTrees(oob, model.oob_rule) if oob is not None and model.n_estimators == "oob" else None
        self.voters: list[Forest] = []
        self.leaves: list[NDArray[np.int32]] = []  # of the rows that each tree did not see, to count them again

    def trees(self) -> Iterator[None]:
        """One tree after the other is added to `voters`."""
        pool = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")
        with closed_in_silence(pool(delayed(self.grow)(int(seed)) for seed in self.seeds)) as grown:
            for tree in grown:
                self.voters.append(tree.forest)
                if self.oob is not None:
                    self.oob.add(tree.left_out, tree.votes)
                if self.enough is not None:
                    self.leaves.append(tree.leaves)
                flat = self.enough is not None and self.enough.look()
                yield
                if flat:
                    return

    @property
    def curve(self) -> list[float]:
        """Out-of-bag error after each tree."""
        return [] if self.oob is None else self.oob.curve

    def kept(self, draw: RowDraw) -> tuple[list[Forest], OutOfBag | None]:
        """The trees to keep, and the out-of-bag votes of these."""
        if self.enough is None:
            return self.voters, self.oob
        oob = self.enough.kept(
            (draw.left_out(int(seed)), DrawnTree(voter, leaves, leaves).votes)
            for seed, voter, leaves in zip(self.seeds, self.voters, self.leaves, strict=False)
        )
        return self.voters[: len(oob.curve)], oob
