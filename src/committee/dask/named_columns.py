"""Targets and weights that are columns of a Dask dataframe, by their names."""

from __future__ import annotations

from typing import Any

from committee.data.names import known_names


def without_named(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Return a collection without the columns that are its targets or weights, and these as collections.

    Raises
    ------
    ValueError
        If there is no such column.
    """
    names = {"y": y, "sample_weight": sample_weight}
    named = {what: name for what, name in names.items() if isinstance(name, str)}
    if not named:
        return X, y, sample_weight
    if not hasattr(X, "columns"):
        what, name = next(iter(named.items()))
        raise ValueError(f"{what}={name!r} is the name of a column, and X is an array; give an array as {what}")
    columns = list(X.columns)
    for what, name in named.items():
        known_names([name], columns, what)
    kept = [name for name in columns if name not in named.values()]
    found = {what: X[name] for what, name in named.items()}
    return X[kept], found.get("y", y), found.get("sample_weight", sample_weight)
