"""Entry point of the command ``committee``: checks the installed packages, then runs the command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader, find_spec
from types import ModuleType

from committee.cli import print_version

NEEDED = ("typer", "rich", "polars", "jinja2", "matplotlib")
"""Packages of the extra `cli`."""

DEFERRED = frozenset({"pandas", "scipy.stats"})
"""Modules that scikit-learn imports and predictions do not use."""


def main() -> None:
    try:
        if missing := [package for package in NEEDED if find_spec(package) is None]:
            if sys.argv[1:] == ["--version"]:
                print_version()
                sys.exit(0)
            print(
                f"error: the command line requires {', '.join(missing)} (not installed); install it with:"
                ' pip install "committee[cli]"',
                file=sys.stderr,
            )
            sys.exit(2)
        if sys.argv[1:2] == ["predict"]:
            defer_imports()
        from committee.cli import main as command_line

        command_line.main()
    except SystemExit as ended:
        if isinstance(getattr(ended.__context__, "__cause__", None), KeyboardInterrupt):  # typer prints nothing then
            print("interrupted; no file is written", file=sys.stderr)
        raise
    except (KeyboardInterrupt, ImportError) as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__cause__ or cause.__context__
        if cause is None:
            raise
        print("interrupted; no file is written", file=sys.stderr)
        sys.exit(130)


class DeferredImports:
    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in DEFERRED:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def defer_imports() -> None:
    if not any(isinstance(finder, DeferredImports) for finder in sys.meta_path):
        sys.meta_path.insert(0, DeferredImports())
