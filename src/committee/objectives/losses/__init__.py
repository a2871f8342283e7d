"""Losses: how wrong a score is, its gradient and hessian, and the link that reads the score."""

from typing import TYPE_CHECKING

from committee.data.lazy_names import lazy_names

if TYPE_CHECKING:
    from committee.objectives.losses.base import Interval, Loss, NativeLoss, write_gradients
    from committee.objectives.losses.classification import Exponential, Logistic, MarginLoss, Probit, SquaredHinge
    from committee.objectives.losses.named_losses import (
        CLASSIFICATION_LOSSES,
        LOSSES,
        REGRESSION_LOSSES,
        classification_loss,
        from_json,
        regression_loss,
    )
    from committee.objectives.losses.regression import (
        Absolute,
        Gamma,
        Huber,
        Poisson,
        Quantile,
        Quantiles,
        Squared,
        Tweedie,
    )

__all__ = [
    "CLASSIFICATION_LOSSES",
    "LOSSES",
    "REGRESSION_LOSSES",
    "Absolute",
    "Exponential",
    "Gamma",
    "Huber",
    "Interval",
    "Logistic",
    "Loss",
    "MarginLoss",
    "NativeLoss",
    "Poisson",
    "Probit",
    "Quantile",
    "Quantiles",
    "Squared",
    "SquaredHinge",
    "Tweedie",
    "classification_loss",
    "from_json",
    "regression_loss",
    "write_gradients",
]

_MODULES = {
    "CLASSIFICATION_LOSSES": "committee.objectives.losses.named_losses",
    "LOSSES": "committee.objectives.losses.named_losses",
    "REGRESSION_LOSSES": "committee.objectives.losses.named_losses",
    "Absolute": "committee.objectives.losses.regression",
    "Exponential": "committee.objectives.losses.classification",
    "Gamma": "committee.objectives.losses.regression",
    "Huber": "committee.objectives.losses.regression",
    "Interval": "committee.objectives.losses.base",
    "Logistic": "committee.objectives.losses.classification",
    "Loss": "committee.objectives.losses.base",
    "MarginLoss": "committee.objectives.losses.classification",
    "NativeLoss": "committee.objectives.losses.base",
    "Poisson": "committee.objectives.losses.regression",
    "Probit": "committee.objectives.losses.classification",
    "Quantile": "committee.objectives.losses.regression",
    "Quantiles": "committee.objectives.losses.regression",
    "Squared": "committee.objectives.losses.regression",
    "SquaredHinge": "committee.objectives.losses.classification",
    "Tweedie": "committee.objectives.losses.regression",
    "classification_loss": "committee.objectives.losses.named_losses",
    "from_json": "committee.objectives.losses.named_losses",
    "regression_loss": "committee.objectives.losses.named_losses",
    "write_gradients": "committee.objectives.losses.base",
}

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
