"""Links as ONNX nodes: scores to classes, probabilities and numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.special import erfcx

from committee.data.number_types import F64
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

Curve: TypeAlias = Literal["logit", "probit"]

_TERMS = 32
"""Degree of the Chebyshev series of the normal tail, a power of two."""
_MIDDLE = 3.75
"""Argument of the tail at which the variable of that series is 0."""


def upper(curve: Curve, z: Value) -> Value:
    """Logistic or normal distribution function of z."""
    if curve == "logit":
        return z.sigmoid()
    small = _smaller_side(z)
    return (z > 0.0).where(1.0 - small, small)


def log_upper(curve: Curve, z: Value) -> Value:
    """Logarithm of `upper`, finite where `upper` rounds to 0."""
    if curve == "logit":
        return z.at_most(0.0) - (1.0 + (-z.abs()).exp()).log()
    x = z.abs() * sqrt(0.5)
    below = (_scaled_tail(x) * 0.5).log() - x * x
    return (z > 0.0).where((1.0 - _smaller_side(z)).log(), below)


def two_sided(curve: Curve, z: Value) -> Value:
    """Probabilities of two classes from a score ``(..., 1)``, positive for the second."""
    if curve == "logit":
        return joined([(-z).sigmoid(), z.sigmoid()], axis=-1)
    small = _smaller_side(z)
    large = 1.0 - small
    second = z > 0.0
    return joined([second.where(small, large), second.where(large, small)], axis=-1)


def shares(logs: Value) -> Value:
    return logs.graph.add("Softmax", logs - logs.max(), axis=-1)


def raise_elected(p: Value, winner: Value, n_classes: int) -> Value:
    """Raise the probability of the elected class just above the others where rounding hides its lead."""
    graph = p.graph
    hidden = graph.add("Not", graph.add("Equal", p.argmax(), winner))
    raised = graph.add("And", graph.add("Equal", _with_axis(winner), np.arange(n_classes)), _with_axis(hidden))
    top = p.max()
    return raised.where(top + top * 2.0**-52, p)  # not a product with 1 + 2^-52, which onnxruntime drops


def _smaller_side(z: Value) -> Value:
    x = z.abs().at_most(39.0) * sqrt(0.5)  # the tail beyond is 0 in float64
    return _scaled_tail(x) * (-(x * x)).exp() * 0.5


def _scaled_tail(x: Value) -> Value:
    x = x.at_most(1e300)
    graph, t = x.graph, _with_axis((x - _MIDDLE) / (x + _MIDDLE))
    ones = t * 0.0 + 1.0
    known, m = joined([ones, t], axis=-1), 1
    while m < _TERMS:
        last = known.take(np.array([m]), axis=-1)
        later = known.take(np.arange(1, m + 1), axis=-1)
        earlier = known.take(np.arange(m - 1, -1, -1), axis=-1)
        known, m = joined([known, 2.0 * last * later - earlier], axis=-1), 2 * m
    series = graph.add("Squeeze", known @ _coefficients()[:, None], np.array([-1]))
    return series / (1.0 + 2.0 * x)


def _with_axis(x: Value) -> Value:
    return x.graph.add("Unsqueeze", x, np.array([-1]))


def _coefficients() -> F64:
    angle = np.pi * (np.arange(_TERMS + 1) + 0.5) / (_TERMS + 1)
    t = np.cos(angle)
    x = _MIDDLE * (1.0 + t) / (1.0 - t)
    waves = np.cos(np.arange(_TERMS + 1)[:, None] * angle)
    sums: F64 = waves @ ((1.0 + 2.0 * x) * erfcx(x)) * (2.0 / (_TERMS + 1))
    sums[0] /= 2.0
    return sums


NEAR = 1e-12


@dataclass(frozen=True)
class Scored:
    """Tally ``(n, n_outputs)`` and weight of the voters, None for label voters."""

    tally: Value
    n_outputs: int
    total: float | None

    @property
    def signed(self) -> Value:
        if self.n_outputs == 1:
            return self.tally
        return self.tally.take(np.array([1])) - self.tally.take(np.array([0]))

    @property
    def two_sided(self) -> bool:
        return self.n_outputs <= 2

    def mean(self, without: float) -> Value:
        if self.total is not None:
            return self.tally / self.total if self.total > 0.0 else self.tally * 0.0 + without
        weight = self.tally.sum()
        some = weight > 0.0
        return some.where(self.tally / some.where(weight, 1.0), without)


def settled(link: Link, scored: Scored) -> Scored:
    if scored.total is None or not isinstance(link, Truncated | TemperedMargin):
        return scored
    near, tally = NEAR * max(scored.total, 1.0), scored.tally
    if scored.n_outputs == 1:
        tied = (tally.abs() <= near).where(0.0, tally)
    else:
        largest = tally.max()
        tied = (tally >= largest - near).where(largest, tally)
    return replace(scored, tally=tied)


def elected(link: Link, scored: Scored) -> Value:
    if scored.n_outputs == 1:
        return (scored.tally > 0.0).cast(np.int64).reshape(-1)
    if isinstance(link, Share) and scored.total is not None:
        return scored.mean(0.0).argmax()  # equal means are ties
    return scored.tally.argmax()


def probabilities(link: Link, scored: Scored) -> Value:
    made = _LINKS.get(type(link))
    if made is None:
        raise TypeError(f"the link {link} has no nodes in ONNX; use one of {', '.join(k.name for k in _LINKS)}.")
    return made(link, scored)


def numbers(link: MeanLink, F: Value, n_outputs: int, total: float) -> Value:
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
        scored = replace(scored, tally=scored.mean(0.0))
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
