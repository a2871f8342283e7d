"""Curves of probabilities in standard nodes: the logistic and the normal one, and their logarithms."""

from __future__ import annotations

from math import sqrt
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import erfcx

from committee.data.number_types import F64
from committee.onnx.graph import Value, joined

Curve: TypeAlias = Literal["logit", "probit"]

_TERMS = 32
"""Chebyshev polynomials in the series of the normal curve's tail; with them it is exact to rounding."""
_MIDDLE = 3.75
"""Where the variable of that series is zero."""


def upper(curve: Curve, z: Value) -> Value:
    """Probability at each score."""
    if curve == "logit":
        return z.sigmoid()
    small = _smaller_side(z)
    return (z > 0.0).where(1.0 - small, small)


def log_upper(curve: Curve, z: Value) -> Value:
    """Its logarithm, which is a number even where the probability rounds to 0."""
    if curve == "logit":
        return z.at_most(0.0) - (1.0 + (-z.abs()).exp()).log()
    x = z.abs() * sqrt(0.5)
    below = (_scaled_tail(x) * 0.5).log() - x * x
    return (z > 0.0).where((1.0 - _smaller_side(z)).log(), below)


def two_sided(curve: Curve, z: Value) -> Value:
    """Probabilities of two classes, from a score ``(..., 1)`` that is positive for the second."""
    if curve == "logit":
        return joined([(-z).sigmoid(), z.sigmoid()], axis=-1)
    small = _smaller_side(z)
    large = 1.0 - small
    second = z > 0.0
    return joined([second.where(small, large), second.where(large, small)], axis=-1)


def shares(logs: Value) -> Value:
    """exp(z) over its sum along the last axis."""
    return logs.graph.add("Softmax", logs - logs.max(), axis=-1)


def let_win(p: Value, winner: Value, n_classes: int) -> Value:
    """Probabilities, that of the winner just above the others where rounding hides that it is larger."""
    graph = p.graph
    hidden = graph.add("Not", graph.add("Equal", p.argmax(), winner))
    raised = graph.add("And", graph.add("Equal", _with_axis(winner), np.arange(n_classes)), _with_axis(hidden))
    top = p.max()
    return raised.where(top + top * 2.0**-52, p)  # onnxruntime leaves out a product with what is nearly 1


def _smaller_side(z: Value) -> Value:
    """Phi(-|z|)."""
    x = z.abs().at_most(39.0) * sqrt(0.5)  # beyond it there is nothing left
    return _scaled_tail(x) * (-(x * x)).exp() * 0.5


def _scaled_tail(x: Value) -> Value:
    """exp(x^2) erfc(x) of numbers >= 0, by a Chebyshev series of (1 + 2 x) exp(x^2) erfc(x) in (x - k) / (x + k).

    Polynomials of twice the degree come from those that are known: T_(m+j) = 2 T_m T_j - T_(m-j).
    """
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
    """A value with one more axis, of length 1, at the end."""
    return x.graph.add("Unsqueeze", x, np.array([-1]))


def _coefficients() -> F64:
    """Of the series: discrete cosine sums over the Chebyshev points."""
    angle = np.pi * (np.arange(_TERMS + 1) + 0.5) / (_TERMS + 1)
    t = np.cos(angle)
    x = _MIDDLE * (1.0 + t) / (1.0 - t)
    waves = np.cos(np.arange(_TERMS + 1)[:, None] * angle)
    sums: F64 = waves @ ((1.0 + 2.0 * x) * erfcx(x)) * (2.0 / (_TERMS + 1))
    sums[0] /= 2.0
    return sums
