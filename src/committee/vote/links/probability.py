"""Links: from a committee's score F to class probabilities.

A link is a small frozen object that a model file stores as its name and its numbers. `LINKS` is the table of
names; a further link is one more class here and one more line there.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import isfinite
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit, log_ndtr, ndtr

from committee.data.typed_json import NamedParameters, as_float, read_named_parameters
from committee.vote.scores import Scores, elected, signed
from committee.voters.forest import Forest
from committee.voters.protocol import Voters

Weight: TypeAlias = float | NDArray[np.float64]

PRIOR = 0.2
"""Votes that every class of a tempered share has before any voter is asked; docs/decisions.md has how it was chosen."""


class Link(NamedParameters, ABC):
    """Base of links: `probability`, and going to and from JSON.

    Two promises hold for every link, whatever the scores: each row of `probability` sums to one, and its
    first largest entry is the class that the scores elect (binary: F > 0; otherwise the first largest F).
    The second needs care. Scores can differ by less than probabilities can show: sigma(1e-20) rounds to 1/2,
    sigma(40) and sigma(50) both to 1. Where a probability rounds to that of the winner, the winner's is moved
    up by one unit in the last place.
    """

    def probability(self, F: ArrayLike, total: float | None = None) -> Scores:
        """Class probabilities of scores.

        Parameters
        ----------
        F : float array
            Two classes: ``(n,)`` or ``(n, 1)`` signed scores, positive for the second class, or the
            ``(n, 2)`` tally. Otherwise the ``(n, K)`` tally. Finite.
        total : float, default=None
            Weight of the voters, for the links that look at the mean vote instead of its sum. None: the row's
            own sum, which is the weight of the label voters that did not abstain on it. Where the weight is
            zero every class gets the same probability.

        Returns
        -------
        float64 array (n, K)
            Rows sum to one; the first largest entry is the class elected by `F`.

        Raises
        ------
        ValueError
            If `F` is no vector or matrix, or `total` is missing where signed scores need it.

        Examples
        --------
        >>> from committee.vote.links.probability import Softmax
        >>> Softmax().probability([0.0, 2.0]).round(3).tolist()
        [[0.5, 0.5], [0.119, 0.881]]
        """
        scores = np.asarray(F, dtype=np.float64)
        if scores.ndim == 1:
            scores = scores[:, None]
        if scores.ndim != 2 or scores.shape[1] == 0:
            raise ValueError(f"F has shape {np.shape(F)}; a link needs (n,) or (n, K).")
        return _let_win(self._probability(scores, total), elected(scores))

    def check_votes(self, voters: Voters, weights: NDArray[np.float64]) -> None:  # most take all
        """Refuse, with ``ValueError``, votes or weights that this link cannot turn into probabilities."""

    @abstractmethod
    def _probability(self, F: Scores, total: float | None) -> Scores:
        """The equation alone, for a matrix of scores."""

    def settle(self, tally: Scores, total: Weight) -> Scores:
        """The tally with the ties that this link sees in it; the array itself if there are no others.

        The total is the weight of the voters, of all rows or in a column of one for each.
        """
        return tally

    def evidence(self, F: ArrayLike, total: Weight) -> Scores:
        """Return z, ``(n, K)``: `tempered` probabilities are exp(z_k / T) / sum_j exp(z_j / T).

        Scores are as for `probability`; the total is the weight of the voters, of all rows or in a column of one for
        each. The z of a row are in the order of its scores.

        Examples
        --------
        >>> from committee.vote.links.probability import Share, Softmax
        >>> Softmax().evidence([1.0], 2.0).tolist(), Share().evidence([[3.0, 1.0]], 4.0).round(3).tolist()
        ([[-0.5, 0.5]], [[1.163, 0.182]])
        """
        return _class_scores(F)

    def tempered(self, temperature: float) -> "Link":
        """Return the link of the same votes whose evidence is divided by a temperature.

        Examples
        --------
        >>> from committee.vote.links.probability import Share, Softmax
        >>> Softmax().tempered(4.0), Share().tempered(0.75)
        (Softmax(scale=0.25, normalized=False), TemperedShare(temperature=0.75, prior=0.2))
        """
        return Softmax(scale=1.0 / temperature)


@dataclass(frozen=True)
class Softmax(Link):
    """Votes as evidence: p_k = exp(s F_k) / sum_j exp(s F_j); for two classes p_1 = sigma(s F).

    SAMME is forward stagewise fitting of the multi-class exponential loss, whose minimiser makes F the
    (centred) log-probabilities up to a factor [1]_.

    Parameters
    ----------
    scale : float, default=1.0
        The factor s. 1 takes a tally of SAMME weights as log-odds.
    normalized : bool, default=False
        Divide F by the total weight of the voters first. Off, more rounds make a committee more certain; on,
        certainty is bounded as in scikit-learn's ``AdaBoostClassifier``, whose s is K / (K - 1)^2.

    Raises
    ------
    ValueError
        If `scale` is not a finite number above zero.

    References
    ----------
    .. [1] J. Zhu, H. Zou, S. Rosset, T. Hastie (2009). Multi-class AdaBoost. Statistics and Its Interface 2.

    Examples
    --------
    >>> from committee.vote.links.probability import Softmax
    >>> Softmax().probability([[0.0, 1.0, 1.0]]).round(3).tolist()
    [[0.155, 0.422, 0.422]]
    """

    name: ClassVar[str] = "softmax"
    scale: float = 1.0
    normalized: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _positive("scale", self.scale))
        if not isinstance(self.normalized, bool):
            raise ValueError(f"normalized is {self.normalized!r}; it must be True or False.")

    def check_votes(self, voters: Voters, weights: NDArray[np.float64]) -> None:
        """Refuse negative weights of the mean vote: they do not add up to a weight."""
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
    """Confidence-rated votes: p_1 = sigma(s F); for more classes sigma(s F_k), divided by their sum.

    F then is half the log-odds, the minimiser of the exponential loss, hence s = 2 [1]_. With more than two
    classes F_k comes from "class k or not" (AdaBoost.MH) and each sigma stands for its own question, so
    they are normalised.

    Parameters
    ----------
    scale : float, default=2.0
        The factor s.

    Raises
    ------
    ValueError
        If `scale` is not a finite number above zero.

    References
    ----------
    .. [1] J. Friedman, T. Hastie, R. Tibshirani (2000). Additive logistic regression: a statistical view of
       boosting. Annals of Statistics 28(2).

    Examples
    --------
    >>> from committee.vote.links.probability import Logistic
    >>> Logistic().probability([-0.5, 0.0]).round(3).tolist()
    [[0.731, 0.269], [0.5, 0.5]]
    """

    name: ClassVar[str] = "logistic"
    scale: float = 2.0

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
    """Scores of a probit model: p_1 = Phi(F); for more classes Phi(F_k), divided by their sum.

    Phi is the standard normal distribution function, so F is what the probit regression or ProbitBoost of
    "class 1 or not" estimates [1]_. With more than two classes each Phi stands for its own question ("class k
    or not"), so they are normalised.

    References
    ----------
    .. [1] S. Zheng, W. Liu (2012). Functional gradient ascent for probit regression. Pattern Recognition 45.

    Examples
    --------
    >>> from committee.vote.links.probability import Probit
    >>> Probit().probability([-1.0, 0.0]).round(3).tolist()
    [[0.841, 0.159], [0.5, 0.5]]
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
    """Votes as votes: p_k is the share of the tally that class k has [1]_.

    A tally of label voters is divided by the row's own sum, so voters that abstain do not count; a row on
    which all abstain is uniform. Score voters each hand out shares that sum to one, so their tally is divided
    by their total weight; a signed score F in [-total, total] is read as p_1 = (1 + F / total) / 2.

    References
    ----------
    .. [1] L. Breiman (1996). Bagging predictors. Machine Learning 24(2).

    Examples
    --------
    >>> from committee.vote.links.probability import Share
    >>> Share().probability([[3.0, 1.0, 0.0], [0.0, 0.0, 0.0]]).round(3).tolist()
    [[0.75, 0.25, 0.0], [0.333, 0.333, 0.333]]
    """

    name: ClassVar[str] = "share"

    def check_votes(self, voters: Voters, weights: NDArray[np.float64]) -> None:
        """Refuse negative weights, and voters that do not give shares."""
        from committee.voters.linear_scores import LinearScores
        from committee.voters.path_majority import PathMajority
        from committee.voters.regressor_rounds import RegressorRounds
        from committee.voters.regressors import RegressorVoters
        from committee.voters.rounds import Rounds
        from committee.voters.signed import SignedVoters
        from committee.voters.vote_graph import VoteGraph

        _refuse_negative(weights, "the share link")
        scores = (LinearScores, PathMajority, RegressorRounds, RegressorVoters, Rounds, SignedVoters, VoteGraph)
        if isinstance(voters, scores):
            raise ValueError(
                f"{type(voters).__name__} hold scores, which are no shares that sum to one; use the softmax or the "
                "logistic link."
            )
        if not isinstance(voters, Forest) or voters.value is None:
            return
        leaves = voters.value[voters.feature < 0]
        if leaves.shape[1] == 1 and voters.n_classes == 2:
            bad = np.abs(leaves[:, 0]) > 1.0
        else:
            sums = np.einsum("nk->n", leaves)  # several times as fast as sum(axis=1) where classes are few
            bad = np.abs(sums - 1.0) > 1e-9
            if (leaves < 0.0).any():
                bad |= (leaves < 0.0).any(axis=1)
        if bad.any():
            raise ValueError(
                f"A leaf holds {leaves[int(np.argmax(bad))].tolist()}; the share link needs class shares, "
                "which sum to one. Use the softmax or the logistic link for other scores."
            )

    def settle(self, tally: Scores, total: Weight) -> Scores:
        """Tie the scores that have the same mean.

        Mean shares are what the vote is about, and sums that differ by a rounding can have the same mean.
        Such a tie belongs to the first class, as it does wherever shares are averaged first and compared
        then; so in the very few rows concerned that class is given the largest sum as well.
        """
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
        """As `Link.evidence`: logarithms of the votes."""
        return _log_votes(F, total, PRIOR)

    def tempered(self, temperature: float) -> Link:
        """As `Link.tempered`: a `TemperedShare`."""
        return TemperedShare(temperature)


@dataclass(frozen=True)
class TemperedShare(Share):
    """Votes as votes, sharpened or evened out by a temperature: p_k = (v_k + a)^(1 / T) / sum_j (v_j + a)^(1 / T).

    v_k is the weight of the votes for class k, and a what every class has before any voter was asked, so that a class
    without votes is unlikely and not impossible. Members of a bagged vote see less than the whole table, and a mean of
    many opinions is nearer to the middle than what it stands for; T < 1 undoes that, and T > 1 the opposite.

    Equation: tempered-share (docs/theory.md).

    Parameters
    ----------
    temperature : float
        T, above zero; chosen by `committee.vote.links.temperature.best_temperature`.
    prior : float, default=0.2
        a, above zero, in votes of weight 1.

    Raises
    ------
    ValueError
        If one of them is not a finite number above zero.

    Examples
    --------
    >>> from committee.vote.links.probability import TemperedShare
    >>> TemperedShare(0.5).probability([[3.0, 1.0, 0.0]]).round(3).tolist()
    [[0.874, 0.123, 0.003]]
    """

    name: ClassVar[str] = "tempered_share"
    temperature: float
    prior: float = PRIOR

    def __post_init__(self) -> None:
        object.__setattr__(self, "temperature", _positive("temperature", self.temperature))
        object.__setattr__(self, "prior", _positive("prior", self.prior))

    def evidence(self, F: ArrayLike, total: Weight) -> Scores:
        """As `Link.evidence`: logarithms of the votes."""
        return _log_votes(F, total, self.prior)

    def _probability(self, F: Scores, total: float | None) -> Scores:
        if F.shape[1] == 1 and total is None:
            raise ValueError("total is missing; signed scores do not say how much weight is behind them.")
        return _softened(self.evidence(F, 0.0 if total is None else total), self.temperature)


@dataclass(frozen=True)
class Truncated(Link):
    """Scores that are differences of probabilities: p_1 = (1 + F)/2 within [0, 1]; for more classes normalised.

    The minimiser of the squared hinge loss is F = p_1 - p_0 [1]_, and scores outside [-1, 1] say no more than
    that the class is certain. With more than two classes each F_k stands for its own question ("class k or not");
    a row on which every one of them is answered "certainly not" is uniform.

    Parameters
    ----------
    floor : float, default=0.0
        No probability is called smaller, in [0, 0.5): what n rows cannot tell from zero. It is shared out before the
        probabilities are normalised.

    Raises
    ------
    ValueError
        If `floor` is outside [0, 0.5).

    References
    ----------
    .. [1] T. Zhang (2004). Statistical behavior and consistency of classification methods based on convex risk
       minimization. Annals of Statistics 32(1).

    Examples
    --------
    >>> from committee.vote.links.probability import Truncated
    >>> Truncated().probability([-0.5, 0.0, 3.0]).tolist()
    [[0.75, 0.25], [0.5, 0.5], [0.0, 1.0]]
    """

    name: ClassVar[str] = "truncated"
    floor: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.floor < 0.5:
            raise ValueError(f"floor is {self.floor!r}; it must lie in [0, 0.5).")

    def settle(self, tally: Scores, total: Weight) -> Scores:
        """Tie the scores that differ by a rounding of their sums.

        Least squares on votes of -1 and +1 gives many rows the same score for two classes, as sums in different orders.
        """
        return _near_ties(tally, total)

    def tempered(self, temperature: float) -> Link:
        """As `Link.tempered`: a `TemperedMargin`, which ties the same scores."""
        return TemperedMargin(temperature)

    def _probability(self, F: Scores, total: float | None) -> Scores:
        most = 1.0 - 2.0 * self.floor
        if F.shape[1] <= 2:
            z = np.clip(signed(F), -most, most)
            return np.column_stack([(1.0 - z) / 2.0, (1.0 + z) / 2.0])
        return _mean(1.0 + np.clip(F, -most, most), None, np.full_like(F, 1.0 / F.shape[1]))


@dataclass(frozen=True)
class TemperedMargin(Link):
    """Scores of votes that add up to one, as evidence: p_k = exp(F_k / T) / sum_j exp(F_j / T).

    The softmax of margins, with the ties of `Truncated`.

    Parameters
    ----------
    temperature : float
        T, above zero; chosen by `committee.vote.links.temperature.best_temperature`.

    Raises
    ------
    ValueError
        If `temperature` is not a finite number above zero.

    Examples
    --------
    >>> from committee.vote.links.probability import TemperedMargin
    >>> TemperedMargin(0.2).probability([-0.1, 0.0, 0.5]).round(3).tolist()
    [[0.622, 0.378], [0.5, 0.5], [0.076, 0.924]]
    """

    name: ClassVar[str] = "tempered_margin"
    temperature: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "temperature", _positive("temperature", self.temperature))

    def settle(self, tally: Scores, total: Weight) -> Scores:
        """As `Truncated.settle`."""
        return _near_ties(tally, total)

    def tempered(self, temperature: float) -> Link:
        """As `Link.tempered`."""
        return TemperedMargin(temperature)

    def _probability(self, F: Scores, total: float | None) -> Scores:
        return _two_sided(signed(F) / self.temperature) if F.shape[1] <= 2 else _softened(F, self.temperature)


LINKS: dict[str, type[Link]] = {
    link.name: link for link in (Softmax, Logistic, Probit, Share, TemperedShare, Truncated, TemperedMargin)
}
"""Every link under the name that a file stores."""


def from_json(stored: object) -> Link:
    """The link that `Link.to_json` wrote; see `read_named` for what is refused.

    Examples
    --------
    >>> from committee.vote.links.probability import Logistic, from_json
    >>> from_json(Logistic(scale=1.5).to_json())
    Logistic(scale=1.5)
    """
    return read_named_parameters(stored, LINKS, "link")


def _class_scores(F: ArrayLike) -> Scores:
    """Scores ``(n, K)``: the signed one of two classes is half of it for the second, and less as much for the first."""
    scores = np.asarray(F, dtype=np.float64)
    z = scores if scores.ndim == 1 else scores[:, 0]
    return scores if scores.ndim == 2 and scores.shape[1] > 1 else np.column_stack([-z / 2.0, z / 2.0])


def _log_votes(F: ArrayLike, total: Weight, prior: float) -> Scores:
    """Logarithms of the votes for each class, with what it has beforehand."""
    scores = np.asarray(F, dtype=np.float64)
    if scores.ndim == 1 or scores.shape[1] == 1:
        scores = (np.reshape(total, (-1, 1)) / 2.0) + _class_scores(scores)
    # votes are sums in another order than their total, and may pass zero by a rounding
    return np.log(np.maximum(scores, 0.0) + prior)


def _softened(evidence: Scores, temperature: float) -> Scores:
    """Softmax of evidence over a temperature."""
    return _exp_normalised((evidence - evidence.max(axis=1, keepdims=True)) / temperature)


def _near_ties(tally: Scores, total: Weight) -> Scores:
    """The tally with scores as large as the largest where only a rounding parts them."""
    near = 1e-12 * np.maximum(total, 1.0)
    if tally.shape[1] == 1:
        tied = (tally != 0.0) & (np.abs(tally) <= near)
        return np.where(tied, 0.0, tally) if tied.any() else tally
    largest = tally.max(axis=1, keepdims=True)
    tied = (tally < largest) & (tally >= largest - near)
    return np.where(tied, largest, tally) if tied.any() else tally


def _let_win(p: Scores, winner: NDArray[np.intp]) -> Scores:
    """Raise the winner's probability just above the others where rounding hides that it is larger."""
    wrong = p.argmax(axis=1) != winner
    if np.count_nonzero(wrong):  # of one row in a quarter of the time that `any` takes
        rows = np.flatnonzero(wrong)
        p[rows, winner[rows]] = np.nextafter(p[rows].max(axis=1), np.inf)
    return p


_SIDES = np.array([-1.0, 1.0])


def _two_sided(z: Scores) -> Scores:
    """``(sigma(-z), sigma(z))``, each with full relative accuracy."""
    p: Scores = expit(z[:, None] * _SIDES)
    return p


def _exp_normalised(z: Scores) -> Scores:
    """``exp(z)`` over its row sums; the largest entry of every row of `z` is 0."""
    p = np.exp(z)
    p /= p.sum(axis=1, keepdims=True)
    return p


def _mean(F: Scores, total: float | None, without: Scores) -> Scores:
    """F over the weight behind it, and `without` where that is zero."""
    if total is None:
        if F.shape[1] == 1:
            raise ValueError("total is missing; signed scores do not say how much weight is behind them.")
        weight = F.sum(axis=1, keepdims=True)
    else:
        weight = np.full((len(F), 1), total)
    np.divide(F, weight, out=without, where=weight > 0)
    return without


def _refuse_negative(weights: NDArray[np.float64], by: str) -> None:
    if (weights < 0).any():
        t = int(np.argmin(weights))
        raise ValueError(f"weights[{t}] is {weights[t]}; {by} needs weights >= 0. Use the softmax link.")


def _positive(name: str, value: object) -> float:
    number = as_float(name, value)
    if not isfinite(number) or number <= 0:
        raise ValueError(f"{name} is {number}; it must be finite and above zero.")
    return number
