"""Classes or numbers: what a target asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_NUMERIC_CLASSES = 50
"""A numeric target with more distinct values than this holds numbers to predict."""

Task = Literal["classes", "numbers"]

ROWS_OF_A_CLASS = 5
"""Whole numbers with fewer rows of each in the mean are numbers to predict, unless there are two."""


def task_of(y: NDArray[Any]) -> Task:
    """Text, booleans and a few whole numbers are classes; other numbers are to be predicted.

    Examples
    --------
    >>> import numpy as np
    >>> task_of(np.array(["yes", "no"])), task_of(np.array([1, 2] * 10)), task_of(np.array([1.5, 2.0] * 10))
    ('classes', 'classes', 'numbers')
    """
    if y.dtype.kind not in "iuf":
        return "classes"
    values = np.unique(y)
    if not are_whole(values):
        return "numbers"
    most = min(MOST_NUMERIC_CLASSES, len(y) // ROWS_OF_A_CLASS)
    return "classes" if len(values) <= max(2, most) else "numbers"


def are_whole(values: NDArray[Any]) -> bool:
    """Whether numbers are all whole, and finite.

    Examples
    --------
    >>> import numpy as np
    >>> are_whole(np.array([1.0, 2.0])), are_whole(np.array([1.0, 2.5]))
    (True, False)
    """
    return bool((np.isfinite(values) & (values == np.floor(values))).all())
