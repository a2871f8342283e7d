"""The curves of `bench_pruning`: test error and log loss against nodes, a column of panels for each ensemble."""

from __future__ import annotations

import io
import json
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.pruning_ways import ALL, DEPTHS, FIRST, LEAVES, LEVELS, REFINED, WHOLE
from committee.files.writing import replacing
from committee.papers.shared.pages import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINES: dict[str, dict[str, Any]] = {
    FIRST: {"color": "#222222", "marker": "o"},
    WHOLE: {"color": "#E69F00", "marker": "s"},
    DEPTHS: {"color": "#009E73", "marker": "^"},
    REFINED: {"color": "#56B4E9", "marker": "v"},
    LEVELS: {"color": "#CC79A7", "marker": "P"},
    LEAVES: {"color": "#D55E00", "marker": "D", "linewidth": 2.2, "zorder": 4},
}
DRAWN = ("RF(500)", "RF(100)", "XGBoost(100)", "LightGBM(100)")
MEASURES = {"error": ("test error, %", 100.0), "log_loss": ("log loss", 1.0)}
DOTS, COLOURS = 110, 64


def draw_curves(results: Path, picture: Path) -> None:
    """Write the picture of a run.

    Parameters
    ----------
    results : Path
        JSON file of the benchmark.
    picture : Path
        PNG file.
    """
    from matplotlib.figure import Figure

    found = json.loads(results.read_text(encoding="utf-8"))["settings"]["mean over splits"]
    drawn = [name for name in DRAWN if name in found]
    figure = Figure(figsize=(11.0, 5.6), layout="constrained")
    panels = figure.subplots(len(MEASURES), len(drawn), sharex=True, squeeze=False)
    for column, name in zip(panels.T, drawn, strict=True):
        tables = list(found[name].values())
        for ax, (measure, (_, scale)) in zip(column, MEASURES.items(), strict=True):
            _curves(ax, tables, measure, scale)
        column[0].set_title(f"{name}, {len(tables)} tables", fontsize="medium", loc="left")
    for ax, (label, _) in zip(panels[:, 0], MEASURES.values(), strict=True):
        ax.set_ylabel(label)
    figure.supxlabel("share of the nodes")
    known: dict[str, Any] = {}
    for ax in panels[0]:
        known |= {label: handle for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    shown = [label for label in (ALL, *LINES) if label in known]
    handles = [known[label] for label in shown]
    figure.legend(handles, shown, loc="outside upper center", ncols=len(shown), frameon=False)
    _save(figure, picture)


def _save(figure: Figure, picture: Path) -> None:
    """In few colours, which lines need not more of: a quarter of the bytes."""
    from PIL import Image

    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=DOTS, metadata={"Software": None})
    few = Image.open(drawn).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    with replacing(picture) as file:
        few.save(file, "png", optimize=True)


def _curves(ax: Axes, tables: list[Any], measure: str, scale: float) -> None:
    """Means over the tables."""
    shares = list(tables[0][ALL])
    lines = {
        way: [scale * mean(of[way][share][measure] for of in tables) for share in shares]
        for way in (ALL, *LINES)
        if all(way in of for of in tables)
    }
    ax.axhline(lines[ALL][0], color="#999999", linestyle="--", linewidth=1.2, label=ALL)
    place = np.arange(len(shares))[::-1]
    for way, style in LINES.items():
        if way in lines:
            ax.plot(place, lines[way], label=way, **{"linewidth": 1.2, "markersize": 4, **style})
    ax.set_xticks(place, shares)
    plain(ax)
    # a way that fails at the smallest share would flatten the rest
    shown = [value for way, values in lines.items() for value in (values if way in (ALL, LEAVES) else values[:3])]
    low, high = min(shown), max(shown)
    ax.set_ylim(low - 0.06 * (high - low) - 1e-3, high + 0.08 * (high - low) + 1e-3)
