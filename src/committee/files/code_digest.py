"""A digest of the code behind a result: a finished cell counts only as long as the code that it came from stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

from committee import _core
from committee.data.lazy_names import names_of_stub

TELLING = ("committee.cli", "committee.report.displays", "committee.report.grid")
"""What prints and draws results, and makes none: what it says may change, and the results stand."""


@cache
def code_digest(module: str) -> str:
    """Digest of the code that a module's results depend on, 16 hexadecimal digits.

    That code is the module's own, that of all modules of its package and of committee that it imports, at its top or in
    a function, and so on from module to module, and the sources of the native kernels. Comments, docstrings, blank
    lines and imports for type checkers alone do not count, nor does what only prints and draws (`TELLING`). Other
    libraries do not count either: their versions are for the reader to note.

    A module of which there is no source file, as that of a console, has the digest of the kernels and its name.

    Examples
    --------
    >>> from committee.files.code_digest import code_digest
    >>> code_digest("committee.bounds.result") == code_digest("committee.bounds.result")
    True
    >>> code_digest("committee.bounds.result") == code_digest("committee.papers.sbpmt.table2")
    False
    """
    found = blake2b(_core.source_digest.encode(), digest_size=8)
    for name in sorted(modules_of(module)):
        found.update(f"\n{name}\n{_code(name)}".encode())
    return found.hexdigest()


def modules_of(module: str) -> frozenset[str]:
    """Names of the module and of all modules that its results depend on; see `code_digest`."""
    found, open_ends = {module}, [module]
    packages = (module.partition(".")[0], "committee")
    while open_ends:
        for name in _imported(open_ends.pop(), packages):
            if name not in found and not name.startswith(TELLING):
                found.add(name)
                open_ends.append(name)
    return frozenset(found)


def _imported(module: str, packages: tuple[str, ...]) -> Iterator[str]:
    """Modules of the packages that one imports; of a lazy package, the one that defines the name that is asked for."""
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] in packages)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in packages:
            yield from (_defining(node.module, alias.name) for alias in node.names)


@cache
def _defining(module: str, name: str) -> str:
    """The module that ``from module import name`` has a name from: one of that name, the stub's, or `module`."""
    source = _source(module)
    if source is None or source.name != "__init__.py":
        return module
    if _source(f"{module}.{name}"):
        return f"{module}.{name}"
    return names_of_stub(str(source)).get(name, module) if source.with_suffix(".pyi").exists() else module


@cache
def _source(module: str) -> Path | None:
    """The module's source file; None if it is no module, or has none."""
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):  # its parent is no package, or it was made by hand
        return None
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


@cache
def _tree(module: str) -> ast.Module:
    """The module's syntax without docstrings and without imports for type checkers."""
    source = _source(module)
    tree = ast.parse(source.read_bytes() if source else b"")
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [part for part in node.body if not (_is_text(part) or _is_for_type_checkers(part))]
            if not (node.body or isinstance(node, ast.Module)):
                node.body = [ast.Pass()]
    return tree


@cache
def _code(module: str) -> str:
    return ast.unparse(_tree(module))


def _is_text(part: ast.stmt) -> bool:
    """Whether it is a docstring, of a constant as well: a string that nothing is done with."""
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) and isinstance(part.value.value, str)


def _is_for_type_checkers(part: ast.stmt) -> bool:
    return isinstance(part, ast.If) and isinstance(part.test, ast.Name) and part.test.id == "TYPE_CHECKING"
