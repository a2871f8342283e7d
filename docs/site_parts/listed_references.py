"""References are items of a list, for who hears the page; docutils gives them a role that lists do not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def name_items(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Give entries the role that a list's children have; ARIA gave theirs up."""
    if "body" in context:
        context["body"] = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.connect("html-page-context", name_items)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
