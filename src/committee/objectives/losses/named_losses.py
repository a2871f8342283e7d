"""Losses by name, as learners take them and model files store them; and a loss given by its derivatives."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from committee.data.typed_json import read_named_parameters
from committee.objectives.losses.base import Loss, Numbers, Targets, weighted
from committee.objectives.losses.classification import Exponential, Logistic, Probit, SquaredHinge
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
from committee.vote.links.mean import Identity, MeanLink
from committee.vote.links.probability import Link, Softmax

LossChoice = str | Loss | Callable[[Any, Any], tuple[Any, Any]]
"""Value of a learner's `loss`: a name, an object, or a function that returns gradient and hessian."""

_OF_NUMBERS: tuple[type[Loss], ...] = (Squared, Absolute, Quantile, Quantiles, Huber, Poisson, Gamma, Tweedie)
_OF_CLASSES: tuple[type[Loss], ...] = (Logistic, Exponential, Probit, SquaredHinge)

REGRESSION_LOSSES: dict[str, type[Loss]] = {loss.name: loss for loss in _OF_NUMBERS}
"""Regression losses by name."""

CLASSIFICATION_LOSSES: dict[str, type[Loss]] = {loss.name: loss for loss in _OF_CLASSES}
"""Classification losses by name."""

LOSSES: ChainMap[str, type[Loss]] = ChainMap(CLASSIFICATION_LOSSES, REGRESSION_LOSSES)
"""All losses by the name that a file stores. It is a view of both tables: add a loss to one of these."""


def regression_loss(loss: LossChoice) -> Loss:
    """Return the regression loss of a name, at its defaults, or check an object.

    Parameters
    ----------
    loss : str, Loss or callable
        "squared_error", "absolute_error", "quantile", "quantiles", "huber", "poisson", "gamma" or "tweedie"; or
        one of these losses with other parameters, a loss of your own, or a function (see `Derivatives`).

    Raises
    ------
    ValueError
        If the name is unknown, or the object is no regression loss.

    Examples
    --------
    >>> from committee.objectives.losses import Huber, regression_loss
    >>> regression_loss("huber"), regression_loss(Huber(delta=2.0))
    (Huber(delta=1.0), Huber(delta=2.0))
    """
    return _chosen(loss, REGRESSION_LOSSES, MeanLink)


def classification_loss(loss: LossChoice) -> Loss:
    """Return the classification loss of a name, or check an object.

    Parameters
    ----------
    loss : str, Loss or callable
        "log_loss", "exponential", "probit" or "squared_hinge"; or a loss of your own, or a function (see
        `Derivatives`). Raises as `regression_loss` does.

    Examples
    --------
    >>> from committee.objectives.losses import classification_loss
    >>> classification_loss("log_loss")
    Logistic()
    """
    return _chosen(loss, CLASSIFICATION_LOSSES, Link)


def from_json(stored: object) -> Loss:
    """Return the loss that `Loss.to_json` wrote; raises as `read_named_parameters` does.

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
            raise ValueError(f"loss is {loss!r}; it must be one of {', '.join(table)}, or a Loss object.")
        return table[loss]()
    if callable(loss) and not isinstance(loss, (type, Loss)):
        return Derivatives(loss, of_classes=link is Link)
    if not isinstance(loss, Loss):
        raise ValueError(
            f"loss is {loss!r}; it must be one of {', '.join(table)}, or a committee.objectives.losses.Loss."
        )
    if not isinstance(loss.link, link):
        raise ValueError(
            f"loss is {loss!r}, with the link {loss.link!r}; the link must be a {link.__name__} here. "
            f"Choose one of {', '.join(table)}."
        )
    return loss


@dataclass(frozen=True)
class Derivatives(Loss):
    """A loss given by a function ``(y, F) -> (gradient, hessian)``, as in LightGBM and XGBoost.

    The link is the softmax (classes) or the identity (numbers). Line search, and early stopping and curves without
    `scoring`, need the value of a loss, which this class lacks; give a `Loss` for these. Boosting starts from the score
    whose gradients sum to zero, or from 0 where a row has several scores.

    Parameters
    ----------
    function : callable
        ``function(y, F)``: targets ``(n,)``, float64 or class numbers, and scores ``(n,)`` or ``(D, n)``. Returns the
        first and second derivatives of each row's unweighted loss by its scores, in the shape of `F`.
    of_classes : bool
        True if targets are classes.

    Examples
    --------
    >>> from committee.objectives.losses import regression_loss
    >>> loss = regression_loss(lambda y, F: (F - y, np.ones_like(F)))
    >>> loss.gradient_hessian(np.array([1.0, 2.0]), np.zeros(2), np.array([1.0, 3.0]))
    (array([-1., -6.]), array([1., 3.]))
    """

    name: ClassVar[str] = "derivatives"

    function: Callable[[Any, Any], tuple[Any, Any]]
    of_classes: bool

    @property
    def link(self) -> Link | MeanLink:
        return Softmax() if self.of_classes else Identity()

    def value(self, y: Targets, F: Numbers) -> Numbers:
        raise ValueError(
            f"loss={self.function!r} gives derivatives but no value, which early stopping, curves of training rows and "
            "line_search need. Leave these out, set scoring, which replaces the first two, or give a "
            "committee.objectives.losses.Loss."
        )

    def gradient_hessian(self, y: Targets, F: Numbers, w: Numbers | None = None) -> tuple[Numbers, Numbers]:
        both = self.function(y, F)
        if not isinstance(both, (tuple, list)) or len(both) != 2:
            raise ValueError(f"loss={self.function!r} must return (gradient, hessian), and returned {both!r:.100}.")
        gradient, hessian = (np.array(one, dtype=np.float64) for one in both)
        for which, one in (("gradient", gradient), ("hessian", hessian)):
            if one.shape != F.shape:
                raise ValueError(f"loss={self.function!r} returned a {which} of shape {one.shape}; F has {F.shape}.")
            if not np.isfinite(one).all():
                raise ValueError(f"loss={self.function!r} returned a {which} that is not finite.")
        return weighted(gradient, hessian, w)

    def best_constant(self, y: Targets, w: Numbers | None = None, n_scores: int | None = None) -> Numbers:
        return np.zeros(n_scores) if n_scores is not None and n_scores > 1 else super().best_constant(y, w, 1)

    def best_shift(self, y: Targets, F: Numbers, w: Numbers | None = None) -> Numbers:
        return np.zeros(len(F)) if F.ndim == 2 else super().best_shift(y, F, w)
