"""Figures of predicted numbers: errors of means and medians; pinball loss and coverage of quantiles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from committee.data.number_types import F64
from committee.objectives.losses import Quantiles
from committee.report.intervals import interval_of_number
from committee.report.measured import Measured


def quantile_levels(model: Any, n_columns: int = 1) -> tuple[float, ...]:
    """Quantiles that a model of numbers predicts, in the order of its columns; none if it predicts other numbers.

    Parameters
    ----------
    model : fitted regressor
    n_columns : int, default=1
        Numbers that it predicts of a row.

    Examples
    --------
    >>> from committee import GradientBoostingRegressor
    >>> quantile_levels(GradientBoostingRegressor("quantile", quantile=0.9)), quantile_levels(
    ...     GradientBoostingRegressor()
    ... )
    ((0.9,), ())
    """
    loss = getattr(model, "loss", None)
    if isinstance(loss, str):
        if loss not in ("quantile", "quantiles"):
            return ()
        levels = tuple(np.ravel(np.asarray(model.quantile, dtype=np.float64)).tolist())
        return levels if len(levels) == n_columns else Quantiles().levels
    named = getattr(loss, "name", None) in ("quantile", "quantiles")
    return tuple(getattr(loss, "levels", ())) if named else ()


def number_figures(y: F64, predicted: F64) -> list[Measured]:
    """RMSE, MAE, median absolute error and R2 of one predicted number a row.

    Examples
    --------
    >>> import numpy as np
    >>> [figure.value for figure in number_figures(np.array([1.0, 2.0, 6.0]), np.array([1.0, 2.0, 3.0]))][1:3]
    [1.0, 0.0]
    """
    from sklearn.metrics import mean_absolute_error, median_absolute_error, r2_score, root_mean_squared_error

    figures = [
        Measured("rmse", "RMSE", float(root_mean_squared_error(y, predicted)), _of_mean(y)),
        Measured("mae", "MAE", float(mean_absolute_error(y, predicted)), _of_median(y)),
        Measured("median_absolute_error", "median absolute error", float(median_absolute_error(y, predicted))),
    ]
    if len(y) > 1 and np.ptp(y) > 0.0:
        figures.append(Measured("r2", "R2", float(r2_score(y, predicted)), "1 without an error, 0 by their mean alone"))
    return [replace(each, interval=interval_of_number(each.name, each.value, y, predicted)) for each in figures]


def quantile_figures(y: F64, predicted: F64, levels: tuple[float, ...]) -> list[Measured]:
    """Pinball loss and coverage of each quantile, and of two or more the outer two as an interval.

    Parameters
    ----------
    y : array (n,)
    predicted : array (n, q)
        A column for each level.
    levels : tuple of float
        Rising.

    Examples
    --------
    >>> import numpy as np
    >>> y, q = np.array([1.0, 2.0]), np.array([[0.0, 3.0], [3.0, 4.0]])
    >>> {figure.name: figure.value for figure in quantile_figures(y, q, (0.1, 0.9))}["interval_coverage"]
    0.5
    """
    from sklearn.metrics import mean_pinball_loss

    figures = []
    for level, column in zip(levels, predicted.T, strict=True):
        loss = float(mean_pinball_loss(y, column, alpha=level))
        alone = float(mean_pinball_loss(y, np.full(len(y), np.quantile(y, level)), alpha=level))
        figures += [
            Measured(f"pinball_{level:g}", f"pinball loss of {level:g}", loss, f"{alone:.4g} by their quantile alone"),
            Measured(
                f"coverage_{level:g}",
                f"coverage of {level:g}",
                float(np.mean(y <= column)),
                f"share of rows at or below it; {level:g} is meant",
            ),
        ]
    if len(levels) > 1:
        low, high = predicted[:, 0], predicted[:, -1]
        inside, between = float(np.mean((low <= y) & (y <= high))), f"{levels[0]:g} to {levels[-1]:g}"
        figures += [
            Measured(
                "interval_coverage",
                f"coverage of {between}",
                inside,
                f"share of rows between; {levels[-1] - levels[0]:g} is meant",
            ),
            Measured("interval_width", f"mean width of {between}", float(np.mean(high - low))),
        ]
    return figures


def quantile_sentences(figures: Iterable[Measured]) -> list[str]:
    """What is to be known first of quantiles: whether as many rows lie below each as should, and what they cost.

    Examples
    --------
    >>> import numpy as np
    >>> figures = quantile_figures(np.arange(5.0), np.tile([1.0, 3.0], (5, 1)), (0.2, 0.8))
    >>> print(*quantile_sentences(figures), sep="\\n")
    60.0% of the rows lie between the quantiles 0.2 and 0.8; 60% is meant.
    40.0% lie at or below 0.2, 80.0% lie at or below 0.8.
    Pinball loss: 0.4 for 0.2 (0.4 by their quantile alone), 0.4 for 0.8 (0.4 by their quantile alone).
    """
    by_name = {figure.name: figure for figure in figures}
    levels = [name.removeprefix("pinball_") for name in by_name if name.startswith("pinball_")]
    losses = [by_name[f"pinball_{q}"] for q in levels]
    below = [by_name[f"coverage_{q}"].value for q in levels]
    if len(levels) == 1:
        (q,), (share,), (loss,) = levels, below, losses
        return [
            f"{share:.1%} of the rows lie at or below the quantile {q}; {100.0 * float(q):.3g}% is meant.",
            f"Pinball loss: {loss.value:.4g} ({loss.remark}).",
        ]
    inside, meant = by_name["interval_coverage"].value, 100.0 * (float(levels[-1]) - float(levels[0]))
    shares = ", ".join(f"{share:.1%} lie at or below {q}" for q, share in zip(levels, below, strict=True))
    costs = ", ".join(f"{loss.value:.4g} for {q} ({loss.remark})" for q, loss in zip(levels, losses, strict=True))
    return [
        f"{inside:.1%} of the rows lie between the quantiles {levels[0]} and {levels[-1]}; {meant:.3g}% is meant.",
        f"{shares}.",
        f"Pinball loss: {costs}.",
    ]


def _of_mean(y: F64) -> str:
    return f"{float(np.std(y)):.4g} by their mean alone"


def _of_median(y: F64) -> str:
    return f"{float(np.mean(np.abs(y - np.median(y)))):.4g} by their median alone"
