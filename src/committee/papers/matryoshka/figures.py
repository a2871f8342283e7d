"""The document's Figures 2 and 3 (bounds of trees and nested trees by size), and figures of the comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log2, sqrt
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from committee.bounds.nested_trees import tree_factor, two_matryoshka
from committee.data.number_types import F64
from committee.papers.matryoshka.cells import (
    ADABOOST,
    BINARY,
    EXPECTED,
    GREEDY,
    LIKELY,
    METHODS,
    PROBABILISTIC,
    REFERENCE,
    TREE,
    Setting,
    setting_of,
)
from committee.papers.matryoshka.report import Measure, NestingResults, log_loss, measure, wrong
from committee.papers.shared.pages import (
    AMBER,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    grid_of,
    legend_below,
    plain,
    save,
    write_csv,
)
from committee.report.displays.base import INK, new_figure
from committee.report.page import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


RHOS = {"31/32": 31 / 32, "7/8": 7 / 8, "3/4": 3 / 4, "1/2": 1 / 2, "1/4": 1 / 4}  # of Figure 2, from top to bottom
MOST_LEVELS = 16  # T up to 2 to this power
SPLIT_SIZES = (64, 1024, 65_536)  # T on the right of Figure 2; the document does not state its values
SPLIT_RHOS = ("31/32", "7/8")
NESTED_SIZES = (1024, 65_536)  # T of Figure 3
NESTED_RHO = "31/32"
LEVELS_BEYOND = 4  # levels drawn past log2 T, where trees are smaller than two nodes


@dataclass(frozen=True, eq=False)
class Curve:
    name: str  # algorithm, or kind of sizes
    rho: str  # a key of `RHOS`
    T: int | None  # voters, unless they are on the horizontal axis
    x: F64
    y: F64


def by_voters() -> list[Curve]:
    """Figure 2, left: F(T, rho), M_2(T, rho) and rho^T."""
    T = np.exp2(np.arange(MOST_LEVELS + 1.0))
    between = np.exp2(np.linspace(0.0, MOST_LEVELS, 8 * MOST_LEVELS + 1))
    curves = []
    for name, rho in RHOS.items():
        nested = np.array([two_matryoshka(int(size), rho) for size in T])
        curves += [
            Curve("tree", name, None, T, tree_factor(T, rho)),
            Curve("2-matryoshka", name, None, T, nested),
            Curve("AdaBoost", name, None, between, rho**between),
        ]
    return curves


def by_inner_size() -> list[Curve]:
    """Figure 2, right: F(T / T_1, F(T_1, rho))."""
    curves = []
    for name in SPLIT_RHOS:
        for T in SPLIT_SIZES:
            T1 = np.exp2(np.linspace(0.0, log2(T), 16 * round(log2(T)) + 1))
            curves.append(Curve("tree of trees", name, T, T1, tree_factor(T / T1, tree_factor(T1, RHOS[name]))))
    return curves


def by_level() -> list[Curve]:
    """Figure 3: bounds of L nested trees, and of one flat tree."""
    rho, curves = RHOS[NESTED_RHO], []
    for T in NESTED_SIZES:
        every = range(1, round(log2(T)) + LEVELS_BEYOND + 1)
        whole = range(1, round(log2(T)) + 1)
        lines: dict[str, list[float]] = {
            "real sizes": [nested_bound([T ** (1.0 / L)] * L, rho) for L in every],
            "whole sizes, larger inside": [nested_bound(whole_sizes(T, L), rho) for L in whole],
            "whole sizes, larger outside": [nested_bound(whole_sizes(T, L)[::-1], rho) for L in whole],
            "not nested": [float(tree_factor(T, rho)) for _ in every],
        }
        for name, y in lines.items():
            curves.append(Curve(name, NESTED_RHO, T, np.arange(1.0, len(y) + 1.0), np.array(y)))
    return curves


def whole_sizes(T: int, levels: int) -> list[int]:
    """Return whole sizes near T^(1/L) of L nested trees, innermost first, with a product of at most T."""
    # T^(1/L) may be a whole number but for its rounding
    small = floor(round(T ** (1.0 / levels), 9))
    larger = max(m for m in range(levels + 1) if (small + 1) ** m * small ** (levels - m) <= T)
    return [small + 1] * larger + [small] * (levels - larger)


def nested_bound(sizes: Sequence[float], rho: float) -> float:
    """Return F(T_L, ... F(T_2, F(T_1, rho))), the innermost size first (eq. 11)."""
    bound = rho
    for size in sizes:
        bound = float(tree_factor(size, bound))
    return bound


def grid() -> Grid:
    body = []
    for curve in by_inner_size():
        assert curve.T is not None
        T, rho, best = curve.T, RHOS[curve.rho], int(np.argmin(curve.y))
        tree, nested, binary = (f"{b:.4f}" for b in (float(tree_factor(T, rho)), curve.y[best], two_matryoshka(T, rho)))
        adaboost = f"{rho**T:.2g}" if rho**T > 0.0 else "< 1e-300"
        body.append((curve.rho, f"{T:,}", tree, nested, f"{curve.x[best]:.1f}", f"{sqrt(T):.0f}", binary, adaboost))
    columns = ("rho", "T", "tree", "tree of trees", "best T_1", "sqrt T", "2-matryoshka", "AdaBoost")
    title = (
        "Bounds on the expected training error: tree, F(T, rho); tree of trees, least F(T / T_1, F(T_1, rho)) and its"
        " T_1; 2-matryoshka, M_2(T, rho); AdaBoost, rho^T"
    )
    return grid_of(title, columns, body)


def write_bounds(out: Path) -> None:
    for name, curves in (("figure2-left", by_voters()), ("figure2-right", by_inner_size()), ("figure3", by_level())):
        write_csv(_lines(curves), out / f"{name}.csv")
    save(figure2(by_voters(), by_inner_size()), out / "figure2.png")
    save(figure3(by_level()), out / "figure3.png")


def _lines(curves: Sequence[Curve]) -> Iterator[dict[str, object]]:
    for curve in curves:
        first = {"curve": curve.name, "rho": curve.rho, "T": "" if curve.T is None else curve.T}
        for x, y in zip(curve.x.tolist(), curve.y.tolist(), strict=True):
            yield {**first, "x": f"{x:.8g}", "bound": f"{y:.8g}"}


_COLOURS = (INK, BLUE, GREEN, AMBER, ORANGE)  # of each rho, in order of lightness
_LINES = {"tree": "-", "2-matryoshka": (0, (5, 2)), "AdaBoost": (0, (1, 1.5))}
_LEAST = 1e-4  # bounds below it are not drawn


def figure2(left: Sequence[Curve], right: Sequence[Curve]) -> Figure:
    figure = new_figure(11.0, 5.4)
    by_voters, by_size = figure.subplots(1, 2)
    for curve in left:
        colour = _COLOURS[list(RHOS).index(curve.rho)]
        label = f"rho = {curve.rho}" if curve.name == "tree" else None
        seen = curve.y >= _LEAST / 100.0
        by_voters.plot(
            curve.x[seen], curve.y[seen], color=colour, linestyle=_LINES[curve.name], linewidth=1.4, label=label
        )
    for name, line in _LINES.items():
        by_voters.plot([], [], color=GREY, linestyle=line, label=name)
    by_voters.set_yscale("log")
    by_voters.set_ylim(_LEAST, 1.2)
    by_voters.set_ylabel("bound on the expected training error")
    by_voters.set_xlabel("voters T")
    by_voters.legend(frameon=False, fontsize="small", ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.12))
    for curve in right:
        _split(by_size, curve)
    by_size.set_xlabel("nodes of the inner trees, T₁")
    by_size.set_ylim(0.0, 1.0)
    by_size.legend(frameon=False, fontsize="small", ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.12))
    for ax in (by_voters, by_size):
        ax.set_xscale("log", base=2)
        plain(ax)
    return figure


def _split(ax: Axes, curve: Curve) -> None:
    assert curve.T is not None
    colour = (INK, BLUE)[SPLIT_RHOS.index(curve.rho)]
    line = ("-", (0, (5, 2)), (0, (1, 1.5)))[SPLIT_SIZES.index(curve.T)]
    ax.plot(curve.x, curve.y, color=colour, linestyle=line, linewidth=1.4, label=f"rho = {curve.rho}, T = {curve.T:,}")
    best = int(np.argmin(curve.y))
    ax.plot(curve.x[best], curve.y[best], color=colour, marker="o", markersize=5)
    at_root = float(np.interp(np.log(sqrt(curve.T)), np.log(curve.x), curve.y))
    ax.plot(sqrt(curve.T), at_root, color=colour, marker="|", markersize=11)


def figure3(curves: Sequence[Curve]) -> Figure:
    styles = {
        "real sizes": (INK, "-", "o"),
        "whole sizes, larger inside": (ORANGE, "-", "v"),
        "whole sizes, larger outside": (BLUE, "-", "^"),
        "not nested": (GREY, "--", ""),
    }
    figure = new_figure(10.0, 4.2)
    for ax, T in zip(figure.subplots(1, 2, sharey=True), NESTED_SIZES, strict=True):
        for curve in curves:
            if curve.T == T:
                colour, line, marker = styles[curve.name]
                ax.plot(
                    curve.x, curve.y, color=colour, linestyle=line, marker=marker, markersize=4, linewidth=1.2,
                    alpha=0.55 if "whole" in curve.name else 1.0, label=curve.name,
                )  # fmt: skip
        ax.axvline(np.log2(T), color=GREY, linewidth=0.8, linestyle=":")
        ax.set_xlabel("levels of nesting L")
        ax.set_yscale("log")
        ax.set_ylim(0.004, 1.1)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.label_outer()
        plain(ax, f"T = {T:,}, rho = 31/32; dotted: trees of two nodes")
    figure.axes[0].set_ylabel("bound on the expected training error")
    figure.axes[0].legend(frameon=False, fontsize="small", loc="lower left")
    return figure


_STYLES = {
    ADABOOST: (BLUE, "o"),
    TREE: (ORANGE, "s"),
    BINARY: (GREEN, "D"),
    GREEDY: (PINK, "v"),
    REFERENCE: ("#777777", "x"),
}
_DRAWN = 1e-3  # smaller bounds are drawn at this value


def write(results: NestingResults, out: Path) -> None:
    for draw in (bounds, cost, softness, draws):
        save(draw(results), out / f"{draw.__name__}.png")


def bounds(results: NestingResults) -> Figure:
    across = min(4, len(results.tables))
    down = ceil(len(results.tables) / across)
    picture = new_figure(2.9 * across, 2.4 * down + 0.5)
    panels = picture.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    for ax, table in zip(panels, results.tables, strict=False):
        for method in METHODS:
            C = _course(results, results.largest(method, table), table)
            color, marker = _STYLES[method]
            ax.plot(
                2 ** np.arange(len(C)), np.maximum(C, _DRAWN), color=color, marker=marker, markersize=3, linewidth=1.1,
                label=method,
            )  # fmt: skip
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        ax.set_ylim(_DRAWN, 1.15)
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
    cells = results.of_table(table, setting)
    count = setting.voters.bit_length()
    runs = [[*cell["bounds"], *[cell["bound"]] * count][:count] for cell in cells]
    return np.asarray(np.mean(runs, axis=0), dtype=np.float64)


def cost(results: NestingResults) -> Figure:
    tables = results.shared(results.plan.by_size())
    ways: list[tuple[str, str, Measure]] = [
        ("E[H]", "needed", wrong(EXPECTED)),
        ("likeliest path", "steps", wrong(LIKELY)),
        ("one sampled path", "met", measure("path_error")),
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
        ax.set_xlabel("voters evaluated per row")
        plain(ax, title)
    panels[0].set_ylabel(f"test error, %, mean of {len(tables)} tables")
    legend_below(picture, panels[0], len(METHODS))
    return picture


def softness(results: NestingResults) -> Figure:
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
    picture = new_figure(11.0, 6.4)
    panels = picture.subplots(2, len(results.plan.drawn), sharex=True, sharey="row", squeeze=False)
    for (above, below), method in zip(panels.T, results.plan.drawn, strict=True):
        settings = [setting for setting in results.plan.by_draws() if setting.method == method]
        tables = results.shared(settings)
        for ax, name in ((above, "true_bound"), (above, "bound"), (below, "error")):
            values = [_drawn_value(results, setting, name, tables) for setting in settings]
            if name != "bound":
                ax.axhline(values[0], color=GREY, linewidth=1.0, label="known q" if ax is above else None)
            for estimate, color in (("map", BLUE), ("ml", ORANGE)):
                points = [
                    (results.mean(setting, measure("draws"), tables), value, isinstance(setting.n_draws, str))
                    for setting, value in zip(settings, values, strict=True)
                    if setting.estimate == estimate and setting.n_draws is not None
                ]
                what = {"true_bound": "true C", "bound": "estimated C"}.get(name)
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
    if name == "error":
        return 100.0 * results.mean(setting, wrong(EXPECTED), tables)
    return results.geometric_mean(setting, name, tables)


def _points(
    ax: Axes, points: Sequence[tuple[float, float, bool]], color: str, *, dashed: bool, label: str | None
) -> None:
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
