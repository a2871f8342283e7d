"""Which quantile an ensemble of numbers predicts, as its parameters say."""

from __future__ import annotations

from numbers import Real
from typing import Any

MEDIANS = frozenset({"absolute_error", "reg:absoluteerror", "regression_l1", "l1", "mae", "mean_absolute_error"})
"""Losses, by the names of several libraries, that lead to medians."""

LEVELS = {"quantile": ("quantile", "alpha"), "reg:quantileerror": ("quantile_alpha",)}
"""Losses of quantiles, and the parameters that may hold their level."""


def quantile_level(ensemble: Any) -> float | None:
    """Return the quantile that a trained ensemble predicts; None for means, and where its parameters say nothing.

    Examples
    --------
    >>> from committee import GradientBoostingRegressor
    >>> quantile_level(GradientBoostingRegressor("quantile", quantile=0.9))
    0.9
    >>> quantile_level(GradientBoostingRegressor()) is None
    True
    """
    known = getattr(ensemble, "quantile_", None)
    if isinstance(known, Real):
        return float(known)
    if not hasattr(ensemble, "get_params"):
        return None
    params = ensemble.get_params(deep=False)
    for loss in (params.get("loss"), params.get("objective"), params.get("criterion")):
        if not isinstance(loss, str):
            continue
        if loss in MEDIANS and loss != params.get("criterion"):
            return 0.5
        for name in LEVELS.get(loss, ()):
            if isinstance(params.get(name), Real):
                return float(params[name])
    return None
