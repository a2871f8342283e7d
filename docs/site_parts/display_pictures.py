"""The pictures of an example of the gallery: what its displays have drawn, without a file."""

from __future__ import annotations

from typing import Any

from sphinx_gallery.scrapers import figure_rst

from committee.report.displays.base import Display

_SAVED: set[int] = set()


def display_scraper(block: tuple[str, str, int], block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figures of displays that a block of code has made, and return the text that shows them."""
    paths = []
    for name, made in block_vars["example_globals"].items():
        if isinstance(made, Display) and hasattr(made, "figure_") and id(made.figure_) not in _SAVED:
            _SAVED.add(id(made.figure_))
            path = next(block_vars["image_path_iterator"])
            made.figure_.savefig(path, dpi=160)
            paths.append((path, f"{type(made).__name__} {name}"))
    return figure_rst([path for path, _ in paths], gallery_conf["src_dir"])
