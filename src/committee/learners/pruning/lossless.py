"""Smaller trees that elect the same class for every possible row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state

from committee.data.number_types import F64, Index, is_number
from committee.data.packages import require_package
from committee.learners.pruning.fewest_voters import FewestVotersSearch
from committee.learners.pruning.vote_cells import VoteCells, VoteParts, unit_of
from committee.learners.reweighting.leaf_cuts import score_trees
from committee.vote.committee import Committee, RegressionCommittee
from committee.vote.links.probability import Softmax
from committee.voters.forest import Forest
from committee.voters.rounds import Rounds
from committee.voters.shared_forest import SharedForest

MOST_MULTIPLES = 1e4  # largest number of multiples of the votes' unit up to which votes are counted exactly
MOST_ENTRIES = 2 * 10**8  # nodes times distinct splits of the largest ensemble whose cells are searched


@dataclass(frozen=True, eq=False)
class WeightedParts:
    """Parts of a committee that get new weights: trees (those with equal splits merged), rounds, or leaves."""

    committee: Committee  # of a `SharedForest`, or of `Rounds` of one
    forest: Forest  # trees of different splits, or all trees of the rounds
    scores: F64  # (N, K): what a leaf adds to the class scores
    leaves: bool  # whether each leaf is a part

    @classmethod
    def of(cls, committee: Committee, fewest: Literal["trees", "leaves"]) -> WeightedParts:
        forest, weights = score_trees(committee)
        scores = forest.node_votes * np.repeat(weights, forest.n_nodes)[:, None]
        if isinstance(committee.voters, Rounds):
            return cls(committee, committee.voters.forest, scores, fewest == "leaves")
        if scores.shape[1] == 1:
            scores = np.hstack([np.zeros_like(scores), scores])
        return cls(committee, *_merged(forest, scores), fewest == "leaves")

    @property
    def has_merged(self) -> bool:
        rounds = isinstance(self.committee.voters, Rounds)
        return not rounds and len(self.forest) < len(self.committee)

    @property
    def counted(self) -> str:
        return "leaves" if self.leaves else "rounds" if isinstance(self.committee.voters, Rounds) else "trees"

    @property
    def too_large(self) -> bool:
        split = self.forest.feature >= 0
        tests = np.column_stack([self.forest.feature[split], self.forest.threshold[split]])
        return len(np.unique(tests, axis=0)) * len(split) > MOST_ENTRIES

    @cached_property
    def unit(self) -> float | None:
        return unit_of(np.concatenate([self.scores.ravel(), self._start]), MOST_MULTIPLES)

    @property
    def _start(self) -> F64:
        given = self.committee.intercept
        if given is None:
            return np.zeros(self.scores.shape[1])
        return given if len(given) > 1 else np.append(0.0, given)

    @cached_property
    def part(self) -> Index:
        if self.leaves:
            leaf = self.forest.feature < 0
            return np.where(leaf, np.cumsum(leaf) - 1, 0)
        rounds = self.committee.voters
        per = rounds.n_outputs if isinstance(rounds, Rounds) else 1
        return np.repeat(np.arange(len(self.forest)) // per, self.forest.n_nodes)

    def parts(self) -> VoteParts:
        unit = self.unit or 1.0
        return VoteParts(
            cells=VoteCells.of(self.forest),
            scores=self.scores / unit,
            start=self._start / unit,
            part=self.part,
            elect=lambda X: elected_classes(self.committee, X),
            exact=self.unit is not None,
        )

    def built(self, factors: F64) -> Committee:
        """Return the committee with its parts multiplied by ``factors[:-1]`` and its intercept by ``factors[-1]``."""
        kept = np.flatnonzero(factors[:-1])
        intercept = self.committee.intercept
        intercept = None if intercept is None else intercept * factors[-1]
        if self.leaves or self.has_merged:
            return self._of_values(self.scores * factors[self.part][:, None], intercept)
        if not len(kept):
            return replace(self.committee.select([0], [0.0]), intercept=intercept)
        return replace(self.committee.select(kept, self.committee.weights[kept] * factors[kept]), intercept=intercept)

    def _of_values(self, scores: F64, intercept: F64 | None) -> Committee:
        # trees without any effect are left out
        leaf = self.forest.feature < 0
        two = scores.shape[1] == 2
        value = scores[:, 1:] - scores[:, :1] if two else scores
        value = np.where(leaf[:, None], value, 0.0) + 0.0  # no negative zeros
        width = np.abs(value[:, 0]) if two else np.ptp(value, axis=1)
        counts = np.flatnonzero(np.maximum.reduceat(width, self.forest.offset[:-1]) > 0.0)
        forest = replace(self.forest, label=None, value=np.ascontiguousarray(value), n_classes=scores.shape[1])
        small = SharedForest.of(Forest.concatenate([forest[counts if len(counts) else [0]]]))
        if intercept is not None and two and len(intercept) == 2:
            intercept = intercept[1:] - intercept[:1]
        link = Softmax()
        return replace(self.committee, voters=small, weights=np.ones(len(small)), link=link, intercept=intercept)


def elected_classes(committee: Committee, X: F64) -> Index:
    return committee.class_indices(replace(committee, table=None).predict(X))


def _merged(forest: Forest, scores: F64) -> tuple[Forest, F64]:
    first: dict[bytes, int] = {}
    merged = np.arange(len(forest))
    for t, (begin, end) in enumerate(zip(forest.offset[:-1].tolist(), forest.offset[1:].tolist(), strict=True)):
        words = slice(int(forest.category_offset[begin]), int(forest.category_offset[end]))
        arrays = (forest.feature, forest.threshold, forest.left, forest.missing_left)
        key = b"".join(array[begin:end].tobytes() for array in arrays)
        key += (forest.category_offset[begin : end + 1] - forest.category_offset[begin]).tobytes()
        merged[t] = first.setdefault(key + forest.category_bits[words].tobytes(), t)
    scores = scores.copy()
    for t in np.flatnonzero(merged != np.arange(len(forest))).tolist():
        to, begin, end = int(forest.offset[merged[t]]), int(forest.offset[t]), int(forest.offset[t + 1])
        scores[to : to + end - begin] += scores[begin:end]
    stay = merged == np.arange(len(forest))
    return forest[stay], scores[np.repeat(stay, forest.n_nodes)]


Part = Literal["trees", "leaves"]


@dataclass(frozen=True, eq=False)
class LosslessVote:
    """Result of `lossless`.

    Parameters
    ----------
    committee : Committee or RegressionCommittee
        The smaller vote. ``committee.save(path)`` writes a file in which equal sub-trees are stored once.
    counted : str
        Counted parts: "trees", "rounds" or "leaves".
    before, after, bound : int
        Number of parts of the ensemble, of `committee`, and a lower bound on the number that elects the same classes
        once trees with equal splits are merged. The bound disregards weights by which an elected class leads by less
        than 10^-5 of the largest possible lead; it is 0 without a search.
    nodes_before, nodes_after : int
        Number of nodes.
    bytes_before, bytes_after : int
        Bytes of the arrays in a model file.
    same_scores : bool
        Whether scores and probabilities are equal too, bit for bit; else the classes alone.
    note : str
        Reason why the search ended early or an ensemble was too large for one; else empty.
    searched : bool
        Whether a search was started: in classification, with `fewest`, unless the ensemble is too large.
    """

    committee: Committee | RegressionCommittee
    counted: str
    before: int
    after: int
    bound: int
    nodes_before: int
    nodes_after: int
    bytes_before: int
    bytes_after: int
    same_scores: bool
    note: str
    searched: bool

    @property
    def proved(self) -> bool:
        """True if it is proved that no fewer parts elect the same classes."""
        return self.after == self.bound

    @property
    def gap(self) -> float:
        """Share of the remaining parts that are not proved to be needed."""
        return (self.after - self.bound) / self.after if self.after else 0.0

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predictions of the smaller vote, which are those of the ensemble."""
        return self.committee.predict(X)

    def __str__(self) -> str:
        fewest = "the fewest that do" if self.proved else f"at least {self.bound} are needed"
        trees = f"{self.after} of {self.before} {self.counted}" + (f" ({fewest})" if self.searched else "")
        nodes = f"{self.nodes_after:,} of {self.nodes_before:,} nodes"
        stored = f"{self.bytes_after:,} of {self.bytes_before:,} bytes"
        same = "the same scores" if self.same_scores else "the same classes, with other scores and probabilities"
        return " ".join([f"{trees}, {nodes}, {stored}: {same}.", self.note]).strip()


def lossless(
    ensemble: Any,
    *,
    fewest: Part | None = "trees",
    time_limit: float = 60.0,
    random_state: int | np.random.RandomState | None = None,
) -> LosslessVote:
    """Return a smaller ensemble of trees with the same prediction for every possible row.

    First, with the same scores bit for bit: splits with an empty side and splits between equal sub-trees are removed;
    equal sub-trees, splits and leaves are stored once. Then, in classification: trees of the same splits are merged
    (not those of rounds of several scores), and nonnegative weights are sought for the fewest trees, or leaves, that
    elect the same class in every cell of numbers, missing values and categories. A mixed-integer program finds weights
    for the rows known so far; branch and bound over all cells finds rows on which they fail, until there are none.
    Beyond some tens of trees this seldom ends in time.

    Parameters
    ----------
    ensemble : fitted classifier or regressor, Committee or RegressionCommittee
        A forest or booster of this library, or any that `Committee.from_estimator` and
        `RegressionCommittee.from_estimator` take. It is not changed.
    fewest : {"trees", "leaves"} or None, default="trees"
        Parts to be minimised; a round of several scores counts as one tree. None, and for regressors: no search.
    time_limit : float, default=60.0
        Seconds for the search, after which the smallest vote proved so far is returned: all trees or leaves, or fewer.
    random_state : int, RandomState or None, default=None
        Seed of the rows with which the search starts.

    Returns
    -------
    LosslessVote

    Raises
    ------
    NotFittedError
        If the ensemble is not fitted.
    MissingExtraError
        If there is a search and HiGHS is not installed.
    TypeError
        If the ensemble's voters are not plain trees, or it is of an unknown kind.
    ValueError
        If a parameter is out of range, or there is a search and trees split a column at thresholds and by categories.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from committee import lossless
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, max_depth=2, random_state=0).fit(X, y)
    >>> small = lossless(forest, random_state=0)
    >>> small.before, small.after, small.proved, bool((small.predict(X) == forest.predict(X)).all())
    (10, 8, True, True)
    """
    if fewest not in ("trees", "leaves", None):
        raise ValueError(f"fewest={fewest!r} must be 'trees', 'leaves' or None.")
    if not is_number(time_limit) or not time_limit > 0.0:
        raise ValueError(f"time_limit={time_limit!r} must be a number of seconds above 0.")
    committee = _committee_of(ensemble)
    if fewest is not None and isinstance(committee, Committee) and committee.n_classes > 1:
        require_package("highspy", f"fewest={fewest!r}", "fewest=None works without, and leaves out no tree")
    trees = _trees_of(committee)
    shared = SharedForest.of(trees)
    voters = replace(committee.voters, forest=shared) if isinstance(committee.voters, Rounds) else shared
    clean = replace(committee, voters=voters)
    found = LosslessVote(
        committee=clean,
        counted="rounds" if isinstance(voters, Rounds) else "trees",
        before=len(clean),
        after=len(clean),
        bound=0,
        nodes_before=len(trees.feature),
        nodes_after=len(shared.feature),
        bytes_before=trees.nbytes,
        bytes_after=shared.stored_bytes,
        same_scores=True,
        note="",
        searched=False,
    )
    if fewest is not None and isinstance(clean, Committee) and clean.n_classes > 1:
        seed = check_random_state(random_state).randint(2**31)
        return _searched(found, clean, fewest, float(time_limit), seed)
    return found


def _committee_of(ensemble: Any) -> Committee | RegressionCommittee:
    inner = ensemble.estimator if isinstance(ensemble, FrozenEstimator) else ensemble
    if isinstance(inner, Committee | RegressionCommittee):
        return inner
    numbers = hasattr(inner, "__sklearn_tags__") and is_regressor(inner)
    return (RegressionCommittee if numbers else Committee).from_estimator(inner)


def _trees_of(committee: Committee | RegressionCommittee) -> Forest:
    voters = committee.voters
    if isinstance(voters, Rounds):
        return voters.forest
    if isinstance(voters, Forest):
        return voters
    raise TypeError(
        f"ensemble has voters of kind {type(voters).__name__}; lossless takes trees with a class, shares or a number "
        "in each leaf. Give it a forest or a booster of such trees."
    )


def _searched(found: LosslessVote, clean: Committee, fewest: Part, seconds: float, seed: int) -> LosslessVote:
    trees = WeightedParts.of(clean, fewest)
    before = int((_trees_of(clean).feature < 0).sum()) if fewest == "leaves" else len(clean)
    found = replace(found, counted=trees.counted, before=before, after=before)
    if trees.too_large:
        return replace(found, note=f"The ensemble is too large for a search; all {trees.counted} stay.")

    def elect_with(factors: F64, X: F64) -> Index:
        return elected_classes(trees.built(factors), X)

    parts = trees.parts()
    same = parts.exact or not trees.has_merged
    fewest_found = FewestVotersSearch(parts, elect_with, seconds, np.random.default_rng(seed), same).run()
    note = f"The search stopped: {fewest_found.note}." if fewest_found.note else ""
    found = replace(found, bound=fewest_found.bound, note=note, searched=True)
    if fewest_found.weights is None:
        return found
    after = int((fewest_found.weights[:-1] > 0.0).sum())
    if after == before:
        return found
    committee = trees.built(fewest_found.weights)
    small = _trees_of(committee)
    assert isinstance(small, SharedForest)
    nodes, stored = len(small.feature), small.stored_bytes
    return replace(found, committee=committee, after=after, nodes_after=nodes, bytes_after=stored, same_scores=False)
