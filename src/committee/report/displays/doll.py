"""Trees nested in trees as dolls: which voters stand together in which sub-tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from committee.report.displays.comparison import _INK, _axes
from committee.report.displays.nested_score import NestedScore
from committee.report.displays.voter_words import in_two_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DollDisplay"]

# lengths are in inches, of a picture with a figure of its own
_WIDE, _HIGH, _GAP, _PAD = 0.3, 1.55, 0.04, 0.045
_LONGEST = 15.0
"""Rows of voters and dolls are broken where they would be longer."""

_MOST_LETTERS = 22
"""Letters in a line of a voter, but for its number."""

_OUTER, _INNER = np.array([0.97, 0.98, 0.99]), np.array([0.62, 0.76, 0.86])
_MET = "#E7C37D"


@dataclass
class _Doll:
    """A sub-tree, the whole page, or a single voter; placed from its upper left corner."""

    voters: list[int]
    inside: list[_Doll] = field(default_factory=list)
    is_voter: bool = False
    depth: int = 0
    x: float = 0.0
    y: float = 0.0
    width: float = _WIDE
    height: float = _HIGH


class DollDisplay:
    """The nesting of a matryoshka: boxes around the voters of each collected sub-tree, in the boxes around them.

    Voters are slim boxes with their number in the order of training and what they ask, filled up to the share of
    training rows that meet them. A box around all says that the graph branches; a sum of voters, each of which every
    row meets, is a row without a box.

    Parameters
    ----------
    words : sequence of str (T,)
        What each voter asks.
    dolls : sequence of sequences of int
        Voters of each sub-tree. Any two of them must be disjoint, or one inside the other; equal ones are drawn once.
    reach : array-like (T,), default=None
        Share of rows that meet each voter; None: not drawn.
    subject : str, default="score"
        What the voters score, for the title.

    Attributes
    ----------
    ax_, figure_
        Axes and figure drawn on.

    Raises
    ------
    ValueError
        If there is no voter, a doll holds what is none, or two overlap.

    References
    ----------
    E. Grossmann, A theory of probabilistic boosting, decision trees and matryoshki, section 5.

    Examples
    --------
    >>> from committee.report import DollDisplay
    >>> DollDisplay(["a > 1", "b > 2", "a > 3"], [[0, 1], [0, 1, 2]]).plot().ax_.get_title(loc="left")
    'score, 3 voters in 2 dolls'
    """

    def __init__(
        self,
        words: Sequence[str],
        dolls: Sequence[Sequence[int]],
        *,
        reach: ArrayLike | None = None,
        subject: str = "score",
    ) -> None:
        self.words, self.subject = list(words), subject
        T = len(self.words)
        self.reach = np.zeros(T) if reach is None else np.asarray(reach, dtype=np.float64)
        if not T or self.reach.shape != (T,):
            raise ValueError(f"reach has shape {self.reach.shape}; {T} words need ({T},), and at least one voter")
        self.dolls = sorted({tuple(sorted(doll)) for doll in dolls}, key=lambda doll: (-len(doll), doll))
        for doll in self.dolls:
            if not doll or doll[0] < 0 or doll[-1] >= T:
                raise ValueError(f"dolls holds {list(doll)}; a doll has voters from 0 to {T - 1}, at least one")
        self._page = self._nested()

    @classmethod
    def from_estimator(cls, estimator: Any, *, for_class: Any = None, ax: Axes | None = None) -> DollDisplay:
        """Draw the nesting of one score of a fitted learner.

        Parameters
        ----------
        estimator : MatryoshkaClassifier, BoostingTreeClassifier or ProbabilisticAdaBoostClassifier
            Fitted. A boosting tree is one doll, a sum none.
        for_class : class label, default=None
            Whose score, of more than two classes; None: the first's.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure, as large as it must be, by default.

        Returns
        -------
        DollDisplay
            Already drawn.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If it has no such graph, or no score for that class.
        """
        score = NestedScore.of(estimator, for_class)
        every = list(range(len(score.words)))
        is_sum = score.dolls is None and bool((score.following[:, 0] == score.following[:, 1]).all())
        dolls = [] if is_sum else [*(score.dolls or []), every]
        return cls(score.words, dolls, reach=score.reach, subject=score.subject).plot(ax)

    def plot(self, ax: Axes | None = None) -> DollDisplay:
        """Draw the dolls.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default. On smaller axes everything shrinks, letters too.

        Returns
        -------
        DollDisplay
            Itself.
        """
        _place(self._page)
        wide, high = max(self._page.width, 3.2), self._page.height + 0.2
        self.figure_, self.ax_ = _axes(ax, wide + 0.2, high + 0.5)
        self.ax_.set(xlim=(0.0, wide), ylim=(high, 0.0), aspect="equal")
        self.ax_.set_axis_off()
        scale = 1.0
        if ax is not None:
            box, (across, down) = self.ax_.get_position(), self.figure_.get_size_inches()
            scale = min(1.0, box.width * across / wide, box.height * down / high)
        deepest = max((doll.depth for doll in _all(self._page) if not doll.is_voter), default=1)
        for doll in _all(self._page):
            if doll.is_voter:
                self._draw_voter(doll, scale)
            elif doll is not self._page:
                self._draw_doll(doll, doll.depth / max(deepest, 1), scale)
        if self.reach.any():
            key = "filled: the share of training rows that meet a voter"
            self.ax_.text(_PAD, high, key, fontsize=6.5 * scale, color="#555555", va="bottom")
        T, D = len(self.words), len(self.dolls)
        voters, dolls = (f"{n} {noun}" + ("s" if n > 1 else "") for n, noun in ((T, "voter"), (D, "doll")))
        self.ax_.set_title(f"{self.subject}, {voters}" + (f" in {dolls}" if D else ""), fontsize=10 * scale, loc="left")
        return self

    def _nested(self) -> _Doll:
        """The page with everything in it, each doll in the least that holds it, in the order of the voters."""
        page = _Doll(list(range(len(self.words))))
        for voters in self.dolls:
            holder = page
            while (inner := next((at for at in holder.inside if set(at.voters) & set(voters)), None)) is not None:
                if not set(voters) <= set(inner.voters):
                    raise ValueError(
                        f"dolls {inner.voters} and {list(voters)} overlap; one must hold the other, or none"
                    )
                holder = inner
            holder.inside.append(_Doll(list(voters), depth=holder.depth + 1))
        for doll in _all(page):
            loose = set(doll.voters) - {t for inner in doll.inside for t in inner.voters}
            doll.inside += [_Doll([t], is_voter=True) for t in sorted(loose) if not doll.is_voter]
            doll.inside.sort(key=lambda inner: inner.voters[0])
        return page

    def _draw_doll(self, doll: _Doll, inwards: float, scale: float) -> None:
        from matplotlib.patches import FancyBboxPatch

        box = FancyBboxPatch(
            (doll.x, doll.y),
            doll.width,
            doll.height,
            boxstyle="round,pad=0,rounding_size=0.08",
            facecolor=tuple(_OUTER + inwards * (_INNER - _OUTER)),
            edgecolor="#5B7F99",
            linewidth=0.8 * scale,
            gid="doll",
            zorder=1.0 + 0.001 * doll.depth,
        )
        self.ax_.add_patch(box)

    def _draw_voter(self, voter: _Doll, scale: float) -> None:
        from matplotlib.patches import Rectangle

        (t,) = voter.voters
        share = float(np.clip(self.reach[t], 0.0, 1.0))
        lies = voter.width > voter.height
        wide, high = voter.width * (share if lies else 1.0), voter.height * (1.0 if lies else share)
        plain: dict[str, Any] = {"edgecolor": "none", "zorder": 3}
        corner, size = (voter.x, voter.y), (voter.width, voter.height)
        self.ax_.add_patch(Rectangle(corner, *size, facecolor="white", **plain))
        self.ax_.add_patch(Rectangle((voter.x, voter.y + voter.height - high), wide, high, facecolor=_MET, **plain))
        rim: dict[str, Any] = {"edgecolor": "#555555", "linewidth": 0.6 * scale, "gid": "voter", "zorder": 4}
        self.ax_.add_patch(Rectangle(corner, *size, fill=False, **rim))
        first, *more = in_two_lines(self.words[t], _MOST_LETTERS)
        self.ax_.text(
            voter.x + (0.05 if lies else 0.5 * voter.width),
            voter.y + (0.5 * voter.height if lies else voter.height - 0.05),
            "\n".join([f"{t}  {first}", *more]),
            rotation=0 if lies else 90,
            ha="left" if lies else "center",
            va="center" if lies else "bottom",
            multialignment="left",
            fontsize=6 * scale,
            color=_INK,
            linespacing=1.1,
            zorder=5,
        )


def _all(doll: _Doll) -> list[_Doll]:
    """It and all that is inside, from the outside inwards."""
    found = [doll]
    for each in found:
        found += each.inside
    return found


def _place(page: _Doll) -> None:
    """Sizes from the inside outwards, then places from the outside inwards."""
    every = _all(page)
    offsets: dict[int, list[tuple[float, float]]] = {}
    for doll in reversed(every):
        if not doll.is_voter:
            offsets[id(doll)] = _filled(doll)
    page.x = page.y = 0.0
    for doll in every:
        for inner, (dx, dy) in zip(doll.inside, offsets.get(id(doll), []), strict=True):
            inner.x, inner.y = doll.x + dx, doll.y + dy


def _filled(doll: _Doll) -> list[tuple[float, float]]:
    """Lay what is inside in rows, and make the doll as large as they are.

    Voters below a doll that takes a row lie down, for long chains of dolls each with one more voter to stay low.
    """
    rows: list[list[_Doll]] = [[]]
    length = 0.0
    for inner in doll.inside:
        if rows[-1] and length + inner.width > _LONGEST:
            rows.append([])
            length = 0.0
        if inner.is_voter and len(rows) > 1 and not rows[0][0].is_voter and all(one.is_voter for one in rows[-1]):
            inner.width, inner.height = _HIGH, _WIDE
        rows[-1].append(inner)
        length += inner.width + _GAP
    places, y, doll.width = [], _PAD, 0.0
    for row in rows:
        x, high = _PAD, max(inner.height for inner in row)
        for inner in row:
            places.append((x, y + 0.5 * (high - inner.height)))
            x += inner.width + _GAP
        doll.width = max(doll.width, x - _GAP + _PAD)
        y += high + _GAP
    doll.height = y - _GAP + _PAD
    return places
