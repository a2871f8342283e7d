"""An ensemble that is trained already, in less room and with fewer trees or leaves, and the same classes everywhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state

from committee.data.extras import needed
from committee.data.number_types import F64, Index, is_number
from committee.learners.trained.fewest_voters import FewestSearch
from committee.learners.trained.weighed_trees import WeighedTrees, elected_classes
from committee.vote.committee import Committee
from committee.vote.regression import RegressionCommittee
from committee.voters.forest import Forest
from committee.voters.rounds import Rounds
from committee.voters.shared_forest import SharedForest

Part = Literal["trees", "leaves"]


@dataclass(frozen=True, eq=False)
class LosslessVote:
    """What `lossless` made of an ensemble.

    Parameters
    ----------
    committee : Committee or RegressionCommittee
        The smaller vote. ``committee.save(path)`` writes a file in which equal sub-trees are stored once.
    counted : str
        What was counted: "trees", "rounds" or "leaves".
    before, after, bound : int
        Number of these before, and in the committee. No fewer than `bound` elect the same classes, trees of the same
        splits being one already, whatever their weights: but for weights by which some class leads by less than 10^-5
        of their sum. 0 where fewer were not looked for.
    nodes_before, nodes_after : int
    bytes_before, bytes_after : int
        Of the arrays of a model file.
    same_scores : bool
        Whether scores and probabilities are the same too, bit for bit; else the classes alone.
    note : str
        Why the search ended before `after` was `bound`; empty if it did not.
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

    @property
    def proved(self) -> bool:
        """Whether no fewer do."""
        return self.after == self.bound

    @property
    def gap(self) -> float:
        """Share of the trees, rounds or leaves that are left of which nobody has proved that they are needed."""
        return (self.after - self.bound) / self.after if self.after else 0.0

    def predict(self, X: Any) -> NDArray[Any]:
        """What the smaller vote predicts, which is what the ensemble does."""
        return self.committee.predict(X)

    def __str__(self) -> str:
        fewest = "the fewest that do" if self.proved else f"at least {self.bound} are needed"
        trees = f"{self.after} of {self.before} {self.counted}" + (f" ({fewest})" if self.searched else "")
        nodes = f"{self.nodes_after:,} of {self.nodes_before:,} nodes"
        stored = f"{self.bytes_after:,} of {self.bytes_before:,} bytes"
        same = "the same scores" if self.same_scores else "the same classes, with other scores and probabilities"
        return " ".join([f"{trees}, {nodes}, {stored}: {same}.", self.note]).strip()

    @property
    def searched(self) -> bool:
        """Whether fewer were looked for."""
        return self.bound > 0 or bool(self.note)


def lossless(
    ensemble: Any,
    *,
    fewest: Part | None = "trees",
    time_limit: float = 60.0,
    random_state: int | np.random.RandomState | None = None,
) -> LosslessVote:
    """Make a trained ensemble of trees smaller, so that it predicts the same for every row that there can be.

    First, whatever it predicts, with the same scores bit for bit: splits that part no rows any more, as others above
    them did, and splits between equal sub-trees go; equal sub-trees, splits and leaves are stored once. Then, of votes
    for classes: trees of the same splits become one, and weights that are not negative are sought for the fewest trees,
    or leaves, that elect the same class in every cell of all numbers, missing values and categories. A linear program
    with whole numbers finds weights that satisfy the rows known so far; a search of all cells finds rows on which they
    fail, until there are none. That takes long: ensembles of more than some tens of trees are seldom finished.

    Parameters
    ----------
    ensemble : fitted classifier or regressor, Committee or RegressionCommittee
        A forest or booster of this library, or what `Committee.from_estimator` and `RegressionCommittee.from_estimator`
        take. It stays as it is.
    fewest : {"trees", "leaves"} or None, default="trees"
        What is to be as few as possible; a round of several scores counts as one tree. None: nothing is left out that
        adds to a score. Regressors take it for None.
    time_limit : float, default=60.0
        Seconds for the search. If they do not do, all trees or leaves stay.
    random_state : int, RandomState or None, default=None
        Draws the rows that the search starts with.

    Returns
    -------
    LosslessVote

    Raises
    ------
    NotFittedError
        If the ensemble is not fitted.
    MissingExtraError
        If a search is asked for and HiGHS is not installed.
    TypeError
        If its voters are not plain trees, or it is of a kind that is not known.
    ValueError
        If a parameter is none that it can be.

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
        needed("highspy", f"fewest={fewest!r}", "fewest=None works without, and leaves out no tree")
    trees = _trees_of(committee)
    clean = replace(committee, voters=_with_trees(committee, SharedForest.of(trees)))
    found = _Found(
        clean, "rounds" if isinstance(clean.voters, Rounds) else "trees", len(clean), len(clean), 0, True, ""
    )
    if fewest is not None and isinstance(clean, Committee) and clean.n_classes > 1:
        found = _search(clean, fewest, float(time_limit), check_random_state(random_state).randint(2**31))
    small = _trees_of(found.committee)
    assert isinstance(small, SharedForest)
    return LosslessVote(
        committee=found.committee,
        counted=found.counted,
        before=found.before,
        after=found.after,
        bound=found.bound,
        nodes_before=len(trees.feature),
        nodes_after=len(small.feature),
        bytes_before=trees.nbytes,
        bytes_after=small.stored_bytes,
        same_scores=found.same_scores,
        note=found.note,
    )


@dataclass(frozen=True, eq=False)
class _Found:
    committee: Committee | RegressionCommittee
    counted: str
    before: int
    after: int
    bound: int
    same_scores: bool
    note: str


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


def _with_trees(committee: Committee | RegressionCommittee, forest: Forest) -> Forest | Rounds:
    return replace(committee.voters, forest=forest) if isinstance(committee.voters, Rounds) else forest


def _search(clean: Committee, fewest: Part, seconds: float, seed: int) -> _Found:
    """The fewest trees or leaves, or all of them."""
    trees = WeighedTrees.of(clean, fewest)
    before = int((_trees_of(clean).feature < 0).sum()) if fewest == "leaves" else len(clean)
    whole = _Found(clean, trees.counted, before, before, 0, True, "")
    if trees.too_large:
        return replace(whole, note=f"The ensemble is too large for a search; all {trees.counted} stay.")

    def elect_with(factors: F64, X: F64) -> Index:
        return elected_classes(trees.built(factors), X)

    parts = trees.parts()
    same = parts.exact or not trees.is_joined
    found = FewestSearch(parts, elect_with, seconds, np.random.default_rng(seed), same).run()
    note = f"The search stopped: {found.note}." if found.note else ""
    if found.weights is None:
        return replace(whole, bound=found.bound, note=note)
    after = int((found.weights[:-1] > 0.0).sum())
    if after == before:
        return replace(whole, bound=found.bound, note=note)
    return _Found(trees.built(found.weights), trees.counted, before, after, found.bound, False, note)
