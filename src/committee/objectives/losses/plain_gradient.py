"""A loss without its curvature: what plain gradient boosting sees of it."""

from dataclasses import dataclass
from typing import ClassVar

from committee.objectives.losses.base import Loss, Numbers, Targets
from committee.vote.links.mean import MeanLink
from committee.vote.links.probability import Link


@dataclass(frozen=True)
class PlainGradient(Loss):
    """Another loss whose hessians are the row weights, so that no step is Newton's.

    A tree that is grown on it is the least-squares fit to the antigradient, and its leaves hold the mean antigradient
    of their rows, as in Friedman's first boosting [1]_; how far to go along it is for a line search or the learning
    rate to say.

    Equation: first-order (docs/theory.md).

    Parameters
    ----------
    loss : Loss
        The other loss.

    References
    ----------
    .. [1] J. Friedman (2001). Greedy function approximation: a gradient boosting machine. Annals of Statistics 29(5).

    Examples
    --------
    >>> import numpy as np
    >>> from committee.objectives.losses import Logistic
    >>> from committee.objectives.losses.plain_gradient import PlainGradient
    >>> PlainGradient(Logistic()).gradient_hessian(np.array([0, 1]), np.zeros(2))
    (array([ 0.5, -0.5]), array([1., 1.]))
    """

    name: ClassVar[str] = "plain_gradient"
    hessian_is_true: ClassVar[bool] = False
    constant_hessian: ClassVar[bool] = True

    loss: Loss

    @property
    def link(self) -> Link | MeanLink:
        """The other loss's."""
        return self.loss.link

    def value(self, y: Targets, F: Numbers) -> Numbers:
        """The other loss's."""
        return self.loss.value(y, F)

    def gradient_hessian(self, y: Targets, F: Numbers, w: Numbers | None = None) -> tuple[Numbers, Numbers]:
        """The other loss's gradient, and the row weights."""
        gradient, hessian = self.loss.gradient_hessian(y, F, w)
        hessian[...] = 1.0 if w is None else w
        return gradient, hessian

    def n_scores(self, n_classes: int | None = None) -> int:
        """As the other loss has it."""
        return self.loss.n_scores(n_classes)

    def check_target(self, y: Targets) -> None:
        """As the other loss does."""
        self.loss.check_target(y)

    def best_constant(self, y: Targets, w: Numbers | None = None, n_scores: int | None = None) -> Numbers:
        """The other loss's."""
        return self.loss.best_constant(y, w, n_scores)
