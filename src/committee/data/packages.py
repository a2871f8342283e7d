"""Optional dependencies, and names of a package that are imported when they are first used."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

EXTRAS = {
    "distributed": "dask",
    "fastexcel": "sheets",
    "highspy": "lp",
    "jinja2": "cli",
    "matplotlib": "plots",
    "onnx": "onnx",
    "polars": "polars",
    "rich": "cli",
    "shap": "shap",
    "skl2onnx": "onnx",
    "skops": "convert",
    "treelite": "treelite",
    "typer": "cli",
}
"""The smallest extra of pyproject.toml that installs a package."""


class MissingExtraError(ImportError): ...


def require_package(package: str, what: str, instead: str = "") -> None:
    """Raise if a package that `what` needs is not installed; `instead` is a hint how to do without."""
    if find_spec(package) is None:
        raise MissingExtraError(
            f'{what} needs {package}, which is not installed: pip install "committee[{EXTRAS[package]}]", or'
            ' "committee[all]" for everything' + (f"; {instead}" if instead else "")
        )


def stub_imports(file: str) -> dict[str, str]:
    """Return the public names in the stub of a package, each with the module that the stub imports it from."""
    imports = ast.walk(ast.parse(Path(file).with_suffix(".pyi").read_bytes()))
    own = [node for node in imports if isinstance(node, ast.ImportFrom) and str(node.module).startswith("committee.")]
    return {alias.name: str(node.module) for node in own for alias in node.names}


def lazy_attributes(
    package: str, modules: Mapping[str, str], requires: str | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a package (PEP 562) that imports a name when it is first used.

    No name may be that of a module of the package: an imported module would hide it.
    """

    def lookup(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if requires is not None:
            require_package(requires, package)
        found = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return lookup, names
