"""Losses by name, as learners take them and model files store them.

A loss is a small frozen object that a model file stores as its name and its numbers. A further loss is one more class
in a file of this folder and one more entry here.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable
from typing import Any

from committee.data.typed_json import read_named_parameters
from committee.objectives.losses.base import Loss
from committee.objectives.losses.classification import Exponential, Logistic, Probit, SquaredHinge
from committee.objectives.losses.derivatives import Derivatives
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
from committee.vote.links.mean import MeanLink
from committee.vote.links.probability import Link

LossChoice = str | Loss | Callable[[Any, Any], tuple[Any, Any]]
"""What a learner's `loss` may be: a name, an object, or a function that returns gradient and hessian."""

_OF_NUMBERS: tuple[type[Loss], ...] = (Squared, Absolute, Quantile, Quantiles, Huber, Poisson, Gamma, Tweedie)
_OF_CLASSES: tuple[type[Loss], ...] = (Logistic, Exponential, Probit, SquaredHinge)

REGRESSION_LOSSES: dict[str, type[Loss]] = {loss.name: loss for loss in _OF_NUMBERS}
"""The losses of numbers under their names."""

CLASSIFICATION_LOSSES: dict[str, type[Loss]] = {loss.name: loss for loss in _OF_CLASSES}
"""The losses of classes under their names."""

LOSSES: ChainMap[str, type[Loss]] = ChainMap(CLASSIFICATION_LOSSES, REGRESSION_LOSSES)
"""Every loss under the name that a file stores: a view of both tables, so that a loss is added to one of them."""


def regression_loss(loss: LossChoice) -> Loss:
    """The loss of numbers that is meant by a name, at its defaults, or by an object.

    Parameters
    ----------
    loss : str or Loss
        "squared_error", "absolute_error", "quantile", "quantiles", "huber", "poisson", "gamma" or "tweedie"; or
        one of these losses with other numbers, a loss of your own, or a function (see `Derivatives`).

    Returns
    -------
    Loss

    Raises
    ------
    ValueError
        If the name is unknown, or what is given is no loss of numbers.

    Examples
    --------
    >>> from committee.objectives.losses import Huber, regression_loss
    >>> regression_loss("huber"), regression_loss(Huber(delta=2.0))
    (Huber(delta=1.0), Huber(delta=2.0))
    """
    return _chosen(loss, REGRESSION_LOSSES, MeanLink)


def classification_loss(loss: LossChoice) -> Loss:
    """The loss of classes that is meant by a name, or by an object.

    Parameters
    ----------
    loss : str or Loss
        "log_loss", "exponential", "probit" or "squared_hinge"; or a loss of your own, or a function (see
        `Derivatives`). Refused as by `regression_loss`.

    Examples
    --------
    >>> from committee.objectives.losses import classification_loss
    >>> classification_loss("log_loss")
    Logistic()
    """
    return _chosen(loss, CLASSIFICATION_LOSSES, Link)


def from_json(stored: object) -> Loss:
    """The loss that `Loss.to_json` wrote; see `read_named` for what is refused.

    Examples
    --------
    >>> from committee.objectives.losses import Tweedie, from_json
    >>> from_json(Tweedie(power=1.2).to_json())
    Tweedie(power=1.2)
    """
    return read_named_parameters(stored, LOSSES, "loss")


def _chosen(loss: object, table: dict[str, type[Loss]], link: type[Link] | type[MeanLink]) -> Loss:
    if isinstance(loss, str):
        if loss not in table:
            raise ValueError(f"loss is {loss!r}; it must be one of {', '.join(table)}, or an object.")
        return table[loss]()
    if callable(loss) and not isinstance(loss, (type, Loss)):
        return Derivatives(loss, of_classes=link is Link)
    if not isinstance(loss, Loss):
        raise ValueError(
            f"loss is {loss!r}; it must be one of {', '.join(table)}, or a committee.objectives.losses.Loss."
        )
    if not isinstance(loss.link, link):
        raise ValueError(
            f"loss is {loss!r}, with the link {loss.link!r}; here it must be a {link.__name__}. "
            f"Choose one of {', '.join(table)}."
        )
    return loss
