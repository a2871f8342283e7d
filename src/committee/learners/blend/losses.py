"""Losses of predicted numbers, as a committee of ensembles lowers and reports them."""

from __future__ import annotations

import numpy as np

from committee.data.number_types import F64
from committee.objectives.losses import Absolute, Derivatives, Huber, Loss, Quantile, Squared, regression_loss
from committee.objectives.losses.named_losses import LossChoice
from committee.vote.links.mean import Identity, Log, MeanLink


def resolve_loss(loss: LossChoice, quantile: float) -> Loss:
    """Loss of a name or an object; ``ValueError`` if it predicts several numbers or has no value."""
    found = Quantile(quantile) if loss == "quantile" else regression_loss(loss)
    if isinstance(found, Derivatives):
        raise ValueError(
            f"loss={loss!r} has derivatives and no value, by which members are weighed; give a "
            "committee.objectives.losses.Loss with a value."
        )
    if found.n_scores() > 1 or not isinstance(found.link, (Identity, Log)):
        raise ValueError(
            f"loss={loss!r} is of several numbers, and a committee of ensembles predicts one; fit one for each "
            "quantile, with loss='quantile', or choose GradientBoostingRegressor."
        )
    return found


def fits_means(loss: Loss) -> bool:
    return isinstance(loss, Squared) or isinstance(loss.link, Log)


def scores_of(loss: Loss, predictions: F64) -> F64:
    assert isinstance(loss.link, MeanLink)  # a loss of numbers
    return loss.link.score(predictions)


def row_losses(loss: Loss, y: F64, predictions: F64) -> F64:
    """Loss of each row: squared or absolute error, pinball or Huber's loss, or the deviance of a loss with a log link.

    These are scikit-learn's ``mean_squared_error``, ``mean_absolute_error``, ``mean_pinball_loss`` and
    ``mean_tweedie_deviance`` before the mean.
    """
    if isinstance(loss, Squared):
        return np.asarray((predictions - y) ** 2)
    value = loss.value(y, scores_of(loss, predictions))
    if not isinstance(loss.link, Log):
        return value
    return np.asarray(2.0 * np.maximum(value - loss.value(y, scores_of(loss, y)), 0.0))


def loss_label(loss: Loss) -> str:
    match loss:
        case Squared():
            return "RMSE"
        case Absolute():
            return "mean absolute error"
        case Quantile():
            return f"pinball loss of {loss.quantile:g}"
        case Huber():
            return f"Huber loss of {loss.delta:g}"
    return f"{loss.name} {'deviance' if isinstance(loss.link, Log) else 'loss'}"


def reported_loss(loss: Loss, mean: float) -> float:
    return mean**0.5 if isinstance(loss, Squared) else mean


def d2_score(loss: Loss, y: F64, predictions: F64, weights: F64) -> float:
    """Share of the best constant's loss that predictions save, NaN if it has none; of squared errors, R2.

    As scikit-learn's ``d2_absolute_error_score``, ``d2_pinball_score`` and ``d2_tweedie_score``.
    """
    share = weights / weights.sum()
    assert isinstance(loss.link, MeanLink)
    constant = loss.link.mean(loss.best_constant(y, weights))
    spread = float(share @ row_losses(loss, y, np.full(len(y), constant[0])))
    return 1.0 - float(share @ row_losses(loss, y, predictions)) / spread if spread > 0.0 else float("nan")
