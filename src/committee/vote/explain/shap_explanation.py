"""Contributions as the package shap holds them, for its pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.data.packages import require_package

if TYPE_CHECKING:
    from committee.data.frames import TableSchema


def shap_explanation(learner: Any, X: Any, output: str | None = None, background: Any = None) -> Any:
    """Explain rows by a fitted learner's contributions, as a ``shap.Explanation``.

    Parameters
    ----------
    learner : fitted learner
        With `contributions`.
    X : table or array-like (n, p)
        Rows to explain.
    output : str, default=None
        What the values add up to; None: the default of the learner's `contributions`.
    background : table or array-like (m, p), default=None
        Rows for `interventional_contributions`; None: `contributions`.

    Returns
    -------
    shap.Explanation

    Raises
    ------
    MissingExtraError
        If shap is not installed.
    """
    require_package("shap", "an explanation for shap's pictures", "contributions() has its numbers as an array")
    import shap

    asked: dict[str, Any] = {} if output is None else {"output": output}
    if background is None:
        shares: F64 = learner.contributions(X, **asked)
    else:
        shares = learner.interventional_contributions(X, background, **asked)
    table = learner.table_
    data = learner.committee_.encode(learner.validate_rows(X))
    names = [f"x{j}" for j in range(data.shape[1])] if table is None or table.names is None else list(table.names)
    several = shares.ndim == 3
    classes = getattr(learner, "classes_", None)
    return shap.Explanation(
        shares[:, :-1],
        base_values=shares[:, -1],
        data=data,
        display_data=data if table is None else as_given(data, table),
        feature_names=names,
        output_names=[str(label) for label in classes.tolist()] if several and classes is not None else None,
    )


def as_given(data: F64, table: TableSchema) -> NDArray[Any]:
    """Encoded rows with the categories' names in the place of their codes; None for unknown and missing ones.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.data.frames import TableSchema
    >>> as_given(np.array([[1.5, 1.0], [2.0, np.nan]]), TableSchema(("age", "city"), (None, ("Bern", "Oslo")))).tolist()
    [[1.5, 'Oslo'], [2.0, None]]
    """
    shown = data.astype(object)
    for j in range(data.shape[1]):
        categories = table.coded(j)
        if categories is not None:
            names = np.array([*categories, None], dtype=object)
            known = ~np.isnan(data[:, j])
            shown[:, j] = names[np.where(known, data[:, j], len(categories)).astype(np.intp)]
    return shown
