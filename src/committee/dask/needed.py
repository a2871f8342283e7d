"""What to install where Dask is missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def needed(module: str) -> Any:
    """Import a module of Dask.

    Raises
    ------
    ImportError
        If it is not installed, saying how to get it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f'committee.dask needs Dask, and {error.name or module} is not installed: pip install "committee[dask]"'
        ) from error
