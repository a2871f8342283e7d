"""Pictures that commands write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from committee.files.writing import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".svg", ".png", ".pdf")

DOTS_PER_INCH = 160
"""Of PNG."""


def check_picture(path: Path | None) -> None:
    """Refuse a picture of a kind that is not written, before any work is done."""
    if path is not None and path.suffix.lower() not in ENDINGS:
        raise ValueError(f"{path} has an unknown ending for a picture; write {', '.join(ENDINGS)}")


def write_picture(figure: Figure, path: Path) -> None:
    """Write a figure in the format of the file's ending; the same figure gives the same SVG."""
    import matplotlib

    kind = path.suffix.lower().removeprefix(".")
    without_date = {"svg": {"Date": None, "Creator": None}, "pdf": {"CreationDate": None}}.get(kind)
    with matplotlib.rc_context({"svg.hashsalt": "committee", "svg.fonttype": "path"}), replacing(path) as file:
        figure.savefig(file, format=kind, dpi=DOTS_PER_INCH, metadata=without_date)
