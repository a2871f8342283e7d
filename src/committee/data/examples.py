"""Example tables: small data sets that scikit-learn includes, as data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.data.packages import require_package
from committee.data.text import suggest_names

if TYPE_CHECKING:
    import polars as pl

EXAMPLES = ("breast_cancer", "diabetes", "digits", "iris", "wine")


def load_example(name: str) -> pl.DataFrame:
    """Load an example table of scikit-learn as a data frame.

    Parameters
    ----------
    name : {"breast_cancer", "diabetes", "digits", "iris", "wine"}
        569 rows x 30 features and 2 classes, 442 x 10 and a numeric target, 1,797 x 64 and 10 classes, 150 x 4 and
        3 classes, 178 x 13 and 3 classes.

    Returns
    -------
    polars.DataFrame
        The features, and last the column ``target``: class names as text, or numbers.

    Raises
    ------
    ValueError
        If `name` is no example table.

    Examples
    --------
    >>> load_example("iris").shape
    (150, 5)
    """
    if name not in EXAMPLES:
        raise ValueError(f"name {name!r} is no example table; {suggest_names(name, EXAMPLES)}")
    require_package("polars", "an example table")
    import polars as pl
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    columns = {str(feature): np.ascontiguousarray(bunch.data[:, j]) for j, feature in enumerate(bunch.feature_names)}
    names = bunch.get("target_names")
    target = bunch.target if names is None else [str(names[code]) for code in bunch.target]
    return pl.DataFrame(columns).with_columns(pl.Series("target", target))
