"""Displays of contributions of columns to one row, and of coefficients in the leaves of a model tree."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from committee.data.number_types import F64
from committee.data.text import shortened
from committee.report.displays.base import AGAINST, FOR, GREY, INK, PALE, Display, check_most
from committee.report.row_explanation import RowExplanation, largest_shares, place, start_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ContributionDisplay(Display):
    """Contributions of features to the score of one row, drawn from the bias to the score.

    Parameters
    ----------
    contributions : array-like (p + 1,)
        ``contributions(X)`` of one row, and of one class; the bias last.
    labels : sequence of str (p,)
        Features with their values, such as ``"age = 41"``.
    subject, total : str, default="score"
        Label of the axis, and name of the sum at the end of the bars.
    from_zero : bool, default=True
        Whether the axis includes 0. It should if the sign of the score decides on the class.
    remark : str, default=""
        Title, such as the prediction.
    max_features : int, default=12
        Features with a bar, the largest first; the others are summed in one.

    Examples
    --------
    >>> from committee.report import ContributionDisplay
    >>> display = ContributionDisplay([0.5, -0.2, 1.0], ["age = 41", "city = Oslo"]).plot()
    >>> [tick.get_text() for tick in display.ax_.get_yticklabels()]
    ['mean of training rows', 'age = 41', 'city = Oslo', 'score']
    """

    def __init__(
        self,
        contributions: ArrayLike,
        labels: Sequence[str],
        *,
        subject: str = "score",
        total: str = "score",
        from_zero: bool = True,
        remark: str = "",
        max_features: int = 12,
    ) -> None:
        self.contributions: F64 = np.asarray(contributions, dtype=np.float64)
        if self.contributions.shape != (len(labels) + 1,):
            raise ValueError(
                f"contributions has shape {self.contributions.shape}; {len(labels)} labels need ({len(labels) + 1},),"
                " the bias last; of several classes, choose one"
            )
        check_most("max_features", max_features)
        self.labels: list[str] = list(labels)
        self.subject: str = subject
        self.total: str = total
        self.remark: str = remark
        self.from_zero: bool = from_zero
        self.max_features: int = max_features

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, row: int = 0, *, label: Any = None, max_features: int = 12, ax: Axes | None = None
    ) -> ContributionDisplay:
        """Draw what each feature adds to the score, prediction or probability of one row.

        Parameters
        ----------
        estimator : fitted learner
            With ``contributions(X)``.
        X : frame or array (n, p)
            Rows.
        row : int, default=0
            Number of the row.
        label : class label or int, default=None
            Class, number of a target, or level of a quantile. `None`: the predicted class, the first target, or the
            quantile nearest to the median. Either of two classes with one score selects that score.
        max_features, ax
            As for the class and `plot`.
        """
        return cls.of(RowExplanation.of(estimator, X, row, label=label), max_features=max_features).plot(ax)

    @classmethod
    def of(cls, found: RowExplanation, *, max_features: int = 12) -> ContributionDisplay:
        """Make the display of an explained row, not yet drawn."""
        return cls(
            found.contributions,
            found.labels,
            subject=found.subject,
            total=found.total,
            from_zero=found.of_classes,
            remark=found.remark,
            max_features=max_features,
        )

    def _draw(self, ax: Axes | None) -> None:
        bias = float(self.contributions[-1])
        largest, (n_others, rest) = largest_shares(self.contributions, self.labels, self.max_features)
        steps, labels = [share for _, share in largest], [shortened(label, 40) for label, _ in largest]
        if n_others:
            steps.append(rest)
            labels.append(f"{n_others} other" + ("s" if n_others > 1 else ""))
        edges = bias + np.concatenate([[0.0], np.cumsum(steps)])
        ax = self._axes(ax, 7.2, 1.3 + 0.3 * (len(steps) + 2))
        for i, step in enumerate(steps):
            ax.barh(i + 1, step, left=edges[i], height=0.62, color=FOR if step >= 0 else AGAINST)
            ax.plot([edges[i]] * 2, [i - 0.31 if i else 0, i + 1.31], color=PALE, linewidth=0.7, zorder=0)
        last = len(steps) + 1
        score = float(edges[-1])
        ax.plot([score] * 2, [last - 1.31, last], color=PALE, linewidth=0.7, zorder=0)
        ax.plot([bias, score], [0, last], linestyle="", marker="D", color=INK, markersize=6)
        self._write_values(edges, steps)
        if self.from_zero:
            ax.axvline(0.0, color=PALE, linewidth=0.8, linestyle=":", zorder=0)
        ax.set_yticks(range(last + 1), [start_in_words(self.total), *labels, self.total], fontsize=9)
        ax.set(ylim=(last + 0.6, -0.6), xlabel=self.subject)
        ax.tick_params(axis="y", length=0)
        ax.set_title(self.remark, fontsize=10, loc="left")

    def _write_values(self, edges: F64, steps: list[float]) -> None:
        shown = np.append(edges, 0.0) if self.from_zero else edges
        low, high = float(shown.min()), float(shown.max())
        gap = 0.02 * (high - low or 1.0)
        self.ax_.set_xlim(low - 8 * gap, high + 8 * gap)
        for i, step in enumerate(steps):
            is_up = step >= 0
            at = max(edges[i], edges[i + 1]) + gap / 2 if is_up else min(edges[i], edges[i + 1]) - gap / 2
            self.ax_.text(at, i + 1, f"{step:+.3g}", ha="left" if is_up else "right", va="center", fontsize=8)
        for line, value in ((0, edges[0]), (len(steps) + 1, edges[-1])):
            self.ax_.text(value + 1.5 * gap, line, f"{value:.4g}", ha="left", va="center", fontsize=8)


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
        from committee.vote.explain.rules import model_coefficients

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
        rules = [_wrapped(rule, 46, 4) for rule in self.rules]
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
    """Return a class, the leaf models of its score in a model tree, most rows first, and the design of the tree."""
    from committee.vote.explain.rules import leaf_models, model_coefficients, model_trees

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


def _wrapped(text: str, width: int, most_lines: int) -> str:
    lines = textwrap.wrap(text, width)
    if len(lines) > most_lines:
        lines = [*lines[: most_lines - 1], "… " + lines[-1]]
    return "\n".join(lines)
