"""The graph of voters that answer at random as a picture: who is met, how likely, and what each answer adds."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.report.displays.comparison import _INK, _axes
from committee.report.displays.layered_layout import layered
from committee.report.displays.model_trees import _AGAINST, _FOR
from committee.report.displays.nested_score import NestedScore
from committee.report.displays.vote_paths import answer_shares, scores_on_the_way
from committee.report.displays.voter_words import in_two_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["NestDisplay"]

F64 = NDArray[np.float64]

# lengths are in inches, of a picture with a figure of its own
_HIGH, _APART, _BETWEEN, _LANE = 0.48, 0.54, 0.36, 0.3
_STUB = 0.25
_LEAST_PAGE = 3.0
_PORT = 0.32
"""Edges leave a box so far from its middle, as a share of its width."""

_LETTER, _LEAST_LETTERS = 0.068, 20
_LINE = 26
"""Letters in a line of a box."""

_SIDES = (1.0, -1.0)
"""+ leaves on the right, - on the left."""

_DARK_INK = ("#005b8e", "#b04a00")
"""Letters beside edges of + and -, of their colours."""

_PALE, _DARK = np.array([1.0, 1.0, 1.0]), np.array([0.72, 0.78, 0.84])


@dataclass(frozen=True)
class _Edge:
    start: int
    answer: int
    end: int
    share: float


class NestDisplay:
    """The voters of one score as boxes, and their answers as edges that lead from box to box.

    A box says what its voter asks, its number in the order of training, and the share of rows that meet it, which also
    shades it. Edges of + are blue and leave on the right, those of - orange and on the left; they are as wide as rows
    are likely to take them and say what the answer adds to the score. An edge that ends in a dot ends the path: the dot
    is blue where the score is above 0 on all paths that end there, orange where it is below, and empty where paths
    differ; where there is one path only, its score stands below. An edge that ends in "…" leads to voters left out.

    Parameters
    ----------
    words : sequence of str (T,)
        What each voter asks.
    following : int array-like (T, 2)
        Where + and - lead: a later voter, or -1 for nowhere.
    vote : array-like (T, 2)
        What + and - add to the score.
    reach : array-like (T,)
        Share of rows that meet each voter.
    shares : array-like (T, 2), default=None
        Share of rows that leave a voter by each answer. None: told from `reach`; where that leaves some open, as evenly
        as it allows.
    subject : str, default="score"
        What the votes add up to, for the title.
    max_depth : int, default=None
        At most so many layers are drawn, above 0; None: all.
    min_reach : float, default=0
        Voters that a smaller share of rows meets are not drawn, nor what only they lead to.

    Attributes
    ----------
    ax_, figure_
        Axes and figure drawn on.
    drawn_ : list of int
        The voters drawn.

    Raises
    ------
    ValueError
        If there is no voter, lengths differ, or a limit is out of its range.

    References
    ----------
    E. Grossmann, A theory of probabilistic boosting, decision trees and matryoshki.

    Examples
    --------
    >>> from committee.report import NestDisplay
    >>> words, following = ["age > 40 ± 3", "pulse > 90"], [[1, -1], [-1, -1]]
    >>> display = NestDisplay(words, following, vote=[[0.7, -0.4], [0.2, -0.9]], reach=[1.0, 0.4])
    >>> display.plot().ax_.get_title(loc="left")
    'score, 2 voters'
    """

    def __init__(
        self,
        words: Sequence[str],
        following: ArrayLike,
        vote: ArrayLike,
        reach: ArrayLike,
        *,
        shares: ArrayLike | None = None,
        subject: str = "score",
        max_depth: int | None = None,
        min_reach: float = 0.0,
    ) -> None:
        self.words, self.subject = list(words), subject
        T = len(self.words)
        self.following = np.asarray(following, dtype=np.int64)
        self.vote = np.asarray(vote, dtype=np.float64)
        self.reach = np.asarray(reach, dtype=np.float64)
        if not T or self.following.shape != (T, 2) or self.vote.shape != (T, 2) or self.reach.shape != (T,):
            raise ValueError(
                f"following, vote and reach have shapes {self.following.shape}, {self.vote.shape} and "
                f"{self.reach.shape}; {T} words need ({T}, 2), ({T}, 2) and ({T},), and at least one voter"
            )
        later = (self.following < 0) | (self.following > np.arange(T)[:, None])
        if not later.all() or self.following.max() >= T:
            raise ValueError("following leads back, or to no voter; every edge must lead to a later voter, or be -1")
        if max_depth is not None and max_depth < 1:
            raise ValueError(f"max_depth={max_depth} leaves nothing to draw; give 1 or more, or None for all layers")
        if not 0.0 <= min_reach <= 1.0:
            raise ValueError(f"min_reach={min_reach} is no share of rows; give a number in [0, 1]")
        self.shares = (
            answer_shares(self.following, self.reach) if shares is None else np.asarray(shares, dtype=np.float64)
        )
        if self.shares.shape != (T, 2):
            raise ValueError(f"shares has shape {self.shares.shape}; {T} voters need ({T}, 2)")
        self.max_depth, self.min_reach = max_depth, min_reach

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        for_class: Any = None,
        max_depth: int | None = None,
        min_reach: float = 0.0,
        ax: Axes | None = None,
    ) -> NestDisplay:
        """Draw one score of a fitted learner.

        Parameters
        ----------
        estimator : ProbabilisticAdaBoostClassifier, BoostingTreeClassifier or MatryoshkaClassifier
            Fitted.
        X : table or array-like (n, p), default=None
            Rows that the shares are of. None: the training rows, of which the learner knows how many meet each voter,
            but not always by which answer.
        for_class : class label, default=None
            Whose score, of more than two classes; None: the first's.
        max_depth : int, default=None
            At most so many layers; None: all.
        min_reach : float, default=0
            Voters that a smaller share of rows meets are left out.
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
        score = NestedScore.of(estimator, for_class)
        reach, shares = score.reach, None
        if X is not None:
            rows = estimator.committee_.encode(estimator.validate_rows(X))
            mine = slice(score.first, score.first + len(score.words))
            met, q = estimator.graph_.reach(rows)[:, mine], estimator.graph_.voters.probabilities(rows)[:, mine]
            reach = met.mean(axis=0)
            shares = np.column_stack([(met * q).mean(axis=0), (met * (1.0 - q)).mean(axis=0)])
        display = cls(
            score.words,
            score.following,
            score.vote,
            reach,
            shares=shares,
            subject=score.subject,
            max_depth=max_depth,
            min_reach=min_reach,
        )
        return display.plot(ax)

    # --- drawing ---------------------------------------------------------------------------------------------------

    def plot(self, ax: Axes | None = None) -> NestDisplay:
        """Draw the graph.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default. On smaller axes everything shrinks, letters too.

        Returns
        -------
        NestDisplay
            Itself.
        """
        self.drawn_ = self._chosen()
        number = {t: i for i, t in enumerate(self.drawn_)}
        texts = ["\n".join(in_two_lines(self.words[t], _LINE)) for t in self.drawn_]
        self._wide = 0.16 + _LETTER * max(_LEAST_LETTERS, *(len(line) for text in texts for line in text.split("\n")))
        edges = [
            _Edge(t, answer, int(self.following[t, answer]), float(self.shares[t, answer]))
            for t in self.drawn_
            for answer in (1, 0)
        ]
        inner = [edge for edge in edges if edge.end in number]
        x, layer, lanes = layered(
            len(self.drawn_),
            [(number[edge.start], number[edge.end], _SIDES[edge.answer]) for edge in inner],
            self._wide + _BETWEEN,
            _LANE,
        )
        self._x = dict(zip(self.drawn_, x.tolist(), strict=True))
        self._y = {t: -layer[i] * (_HIGH + _APART) for t, i in number.items()}
        # lanes may lie outside of all boxes
        across = [*x.tolist(), *(place for passed in lanes for place in passed)]
        low, high = min(across) - 0.5 * self._wide - 0.1, max(across) + 0.5 * self._wide + 0.1
        middle, half = 0.5 * (low + high), 0.5 * max(high - low, _LEAST_PAGE)
        bottom, top = min(self._y.values()) - 0.5 * _HIGH - _STUB - 0.5, 0.5 * _HIGH + 0.08
        title = self._title(int(2.0 * half / 0.08))
        self.figure_, self.ax_ = _axes(ax, 2.0 * half + 0.2, top - bottom + 0.3 + 0.17 * (1 + title.count("\n")))
        self.ax_.set(xlim=(middle - half, middle + half), ylim=(bottom, top), aspect="equal")
        self.ax_.set_axis_off()
        self._shrink(ax is not None, 2.0 * half, top - bottom)
        self._ways, self._low, self._high = scores_on_the_way(self.following, self.vote)
        self._draw_edges(inner, lanes)
        for edge in edges:
            if edge.end not in number:
                self._draw_end(edge)
        for t, text in zip(self.drawn_, texts, strict=True):
            self._draw_box(t, text)
        soft = "; x > c ± s: probability of + is Φ((x − c) / s)" if any("±" in text for text in texts) else ""  # noqa: RUF001
        key = textwrap.fill(f"+ blue, − orange{soft}", int(2.0 * half / 0.058))  # noqa: RUF001
        self._text(middle - half, bottom, key, 6.5, color="#555555", ha="left", va="bottom")
        self.ax_.set_title(title, fontsize=10 * self._scale, loc="left")
        return self

    def _title(self, letters: int) -> str:
        left_out = len(self.words) - len(self.drawn_)
        shown = f"{len(self.drawn_)} voter" + ("s" if len(self.drawn_) > 1 else "")
        title = f"{self.subject}, {shown}" + (f"; … {left_out} more voter" + "s" * (left_out > 1) if left_out else "")
        return textwrap.fill(title, letters)

    def _chosen(self) -> list[int]:
        """The voters that the limits leave: those that a drawn one leads to."""
        depth = {0: 0}
        for t in range(len(self.words)):
            before = [s for s in depth if s < t and t in self.following[s]]
            if before and self.reach[t] >= self.min_reach:
                layer = 1 + max(depth[s] for s in before)
                if self.max_depth is None or layer < self.max_depth:
                    depth[t] = layer
        return sorted(depth)

    def _shrink(self, given: bool, width: float, height: float) -> None:
        """Letters and lines as small as the picture is on axes that were given."""
        self._scale = 1.0
        if given:
            box, (wide, high) = self.ax_.get_position(), self.figure_.get_size_inches()
            self._scale = min(1.0, box.width * wide / width, box.height * high / height)

    def _draw_edges(self, edges: list[_Edge], lanes: list[list[float]]) -> None:
        """Every edge from its side of a box, through its lanes, to its own place on top of the next box."""
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        entering: dict[int, list[tuple[float, int]]] = {}
        for i, edge in enumerate(edges):
            came_from = lanes[i][-1] if lanes[i] else self._port(edge)
            entering.setdefault(edge.end, []).append((came_from, i))
        entry: dict[int, float] = {}
        for end, came in entering.items():
            # edges that come from far on one side enter there, a single one in the middle
            spread = min(0.7 * self._wide, 0.22 * (len(came) - 1))
            places = self._x[end] + np.linspace(-0.5 * spread, 0.5 * spread, len(came))
            for (_, i), place in zip(sorted(came), places.tolist(), strict=True):
                entry[i] = place
        for i, edge in enumerate(edges):
            y = self._y[edge.start] - 0.5 * _HIGH
            points = [(self._port(edge), y)]
            for lane in lanes[i]:
                below = y - _APART
                points += [(lane, below), (lane, below - _HIGH)]
                y = below - _HIGH
            points.append((entry[i], y - _APART))
            path, codes = [points[0]], [Path.MOVETO]
            for k, ((x0, y0), (x1, y1)) in enumerate(pairwise(points)):
                if k % 2:  # along a lane
                    path, codes = [*path, (x1, y1)], [*codes, Path.LINETO]
                else:
                    path += [(x0, 0.5 * (y0 + y1)), (x1, 0.5 * (y0 + y1)), (x1, y1)]
                    codes += [Path.CURVE4] * 3
            self.ax_.add_patch(
                PathPatch(Path(path, codes), fill=False, gid="edge", capstyle="butt", zorder=1, **self._stroke(edge))
            )
            self._write_vote(edge, points[1][0] if lanes[i] else entry[i])

    def _draw_end(self, edge: _Edge) -> None:
        """A short edge down to a dot, or to how many voters were left out there."""
        x, y = self._port(edge), self._y[edge.start] - 0.5 * _HIGH
        self.ax_.plot([x, x], [y, y - _STUB], gid="end", solid_capstyle="butt", zorder=1, **self._stroke(edge))
        self._write_vote(edge, x)
        if edge.end >= 0:
            self._text(x, y - _STUB - 0.1, f"… {self._hidden_after(edge.end)} more", 6.5, color="#555555")
            return
        added = self.vote[edge.start, edge.answer]
        low, high = float(self._low[edge.start] + added), float(self._high[edge.start] + added)
        color = _FOR if low > 0.0 else _AGAINST if high < 0.0 else "white"
        self.ax_.plot(
            [x],
            [y - _STUB],
            marker="o",
            markersize=7 * self._scale,
            markerfacecolor=color,
            markeredgecolor="#777777" if color == "white" else color,
            gid="exit",
            zorder=3,
        )
        if self._ways[edge.start] == 1:
            self._text(x, y - _STUB - 0.15, _signed(low), 6.5, color="#555555")

    def _draw_box(self, t: int, text: str) -> None:
        from matplotlib.patches import FancyBboxPatch

        share = float(np.clip(self.reach[t], 0.0, 1.0))
        box = FancyBboxPatch(
            (self._x[t] - 0.5 * self._wide, self._y[t] - 0.5 * _HIGH),
            self._wide,
            _HIGH,
            boxstyle="round,pad=0,rounding_size=0.06",
            facecolor=tuple(_PALE + share * (_DARK - _PALE)),
            edgecolor="#555555",
            linewidth=0.8 * self._scale,
            gid="voter",
            zorder=4,
        )
        self.ax_.add_patch(box)
        self._text(self._x[t], self._y[t] + 0.07, text, 7, linespacing=1.05, zorder=5)
        self._text(self._x[t], self._y[t] - 0.175, f"voter {t}, {_percent(share)}", 6, color="#555555", zorder=5)

    def _port(self, edge: _Edge) -> float:
        return float(self._x[edge.start] + _SIDES[edge.answer] * _PORT * self._wide)

    def _stroke(self, edge: _Edge) -> dict[str, Any]:
        width = 0.7 + 4.0 * float(np.clip(edge.share, 0.0, 1.0))
        return {"color": _AGAINST if edge.answer else _FOR, "linewidth": width * self._scale}

    def _write_vote(self, edge: _Edge, leads_to: float) -> None:
        """What an answer adds, on the side that its edge turns away from."""
        value, side = float(self.vote[edge.start, edge.answer]), _SIDES[edge.answer]
        port = self._port(edge)
        beside = 1.0 if (leads_to - port) * side < -0.2 else -1.0
        x, y = port + 0.08 * side * beside, self._y[edge.start] - 0.5 * _HIGH - 0.1
        color = _DARK_INK[edge.answer]
        back = {"boxstyle": "square,pad=0.05", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
        self._text(
            x, y, _signed(value), 6.5, color=color, ha="left" if side * beside > 0 else "right", bbox=back, zorder=2
        )

    def _text(self, x: float, y: float, text: str, size: float, **style: Any) -> None:
        full: dict[str, Any] = {"ha": "center", "va": "center", "color": _INK, "zorder": 3} | style
        self.ax_.text(x, y, text, fontsize=size * self._scale, **full)

    # --- what the graph tells --------------------------------------------------------------------------------------

    def _hidden_after(self, first: int) -> int:
        """How many voters that are not drawn one leads to, itself counted."""
        found = {first}
        for t in range(first, len(self.words)):
            if t in found:
                found |= {end for end in self.following[t].tolist() if end >= 0}
        return len(found - set(self.drawn_))


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.0995 or share == 0.0 else f"{share:.1%}" if share >= 0.001 else "< 0.1%"


def _signed(value: float) -> str:
    size = abs(value)
    if size < 5e-4:
        return "0" if value == 0.0 else "≈ 0"
    return (f"{value:+.2f}" if size >= 0.005 else f"{value:+.1g}").replace("-", "−")  # noqa: RUF001
