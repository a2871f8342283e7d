"""One round of AdaBoost as a rule: what a grown tree votes, how much it counts, and how it moves the weights.

Each rule reads nothing but the tree's sufficient statistics, the share W[j, k] of the weight that is of class k
in leaf j, and gives the factor by which the weight of every row of class k in leaf j changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.vote.links.probability import Link, Logistic, Softmax
from committee.voters.growing import leaf_labels

if TYPE_CHECKING:
    from committee._core import Criterion, GrownTree


@dataclass(frozen=True, eq=False)
class Round:
    """Decisions of one round."""

    alpha: float
    """Weight of the voter."""
    factor: F64
    """``(N, K)``, or ``(N, 2 K)`` for AdaBoost.MH: what a row's weight is multiplied by; keeps the total at 1."""
    error: float
    """Share of the weight that the voter gets wrong."""
    normaliser: float
    """Z: what the weights would sum to after the update, were they not normalised."""
    label: NDArray[np.int32] | None = None
    value: F64 | None = None
    useless: bool = False
    """No better than chance: the voter should not join."""

    @property
    def perfect(self) -> bool:
        """No training row is wrong: another round would repeat this one."""
        return self.error <= 0.0


MOST_STEP = 600.0
"""Largest step of a round: the factors of right and wrong rows, exp(step) apart, must be numbers of float64."""


def samme_weight(error: float, eps: float, n_classes: int) -> float:
    """ln((1 - err) / err) + ln(J - 1); a perfect voter is taken to err on half a row, eps = 1 / (2 n).

    Equation: samme (docs/theory.md).
    """
    error = error if error > 0.0 else eps
    return float(np.log((1.0 - error) / error) + np.log(n_classes - 1.0))


def samme_step(learning_rate: float, weight: float) -> float:
    """The weight that a voter joins with, at most `MOST_STEP`."""
    return min(learning_rate * weight, MOST_STEP)


def samme_factors(alpha: float, n_classes: int) -> tuple[float, float]:
    """Factors of a right and of a wrong row: exp(-a) and exp(a / (J - 1)), with a = alpha (J - 1) / J.

    Their quotient is exp(alpha), all that matters once the weights are normalised; written this way their
    weighted sum is the Z of the exponential loss, and with J = 2 the classical exp(-+alpha / 2).
    """
    J = n_classes
    return float(np.exp(-alpha * (J - 1) / J)), float(np.exp(alpha / J))


def is_chance(error: float, n_classes: int) -> bool:
    """No better than guessing among the classes."""
    return error >= 1.0 - 1.0 / n_classes - 1e-12


class Discrete:
    """SAMME (Zhu et al. 2009): a leaf votes for its heaviest class; with J = 2 it is AdaBoost.

    err = the weight outvoted in its leaf, alpha = learning_rate (ln((1 - err) / err) + ln(J - 1)). A perfect
    voter would count infinitely; it gets the weight of one that errs on half a row and ends the run.
    """

    link: Link = Softmax()
    criterion: Criterion | None = None
    """Split criterion that the vote needs; None: the user's choice."""
    one_versus_rest = False

    def __init__(self, n_classes: int, count: float, learning_rate: float) -> None:
        self.n_classes: int = n_classes
        self.eps: float = 0.5 / count
        self.learning_rate: float = learning_rate

    def round(self, tree: GrownTree) -> Round:
        """Decide one round."""
        W, label = shares(tree), leaf_labels(tree)
        is_right = label[:, None] == np.arange(self.n_classes)
        error = float(W[~is_right].sum())
        useless = is_chance(error, self.n_classes)
        alpha = 1.0 if useless else samme_step(self.learning_rate, samme_weight(error, self.eps, self.n_classes))
        right, wrong = samme_factors(alpha, self.n_classes)
        factor, Z = normalised(np.where(is_right, right, wrong), W)
        return Round(alpha, factor, error, Z, label=label, useless=useless)


class Confidence:
    """Confidence-rated votes (Schapire & Singer 1999): a leaf's vote is c = 1/2 ln((W_+ + eps) / (W_- + eps)).

    eps = 1 / (2 n). A row's weight is multiplied by exp(-y c). More than two classes: AdaBoost.MH, one weight
    per row and class, c per class from "class k or not".

    Equation: confidence-leaf (docs/theory.md).
    """

    link: Link = Logistic(scale=2.0)
    criterion: Criterion | None = "confidence"

    def __init__(self, n_classes: int, count: float, learning_rate: float) -> None:
        self.one_versus_rest: bool = n_classes > 2
        self.eps: float = 0.5 / (count * (n_classes if self.one_versus_rest else 1))
        self.learning_rate = learning_rate

    def round(self, tree: GrownTree) -> Round:
        """Decide one round."""
        W = shares(tree)
        no, yes = W[:, 0::2], W[:, 1::2]  # two classes: planes 0 and 1 are no and yes of the second class
        most = 0.5 * MOST_STEP / self.learning_rate
        c = np.clip(0.5 * np.log((yes + self.eps) / (no + self.eps)), -most, most)
        error = float(np.minimum(no, yes).sum())  # the sign of c goes with the heavier side
        factor = np.empty_like(W)
        factor[:, 0::2] = np.exp(self.learning_rate * c)
        factor[:, 1::2] = np.exp(-self.learning_rate * c)
        factor, Z = normalised(factor, W)
        least = 2.0 * float(np.sqrt(no * yes).sum())  # Z of a whole step, which says what the voter is worth
        return Round(self.learning_rate, factor, error, Z, value=c, useless=least >= 1.0 - 1e-12)


class Abstaining:
    """Votes with abstentions: each side of a stump votes for a class or abstains (h = 0).

    With P the weight voted right and N the weight voted wrong,
    alpha = learning_rate ln((J - 1) (P + eps) / (N + eps)), eps = 1 / (2 n): for two classes twice the
    1/2 ln((P + eps) / (N + eps)) of the form with signs, as a tally counts votes for each class. Rows that it
    abstains on keep their weight. The best stump has the least Z; for two classes Z = 1 - (sqrt P - sqrt N)^2.
    """

    link: Link = Softmax()
    criterion: Criterion | None = "abstaining"
    one_versus_rest = False

    def __init__(self, n_classes: int, count: float, learning_rate: float) -> None:
        self.n_classes: int = n_classes
        self.eps: float = 0.5 / count
        self.learning_rate: float = learning_rate

    def round(self, tree: GrownTree) -> Round:
        """Decide one round."""
        from committee.learners.trees.stump import best_abstention

        J, W, label = self.n_classes, shares(tree), best_abstention(tree)
        is_right = label[:, None] == np.arange(J)
        is_wrong = (label >= 0)[:, None] & ~is_right
        P, N = float(W[is_right].sum()), float(W[is_wrong].sum())
        useless = (J - 1) * P <= N * (1.0 + 1e-12)
        odds = (J - 1) * (P + self.eps) / (N + self.eps)
        alpha = 1.0 if useless else samme_step(self.learning_rate, float(np.log(odds)))
        right, wrong = samme_factors(alpha, J)
        factor, Z = normalised(np.select([is_right, is_wrong], [right, wrong], 1.0), W)
        error = N if P + N > 1.0 - 1e-12 else max(N, self.eps)  # who abstains is not perfect
        return Round(alpha, factor, error, Z, label=label, useless=useless)


RULES: dict[str, type[Discrete] | type[Confidence] | type[Abstaining]] = {
    "discrete": Discrete,
    "confidence": Confidence,
    "abstaining": Abstaining,
}
"""``vote=`` of AdaBoostClassifier."""


def shares(tree: GrownTree) -> F64:
    """The tree's class weights as shares of the total; inner nodes count nothing."""
    W: F64 = np.where((tree.feature < 0)[:, None], tree.sums, 0.0)
    W /= W.sum()
    return W


def normalised(factor: F64, W: F64) -> tuple[F64, float]:
    """The factor scaled so that the new weights sum to 1, and the Z it was divided by."""
    Z = float((W * factor).sum())
    return factor / Z, Z
