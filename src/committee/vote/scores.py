"""Scores of classes: the signed score of two, the class elected, and its lead."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Scores: TypeAlias = NDArray[np.float64]


def signed(F: NDArray[Any]) -> Scores:
    """Scores of two classes as one, positive for the second; the last axis is a single signed score or one for each."""
    return F[..., 0] if F.shape[-1] == 1 else F[..., 1] - F[..., 0]


def elected(F: Scores) -> NDArray[np.intp]:
    """Index of the class that each row of scores elects, ``(n,)``; the first one on ties.

    Scores are ``(n,)`` or ``(n, 1)``, signed, of two classes, or ``(n, K)``, one per class.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.vote.scores import elected
    >>> elected(np.array([-1.0, 0.0, 1.0])).tolist(), elected(np.array([[1.0, 2.0, 2.0]])).tolist()
    ([0, 0, 1], [1])
    """
    if F.ndim == 1 or F.shape[1] == 1:
        return (F.reshape(-1) > 0).astype(np.intp)
    largest: NDArray[np.intp] = F.argmax(axis=1)
    return largest


def lead(F: Scores, truth: NDArray[np.intp]) -> Scores:
    """Lead of the right class over the best other one, ``(n,)``.

    Scores are ``(n, K)``, of two classes at least; the truth is class numbers ``(n,)``.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.vote.scores import lead
    >>> lead(np.array([[3.0, 1.0, 2.0]]), np.array([0])).tolist()
    [1.0]
    """
    rows = np.arange(len(F))
    rivals = F.copy()
    rivals[rows, truth] = -np.inf
    ahead: Scores = F[rows, truth] - rivals.max(axis=1)
    return ahead
