"""Metrics that models are ranked by, of classifiers and of models that predict numbers."""

from __future__ import annotations

from collections.abc import Iterable

from committee.report.metrics import METRICS, Metric
from committee.report.metrics_of_numbers import METRICS_OF_NUMBERS


def metrics_of(numbers: bool) -> dict[str, Metric]:
    """Metrics of models that predict numbers, or of classifiers."""
    return METRICS_OF_NUMBERS if numbers else METRICS


def known_metric(name: str) -> Metric:
    """A metric of either kind by its name."""
    return METRICS[name] if name in METRICS else METRICS_OF_NUMBERS[name]


def ranking_metrics(numbers: bool = False) -> list[str]:
    """Names of the metrics that models can be ranked by.

    Examples
    --------
    >>> ranking_metrics()[:2], ranking_metrics(numbers=True)
    (['accuracy', 'balanced_accuracy'], ['rmse', 'mae', 'r2'])
    """
    return [name for name, metric in metrics_of(numbers).items() if metric.best is not None]


def chosen_metrics(metric: str | Iterable[str] | None, numbers: bool | None = False) -> tuple[str, ...]:
    """Names of metrics, the first of which ranks the models.

    Parameters
    ----------
    metric : str, iterable of str or None
        Names; None: accuracy, or RMSE of numbers.
    numbers : bool or None, default=False
        Whether models predict numbers; None: it is not known yet.

    Raises
    ------
    ValueError
        If there is none, one is unknown, or models cannot be ranked by it.

    Examples
    --------
    >>> chosen_metrics("mcc"), chosen_metrics(["f1_macro", "mcc"]), chosen_metrics(None, numbers=True)
    (('mcc',), ('f1_macro', 'mcc'), ('rmse',))
    """
    from committee.data.text import suggest_names

    if metric is None:
        return ("rmse",) if numbers else ("accuracy",)
    names = (metric,) if isinstance(metric, str) else tuple(metric)
    if not names:
        raise ValueError("metric is empty: name at least one to rank the models by")
    either = [*ranking_metrics(), *ranking_metrics(numbers=True)]
    known = either if numbers is None else ranking_metrics(numbers)
    for name in names:
        if name in either and name not in known:
            kind, other = ("numbers", "classes") if numbers else ("classes", "numbers")
            raise ValueError(
                f"{name} is a metric of {other}, and {kind} are predicted; choose out of {', '.join(known)}"
            )
        if name not in known:
            raise ValueError(f"there is no metric {name!r} to rank models by; {suggest_names(str(name), known)}")
    return names
