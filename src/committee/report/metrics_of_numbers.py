"""Metrics of a comparison of models that predict numbers, and what they cost as in any comparison."""

from __future__ import annotations

import numpy as np

from committee.data.number_types import F64
from committee.report.metrics import METRICS, FittedFold, Metric


def _errors(fold: FittedFold) -> F64:
    return np.asarray(fold.predicted - fold.y_test, dtype=np.float64)


def _r2(fold: FittedFold) -> float | None:
    """R2; None where all numbers of the fold are the same, which leaves nothing to explain."""
    spread = float(np.square(fold.y_test - fold.y_test.mean()).sum())
    return 1.0 - float(np.square(_errors(fold)).sum()) / spread if spread > 0.0 else None


def of_four_digits(values: F64) -> str:
    """Mean and standard deviation (n - 1), both with as many decimals as give the mean four digits.

    Examples
    --------
    >>> import numpy as np
    >>> of_four_digits(np.array([51234.0, 53219.0])), of_four_digits(np.array([0.012, 0.014]))
    ('52,226 ±1,404', '0.01300 ±0.00141')
    """
    mean = float(values.mean())
    if not np.isfinite(mean) or abs(mean) >= 1e12 or 0.0 < abs(mean) < 1e-4:
        return f"{mean:.4g}" + (f" ±{values.std(ddof=1):.2g}" if values.size > 1 else "")
    decimals = 4 if mean == 0.0 else max(0, 3 - int(np.floor(np.log10(abs(mean)))))
    return f"{mean:,.{decimals}f}" + (f" ±{values.std(ddof=1):,.{decimals}f}" if values.size > 1 else "")


METRICS_OF_NUMBERS: dict[str, Metric] = {
    "rmse": Metric(
        "RMSE",
        "quality",
        lambda fold: float(np.sqrt(np.mean(np.square(_errors(fold))))),
        of_four_digits,
        ("RMSE", "Root of the mean squared error on the test rows: mean over folds ± standard deviation over folds."),
        best="lowest",
    ),
    "mae": Metric(
        "MAE",
        "quality",
        lambda fold: float(np.mean(np.abs(_errors(fold)))),
        of_four_digits,
        ("MAE", "Mean absolute error on the test rows."),
        best="lowest",
    ),
    "r2": Metric(
        "R2",
        "quality",
        _r2,
        lambda values: f"{values.mean():.4f}",
        ("R2", "Share of the test rows' variance that is explained: 1 without an error, 0 by their mean alone."),
        best="highest",
    ),
    **{name: METRICS[name] for name in ("fit_seconds", "predict_microseconds", "n_voters", "n_nodes")},
}
"""Metrics by their names, in the order of the columns."""
