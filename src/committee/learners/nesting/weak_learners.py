"""Weak learners of a node: a stump, or a classifier of the user's."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.number_types import F64
from committee.learners.nesting.draws import Answer, Sampling, Stopping, estimated_by_draws
from committee.learners.pools.classifier_pool import Clones
from committee.voters.oracles import DrawnVoter, Estimate, OracleVoters, drawn, prob_positive
from committee.voters.soft_stumps import SoftStumps

if TYPE_CHECKING:
    from committee.data.binning import Binned
    from committee.data.rows import Rows
    from committee.learners.base.fit_record import FitRecord, Parts

Normaliser = Callable[[F64], float]
StumpFound: TypeAlias = tuple[int, int, bool, float, float, "NDArray[np.uint32] | None"]
"""As `committee._core.StumpSearch.best` returns it."""


@dataclass
class Trained:
    """A voter trained at one node, and how likely it says + on each training row."""

    voter: Any
    """What the weak learner makes its collection of."""
    q: F64 | None
    """``(n,)``: probabilities of + on the training rows, exact or estimated; None for an oracle that has not answered
    yet."""
    n_draws: int = 0
    """Answers that q was estimated from; 0 where it is exact."""
    answers: Callable[[np.random.Generator], NDArray[np.bool_]] | None = None
    """One answer of an oracle on every training row, drawn by a generator; None where q is known."""


class WeakLearner(Protocol):
    """Search for a voter for weighted rows of two classes."""

    def train(self, weights: NDArray[Any]) -> Trained | None:
        """Return a voter for rows of these weights (not normalised); None where there is nothing to tell apart."""

    def constant(self) -> Trained | None:
        """Return the voter that always says +, for rows that nothing tells apart; None if there is none such."""

    def voters(self, trained: list[Trained]) -> SoftStumps | OracleVoters:
        """Return the trained voters as a collection, for a graph."""


class StumpLearner:
    """Soft stumps: column and threshold by the least Z, at a softness of a share of each column's standard deviation.

    Z is concave in q, and Phi((x - c) / s) is a mixture of hard thresholds around c, so Z cannot decrease as s grows
    (docs/theory.md): of all softnesses allowed the least Z takes the least. It is therefore given, not sought.
    """

    def __init__(self, rows: Rows, binned: Binned, positive: NDArray[np.uint8], softness: float, threads: int) -> None:
        # a node looks at one column, which takes several times as long to read where it stands row by row
        self._record: FitRecord | None = None
        self.columns: F64 = np.asfortranarray(rows.dense)
        self.threads: int = threads
        self.edges: F64 = binned.bins.edges
        self.offset, n_bins = binned.bins.offset, binned.bins.n_bins
        spread = deviations(self.columns, rows.weights, binned.bins.n_categories > 0)
        with np.errstate(over="ignore"):  # beyond all numbers q is 1/2 everywhere
            self.softness: NDArray[Any] = np.minimum(softness * spread, np.finfo(np.float64).max)
        positions = bin_positions(self.columns, binned)
        self.search = _core.StumpSearch(
            binned.dense, n_bins, binned.bins.categorical, positive, positions, self.edges, self.offset, self.softness,
            threads,
        )  # fmt: skip

    def keep(self, record: FitRecord) -> None:
        """From now on record the stumps that are found, and take known ones from the record."""
        self._record = record

    def train(self, weights: NDArray[Any]) -> Trained | None:
        """The stump of least Z."""
        feature, edge, ascending, missing, _, words = self._best(weights)
        if feature < 0:
            return None
        if words is None:
            c, s = float(self.edges[self.offset[feature] + edge]), float(self.softness[feature])
        else:
            c, s = 0.0, 0.0
        return self._trained((feature, c, s, ascending, missing, words))

    def _best(self, weights: NDArray[Any]) -> StumpFound:
        if self._record is None:
            return self.search.best(weights)
        from committee.learners.base.fit_record import Codec  # few fits have a checkpoint

        form = Codec(_parts_of_stump, self._known)
        return self._record.result("stump", (weights,), lambda: self.search.best(weights), form)

    def _known(self, numbers: NDArray[Any], words: NDArray[np.uint32]) -> StumpFound:
        """Undo `_parts_of_stump`."""
        feature, edge, ascending, missing, Z, has_words = numbers.tolist()
        j, at = int(feature), int(edge)
        if not -1 <= j < self.columns.shape[1] or (j >= 0 and not -1 <= at < self.offset[j + 1] - self.offset[j]):
            raise ValueError("a stump is on no column or threshold of the table")
        if not 0.0 <= missing <= 1.0:
            raise ValueError("a stump answers missing values with no probability")
        return j, at, bool(ascending), missing, Z, words if has_words else None

    def constant(self) -> Trained | None:
        """A stump that all values are above."""
        return self._trained((0, -np.inf, 0.0, True, 1.0, None))

    def _trained(self, stump: Any) -> Trained:
        feature, *rest = stump
        alone = SoftStumps.of([(0, *rest)], n_features=1)
        return Trained(stump, alone.probabilities(self.columns[:, feature, None], self.threads)[:, 0])

    def voters(self, trained: list[Trained]) -> SoftStumps:
        """As flat arrays."""
        return SoftStumps.of([one.voter for one in trained], self.columns.shape[1])


def _parts_of_stump(found: StumpFound) -> Parts:
    *numbers, words = found
    return [np.array([*numbers, words is not None]), np.zeros(0, np.uint32) if words is None else words]


class VoterLearner:
    """A user's classifier, fitted anew on the weights of each node."""

    def __init__(
        self, voter: Any, rows: Rows, positive: NDArray[np.uint8], random: np.random.RandomState, estimate: Estimate
    ) -> None:
        self.clones: Clones = Clones(voter, random)
        self.estimate = estimate
        self.X = rows.dense
        self.y: NDArray[np.int64] = positive.astype(np.int64)
        self.count: float = rows.count
        self.seed: int = int(random.randint(2**31 - 1))

    def train(self, weights: NDArray[Any]) -> Trained | None:
        """A clone of the voter, fitted on the rows that count."""
        # hard voters upstream leave most rows of a deep node without weight
        heavy = np.flatnonzero(weights > 0)
        if len(np.unique(self.y[heavy])) < 2:
            return None
        share = weights[heavy].astype(np.float64)
        # weights of about 1 a row, as learners with penalties or least weights expect them
        member = self.clones.trained(self.X[heavy], self.y[heavy], share / share.sum() * self.count)
        if is_only_drawn(member):
            return Trained(member, None, answers=partial(drawn, member, self.X))
        return Trained(member, prob_positive(member, self.X))

    def constant(self) -> Trained | None:
        """None: a user's voter says what it says."""
        return None

    def voters(self, trained: list[Trained]) -> OracleVoters:
        """Collect them; an oracle answers on new rows as often as it did on the training rows."""
        n_draws = [one.n_draws if is_only_drawn(one.voter) else 0 for one in trained]
        return OracleVoters([one.voter for one in trained], np.array(n_draws, np.int64), self.estimate, self.seed)


@dataclass
class Asked:
    """A voter trained at one node, of which more answers may be drawn."""

    voter: Any
    sampling: Sampling

    def trained(self) -> Trained:
        """The voter with the estimate as of now."""
        return Trained(self.voter, self.sampling.q(), self.sampling.n_draws)


class SampledLearner:
    """A weak learner whose voters' probabilities are estimated from their answers.

    Oracles have no other way; of voters whose q is known, answers are drawn by it, to see what estimating costs.
    """

    def __init__(
        self, learner: WeakLearner, stopping: Stopping, estimate: Estimate, random: np.random.RandomState
    ) -> None:
        self.learner: WeakLearner = learner
        self.stopping = stopping
        self.estimate = estimate
        self.random = random

    def train(self, weights: NDArray[Any], Z: Normaliser) -> Trained | None:
        """Train a voter, and estimate q from its answers; `Z` is the normaliser of an estimate."""
        begun = time.perf_counter()
        found = self.learner.train(weights)
        if found is None:
            return None
        seconds = time.perf_counter() - begun
        q, R = estimated_by_draws(self._answer(found), Z, self.stopping, self.estimate, seconds)
        return Trained(found.voter, q, R)

    def asked_once(self, weights: NDArray[Any]) -> Asked | None:
        """Train a voter and draw one answer."""
        found = self.learner.train(weights)
        return None if found is None else Asked(found.voter, Sampling(self._answer(found), self.estimate))

    def _answer(self, found: Trained) -> Answer:
        """Answers of a voter, by a generator of its own."""
        rng = np.random.default_rng(int(self.random.randint(2**31 - 1)))
        return partial(_by_chance, found.q, rng) if found.answers is None else partial(found.answers, rng)


def _by_chance(q: F64 | None, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Answers of a voter whose probabilities are known."""
    assert q is not None
    return np.asarray(rng.random(len(q)) < q)


def is_only_drawn(voter: Any) -> bool:
    """Tell whether a voter only answers, and has no probabilities to look at."""
    return isinstance(voter, DrawnVoter) and not any(
        hasattr(voter, name) for name in ("prob_positive", "predict_proba")
    )


def check_answers(voter: Any) -> None:
    """Refuse a voter that answers neither with probabilities nor at random."""
    if not any(hasattr(voter, name) for name in ("prob_positive", "predict_proba", "draw")):
        raise ValueError(
            f"voter={voter!r} has neither prob_positive, predict_proba nor draw; a probabilistic voter needs one."
        )


def deviations(X: F64, weights: F64, categorical: NDArray[np.bool_]) -> F64:
    """Weighted standard deviation of every column of numbers, missing values left out, ``(p,)``; 0 for categories."""
    s = np.zeros(X.shape[1])
    for j in np.flatnonzero(~categorical).tolist():
        x, w = X[:, j], weights
        if (gone := np.isnan(x)).any():
            x, w = x[~gone], w[~gone]
        largest = float(np.abs(x).max(initial=0.0))
        if largest > 0.0:
            x = x / largest  # whose squares are numbers
            s[j] = largest * np.sqrt(np.average((x - np.average(x, weights=w)) ** 2, weights=w))
    return s


def bin_positions(X: F64, binned: Binned) -> F64:
    """For every bin of every column the middle of the values in it, end to end; categories 0, empty bins an edge.

    A bin of one distinct value, as all are of a column with few, stands exactly where its rows are.
    """
    bins, codes = binned.bins, binned.dense
    positions = []
    for j, n in enumerate(bins.n_bins.tolist()):
        if bins.n_categories[j] > 0:
            positions.append(np.zeros(n))
            continue
        edges = bins.edges[bins.offset[j] : bins.offset[j + 1]]
        least, most = np.append(edges, np.inf), np.append(-np.inf, edges)
        x, code = X[:, j], codes[:, j]
        if (gone := np.isnan(x)).any():
            x, code = x[~gone], code[~gone]
        low, high = np.full(n, np.inf), np.full(n, -np.inf)
        np.minimum.at(low, code, x)
        np.maximum.at(high, code, x)
        empty = low > high
        with np.errstate(invalid="ignore"):  # of an empty bin's infinities
            middle = 0.5 * low + 0.5 * high  # the sum of both may overflow
        middle[empty] = np.where(np.isfinite(least), least, most)[empty]
        positions.append(np.where(np.isfinite(middle), middle, 0.0))
    return np.concatenate(positions) if positions else np.empty(0)
