"""Contracts on votes for classes, by what `metric` may be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.learners.trained.contract_metric import ContractMetric, RowMetric
from committee.learners.trained.row_loss import ROW_LOSSES, row_loss
from committee.learners.trained.score_metric import ScoreMetric, is_scorer, named_scorer, scorer_name


def class_metric(metric: Any, classes: NDArray[Any]) -> ContractMetric:
    """The contract of a loss of rows, or of a scorer of all rows together.

    A scorer by name, and scikit-learn's own function, sees class numbers, of two classes the second being the positive
    one; a scorer that somebody made sees the labels.

    Raises
    ------
    ValueError
        If it is neither.
    """
    if isinstance(metric, str) and metric in ROW_LOSSES:
        return RowMetric(row_loss(metric))
    name = scorer_name(metric)
    if name is not None:
        return ScoreMetric(named_scorer(name, of_numbers=False), name, np.arange(len(classes)))
    if is_scorer(metric):
        return ScoreMetric(metric, repr(metric), classes)
    if not callable(metric):
        raise ValueError(
            f"metric={metric!r} is unknown; choose {', '.join(map(repr, ROW_LOSSES))}, the name of a scorer of "
            "scikit-learn such as 'roc_auc', or give a function or a scorer."
        )
    return RowMetric(row_loss(metric))
