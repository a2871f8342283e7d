"""Losses of predicted numbers as their users report them, and whether a committee of ensembles can have them."""

from __future__ import annotations

import numpy as np

from committee.data.number_types import F64
from committee.objectives.losses import Absolute, Derivatives, Huber, Loss, Quantile, Squared, regression_loss
from committee.objectives.losses.named_losses import LossChoice
from committee.vote.links.mean import Identity, Log, MeanLink


def chosen_loss(loss: LossChoice, quantile: float) -> Loss:
    """Return the loss that is meant by a name or an object; `quantile` is for "quantile".

    Raises
    ------
    ValueError
        If it is a loss of several numbers, or a function: weights of members need its value.

    Examples
    --------
    >>> chosen_loss("quantile", 0.9), chosen_loss("poisson", 0.5)
    (Quantile(quantile=0.9), Poisson())
    """
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


def trains_means(loss: Loss) -> bool:
    """Whether what has least squared error has least such loss, too: that of means, as those with a log link.

    Examples
    --------
    >>> trains_means(regression_loss("gamma")), trains_means(regression_loss("huber"))
    (True, False)
    """
    return isinstance(loss, Squared) or isinstance(loss.link, Log)


def score_of(loss: Loss, predictions: F64) -> F64:
    """Scores whose predictions are these.

    Examples
    --------
    >>> import numpy as np
    >>> score_of(regression_loss("poisson"), np.array([1.0])).tolist()
    [0.0]
    """
    assert isinstance(loss.link, MeanLink)  # a loss of numbers
    return loss.link.score(predictions)


def loss_of_rows(loss: Loss, y: F64, predictions: F64) -> F64:
    """Loss of each row: squared or absolute error, pinball or Huber's loss, or the deviance of a loss with a log link.

    These are scikit-learn's ``mean_squared_error``, ``mean_absolute_error``, ``mean_pinball_loss`` and
    ``mean_tweedie_deviance`` before the mean.

    Examples
    --------
    >>> import numpy as np
    >>> y, f = np.array([1.0, 4.0]), np.array([2.0, 2.0])
    >>> [loss_of_rows(regression_loss(one), y, f).round(3).tolist() for one in ("squared_error", "poisson")]
    [[1.0, 4.0], [0.614, 1.545]]
    """
    if isinstance(loss, Squared):
        return np.asarray((predictions - y) ** 2)
    value = loss.value(y, score_of(loss, predictions))
    if not isinstance(loss.link, Log):
        return value
    return np.asarray(2.0 * np.maximum(value - loss.value(y, score_of(loss, y)), 0.0))


def name_of(loss: Loss) -> str:
    """Return what a mean of `loss_of_rows` is called where it is shown.

    Examples
    --------
    >>> [name_of(one) for one in (Squared(), Quantile(0.9), regression_loss("gamma"))]
    ['RMSE', 'pinball loss of 0.9', 'gamma deviance']
    """
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


def shown(loss: Loss, mean: float) -> float:
    """Return a mean of `loss_of_rows` as it is shown: of squared errors the root.

    Examples
    --------
    >>> shown(Squared(), 4.0), shown(Absolute(), 4.0)
    (2.0, 4.0)
    """
    return mean**0.5 if isinstance(loss, Squared) else mean


def share_explained(loss: Loss, y: F64, predictions: F64, weights: F64) -> float:
    """D2: by what share of the loss of the best constant predictions have less; of squared errors, R2.

    As scikit-learn's ``d2_absolute_error_score``, ``d2_pinball_score`` and ``d2_tweedie_score``. NaN where the constant
    has no loss.

    Examples
    --------
    >>> import numpy as np
    >>> share_explained(Absolute(), np.array([1.0, 2.0, 9.0]), np.array([1.0, 2.0, 5.0]), np.ones(3))
    0.5
    """
    share = weights / weights.sum()
    assert isinstance(loss.link, MeanLink)
    constant = loss.link.mean(loss.best_constant(y, weights))
    spread = float(share @ loss_of_rows(loss, y, np.full(len(y), constant[0])))
    return 1.0 - float(share @ loss_of_rows(loss, y, predictions)) / spread if spread > 0.0 else float("nan")
