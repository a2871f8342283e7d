"""Display of QuadBoost's weights and errors along the strength of its penalty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.number_types import F64
from committee.data.text import shortened
from committee.objectives.programs.penalties import penalty_class
from committee.report.displays.base import (
    COLORS,
    INK,
    PALE,
    check_most,
    grid,
    legend_above,
    legend_beside,
    log_axis,
    new_figure,
    open_axes,
)
from committee.report.drawing.scale import format_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from committee.learners.boosting.quadboost_path import QuadBoostClassifierCV, QuadBoostPath

MOST_NAMED = len(COLORS) - 1
"""Columns with a colour of their own."""

_OTHERS = "#bbbbbb"


class QuadBoostPathDisplay:
    """Weights and errors of QuadBoost against the strength of its penalty, weaker to the right.

    One panel has the weights of the voters, coloured by column, another the errors with one standard error either side.
    Errors of several strengths and several numbers of rounds are a map.

    Parameters
    ----------
    alphas : array-like (S,)
        Strengths, strongest first; those of "linf", bounds on the weights, rise.
    penalty : {"l1", "l2", "linf"} or None, default="l1"
        The penalty.
    weights : array-like (S, N), default=None
        Weights of the voters at each strength.
    columns : sequence of str (N,), default=None
        Column of each voter; needed with `weights`.
    errors : array-like (S,) or (S, R), default=None
        Mean errors, of R numbers of rounds.
    standard_errors : array-like of the same shape, default=None
        Standard errors of these means.
    rounds : array-like (R,), default=None
        Numbers of rounds; needed if R is above 1.
    chosen : int or pair of int, default=None
        Position of the chosen strength, or of strength and rounds.
    subject : str, default="error"
        Name of the errors.
    max_columns, max_voters : int, default=6 and 150
        Columns with a colour and a name (at most 6), and voters drawn: those of the largest weights.

    Attributes
    ----------
    axes_, figure_
        List of panels from the top, and figure drawn on.

    Examples
    --------
    >>> from committee.report import QuadBoostPathDisplay
    >>> display = QuadBoostPathDisplay([1.0, 0.1], weights=[[0.0], [0.5]], columns=["age"], errors=[0.5, 0.2]).plot()
    >>> [ax.get_ylabel() for ax in display.axes_]
    ['weight', 'error']
    """

    def __init__(
        self,
        alphas: ArrayLike,
        *,
        penalty: str | None = "l1",
        weights: ArrayLike | None = None,
        columns: Sequence[str] | None = None,
        errors: ArrayLike | None = None,
        standard_errors: ArrayLike | None = None,
        rounds: ArrayLike | None = None,
        chosen: int | tuple[int, int] | None = None,
        subject: str = "error",
        max_columns: int = MOST_NAMED,
        max_voters: int = 150,
    ) -> None:
        self.alphas: F64 = np.asarray(alphas, dtype=np.float64)
        S = len(self.alphas)
        if weights is None and errors is None:
            raise ValueError("there is nothing to draw: give weights, errors, or both")
        self.weights: F64 | None = None if weights is None else np.asarray(weights, dtype=np.float64)
        self.columns: list[str] = [] if columns is None else list(columns)
        if self.weights is not None and self.weights.shape != (S, len(self.columns)):
            raise ValueError(
                f"weights has shape {self.weights.shape}; {S} alphas and {len(self.columns)} columns need "
                f"({S}, {len(self.columns)})"
            )
        self.rounds: NDArray[Any] | None = None if rounds is None else np.asarray(rounds)
        shape = (S, 1 if self.rounds is None else len(self.rounds))
        self.errors: F64 | None = _shaped("errors", errors, shape)
        self.standard_errors: F64 | None = _shaped("standard_errors", standard_errors, shape)
        self.chosen = (int(chosen), 0) if isinstance(chosen, int | np.integer) else chosen
        if self.chosen is not None and not all(0 <= at < most for at, most in zip(self.chosen, shape, strict=True)):
            raise ValueError(
                f"chosen={chosen} is not a position; there are {shape[0]} alphas and {shape[1]} rounds, counted from 0"
            )
        check_most("max_columns", max_columns)
        check_most("max_voters", max_voters)
        self.penalty: str | None = penalty
        self.subject: str = subject
        self.max_columns: int = min(max_columns, MOST_NAMED)
        self.max_voters: int = max_voters

    @classmethod
    def from_path(
        cls,
        path: QuadBoostPath,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        max_columns: int = MOST_NAMED,
        max_voters: int = 150,
        axes: Axes | Sequence[Axes] | None = None,
    ) -> QuadBoostPathDisplay:
        """Draw the weights of a path and its risk, or its errors on given rows.

        Parameters
        ----------
        path : QuadBoostPath
            Result of `quadboost_path`.
        X, y : frame or array (n, p) and array-like (n,), default=None
            Held-out rows with their labels or numbers; `None` draws the risk of the training rows, which never
            rises as the penalty becomes weaker.
        max_columns, max_voters
            As for the class.
        axes : two matplotlib Axes, default=None
            Axes to draw on.
        """
        if (X is None) != (y is None):
            raise ValueError("X and y belong together; give both, or none for the risk of the training rows")
        errors, standard_errors, subject = path.risks, None, "training risk"
        if y is not None:
            losses, subject = _losses(path, X, np.asarray(y))
            errors, standard_errors = losses.mean(axis=0), _standard_error(losses, 0)
        display = cls(
            path.alphas,
            penalty=path.penalty,
            weights=path.weights,
            columns=_columns(path),
            errors=errors,
            standard_errors=standard_errors,
            subject=subject,
            max_columns=max_columns,
            max_voters=max_voters,
        )
        return display.plot(axes)

    @classmethod
    def from_cv(
        cls,
        model: QuadBoostClassifierCV,
        path: QuadBoostPath | None = None,
        *,
        max_columns: int = MOST_NAMED,
        max_voters: int = 150,
        axes: Axes | Sequence[Axes] | None = None,
    ) -> QuadBoostPathDisplay:
        """Draw the errors and the choice of a cross-validation.

        Parameters
        ----------
        model : QuadBoostClassifierCV
            Fitted.
        path : QuadBoostPath, default=None
            The same strengths on all rows, ``quadboost_path(X, y, penalty=model.penalty, alphas=model.alphas_)``, for a
            panel of weights.
        max_columns, max_voters, axes
            As for the class and `plot`.
        """
        weights, columns = None, None
        if path is not None:
            if path.penalty != model.penalty or not np.array_equal(path.alphas, model.alphas_):
                raise ValueError(
                    "path has another penalty or other strengths than the model; make it by quadboost_path(X, y, "
                    "penalty=model.penalty, alphas=model.alphas_)"
                )
            weights, columns = path.weights, _columns(path)
        t = 0 if model.rounds_ is None else int(np.flatnonzero(model.rounds_ == model.n_estimators_)[0])
        display = cls(
            model.alphas_,
            penalty=model.penalty,
            weights=weights,
            columns=columns,
            errors=model.cv_errors_.mean(axis=2),
            standard_errors=_standard_error(model.cv_errors_, 2),
            rounds=model.rounds_,
            chosen=(int(np.flatnonzero(model.alphas_ == model.alpha_)[0]), t),
            subject=f"error, mean of {model.cv_errors_.shape[2]} folds",
            max_columns=max_columns,
            max_voters=max_voters,
        )
        return display.plot(axes)

    def plot(self, axes: Axes | Sequence[Axes] | None = None) -> QuadBoostPathDisplay:
        """Draw the panels.

        Parameters
        ----------
        axes : matplotlib Axes, default=None
            Axes to draw on, one for each panel; `None` makes a new figure.
        """
        panels: list[Callable[[Axes], None]] = [] if self.weights is None else [self._draw_weights]
        is_map = self.errors is not None and min(self.errors.shape) > 1
        if self.errors is not None:
            panels.append(self._draw_error_map if is_map else self._draw_error_curve)
        if axes is None:
            figure = new_figure(7.6, 0.5 + 2.9 * len(panels))
            drawn_on = figure.subplots(len(panels), squeeze=False, sharex=not is_map)[:, 0].tolist()
        else:
            drawn_on = np.asarray(axes, dtype=object).ravel().tolist()
        if len(drawn_on) != len(panels):
            raise ValueError(f"axes has {len(drawn_on)} axes; give one for each of the {len(panels)} panels")
        self.axes_ = drawn_on
        for ax, draw in zip(drawn_on, panels, strict=True):
            self.figure_ = open_axes(ax)
            draw(ax)
        if not is_map and axes is None:
            for ax in drawn_on[:-1]:
                ax.set_xlabel("")
        return self

    @property
    def _positions(self) -> F64:
        positive = self.alphas[self.alphas > 0.0]
        beyond = positive.min() / 3.0 if len(positive) else 1.0
        return np.where(self.alphas > 0.0, self.alphas, beyond)

    @property
    def _strength_label(self) -> str:
        return f"{penalty_class(self.penalty).parameter} (weaker penalty to the right)"

    def _put_strengths(self, ax: Axes) -> None:
        x = self._positions
        ax.set(xlabel=self._strength_label)
        positive = x[self.alphas > 0.0]
        log_axis(ax.xaxis)
        low, high = float(x.min()), float(x.max())
        margin = (high / low) ** 0.02 if high > low else 2.0
        limits = low / margin, high * margin
        ax.set_xlim(*(limits if penalty_class(self.penalty).weakens == "raise" else limits[::-1]))
        if len(positive) < len(x):
            ticks = [tick for tick in ax.get_xticks().tolist() if positive.size and positive.min() <= tick <= high]
            ax.set_xticks([*ticks, low], [*map(format_number, ticks), "0"])
        if self.chosen is not None:
            ax.axvline(float(x[self.chosen[0]]), color=COLORS[1], linewidth=1.0, linestyle="--", zorder=1.2)

    def _draw_weights(self, ax: Axes) -> None:
        from matplotlib.lines import Line2D

        assert self.weights is not None
        x = self._positions
        largest = np.abs(self.weights).max(axis=0, initial=0.0)
        order = np.argsort(-largest, kind="stable")[: self.max_voters]
        order = order[largest[order] > 0.0]
        ranked = self._ranked_columns(self.weights)
        color = dict(zip(ranked[: self.max_columns], COLORS, strict=False))
        for j in order[::-1].tolist():
            name = self.columns[j]
            style: dict[str, Any] = {"color": _OTHERS, "linewidth": 0.7, "zorder": 1.5}
            if name in color:
                style = {"color": color[name], "linewidth": 1.2, "zorder": 3.0 - 0.1 * ranked.index(name)}
            ax.plot(x, _without_zeros(self.weights[:, j]), marker="." if len(x) == 1 else None, **style)
        handles = [Line2D([], [], color=color[name], linewidth=1.6, label=shortened(name)) for name in color]
        n_others = len(ranked) - len(color)
        if n_others:
            label = f"{n_others} other columns" if n_others > 1 else "1 other column"
            handles.append(Line2D([], [], color=_OTHERS, linewidth=1.6, label=label))
        ax.axhline(0.0, color=PALE, linewidth=0.8, zorder=1)
        ax.set_ylabel("weight")
        self._put_strengths(ax)
        n_used = np.count_nonzero(largest)
        title = f"largest {len(order)} of {n_used} voters" if len(order) < n_used else f"{n_used} voters"
        self._count_voters_above(ax, self.weights)
        legend_beside(ax, handles=handles, title=title)

    def _ranked_columns(self, weights: F64) -> list[str]:
        number = {name: i for i, name in enumerate(dict.fromkeys(self.columns))}
        total = np.zeros(len(number))
        np.add.at(total, [number[name] for name in self.columns], np.abs(weights).sum(axis=0))
        names = list(number)
        return [names[i] for i in np.argsort(-total, kind="stable").tolist() if total[i] > 0.0]

    def _count_voters_above(self, ax: Axes, weights: F64) -> None:
        count = np.count_nonzero(weights, axis=1)
        if (count == count[-1]).all():
            return
        at = np.unique(np.linspace(0, len(count) - 1, min(len(count), 9)).round().astype(int))
        above = ax.secondary_xaxis("top")
        ticks = self._positions[at], [str(count[i]) for i in at.tolist()]
        above.set_xticks(*ticks, fontsize=8, color="#666666")
        above.minorticks_off()
        above.tick_params(length=0, pad=1)
        above.spines["top"].set_visible(False)
        above.set_xlabel("voters with a weight", fontsize=8, color="#666666")

    def _draw_error_curve(self, ax: Axes) -> None:
        assert self.errors is not None
        by_rounds = self.errors.shape[1] > 1
        x = np.asarray(self.rounds, dtype=np.float64) if by_rounds else self._positions
        mean = self.errors.ravel()
        marker = "o" if len(x) <= 12 else None
        label = shortened(self.subject, 36)
        ax.plot(x, mean, color=COLORS[0], linewidth=1.6, marker=marker, markersize=4, label=label)
        least = int(mean.argmin())
        at = None if self.chosen is None else self.chosen[1 if by_rounds else 0]
        words = self._rounds_in_words if by_rounds else self._alpha_in_words
        if self.standard_errors is not None:
            _draw_spread(ax, x, mean, self.standard_errors.ravel())
            if len(x) > 1 and at != least:
                ring: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": COLORS[1], "zorder": 4}
                label = f"least: {words(least)}"
                ax.plot(x[least], mean[least], "o", linestyle="", markersize=7, label=label, **ring)
        if at is not None:
            label = f"chosen{', the least' if at == least else ''}: {words(at)}"
            ax.plot(x[at], mean[at], "o", linestyle="", color=COLORS[1], markersize=7, zorder=5, label=label)
        if by_rounds:
            ax.set(xlabel="rounds")
            log_axis(ax.xaxis)
        else:
            self._put_strengths(ax)
        ax.set_ylabel(self.subject.partition(",")[0])
        grid(ax, "y")
        if len(handles := ax.get_legend_handles_labels()[0]) > 1:
            legend_beside(ax, handles=handles)

    def _draw_error_map(self, ax: Axes) -> None:
        assert self.rounds is not None and self.errors is not None
        S, R = self.errors.shape
        image = ax.imshow(self.errors.T, cmap="viridis_r", aspect="auto", origin="lower", interpolation="nearest")
        least = divmod(int(self.errors.argmin()), R)
        if self.standard_errors is not None:
            near = np.argwhere(self.errors <= self.errors[least] + self.standard_errors[least])
            label = "within a standard error of the least"
            ax.plot(near[:, 0], near[:, 1], ".", linestyle="", color=INK, markersize=3, label=label)
        ring: dict[str, Any] = {"linestyle": "", "markersize": 8, "markerfacecolor": "none", "markeredgewidth": 1.8}
        if self.chosen != least:
            ax.plot(*least, marker="s", markeredgecolor=INK, label=f"least: {self._pair_in_words(least)}", **ring)
        if self.chosen is not None:
            label = f"chosen{', the least' if self.chosen == least else ''}: {self._pair_in_words(self.chosen)}"
            ax.plot(*self.chosen, marker="o", markeredgecolor=COLORS[1], label=label, **ring)
        shown = np.unique(np.linspace(0, S - 1, min(S, 8)).round().astype(int))
        ax.set_xticks(shown, [f"{self.alphas[i]:.2g}" for i in shown.tolist()])
        shown = np.unique(np.linspace(0, R - 1, min(R, 10)).round().astype(int))
        ax.set_yticks(shown, [f"{self.rounds[t]:,}" for t in shown.tolist()])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set(xlabel=self._strength_label, ylabel="rounds")
        bar = self.figure_.colorbar(image, ax=ax, fraction=0.05, pad=0.02, aspect=25)
        bar.ax.tick_params(labelsize=8)
        bar.set_label(self.subject, fontsize=9)
        legend_above(ax, handles=ax.get_legend_handles_labels()[0][::-1])

    def _alpha_in_words(self, i: int) -> str:
        return f"{self.alphas[i]:.3g}"

    def _rounds_in_words(self, t: int) -> str:
        assert self.rounds is not None
        return f"{self.rounds[t]:,} rounds"

    def _pair_in_words(self, pair: tuple[int, int]) -> str:
        return f"{self._alpha_in_words(pair[0])}, {self._rounds_in_words(pair[1])}"


def _draw_spread(ax: Axes, x: F64, mean: F64, spread: F64) -> None:
    label = "± 1 standard error"
    if len(x) == 1:
        ax.errorbar(x, mean, yerr=spread, color=COLORS[0], capsize=3, label=label)
        return
    ax.fill_between(x, mean - spread, mean + spread, color=COLORS[0], alpha=0.18, linewidth=0, label=label)
    level = (mean + spread)[mean.argmin()]
    ax.axhline(level, label="least + 1 standard error", color=PALE, linewidth=1.0, linestyle=":", zorder=1)


def _shaped(name: str, values: ArrayLike | None, shape: tuple[int, int]) -> F64 | None:
    if values is None:
        return None
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape and (shape[1] > 1 or array.shape != shape[:1]):
        raise ValueError(f"{name} has shape {array.shape}; give {shape}, a row for each alpha, a column for each round")
    return array.reshape(shape)


def _standard_error(values: F64, axis: int) -> F64 | None:
    n = values.shape[axis]
    return np.asarray(values.std(axis=axis, ddof=1) / np.sqrt(n)) if n > 1 else None


def _columns(path: QuadBoostPath) -> list[str]:
    return [path.table.column(j) for j in path.dictionary.stumps.feature.tolist()]


def _losses(path: QuadBoostPath, X: Any, y: NDArray[Any]) -> tuple[F64, str]:
    scores, classes = path.decision_function(X), path.classes
    if classes is None:
        return (scores - y[:, None]) ** 2, "mean squared error"
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(
            f"y holds {y[unknown].tolist()[0]!r}, which is not a class of the path; it has {classes.tolist()!r}"
        )
    second = scores > 1e-12  # ties go to the first class, whatever the rounding
    return (second != (y == classes[1])[:, None]).astype(np.float64), "error"


def _without_zeros(weight: F64) -> F64:
    # zeros are kept only beside other weights: at the last strength before a voter enters and the first after it leaves
    near = weight != 0.0
    near[1:] |= weight[:-1] != 0.0
    near[:-1] |= weight[1:] != 0.0
    return np.where(near, weight, np.nan)
