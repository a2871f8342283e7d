"""Number of answers drawn from an oracle before its probabilities are estimated from them."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import log
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.voters.oracles import Estimate, estimated

Answer: TypeAlias = Callable[[], NDArray[np.bool_]]
"""One answer on every training row."""

Stopping: TypeAlias = int | Literal["first_rise", "stopwatch", "look_ahead"]
"""A number of draws, or one of the document's two rules, the second as a forecast or as it is written."""

MOST_DRAWS = 1000
"""Draws after which either rule ends: a voter that always answers alike never makes Z rise."""

LEAST_Z = 1e-300
"""Z of a voter that is never wrong, where a logarithm is taken of it."""


class Sampling:
    """Answers drawn of one voter, and the estimate of q from them."""

    def __init__(self, answer: Answer, estimate: Estimate) -> None:
        self.answer = answer
        self.estimate = estimate
        self.count = answer().astype(np.int64)
        self.n_draws = 1

    def again(self) -> None:
        """Draw once more."""
        self.count += self.answer()
        self.n_draws += 1

    def q(self) -> F64:
        """The estimate as of now."""
        return estimated(self.count, self.n_draws, self.estimate)


def estimated_by_draws(
    answer: Answer, Z: Callable[[F64], float], stopping: Stopping, estimate: Estimate, seconds: float
) -> tuple[F64, int]:
    """Draw answers until a rule says that it is enough, and estimate q.

    "first_rise" draws until the estimate of Z rises for the first time. "stopwatch" compares how fast two things lower
    the bound per second, in logarithms: once more is ln(Z' / Z) / s with s the seconds of the last draw, to go
    on to the next voter, which is taken to be like this one, ln(Z_1) / S, Z_1 being Z after the first draw and S the
    seconds of training and of that draw. (The document trains the next voter to see, which is `look_ahead`; a forecast
    wastes none.)

    Equation: stopwatch (docs/theory.md).

    Parameters
    ----------
    answer : callable
        Answers on all training rows, drawn anew at each call.
    Z : callable
        Normaliser of an estimate of q.
    stopping : int, "first_rise" or "stopwatch"
        The rule.
    estimate : {"map", "ml"}
        Estimate of q from draws.
    seconds : float
        Time that training the voter took.

    Returns
    -------
    q : float64 array (n,)
        The estimate.
    n_draws : int
        How many were drawn.

    References
    ----------
    E. Grossmann, A theory of probabilistic boosting, decision trees and matryoshki, section 3.2.
    """
    begun = time.perf_counter()
    sampling = Sampling(answer, estimate)
    q = sampling.q()
    last = log(max(Z(q), LEAST_Z))
    on = last / max(seconds + time.perf_counter() - begun, 1e-9)
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
        again = (now - last) / max(time.perf_counter() - begun, 1e-9)
        if stopping == "stopwatch" and again > on:
            break
        last = now
    return q, sampling.n_draws
