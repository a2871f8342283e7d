"""Docstrings are written to be read in a terminal: signs that reStructuredText would take for markup are escaped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

LITERAL = re.compile(r"(``.+?``|`.+?`)")
TRAILING_UNDERSCORE = re.compile(r"(?<![\\\w])(\w+)_(?=[\s,.;:)(\]^|*/'+-]|$)")


INITIAL = re.compile(r"^(\s*(?:\.\. \[[^\]]+\]\s+)?[A-Z])\. (?=\S)")
"""Of an author at the beginning of a line, which would begin a numbered list."""


def escaped(lines: list[str]) -> list[str]:
    """Return lines with ``|w|``, ``w_`` and ``J. Zhu`` as they stand; examples and literals are left alone."""
    found, in_example = [], False
    for line in (INITIAL.sub(r"\1\\. ", each) for each in lines):
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        if in_example or line.lstrip().startswith(".. "):
            found.append(line)
            continue
        parts = LITERAL.split(line)
        found.append("".join(part if i % 2 else _escaped(part) for i, part in enumerate(parts)))
    return found


def _escaped(text: str) -> str:
    return TRAILING_UNDERSCORE.sub(r"\1\\_", re.sub(r"(?<!\\)\|", r"\\|", text))


def process(app: Sphinx, what: str, name: str, member: object, options: object, lines: list[str]) -> None:
    """Escape a docstring in place."""
    lines[:] = escaped(lines)


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx; after numpydoc, whose priority is 500."""
    app.connect("autodoc-process-docstring", process, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
