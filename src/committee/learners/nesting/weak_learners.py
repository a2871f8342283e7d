"""Weak learners of a node: a soft stump or a user's classifier; its probability q estimated from drawn answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import log
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.bins import Binned
from committee.data.number_types import F64
from committee.data.rows import Rows
from committee.learners.base.fit_record import Codec, FitRecord, Parts
from committee.learners.boosting.pool import Clones
from committee.voters.probabilistic_voters import (
    DrawnVoter,
    Estimate,
    OracleVoters,
    SoftStumps,
    draw_answers,
    estimate_probability,
    prob_positive,
)

Answer: TypeAlias = Callable[[], NDArray[np.bool_]]  # one random answer on every training row
Normaliser: TypeAlias = Callable[[F64], float]  # Z of an estimate of q
# number of draws, or the rule that ends them
Stopping: TypeAlias = int | Literal["first_rise", "stopwatch", "look_ahead"]
# column, edge, ascending, q of missing values, Z, words of categories
StumpFound: TypeAlias = tuple[int, int, bool, float, float, NDArray[np.uint32] | None]

MOST_DRAWS = 1000  # draws after which either rule ends: Z never rises for a voter with a constant answer
LEAST_Z = 1e-300  # taken in logarithms for the Z of 0 of a voter that is never wrong


@dataclass
class Trained:
    voter: Any  # in the weak learner's own form
    q: F64 | None  # (n,); None for an oracle without answers so far, and for voters in the graph
    n_draws: int = 0  # answers that q was estimated from; 0 where it is exact
    # draws an oracle's answers on the training rows
    answers: Callable[[np.random.Generator], NDArray[np.bool_]] | None = None


class StumpLearner:
    """Stumps of least Z, on soft thresholds or sets of categories."""

    def __init__(self, rows: Rows, binned: Binned, positive: NDArray[np.uint8], softness: float, threads: int) -> None:
        self._record: FitRecord | None = None
        self.columns: F64 = np.asfortranarray(rows.dense)  # a node reads one column
        self.threads: int = threads
        self.edges: F64 = binned.bins.edges
        self.offset: NDArray[np.int64] = binned.bins.offset
        spread = deviations(self.columns, rows.weights, binned.bins.n_categories > 0)
        # not searched, as the least Z has the least softness: Z is concave in q (docs/theory.md)
        with np.errstate(over="ignore"):  # q is 1/2 everywhere
            self.softness: F64 = np.minimum(softness * spread, np.finfo(np.float64).max)
        self.search = _core.StumpSearch(
            binned.dense, binned.bins.n_bins, binned.bins.categorical, positive, bin_positions(self.columns, binned),
            self.edges, self.offset, self.softness, threads,
        )  # fmt: skip

    def keep(self, record: FitRecord) -> None:
        self._record = record

    def train(self, weights: NDArray[Any]) -> Trained | None:
        def best() -> StumpFound:
            return self.search.best(weights)

        form, record = Codec(_parts_of_stump, self._restored), self._record
        found = best() if record is None else record.result("stump", (weights,), best, form)
        feature, edge, ascending, missing, _, words = found
        if feature < 0:
            return None
        c, s = 0.0, 0.0
        if words is None:
            c, s = float(self.edges[self.offset[feature] + edge]), float(self.softness[feature])
        return self._trained((feature, c, s, ascending, missing, words))

    def _restored(self, numbers: NDArray[Any], words: NDArray[np.uint32]) -> StumpFound:
        feature, edge, ascending, missing, Z, has_words = numbers.tolist()
        j, at = int(feature), int(edge)
        if not -1 <= j < self.columns.shape[1] or (j >= 0 and not -1 <= at < self.offset[j + 1] - self.offset[j]):
            raise ValueError("a stump is on no column or threshold of the table")
        if not 0.0 <= missing <= 1.0:
            raise ValueError("a stump has no probability for missing values")
        return j, at, bool(ascending), missing, Z, words if has_words else None

    def constant(self) -> Trained | None:
        return self._trained((0, -np.inf, 0.0, True, 1.0, None))

    def _trained(self, stump: Any) -> Trained:
        feature, *rest = stump
        alone = SoftStumps.of([(0, *rest)], n_features=1)
        return Trained(stump, alone.probabilities(self.columns[:, feature, None], self.threads)[:, 0])

    def voters(self, trained: list[Trained]) -> SoftStumps:
        return SoftStumps.of([one.voter for one in trained], self.columns.shape[1])


def _parts_of_stump(found: StumpFound) -> Parts:
    *numbers, words = found
    return [np.array([*numbers, words is not None]), np.zeros(0, np.uint32) if words is None else words]


class VoterLearner:
    def __init__(
        self, voter: Any, rows: Rows, positive: NDArray[np.uint8], random: np.random.RandomState, estimate: Estimate
    ) -> None:
        self.estimate = estimate
        self.clones: Clones = Clones(voter, random)
        self.X, self.y = rows.dense, positive.astype(np.int64)
        self.count: float = rows.count
        self.seed: int = int(random.randint(2**31 - 1))

    def train(self, weights: NDArray[Any]) -> Trained | None:
        # rows without weight are left out: hard voters upstream leave most rows of a deep node without
        heavy = np.flatnonzero(weights > 0)
        if len(np.unique(self.y[heavy])) < 2:
            return None
        share = weights[heavy].astype(np.float64)
        # weights of about 1 a row, as learners with penalties or least weights expect them
        member = self.clones.trained(self.X[heavy], self.y[heavy], share / share.sum() * self.count)
        if is_only_drawn(member):
            return Trained(member, None, answers=partial(draw_answers, member, self.X))
        return Trained(member, prob_positive(member, self.X))

    def constant(self) -> Trained | None:
        return None

    def voters(self, trained: list[Trained]) -> OracleVoters:
        # an oracle is drawn on new rows as often as on the training rows
        n_draws = [one.n_draws if is_only_drawn(one.voter) else 0 for one in trained]
        return OracleVoters([one.voter for one in trained], np.array(n_draws, np.int64), self.estimate, self.seed)


WeakLearner: TypeAlias = StumpLearner | VoterLearner


def is_only_drawn(voter: Any) -> bool:
    return isinstance(voter, DrawnVoter) and not any(
        hasattr(voter, name) for name in ("prob_positive", "predict_proba")
    )


def deviations(X: F64, weights: F64, categorical: NDArray[np.bool_]) -> F64:
    s = np.zeros(X.shape[1])
    for j in np.flatnonzero(~categorical).tolist():
        x, w = X[:, j], weights
        if (gone := np.isnan(x)).any():
            x, w = x[~gone], w[~gone]
        largest = float(np.abs(x).max(initial=0.0))
        if largest > 0.0:
            x = x / largest  # so that squares do not overflow
            s[j] = largest * np.sqrt(np.average((x - np.average(x, weights=w)) ** 2, weights=w))
    return s


def bin_positions(X: F64, binned: Binned) -> F64:
    """Return the middles of the bins' values, of all columns end to end."""
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


# --- probabilities estimated from drawn answers -----------------------------------------------------------------------


class SampledLearner:
    """A weak learner whose voters' probabilities are estimated from their answers."""

    def __init__(
        self, learner: WeakLearner, stopping: Stopping, estimate: Estimate, random: np.random.RandomState
    ) -> None:
        self.stopping, self.estimate, self.random = stopping, estimate, random
        self.learner: WeakLearner = learner

    def train(self, weights: NDArray[Any], Z: Normaliser) -> Trained | None:
        begun = time.perf_counter()
        found = self.learner.train(weights)
        if found is None:
            return None
        seconds = time.perf_counter() - begun
        q, R = estimated_by_draws(self._answer(found), Z, self.stopping, self.estimate, seconds)
        return Trained(found.voter, q, R)

    def drawn_once(self, weights: NDArray[Any]) -> Sampling | None:
        found = self.learner.train(weights)
        return None if found is None else Sampling(self._answer(found), self.estimate, found.voter)

    def _answer(self, found: Trained) -> Answer:
        rng = np.random.default_rng(int(self.random.randint(2**31 - 1)))
        if found.answers is not None:
            return partial(found.answers, rng)
        q = found.q
        assert q is not None
        return lambda: np.asarray(rng.random(len(q)) < q)


class Sampling:
    def __init__(self, answer: Answer, estimate: Estimate, voter: Any = None) -> None:
        self.estimate, self.voter = estimate, voter
        self.answer: Answer = answer
        self.count = answer().astype(np.int64)
        self.n_draws = 1

    def again(self) -> None:
        self.count += self.answer()
        self.n_draws += 1

    def q(self) -> F64:
        return estimate_probability(self.count, self.n_draws, self.estimate)

    def trained(self) -> Trained:
        return Trained(self.voter, self.q(), self.n_draws)


def estimated_by_draws(
    answer: Answer, Z: Normaliser, stopping: Stopping, estimate: Estimate, seconds: float
) -> tuple[F64, int]:
    """Return the estimate of q ``(n,)``, and the number of draws. Equation: stopwatch (docs/theory.md)."""
    begun = time.perf_counter()
    sampling = Sampling(answer, estimate)
    q = sampling.q()
    last = log(max(Z(q), LEAST_Z))
    # a forecast; Grossmann, section 3.2, trains the next voter (`look_ahead`)
    next_voter = last / max(seconds + time.perf_counter() - begun, 1e-9)
    most = MOST_DRAWS if isinstance(stopping, str) else stopping
    while most > sampling.n_draws:
        begun = time.perf_counter()
        sampling.again()
        q = sampling.q()
        if not isinstance(stopping, str):
            continue
        now = log(max(Z(q), LEAST_Z))
        if stopping == "first_rise" and now > last:
            break
        next_draw = (now - last) / max(time.perf_counter() - begun, 1e-9)
        if stopping == "stopwatch" and next_draw > next_voter:
            break
        last = now
    return q, sampling.n_draws
