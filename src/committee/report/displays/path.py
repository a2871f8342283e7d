"""The regularisation path of QuadBoost as a picture: weights, errors, and what cross-validation chose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.objectives.programs.penalties import penalty_class
from committee.report.displays.comparison import _COLORS, _INK, _axes
from committee.report.displays.model_trees import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from committee.learners.quadboost.quadboost_cv import QuadBoostClassifierCV
    from committee.learners.quadboost.quadboost_path import QuadBoostPath

__all__ = ["QuadBoostPathDisplay"]

F64 = NDArray[np.float64]

_OTHERS = "#bbbbbb"
_PALE = "#999999"
_MOST_NAMED = len(_COLORS) - 1
"""Columns with a colour of their own; the last colour of the palette is an ink."""


class QuadBoostPathDisplay:
    """Weights and errors of QuadBoost against the strength of its penalty, weaker to the right.

    There are up to two panels, one below the other: the weights of the voters, coloured by their column, if there
    are weights; and the errors with one standard error either side, if there are errors. Errors of several strengths
    and several numbers of rounds are a map.

    Parameters
    ----------
    alphas : array-like (S,)
        Strengths, strongest first; bounds of "linf" rise.
    penalty : {"l1", "l2", "linf"} or None, default="l1"
        What they are strengths of.
    weights : array-like (S, N), default=None
        Weights of the voters at each strength. A stump of positive weight speaks for the second class (the larger
        number) where its column is above the threshold, or is not the category it asks for.
    columns : sequence of str (N,), default=None
        The column that each voter looks at; needed with `weights`.
    errors : array-like (S,) or (S, R), default=None
        Mean errors, of R numbers of rounds.
    standard_errors : array-like of the same shape, default=None
        Standard errors of these means.
    rounds : array-like (R,), default=None
        Numbers of rounds; needed if R is above 1.
    chosen : int or pair of int, default=None
        Position of the chosen strength, or of strength and rounds.
    subject : str, default="error"
        What the errors are, for their axis.
    max_columns : int, default=6
        At most so many columns get a colour and a name, those with the largest weights; at most 6.
    max_voters : int, default=150
        At most so many voters are drawn, those with the largest weights.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        The panels, from the top.
    figure_ : matplotlib Figure
        Figure of the axes.

    Raises
    ------
    ValueError
        If there is nothing to draw, or what is given does not fit together.

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
        max_columns: int = _MOST_NAMED,
        max_voters: int = 150,
    ) -> None:
        self.alphas = np.asarray(alphas, dtype=np.float64)
        S = len(self.alphas)
        if weights is None and errors is None:
            raise ValueError("there is nothing to draw: give weights, errors, or both")
        self.weights = None if weights is None else np.asarray(weights, dtype=np.float64)
        self.columns = [] if columns is None else list(columns)
        if self.weights is not None and self.weights.shape != (S, len(self.columns)):
            raise ValueError(
                f"weights has shape {self.weights.shape}; {S} alphas and {len(self.columns)} columns need "
                f"({S}, {len(self.columns)})"
            )
        self.rounds = None if rounds is None else np.asarray(rounds)
        shape = (S, 1 if self.rounds is None else len(self.rounds))
        self.errors = _shaped("errors", errors, shape)
        self.standard_errors = _shaped("standard_errors", standard_errors, shape)
        self.chosen = (chosen, 0) if isinstance(chosen, int) else chosen
        self.penalty, self.subject = penalty, subject
        self.max_columns, self.max_voters = min(max_columns, _MOST_NAMED), max_voters

    @classmethod
    def from_path(
        cls,
        path: QuadBoostPath,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        max_columns: int = _MOST_NAMED,
        max_voters: int = 150,
        axes: Axes | Sequence[Axes] | None = None,
    ) -> QuadBoostPathDisplay:
        """Draw the weights of a path and its risk, or its errors on given rows.

        Parameters
        ----------
        path : QuadBoostPath
            What `quadboost_path` returned.
        X : frame or array (n, p), default=None
            Rows to judge the committees by, best those that the path has not seen. None: the risk of the training
            rows is drawn, which always falls.
        y : array-like (n,), default=None
            Their labels or numbers; needed with `X`.
        max_columns, max_voters : int, default=6 and 150
            At most so many are named, and drawn.
        axes : two matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        QuadBoostPathDisplay
            Already drawn.

        Raises
        ------
        ValueError
            If a label is none of the path's, or only one of `X` and `y` is given.
        """
        if (X is None) != (y is None):
            raise ValueError("X and y belong together; give both, or none for the risk of the training rows")
        table = path._learner.table_
        spoken = [table.column(j) for j in path.dictionary.stumps.feature.tolist()]
        errors, standard_errors, subject = path.risks, None, "training risk"
        if y is not None:
            losses, subject = _losses(path, X, np.asarray(y))
            errors, standard_errors = losses.mean(axis=0), _standard_error(losses, 0)
        display = cls(
            path.alphas,
            penalty=path.penalty,
            weights=path.weights,
            columns=spoken,
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
        max_columns: int = _MOST_NAMED,
        max_voters: int = 150,
        axes: Axes | Sequence[Axes] | None = None,
    ) -> QuadBoostPathDisplay:
        """Draw the errors that a cross-validation found, and what it chose.

        Parameters
        ----------
        model : QuadBoostClassifierCV
            Fitted.
        path : QuadBoostPath, default=None
            The same strengths on all rows, ``quadboost_path(X, y, penalty=model.penalty, alphas=model.alphas_)``, for a
            panel of weights.
        max_columns, max_voters : int, default=6 and 150
            At most so many are named, and drawn.
        axes : matplotlib Axes, default=None
            Where to draw, one for each panel; a new figure by default.

        Returns
        -------
        QuadBoostPathDisplay
            Already drawn.

        Raises
        ------
        ValueError
            If the path is one of other strengths.
        """
        weights, spoken = None, None
        if path is not None:
            if path.penalty != model.penalty or not np.array_equal(path.alphas, model.alphas_):
                raise ValueError(
                    "path has other strengths than the model; make it by quadboost_path(X, y, penalty=model.penalty, "
                    "alphas=model.alphas_)"
                )
            table = path._learner.table_
            weights, spoken = path.weights, [table.column(j) for j in path.dictionary.stumps.feature.tolist()]
        t = 0 if model.rounds_ is None else int(np.flatnonzero(model.rounds_ == model.n_estimators_)[0])
        display = cls(
            model.alphas_,
            penalty=model.penalty,
            weights=weights,
            columns=spoken,
            errors=model.cv_errors_.mean(axis=2),
            standard_errors=_standard_error(model.cv_errors_, 2),
            rounds=model.rounds_,
            chosen=(int(np.flatnonzero(model.alphas_ == model.alpha_)[0]), t),
            subject=f"error, mean of {model.cv_errors_.shape[2]} folds",
            max_columns=max_columns,
            max_voters=max_voters,
        )
        return display.plot(axes)

    # --- drawing ---------------------------------------------------------------------------------------------------

    def plot(self, axes: Axes | Sequence[Axes] | None = None) -> QuadBoostPathDisplay:
        """Draw the panels.

        Parameters
        ----------
        axes : matplotlib Axes, default=None
            Where to draw, one for each panel; a new figure by default.

        Returns
        -------
        QuadBoostPathDisplay
            Itself.

        Raises
        ------
        ValueError
            If there is not one of `axes` for each panel.
        """
        is_map = self.errors is not None and min(self.errors.shape) > 1
        panels = []
        if self.weights is not None:
            panels.append(self._draw_weights)
        if self.errors is not None:
            panels.append(self._draw_map if is_map else self._draw_errors)
        if axes is None:
            from matplotlib.figure import Figure

            figure = Figure(figsize=(7.6, 0.5 + 2.9 * len(panels)), layout="constrained")
            given = figure.subplots(len(panels), squeeze=False, sharex=not is_map)[:, 0].tolist()
        else:
            given = np.ravel(axes).tolist()  # type: ignore[arg-type]
        if len(given) != len(panels):
            raise ValueError(f"axes has {len(given)} axes; there are {len(panels)} panels to draw")
        self.axes_ = given
        for ax, draw in zip(given, panels, strict=True):
            self.figure_, _ = _axes(ax, 0.0, 0.0)
            draw(ax)
        if not is_map and axes is None:
            for ax in given[:-1]:
                ax.set_xlabel("")
        return self

    def _draw_weights(self, ax: Axes) -> None:
        """A curve for each voter; those of the columns that count most in colour, and above the others."""
        assert self.weights is not None
        x = self._positions()
        largest = np.abs(self.weights).max(axis=0, initial=0.0)
        order = np.argsort(-largest, kind="stable")[: self.max_voters]
        order = order[largest[order] > 0.0]
        ranked = self._ranked_columns()
        color = dict(zip(ranked[: self.max_columns], _COLORS, strict=False))
        for j in order[::-1].tolist():
            name = self.columns[j]
            style: dict[str, Any] = {"color": _OTHERS, "linewidth": 0.7, "zorder": 1.5}
            if name in color:
                style = {"color": color[name], "linewidth": 1.2, "zorder": 3.0 - 0.1 * ranked.index(name)}
            ax.plot(x, _where_it_speaks(self.weights[:, j]), marker="." if len(x) == 1 else None, **style)
        from matplotlib.lines import Line2D

        handles = [Line2D([], [], color=color[name], linewidth=1.6, label=shortened(name)) for name in color]
        n_others = len(ranked) - len(color)
        if n_others:
            label = f"{n_others} other columns" if n_others > 1 else "1 other column"
            handles.append(Line2D([], [], color=_OTHERS, linewidth=1.6, label=label))
        ax.axhline(0.0, color=_PALE, linewidth=0.8, zorder=1)
        ax.set_ylabel("weight")
        self._strengths_along(ax)
        self._mark_chosen(ax)
        n_spoken = np.count_nonzero(largest)
        title = f"largest {len(order)} of {n_spoken} voters" if len(order) < n_spoken else f"{n_spoken} voters"
        self._count_voters_above(ax)
        self._legend(ax, handles, title)

    def _ranked_columns(self) -> list[str]:
        """Columns that any weight speaks of, those with the largest sums of weights (over all strengths) first."""
        assert self.weights is not None
        number = {name: i for i, name in enumerate(dict.fromkeys(self.columns))}
        total = np.zeros(len(number))
        np.add.at(total, [number[name] for name in self.columns], np.abs(self.weights).sum(axis=0))
        names = list(number)
        return [names[i] for i in np.argsort(-total, kind="stable").tolist() if total[i] > 0.0]

    def _count_voters_above(self, ax: Axes) -> None:
        """How many voters have any weight, along the upper edge; nothing where that is always the same."""
        assert self.weights is not None
        count = np.count_nonzero(self.weights, axis=1)
        if (count == count[-1]).all():
            return
        at = np.unique(np.linspace(0, len(count) - 1, min(len(count), 9)).round().astype(int))
        above = ax.secondary_xaxis("top")
        above.set_xticks(self._positions()[at], [str(count[i]) for i in at.tolist()], fontsize=8, color="#666666")
        above.minorticks_off()
        above.tick_params(length=0, pad=1)
        above.spines["top"].set_visible(False)
        above.set_xlabel("voters of any weight", fontsize=8, color="#666666")

    def _draw_errors(self, ax: Axes) -> None:
        """The mean error, a band of one standard error, the least and the chosen one."""
        assert self.errors is not None
        by_rounds = self.errors.shape[1] > 1
        x = np.asarray(self.rounds, dtype=np.float64) if by_rounds else self._positions()
        mean = self.errors.ravel()
        spread = None if self.standard_errors is None else self.standard_errors.ravel()
        marker = "o" if len(x) <= 12 else None
        (curve,) = ax.plot(x, mean, color=_COLORS[0], linewidth=1.6, marker=marker, markersize=4)
        curve.set_label(shortened(self.subject, 36))
        if spread is not None and len(x) > 1:
            ax.fill_between(
                x, mean - spread, mean + spread, color=_COLORS[0], alpha=0.18, linewidth=0, label="± 1 standard error"
            )
        elif spread is not None:
            ax.errorbar(x, mean, yerr=spread, color=_COLORS[0], capsize=3, label="± 1 standard error")
        least = int(mean.argmin())
        at = None if self.chosen is None else self.chosen[1 if by_rounds else 0]
        if spread is not None and len(x) > 1:
            level = {"color": _PALE, "linewidth": 1.0, "linestyle": ":", "zorder": 1}
            ax.axhline(mean[least] + spread[least], label="least + 1 standard error", **level)  # type: ignore[arg-type]
            if at != least:
                label = f"least: {self._in_words(least, by_rounds)}"
                ring = {"markerfacecolor": "white", "markeredgecolor": _COLORS[1], "markersize": 7, "zorder": 4}
                ax.plot(x[least], mean[least], linestyle="", marker="o", label=label, **ring)  # type: ignore[arg-type]
        if at is not None:
            label = f"chosen{', the least' if at == least else ''}: {self._in_words(at, by_rounds)}"
            ax.plot(x[at], mean[at], linestyle="", marker="o", color=_COLORS[1], markersize=7, zorder=5, label=label)
        if by_rounds:
            ax.set(xlabel="rounds", xscale="log")
            _plain_ticks(ax, x)
        else:
            self._strengths_along(ax)
            self._mark_chosen(ax)
        ax.set_ylabel(self.subject.partition(",")[0])
        ax.grid(axis="y", color="#dddddd", linewidth=0.7)
        ax.set_axisbelow(True)
        if len(handles := ax.get_legend_handles_labels()[0]) > 1:
            self._legend(ax, handles, None)

    def _draw_map(self, ax: Axes) -> None:
        """Errors by strength and rounds, a cell each; dots where they are within a standard error of the least."""
        assert self.errors is not None and self.rounds is not None
        S, R = self.errors.shape
        image = ax.imshow(self.errors.T, cmap="viridis_r", aspect="auto", origin="lower", interpolation="nearest")
        least = divmod(int(self.errors.argmin()), R)
        if self.standard_errors is not None:
            near = np.argwhere(self.errors <= self.errors[least] + self.standard_errors[least])
            label = "within a standard error of the least"
            ax.plot(near[:, 0], near[:, 1], linestyle="", marker=".", color=_INK, markersize=3, label=label)
        ring: dict[str, Any] = {"linestyle": "", "markersize": 8, "markerfacecolor": "none", "markeredgewidth": 1.8}
        if self.chosen != least:
            label = f"least: {self._pair_in_words(*least)}"
            ax.plot(*least, marker="s", markeredgecolor=_INK, label=label, **ring)
        if self.chosen is not None:
            label = f"chosen{', the least' if self.chosen == least else ''}: {self._pair_in_words(*self.chosen)}"
            ax.plot(*self.chosen, marker="o", markeredgecolor=_COLORS[1], label=label, **ring)
        shown = np.unique(np.linspace(0, S - 1, min(S, 8)).round().astype(int))
        ax.set_xticks(shown, [f"{self.alphas[i]:.2g}" for i in shown.tolist()])
        shown = np.unique(np.linspace(0, R - 1, min(R, 10)).round().astype(int))
        ax.set_yticks(shown, [f"{self.rounds[t]:,}" for t in shown.tolist()])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set(xlabel=self._of_strengths(), ylabel="rounds")
        figure = ax.get_figure(root=True)
        assert figure is not None
        bar = figure.colorbar(image, ax=ax, fraction=0.05, pad=0.02, aspect=25)
        bar.ax.tick_params(labelsize=8)
        bar.set_label(self.subject, fontsize=9)
        ax.legend(
            handles=ax.get_legend_handles_labels()[0][::-1],
            frameon=False,
            fontsize="small",
            ncols=2,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.01),
            borderaxespad=0.0,
        )

    # --- axes and words ----------------------------------------------------------------------------------------------

    def _positions(self) -> F64:
        """Strengths as places on a logarithmic axis: no penalty at all stands a little beyond the weakest."""
        positive = self.alphas[self.alphas > 0.0]
        beyond = positive.min() / 3.0 if len(positive) else 1.0
        return np.where(self.alphas > 0.0, self.alphas, beyond)

    def _of_strengths(self) -> str:
        return f"{penalty_class(self.penalty).parameter} (weaker penalty to the right)"

    def _strengths_along(self, ax: Axes) -> None:
        """A logarithmic axis from strong to weak."""
        x = self._positions()
        ax.set(xlabel=self._of_strengths(), xscale="log")
        positive = x[self.alphas > 0.0]
        _plain_ticks(ax, x if len(positive) == 0 else positive)
        low, high = float(x.min()), float(x.max())
        room = (high / low) ** 0.02 if high > low else 2.0
        weakest_right = penalty_class(self.penalty).weakens == "raise"
        ax.set_xlim(*((low / room, high * room) if weakest_right else (high * room, low / room)))
        if len(positive) < len(x):  # where no penalty stands, the axis says 0 and not the place
            shown = [tick for tick in ax.get_xticks().tolist() if positive.size and positive.min() <= tick <= high]
            ax.set_xticks([*shown, low], [*[_plain(tick) for tick in shown], "0"])

    def _mark_chosen(self, ax: Axes) -> None:
        if self.chosen is not None:
            at = float(self._positions()[self.chosen[0]])
            ax.axvline(at, color=_COLORS[1], linewidth=1.0, linestyle="--", zorder=1.2)

    def _in_words(self, at: int, by_rounds: bool) -> str:
        if by_rounds:
            assert self.rounds is not None
            return f"{self.rounds[at]:,} rounds"
        return f"{self.alphas[at]:.3g}"

    def _pair_in_words(self, a: int, t: int) -> str:
        return f"{self._in_words(a, False)}, {self._in_words(t, True)}"

    def _legend(self, ax: Axes, handles: Sequence[Any], title: str | None) -> None:
        """Beside the axes, where no curve can be in its way."""
        ax.legend(
            handles=handles,
            title=title,
            frameon=False,
            fontsize="small",
            title_fontsize="small",
            alignment="left",
            loc="upper left",
            bbox_to_anchor=(1.02, 1.0),
            borderaxespad=0.0,
        )


def _where_it_speaks(weight: F64) -> F64:
    """A weight from the last strength before it enters to the first after it leaves: zeros draw no line."""
    speaks = weight != 0.0
    near = speaks.copy()
    near[1:] |= speaks[:-1]
    near[:-1] |= speaks[1:]
    return np.where(near, weight, np.nan)


def _plain_ticks(ax: Axes, x: F64) -> None:
    """Plain numbers at few round places of a logarithmic axis: its minor labels overlap."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    span = float(x.max() / x.min())
    subs = (1.0, 2.0, 5.0) if span < 50 else (1.0, 3.0) if span < 500 else (1.0,)
    ax.xaxis.set_major_locator(LogLocator(subs=subs))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _plain(value)))
    ax.xaxis.set_minor_locator(NullLocator())


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 1.0 else f"{value:g}"


def _shaped(name: str, given: ArrayLike | None, shape: tuple[int, int]) -> F64 | None:
    """Numbers by strength and rounds; those of one number of rounds may come without it."""
    if given is None:
        return None
    values = np.asarray(given, dtype=np.float64)
    if values.shape != shape and (shape[1] > 1 or values.shape != shape[:1]):
        raise ValueError(f"{name} has shape {values.shape}; {shape[0]} alphas and {shape[1]} rounds need {shape}")
    return values.reshape(shape)


def _standard_error(values: F64, axis: int) -> F64 | None:
    """Standard errors of means along an axis; of a single value nothing is known."""
    n = values.shape[axis]
    return np.asarray(values.std(axis=axis, ddof=1) / np.sqrt(n)) if n > 1 else None


def _losses(path: QuadBoostPath, X: Any, y: NDArray[Any]) -> tuple[F64, str]:
    """Errors of all committees of a path on each row, ``(n, S)``, and what they are."""
    learner = path._learner
    scores = path.decision_function(X)
    if not hasattr(learner, "classes_"):
        return (scores - y[:, None]) ** 2, "mean squared error"
    classes = learner.classes_
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(
            f"y holds {y[unknown].tolist()[0]!r}, which is no class of the path; its classes are {classes.tolist()!r}"
        )
    second = scores > 1e-12  # a tie goes to the first class, and rounding makes no winner
    return (second != (y == classes[1])[:, None]).astype(np.float64), "error"
