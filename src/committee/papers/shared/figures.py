"""Pictures of the papers: colours by name, axes with a title, a legend below, files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from committee.files.writing import replacing
from committee.report.displays.base import COLORS, GRID, PALE, open_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, PINK, AMBER, SKY, _ = COLORS
GREY = PALE


def plain(ax: Axes, title: str | None = None) -> None:
    """Take the frame away above and on the right; draw faint lines across, and the title on the left."""
    open_axes(ax)
    ax.grid(axis="y", color=GRID, linewidth=0.7)
    ax.set_axisbelow(True)
    if title is not None:
        ax.set_title(title, loc="left", fontsize="medium")


def legend_below(figure: Figure, ax: Axes, columns: int) -> None:
    """Put the legend of one panel below all of them."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize="small")


def save(figure: Figure, path: Path) -> None:
    """Write a picture, without the date and version that matplotlib would put in."""
    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=130, metadata={"Software": None})
