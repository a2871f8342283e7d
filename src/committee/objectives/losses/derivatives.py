"""A loss of which a user gives the derivatives alone, as a function."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from committee.objectives.losses.base import Loss, Numbers, Targets, weighted
from committee.vote.links.mean import Identity, MeanLink
from committee.vote.links.probability import Link, Softmax


@dataclass(frozen=True)
class Derivatives(Loss):
    """A loss by a function ``(y, F) -> (gradient, hessian)``, as other boosters take it.

    Scores are read as those of the log loss (classes), or as they are (numbers). There is no value, which early
    stopping and the line search need; give them a `Loss`. Boosting starts from the score whose gradients sum to zero;
    where a row has several scores, from 0.

    Parameters
    ----------
    function : callable
        ``function(y, F)``: targets ``(n,)``, float64 or class numbers, and scores ``(n,)`` or ``(D, n)``. Returns the
        first and second derivative of each row's loss by its scores, in the shape of `F`; weights are not its business.
    of_classes : bool
        Whether targets are classes.

    Examples
    --------
    >>> import numpy as np
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
        """The softmax, or the identity."""
        return Softmax() if self.of_classes else Identity()

    def value(self, y: Targets, F: Numbers) -> Numbers:
        """Refuse, as derivatives do not tell it."""
        raise ValueError(
            f"loss={self.function!r} gives derivatives but no value, which early stopping and line_search need. Set "
            "both to False, or give a committee.objectives.losses.Loss."
        )

    def gradient_hessian(self, y: Targets, F: Numbers, w: Numbers | None = None) -> tuple[Numbers, Numbers]:
        """The function's own, times the weights; ``ValueError`` for what is no gradient and hessian."""
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
        """The root of the summed gradients; 0 where a row has several scores."""
        return np.zeros(n_scores) if n_scores is not None and n_scores > 1 else super().best_constant(y, w, 1)
