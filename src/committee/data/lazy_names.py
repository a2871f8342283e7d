"""Packages whose names are imported when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a package (PEP 562) that imports a name when it is first used.

    No public name of the package may be that of one of its modules: once a module is imported it would hide the name.

    Parameters
    ----------
    package : str
        ``__name__`` of the package.
    modules : mapping of str to str
        Public name -> module that defines it.

    Returns
    -------
    tuple of callables

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
