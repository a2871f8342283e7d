"""Answers of committee's learners in the form that AutoGluon wants."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def in_all_classes(shares: NDArray[Any], known: NDArray[Any], n_classes: int) -> NDArray[np.float64]:
    """Return probabilities with a column for each class, 0 for those that the training rows lacked.

    Parameters
    ----------
    shares : array (n, k)
        Probabilities of the known classes.
    known : array (k,)
        Numbers of these classes.
    n_classes : int
        Number of all.

    Examples
    --------
    >>> in_all_classes(np.array([[0.25, 0.75]]), np.array([0, 2]), 3)
    array([[0.25, 0.  , 0.75]])
    """
    whole = np.zeros((len(shares), n_classes))
    whole[:, known.astype(np.intp)] = shares
    return whole


def of_rows_not_seen(learner: Any) -> NDArray[np.float64]:
    """Return what a fit says of its training rows by parts that have not seen them; the mean where no part has not.

    Raises
    ------
    ValueError
        If the fit has kept no such answers.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from committee import SBPMTClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> of_rows_not_seen(SBPMTClassifier(oob_score=True, random_state=0).fit(X, y)).shape
    (178, 3)
    """
    names = ("oof_decision_function_", "oof_prediction_", "oob_decision_function_")
    kept = [getattr(learner, name) for name in names if getattr(learner, name, None) is not None]
    if not kept:
        raise ValueError(
            f"A {type(learner).__name__} has kept no answers to rows that it has not seen; fit it without rows "
            "to validate on, and with time for a member that has such rows."
        )
    answers = np.array(kept[0], dtype=np.float64)
    return np.where(np.isnan(answers), np.nanmean(answers, axis=0), answers)
