"""The curves of `bench_pruning`: test error against nodes, a panel for each table."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.pruning_cells import ALL, DEPTHS, FIRST, LEAVES, REFINED, SHARES, WHOLE, Cell
from committee.files.replacement import replacing
from committee.papers.shared.figures import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINES: dict[str, dict[str, Any]] = {
    FIRST: {"color": "#222222", "marker": "o"},
    WHOLE: {"color": "#E69F00", "marker": "s"},
    DEPTHS: {"color": "#009E73", "marker": "^"},
    REFINED: {"color": "#56B4E9", "marker": "v"},
    LEAVES: {"color": "#D55E00", "marker": "D", "linewidth": 2.2, "zorder": 4},
}
PANELS = (3, 5)
DOTS, COLOURS = 110, 64


def draw_curves(results: Path, picture: Path) -> None:
    """Write the picture of a full run.

    Parameters
    ----------
    results : Path
        JSON file of the benchmark.
    picture : Path
        PNG file.
    """
    from matplotlib.figure import Figure

    document = json.loads(results.read_text(encoding="utf-8"))
    curves: dict[str, Cell] = document["settings"]["mean over splits"]
    splits: dict[str, int] = document["settings"]["splits"]
    figure = Figure(figsize=(11.0, 6.6), layout="constrained")
    panels = figure.subplots(*PANELS, sharex=True).ravel()
    for ax, (name, cell) in zip(panels, curves.items(), strict=False):
        _curves(ax, cell)
        splits_of = f"{splits[name]} split{'s' if splits[name] > 1 else ''}"
        ax.set_title(f"{name} ({splits_of})", fontsize="medium", loc="left")
    for ax in panels[len(curves) :]:
        ax.set_visible(False)
    figure.supylabel("test error, %")
    figure.supxlabel(f"share of the nodes of {document['settings']['trees']} trees")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    _save(figure, picture)


def _save(figure: Figure, picture: Path) -> None:
    """In few colours, which lines need not more of: a quarter of the bytes."""
    from PIL import Image

    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=DOTS, metadata={"Software": None})
    few = Image.open(drawn).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    with replacing(picture) as file:
        few.save(file, "png", optimize=True)


def _curves(ax: Axes, cell: Cell) -> None:
    names = list(SHARES)
    every = next(iter(cell[ALL].values()))
    ax.axhline(100.0 * every["error"], color="#999999", linestyle="--", linewidth=1.2, label=ALL)
    place = np.arange(len(names))[::-1]
    for way, style in LINES.items():
        errors = [100.0 * cell[way][share]["error"] for share in names]
        ax.plot(place, errors, label=way, **{"linewidth": 1.2, "markersize": 4, **style})
    ax.set_xticks(place, names)
    plain(ax)
    # a way that fails at the smallest share would flatten the rest
    shown = [100.0 * cell[way][share]["error"] for way in LINES for share in names[:3]]
    shown += [100.0 * every["error"], 100.0 * cell[FIRST]["1/100"]["error"], 100.0 * cell[LEAVES]["1/100"]["error"]]
    low, high = min(shown), max(shown)
    ax.set_ylim(low - 0.06 * (high - low) - 1e-3, high + 0.08 * (high - low) + 1e-3)
