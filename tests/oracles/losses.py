"""Losses the slow way: definitions with 50 digits, derivatives of them taken numerically, and the kernel's formulas.

`definition` knows nothing of gradients. Exponents above 500 go on as their tangent, which the losses promise.
"""

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

from committee.objectives import losses as ours

Array = NDArray[np.float64]
mp = mpmath.mp.clone()
mp.dps = 50


def exp_to_500(x: Any) -> Any:
    return mp.exp(x) if x <= 500 else mp.exp(500) * (1 + x - 500)


def pinball(r: Any, q: float) -> Any:
    return q * r if r >= 0 else (mp.mpf(q) - 1) * r


def huber(r: Any, delta: float) -> Any:
    return r * r / 2 if abs(r) <= delta else delta * (abs(r) - mp.mpf(delta) / 2)


def tweedie(y: Any, F: Any, power: float) -> Any:
    p = mp.mpf(power)
    return -y * exp_to_500((1 - p) * F) / (1 - p) + exp_to_500((2 - p) * F) / (2 - p)


def probit(x: Any) -> Any:
    tail = mp.erfc(abs(x) / mp.sqrt(2)) / 2
    return -mp.log1p(-tail) if x > 0 else -mp.log(tail)


MARGINS: dict[type[ours.Loss], Callable[[Any], Any]] = {
    ours.Logistic: lambda x: mp.log1p(mp.exp(-x)),
    ours.Exponential: lambda x: exp_to_500(-x),
    ours.Probit: probit,
    ours.SquaredHinge: lambda x: max(mp.mpf(0), 1 - x) ** 2,
}
NUMBERS: dict[type[ours.Loss], Callable[[Any, Any, Any], Any]] = {
    ours.Squared: lambda loss, y, F: (y - F) ** 2 / 2,
    ours.Absolute: lambda loss, y, F: abs(y - F),
    ours.Quantile: lambda loss, y, F: pinball(y - F, loss.quantile),
    ours.Huber: lambda loss, y, F: huber(y - F, loss.delta),
    ours.Poisson: lambda loss, y, F: exp_to_500(F) - y * F,
    ours.Gamma: lambda loss, y, F: y * exp_to_500(-F) + F,
    ours.Tweedie: lambda loss, y, F: tweedie(y, F, loss.power),
}


def part(loss: ours.Loss, y: float, f: Any, k: int) -> Any:
    """What score k adds to a loss that is a sum over its scores."""
    if isinstance(loss, ours.Quantiles):
        return pinball(y - f, loss.quantiles[k])
    return MARGINS[type(loss)](f if y == k else -f)


def definition(loss: ours.Loss, y: float, F: Sequence[Any]) -> Any:
    """L(y, F) of one row; F holds D scores."""
    if type(loss) in NUMBERS:
        return NUMBERS[type(loss)](loss, mp.mpf(y), F[0])
    if len(F) == 1:
        return part(loss, y, F[0], 1)
    if isinstance(loss, ours.Logistic):
        return mp.log1p(sum(mp.exp(f - F[int(y)]) for k, f in enumerate(F) if k != y))
    return sum(part(loss, y, f, k) for k, f in enumerate(F))


def derivative(loss: ours.Loss, y: float, F: Sequence[float], output: int, order: int) -> float:
    """The first or second derivative by one of the scores."""

    def along(f: Any) -> Any:
        if len(F) == 1 or isinstance(loss, ours.Logistic):
            return definition(loss, y, [f if k == output else mp.mpf(F[k]) for k in range(len(F))])
        return part(loss, y, f, output)  # the other parts would take its digits

    return float(mp.diff(along, mp.mpf(F[output]), order))


def gradients(name: str, y: NDArray[Any], F: Array, w: Array | None) -> tuple[Array, Array]:
    """What the kernel writes: each number from sums of exponentials, 1 - p from those of the other scores."""
    gradient, hessian = np.empty_like(F), np.empty_like(F)
    for i in range(F.shape[-1]):
        weight = 1.0 if w is None else w[i]
        if name == "squared":
            gradient[i], hessian[i] = weight * (F[i] - y[i]), weight
            continue
        scores = np.array([0.0, F[i]]) if name == "logistic" else F[:, i]
        e = np.exp(scores - scores.max())
        for k in [1] if name == "logistic" else range(len(scores)):
            p, rest = e[k] / e.sum(), np.delete(e, k).sum() / e.sum()
            at = i if name == "logistic" else (k, i)
            gradient[at] = weight * (-rest if y[i] == k else p)
            hessian[at] = weight * max(p * rest, 1e-16)
    return gradient, hessian
