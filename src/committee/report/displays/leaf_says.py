"""What the leaves of an ensemble's trees say, in the unit of their sum, and in which words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from committee.data.number_types import F64
from committee.report.displays.base import AGAINST, FOR, GREY, color
from committee.report.displays.voter_words import middle_cut
from committee.vote.committee import Committee
from committee.vote.links.mean import Average, Log
from committee.vote.links.probability import Logistic, Share, Softmax
from committee.vote.scores import signed
from committee.vote.weighted_votes import WeightedVotes
from committee.voters.forest import Forest


@dataclass(frozen=True, eq=False)
class LeafSays:
    """How the leaves of an ensemble are to be read.

    Leaves are added (``"sums"``), or averaged: shares of classes (``"shares"``) or numbers (``"means"``).
    """

    kind: Literal["sums", "shares", "means"]
    names: tuple[str, ...]
    """Of the classes; none where a number is predicted."""
    unit: str
    """Of what is added."""
    factor: float
    """By which a vote is multiplied, besides its weight."""
    start: F64
    """What the sum starts with, ``(D,)``: one number for two classes and for a predicted number, else one per class."""
    is_log: bool = False
    """Whether the predicted number is exp of the sum."""

    @classmethod
    def of(cls, votes: WeightedVotes) -> LeafSays:
        """Return how the leaves of these votes are to be read; the link says it."""
        if not isinstance(votes, Committee):
            if votes.voters.n_outputs > 1:
                raise ValueError(
                    f"the ensemble predicts {votes.voters.n_outputs} numbers of each row; one picture shows one. "
                    "Draw its trees one by one by TreeDisplay"
                )
            start = np.zeros(1) if votes.intercept is None else votes.intercept
            averaged = isinstance(votes.link, Average)
            return cls("means" if averaged else "sums", (), "", 1.0, start, isinstance(votes.link, Log))
        names = tuple(str(label) for label in votes.classes.tolist())
        if len(names) < 2:
            raise ValueError(f"the ensemble knows one class alone, {names[0]!r}: there is nothing to be drawn")
        if isinstance(votes.link, Share):
            return cls("shares", names, "", 1.0, np.zeros(len(names)))
        factor, unit = _unit(votes)
        start = np.zeros(1 if len(names) == 2 else len(names))
        if votes.intercept is not None:
            start = np.atleast_1d(signed(votes.intercept)) if len(names) == 2 else np.array(votes.intercept)
        return cls("sums", names, unit, factor, factor * start)

    def of_tree(self, forest: Forest, weight: float, about: int | None) -> F64:
        """Return what the nodes of one tree say, ``(N, D)``; it may be about one class alone."""
        value = _votes(forest)
        if self.kind == "shares":
            return np.hstack([1.0 - value, 1.0 + value]) / 2.0 if value.shape[1] == 1 else value
        if self.kind == "means" or not self.names:
            return value if self.kind == "means" else weight * value
        value = self.factor * weight * value
        if len(self.names) == 2:
            return signed(value)[:, None]
        if about is None:
            return value
        apart = np.zeros((len(value), len(self.names)))
        apart[:, about] = value[:, 0]
        return apart

    def words(self, value: F64, about: int | None = None) -> tuple[str, str, str]:
        """Say one leaf: its number, the class that it speaks for, and the colour of that.

        Of trees that are about one class alone the class is not said.
        """
        if about is not None:
            number = float(value[about])
            return plain_signed(number), "", color(about) if number > 0.0 else GREY
        if not self.names:
            number = float(value[0])
            if self.kind == "means":
                return f"{number:.4g}", "", FOR
            return plain_signed(number), "", GREY if number == 0.0 else FOR if number > 0.0 else AGAINST
        if not value.any():
            return "0", "no vote", GREY
        if len(value) == 1:
            number, k = float(value[0]), int(value[0] > 0.0)
            return plain_signed(number), f"for {self.short(k)}", color(k)
        k = int(np.argmax(value)) if self.kind == "shares" or value.max() > 0.0 else int(np.argmin(value))
        number = float(value[k])
        if self.kind == "shares":
            return f"{number:.0%}", self.short(k), color(k)
        return plain_signed(number), f"{'for' if number > 0.0 else 'against'} {self.short(k)}", color(k)

    def short(self, k: int) -> str:
        """Name of a class, as short as it must be below a leaf."""
        return middle_cut(self.names[k], 16)


def _votes(forest: Forest) -> F64:
    """Votes of nodes as numbers ``(N, D)``: a class that is named has 1."""
    if forest.label is None:
        assert forest.value is not None
        return forest.value
    named = np.zeros((len(forest.label), forest.n_classes))
    votes = np.flatnonzero(forest.label >= 0)
    named[votes, forest.label[votes]] = 1.0
    return named


def _unit(votes: Any) -> tuple[float, str]:
    """By what votes are multiplied so that their sum is log-odds, if the link makes these of it, and the sum's unit."""
    link, two = votes.link, len(votes.classes) == 2
    if isinstance(link, Softmax):
        factor = link.scale / votes.total_weight if link.normalized and votes.total_weight > 0.0 else link.scale
        return factor, "log-odds" if two else "score"
    if isinstance(link, Logistic) and two:
        return link.scale, "log-odds"
    return 1.0, "score"


def plain_signed(number: float) -> str:
    """A number with its sign, and three digits, two of them decimals at most.

    Examples
    --------
    >>> from committee.report.displays.leaf_says import plain_signed
    >>> plain_signed(-1.2345), plain_signed(0.0)
    ('−1.23', '0')
    """
    text = (
        f"{number:+.2f}" if 0.1 <= abs(number) < 10.0 else f"{number:+.2g}" if abs(number) < 0.1 else f"{number:+.3g}"
    )
    return text.replace("-", "−") if number else "0"
