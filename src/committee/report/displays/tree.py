"""Displays of one tree: its nodes, as a text and as a picture, and the linear models in its leaves."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from committee.data.text import shortened
from committee.report.displays.base import FOR, GREY, INK, PALE, Display, check_most, room, text_inches
from committee.report.displays.tree_text import TreeText
from committee.report.drawing.scale import format_percent
from committee.report.explanation import place
from committee.vote.explain.rules import leaf_models, model_coefficients, model_trees

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# lengths in inches, of a picture with a figure of its own; font sizes in points
_ROW, _TEXT, _ARM, _GAP = 0.4, 0.12, 0.5, 0.12
_FONT, _SMALL = 8.0, 6.5


class TreeDisplay(Display):
    """A tree from left to right: the upper answer to a condition is yes, the lower one no.

    A star marks the answer for missing values, at splits on categories also for unseen ones. Lines are wider for more
    training rows. A large tree is drawn level by level, on the last level the nodes with the most rows. A node whose
    children are not drawn shows the number of its leaves. Node numbers are those of ``apply``.

    Parameters
    ----------
    words : sequence of str (N,)
        Condition of each inner node, and content of each leaf.
    children : int array-like (N, 2)
        Nodes after yes and no, both later ones; -1 for leaves.
    shares : array-like (N,), default=None
        Share of the rows of each node.
    missing : int array-like (N,), default=None
        Answer for missing values: 0 for yes, 1 for no.
    short_words : sequence of str (N,), default=None
        `words` for the picture.
    colors : sequence of str (N,), default=None
        Colours of the leaves.
    colors_tell, title : str, default="" and "tree"
        Meaning of the colours, and title.
    max_leaves : int or None, default=16
        Most leaves drawn, counting nodes whose children are not; `None` draws all leaves.

    Attributes
    ----------
    text : str
        The tree as text, one node a line; ``str(display)`` is the same.

    Examples
    --------
    >>> from committee.report import TreeDisplay
    >>> display = TreeDisplay(["age <= 40", "no", "yes"], [[1, 2], [-1, -1], [-1, -1]], missing=[1, 0, 0])
    >>> print(display)
    tree
    0: age <= 40
    ├─ yes → 1: no
    └─ no, missing → 2: yes
    """

    def __init__(
        self,
        words: Sequence[str],
        children: ArrayLike,
        *,
        shares: ArrayLike | None = None,
        missing: ArrayLike | None = None,
        short_words: Sequence[str] | None = None,
        colors: Sequence[str] | None = None,
        colors_tell: str = "",
        title: str = "tree",
        max_leaves: int | None = 16,
    ) -> None:
        self.words: list[str] = list(words)
        self.title: str = title
        self.colors_tell: str = colors_tell
        self.max_leaves: int | None = max_leaves
        N = len(self.words)
        self.children = np.asarray(children, dtype=np.int64)
        self.shares = None if shares is None else np.asarray(shares, dtype=np.float64)
        self.missing = None if missing is None else np.asarray(missing, dtype=np.int64)
        self.short_words: list[str] = self.words if short_words is None else list(short_words)
        self.colors: list[str] = [FOR] * N if colors is None else list(colors)
        lengths = [len(each) for each in (self.short_words, self.colors, self.shares, self.missing) if each is not None]
        if not N or self.children.shape != (N, 2) or set(lengths) != {N}:
            raise ValueError(
                f"children has shape {self.children.shape}, and the other arguments have lengths {lengths}; {N} words "
                f"need ({N}, 2) and {N}, and at least one node"
            )
        ends = self.children[:, 0] < 0
        child = self.children[~ends]
        later = (child > np.flatnonzero(~ends)[:, None]).all() and (self.children[ends] == -1).all()
        if not later or sorted(child.ravel().tolist()) != list(range(1, N)):
            raise ValueError(
                "children do not make a tree: each node but the first must follow exactly one node before it, and "
                "leaves have the children -1, -1"
            )
        check_most("max_leaves", max_leaves, none="all")
        self._n_leaves = self._count_leaves()
        self._opened = self._open()

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        tree: int = 0,
        *,
        for_class: Any = None,
        max_leaves: int | None = 16,
        ax: Axes | None = None,
    ) -> TreeDisplay:
        """Draw one tree of a fitted learner.

        Parameters
        ----------
        estimator : fitted learner or committee
            Its voters are trees or model trees; also models that `committee.Committee.from_estimator` takes. Leaves
            with lines have the text and colour of their mean over their training rows; for some of these rows the line
            may have the opposite sign.
        tree : int, default=0
            Index of the tree, as of its column in ``apply``; of several committees the trees are numbered one after
            the other. -1 is the last.
        for_class : class label or int, default=None
            Class, or number of the target or quantile, where each round has a tree for each; `None` is the first.
        max_leaves, ax
            As for the class and `plot`.
        """
        found = TreeText.of(estimator, tree, for_class)
        left = found.forest.left
        display = cls(
            found.words(short=False),
            np.where(left[:, None] < 0, -1, left[:, None] + [0, 1]),
            shares=found.shares,
            missing=1 - found.forest.missing_left.astype(np.int64),
            short_words=found.words(short=True),
            colors=found.colors,
            colors_tell=found.color_meaning,
            title=found.title,
            max_leaves=max_leaves,
        )
        return display.plot(ax)

    def _count_leaves(self) -> list[int]:
        count = [1] * len(self.words)
        for node in range(len(count) - 1, -1, -1):
            if (pair := self.children[node].tolist())[0] >= 0:
                count[node] = count[pair[0]] + count[pair[1]]
        return count

    def _open(self) -> set[int]:
        opened: set[int] = set()
        most = len(self.words) if self.max_leaves is None else self.max_leaves
        waiting = [(0, 0.0, 0)]
        while waiting and len(opened) + 1 < most:
            level, _, node = heappop(waiting)
            if self.children[node, 0] >= 0:
                opened.add(node)
                for child in self.children[node].tolist():
                    heappush(waiting, (level + 1, 0.0 if self.shares is None else -float(self.shares[child]), child))
        return opened

    def _shown(self) -> Iterator[tuple[int, int, int, int]]:
        waiting = [(0, 0, -1, -1)]
        while waiting:
            node, level, above, answer = waiting.pop()
            yield node, level, above, answer
            if node in self._opened:
                yes, no = self.children[node].tolist()
                waiting += [(no, level + 1, node, 1), (yes, level + 1, node, 0)]

    def _answer(self, above: int, answer: int, mark: str) -> str:
        taken = self.missing is not None and int(self.missing[above]) == answer
        return ("yes", "no")[answer] + (mark if taken else "")

    def _content(self, node: int, words: Sequence[str]) -> str:
        closed = self.children[node, 0] >= 0 and node not in self._opened
        return f"… {self._n_leaves[node]:,} leaves" if closed else words[node]

    @property
    def text(self) -> str:
        lines, indent = [self.title], {0: ""}
        for node, _, above, answer in self._shown():
            head = ""
            if above >= 0:
                head = indent[above] + ("├─ ", "└─ ")[answer] + self._answer(above, answer, ", missing") + " → "
                indent[node] = indent[above] + ("│  ", "   ")[answer]
            share = "" if self.shares is None else f" ({format_percent(self.shares[node])} of rows)"
            lines.append(f"{head}{node}: {self._content(node, self.words)}{share}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text

    def _draw(self, ax: Axes | None) -> None:
        shown = list(self._shown())
        y, n_rows = self._rows(shown)
        texts = {node: self._content(node, self.short_words) for node, *_ in shown}
        wide = {node: text_inches(text, _FONT) + 0.04 for node, text in texts.items()}
        # the longest condition of a level sets the distance to the next; a leaf has a row of its own
        arm = _ARM if self.missing is None else _ARM + 0.06
        left = [0.0]
        for level in range(max(each[1] for each in shown)):
            questions = [wide[node] for node, at, *_ in shown if at == level and node in self._opened]
            left.append(left[-1] + _TEXT + max(questions, default=0.0) + _GAP + arm)
        x = {node: left[level] for node, level, *_ in shown}
        key = self._key()
        width = max(text_inches(key, _SMALL), *(x[node] + _TEXT + wide[node] for node in x))
        width = max(width, text_inches(self.title, 10.0))
        height = _ROW * (n_rows + (1 if key else 0.2))
        shrink = 1.0 if ax is None else room(ax, width, height)
        ax = self._axes(ax, width + 0.3, height + 0.45)
        ax.set(xlim=(-0.06, width), ylim=(height, 0.0))
        ax.set_axis_off()
        for node, _, above, answer in shown:
            if above >= 0:
                start = (x[above] + _TEXT + wide[above] + 0.05, y[above])
                self._connect(ax, start, (x[node], y[node]), node, arm, shrink)
                at = (x[node] - arm + 0.05, y[node] - 0.02)
                ax.text(*at, self._answer(above, answer, "*"), fontsize=_SMALL * shrink, color=GREY, va="bottom")
            self._write(ax, node, x[node], y[node], texts[node], shrink)
        if key:
            ax.text(0.0, height - 0.1, key, fontsize=_SMALL * shrink, color=GREY, va="center")
        ax.set_title(self.title, fontsize=10 * shrink, loc="left")

    def _rows(self, shown: list[tuple[int, int, int, int]]) -> tuple[dict[int, float], int]:
        y: dict[int, float] = {}
        n_rows = 0
        for node, *_ in shown:
            if node not in self._opened:
                y[node] = _ROW * (n_rows + 0.5)
                n_rows += 1
        for node, *_ in reversed(shown):
            if node in self._opened:
                yes, no = self.children[node].tolist()
                y[node] = (y[yes] + y[no]) / 2.0
        return y, n_rows

    def _connect(
        self, ax: Axes, start: tuple[float, float], end: tuple[float, float], node: int, arm: float, shrink: float
    ) -> None:
        share = 0.3 if self.shares is None else float(np.clip(self.shares[node], 0.0, 1.0))
        turn = end[0] - arm
        ax.plot(
            [start[0], turn, turn, end[0]],
            [start[1], start[1], end[1], end[1]],
            color=PALE,
            linewidth=(0.7 + 2.3 * share) * shrink,
            solid_joinstyle="round",
            gid="edge",
            zorder=1,
        )

    def _write(self, ax: Axes, node: int, x: float, y: float, text: str, shrink: float) -> None:
        end = self.children[node, 0] < 0
        marker, mark = ("s", self.colors[node]) if end else ("o", INK)
        ax.plot([x], [y], marker=marker, color=mark, markersize=(5.5 if end else 4) * shrink, gid="node", zorder=3)
        color = INK if end or node in self._opened else GREY
        ax.text(x + _TEXT, y, text, fontsize=_FONT * shrink, color=color, va="center")
        below = f"{node}" if self.shares is None else f"{node}: {format_percent(self.shares[node])}"
        ax.text(x + _TEXT, y + 0.11, below, fontsize=_SMALL * shrink, color=GREY, va="center")

    def _key(self) -> str:
        if not self._opened:
            return ""
        words = ["upper answer: yes"]
        if self.missing is not None:
            words.append("*: missing values")
        if self.shares is not None:
            words.append("below: number of the node, share of the rows")
        if self.colors_tell:
            words.append(f"colour: {self.colors_tell}")
        return ";  ".join(words)


class CoefficientMapDisplay(Display):
    """The linear models in the leaves of a tree: one row for each leaf, one column for each design column.

    Parameters
    ----------
    coefficient : array-like (L, q)
        Coefficients.
    rules : sequence of str (L,)
        Rules of the leaves.
    columns : sequence of str (q,)
        Names of the design columns.
    deviation : array-like (q,), default=None
        Standard deviation of each column. A cell is then the coefficient times it: what one standard deviation adds to
        the score, comparable between columns. Without it a cell is in the user's units and has no colour.
    subject : str, default="score"
        Name of the score, for the title.
    max_leaves, max_columns : int, default=20
        Most leaves drawn, the first ones, and most columns drawn: those with the largest cells, or without `deviation`
        with the largest sum over leaves of absolute coefficients relative to the column's largest. Unused columns are
        left out.

    Examples
    --------
    >>> from committee.report import CoefficientMapDisplay
    >>> display = CoefficientMapDisplay([[1.0, 0.0], [-0.5, 2.0]], ["x <= 1", "x > 1"], ["x", "z"]).plot()
    >>> [label.get_text() for label in display.ax_.get_xticklabels()]
    ['x', 'z']
    """

    def __init__(
        self,
        coefficient: ArrayLike,
        rules: Sequence[str],
        columns: Sequence[str],
        *,
        deviation: ArrayLike | None = None,
        subject: str = "score",
        max_leaves: int = 20,
        max_columns: int = 20,
    ) -> None:
        values = np.asarray(coefficient, dtype=np.float64)
        if values.shape != (len(rules), len(columns)) or not values.size:
            raise ValueError(
                f"coefficient has shape {values.shape}; {len(rules)} rules and {len(columns)} columns need"
                f" ({len(rules)}, {len(columns)}), and one of each at least"
            )
        check_most("max_leaves", max_leaves)
        check_most("max_columns", max_columns)
        self.standardised: bool = deviation is not None
        if deviation is not None:
            values = values * np.asarray(deviation, dtype=np.float64)
        largest = np.abs(values).max(axis=0)
        relative = np.divide(np.abs(values), largest, out=np.zeros_like(values), where=largest > 0)
        # unused columns are left out; in the user's units only coefficients of one column can be compared
        weight = largest if self.standardised else relative.sum(axis=0)
        kept = np.sort(np.argsort(-weight, kind="stable")[:max_columns])
        kept = kept[weight[kept] > 0] if weight.any() else kept[:1]
        self.values = values[:max_leaves, kept]
        self.rules: list[str] = list(rules[:max_leaves])
        self.columns: list[str] = [columns[c] for c in kept]
        self.subject = subject
        self.n_leaves: int = len(rules)
        self.n_columns: int = len(columns)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        tree: int = 0,
        label: Any = None,
        max_leaves: int = 20,
        max_columns: int = 20,
        ax: Axes | None = None,
    ) -> CoefficientMapDisplay:
        """Draw the leaf models of one tree of a fitted classifier.

        Parameters
        ----------
        estimator : ProbitModelTreeClassifier or SBPMTClassifier
            Fitted.
        X : frame or array (n, p), default=None
            Rows whose standard deviations make the columns comparable; `None` keeps the user's units.
        tree : int, default=0
            Number of the tree, counted through all committees.
        label : class label, default=None
            Class of the score; two classes have one score, of the second. `None`: the first score that is not constant
            in the first leaf with lines.
        max_leaves, max_columns, ax
            As for the class and `plot`.
        """
        label, frame, design = leaf_scores(estimator, tree, label)
        deviation = None
        if X is not None:
            deviation = design.matrix(estimator.table_.encode(estimator.validate_rows(X))).std(axis=0)
        rules = [f"leaf {leaf}: {rule} ({rows:,} rows)" for leaf, rule, rows in frame[["leaf", "rule", "rows"]].rows()]
        display = cls(
            model_coefficients(frame, design),
            rules,
            design.names(estimator.table_),
            deviation=deviation,
            subject=f"score for {label}",
            max_leaves=max_leaves,
            max_columns=max_columns,
        )
        return display.plot(ax)

    def _draw(self, ax: Axes | None) -> None:
        rules = []
        for rule in self.rules:
            lines = textwrap.wrap(rule, 46)
            rules.append("\n".join(lines if len(lines) <= 4 else [*lines[:3], f"… {lines[-1]}"]))
        n_rows, n_columns = self.values.shape
        height = sum(0.14 + 0.16 * (1 + rule.count("\n")) for rule in rules)
        longest = max(len(shortened(name)) for name in self.columns)
        ax = self._axes(ax, 4.6 + 0.52 * max(n_columns, 4), 1.2 + max(height, 0.8) + 0.06 * longest)
        # coefficients in different units cannot be compared, so these have no colour
        colored = self.values if self.standardised else np.zeros_like(self.values)
        # the largest twentieth share the darkest colours, so that a few steep leaves do not bleach all others
        sizes = np.abs(colored[colored != 0.0])
        limit = float(np.quantile(sizes, 0.95)) if sizes.size else 1.0
        image = ax.imshow(colored, cmap="RdBu", vmin=-limit, vmax=limit, aspect="auto")
        ax.set_xticks(range(n_columns), [shortened(name) for name in self.columns], fontsize=8)
        ax.set_yticks(range(n_rows), rules, fontsize=8)
        for tick in ax.get_xticklabels():
            tick.set(rotation=45, ha="right", rotation_mode="anchor")
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        for edge in range(1, n_rows):
            ax.axhline(edge - 0.5, color="white", linewidth=1.5)
        if n_columns <= 20 and n_rows <= 20:
            self._write_values(np.abs(colored) > 0.6 * limit)
        left_out = [
            f"{shown} of {there} {what}"
            for shown, there, what in ((n_rows, self.n_leaves, "leaves"), (n_columns, self.n_columns, "columns"))
            if shown < there
        ]
        scale = "per standard deviation" if self.standardised else "per unit"
        title = textwrap.fill(f"Contribution of columns to the {self.subject}, {scale}", 6 + 7 * max(n_columns, 4))
        ax.set_title(title + (f"\n({', '.join(left_out)})" if left_out else ""), fontsize=9, loc="left")
        if self.standardised:
            bar = self.figure_.colorbar(image, ax=ax, fraction=0.04, pad=0.02, aspect=25, extend="both")
            bar.ax.tick_params(labelsize=8)

    def _write_values(self, is_dark: Any) -> None:
        style: dict[str, Any] = {"va": "center", "fontsize": 7}
        for (i, c), value in np.ndenumerate(self.values):
            if value != 0.0:
                text = f"{value:.0f}" if 100.0 <= abs(value) < 1e5 else f"{value:.2g}"
                self.ax_.text(c, i, text, ha="center", color="white" if is_dark[i, c] else INK, **style)
        for i in np.flatnonzero((self.values == 0.0).all(axis=1)).tolist():
            self.ax_.text(-0.4, i, "constant", ha="left", color=GREY, **style)


def leaf_scores(estimator: Any, tree: int = 0, label: Any = None) -> tuple[Any, Any, Any]:
    """Return a class, the leaf models of its score in a model tree, and the design of the tree."""
    trees = model_trees(estimator)
    tree, design = place("tree", tree, len(trees.forest)), trees.design
    frame = leaf_models(trees, estimator.classes_, estimator.table_, [tree])
    scored = frame["class"].unique(maintain_order=True).to_list()
    if label is None:
        linear = (model_coefficients(frame, design) != 0.0).any(axis=1)
        label = frame["class"].to_list()[int(linear.argmax())]
    if label not in scored:
        raise ValueError(f"label={label!r} has no score in tree {tree}; it has {', '.join(map(repr, scored))}")
    return label, frame.filter(frame["class"] == label).sort("rows", descending=True, maintain_order=True), design
