"""Panels of a regularisation path: weights, and errors as a curve or a map, against the strength of the penalty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.objectives.programs.named_penalties import penalty_class
from committee.report.displays.base import (
    COLORS,
    INK,
    PALE,
    grid,
    legend_above,
    legend_beside,
    plain_log_ticks,
    plain_number,
    shortened,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NAMED = len(COLORS) - 1
"""Columns with a colour of their own; the last colour of the palette is an ink."""

_OTHERS = "#bbbbbb"


@dataclass(frozen=True, eq=False)
class StrengthAxis:
    """Strengths of a penalty, strongest first, along a logarithmic axis; one of them may be the chosen one."""

    alphas: F64
    penalty: str | None
    chosen: int | None

    @property
    def positions(self) -> F64:
        """Strengths as places on a logarithmic axis: no penalty at all stands a little beyond the weakest."""
        positive = self.alphas[self.alphas > 0.0]
        beyond = positive.min() / 3.0 if len(positive) else 1.0
        return np.where(self.alphas > 0.0, self.alphas, beyond)

    @property
    def label(self) -> str:
        """Label of the axis."""
        return f"{penalty_class(self.penalty).parameter} (weaker penalty to the right)"

    def put_on(self, ax: Axes) -> None:
        """Make it the horizontal axis, from strong to weak, and mark the chosen strength."""
        x = self.positions
        ax.set(xlabel=self.label, xscale="log")
        positive = x[self.alphas > 0.0]
        labelled = positive if len(positive) else x
        plain_log_ticks(ax.xaxis, float(labelled.min()), float(labelled.max()))
        low, high = float(x.min()), float(x.max())
        room = (high / low) ** 0.02 if high > low else 2.0
        limits = low / room, high * room
        rising = penalty_class(self.penalty).weakens == "raise"
        ax.set_xlim(*(limits if rising else limits[::-1]))
        if len(positive) < len(x):  # where no penalty stands, the axis says 0 and not the place
            shown = [tick for tick in ax.get_xticks().tolist() if positive.size and positive.min() <= tick <= high]
            ax.set_xticks([*shown, low], [*[plain_number(tick) for tick in shown], "0"])
        if self.chosen is not None:
            ax.axvline(float(x[self.chosen]), color=COLORS[1], linewidth=1.0, linestyle="--", zorder=1.2)


@dataclass(frozen=True, eq=False)
class WeightPanel:
    """A curve for each voter; those of the columns of the largest weights in colour, and above the others."""

    strengths: StrengthAxis
    weights: F64
    columns: Sequence[str]
    max_columns: int
    max_voters: int

    def draw(self, ax: Axes) -> None:
        """Draw the curves of the voters with the largest weights."""
        from matplotlib.lines import Line2D

        x = self.strengths.positions
        largest = np.abs(self.weights).max(axis=0, initial=0.0)
        order = np.argsort(-largest, kind="stable")[: self.max_voters]
        order = order[largest[order] > 0.0]
        ranked = self._ranked_columns()
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
        self.strengths.put_on(ax)
        n_used = np.count_nonzero(largest)
        title = f"largest {len(order)} of {n_used} voters" if len(order) < n_used else f"{n_used} voters"
        self._count_voters_above(ax)
        legend_beside(ax, handles=handles, title=title)

    def _ranked_columns(self) -> list[str]:
        """Columns of any weight, those with the largest sums of weights (over all strengths) first."""
        number = {name: i for i, name in enumerate(dict.fromkeys(self.columns))}
        total = np.zeros(len(number))
        np.add.at(total, [number[name] for name in self.columns], np.abs(self.weights).sum(axis=0))
        names = list(number)
        return [names[i] for i in np.argsort(-total, kind="stable").tolist() if total[i] > 0.0]

    def _count_voters_above(self, ax: Axes) -> None:
        """Number of voters of any weight, along the upper edge; nothing where that is always the same."""
        count = np.count_nonzero(self.weights, axis=1)
        if (count == count[-1]).all():
            return
        at = np.unique(np.linspace(0, len(count) - 1, min(len(count), 9)).round().astype(int))
        above = ax.secondary_xaxis("top")
        ticks = self.strengths.positions[at], [str(count[i]) for i in at.tolist()]
        above.set_xticks(*ticks, fontsize=8, color="#666666")
        above.minorticks_off()
        above.tick_params(length=0, pad=1)
        above.spines["top"].set_visible(False)
        above.set_xlabel("voters of any weight", fontsize=8, color="#666666")


@dataclass(frozen=True, eq=False)
class ErrorPanel:
    """Mean errors by strength or by rounds as a curve with one standard error either side, by both as a map."""

    strengths: StrengthAxis
    errors: F64
    standard_errors: F64 | None
    rounds: NDArray[Any] | None
    chosen: tuple[int, int] | None
    subject: str

    @property
    def is_map(self) -> bool:
        """Whether there are several strengths and several numbers of rounds."""
        return bool(min(self.errors.shape) > 1)

    def draw(self, ax: Axes) -> None:
        """Draw the curve or the map."""
        if self.is_map:
            self._draw_map(ax)
        else:
            self._draw_curve(ax)

    def _draw_curve(self, ax: Axes) -> None:
        by_rounds = self.errors.shape[1] > 1
        x = np.asarray(self.rounds, dtype=np.float64) if by_rounds else self.strengths.positions
        mean = self.errors.ravel()
        marker = "o" if len(x) <= 12 else None
        label = shortened(self.subject, 36)
        ax.plot(x, mean, color=COLORS[0], linewidth=1.6, marker=marker, markersize=4, label=label)
        least = int(mean.argmin())
        at = None if self.chosen is None else self.chosen[1 if by_rounds else 0]
        if self.standard_errors is not None:
            self._draw_spread(ax, x, mean, self.standard_errors.ravel())
            if len(x) > 1 and at != least:
                ring: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": COLORS[1], "zorder": 4}
                label = f"least: {self._in_words(least, by_rounds)}"
                ax.plot(x[least], mean[least], linestyle="", marker="o", markersize=7, label=label, **ring)
        if at is not None:
            label = f"chosen{', the least' if at == least else ''}: {self._in_words(at, by_rounds)}"
            ax.plot(x[at], mean[at], linestyle="", marker="o", color=COLORS[1], markersize=7, zorder=5, label=label)
        if by_rounds:
            ax.set(xlabel="rounds", xscale="log")
            plain_log_ticks(ax.xaxis, float(x.min()), float(x.max()))
        else:
            self.strengths.put_on(ax)
        ax.set_ylabel(self.subject.partition(",")[0])
        grid(ax, "y")
        if len(handles := ax.get_legend_handles_labels()[0]) > 1:
            legend_beside(ax, handles=handles)

    def _draw_spread(self, ax: Axes, x: F64, mean: F64, spread: F64) -> None:
        """A band of one standard error, and the level of the least error plus its standard error."""
        label = "± 1 standard error"
        if len(x) == 1:
            ax.errorbar(x, mean, yerr=spread, color=COLORS[0], capsize=3, label=label)
            return
        ax.fill_between(x, mean - spread, mean + spread, color=COLORS[0], alpha=0.18, linewidth=0, label=label)
        level = (mean + spread)[mean.argmin()]
        ax.axhline(level, label="least + 1 standard error", color=PALE, linewidth=1.0, linestyle=":", zorder=1)

    def _draw_map(self, ax: Axes) -> None:
        """A cell for each strength and number of rounds; dots where it is within a standard error of the least."""
        assert self.rounds is not None
        S, R = self.errors.shape
        image = ax.imshow(self.errors.T, cmap="viridis_r", aspect="auto", origin="lower", interpolation="nearest")
        least = divmod(int(self.errors.argmin()), R)
        if self.standard_errors is not None:
            near = np.argwhere(self.errors <= self.errors[least] + self.standard_errors[least])
            label = "within a standard error of the least"
            ax.plot(near[:, 0], near[:, 1], linestyle="", marker=".", color=INK, markersize=3, label=label)
        ring: dict[str, Any] = {"linestyle": "", "markersize": 8, "markerfacecolor": "none", "markeredgewidth": 1.8}
        if self.chosen != least:
            ax.plot(*least, marker="s", markeredgecolor=INK, label=f"least: {self._pair_in_words(least)}", **ring)
        if self.chosen is not None:
            label = f"chosen{', the least' if self.chosen == least else ''}: {self._pair_in_words(self.chosen)}"
            ax.plot(*self.chosen, marker="o", markeredgecolor=COLORS[1], label=label, **ring)
        shown = np.unique(np.linspace(0, S - 1, min(S, 8)).round().astype(int))
        ax.set_xticks(shown, [f"{self.strengths.alphas[i]:.2g}" for i in shown.tolist()])
        shown = np.unique(np.linspace(0, R - 1, min(R, 10)).round().astype(int))
        ax.set_yticks(shown, [f"{self.rounds[t]:,}" for t in shown.tolist()])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set(xlabel=self.strengths.label, ylabel="rounds")
        figure = ax.get_figure(root=True)
        assert figure is not None
        bar = figure.colorbar(image, ax=ax, fraction=0.05, pad=0.02, aspect=25)
        bar.ax.tick_params(labelsize=8)
        bar.set_label(self.subject, fontsize=9)
        legend_above(ax, handles=ax.get_legend_handles_labels()[0][::-1])

    def _in_words(self, at: int, by_rounds: bool) -> str:
        if by_rounds:
            assert self.rounds is not None
            return f"{self.rounds[at]:,} rounds"
        return f"{self.strengths.alphas[at]:.3g}"

    def _pair_in_words(self, pair: tuple[int, int]) -> str:
        return f"{self._in_words(pair[0], False)}, {self._in_words(pair[1], True)}"


def _without_zeros(weight: F64) -> F64:
    """A weight from the last strength before it enters to the first after it leaves: zeros draw no line."""
    near = weight != 0.0
    near[1:] |= weight[:-1] != 0.0
    near[:-1] |= weight[1:] != 0.0
    return np.where(near, weight, np.nan)
