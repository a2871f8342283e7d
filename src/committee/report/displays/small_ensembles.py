"""Display of all trees of a small ensemble: tests in words, and bars for the contents of leaves."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.number_types import F64, Index
from committee.report.displays.base import COLORS, Display, draw_sketch, room, text_inches
from committee.report.displays.ensemble_text import EnsembleText, PlainTree, RowPath
from committee.report.drawing.chart import Box, Line, Part, Sketch, Text
from committee.report.drawing.scale import format_percent
from committee.report.drawing.svg import Color, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# lengths in inches, of a picture with a figure of its own; font sizes in points
_WIDEST, _NARROWEST = 10.5, 6.0
_LEVEL, _LINE, _BETWEEN, _APART = 0.74, 0.135, 0.16, 0.5
_TITLE, _FONT, _SMALL = 9.0, 7.5, 6.5
_HEAD_LINE = 0.2
_BAR_WIDTH, _BAR_HEIGHT = 0.52, 0.13


@dataclass(frozen=True, eq=False)
class TreeShape:
    """Places of a tree's nodes (N,): middles `x` from the left edge of the tree, and depths `level`."""

    x: F64
    level: Index
    width: float

    @classmethod
    def of(cls, children: Index, widths: F64, gap: float) -> TreeShape:
        """Place nodes of given widths; `children` (N, 2) follow their parent, and are -1 for leaves."""
        level = np.zeros(len(widths), dtype=np.intp)
        for node, pair in enumerate(children.tolist()):
            if pair[0] >= 0:
                level[pair] = level[node] + 1
        shift = np.zeros(len(widths))  # of each node against its parent
        # left and right edges of the levels of each sub-tree, from the middle of its root
        outline: dict[int, tuple[list[float], list[float]]] = {}
        for node in range(len(widths) - 1, -1, -1):
            half = float(widths[node]) / 2.0
            left, right = int(children[node, 0]), int(children[node, 1])
            if left < 0:
                outline[node] = ([-half] * 2, [half] * 2)  # the text of a leaf reaches to the next level
                continue
            (low_left, high_left), (low_right, high_right) = outline.pop(left), outline.pop(right)
            aside = (gap + max(high - low for high, low in zip(high_left, low_right, strict=False))) / 2.0
            shift[left], shift[right] = -aside, aside
            low = [min(a - aside, b + aside) for a, b in zip_longest(low_left, low_right, fillvalue=math.inf)]
            high = [max(a - aside, b + aside) for a, b in zip_longest(high_left, high_right, fillvalue=-math.inf)]
            outline[node] = ([-half, *low], [half, *high])
        x = shift.copy()
        for node, pair in enumerate(children.tolist()):
            if pair[0] >= 0:
                x[pair] += x[node]
        low, high = outline[0]
        return cls(x - min(low), level, max(high) - min(low))


class SmallEnsembleDisplay(Display):
    """Every tree of a small ensemble, from the root down; the left answer to a test is yes, the right one no.

    The sentence on top explains how the trees are combined. Trees with the largest effect on the vote come first. Where
    trees are summed, those of the same tests are drawn as one. Lines are wider for more training rows. A leaf has its
    value, its class, and a bar; all bars have one scale. The path of a given row is dark, and the last lines are its
    sum.

    Parameters
    ----------
    words : EnsembleText
        The ensemble as text.
    row : RowPath, default=None
        A row to follow.

    Attributes
    ----------
    text : str
        The trees as text, one node a line; ``str(display)`` is the same.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import AdaBoostClassifier
    >>> from committee.report import SmallEnsembleDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> display = SmallEnsembleDisplay.from_estimator(AdaBoostClassifier(1, max_depth=1).fit(X, y), X, row=13)
    >>> for line in str(display).splitlines()[1:]:
    ...     print(line)
    Tree 1
    worst radius ≤ 16.83 (100% of rows)
    ├─ yes → +2.28 for 1 (67% of rows)
    └─ no → −2.28 for 0 (33% of rows)
    row 13: worst radius = 16.84
    tree 1 −2.28  (probability of 1 9.3%)
    """

    def __init__(self, words: EnsembleText, row: RowPath | None = None) -> None:
        self.words: EnsembleText = words
        self.row: RowPath | None = row

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, row: int = 0, *, ax: Axes | None = None
    ) -> SmallEnsembleDisplay:
        """Draw all trees of a small ensemble.

        Parameters
        ----------
        estimator : fitted learner or committee
            Of trees with at most 60 leaves in all, such as a pruned forest, a few boosted trees, or a tree; also models
            that `committee.Committee.from_estimator` takes.
        X : frame or array (n, p), default=None
            Rows: one of them is followed, and only columns with missing values show where these go. `None`: no row is
            followed, and all columns show it.
        row : int, default=0
            Number of the row to follow; -1 is the last.
        ax : matplotlib Axes, default=None
            Axes to draw on.
        """
        return cls.of(estimator, X, row).plot(ax)

    @classmethod
    def of(cls, estimator: Any, X: Any = None, row: int = 0) -> SmallEnsembleDisplay:
        """Make the display, not yet drawn."""
        words = EnsembleText.of(estimator)
        if X is None:
            return cls(words)
        path = RowPath.of(words, estimator, X, row)
        return cls(EnsembleText.of(estimator, path.had_missing), path)

    @property
    def text(self) -> str:
        lines = [f"{self.words.size}. {self.words.instruction}"]
        for tree in self.words.trees:
            lines += [tree.name, *self._node_lines(tree, 0, "", "")]
        if self.row is not None:
            lines += [f"row {self.row.number}: {', '.join(self.row.values)}", *self.row.sums]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text

    def _node_lines(self, tree: PlainTree, node: int, head: str, indent: str) -> list[str]:
        number, name, _ = self.words.leaves.words(tree.values[node], tree.output)
        pair = tree.children[node].tolist()
        content = " ".join(tree.tests[node]) if pair[0] >= 0 else f"{number} {name}".rstrip()
        share = "" if tree.shares is None else f" ({format_percent(tree.shares[node])} of rows)"
        lines = [head + content + share]
        for answer, child in enumerate(pair if pair[0] >= 0 else []):
            start, below = (("├─ ", "│  "), ("└─ ", "   "))[answer]
            lines += self._node_lines(tree, child, f"{indent}{start}{_answer(tree, node, answer)} → ", indent + below)
        return lines

    def _draw(self, ax: Axes | None) -> None:
        sketch = self.sketch()
        shrink = 1.0 if ax is None else room(ax, sketch.width, sketch.height)
        draw_sketch(sketch, self._axes(ax, sketch.width + 0.3, sketch.height + 0.2), shrink)

    def sketch(self) -> Sketch:
        """Return the sketch to draw."""
        trees = self.words.trees
        shapes = [TreeShape.of(tree.children, self._node_widths(tree), _BETWEEN) for tree in trees]
        widths = [max(shape.width, _text_room(tree.name, _TITLE)) for shape, tree in zip(shapes, trees, strict=True)]
        shelves = _shelves(widths)
        width = max(_NARROWEST, *(sum(widths[t] for t in shelf) + _APART * (len(shelf) - 1) for shelf in shelves))
        parts: list[Part] = []
        y = 0.0
        for line in _lines(f"{self.words.size}. {self.words.instruction}", _TITLE, width):
            parts.append(Text(0.0, y + _HEAD_LINE / 2.0, line, _TITLE))
            y += _HEAD_LINE
        y = self._add_key(parts, y, width) + 0.15
        bar = max(map(self._bar_height, trees))
        for shelf in shelves:
            x = 0.0
            for t in shelf:
                parts += self._tree(t, shapes[t], (x, y))
                x += widths[t] + _APART
            y += max(0.42 + _LEVEL * int(shapes[t].level.max()) + bar + 2 * _LINE + 0.45 for t in shelf)
        if self.row is not None:
            texts = [(f"Row {self.row.number}: {', '.join(self.row.values)}", _FONT, "soft")]
            texts += [(text, _TITLE, "ink") for text in self.row.sums]
            for text, size, color in texts:
                for line in _lines(text, size, width):
                    parts.append(Text(0.0, y + _HEAD_LINE / 2.0, line, size, color))
                    y += _HEAD_LINE
        return Sketch(width, y, parts)

    def _node_widths(self, tree: PlainTree) -> F64:
        widths = []
        for node, test in enumerate(tree.tests):
            if tree.children[node, 0] >= 0:
                widths.append(0.16 + max(_text_room(text, _FONT) for text in test))
            else:
                number, name, _ = self.words.leaves.words(tree.values[node], tree.output)
                widths.append(max(_BAR_WIDTH, _text_room(number, _FONT), _text_room(name, _SMALL)))
        return np.array(widths)

    def _add_key(self, parts: list[Part], y: float, width: float) -> float:
        names = self.words.leaves.names
        entries: list[tuple[int | None, str]] = [
            (k, self.words.leaves.short(k)) for k in range(len(names) if len(names) <= len(COLORS) else 0)
        ]
        entries.append((None, "left: yes, right: no"))
        if any(tree.shares is not None for tree in self.words.trees):
            entries.append((None, "wider lines: more training rows"))
        if self.row is not None:
            entries.append((None, f"dark: the path of row {self.row.number}"))
        x = 0.0
        for k, text in entries:
            chip = 0.0 if k is None else 0.14
            needed = _text_room(text, _FONT) + chip
            if x and x + needed > width:
                x, y = 0.0, y + _HEAD_LINE
            middle = y + _HEAD_LINE / 2.0
            if k is not None:
                parts.append(Box(x + 0.01, middle - 0.045, 0.09, 0.09, k))
            parts.append(Text(x + chip, middle, text, _FONT, "soft" if k is None else "ink"))
            x += needed + 0.26
        return y + _HEAD_LINE

    def _tree(self, t: int, shape: TreeShape, at: tuple[float, float]) -> Iterator[Part]:
        tree = self.words.trees[t]
        path = frozenset() if self.row is None else self.row.paths[t]
        x, y = at[0] + shape.x, at[1] + 0.42 + _LEVEL * shape.level.astype(np.float64)
        yield Text(*at, tree.name, _TITLE, bold=True)
        inner = np.flatnonzero(tree.children[:, 0] >= 0).tolist()
        for node in inner:
            for answer, child in enumerate(tree.children[node].tolist()):
                yield from self._edge(tree, (node, answer, child), (x, y), node in path and child in path)
        for node in inner:
            yield from _test(tree.tests[node], x[node], y[node], node in path)
        for leaf in tree.leaves.tolist():
            yield from self._leaf(tree, leaf, (x[leaf], y[leaf]), leaf in path)

    def _edge(self, tree: PlainTree, edge: tuple[int, int, int], xy: tuple[F64, F64], on_path: bool) -> Iterator[Part]:
        (node, answer, child), (x, y) = edge, xy
        share = 0.15 if tree.shares is None else float(np.clip(tree.shares[child], 0.0, 1.0))
        low = y[child] - (0.16 if tree.children[child, 0] >= 0 else 0.06)
        color = "ink" if on_path else "line"
        yield Line([(x[node], y[node]), (x[child], low)], color, 0.6 + 7.0 * share)
        middle = (low + y[node] + 0.17) / 2.0 + 0.02  # between the test and what is below it
        at = x[node] + (middle - y[node]) / (low - y[node]) * (x[child] - x[node])
        lines = _answer(tree, node, answer).split(", ")
        for i, line in enumerate(lines):
            line_y = middle + 0.095 * (i - (len(lines) - 1) / 2.0)
            width = text_inches(line, _SMALL)
            yield Box(at - width / 2.0, line_y - 0.05, width, 0.1)
            yield Text(at, line_y, line, _SMALL, "ink" if on_path else "soft", "middle")

    def _leaf(self, tree: PlainTree, leaf: int, at: tuple[float, float], on_path: bool) -> Iterator[Part]:
        number, name, color = self.words.leaves.words(tree.values[leaf], tree.output)
        yield from self._bar(tree, leaf, at)
        below = at[1] + self._bar_height(tree) + 0.1
        yield Text(at[0], below, number, _FONT, anchor="middle", bold=on_path)
        if name:
            yield Text(at[0], below + _LINE, name, _SMALL, color, "middle", on_path)

    def _bar_height(self, tree: PlainTree) -> float:
        leaves = self.words.leaves
        is_columns = leaves.kind == "sums" and len(leaves.start) > 1 and tree.output is None
        return 2.0 * _BAR_HEIGHT if is_columns else _BAR_HEIGHT

    def _bar(self, tree: PlainTree, leaf: int, at: tuple[float, float]) -> Iterator[Part]:
        value, leaves = tree.values[leaf], self.words.leaves
        middle, largest = self._span
        if leaves.kind == "shares":
            left = at[0] - _BAR_WIDTH / 2.0
            for k, share in enumerate(value.tolist()):
                if share:
                    yield Box(left, at[1], _BAR_WIDTH * share, _BAR_HEIGHT, k)
                left += _BAR_WIDTH * share
        elif tree.output is not None:
            yield from _signed_bar(at, float(value[tree.output]) / largest, ("soft", tree.output))
        elif len(value) > 1:
            yield from _columns(at, value / largest)
        else:
            # of two classes the first is against, of numbers the second colour is
            colors = (0, 1) if leaves.names else (1, 0)
            yield from _signed_bar(at, (float(value[0]) - middle) / largest, colors)

    @property
    def _span(self) -> tuple[float, float]:
        values = np.vstack([tree.values[tree.leaves] for tree in self.words.trees])
        if self.words.leaves.kind != "means":
            return 0.0, float(np.abs(values).max()) or 1.0
        middle = float((values.min() + values.max()) / 2.0)
        return middle, float(np.abs(values - middle).max()) or 1.0


def _test(test: tuple[str, str], x: float, y: float, on_path: bool) -> Iterator[Part]:
    half = 0.05 + max(_text_room(text, _FONT) for text in test) / 2.0
    edge, width = ("ink", 1.4) if on_path else ("pale", 0.7)
    yield Box(x - half, y - 0.17, 2.0 * half, 0.34, "paper", edge, width)
    for text, shift in zip(test, (-0.065, 0.075), strict=True):
        yield Text(x, y + shift, text, _FONT, anchor="middle")


def _columns(at: tuple[float, float], value: F64) -> Iterator[Part]:
    x, middle = at[0] - _BAR_WIDTH / 2.0, at[1] + _BAR_HEIGHT
    shown = sorted(np.argsort(-np.abs(value), kind="stable")[: len(COLORS)].tolist())
    width = _BAR_WIDTH / len(shown)
    for i, k in enumerate(shown):
        if value[k]:
            yield Box(x + i * width, middle, 0.85 * width, -_BAR_HEIGHT * float(value[k]), k)
    yield Line([(x, middle), (x + _BAR_WIDTH, middle)], "pale", 0.6)


def _signed_bar(at: tuple[float, float], value: float, colors: tuple[Color, Color]) -> Iterator[Part]:
    x, y = at
    yield Box(x - _BAR_WIDTH / 2.0, y, _BAR_WIDTH, _BAR_HEIGHT, "grid")
    if value:
        yield Box(x, y, _BAR_WIDTH / 2.0 * value, _BAR_HEIGHT, colors[value > 0.0])
    yield Line([(x, y - 0.02), (x, y + _BAR_HEIGHT + 0.02)], "pale", 0.8)


def _answer(tree: PlainTree, node: int, answer: int) -> str:
    return ("yes", "no")[answer] + (", missing" if int(tree.missing[node]) == answer else "")


def _text_room(text: str, size: float) -> float:
    return text_inches(text, size) + 0.04


def _lines(text: str, size: float, width: float) -> list[str]:
    return wrapped(text, 72.0 * width, 99, size)


def _shelves(widths: list[float]) -> list[list[int]]:
    shelves: list[list[int]] = []
    used = 0.0
    for t, width in enumerate(widths):
        if shelves and used + _APART + width <= _WIDEST:
            shelves[-1].append(t)
            used += _APART + width
        else:
            shelves.append([t])
            used = width
    return shelves
