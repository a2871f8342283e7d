"""Data frames in: whether a table is one, its columns and their names, and which of them are to be categories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee.data.columns import Column
from committee.data.names import known_names, listing

if TYPE_CHECKING:
    import narwhals as nw

CategoricalFeatures: TypeAlias = (
    Literal["from_dtype"] | Sequence[str] | Sequence[int] | Sequence[bool] | NDArray[Any] | None
)


def is_frame(X: Any) -> bool:
    """Say whether ``X`` is a data frame (lazy ones too), in the cheapest way that is sure.

    Arrays, sequences and sparse matrices are none; narwhals is not imported to say so.

    Examples
    --------
    >>> is_frame([[1.0, 2.0]])
    False
    """
    if isinstance(X, np.ndarray | list | tuple):
        return False
    if type(X).__module__.partition(".")[0] in ("builtins", "numpy", "scipy", "sklearn"):
        return False
    from narwhals.dependencies import is_into_dataframe, is_into_lazyframe

    return bool(is_into_dataframe(X) or is_into_lazyframe(X))


def check_frame(X: Any) -> None:
    """Raise for a frame, as `is_frame` knows it, that cannot be read.

    Raises
    ------
    TypeError
        If it is lazy: its rows are not there yet.
    ValueError
        If two columns have the same name.

    Examples
    --------
    >>> import polars as pl
    >>> check_frame(pl.DataFrame({"age": [31]}))
    """
    from narwhals.dependencies import is_into_lazyframe

    if is_into_lazyframe(X):
        raise TypeError("X is a lazy frame, whose rows are not there yet; pass X.collect() (Dask: X.compute())")
    # narwhals refuses duplicates too, but without a remedy; Arrow's `columns` are not names
    names: Any = X.column_names if hasattr(X, "column_names") else X.columns
    refuse_duplicates(name for name in names if isinstance(name, str))


def open_frame(X: Any) -> nw.DataFrame[Any]:
    """Return a frame as narwhals sees it."""
    import narwhals as nw

    check_frame(X)
    return nw.from_native(X, eager_only=True)


def names_of(columns: Sequence[Any]) -> tuple[str, ...] | None:
    """Return the column names, or None if none is text (pandas numbers the columns that have no name)."""
    named = [isinstance(name, str) for name in columns]
    if not any(named):
        return None
    if not all(named):
        odd = next(name for name in columns if not isinstance(name, str))
        raise TypeError(
            "Feature names are only supported if all input features have string names, but "
            f"{odd!r} is of type {type(odd).__name__}; convert them, e.g. X.columns = X.columns.astype(str)"
        )
    return tuple(str(name) for name in columns)


def columns_of(frame: nw.DataFrame[Any], names: Sequence[str] | None) -> list[Column]:
    """Return the columns, looked at; x0, x1, ... without names."""
    return [
        Column.read(series, f"x{j}" if names is None else names[j]) for j, series in enumerate(frame.iter_columns())
    ]


def match_names(learned: Sequence[str], given: Sequence[str]) -> None:
    """Raise unless the names of a table are the learned ones, in their order."""
    if tuple(learned) == tuple(given):
        return
    learned_set, given_set = set(learned), set(given)
    missing = [name for name in learned if name not in given_set]
    unexpected = [name for name in given if name not in learned_set]
    if not missing and not unexpected:
        j = next(j for j, name in enumerate(learned) if name != given[j])
        raise ValueError(
            f"the columns are in another order than the learned ones: number {j} must be {learned[j]!r}, "
            f"got {given[j]!r}; select them in the learned order"
        )
    faults = [f"{listing(missing)} missing"] if missing else []
    faults += [f"{listing(unexpected)} unexpected"] if unexpected else []
    raise ValueError(f"the columns are not the learned ones: {', '.join(faults)}; add or drop these")


def chosen_columns(categorical_features: Any, names: Sequence[str] | None, n_columns: int) -> NDArray[np.bool_] | None:
    """Return which columns are to be categorical, or None if their types say it."""
    mask = np.zeros(n_columns, dtype=bool)
    if categorical_features is None:
        return mask
    if isinstance(categorical_features, str) and categorical_features == "from_dtype":
        return None
    if isinstance(categorical_features, str) or not isinstance(categorical_features, Iterable):
        raise ValueError(f"categorical_features must be 'from_dtype', None or a list, got {categorical_features!r}")
    wanted = list(categorical_features)
    if all(isinstance(item, bool | np.bool_) for item in wanted) and wanted:
        if len(wanted) != n_columns:
            raise ValueError(f"categorical_features is a mask of {len(wanted)}, but X has {n_columns} columns")
        return np.array(wanted, dtype=bool)
    if all(isinstance(item, str) for item in wanted) and wanted:
        if names is None:
            raise ValueError("categorical_features gives names, but the columns of X have none; give indices")
        places = {name: j for j, name in enumerate(names)}
        wanted = [places[name] for name in known_names(wanted, names, "categorical_features")]
    for item in wanted:
        if isinstance(item, bool | np.bool_) or not isinstance(item, int | np.integer):
            raise ValueError(f"categorical_features must be all names, all indices or a mask, got {item!r} among them")
        if not 0 <= item < n_columns:
            raise ValueError(f"categorical_features gives column {item}, but X has columns 0 to {n_columns - 1}")
        mask[item] = True
    return mask


def refuse_duplicates(names: Iterable[str]) -> None:
    """Raise if a name occurs twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"column name {name!r} occurs more than once; rename or drop one")
        seen.add(name)
