"""Optional dependencies, and names of a package that are imported when they are first used."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

EXTRAS = {  # by package, the smallest extra of pyproject.toml that installs it
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


class MissingExtraError(ImportError): ...


def require_package(package: str, what: str, instead: str = "") -> None:
    if find_spec(package) is None:
        raise MissingExtraError(
            f'{what} needs {package}, which is not installed: pip install "committee[{EXTRAS[package]}]", or'
            ' "committee[all]" for everything' + (f"; {instead}" if instead else "")
        )


def stub_imports(file: str) -> dict[str, str]:
    imports = ast.walk(ast.parse(Path(file).with_suffix(".pyi").read_bytes()))
    own = [node for node in imports if isinstance(node, ast.ImportFrom) and str(node.module).startswith("committee.")]
    return {alias.name: str(node.module) for node in own for alias in node.names}


def lazy_attributes(
    package: str, modules: Mapping[str, str], requires: str | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a package (PEP 562) that imports a name when it is first used."""

    def lookup(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if requires is not None:
            require_package(requires, package)
        found = getattr(import_module(modules[name]), name)  # a module of the package of this name would hide it
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return lookup, names
