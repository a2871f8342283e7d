"""Pictures of the lecture notes' experiments: margins, gradient boosting, the out-of-bag error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from committee.papers.lectures.boosting import ADABOOST
from committee.papers.lectures.forest import UNSEEN, ForestCurves
from committee.papers.lectures.margins import ALL, LEVELS, REFUSING, STUMPS, TREES, MarginCurves
from committee.papers.sbpmt.figures import plain, save
from committee.papers.sbpmt.mease_wyner import NOISE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["MARGIN_PICTURES", "boosting", "forest", "save"]

F64 = NDArray[np.float64]

_INK, _GREY = "#222222", "#999999"
_COLOURS = ("#56B4E9", "#0072B2", "#D55E00")
"""Few, many and most rounds: told apart by their lightness too."""
_DASHES = (0, (4, 2))
_ACROSS, _UP = "margin θ", "share of rows with margin ≤ θ"


def stumps(found: Sequence[MarginCurves]) -> Figure:
    """One class against the rest, a panel each: margins of boosted stumps after each number of rounds."""
    own = [c for c in found if c.learner == STUMPS]
    colour = {T: k for k, T in enumerate(dict.fromkeys(c.rounds for c in own))}
    lines = [(c, f"{c.rounds:,} rounds", colour[c.rounds]) for c in own]
    return _panels(lines, "stumps: one class of vehicle against the rest")


def refusing(found: Sequence[MarginCurves]) -> Figure:
    """Stumps that may refuse beside those that may not, after most rounds."""
    most = max(c.rounds for c in found)
    chosen = [c for c in found if c.learner in (STUMPS, REFUSING) and c.rounds == most]
    lines = [(c, c.learner, 1 + (c.learner == REFUSING)) for c in chosen]
    return _panels(lines, f"with and without refusals, after {most:,} rounds")


def trees(found: Sequence[MarginCurves]) -> Figure:
    """All classes at once, by trees."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.6), layout="constrained")
    ax = figure.subplots()
    own = [c for c in found if c.learner == TREES]
    for k, c in enumerate(own):
        _curve(ax, c, f"{c.rounds:,} rounds", k)
    _margin_axes(ax, own)
    ax.set_xlabel(_ACROSS)
    ax.set_ylabel(_UP)
    ax.set_title(f"{TREES}: {ALL} classes of vehicle", loc="left", fontsize="medium")
    _legend_above(figure, ax)
    return figure


MARGIN_PICTURES: dict[str, Callable[[Sequence[MarginCurves]], Figure]] = {
    "margins-stumps": stumps,
    "margins-refusing": refusing,
    "margins-trees": trees,
}
"""Names of files, and what draws them."""


def boosting(curves: dict[str, dict[tuple[str, float], F64]]) -> Figure:
    """Test error after every round: losses on the left, subsamples in the middle (two classes) and right (numbers)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 4.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    colours = (_GREY, _COLOURS[1], _COLOURS[2], "#009E73")
    losses = [(loss, curve) for (loss, subsample), curve in curves["classes"].items() if subsample == 1.0]
    for (loss, curve), colour in zip(losses, colours, strict=True):
        name = "AdaBoost" if loss == ADABOOST else loss.replace("_", " ")
        left.plot(np.arange(1, len(curve) + 1), 100.0 * curve, color=colour, linewidth=1.4, label=name)
    for ax, task, loss, scale in ((middle, "classes", "log_loss", 100.0), (right, "numbers", "squared_error", 1.0)):
        own = [(subsample, curve) for (name, subsample), curve in curves[task].items() if name == loss]
        for (subsample, curve), colour in zip(own, (_INK, _COLOURS[1], _COLOURS[2]), strict=True):
            label = "all rows" if subsample == 1.0 else f"{subsample:g} of the rows"
            ax.plot(np.arange(1, len(curve) + 1), scale * curve, color=colour, linewidth=1.4, label=label)
    for ax, title in (
        (left, "two classes, by loss"),
        (middle, "two classes, log loss, by subsample"),
        (right, "regression, squared error, by subsample"),
    ):
        drawn = [np.asarray(line.get_ydata()) for line in ax.lines]
        least, first = min(curve.min() for curve in drawn), max(curve[0] for curve in drawn)
        # the first rounds are all alike, and would leave the others no room
        ax.set_ylim(least - 0.03 * (first - least), least + (0.5 if ax is not right else 0.25) * (first - least))
        ax.set_xlabel("rounds")
        ax.set_title(title, loc="left", fontsize="medium")
        ax.legend(frameon=False, fontsize="small")
        plain(ax)
    left.set_ylabel("test error, %")
    middle.set_ylabel("test error, %")
    right.set_ylabel("test RMSE")
    return figure


def forest(found: ForestCurves, n: int) -> Figure:
    """Out-of-bag and test error by the number of trees: means, and two standard errors of their differences."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    repeats, trees = found.oob.shape
    T = np.arange(1, trees + 1)
    for errors, name, colour, line in (
        (found.oob, "out of bag", _COLOURS[2], "-"),
        (found.test, "new rows", _COLOURS[1], "--"),
    ):
        left.plot(T, 100.0 * errors.mean(axis=0), color=colour, linestyle=line, linewidth=1.5, label=name)
    left.axhline(100.0 * NOISE, color=_GREY, linewidth=0.9, linestyle=":", label="the best rule")
    left.set_ylabel("error, %")
    left.legend(frameon=False, fontsize="small")
    for test, name, colour in (
        (found.test, "less new rows", _COLOURS[1]),
        (found.test_of_as_many, f"less new rows with {UNSEEN:.0%} of the trees", _INK),
    ):
        difference = 100.0 * (found.oob - test)
        mean = difference.mean(axis=0)
        right.plot(T, mean, color=colour, linewidth=1.4, label=name)
        if repeats > 1:
            band = 2.0 * difference.std(axis=0, ddof=1) / np.sqrt(repeats)
            right.fill_between(T, mean - band, mean + band, color=colour, alpha=0.2, linewidth=0)
    right.legend(frameon=False, fontsize="small")
    right.axhline(0.0, color=_GREY, linewidth=0.9)
    right.set_ylabel("out-of-bag error less another, %")
    for ax in (left, right):
        ax.set_xscale("log")
        ax.set_xlabel("trees")
        ax.xaxis.set_major_formatter("{x:g}")
        plain(ax)
    left.set_title(f"random forest on {n:,} rows, mean of {repeats}", loc="left", fontsize="medium")
    right.set_title("what the out-of-bag error is too high by", loc="left", fontsize="medium")
    return figure


def _panels(lines: Sequence[tuple[MarginCurves, str, int]], title: str) -> Figure:
    """A panel for each class, with the curves that belong to it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 7.0), layout="constrained")
    problems = list(dict.fromkeys(c.problem for c, _, _ in lines))
    axes = figure.subplots(-(-len(problems) // 2), 2, sharex=True, sharey=True, squeeze=False)
    for ax, problem in zip(axes.ravel(), problems, strict=False):
        for c, name, colour in lines:
            if c.problem == problem:
                _curve(ax, c, name, colour)
        _margin_axes(ax, [c for c, _, _ in lines])
        ax.set_title(problem, loc="left", fontsize="medium")
    for ax in axes.ravel()[len(problems) :]:
        ax.set_visible(False)
    for ax in axes[-1]:
        ax.set_xlabel(_ACROSS)
    for ax in axes[:, 0]:
        ax.set_ylabel(_UP)
    figure.suptitle(title, fontsize="medium")
    _legend_above(figure, axes[0, 0])
    return figure


def _curve(ax: Axes, c: MarginCurves, name: str, colour: int) -> None:
    ax.plot(LEVELS, c.train, color=_COLOURS[colour], linewidth=1.6, label=name)
    ax.plot(LEVELS, c.test, color=_COLOURS[colour], linewidth=1.1, linestyle=_DASHES, alpha=0.9)


def _margin_axes(ax: Axes, found: Sequence[MarginCurves]) -> None:
    """As wide as the margins of nearly all rows."""
    inner = np.any([(shares > 0.002) & (shares < 0.998) for c in found for shares in (c.train, c.test)], axis=0)
    low, high = LEVELS[np.flatnonzero(inner)[[0, -1]]]
    ax.axvline(0.0, color=_INK, linewidth=0.7)
    ax.set_xlim(np.floor(10.0 * low - 0.5) / 10.0, np.ceil(10.0 * high + 0.5) / 10.0)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_ylim(-0.01, 1.01)
    plain(ax)


def _legend_above(figure: Figure, ax: Axes) -> None:
    """Names of the colours and of the two kinds of line, above all panels: curves fill the panels."""
    from matplotlib.lines import Line2D

    handles, labels = ax.get_legend_handles_labels()
    handles.append(Line2D([], [], color=_INK, linewidth=1.6))
    handles.append(Line2D([], [], color=_INK, linewidth=1.1, linestyle=_DASHES))
    figure.legend(
        handles, [*labels, "training rows", "test rows"], loc="outside lower center", ncols=len(handles), frameon=False,
        fontsize="small",
    )  # fmt: skip
