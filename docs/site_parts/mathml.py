"""Equations as MathML, which browsers draw themselves: no script, nothing to load."""

from __future__ import annotations

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

PLAIN = {r"\lVert": r"\|", r"\rVert": r"\|", r"\lvert": "|", r"\rvert": "|"}
"""Delimiters that the converter does not know after a size."""


def mathml(latex: str, display: str) -> str:
    """Return an equation in MathML; `display` is "inline" or "block"."""
    for name, plain in PLAIN.items():
        latex = latex.replace(name, plain + " " if plain == r"\|" else plain)
    return convert(latex, display=display)


def visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write an equation within a line."""
    self.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write an equation of its own, which scrolls where it is wider than the page."""
    number = get_node_equation_number(self, node) if node.get("label") else ""
    self.body.append(f'<div class="equation" tabindex="0">{mathml(node.astext(), "block")}{number}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.config["html_math_renderer"] = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
