"""Figures of the rebuilt comparison of nested trees: bounds, what errors cost, softness, draws."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from committee.data.number_types import F64
from committee.papers.matryoshka.cells import EXPECTED, LIKELY
from committee.papers.matryoshka.plan import ADABOOST, BINARY, GREEDY, METHODS, PROBABILISTIC, REFERENCE, TREE, Setting
from committee.papers.matryoshka.results import Measure, NestingResults, log_loss, measure, setting_of, wrong
from committee.papers.shared.figures import BLUE, GREEN, GREY, ORANGE, PINK, legend_below, plain, save
from committee.report.displays.base import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLES = {
    ADABOOST: (BLUE, "o"),
    TREE: (ORANGE, "s"),
    BINARY: (GREEN, "D"),
    GREEDY: (PINK, "v"),
    REFERENCE: ("#777777", "x"),
}
_LEAST = 1e-3
"""Bounds below it are drawn as it."""


def write(results: NestingResults, out: Path) -> None:
    """Write ``bounds.png``, ``cost.png``, ``softness.png`` and ``draws.png``."""
    for draw in (bounds, cost, softness, draws):
        save(draw(results), out / f"{draw.__name__}.png")


def bounds(results: NestingResults) -> Figure:
    """The bound while training, a panel for each table; mean over the splits."""
    across = min(4, len(results.tables))
    down = ceil(len(results.tables) / across)
    picture = new_figure(2.9 * across, 2.4 * down + 0.5)
    panels = picture.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    for ax, table in zip(panels, results.tables, strict=False):
        for method in METHODS:
            C = _course(results, results.largest(method, table), table)
            color, marker = _STYLES[method]
            ax.plot(
                2 ** np.arange(len(C)), np.maximum(C, _LEAST), color=color, marker=marker, markersize=3, linewidth=1.1,
                label=method,
            )  # fmt: skip
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        ax.set_ylim(_LEAST, 1.15)
        plain(ax, table)
    for ax in panels[len(results.tables) :]:
        ax.set_visible(False)
    for ax in panels[: len(results.tables)][-across:]:  # below the last one of a column there may be hidden ones
        ax.set_xlabel("voters")
        ax.tick_params(labelbottom=True)
    picture.supylabel("bound on the expected training error", fontsize="medium")
    legend_below(picture, panels[0], len(METHODS))
    return picture


def _course(results: NestingResults, setting: Setting, table: str) -> F64:
    """Bounds after 1, 2, 4, ... voters; a run that ended by itself stays what it was."""
    cells = results.of_table(table, setting)
    count = setting.voters.bit_length()
    runs = [[*cell["bounds"], *[cell["bound"]] * count][:count] for cell in cells]
    return np.asarray(np.mean(runs, axis=0), dtype=np.float64)


def cost(results: NestingResults) -> Figure:
    """Test errors by the voters that a row needs: for E[H], on the likeliest path, on one sampled path."""
    tables = results.shared(results.plan.by_size())
    ways: list[tuple[str, str, Measure]] = [
        ("E[H], all that a row may meet", "needed", wrong(EXPECTED)),
        ("the likeliest path", "steps", wrong(LIKELY)),
        ("one path drawn", "met", measure("path_error")),
    ]
    picture = new_figure(11.0, 4.2)
    panels = picture.subplots(1, 3, sharex=True, sharey=True)
    for ax, (title, asked, error) in zip(panels, ways, strict=True):
        for method in METHODS:
            if method == REFERENCE and asked != "needed":
                continue
            settings = [setting_of(method, T) for T in results.plan.sizes]
            color, marker = _STYLES[method]
            ax.plot(
                [results.mean(setting, measure(asked), tables) for setting in settings],
                [100.0 * results.mean(setting, error, tables) for setting in settings],
                color=color, marker=marker, markersize=5, linewidth=1.2, label=method,
            )  # fmt: skip
        ax.set_xscale("log", base=2)
        ax.set_xlabel("voters asked of a row")
        plain(ax, title)
    panels[0].set_ylabel(f"test error, %, mean of {len(tables)} tables")
    legend_below(picture, panels[0], len(METHODS))
    return picture


def softness(results: NestingResults) -> Figure:
    """Bound, test error and log loss by the softness of the stumps; means over the tables."""
    picture = new_figure(11.0, 4.2)
    panels = picture.subplots(1, 3)
    shown: list[tuple[str, Measure, Measure | None, float]] = [
        ("bound C", measure("bound"), None, 1.0),
        ("test error, %; dashed: likeliest path", wrong(EXPECTED), wrong(LIKELY), 100.0),
        ("log loss", log_loss(EXPECTED), None, 1.0),
    ]
    for ax, (title, what, other, unit) in zip(panels, shown, strict=True):
        for method in PROBABILISTIC:
            settings = [setting for setting in results.plan.by_softness() if setting.method == method]
            tables = results.shared(settings)
            color, marker = _STYLES[method]
            place = np.arange(len(settings))
            for shown_by, line in ((what, "-"), (other, "--")):
                if shown_by is not None:
                    ax.plot(
                        place, [unit * results.mean(setting, shown_by, tables) for setting in settings], color=color,
                        marker=marker, markersize=4, linestyle=line, linewidth=1.2,
                        label=method if line == "-" else None,
                    )  # fmt: skip
        ax.set_xticks(place, [f"{setting.softness:g}" for setting in settings])
        ax.set_xlabel("softness, standard deviations")
        plain(ax, title)
    legend_below(picture, panels[0], len(PROBABILISTIC))
    return picture


def draws(results: NestingResults) -> Figure:
    """Bounds, estimated and true, and test errors by the number of draws; means over the tables."""
    picture = new_figure(11.0, 6.4)
    panels = picture.subplots(2, len(results.plan.drawn), sharex=True, sharey="row", squeeze=False)
    for (above, below), method in zip(panels.T, results.plan.drawn, strict=True):
        settings = [setting for setting in results.plan.by_draws() if setting.method == method]
        tables = results.shared(settings)
        for ax, name in ((above, "true_bound"), (above, "bound"), (below, "error")):
            values = [_drawn_value(results, setting, name, tables) for setting in settings]
            if name != "bound":
                ax.axhline(values[0], color=GREY, linewidth=1.0, label="q known" if ax is above else None)
            for estimate, color in (("map", BLUE), ("ml", ORANGE)):
                points = [
                    (results.mean(setting, measure("draws"), tables), value, isinstance(setting.n_draws, str))
                    for setting, value in zip(settings, values, strict=True)
                    if setting.estimate == estimate and setting.n_draws is not None
                ]
                what = {"true_bound": "true C", "bound": "told C"}.get(name)
                label = what and f"{estimate.upper()}, {what}"
                _points(ax, points, color, dashed=name == "bound", label=label)
            ax.set_xscale("log", base=2)
            plain(ax, method if ax is above else None)
        above.set_yscale("log")
        below.set_xlabel("draws (star: until Z first rises)")
    panels[0, 0].set_ylabel("bound C, geometric mean")
    panels[1, 0].set_ylabel("test error, %")
    legend_below(picture, panels[0, 0], 5)
    return picture


def _drawn_value(results: NestingResults, setting: Setting, name: str, tables: Sequence[str]) -> float:
    """A bound, or the test error in percent."""
    if name == "error":
        return 100.0 * results.mean(setting, wrong(EXPECTED), tables)
    return results.geometric_mean(setting, name, tables)


def _points(
    ax: Axes, points: Sequence[tuple[float, float, bool]], color: str, *, dashed: bool, label: str | None
) -> None:
    """Numbers of draws joined by a line; a rule's own mean number as a star."""
    counted = [(x, y) for x, y, by_rule in points if not by_rule]
    line = "--" if dashed else "-"
    fill = "white" if dashed else color
    ax.plot(
        *zip(*counted, strict=True), color=color, linestyle=line, marker="o", markersize=4, markerfacecolor=fill,
        linewidth=1.2, label=label,
    )  # fmt: skip
    for x, y, by_rule in points:
        if by_rule:
            ax.plot(x, y, color=color, linestyle="", marker="*", markersize=11, markerfacecolor=fill)
