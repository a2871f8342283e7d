"""The graph of voters that answer at random as a picture: the first levels, one voter a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from committee.data.number_types import F64
from committee.report.arguments import check_most
from committee.report.displays.base import AGAINST, FOR, GREY, INK, PALE, Display, percent, room, text_width
from committee.report.displays.nested_score import nested_score
from committee.report.displays.voter_words import voter_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# lengths are in inches, of a picture with a figure of its own
_LINE, _INDENT, _GAP, _BAR, _VOTE = 0.25, 0.24, 0.3, 0.55, 0.5
_FONT = 8.0
_COLORS, _SIGNS = (FOR, AGAINST), ("+", "−")


@dataclass(frozen=True)
class _Line:
    """A voter of the outline; `answer` leads to it from the voter of line `above`, None where several answers do."""

    voter: int
    indent: int
    above: int
    answer: int | None

    @property
    def x(self) -> float:
        return 0.05 + _INDENT * self.indent

    @property
    def sign(self) -> str:
        return "" if self.answer is None else _SIGNS[self.answer] + " "


class NestDisplay(Display):
    """The first voters of one score as an outline: each voter's question, the rows that meet it, its two answers.

    A voter that only one answer leads to stands indented below the voter that gives it, with the sign of that answer.
    One that several answers lead to, as the next voter of a sum or of a matryoshka, stands after all that lead to it,
    below the last voter that all rows on their way to it have met. Each answer says what it adds to the score, and the
    number of the voter that follows, the score at the end, or how many voters are left out there.

    Parameters
    ----------
    words : sequence of str (T,)
        The question of each voter.
    following : int array-like (T, 2)
        Where + and - lead: a later voter, or -1 for nowhere.
    vote : array-like (T, 2)
        What + and - add to the score.
    reach : array-like (T,)
        Share of rows that meet each voter.
    subject : str, default="score"
        Name of the score, for the title.
    max_voters : int, default=20
        At most so many voters are drawn: level by level, the most met of the last level.

    Attributes
    ----------
    ax_, figure_
        Axes and figure drawn on.
    drawn_ : list of int
        The voters drawn, from the top.

    Raises
    ------
    ValueError
        If there is no voter, lengths differ, or no voter is to be drawn.

    References
    ----------
    E. Grossmann, A theory of probabilistic boosting, decision trees and matryoshki.

    Examples
    --------
    >>> from committee.report import NestDisplay
    >>> words, following = ["age > 40 ± 3", "pulse > 90"], [[1, -1], [-1, -1]]
    >>> display = NestDisplay(words, following, vote=[[0.7, -0.4], [0.2, -0.9]], reach=[1.0, 0.4])
    >>> display.plot().ax_.get_title(loc="left")
    'score: 2 voters'
    """

    def __init__(
        self,
        words: Sequence[str],
        following: ArrayLike,
        vote: ArrayLike,
        reach: ArrayLike,
        *,
        subject: str = "score",
        max_voters: int = 20,
    ) -> None:
        self.words: list[str] = list(words)
        self.subject: str = subject
        self.max_voters: int = max_voters
        T = len(self.words)
        self.following = np.asarray(following, dtype=np.int64)
        self.vote: F64 = np.asarray(vote, dtype=np.float64)
        self.reach: F64 = np.asarray(reach, dtype=np.float64)
        if not T or self.following.shape != (T, 2) or self.vote.shape != (T, 2) or self.reach.shape != (T,):
            raise ValueError(
                f"following, vote and reach have shapes {self.following.shape}, {self.vote.shape} and "
                f"{self.reach.shape}; {T} words need ({T}, 2), ({T}, 2) and ({T},), and at least one voter"
            )
        later = (self.following < 0) | (self.following > np.arange(T)[:, None])
        if not later.all() or self.following.max() >= T:
            raise ValueError("following leads back, or to no voter; every edge must lead to a later voter, or be -1")
        check_most("max_voters", max_voters)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, for_class: Any = None, max_voters: int = 20, ax: Axes | None = None
    ) -> NestDisplay:
        """Draw one score of a fitted learner.

        Parameters
        ----------
        estimator : ProbabilisticAdaBoostClassifier, BoostingTreeClassifier or MatryoshkaClassifier
            Fitted.
        X : table or array-like (n, p), default=None
            Rows that the shares are of; None: the training rows.
        for_class : class label, default=None
            Whose score, of more than two classes; None: the first's.
        max_voters : int, default=20
            At most so many voters are drawn: level by level, the most met of the last level.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure, as large as it must be, by default.

        Returns
        -------
        NestDisplay
            Already drawn.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If it has no such graph, or no score for that class.
        """
        nodes, subject = nested_score(estimator, for_class)
        graph, reach = estimator.graph_, estimator.reach_
        if X is not None:
            reach = graph.reach(estimator.committee_.encode(estimator.validate_rows(X))).mean(axis=0)
        words = [voter_words(graph.voters, t, estimator.table_) for t in range(nodes.start, nodes.stop)]
        following = graph.next[nodes].astype(np.int64)
        following = np.where(following >= 0, following - nodes.start, -1)
        display = cls(words, following, graph.vote[nodes], reach[nodes], subject=subject, max_voters=max_voters)
        return display.plot(ax)

    def _draw(self, ax: Axes | None) -> None:
        lines = self._outline()
        self.drawn_: list[int] = [line.voter for line in lines]
        heads = [f"{line.sign}{line.voter}:  {self.words[line.voter]}" for line in lines]
        ends = [[self._end(t, answer) for t in self.drawn_] for answer in (0, 1)]
        key = "bars: share of rows that meet a voter"
        if any("±" in head for head in heads):
            key += "; x > c ± s: + with probability Φ((x − c) / s)"
        # columns: outline, share of rows, and for each answer its vote and its end
        outline = max(line.x + 0.1 + text_width(head, _FONT) for line, head in zip(lines, heads, strict=True))
        votes, width = [], outline + 2.0 * _GAP + _BAR
        for column in ends:
            votes.append(width)
            width += _VOTE + max(1.0, *(text_width(end, _FONT) for end in column)) + _GAP
        width, height = max(width, text_width(key, _FONT)), _LINE * (len(lines) + 2)
        shrink = 1.0 if ax is None else room(ax, width, height)
        ax = self._axes(ax, width + 0.2, height + 0.5)
        ax.set(xlim=(0.0, width), ylim=(height, 0.0))
        ax.set_axis_off()

        def write(x: float, line: int, text: str, color: str = INK, ha: str = "left") -> None:
            ax.text(x, _LINE * (line + 0.5), text, va="center", ha=ha, color=color, fontsize=_FONT * shrink, zorder=4)

        write(0.0, 0, "voter", GREY)
        write(outline + _GAP, 0, "rows", GREY)
        for answer in (0, 1):
            write(votes[answer], 0, f"{_SIGNS[answer]} adds, leads to", _COLORS[answer])
        for i, (line, head) in enumerate(zip(lines, heads, strict=True), start=1):
            self._connect(ax, line, i, shrink)
            write(line.x + 0.1, i, head)
            share = float(np.clip(self.reach[line.voter], 0.0, 1.0))
            ax.barh(_LINE * (i + 0.5), _BAR * share, 0.7 * _LINE, left=outline + _GAP, color="#c9d6e2", gid="share")
            write(outline + _GAP + 0.04, i, percent(share))
            for answer in (0, 1):
                adds = _signed(self.vote[line.voter, answer])
                write(votes[answer] + _VOTE - 0.1, i, adds, _COLORS[answer], "right")
                write(votes[answer] + _VOTE, i, ends[answer][i - 1])
        write(0.0, len(lines) + 1, key, GREY)
        T, n = len(self.words), len(lines)
        count = f"first {n} of {T} voters" if n < T else f"{T} voter" + "s" * (T > 1)
        ax.set_title(f"{self.subject}: {count}", fontsize=10 * shrink, loc="left")

    def _connect(self, ax: Axes, line: _Line, i: int, shrink: float) -> None:
        """The way here from the voter above, as wide as rows come; grey and thin where several answers lead here."""
        y, color, width = _LINE * (i + 0.5), PALE, 1.2
        start = line.x
        if line.answer is not None:  # the lines of + and - run side by side
            start += (0.035, -0.035)[line.answer] - _INDENT
            color, width = _COLORS[line.answer], 0.8 + 2.5 * float(np.clip(self.reach[line.voter], 0.0, 1.0))
        if i > 1:
            way = [start, start, line.x], [_LINE * (line.above + 1.5), y, y]
            ax.plot(*way, color=color, linewidth=width * shrink, solid_joinstyle="round", gid="edge")
        ax.plot([line.x], [y], marker="o", markersize=5 * shrink, color=color, zorder=3, gid="voter")

    def _outline(self) -> list[_Line]:
        """Lines of the voters drawn, each below its immediate dominator: the last voter on all ways to it."""
        came: list[list[tuple[int, int]]] = [[] for _ in self.words]
        level, dominator, depth = {0: 0}, [-1] * len(came), [0] * len(came)

        def common(s: int, t: int) -> int:
            while s != t:
                s, t = (dominator[s], t) if depth[s] > depth[t] else (s, dominator[t])
            return s

        for t, answers in enumerate(self.following.tolist()):
            if came[t]:
                dominator[t] = reduce(common, (s for s, _ in came[t]))
                depth[t] = depth[dominator[t]] + 1
                level[t] = 1 + min(level[s] for s, _ in came[t])
            if t in level:
                for answer, end in enumerate(answers):
                    if end >= 0:
                        came[end].append((t, answer))
        drawn = sorted(level, key=lambda t: (level[t], -self.reach[t], t))[: self.max_voters]
        lines: list[_Line] = []
        waiting = [_Line(0, 0, -1, None)]
        while waiting:
            line = waiting.pop()
            lines.append(line)
            below = [t for t in drawn if t and dominator[t] == line.voter]
            alone = {t: came[t][0][1] for t in below if len(came[t]) == 1}
            # popped in this order: the voters that + and - alone lead to, then those that several answers lead to
            for t in sorted(below, key=lambda t: (alone.get(t, 2), t), reverse=True):
                waiting.append(_Line(t, line.indent + (t in alone), len(lines) - 1, alone.get(t)))
        return lines

    def _end(self, t: int, answer: int) -> str:
        """The voter that an answer leads to, the voters left out there, or the score at the end."""
        end = int(self.following[t, answer])
        if end in self.drawn_:
            return f"→ {end}"
        if end >= 0:
            after = {end}
            for s in range(end, len(self.words)):
                if s in after:
                    after.update(self.following[s].tolist())
            return f"→ … {len(after - {-1, *self.drawn_})} more"
        low, high = (_signed(scores[t] + self.vote[t, answer]) for scores in self._scores)
        return f"ends at {low}" + (f" to {high}" if high != low else "")

    @cached_property
    def _scores(self) -> tuple[F64, F64]:
        """The least and the largest score that a path comes to each voter with."""
        low, high = np.full(len(self.words), np.inf), np.full(len(self.words), -np.inf)
        low[0] = high[0] = 0.0
        for t, answers in enumerate(self.following.tolist()):
            for answer, end in enumerate(answers):
                if end >= 0:
                    low[end] = min(low[end], low[t] + self.vote[t, answer])
                    high[end] = max(high[end], high[t] + self.vote[t, answer])
        return low, high


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")
