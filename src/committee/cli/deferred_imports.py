"""Packages that scikit-learn imports and predictions do not use: loaded at the first use of one of their names."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

DEFERRED = frozenset({"pandas", "scipy.stats"})
"""Modules that `sklearn.utils.fixes` imports: half of the processor time of ``import sklearn.base``."""


class DeferredImports:
    """Finder that defers the execution of modules to the first use of one of their attributes."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a deferred module with a lazy loader, or `None` for other modules."""
        if name not in DEFERRED:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def defer_imports() -> None:
    """Defer the modules of `DEFERRED` in this process, except those that are already imported."""
    if not any(isinstance(finder, DeferredImports) for finder in sys.meta_path):
        sys.meta_path.insert(0, DeferredImports())
