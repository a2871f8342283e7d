"""Links from a committee's score F to class probabilities.

A model file stores the name and numbers of a link. A new link is one class here and one entry of `LINKS`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import isfinite
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit, log_ndtr, ndtr

from committee.data.typed_json import NamedParameters, as_float, read_named_parameters
from committee.vote.weighted_votes import Scores, elected, signed
from committee.voters.forest import Forest
from committee.voters.protocol import Voters

Weight: TypeAlias = float | NDArray[np.float64]

CHECKED_CELLS = 2**17
"""Leaf values that are checked at a time, so that they stay in the cache."""
PRIOR = 0.2
"""Default prior votes of each class in a tempered share; see docs/decisions.md."""


class Link(NamedParameters, ABC):
    """Function from scores to class probabilities, whose first largest entry in a row is the elected class."""

    def probability(self, F: ArrayLike, total: float | None = None) -> Scores:
        """Class probabilities ``(n, K)`` of scores ``(n,)`` or ``(n, D)``; `total` is the weight of the voters."""
        scores = np.asarray(F, dtype=np.float64)
        if scores.ndim == 1:
            scores = scores[:, None]
        if scores.ndim != 2 or scores.shape[1] == 0:
            raise ValueError(f"F has shape {np.shape(F)}; a link needs (n,) or (n, K).")
        p, winner = self._probability(scores, total), elected(scores)
        wrong = p.argmax(axis=1) != winner
        if np.count_nonzero(wrong):  # of one row in a quarter of the time that `any` takes
            rows = np.flatnonzero(wrong)
            p[rows, winner[rows]] = np.nextafter(p[rows].max(axis=1), np.inf)
        return p

    @property
    def averages(self) -> bool:
        """True if scores are divided by the weight of the voters."""
        return False

    def check_votes(self, voters: Voters, weights: NDArray[np.float64]) -> None:  # most take all
        """Raise ``ValueError`` for votes or weights that the link does not support."""

    @abstractmethod
    def _probability(self, F: Scores, total: float | None) -> Scores: ...

    def settle(self, tally: Scores, total: Weight) -> Scores:
        """Make scores equal that the link treats as tied."""
        return tally

    def evidence(self, F: ArrayLike, total: Weight) -> Scores:
        """Evidence z, ``(n, K)``: `tempered` probabilities are exp(z_k / T) / sum_j exp(z_j / T)."""
        return _class_scores(F)

    def tempered(self, temperature: float) -> "Link":
        """Link of the same votes with the evidence divided by a temperature."""
        return Softmax(scale=1.0 / temperature)


@dataclass(frozen=True)
class Softmax(Link):
    """p_k = exp(s F_k) / sum_j exp(s F_j); for two classes p_1 = sigma(s F).

    J. Zhu, H. Zou, S. Rosset, T. Hastie (2009). Multi-class AdaBoost. Statistics and Its Interface 2.
    """

    name: ClassVar[str] = "softmax"
    scale: float = 1.0
    normalized: bool = False  # divide F by the weight of the voters, as scikit-learn's AdaBoost

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _positive("scale", self.scale))
        if not isinstance(self.normalized, bool):
            raise ValueError(f"normalized is {self.normalized!r}; it must be True or False.")

    @property
    def averages(self) -> bool:
        return self.normalized

    def check_votes(self, voters: Voters, weights: NDArray[np.float64]) -> None:
        if self.normalized:
            _refuse_negative(weights, "the normalized softmax link")

    def _probability(self, F: Scores, total: float | None) -> Scores:
        if self.normalized:
            F = _mean(F, total, np.zeros_like(F))
        if F.shape[1] <= 2:
            return _two_sided(self.scale * signed(F))
        # the maximum goes before the factor, so that large scores lose no digits
        return _exp_normalised(self.scale * (F - F.max(axis=1, keepdims=True)))


@dataclass(frozen=True)
class Logistic(Link):
    """p_1 = sigma(s F); for more classes sigma(s F_k), divided by their sum.

    J. Friedman, T. Hastie, R. Tibshirani (2000). Additive logistic regression. Annals of Statistics 28(2).
    """

    name: ClassVar[str] = "logistic"
    scale: float = 2.0  # F is half the log-odds for the exponential loss

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _positive("scale", self.scale))

    def _probability(self, F: Scores, total: float | None) -> Scores:
        if F.shape[1] <= 2:
            return _two_sided(self.scale * signed(F))
        # logarithms, because all sigmas of a row may underflow
        logs = log_expit(self.scale * F)
        return _exp_normalised(logs - logs.max(axis=1, keepdims=True))


@dataclass(frozen=True)
class Probit(Link):
    """p_1 = Phi(F); for more classes Phi(F_k), divided by their sum.

    S. Zheng, W. Liu (2012). Functional gradient ascent for probit regression. Pattern Recognition 45.
    """

    name: ClassVar[str] = "probit"

    def _probability(self, F: Scores, total: float | None) -> Scores:
        if F.shape[1] <= 2:
            z = signed(F)
            return np.column_stack([ndtr(-z), ndtr(z)])
        # logarithms, because every Phi of a row may underflow; they are about -F^2/2, which must not overflow
        logs = log_ndtr(np.maximum(F, -1e150))
        return _exp_normalised(logs - logs.max(axis=1, keepdims=True))


@dataclass(frozen=True)
class Share(Link):
    """p_k is the share of class k in the tally (L. Breiman 1996, Bagging predictors, Machine Learning 24(2))."""

    name: ClassVar[str] = "share"
    averages: ClassVar[bool] = True

    def check_votes(self, voters: Voters, weights: NDArray[np.float64]) -> None:
        from committee.voters.estimators import RegressorRounds, RegressorVoters, SignedVoters
        from committee.voters.model_forest import LinearScores
        from committee.voters.rounds import Rounds
        from committee.voters.vote_graph import PathMajority, VoteGraph

        _refuse_negative(weights, "the share link")
        scores = (LinearScores, PathMajority, RegressorRounds, RegressorVoters, Rounds, SignedVoters, VoteGraph)
        if isinstance(voters, scores):
            raise ValueError(
                f"{type(voters).__name__} hold scores, which do not sum to one as shares do; use the softmax or the "
                "logistic link."
            )
        if isinstance(voters, Forest) and voters.shares is not None:
            shares = voters.shares
            off = (np.abs(shares.totals() - 1.0) > 1e-9) & (voters.feature < 0)
            off[np.searchsorted(shares.share_offset, np.flatnonzero(shares.share < 0.0), side="right") - 1] = True
            if off.any():
                raise _no_shares(shares.take(np.flatnonzero(off)[:1]).dense()[0])
        if not isinstance(voters, Forest) or voters.value is None:
            return
        signed_votes = voters.n_outputs == 1 and voters.n_classes == 2
        at_once = max(1, CHECKED_CELLS // voters.n_outputs)
        for first in range(0, len(voters.feature), at_once):
            block = slice(first, first + at_once)
            values = voters.value[block]
            if signed_votes:
                bad = np.abs(values[:, 0]) > 1.0
            else:
                sums = np.einsum("nk->n", values)  # several times as fast as sum(axis=1) where classes are few
                bad = np.abs(sums - 1.0) > 1e-9
                if values.min() < 0.0:
                    bad |= (values < 0.0).any(axis=1)
            bad &= voters.feature[block] < 0
            if bad.any():
                raise _no_shares(values[int(np.argmax(bad))])

    def settle(self, tally: Scores, total: Weight) -> Scores:
        if tally.shape[1] == 1:
            return tally
        mean = tally / np.where(np.asarray(total) > 0.0, total, 1.0)
        first, largest = mean.argmax(axis=1), tally.argmax(axis=1)
        unlike = first != largest
        if np.count_nonzero(unlike):
            rows, tally = np.flatnonzero(unlike), tally.copy()
            tally[rows, first[rows]] = tally[rows, largest[rows]]
        return tally

    def _probability(self, F: Scores, total: float | None) -> Scores:
        # F and the total are sums in different orders; their quotient may pass 1 by a rounding
        if F.shape[1] == 1:
            mean = _mean(F, total, np.zeros_like(F))
            upper = np.clip((1.0 + mean) / 2.0, 0.0, 1.0)
            return np.hstack([1.0 - upper, upper])
        if F.size and F.min() < 0:
            raise ValueError(f"F holds {F.min()}; the share link needs tallies >= 0. Use the softmax link.")
        return np.minimum(_mean(F, total, np.full_like(F, 1.0 / F.shape[1])), 1.0)

    def evidence(self, F: ArrayLike, total: Weight) -> Scores:
        return _log_votes(F, total, PRIOR)

    def tempered(self, temperature: float) -> Link:
        return TemperedShare(temperature)


def _no_shares(found: NDArray[np.float64]) -> ValueError:
    return ValueError(
        f"A leaf holds {found.tolist()}; the share link needs class shares >= 0 with sum 1, or one score in [-1, 1]. "
        "Use the softmax or the logistic link for other scores."
    )


@dataclass(frozen=True)
class TemperedShare(Share):
    """p_k = (v_k + a)^(1 / T) / sum_j (v_j + a)^(1 / T), v_k the weight of the votes for class k.

    Equation: tempered-share (docs/theory.md).
    """

    name: ClassVar[str] = "tempered_share"
    temperature: float
    prior: float = PRIOR  # makes classes without votes unlikely instead of impossible

    def __post_init__(self) -> None:
        object.__setattr__(self, "temperature", _positive("temperature", self.temperature))
        object.__setattr__(self, "prior", _positive("prior", self.prior))

    def evidence(self, F: ArrayLike, total: Weight) -> Scores:
        return _log_votes(F, total, self.prior)

    def tempered(self, temperature: float) -> Link:
        return TemperedShare(temperature, self.prior)

    def _probability(self, F: Scores, total: float | None) -> Scores:
        if F.shape[1] == 1 and total is None:
            raise ValueError("total is missing; signed scores need the weight of the voters.")
        return _softened(self.evidence(F, 0.0 if total is None else total), self.temperature)


@dataclass(frozen=True)
class Truncated(Link):
    """p_1 = (1 + F)/2 within [floor, 1 - floor], as F = p_1 - p_0 minimises the squared hinge loss.

    T. Zhang (2004). Statistical behavior and consistency of classification methods based on convex risk minimization.
    Annals of Statistics 32(1).
    """

    name: ClassVar[str] = "truncated"
    floor: float = 0.0  # least probability before normalisation

    def __post_init__(self) -> None:
        if not 0.0 <= self.floor < 0.5:
            raise ValueError(f"floor is {self.floor!r}; it must lie in [0, 0.5).")

    def settle(self, tally: Scores, total: Weight) -> Scores:
        return _near_ties(tally, total)

    def tempered(self, temperature: float) -> Link:
        return TemperedMargin(temperature)

    def _probability(self, F: Scores, total: float | None) -> Scores:
        most = 1.0 - 2.0 * self.floor
        if F.shape[1] <= 2:
            z = np.clip(signed(F), -most, most)
            return np.column_stack([(1.0 - z) / 2.0, (1.0 + z) / 2.0])
        return _mean(1.0 + np.clip(F, -most, most), None, np.full_like(F, 1.0 / F.shape[1]))


@dataclass(frozen=True)
class TemperedMargin(Link):
    """p_k = exp(F_k / T) / sum_j exp(F_j / T)."""

    name: ClassVar[str] = "tempered_margin"
    temperature: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "temperature", _positive("temperature", self.temperature))

    def settle(self, tally: Scores, total: Weight) -> Scores:
        return _near_ties(tally, total)

    def tempered(self, temperature: float) -> Link:
        return TemperedMargin(temperature)

    def _probability(self, F: Scores, total: float | None) -> Scores:
        return _two_sided(signed(F) / self.temperature) if F.shape[1] <= 2 else _softened(F, self.temperature)


LINKS: dict[str, type[Link]] = {
    link.name: link for link in (Softmax, Logistic, Probit, Share, TemperedShare, Truncated, TemperedMargin)
}


def from_json(stored: object) -> Link:
    """Read a link from its JSON values."""
    return read_named_parameters(stored, LINKS, "link")


def _class_scores(F: ArrayLike) -> Scores:
    scores = np.asarray(F, dtype=np.float64)
    z = scores if scores.ndim == 1 else scores[:, 0]
    return scores if scores.ndim == 2 and scores.shape[1] > 1 else np.column_stack([-z / 2.0, z / 2.0])


def _log_votes(F: ArrayLike, total: Weight, prior: float) -> Scores:
    scores = np.asarray(F, dtype=np.float64)
    if scores.ndim == 1 or scores.shape[1] == 1:
        scores = (np.reshape(total, (-1, 1)) / 2.0) + _class_scores(scores)
    # votes are sums in another order than their total, and may pass zero by a rounding
    return np.log(np.maximum(scores, 0.0) + prior)


def _softened(evidence: Scores, temperature: float) -> Scores:
    return _exp_normalised((evidence - evidence.max(axis=1, keepdims=True)) / temperature)


def _near_ties(tally: Scores, total: Weight) -> Scores:
    near = 1e-12 * np.maximum(total, 1.0)
    if tally.shape[1] == 1:
        tied = (tally != 0.0) & (np.abs(tally) <= near)
        return np.where(tied, 0.0, tally) if tied.any() else tally
    largest = tally.max(axis=1, keepdims=True)
    tied = (tally < largest) & (tally >= largest - near)
    return np.where(tied, largest, tally) if tied.any() else tally


_SIDES = np.array([-1.0, 1.0])


def _two_sided(z: Scores) -> Scores:
    return np.asarray(expit(z[:, None] * _SIDES))


def _exp_normalised(z: Scores) -> Scores:
    p = np.exp(z)
    p /= p.sum(axis=1, keepdims=True)
    return p


def _mean(F: Scores, total: float | None, without: Scores) -> Scores:
    if total is None:
        if F.shape[1] == 1:
            raise ValueError("total is missing; signed scores need the weight of the voters.")
        weight = F.sum(axis=1, keepdims=True)
    else:
        weight = np.full((len(F), 1), total)
    np.divide(F, weight, out=without, where=weight > 0)
    return without


def _refuse_negative(weights: NDArray[np.float64], by: str) -> None:
    if (weights < 0).any():
        t = int(np.argmin(weights))
        raise ValueError(f"weights[{t}] is {weights[t]}; {by} needs weights >= 0. Use the link Softmax().")


def _positive(name: str, value: object) -> float:
    number = as_float(name, value)
    if not isfinite(number) or number <= 0:
        raise ValueError(f"{name} is {number}; it must be finite and above zero.")
    return number
