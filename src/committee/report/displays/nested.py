"""Displays of graphs of probabilistic voters: their first voters, and the bound on their training error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from committee.bounds.nested_trees import normaliser_of_edge, tree_factor, two_matryoshka
from committee.data.number_types import F64
from committee.report.displays.base import (
    AGAINST,
    FOR,
    GREY,
    INK,
    PALE,
    ChartDisplay,
    Display,
    check_most,
    room,
    text_inches,
)
from committee.report.displays.tree_text import voter_words
from committee.report.drawing.chart import Chart, Curve, Dots, Mark, dash
from committee.report.drawing.scale import Scale, format_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# lengths in inches, of a picture with a figure of its own
_LINE, _INDENT, _GAP, _BAR, _VOTE = 0.25, 0.24, 0.3, 0.55, 0.5
_FONT = 8.0
_COLORS, _SIGNS = (FOR, AGAINST), ("+", "−")


def nested_score(estimator: Any, for_class: Any = None) -> tuple[slice, str]:
    """Return the slice of a class's score in ``graph_``, ``reach_``, ``bounds_`` and ``edges_``, and its name."""
    check_is_fitted(estimator)
    graph = getattr(estimator, "graph_", None)
    if graph is None:
        raise ValueError(
            f"{type(estimator).__name__} has no graph of probabilistic voters; give a "
            "ProbabilisticAdaBoostClassifier, BoostingTreeClassifier or MatryoshkaClassifier fitted on several classes."
        )
    classes = estimator.classes_.tolist()
    scored = classes[1:] if len(classes) == 2 else classes
    label = scored[0] if for_class is None else for_class
    if label not in scored:
        one_of = "one of " if len(scored) > 1 else ""
        raise ValueError(f"for_class={label!r} has no score; choose {one_of}{', '.join(map(repr, scored))}.")
    start = graph.start.tolist()
    i = scored.index(label)
    return slice(start[i], start[i + 1]), f"score for {label}"


@dataclass(frozen=True)
class _Line:
    voter: int
    indent: int
    above: int
    answer: int | None  # leads here from the voter of line `above`; None if several answers do

    @property
    def x(self) -> float:
        return 0.05 + _INDENT * self.indent

    @property
    def sign(self) -> str:
        return "" if self.answer is None else _SIGNS[self.answer] + " "


class NestDisplay(Display):
    """The first voters of one score as an outline: each voter's condition, its share of the rows, its two answers.

    A voter reached by one answer is indented below the voter that gives it, with the sign of that answer. One reached
    by several answers, such as the next voter of a sum or of a matryoshka, stands below the last voter that all paths
    to it share. For each answer the line has its addition to the score, and the number of the next voter, the score at
    the end, or the number of voters left out there. The graphs are those of E. Grossmann, A theory of probabilistic
    boosting, decision trees and matryoshki.

    Parameters
    ----------
    words : sequence of str (T,)
        Condition of each voter.
    following : int array-like (T, 2)
        Next voter after + and -, a later one, or -1 for the end.
    vote : array-like (T, 2)
        Addition of + and - to the score.
    reach : array-like (T,)
        Share of rows that reach each voter.
    subject : str, default="score"
        Name of the score, for the title.
    max_voters : int, default=20
        Voters drawn: level by level, of the last level those that most rows reach.

    Attributes
    ----------
    drawn_ : list of int
        The voters drawn, from the top.

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
            Rows of the shares; `None` uses the training rows.
        for_class : class label, default=None
            Class whose score is drawn, if there are more than two; `None` is the first.
        max_voters, ax
            As for the class and `plot`.
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
        outline = max(line.x + 0.1 + text_inches(head, _FONT) for line, head in zip(lines, heads, strict=True))
        votes, width = [], outline + 2.0 * _GAP + _BAR
        for column in ends:
            votes.append(width)
            width += _VOTE + max(1.0, *(text_inches(end, _FONT) for end in column)) + _GAP
        width, height = max(width, text_inches(key, _FONT)), _LINE * (len(lines) + 2)
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
            write(outline + _GAP + 0.04, i, format_percent(share))
            for answer in (0, 1):
                adds = _signed(self.vote[line.voter, answer])
                write(votes[answer] + _VOTE - 0.1, i, adds, _COLORS[answer], "right")
                write(votes[answer] + _VOTE, i, ends[answer][i - 1])
        write(0.0, len(lines) + 1, key, GREY)
        T, n = len(self.words), len(lines)
        count = f"first {n} of {T} voters" if n < T else f"{T} voter" + "s" * (T > 1)
        ax.set_title(f"{self.subject}: {count}", fontsize=10 * shrink, loc="left")

    def _connect(self, ax: Axes, line: _Line, i: int, shrink: float) -> None:
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
        # each voter stands below its immediate dominator, the last voter that all paths to it share
        parents: list[list[tuple[int, int]]] = [[] for _ in self.words]
        level, dominator, depth = {0: 0}, [-1] * len(parents), [0] * len(parents)

        def common(s: int, t: int) -> int:
            while s != t:
                s, t = (dominator[s], t) if depth[s] > depth[t] else (s, dominator[t])
            return s

        for t, answers in enumerate(self.following.tolist()):
            if parents[t]:
                dominator[t] = reduce(common, (s for s, _ in parents[t]))
                depth[t] = depth[dominator[t]] + 1
                level[t] = 1 + min(level[s] for s, _ in parents[t])
            if t in level:
                for answer, end in enumerate(answers):
                    if end >= 0:
                        parents[end].append((t, answer))
        drawn = sorted(level, key=lambda t: (level[t], -self.reach[t], t))[: self.max_voters]
        lines: list[_Line] = []
        waiting = [_Line(0, 0, -1, None)]
        while waiting:
            line = waiting.pop()
            lines.append(line)
            below = [t for t in drawn if t and dominator[t] == line.voter]
            alone = {t: parents[t][0][1] for t in below if len(parents[t]) == 1}
            # popped in this order: the voters that + and - alone lead to, then those that several answers lead to
            for t in sorted(below, key=lambda t: (alone.get(t, 2), t), reverse=True):
                waiting.append(_Line(t, line.indent + (t in alone), len(lines) - 1, alone.get(t)))
        return lines

    def _end(self, t: int, answer: int) -> str:
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


class BoundDisplay(ChartDisplay):
    """Bound C on the expected training error against the number of voters, on a logarithmic axis.

    Grey reference curves are the bounds of voters of one edge: a sum rho^T, a tree F(T, rho), and at powers of two the
    2-matryoshka M_2(T, rho), with rho = sqrt(1 - 4 edge^2); eqs. 3, 9 and 11 of E. Grossmann, A theory of probabilistic
    boosting, decision trees and matryoshki.

    Parameters
    ----------
    bounds : mapping of str to array-like (T,)
        Bound after each voter, for each model; T may differ.
    edge : float, default=None
        Edge of the reference curves, in (0, 1/2); `None` draws none.
    n_scores : int, default=1
        Factor of the reference curves, where bounds are sums over several scores.
    subject : str, default="expected training error"
        Name of the bounded quantity, for the axis.

    Examples
    --------
    >>> from committee.report import BoundDisplay
    >>> display = BoundDisplay({"tree": [0.9, 0.8, 0.75], "sum": [0.9, 0.7, 0.6]}, edge=0.2).plot()
    >>> len(display.ax_.get_lines())
    5
    """

    def __init__(
        self,
        bounds: Mapping[str, ArrayLike],
        *,
        edge: float | None = None,
        n_scores: int = 1,
        subject: str = "expected training error",
    ) -> None:
        if not bounds:
            raise ValueError("bounds is empty: give the bounds of one model at least")
        self.bounds: dict[str, F64] = {}
        for name, curve in bounds.items():
            values = np.asarray(curve, dtype=np.float64)
            if values.ndim != 1 or not values.size or not ((values > 0.0) & np.isfinite(values)).all():
                raise ValueError(f"bounds of {name!r} must be numbers above 0, one for each voter, at least one")
            self.bounds[name] = values
        if edge is not None and not 0.0 < edge < 0.5:
            raise ValueError(f"edge={edge} has no bound; give a number in (0, 1/2), or None for no reference curves")
        self.edge: float | None = edge
        self.n_scores: int = n_scores
        self.subject: str = subject

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, for_class: Any = None, edge: float | str | None = "smallest", ax: Axes | None = None
    ) -> BoundDisplay:
        """Draw the bound of one fitted learner.

        Parameters
        ----------
        estimator : ProbabilisticAdaBoostClassifier, BoostingTreeClassifier or MatryoshkaClassifier
            Fitted.
        for_class, edge, ax
            As for `from_estimators`.
        """
        return cls.from_estimators({type(estimator).__name__: estimator}, for_class=for_class, edge=edge, ax=ax)

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any],
        *,
        for_class: Any = None,
        edge: float | str | None = "smallest",
        ax: Axes | None = None,
    ) -> BoundDisplay:
        """Draw the bounds of fitted learners.

        Parameters
        ----------
        estimators : mapping of str to classifier
            Fitted ProbabilisticAdaBoostClassifier, BoostingTreeClassifier or MatryoshkaClassifier.
        for_class : class label, default=None
            Class whose score is drawn, if there are more than two. `None`: the sum over all scores, each after the same
            number of voters or its last one, which bounds the expected training error.
        edge : float, "smallest" or None, default="smallest"
            Edge of the reference curves. "smallest": the least absolute edge of the first model's voters, or no curves
            if it is 1/2, or even a sum of such voters would stay at 0.99 or above, as with the last voters of a long
            run. `None`: no curves.
        ax : matplotlib Axes, default=None
            Axes to draw on.
        """
        if isinstance(edge, str) and edge != "smallest":
            raise ValueError(
                f"edge={edge!r} is not an edge; give a number in (0, 1/2), 'smallest', or None for no curves"
            )
        scores = {name: _bounds_and_edges(estimator, for_class) for name, estimator in estimators.items()}
        if isinstance(edge, str):
            edge = None
            if scores:
                least = min(float(np.abs(edges).min()) for _, edges in next(iter(scores.values())))
                most = max(len(bounds) for pairs in scores.values() for bounds, _ in pairs)
                # curves that stay at 1 would only flatten the others
                edge = least if least < 0.5 and normaliser_of_edge(least) ** most < 0.99 else None
        display = cls(
            {name: _summed([bounds for bounds, _ in pairs]) for name, pairs in scores.items()},
            edge=edge,
            n_scores=max(map(len, scores.values()), default=1),
            subject="expected training error" if for_class is None else f"expected error of the score for {for_class}",
        )
        return display.plot(ax)

    def chart(self) -> Chart:
        most = max(map(len, self.bounds.values()))
        marks: list[Mark] = []
        for i, (name, values) in enumerate(self.bounds.items()):
            # a curve that lies under others shows beside them
            width = 2.0 + min(1.0 * (len(self.bounds) - 1 - i), 4.0)
            x = np.arange(1, len(values) + 1)
            marks.append(Curve(x, values, color=i, dash=dash(i), width=width, label=name))
            marks += [Dots(x, values, color=i)] if len(values) == 1 else []
        low = min(float(values.min()) for values in self.bounds.values())
        high = max(1.0 * self.n_scores, *(float(values.max()) for values in self.bounds.values()))
        if self.edge is not None:
            marks += self._references(self.edge, most, 0.3 * low)
        ratio = high / low
        y = Scale(min(low / ratio**0.08, 0.97 * low), max(high * ratio**0.03, 1.03 * high), log=True)
        voters = "voters" if self.n_scores == 1 else "voters of each score"
        x_scale = Scale(1.0 - 0.015 * most, most + 0.015 * most, whole=True)
        return Chart(x_scale, y, voters, f"bound on the {self.subject}", marks)

    def _references(self, edge: float, most: int, least: float) -> list[Curve]:
        rho = normaliser_of_edge(edge)
        T = np.arange(1, max(most, 2) + 1)
        powers = 2 ** np.arange(int(np.log2(T[-1])) + 1)
        nested = np.array([two_matryoshka(int(power), rho) for power in powers])
        curves = (
            (T, tree_factor(T, rho), f"tree, F(T, rho), edge {edge:.3g}"),
            (powers, nested, "2-matryoshka, M_2(T, rho)"),
            (T, np.exp(T * np.log(rho)), "sum, rho^T"),
        )
        shown = [(x, self.n_scores * values, label) for x, values, label in curves]
        return [
            Curve(x, np.where(y >= least, y, np.nan), "soft", label, dash=3 - k, width=1.5)
            for k, (x, y, label) in enumerate(shown)
        ]


def _bounds_and_edges(estimator: Any, for_class: Any) -> list[tuple[F64, F64]]:
    check_is_fitted(estimator)
    one = for_class is not None or len(estimator.classes_) == 2
    labels = [for_class] if one else estimator.classes_.tolist()
    nodes = [nested_score(estimator, label)[0] for label in labels]
    return [(estimator.bounds_[each], estimator.edges_[each]) for each in nodes]


def _summed(bounds: list[F64]) -> F64:
    most = max(map(len, bounds))
    return np.asarray(sum(np.pad(values, (0, most - len(values)), mode="edge") for values in bounds))
