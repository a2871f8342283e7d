"""The example tables: scikit-learn's small bundled ones, in the shape a file would have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.data.extras import needed
from committee.data.names import hint_of_names

if TYPE_CHECKING:
    import polars as pl

EXAMPLES = ("breast_cancer", "diabetes", "digits", "iris", "wine")
"""Names :func:`load_example` takes."""


def load_example(name: str) -> pl.DataFrame:
    """Load a table that comes with scikit-learn.

    Parameters
    ----------
    name : {"breast_cancer", "diabetes", "digits", "iris", "wine"}
        Which one: 569 x 30 and 2 classes, 442 x 10 and numbers to predict, 1,797 x 64 and 10 classes, 150 x 4 and 3,
        178 x 13 and 3.

    Returns
    -------
    polars.DataFrame
        The features, and last the column ``target`` with the class names as text, or numbers - as
        :func:`~committee.data.read.read_table` would give it.

    Raises
    ------
    ValueError
        If there is no such example.

    Examples
    --------
    >>> load_example("iris").shape
    (150, 5)
    """
    if name not in EXAMPLES:
        raise ValueError(f"name {name!r} is no example table; {hint_of_names(name, EXAMPLES)}")
    needed("polars", "an example table")
    import polars as pl
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    columns = {str(feature): np.ascontiguousarray(bunch.data[:, j]) for j, feature in enumerate(bunch.feature_names)}
    names = bunch.get("target_names")
    answers = bunch.target if names is None else [str(names[code]) for code in bunch.target]
    return pl.DataFrame(columns).with_columns(pl.Series("target", answers))
