"""The linear models of a tree's leaves as a map."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from committee.report.arguments import check_most, place
from committee.report.displays.base import GREY, INK, Display, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class CoefficientMapDisplay(Display):
    """The linear models of a tree's leaves as a map: one row for each leaf, one column for each design column.

    Parameters
    ----------
    coefficient : array-like (L, q)
        Coefficients; a row for each leaf.
    rules : sequence of str (L,)
        The leaves in words.
    columns : sequence of str (q,)
        Names of the design columns.
    deviation : array-like (q,), default=None
        Standard deviation of each column. Given, a cell shows the coefficient times it: what one standard deviation
        adds to the score, the same scale in all columns. Otherwise a cell shows the coefficient in the user's
        units, and no cell is coloured, as those of different columns cannot be compared.
    subject : str, default="score"
        What the coefficients add to, for the title.
    max_leaves, max_columns : int, default=20
        At most so many are drawn: the first leaves, and the columns with the largest entries.

    Raises
    ------
    ValueError
        If names and coefficients differ in number, or nothing is to be drawn.

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
        given = np.asarray(coefficient, dtype=np.float64)
        if given.shape != (len(rules), len(columns)) or not given.size:
            raise ValueError(
                f"coefficient has shape {given.shape}; {len(rules)} rules and {len(columns)} columns need"
                f" ({len(rules)}, {len(columns)}), and one of each at least"
            )
        check_most("max_leaves", max_leaves)
        check_most("max_columns", max_columns)
        self.standardised: bool = deviation is not None
        shown = given if deviation is None else given * np.asarray(deviation, dtype=np.float64)
        largest = np.abs(shown).max(axis=0)
        relative = np.divide(np.abs(shown), largest, out=np.zeros_like(shown), where=largest > 0)
        # columns that no leaf uses are left out; in the user's units it counts how many leaves use one, not its size
        weight = largest if self.standardised else relative.sum(axis=0)
        kept = np.sort(np.argsort(-weight, kind="stable")[:max_columns])
        kept = kept[weight[kept] > 0] if weight.any() else kept[:1]
        self.values = shown[:max_leaves, kept]
        # a colour means one thing: coefficients in different units cannot be compared, and have none
        self.color = self.values if self.standardised else np.zeros_like(self.values)
        self.rules: list[str] = list(rules[:max_leaves])
        self.columns: list[str] = [columns[c] for c in kept]
        self.subject: str = subject
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
            Rows whose standard deviations make the columns comparable; None: the user's units.
        tree : int, default=0
            Which tree, all committees' trees counted through.
        label : class label, default=None
            Whose score; with two classes the second's is the only one. None: the first whose score is not constant.
        max_leaves, max_columns : int, default=20
            At most so many are drawn: the leaves with the most rows, the columns with the largest entries.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        CoefficientMapDisplay
            Already drawn.

        Raises
        ------
        ValueError
            If there is no such tree, or it has no score for that label.
        """
        from committee.vote.explain.leaf_models import leaf_models, model_trees

        trees = model_trees(estimator)
        tree = place("tree", tree, len(trees.forest))
        frame = leaf_models(trees, estimator.classes_, estimator.table_, [tree])
        design = trees.design
        scored = frame["class"].unique(maintain_order=True).to_list()
        if label is None:
            linear = (frame[:, -len(design) :].to_numpy() != 0.0).any(axis=1)
            label = frame["class"].to_list()[int(linear.argmax())]
        if label not in scored:
            raise ValueError(f"label={label!r} has no score in tree {tree}; it has {', '.join(map(repr, scored))}")
        frame = frame.filter(frame["class"] == label).sort("rows", descending=True, maintain_order=True)
        deviation = None
        if X is not None:
            deviation = design.matrix(estimator.table_.encode(estimator.validate_rows(X))).std(axis=0)
        rules = [f"leaf {leaf}: {rule} ({rows:,} rows)" for leaf, rule, rows in frame[["leaf", "rule", "rows"]].rows()]
        display = cls(
            frame[:, -len(design) :].to_numpy(),
            rules,
            design.names(estimator.table_),
            deviation=deviation,
            subject=f"score for {label}",
            max_leaves=max_leaves,
            max_columns=max_columns,
        )
        return display.plot(ax)

    def _draw(self, ax: Axes | None) -> None:
        """One coloured cell for each leaf and column, with its number where there is room."""
        rules = [_wrapped(rule, 46, 4) for rule in self.rules]
        n_rows, n_columns = self.values.shape
        height = sum(0.14 + 0.16 * (1 + rule.count("\n")) for rule in rules)
        longest = max(len(shortened(name)) for name in self.columns)
        ax = self._axes(ax, 4.6 + 0.52 * max(n_columns, 4), 1.2 + max(height, 0.8) + 0.06 * longest)
        # a few steep leaves must not bleach all others: the strongest twentieth share the darkest colours
        sizes = np.abs(self.color[self.color != 0.0])
        limit = float(np.quantile(sizes, 0.95)) if sizes.size else 1.0
        image = ax.imshow(self.color, cmap="RdBu", vmin=-limit, vmax=limit, aspect="auto")
        ax.set_xticks(range(n_columns), [shortened(name) for name in self.columns], fontsize=8)
        ax.set_yticks(range(n_rows), rules, fontsize=8)
        for tick in ax.get_xticklabels():
            tick.set(rotation=45, ha="right", rotation_mode="anchor")
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        for edge in range(1, n_rows):
            ax.axhline(edge - 0.5, color="white", linewidth=1.5)
        if n_columns <= 20 and n_rows <= 20:
            self._write_values(limit)
        left_out = [
            f"{shown} of {there} {what}"
            for shown, there, what in ((n_rows, self.n_leaves, "leaves"), (n_columns, self.n_columns, "columns"))
            if shown < there
        ]
        scale = "per standard deviation" if self.standardised else "per unit"
        title = f"What a column adds to the {self.subject}, {scale}"
        title = textwrap.fill(title, 6 + 7 * max(n_columns, 4))
        ax.set_title(title + (f"\n({', '.join(left_out)})" if left_out else ""), fontsize=9, loc="left")
        if self.standardised:
            bar = self.figure_.colorbar(image, ax=ax, fraction=0.04, pad=0.02, aspect=25, extend="both")
            bar.ax.tick_params(labelsize=8)

    def _write_values(self, limit: float) -> None:
        for (i, c), value in np.ndenumerate(self.values):
            if value != 0.0:
                dark = abs(self.color[i, c]) > 0.6 * limit
                ink = "white" if dark else INK
                self.ax_.text(c, i, _short_number(value), ha="center", va="center", fontsize=7, color=ink)
        for i in np.flatnonzero((self.values == 0.0).all(axis=1)).tolist():
            self.ax_.text(-0.4, i, "constant", ha="left", va="center", fontsize=7, color=GREY)


def _short_number(value: float) -> str:
    return f"{value:.0f}" if 100.0 <= abs(value) < 1e5 else f"{value:.2g}"


def _wrapped(text: str, width: int, most_lines: int) -> str:
    """Text in lines; one that is too long loses its middle."""
    lines = textwrap.wrap(text, width)
    if len(lines) > most_lines:
        lines = [*lines[: most_lines - 1], "… " + lines[-1]] if most_lines > 1 else lines[:1]
    return "\n".join(lines)
