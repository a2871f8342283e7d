"""Packages whose names are imported when they are first used."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any


def names_of_stub(file: str) -> dict[str, str]:
    """Return the names that a package's stub imports, each with the module that defines it, for `lazy_names`.

    A line of the stub, ``from committee.bounds.result import Bound as Bound``, is all that a name needs: type checkers
    and editors read it there, and the package, whose ``__file__`` is given, reads it here.
    """
    imports = ast.walk(ast.parse(Path(file).with_suffix(".pyi").read_bytes()))
    own = [node for node in imports if isinstance(node, ast.ImportFrom) and str(node.module).startswith("committee.")]
    return {alias.name: str(node.module) for node in own for alias in node.names}


def lazy_names(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a package (PEP 562) that imports a name when it is first used.

    `modules` has for each public name the module that defines it. No such name may be that of one of the package's
    modules: once a module is imported it would hide the name.

    Examples
    --------
    >>> from committee.data.lazy_names import lazy_names
    >>> lookup, _ = lazy_names("committee.data", {"TableSchema": "committee.data.frames"})
    >>> lookup("TableSchema").__module__
    'committee.data.frames'
    """

    def lookup(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, found)  # the next look needs no look-up
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return lookup, names
