"""Contracts on votes for numbers, by what `metric` may be."""

from __future__ import annotations

from typing import Any

from committee.learners.trained.contract_metric import ContractMetric, ShareMetric
from committee.learners.trained.number_loss import NUMBER_LOSSES, number_loss
from committee.learners.trained.score_metric import ScoreMetric, is_scorer, named_scorer, scorer_name


def number_metric(metric: Any, quantile: float | None) -> ContractMetric:
    """The contract of a loss of rows, which counts in shares, or of a scorer of all rows together, which does not.

    Raises
    ------
    ValueError
        If it is neither, or "pinball" where the ensemble predicts no quantile.
    """
    if metric is None or (isinstance(metric, str) and metric in NUMBER_LOSSES):
        return ShareMetric(number_loss(metric, quantile))
    name = scorer_name(metric)
    if name is not None or is_scorer(metric):
        return ScoreMetric(metric if name is None else named_scorer(name, of_numbers=True), name or repr(metric), None)
    if not callable(metric):
        raise ValueError(
            f"metric={metric!r} is unknown; choose {', '.join(map(repr, NUMBER_LOSSES))}, the name of a scorer of "
            "scikit-learn such as 'r2', or give a function or a scorer."
        )
    return ShareMetric(number_loss(metric, quantile))
