"""Packages that only a part of the library needs, and the extra that installs each."""

from __future__ import annotations

from importlib.util import find_spec

EXTRAS = {
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
"""The smallest extra of pyproject.toml that has a package."""


class MissingExtraError(ImportError):
    """A package is not installed that this part of the library needs."""


def needed(package: str, what: str, instead: str = "") -> None:
    """Check that an optional package is installed, before it is imported.

    Parameters
    ----------
    package : str
        A key of `EXTRAS`.
    what : str
        What needs it, as the beginning of a sentence: "a picture".
    instead : str, default=""
        What works without it, as the end of that sentence.

    Raises
    ------
    MissingExtraError
        If it is not installed, naming the extra that has it.

    Examples
    --------
    >>> from committee.data.extras import needed
    >>> needed("polars", "a table of the members")
    """
    if find_spec(package) is None:
        raise MissingExtraError(
            f'{what} needs {package}, which is not installed: pip install "committee[{EXTRAS[package]}]", or'
            ' "committee[all]" for everything' + (f"; {instead}" if instead else "")
        )
