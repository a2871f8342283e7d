"""Which members of a class the reference shows: the library's own, not what scikit-learn's base classes add."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

KEPT = {"score"}
"""Inherited from scikit-learn, and used by everyone."""


def skipped(app: Sphinx, what: str, name: str, member: object, skip: bool, options: object) -> bool | None:
    """Leave out methods of scikit-learn's classes; None: as Sphinx would."""
    module = getattr(member, "__module__", "") or ""
    return True if module.startswith("sklearn.") and name not in KEPT else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.connect("autodoc-skip-member", skipped)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
