"""Rows by which MLflow finds out what a model takes, in a form that it can write and that a server receives."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Parameters: TypeAlias = dict[str, Any]
"""Those that MLflow passes to a served model beside the rows; models of this library have none."""


def as_served(example: Any) -> tuple[Any, Parameters | None]:
    """Return the rows of an input example, and the parameters that may be given with them.

    MLflow knows neither pandas categories nor frames of other libraries. A column of categories becomes their values,
    mostly text, and a frame one of pandas. A list of rows becomes an array, or a frame if it holds text or
    dictionaries.

    Parameters
    ----------
    example : frame, array, list of rows, or a pair of one of them and a dictionary
        What is given to MLflow as ``input_example``.

    Examples
    --------
    >>> import polars as pl
    >>> from committee.mlflow.example import as_served
    >>> rows, parameters = as_served(pl.DataFrame({"size": [1.5, 2.0], "colour": ["red", None]}))
    >>> type(rows).__module__.partition(".")[0], rows.shape, parameters
    ('pandas', (2, 2), None)
    >>> as_served(([[1.0, 2.0]], {"limit": 3}))
    (array([[1., 2.]]), {'limit': 3})
    """
    if isinstance(example, tuple) and len(example) == 2 and isinstance(example[1], dict):
        return _rows(example[0]), example[1]
    return _rows(example), None


def _rows(example: Any) -> Any:
    """Return a frame of pandas, or an array; what is neither a frame nor a list stays as it is."""
    import narwhals as nw
    import pandas as pd

    if isinstance(example, list | tuple):
        flat = [cell for row in example if isinstance(row, list | tuple) for cell in row]
        named = any(isinstance(row, dict) for row in example)
        return pd.DataFrame(list(example)) if named or any(isinstance(c, str) for c in flat) else np.asarray(example)
    if isinstance(example, pd.DataFrame):
        kinds = example.dtypes.to_numpy()
        if not any(isinstance(kind, pd.CategoricalDtype) for kind in kinds):
            return example
        columns = [example.iloc[:, j] for j in range(len(kinds))]
        values = [c.astype(object).infer_objects() if isinstance(c.dtype, pd.CategoricalDtype) else c for c in columns]
        return pd.concat(values, axis=1)
    frame = nw.from_native(example, eager_only=True, pass_through=True)
    return pd.DataFrame(frame.to_dict(as_series=False)) if isinstance(frame, nw.DataFrame) else example
