"""All trees of a small ensemble in one picture: tests in plain words, and bars of what the leaves add to the vote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.number_types import F64
from committee.report.displays.base import COLORS, FOR, GREY, INK, PALE, Display, color, percent, room, text_width
from committee.report.displays.ensemble_words import EnsembleWords, PlainTree
from committee.report.displays.leaf_bars import WIDTH as BAR
from committee.report.displays.leaf_bars import bar_height, draw_bar
from committee.report.displays.tree_shape import TreeShape
from committee.report.displays.worked_row import WorkedRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# lengths are in inches, of a picture with a figure of its own
_WIDE, _NARROW = 12.5, 6.0
_LEVEL, _LINE, _BETWEEN, _APART = 0.74, 0.135, 0.16, 0.5
_TITLE, _FONT, _SMALL = 9.0, 7.5, 6.5
_FIRST_LINE = 0.2


class SmallEnsembleDisplay(Display):
    """Every tree of a small ensemble, from the root down; the left answer to a test is yes, the right one no.

    The sentence on top says how the trees are summed. Trees that can change the vote most come first; where they are
    summed, those of the same tests are drawn as one, whose leaves say their sums. Lines are as wide as training rows
    come. Below each leaf stands what it says: by how much, and for which class, with a bar; all bars
    have one scale. Of a row that is given, the ways are dark, and the last lines are its sum. `text` is the same as
    text.

    Parameters
    ----------
    words : EnsembleWords
        The ensemble in words.
    row : WorkedRow, default=None
        A row that is followed; None: none.

    Attributes
    ----------
    ax_, figure_
        Axes and figure drawn on.
    text : str
        The trees as text, one node a line; ``str(display)`` is the same.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import AdaBoostClassifier
    >>> from committee.report import SmallEnsembleDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> display = SmallEnsembleDisplay.from_estimator(AdaBoostClassifier(2, max_depth=1).fit(X, y), X, row=13)
    >>> for line in str(display).splitlines()[1:]:
    ...     print(line)
    Tree 1
    worst radius ≤ 16.83 (100% of rows)
    ├─ yes → +1.74 for 1 (67% of rows)
    └─ no → −1.74 for 0 (33% of rows)
    Tree 2
    worst concave points ≤ 0.1358 (100% of rows)
    ├─ yes → +1.43 for 1 (64% of rows)
    └─ no → −1.43 for 0 (36% of rows)
    row 13: worst radius = 16.84, worst concave points = 0.1119
    tree 1 −1.74,  tree 2 +1.43 = −0.31  (probability of 1 42%)
    """

    def __init__(self, words: EnsembleWords, row: WorkedRow | None = None) -> None:
        self.words: EnsembleWords = words
        self.row: WorkedRow | None = row

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, row: int = 0, *, ax: Axes | None = None
    ) -> SmallEnsembleDisplay:
        """Draw all trees of a small ensemble.

        Parameters
        ----------
        estimator : fitted learner or committee
            Of trees, of 60 leaves together at most: what `prune` left of a forest, a few boosted trees, a tree. Of
            other libraries, what `committee.Committee.from_estimator` takes.
        X : frame or array (n, p), default=None
            Rows: one of them is followed, and where missing values go is said of those columns alone that have some.
            None: no row, and it is said of all.
        row : int, default=0
            Which row is followed; -1 is the last.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure, as large as it must be, by default.

        Returns
        -------
        SmallEnsembleDisplay
            Already drawn.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If it has no trees with numbers or classes in their leaves, or `X` is sparse.
        ValueError
            If it has more than 60 leaves, predicts several numbers, or there is no such row.
        """
        from sklearn.base import BaseEstimator
        from sklearn.utils.validation import check_is_fitted

        if isinstance(estimator, BaseEstimator):
            check_is_fitted(estimator)
        words = EnsembleWords.of(estimator)
        if X is None:
            return cls(words).plot(ax)
        followed = WorkedRow.of(words, estimator, X, row)
        return cls(EnsembleWords.of(estimator, followed.had_missing), followed).plot(ax)

    # --- text ----------------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The trees as text, one node a line."""
        lines = [f"{self.words.size}. {self.words.how}"]
        for tree in self.words.trees:
            lines += [tree.name, *self._node_lines(tree, 0, "", "")]
        if self.row is not None:
            lines += [f"row {self.row.number}: {', '.join(self.row.values)}", *self.row.sums]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text

    def _node_lines(self, tree: PlainTree, node: int, head: str, indent: str) -> list[str]:
        """A node and all below it."""
        number, name, _ = self.words.leaves.words(tree.says[node], tree.about)
        pair = tree.children[node].tolist()
        says = " ".join(tree.tests[node]) if pair[0] >= 0 else f"{number} {name}".rstrip()
        share = "" if tree.shares is None else f" ({percent(tree.shares[node])} of rows)"
        lines = [head + says + share]
        for answer, child in enumerate(pair if pair[0] >= 0 else []):
            start, below = (("├─ ", "│  "), ("└─ ", "   "))[answer]
            lines += self._node_lines(tree, child, f"{indent}{start}{_answer(tree, node, answer)} → ", indent + below)
        return lines

    # --- picture -------------------------------------------------------------------------------------------------

    def _draw(self, ax: Axes | None) -> None:
        shapes = [TreeShape.of(tree.children, self._widths(tree), _BETWEEN) for tree in self.words.trees]
        titles = [_wide(tree.name, _TITLE) for tree in self.words.trees]
        widths = [max(shape.width, title) for shape, title in zip(shapes, titles, strict=True)]
        shelves = _shelves(widths)
        width = max(_NARROW, *(sum(widths[t] for t in shelf) + _APART * (len(shelf) - 1) for shelf in shelves))
        head = _wrapped(f"{self.words.size}. {self.words.how}", _TITLE, width)
        tail = self._tail(width)
        places: list[tuple[float, float]] = []
        key = self._key(width)
        bar = max(bar_height(tree, self.words.leaves) for tree in self.words.trees)
        y = _FIRST_LINE * (len(head) + len(key)) + 0.15
        for shelf in shelves:
            x = 0.0
            for t in shelf:
                places.append((x, y))
                x += widths[t] + _APART
            y += max(0.42 + _LEVEL * int(shapes[t].level.max()) + bar + 2 * _LINE + 0.45 for t in shelf)
        height = y + _FIRST_LINE * len(tail)
        shrink = 1.0 if ax is None else room(ax, width, height)
        ax = self._axes(ax, width + 0.3, height + 0.2)
        ax.set(xlim=(-0.05, width + 0.05), ylim=(height, 0.0))
        ax.set_axis_off()
        for i, line in enumerate(head):
            _say(ax, 0.0, _FIRST_LINE * (i + 0.5), line, fontsize=_TITLE * shrink, color=INK, va="center")
        for i, entries in enumerate(key):
            self._write_key(ax, entries, _FIRST_LINE * (len(head) + i + 0.5), shrink)
        for t, (x, top) in enumerate(places):
            self._draw_tree(ax, t, shapes[t], (x, top), shrink)
        for i, (line, is_main) in enumerate(tail):
            _say(ax,
                0.0, y + _FIRST_LINE * (i + 0.5), line, va="center", fontsize=(_TITLE if is_main else _FONT) * shrink,
                color=INK if is_main else GREY,
            )  # fmt: skip

    def _widths(self, tree: PlainTree) -> F64:
        """Width of every node with its text."""
        widths = []
        for node, (column, condition) in enumerate(tree.tests):
            if tree.children[node, 0] >= 0:
                widths.append(0.16 + max(_wide(column, _FONT), _wide(condition, _FONT)))
            else:
                number, name, _ = self.words.leaves.words(tree.says[node], tree.about)
                widths.append(max(BAR, _wide(number, _FONT), _wide(name, _SMALL)))
        return np.array(widths)

    def _tail(self, width: float) -> list[tuple[str, bool]]:
        """The last lines: the row that is followed."""
        if self.row is None:
            return []
        lines = [
            (line, False) for line in _wrapped(f"Row {self.row.number}: {', '.join(self.row.values)}", _FONT, width)
        ]
        for text in self.row.sums:
            lines += [(line, True) for line in _wrapped(text, _TITLE, width)]
        return lines

    def _key(self, width: float) -> list[list[tuple[float, int, str]]]:
        """Lines of what colours and widths mean: where each entry stands, the class's number or -1, and the text."""
        names = self.words.leaves.names
        entries = [(k, self.words.leaves.short(k)) for k in range(len(names) if len(names) <= len(COLORS) else 0)]
        entries.append((-1, "left: yes, right: no"))
        if any(tree.shares is not None for tree in self.words.trees):
            entries.append((-1, "lines are as wide as training rows come"))
        if self.row is not None:
            entries.append((-1, f"dark: the way of row {self.row.number}"))
        lines: list[list[tuple[float, int, str]]] = [[]]
        x = 0.0
        for k, text in entries:
            wide = _wide(text, _FONT) + (0.14 if k >= 0 else 0.0)
            if x and x + wide > width:
                lines.append([])
                x = 0.0
            lines[-1].append((x, k, text))
            x += wide + 0.26
        return lines

    def _write_key(self, ax: Axes, entries: list[tuple[float, int, str]], y: float, shrink: float) -> None:
        for x, k, text in entries:
            if k >= 0:
                ax.plot([x + 0.05], [y], marker="s", color=color(k), markersize=6 * shrink, linestyle="none")
            at, ink = (x + 0.14, INK) if k >= 0 else (x, GREY)
            _say(ax, at, y, text, fontsize=_FONT * shrink, color=ink, va="center")

    def _draw_tree(self, ax: Axes, t: int, shape: TreeShape, at: tuple[float, float], shrink: float) -> None:
        tree = self.words.trees[t]
        way = frozenset() if self.row is None else self.row.ways[t]
        x, y = at[0] + shape.x, at[1] + 0.42 + _LEVEL * shape.level.astype(np.float64)
        _say(ax, at[0], at[1], tree.name, fontsize=_TITLE * shrink, color=INK, va="center", weight="bold")
        for node, pair in enumerate(tree.children.tolist()):
            if pair[0] < 0:
                self._draw_leaf(ax, tree, node, (x[node], y[node]), node in way, shrink)
                continue
            for answer, child in enumerate(pair):
                self._draw_edge(ax, tree, (node, answer, child), (x, y), child in way, shrink)
            self._draw_test(ax, tree, node, (x[node], y[node]), node in way, shrink)

    def _draw_edge(
        self, ax: Axes, tree: PlainTree, ends: tuple[int, int, int], xy: tuple[F64, F64], on_way: bool, shrink: float
    ) -> None:
        node, answer, child = ends
        x, y = xy
        share = 0.15 if tree.shares is None else float(np.clip(tree.shares[child], 0.0, 1.0))
        low = y[child] - (0.16 if tree.children[child, 0] >= 0 else 0.06)
        ax.plot(
            [x[node], x[child]], [y[node], low], color=INK if on_way else "#cccccc", gid="edge", zorder=1,
            linewidth=(0.6 + 7.0 * share) * shrink, solid_capstyle="butt",
        )  # fmt: skip
        lines = _answer(tree, node, answer).replace(", ", ",\n")
        middle = (low + y[node] + 0.17) / 2.0 + 0.02  # between the box and what is below it
        part = (middle - y[node]) / (low - y[node])
        _say(ax,
            x[node] + part * (x[child] - x[node]), middle, lines, fontsize=_SMALL * shrink, linespacing=0.95,
            color=INK if on_way else GREY, va="center", ha="center", zorder=1.5,
            bbox={"facecolor": "#ffffff", "edgecolor": "none", "pad": 0.5},
        )  # fmt: skip

    def _draw_test(
        self, ax: Axes, tree: PlainTree, node: int, at: tuple[float, float], on_way: bool, shrink: float
    ) -> None:
        """A test in a box: the column above what it must be."""
        from matplotlib.patches import FancyBboxPatch

        column, condition = tree.tests[node]
        half = max(_wide(column, _FONT), _wide(condition, _FONT)) / 2.0
        ax.add_patch(
            FancyBboxPatch(
                (at[0] - half, at[1] - 0.12), 2 * half, 0.24, boxstyle="round,pad=0.05,rounding_size=0.05",
                facecolor="#ffffff", edgecolor=INK if on_way else PALE, linewidth=(1.4 if on_way else 0.7) * shrink,
                zorder=2,
            )
        )  # fmt: skip
        for text, up in ((column, -0.065), (condition, 0.075)):
            _say(ax, at[0], at[1] + up, text, fontsize=_FONT * shrink, color=INK, va="center", ha="center", zorder=5)

    def _draw_leaf(
        self, ax: Axes, tree: PlainTree, node: int, at: tuple[float, float], on_way: bool, shrink: float
    ) -> None:
        number, name, fill = self.words.leaves.words(tree.says[node], tree.about)
        draw_bar(ax, at, tree, node, self.words.leaves, self._span)
        weight = "bold" if on_way else "normal"
        below = at[1] + bar_height(tree, self.words.leaves) + 0.1
        _say(ax, at[0], below, number, fontsize=_FONT * shrink, color=INK, va="center", ha="center", weight=weight)
        _say(ax,
            at[0], below + _LINE, name, fontsize=_SMALL * shrink, color=fill if name else FOR, va="center", ha="center",
            weight=weight,
        )  # fmt: skip

    @property
    def _span(self) -> tuple[float, float]:
        """What bars are measured from, and the largest distance from it."""
        said = np.vstack([tree.says[tree.ends] for tree in self.words.trees])
        if self.words.leaves.kind != "means":
            return 0.0, float(np.abs(said).max())
        middle = float((said.min() + said.max()) / 2.0)
        return middle, float(np.abs(said - middle).max())


def _answer(tree: PlainTree, node: int, answer: int) -> str:
    """An answer in words, with missing values if they go with it."""
    return ("yes", "no")[answer] + (", missing" if int(tree.missing[node]) == answer else "")


def _say(ax: Axes, x: float, y: float, text: str, **style: Any) -> None:
    """Write a text as it is: names of columns and categories may have dollars."""
    ax.text(x, y, text, parse_math=False, **style)


def _wide(text: str, size: float) -> float:
    """Width of a text as pixels have it."""
    return 1.05 * text_width(text, size) + 0.04


def _shelves(widths: list[float]) -> list[list[int]]:
    """Trees beside each other, as many as fit into the width."""
    shelves: list[list[int]] = []
    used = 0.0
    for t, width in enumerate(widths):
        if shelves and used + _APART + width <= _WIDE:
            shelves[-1].append(t)
            used += _APART + width
        else:
            shelves.append([t])
            used = width
    return shelves


def _wrapped(text: str, size: float, width: float) -> list[str]:
    """A text in lines that fit into the width."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and _wide(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
