"""Smaller votes of a trained ensemble: pruned by rows, or with the same prediction for every possible row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state

from committee.data.number_types import F64, Index, is_number
from committee.data.packages import require_package
from committee.learners.blend.blend import Blend
from committee.learners.pruning.fewest_voters import FewestVotersSearch
from committee.learners.pruning.vote_cells import WeightedParts, elected_classes
from committee.learners.reweighting.leaf_reweighter import (
    DEFAULT_SHARE,
    LeafReweighter,
    LeafReweighterRegressor,
    Limits,
)
from committee.learners.reweighting.margin_reweighter import MarginReweighter, level_function
from committee.learners.trained_ensembles.trained_ensemble import RowsGiven, predicts_numbers
from committee.vote.committee import Committee, RegressionCommittee
from committee.voters.forest import Forest
from committee.voters.rounds import Rounds
from committee.voters.shared_forest import SharedForest

Part = Literal["trees", "leaves"]


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


# --- without loss -----------------------------------------------------------------------------------------------------


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
    inner = ensemble.estimator if isinstance(ensemble, FrozenEstimator) else ensemble
    kind = RegressionCommittee if predicts_numbers(inner) else Committee
    committee = inner if isinstance(inner, kind) else kind.from_estimator(inner)
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
    weights, bound, early = FewestVotersSearch(parts, elect_with, seconds, np.random.default_rng(seed), same).run()
    note = f"The search stopped: {early}." if early else ""
    found = replace(found, bound=bound, note=note, searched=True)
    if weights is None:
        return found
    after = int((weights[:-1] > 0.0).sum())
    if after == before:
        return found
    committee = trees.built(weights)
    small = _trees_of(committee)
    assert isinstance(small, SharedForest)
    nodes, stored = len(small.feature), small.stored_bytes
    return replace(found, committee=committee, after=after, nodes_after=nodes, bytes_after=stored, same_scores=False)
