"""What figures of some rows tell of all such rows: intervals by the share that each row has in a figure.

A figure of n rows is close to a mean over the rows, of its value and the row's *influence* on it: what the figure would
change by, times n, if the row had more weight. So its standard error is that of the mean of the influences
(Hampel, J. Amer. Statist. Assoc. 69, 1974).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.report.metrics import FittedFold

NORMAL = 1.959963984540054
"""The normal distribution is within this many standard deviations of its mean with 95 % probability."""
FEWEST = 10
"""Of fewer rows there are no intervals: the influences tell too little of their own spread."""


def interval_of_number(name: str, value: float, y: F64, predicted: F64) -> tuple[float, float] | None:
    """Interval of "rmse", "mae" or "r2" by the errors of rows; None of other figures.

    Parameters
    ----------
    name : str
    value : float
        The figure.
    y, predicted : array (n,)

    Examples
    --------
    >>> import numpy as np
    >>> y = np.arange(100.0)
    >>> low, high = interval_of_number("mae", 1.0, y, y + np.where(y % 2, 0.5, 1.5))
    >>> f"{low:.3f} to {high:.3f}"
    '0.902 to 1.098'
    """
    error = predicted - y
    if name == "mae":
        influence = np.abs(error)
    elif name == "rmse":
        influence = error**2 / (2.0 * value) if value > 0.0 else np.zeros_like(error)
    elif name == "r2":
        # of 1 - E / V, with E the mean squared error and V the variance
        from_mean = (y - y.mean()) ** 2
        influence = (error**2 - (1.0 - value) * from_mean) / from_mean.mean()
    else:
        return None
    return _interval(value, influence, -np.inf if name == "r2" else 0.0, 1.0 if name == "r2" else np.inf)


def interval_of_classes(name: str, value: float, fold: FittedFold) -> tuple[float, float] | None:
    """Interval of "log_loss", "brier" or "roc_auc"; None of other figures, and where a row without doubt errs.

    Examples
    --------
    See `committee.report.evaluation.evaluate`, which gives them.
    """
    if name in ("log_loss", "brier") and fold.probabilities is not None:
        p, is_class = fold.probabilities, fold.is_class
        if name == "log_loss":
            of_own = p[is_class]
            # a row that was impossible to the model has all of the loss, and no interval tells how many such there are
            return _interval(value, -np.log(of_own), 0.0, np.inf) if (of_own > 0.0).all() else None
        influence = ((p - is_class) ** 2).sum(axis=1) / (2.0 if fold.classes.size == 2 else 1.0)
        return _interval(value, influence, 0.0, np.inf)
    if name == "roc_auc" and fold.scores is not None:
        is_class = fold.is_class
        told = np.flatnonzero(is_class.any(axis=0) & ~is_class.all(axis=0))
        each = [_auc_influence(is_class[:, k], fold.scores[:, k]) for k in told]
        return _interval(value, np.mean(each, axis=0), 0.0, 1.0)
    return None


def _interval(value: float, influence: F64, low: float, high: float) -> tuple[float, float] | None:
    n = len(influence)
    if n < FEWEST:
        return None
    half = NORMAL * float(influence.std(ddof=1)) / float(np.sqrt(n))
    return max(low, value - half), min(high, value + half)


def _auc_influence(of_class: NDArray[np.bool_], score: F64) -> F64:
    """Influence of rows on the area under the ROC curve (DeLong, DeLong & Clarke-Pearson, Biometrics 44, 1988).

    It is the share of rows of the other kind that a row is on the right side of, over the share of its own kind.
    """
    from scipy.stats import rankdata

    n, n_class = len(score), int(of_class.sum())
    among_all = rankdata(score)
    among_own = np.empty(n)
    among_own[of_class], among_own[~of_class] = rankdata(score[of_class]), rankdata(score[~of_class])
    others_below = among_all - among_own
    right = np.where(of_class, others_below / (n - n_class), 1.0 - others_below / n_class)
    area = right[of_class].mean()
    return np.asarray((right - area) * np.where(of_class, n / n_class, n / (n - n_class)))
