"""Pictures of fitted model trees: coefficients of the leaves, contributions of one row."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.report.displays.comparison import _INK, _axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from committee.voters.model_forest import ModelForest

__all__ = ["CoefficientMapDisplay", "ContributionDisplay"]

F64 = NDArray[np.float64]

_FOR, _AGAINST = "#0072B2", "#D55E00"


class CoefficientMapDisplay:
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
        units, and its colour is relative to the largest of its column.
    subject : str, default="score"
        What the coefficients add to, for the title.
    max_leaves, max_columns : int, default=20
        At most so many are drawn: the first leaves, and the columns with the largest entries.

    Attributes
    ----------
    ax_, figure_
        Axes and figure drawn on.

    Raises
    ------
    ValueError
        If names and coefficients differ in number, or there is nothing to draw.

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
        self.standardised = deviation is not None
        shown = given if deviation is None else given * np.asarray(deviation, dtype=np.float64)
        largest = np.abs(shown).max(axis=0)
        color = shown if self.standardised else np.divide(shown, largest, out=np.zeros_like(shown), where=largest > 0)
        # columns that no leaf uses are left out; in the user's units it counts how many leaves use one, not its size
        weight = largest if self.standardised else np.abs(color).sum(axis=0)
        kept = np.sort(np.argsort(-weight, kind="stable")[:max_columns])
        kept = kept[weight[kept] > 0] if weight.any() else kept[:1]
        self.values, self.color = shown[:max_leaves, kept], color[:max_leaves, kept]
        self.rules, self.columns = list(rules[:max_leaves]), [columns[c] for c in kept]
        self.subject, self.n_leaves, self.n_columns = subject, len(rules), len(columns)

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
            If the tree has no score for that label.
        """
        from committee.vote.explain.leaf_models import leaf_models

        trees = model_trees(estimator)
        frame = leaf_models(trees, estimator.classes_, estimator.table_, [tree])
        design = trees.design
        speaks_for = frame["class"].unique(maintain_order=True).to_list()
        if label is None:
            linear = (frame[:, -len(design) :].to_numpy() != 0.0).any(axis=1)
            label = frame["class"].to_list()[int(linear.argmax())]
        if label not in speaks_for:
            raise ValueError(f"label={label!r} has no score in tree {tree}; it has {', '.join(map(repr, speaks_for))}")
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

    def plot(self, ax: Axes | None = None) -> CoefficientMapDisplay:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        CoefficientMapDisplay
            Itself.
        """
        rules = [_wrapped(rule, 46, 4) for rule in self.rules]
        n_rows, n_columns = self.values.shape
        height = sum(0.14 + 0.16 * (1 + rule.count("\n")) for rule in rules)
        longest = max(len(shortened(name)) for name in self.columns)
        self.figure_, self.ax_ = _axes(ax, 4.6 + 0.52 * max(n_columns, 4), 1.2 + max(height, 0.8) + 0.06 * longest)
        # a few steep leaves must not bleach all others: the strongest twentieth share the darkest colours
        sizes = np.abs(self.color[self.color != 0.0])
        limit = float(np.quantile(sizes, 0.95)) if sizes.size else 1.0
        image = self.ax_.imshow(self.color, cmap="RdBu", vmin=-limit, vmax=limit, aspect="auto")
        self.ax_.set_xticks(range(n_columns), [shortened(name) for name in self.columns], fontsize=8)
        self.ax_.set_yticks(range(n_rows), rules, fontsize=8)
        for tick in self.ax_.get_xticklabels():
            tick.set(rotation=45, ha="right", rotation_mode="anchor")
        self.ax_.tick_params(length=0)
        self.ax_.spines[:].set_visible(False)
        for edge in range(1, n_rows):
            self.ax_.axhline(edge - 0.5, color="white", linewidth=1.5)
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
        self.ax_.set_title(title + (f"\n({', '.join(left_out)})" if left_out else ""), fontsize=9, loc="left")
        if self.standardised:
            bar = self.figure_.colorbar(image, ax=self.ax_, fraction=0.04, pad=0.02, aspect=25, extend="both")
            bar.ax.tick_params(labelsize=8)
        return self

    def _write_values(self, limit: float) -> None:
        for (i, c), value in np.ndenumerate(self.values):
            if value != 0.0:
                dark = abs(self.color[i, c]) > 0.6 * limit
                ink = "white" if dark else _INK
                self.ax_.text(c, i, _short_number(value), ha="center", va="center", fontsize=7, color=ink)
        for i in np.flatnonzero((self.values == 0.0).all(axis=1)).tolist():
            self.ax_.text(-0.4, i, "constant", ha="left", va="center", fontsize=7, color="#777777")


class ContributionDisplay:
    """How one row comes to its score: from the mean over the training rows, feature by feature.

    Parameters
    ----------
    contributions : array-like (p + 1,)
        One row, and for one class, of what ``contributions(X)`` returns; the bias last.
    labels : sequence of str (p,)
        Features in words, as ``"age = 41"``.
    subject : str, default="score"
        What the contributions add up to, for the axis.
    remark : str, default=""
        A line above, as what the row was voted.
    max_features : int, default=12
        So many are drawn, the largest first; the others, and those that add nothing, are one bar.

    Attributes
    ----------
    ax_, figure_
        Axes and figure drawn on.

    Raises
    ------
    ValueError
        If there is not one label for each feature.

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
        remark: str = "",
        max_features: int = 12,
    ) -> None:
        self.contributions = np.asarray(contributions, dtype=np.float64)
        if self.contributions.shape != (len(labels) + 1,):
            raise ValueError(
                f"contributions has shape {self.contributions.shape}; {len(labels)} labels need ({len(labels) + 1},),"
                " the bias last; of several classes, choose one"
            )
        self.labels, self.subject, self.remark, self.max_features = list(labels), subject, remark, max_features

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        row: int = 0,
        *,
        label: Any = None,
        max_features: int = 12,
        ax: Axes | None = None,
    ) -> ContributionDisplay:
        """Draw what each feature adds to the score of one row.

        Parameters
        ----------
        estimator : ProbitModelTreeClassifier or SBPMTClassifier
            Fitted.
        X : frame or array (n, p)
            Rows.
        row : int, default=0
            Which of them.
        label : class label, default=None
            Whose score, with more than two classes; the predicted class's by default.
        max_features : int, default=12
            So many are drawn, the largest first; the others are one bar.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        ContributionDisplay
            Already drawn.

        Raises
        ------
        ValueError
            If the label is no class of the estimator, or there is no such row.
        """
        from committee.voters.committees import BoostedCommittees

        encoded = estimator.table_.encode(estimator.validate_rows(X))
        if not -len(encoded) <= row < len(encoded):
            raise ValueError(f"row={row} is not there; X has {len(encoded)} rows")
        one = X[[row]] if isinstance(X, np.ndarray) else _row(X, row)
        predicted = estimator.predict(one).tolist()[0]
        if not hasattr(estimator, "classes_"):
            display = cls._of_number(estimator, one, encoded[row], predicted, max_features)
            return display.plot(ax)
        classes = estimator.classes_.tolist()
        shares = estimator.contributions(one)[0]
        score = "mean score" if isinstance(estimator.committee_.voters, BoostedCommittees) else "score"
        if shares.ndim == 1:
            subject = f"{score}: above 0 for {classes[1]}, below for {classes[0]}"
        else:
            label = predicted if label is None else label
            if label not in classes:
                raise ValueError(f"label={label!r} is no class; the classes are {', '.join(map(repr, classes))}")
            shares, subject = shares[:, classes.index(label)], f"{score} for {label}"
        share = estimator.predict_proba(one)[0, classes.index(predicted)]
        display = cls(
            shares,
            _values_in_words(encoded[row], estimator.table_),
            subject=subject,
            remark=f"predicted {predicted} ({share:.0%})",
            max_features=max_features,
        )
        return display.plot(ax)

    @classmethod
    def _of_number(
        cls, estimator: Any, one: Any, encoded: Any, predicted: float, max_features: int
    ) -> ContributionDisplay:
        """The contributions to the score of a number."""
        shares = estimator.contributions(one)[0]
        if shares.ndim > 1:
            raise ValueError("the estimator predicts several numbers at once, whose order is settled after the sum")
        labels, remark = _values_in_words(encoded, estimator.table_), f"predicted {predicted:.4g}"
        return cls(shares, labels, subject="score", remark=remark, max_features=max_features)

    def plot(self, ax: Axes | None = None) -> ContributionDisplay:
        """Draw one bar for each feature, the largest on top, from the bias down to the score.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        ContributionDisplay
            Itself.
        """
        bias, shares = float(self.contributions[-1]), self.contributions[:-1]
        order = np.argsort(-np.abs(shares), kind="stable")
        n_drawn = min(self.max_features, max(1, np.count_nonzero(shares)))
        drawn, others = order[:n_drawn], order[n_drawn:]
        steps, words = shares[drawn].tolist(), [shortened(self.labels[j], 40) for j in drawn]
        if len(others):
            steps.append(float(shares[others].sum()))
            words.append(f"{len(others)} other" + ("s" if len(others) > 1 else ""))
        edges = bias + np.concatenate([[0.0], np.cumsum(steps)])
        self.figure_, self.ax_ = _axes(ax, 7.2, 1.3 + 0.3 * (len(steps) + 2))
        for i, step in enumerate(steps):
            color = _FOR if step >= 0 else _AGAINST
            self.ax_.barh(i + 1, step, left=edges[i], height=0.62, color=color)
            self.ax_.plot([edges[i]] * 2, [i - 0.31 if i else 0, i + 1.31], color="#999999", linewidth=0.7, zorder=0)
        last = len(steps) + 1
        score = float(edges[-1])
        self.ax_.plot([score] * 2, [last - 1.31, last], color="#999999", linewidth=0.7, zorder=0)
        self.ax_.plot([bias, score], [0, last], linestyle="", marker="D", color=_INK, markersize=6)
        self._write(edges, steps)
        self.ax_.axvline(0.0, color="#999999", linewidth=0.8, linestyle=":", zorder=0)
        self.ax_.set_yticks(range(last + 1), ["mean of training rows", *words, "score"], fontsize=9)
        self.ax_.set(ylim=(last + 0.6, -0.6), xlabel=self.subject)
        self.ax_.tick_params(axis="y", length=0)
        if self.remark:
            self.ax_.set_title(self.remark, fontsize=10, loc="left")
        return self

    def _write(self, edges: F64, steps: list[float]) -> None:
        """Every bar's figure, beyond the end it points to; room is made for them."""
        low, high = min(edges.min(), 0.0), max(edges.max(), 0.0)
        room = 0.02 * (high - low or 1.0)
        self.ax_.set_xlim(low - 8 * room, high + 8 * room)
        for i, step in enumerate(steps):
            at = max(edges[i], edges[i + 1]) if step >= 0 else min(edges[i], edges[i + 1])
            side = "left" if step >= 0 else "right"
            self.ax_.text(
                at + (room if step >= 0 else -room) / 2, i + 1, f"{step:+.3g}", ha=side, va="center", fontsize=8
            )
        for place, value in ((0, edges[0]), (len(steps) + 1, edges[-1])):
            self.ax_.text(value + 1.5 * room, place, f"{value:.3g}", ha="left", va="center", fontsize=8)


def model_trees(estimator: Any) -> ModelForest:
    """The model trees of a fitted classifier, without their committees."""
    from committee.voters.committees import BoostedCommittees
    from committee.voters.model_forest import ModelForest

    voters = getattr(getattr(estimator, "committee_", None), "voters", None)
    if isinstance(voters, BoostedCommittees):
        return voters.members
    if not isinstance(voters, ModelForest):
        raise ValueError(f"{type(estimator).__name__} has no linear leaf models; give a fitted model tree or SBPMT")
    return voters


def _row(X: Any, row: int) -> Any:
    """One row of a frame, as a frame."""
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X, eager_only=True)
    row %= len(frame)
    return frame[row : row + 1].to_native()


def _values_in_words(encoded: F64, table: Any) -> list[str]:
    """``age = 41`` for every column of an encoded row."""
    words = []
    for j, value in enumerate(encoded.tolist()):
        known = table.categories[j]
        text = "missing" if np.isnan(value) else f"{value:.6g}" if known is None else str(known[int(value)])
        words.append(f"{table.column(j)} {text}" if text == "missing" else f"{table.column(j)} = {text}")
    return words


def _short_number(value: float) -> str:
    return f"{value:.0f}" if 100.0 <= abs(value) < 1e5 else f"{value:.2g}"


def shortened(text: str, most: int = 28) -> str:
    """Text that ends in an ellipsis if it is too long."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _wrapped(text: str, width: int, most_lines: int) -> str:
    """Text in lines; one that is too long loses its middle, for its ends tell the most."""
    lines = textwrap.wrap(text, width)
    if len(lines) > most_lines:
        lines = [*lines[: most_lines - 1], "… " + lines[-1]] if most_lines > 1 else lines[:1]
    return "\n".join(lines)
