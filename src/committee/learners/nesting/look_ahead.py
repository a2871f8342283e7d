"""The document's stopwatch as it is written: the next voter is trained, and then it is chosen what to keep."""

from __future__ import annotations

import time
from collections.abc import Iterator
from math import log

from committee.learners.nesting.draws import LEAST_Z, MOST_DRAWS
from committee.learners.nesting.growth import Branching, Growth, Leaf
from committee.learners.nesting.weak_learners import Asked


def look_ahead(growth: Growth) -> Iterator[None]:
    """Grow a sum, after each answer drawn of its last voter choosing between the next voter and one more answer.

    Option A trains the next voter with the weights that the estimate of now gives, and draws one answer of it: that
    lowers the bound by the factor Z_{T+1} in S_A seconds. Option B draws once more of the last voter: Z_T' / Z_T, S_B.
    Both are done, ln(Z_{T+1}) / S_A and ln(Z_T' / Z_T) / S_B compared, and the lower one is kept: the next voter, and
    the drawn answer is forgotten; or the answer, and the voter is forgotten. Yields after every voter that is put.

    Equation: look-ahead (docs/theory.md).

    References
    ----------
    E. Grossmann, A theory of probabilistic boosting, decision trees and matryoshki, section 3.2, second approach.
    """
    assert growth.sampled is not None
    leaf = growth.root()
    asked = growth.sampled.asked_once(leaf.weights)
    while True:
        found, following = (None, None) if asked is None else _chosen(growth, leaf, asked)
        kept = growth.taken(leaf, found)
        if kept is None:
            return
        leaf = growth.join(leaf, kept)
        yield
        if not leaf.mass > 0.0:
            return
        # the first voter may have been replaced by one that always says the same
        asked = following if kept is found else growth.sampled.asked_once(leaf.weights)


def _chosen(growth: Growth, leaf: Leaf, asked: Asked) -> tuple[Branching, Asked | None]:
    """The last voter with the estimate that is kept, and the next voter, asked once; None where there is none."""
    assert growth.sampled is not None
    found = growth.measured(leaf, asked.trained())
    while True:
        begun = time.perf_counter()
        after = growth.beyond(leaf, found)
        following = growth.sampled.asked_once(after.weights) if after.mass > 0.0 else None
        gained = 0.0 if following is None else _ln_z(growth.measured(after, following.trained()))
        by_voter = gained / _seconds(begun)
        if asked.sampling.n_draws >= MOST_DRAWS:
            return found, following
        begun = time.perf_counter()
        asked.sampling.again()
        again = growth.measured(leaf, asked.trained())
        by_draw = (_ln_z(again) - _ln_z(found)) / _seconds(begun)
        if by_voter <= by_draw:
            return found, following
        found = again


def _ln_z(found: Branching) -> float:
    return log(max(float(found.Z.sum()), LEAST_Z))


def _seconds(begun: float) -> float:
    return max(time.perf_counter() - begun, 1e-9)
