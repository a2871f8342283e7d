"""Links in standard nodes: from scores to the elected class and to probabilities, and to numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from committee.onnx.curves import log_upper, shares, two_sided
from committee.onnx.graph import Value, joined
from committee.vote.links.mean import LARGEST_LOG, Average, Identity, Log, MeanLink, Ordered
from committee.vote.links.probability import (
    Link,
    Logistic,
    Probit,
    Share,
    Softmax,
    TemperedMargin,
    TemperedShare,
    Truncated,
)

NEAR = 1e-12
"""Scores are tied that differ by less, of one unit of weight, where the link ties near ones."""


class Scored:
    """A tally with what a link needs to know of it.

    Parameters
    ----------
    tally : Value
        ``(n, D)``.
    n_outputs : int
        D: 1 where a signed score tells two classes apart.
    total : float or None
        Weight of the voters; None: of label voters, whose votes of a row are the weight behind it.
    """

    def __init__(self, tally: Value, n_outputs: int, total: float | None) -> None:
        self.tally: Value = tally
        self.n_outputs: int = n_outputs
        self.total: float | None = total

    @property
    def signed(self) -> Value:
        """Score of the second class less that of the first, ``(n, 1)``."""
        if self.n_outputs == 1:
            return self.tally
        return self.tally.take(np.array([1])) - self.tally.take(np.array([0]))

    @property
    def two_sided(self) -> bool:
        """Whether there are two classes."""
        return self.n_outputs <= 2

    def mean(self, without: float) -> Value:
        """The tally over the weight behind it, `without` where that is zero."""
        if self.total is not None:
            return self.tally / self.total if self.total > 0.0 else self.tally * 0.0 + without
        weight = self.tally.sum()
        some = weight > 0.0
        return some.where(self.tally / some.where(weight, 1.0), without)


def settled(link: Link, scored: Scored) -> Scored:
    """Scores with the ties that the link sees in them, of voters that give numbers."""
    if scored.total is None or not isinstance(link, Truncated | TemperedMargin):
        return scored
    near, tally = NEAR * max(scored.total, 1.0), scored.tally
    if scored.n_outputs == 1:
        tied = (tally.abs() <= near).where(0.0, tally)
    else:
        largest = tally.max()
        tied = (tally >= largest - near).where(largest, tally)
    return Scored(tied, scored.n_outputs, scored.total)


def elected(link: Link, scored: Scored) -> Value:
    """Number of the class that each row elects, int64 ``(n,)``."""
    if scored.n_outputs == 1:
        return (scored.tally > 0.0).cast(np.int64).reshape(-1)
    if isinstance(link, Share) and scored.total is not None:
        return scored.mean(0.0).argmax()  # equal means are ties
    return scored.tally.argmax()


def probabilities(link: Link, scored: Scored) -> Value:
    """Class probabilities, ``(n, K)``.

    Raises
    ------
    TypeError
        If there are no nodes for this link.
    """
    made = _LINKS.get(type(link))
    if made is None:
        raise TypeError(f"the link {link} has no nodes in ONNX; take one of {', '.join(k.name for k in _LINKS)}.")
    return made(link, scored)


def numbers(link: MeanLink, F: Value, n_outputs: int, total: float) -> Value:
    """Predicted numbers, ``(n, D)``.

    Raises
    ------
    TypeError
        If there are no nodes for this link.
    """
    if isinstance(link, Identity):
        return F
    if isinstance(link, Log):
        return F.clip(-LARGEST_LOG, LARGEST_LOG).exp()
    if isinstance(link, Average):
        return F / total
    if isinstance(link, Ordered):
        return F.graph.add("TopK", F, np.array([n_outputs]), n_outputs=2, axis=1, largest=0, sorted=1)
    raise TypeError(f"the link {link} has no nodes in ONNX.")


def _softmax(link: Softmax, scored: Scored) -> Value:
    if link.normalized:
        scored = Scored(scored.mean(0.0), scored.n_outputs, scored.total)
    if scored.two_sided:
        return two_sided("logit", scored.signed * link.scale)
    return shares((scored.tally - scored.tally.max()) * link.scale)


def _logistic(link: Logistic, scored: Scored) -> Value:
    if scored.two_sided:
        return two_sided("logit", scored.signed * link.scale)
    return shares(log_upper("logit", scored.tally * link.scale))


def _probit(link: Probit, scored: Scored) -> Value:
    if scored.two_sided:
        return two_sided("probit", scored.signed)
    return shares(log_upper("probit", scored.tally.at_least(-1e150)))


def _share(link: Share, scored: Scored) -> Value:
    if scored.n_outputs == 1:
        second = ((scored.mean(0.0) + 1.0) * 0.5).clip(0.0, 1.0)
        return joined([1.0 - second, second])
    return scored.mean(1.0 / scored.n_outputs).at_most(1.0)


def _tempered_share(link: TemperedShare, scored: Scored) -> Value:
    votes = scored.tally
    if scored.n_outputs == 1:
        half = 0.5 * (scored.total or 0.0)
        votes = joined([half - votes * 0.5, half + votes * 0.5])
    return shares((votes.at_least(0.0) + link.prior).log() * (1.0 / link.temperature))


def _truncated(link: Truncated, scored: Scored) -> Value:
    most = 1.0 - 2.0 * link.floor
    if scored.two_sided:
        z = scored.signed.clip(-most, most)
        return joined([(1.0 - z) * 0.5, (1.0 + z) * 0.5])
    kept = Scored(scored.tally.clip(-most, most) + 1.0, scored.n_outputs, None)
    return kept.mean(1.0 / scored.n_outputs)


def _tempered_margin(link: TemperedMargin, scored: Scored) -> Value:
    if scored.two_sided:
        return two_sided("logit", scored.signed / link.temperature)
    return shares(scored.tally / link.temperature)


_LINKS: dict[type[Link], Callable[[Any, Scored], Value]] = {
    Softmax: _softmax,
    Logistic: _logistic,
    Probit: _probit,
    Share: _share,
    TemperedShare: _tempered_share,
    Truncated: _truncated,
    TemperedMargin: _tempered_margin,
}
"""Nodes of each link; a subclass is another link."""
