"""Training of both random forests: trees of seeds drawn up front, in parallel, and their out-of-bag curve."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, replace
from functools import partial
from itertools import islice, zip_longest
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike, NDArray

from committee.data.binning import Binned
from committee.data.parallel import n_threads
from committee.data.rows import Rows, TargetRows
from committee.learners.bagging.draws import among_all
from committee.learners.bagging.forest_trees import DeepCriterion, DrawnTree, ForestTrees, RowDraw, drawn_tree_form
from committee.learners.bagging.oob_curve import EnoughTrees, OutOfBag, Rule
from committee.learners.bagging.reserve import Reserve
from committee.learners.base import shared_parameters as shared
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import COUNT, fitted, parameter, required, with_parameters
from committee.learners.base.warm_start import WarmStart
from committee.vote.committee import Committee
from committee.vote.regression import RegressionCommittee
from committee.voters.forest import Forest
from committee.voters.growing import GrowthLimits

R = TypeVar("R", Rows, TargetRows)


@with_parameters
class ForestEstimator(WarmStart, Generic[R]):
    """Base of both forests: trees of seeds drawn up front, in parallel, and their out-of-bag curve."""

    reserve = 0.0  # a parameter of the classifier
    voters_called = "trees"

    seed_: int = fitted(
        "With `warm_start`: `random_state`, or a seed drawn from it, by which a further fit knows what trees drew.",
        "int",
    )

    n_estimators: int | Literal["oob"] = parameter(
        100, """Number of trees. "oob": as many as the out-of-bag error asks for, at most `max_estimators`.""", COUNT
    )
    _: KW_ONLY
    criterion: DeepCriterion = required("Measure that a split lowers.")
    max_depth: int | None = shared.max_depth()
    max_leaf_nodes: int | None = shared.max_leaf_nodes(more="Limited trees are grown by another, slower kernel.")
    min_samples_leaf: int = shared.min_samples_leaf(more="A row that is drawn several times counts once.")
    min_weight_leaf: float = shared.min_weight_leaf("drawn weight")
    min_impurity_decrease: float = shared.min_impurity_decrease(of="impurity, as a share of the drawn weight,")
    max_features: int | float | str | None = shared.max_features("sqrt")
    max_features_tree: int | float | str | None = shared.max_features(of="tree")
    bootstrap: bool = shared.bootstrap(True, "A row drawn k times has k times its weight.")
    max_samples: float | int | None = shared.max_samples(
        None, "None: as many as there are, which without replacement is all."
    )
    max_bins: int = shared.max_bins()
    oob_score: bool = shared.oob_score("""On by itself with ``n_estimators="oob"``.""")
    oob_rule: Rule = parameter(
        "one_standard_error",
        """Trees that ``n_estimators="oob"`` keeps: as many as have the least out-of-bag error ("minimum"), or the
        fewest whose error is within a standard error of that.""",
    )
    max_estimators: int = parameter(1000, """Most trees that ``n_estimators="oob"`` grows.""", COUNT)
    warm_start: bool = parameter(
        False,
        """Go on from the trees of the last `fit`, up to `n_estimators` in all; with "oob" they are not grown again. On
        the same rows, with the same integer `random_state`, that gives the bits of one fit. Trees of other rows stay as
        they are and cannot be judged out of bag: ``oob_score=False``, and for classes ``calibrate=None``, let them.""",
    )
    categorical_features: Any = shared.categorical_features()
    random_state: Any = shared.random_state("the rows and columns that trees draw")
    n_jobs: int | None = shared.n_jobs("Trees grown at the same time, one thread each")

    @property
    def _takes_sparse(self) -> bool:
        return True

    @property
    def _most_trees(self) -> int:
        return self.max_estimators if self.n_estimators == "oob" else self.n_estimators

    def _most_tasks(self, X: Any) -> int:
        earlier = self._earlier_committee()
        return max(0, self._most_trees - (earlier.n_voters if earlier else 0))

    def _train(self, rows: R, tasks: FitTasks) -> dict[str, Any]:
        random = self._random(tasks.random()) if self.warm_start else tasks.random()
        earlier = self._earlier_trees(rows)
        rows, reserve = self._reserved(rows, tasks.sample_weight, random)
        draw = self._draw(len(rows))
        binned = rows.binned(self.table_, self.max_bins, n_threads(self.n_jobs))
        seeds = random.randint(2**31 - 1, size=self._most_trees)
        oob = self._out_of_bag(rows) if self._judged(draw) else None
        forest = GrowingForest(oob, self.oob_rule if self.n_estimators == "oob" else None)
        grow = self._trees(rows, binned, draw)
        grow.has_earlier = bool(earlier)
        form = partial(drawn_tree_form, len(rows), rows.X.shape[1], grow.n_classes)
        jobs = (delayed(grow)(int(seed), tree) for seed, tree in zip_longest(seeds, earlier[: len(seeds)]))
        with tasks.in_parallel(jobs, self.n_jobs, form) as grown:
            growing = forest.trees(grown)
            before: list[Forest] = list(islice(growing, len(earlier)))
            trees = before + tasks.each("voter", growing, lambda new: {"committee_": self._vote_of(before + new)})
        trees, best = forest.best(trees, (draw.left_out(int(seed)) for seed in seeds))
        committee = self._vote_of(trees)
        found: dict[str, Any] = {"committee_": committee}
        if best is not None and self._tells_oob:
            found["oob_curve_"] = np.array(forest.curve)
            found |= self._judge(rows, best, tasks.sample_weight if reserve is None else reserve.others)
        if reserve is not None:
            assert isinstance(committee, Committee)
            found |= reserve.judge(committee, best, found.get("oob_decision_function_"))
        return self._judged_last(found, rows, best, random, tasks)

    def _earlier_trees(self, rows: R) -> list[Forest]:
        """Return the trees that a warm start goes on from, one by one, and forget what else the last fit has found."""
        earlier = self._earlier_committee()
        for name in self.stored_attributes:
            if name != "seed_":
                self.__dict__.pop(name, None)
        if earlier is None:
            return []
        if isinstance(rows, TargetRows):
            self._check_earlier(earlier, **{"number of targets": (earlier.voters.n_outputs, rows.n_targets)})
        else:
            self._check_earlier(earlier)
        if earlier.n_voters == self.n_estimators:
            warnings.warn(
                f"warm_start with n_estimators={self.n_estimators} grows no trees, as there are so many; raise it.",
                stacklevel=5,
            )
        voters = earlier.voters
        assert isinstance(voters, Forest)
        return [voters[t] for t in range(len(voters))]

    @property
    def _tells_oob(self) -> bool:
        """Whether the out-of-bag vote is among the fitted attributes."""
        return self.oob_score or self.n_estimators == "oob" or self.reserve > 0.0

    def _judged(self, draw: RowDraw) -> bool:
        """Tell whether trees vote on the rows that their draws left out."""
        return draw.leaves_out and (self._tells_oob or self._calibrates)

    def _judged_last(
        self, fitted: dict[str, Any], rows: R, oob: OutOfBag | None, random: np.random.RandomState, tasks: FitTasks
    ) -> dict[str, Any]:
        """Return the fitted attributes, and what follows from the whole vote and from the votes out of bag."""
        return fitted

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
        limits = GrowthLimits.of(self)
        # all columns are drawn, too: looked at in a random order, the first does not win every tie of a small node
        return replace(limits, max_features=1.0) if limits.max_features is None else limits

    def _judge(self, rows: R, oob: OutOfBag, sample_weight: ArrayLike | None) -> dict[str, Any]:
        """Return the attributes of the out-of-bag vote."""
        unjudged = ~oob.judged
        if unjudged.mean() > 0.01 and (self.oob_score or self.n_estimators == "oob"):
            warnings.warn(
                f"{unjudged.sum()} rows were left out of no draw and have no out-of-bag vote; "
                "more estimators or a smaller max_samples would give them one.",
                stacklevel=5,
            )
        return self._oob_attributes(rows, oob, among_all(oob.mean_vote, sample_weight))

    def _reserved(
        self, rows: R, sample_weight: ArrayLike | None, random: np.random.RandomState
    ) -> tuple[R, Reserve | None]:
        """Return the rows that trees may draw, and those that none may."""
        return rows, None

    @abstractmethod
    def _trees(self, rows: R, binned: Binned, draw: RowDraw) -> ForestTrees[R]: ...

    @abstractmethod
    def _out_of_bag(self, rows: R) -> OutOfBag: ...

    @abstractmethod
    def _vote_of(self, voters: list[Forest]) -> Committee | RegressionCommittee: ...

    @abstractmethod
    def _oob_attributes(self, rows: R, oob: OutOfBag, votes: NDArray[np.float64]) -> dict[str, Any]:
        """Return the attributes of the out-of-bag vote, which is NaN where there is none."""


class GrowingForest:
    """Trees as they are grown, and how many of them are best.

    `oob` judges rows by the trees that did not see them, and by its error the rule says how many to keep; None: all.
    """

    def __init__(self, oob: OutOfBag | None, rule: Rule | None) -> None:
        self.oob = oob
        self.enough: EnoughTrees | None = EnoughTrees(oob, rule) if oob is not None and rule is not None else None
        self.leaves: list[NDArray[np.int32]] = []  # of the rows that each tree did not see, to count them again

    def trees(self, grown: Iterable[DrawnTree]) -> Iterator[Forest]:
        """One tree after the other, until the out-of-bag error has stopped getting better."""
        for tree in grown:
            if self.oob is not None:
                self.oob.add(tree.left_out, tree.votes)
            if self.enough is not None:
                self.leaves.append(tree.leaves)
            flat = self.enough is not None and self.enough.look()
            yield tree.forest
            if flat:
                return

    @property
    def curve(self) -> list[float]:
        """Out-of-bag error after each tree."""
        return [] if self.oob is None else self.oob.curve

    def best(self, trees: list[Forest], left_out: Iterable[NDArray[np.int32]]) -> tuple[list[Forest], OutOfBag | None]:
        """Return the trees to keep, and the out-of-bag votes of these; `left_out` are the rows each did not see."""
        if self.enough is None:
            return trees, self.oob
        oob = self.enough.best(
            (rows, DrawnTree(tree, leaves, leaves).votes)
            for tree, rows, leaves in zip(trees, left_out, self.leaves, strict=False)
        )
        return trees[: len(oob.curve)], oob
