"""The out-of-bag error of a forest as trees are added, and how many trees it says are enough."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.vote.scores import elected

Rule: TypeAlias = Literal["one_standard_error", "minimum"]

BATCH = 25
"""Trees after which a growing forest asks whether it has stopped getting better."""
JUDGED = 0.99
"""Share of the rows that must have an out-of-bag vote before an error counts as the forest's."""


class OutOfBag(ABC):
    """Every row judged by the trees that did not see it, as these come in; a vote has `width` numbers."""

    def __init__(self, weights: F64, width: int) -> None:
        self.weights = weights
        self.tally: F64 = np.zeros((len(weights), width))
        self.n_votes = np.zeros(len(weights), dtype=np.int64)
        self.loss: F64 = np.zeros(len(weights))
        self.curve: list[float] = []

    def add(self, rows: NDArray[np.int32], votes: F64) -> None:
        """One more tree, and what it says of the rows that it did not see."""
        self.tally[rows] += votes
        self.n_votes[rows] += 1
        self.loss[rows] = self._loss(rows, self.tally[rows] / self.n_votes[rows, None])
        judged = float(self.weights[self.n_votes > 0].sum())
        self.curve.append(float((self.weights * self.loss).sum()) / judged if judged > 0 else float("nan"))

    @property
    def judged(self) -> NDArray[np.bool_]:
        """The rows that some tree did not see."""
        return self.n_votes > 0

    @property
    def mean_vote(self) -> F64:
        """Mean vote of the trees that did not see a row, ``(n, width)``; NaN where there is none."""
        mean = np.full_like(self.tally, np.nan)
        np.divide(self.tally, self.n_votes[:, None], out=mean, where=self.judged[:, None])
        return mean

    @abstractmethod
    def _loss(self, rows: NDArray[np.int32], mean: F64) -> F64:
        """Loss of some rows' mean votes."""

    @abstractmethod
    def afresh(self) -> Self:
        """The same before any tree."""


class OutOfBagClasses(OutOfBag):
    """Class shares, and whether they elect a wrong class."""

    def __init__(self, labels: NDArray[np.uint16], weights: F64, n_classes: int) -> None:
        super().__init__(weights, n_classes)
        self.labels = labels

    def _loss(self, rows: NDArray[np.int32], mean: F64) -> F64:
        wrong: F64 = (elected(mean) != self.labels[rows]).astype(np.float64)
        return wrong

    def afresh(self) -> Self:
        """The same before any tree."""
        return type(self)(self.labels, self.weights, self.tally.shape[1])


class OutOfBagTargets(OutOfBag):
    """Predictions, and their squared errors, summed over targets in units of `scale`, ``(q,)``."""

    def __init__(self, target: F64, weights: F64, scale: F64) -> None:
        super().__init__(weights, len(scale))
        self.target = target.reshape(len(target), -1)
        self.scale: F64 = scale

    def _loss(self, rows: NDArray[np.int32], mean: F64) -> F64:
        losses: F64 = (((self.target[rows] - mean) / self.scale) ** 2).sum(axis=1)
        return losses

    def afresh(self) -> Self:
        """The same before any tree."""
        return type(self)(self.target, self.weights, self.scale)


def mean_and_error(d: F64, weights: F64) -> tuple[float, float]:
    """Weighted mean of paired differences, and its standard error; zeros without any.

    With mean m = sum w d / sum w the standard error is sqrt(sum w^2 (d - m)^2) / sum w; for equal weights the
    standard deviation over the square root of n.
    """
    total = float(weights.sum())
    if total <= 0:
        return 0.0, 0.0
    mean = float((weights * d).sum()) / total
    apart = weights * (d - mean)
    exponent = int(np.frexp(np.abs(apart).max())[1])  # squares of large differences are more than float64 holds
    return mean, float(np.ldexp(np.sqrt((np.ldexp(apart, -exponent) ** 2).sum()), exponent)) / total


class EnoughTrees:
    """Early stopping of a forest by its out-of-bag error, and how many of its trees to keep.

    The rules are those of ``n_estimators="oob"`` in `committee.RandomForestClassifier`. Whoever adds trees to the votes
    `oob` calls `look` after each.

    Equation: oob-curve (docs/theory.md).
    """

    def __init__(self, oob: OutOfBag, rule: Rule) -> None:
        self.oob: OutOfBag = oob
        self.rule = rule
        self._before: tuple[F64, NDArray[np.bool_]] | None = None  # losses a batch ago, and of which rows
        self._idle = 0
        self._first = 0
        self._lowest, self._at_lowest, self._loss_at_lowest = np.inf, 0, np.zeros(0)

    def look(self) -> bool:
        """Look at the curve after a tree was added; True if it has stopped decreasing."""
        self._remember_lowest()
        return len(self.oob.curve) % BATCH == 0 and self._is_flat()

    def _is_flat(self) -> bool:
        if self._before is not None:
            loss, judged = self._before
            gain, error = mean_and_error((loss - self.oob.loss)[judged], self.oob.weights[judged])
            self._idle = self._idle + 1 if gain <= error else 0
        self._before = self.oob.loss.copy(), self.oob.judged
        return self._idle >= 2

    def _remember_lowest(self) -> None:
        oob = self.oob
        if not self._first and oob.judged.mean() >= JUDGED:
            self._first = len(oob.curve)
        if self._first and oob.curve[-1] < self._lowest:
            self._lowest, self._at_lowest, self._loss_at_lowest = oob.curve[-1], len(oob.curve), oob.loss.copy()

    def best(self, trees: Iterable[tuple[NDArray[np.int32], F64]]) -> OutOfBag:
        """Return the out-of-bag votes of the trees to keep, whose number is the length of their curve.

        The rows and votes of the trees are those added to `oob`, once more from the first tree.
        """
        if not self._first or (self.rule == "minimum" and self._at_lowest == len(self.oob.curve)):
            return self.oob
        again = self.oob.afresh()
        for rows, votes in trees:
            again.add(rows, votes)
            if len(again.curve) == self._at_lowest or (self.rule != "minimum" and self._is_as_good(again)):
                break
        return again

    def _is_as_good(self, some: OutOfBag) -> bool:
        """Tell whether the losses of the first trees are no larger than the lowest, but for one standard error."""
        if len(some.curve) < self._first:
            return False
        judged = some.judged
        worse, error = mean_and_error((some.loss - self._loss_at_lowest)[judged], some.weights[judged])
        return worse <= error
