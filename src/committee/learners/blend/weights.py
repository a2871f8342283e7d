"""Losses of a vote, the weights of members on the simplex that minimise them, and the members that stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import norm

from committee.data.number_types import F64, Index, Mask
from committee.learners.blend.candidates import LeftOut
from committee.learners.blend.out_of_fold import Member, sharpened
from committee.objectives.losses import (
    REGRESSION_LOSSES,
    Absolute,
    Derivatives,
    Huber,
    Loss,
    Quantile,
    Quantiles,
    Squared,
    regression_loss,
)
from committee.objectives.losses.named_losses import LossChoice
from committee.objectives.programs.simplex_quadratic import simplex_minimum
from committee.vote.links.mean import Identity, Log, MeanLink
from committee.vote.links.temperature import STEPS
from committee.vote.members import MemberCommittees

PRIOR = 1.0
"""Number of pseudo-rows that favour equal weights."""
MIN_PROBABILITY = 1e-15
_MOST_STEPS, _MOST_HALVINGS = 200, 40
_SUFFICIENT = 1e-4
"""Armijo constant of the line search."""
_LOG_LOSS_GAP = 1e-15
"""Tolerance of the log likelihood, per row."""
_INSIDE = 0.99
"""Largest share of the way to the simplex's border that a step takes."""
_LOSS_GAP = 1e-7
"""Tolerance of a loss, as a share of the members' mean loss."""
_NARROWEST, _NARROWER = 1e-6, 0.1
"""Least width of the bend in place of a corner, as a share of the mean residual, and its factor from bend to bend."""
_FARTHEST = 1e50
"""Bound of predictions with a log link, as a multiple of the mean target."""
OF_ALL_FITS: float = 2.0 ** (1 / STEPS)
"""Factor of the sharpness, which is found on predictions by single fits: members vote by means of fits."""
_MOST_SHARP = 32
"""Largest sharpness of a vote, in steps of 2^(1/16)."""
_LEAST_LOSS = 1e-300


# --- losses of predicted numbers --------------------------------------------------------------------------------------


def resolve_loss(loss: LossChoice, quantile: float) -> Loss:
    if isinstance(loss, str) and loss not in REGRESSION_LOSSES:
        of_one = ", ".join(name for name, kind in REGRESSION_LOSSES.items() if kind is not Quantiles)
        raise ValueError(f"loss is {loss!r}; it must be one of {of_one}, or a Loss object.")
    found = Quantile(quantile) if loss == "quantile" else regression_loss(loss)
    if isinstance(found, Derivatives):
        raise ValueError(
            f"loss={loss!r} has derivatives and no value, by which members are weighed; give a "
            "committee.objectives.losses.Loss with a value."
        )
    if found.n_scores() == 1 and not isinstance(found.link, (Identity, Log)):
        raise ValueError(
            f"loss={loss!r} has the link {type(found.link).__name__}, and a committee of ensembles needs an identity "
            "or log link; choose GradientBoostingRegressor."
        )
    if found.n_scores() > 1:
        raise ValueError(
            f"loss={loss!r} is of several numbers, and a committee of ensembles predicts one; fit one for each "
            "quantile, with loss='quantile', or choose GradientBoostingRegressor."
        )
    return found


def scores_of(loss: Loss, predictions: F64) -> F64:
    assert isinstance(loss.link, MeanLink)  # a loss of numbers
    return loss.link.score(predictions)


def row_losses(loss: Loss, y: F64, predictions: F64) -> F64:
    """Loss of each row: squared, absolute, pinball or Huber's, or the deviance of a loss with a log link."""
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
    """Share of the best constant's loss that predictions save; of squared errors, R2."""
    share = weights / weights.sum()
    assert isinstance(loss.link, MeanLink)
    constant = loss.link.mean(loss.best_constant(y, weights))
    spread = float(share @ row_losses(loss, y, np.full(len(y), constant[0])))
    return 1.0 - float(share @ row_losses(loss, y, predictions)) / spread if spread > 0.0 else float("nan")


# --- weights ----------------------------------------------------------------------------------------------------------


def log_loss_weights(p: F64, weights: F64) -> F64:
    """Weights w of the mixture ``sum_k w_k p_k`` of least mean log loss, w >= 0 and sum_k w_k = 1, ``(m,)``.

    `p` ``(m, n)`` are the members' probabilities of the classes of held-out rows; `weights` v ``(n,)`` count copies of
    each. With c = `PRIOR`, damped Newton steps minimise ``- sum_i v_i log sum_k w_k p_ki - c / m sum_k log w_k``.

    Equation: blend-weights (docs/theory.md).

    >>> import numpy as np
    >>> good, bad = np.full(1000, 0.9), np.full(1000, 0.1)
    >>> log_loss_weights(np.array([good, bad]), np.ones(1000)).round(2).tolist()
    [1.0, 0.0]
    """
    m, prior = len(p), PRIOR / len(p)
    gap = _LOG_LOSS_GAP * (float(weights.sum()) + PRIOR)

    def loss(w: F64) -> float:
        return -float(weights @ np.log(w @ p)) - prior * float(np.log(w).sum())

    w = np.full(m, 1.0 / m)
    now = loss(w)
    system = np.ones((m + 1, m + 1))  # the steps of all weights add up to 0
    system[m, m] = 0.0
    for _ in range(_MOST_STEPS):
        mixture = w @ p
        slopes = -(p @ (weights / mixture)) - prior / w
        scaled = p * (np.sqrt(weights) / mixture)
        system[:m, :m] = scaled @ scaled.T + np.diag(prior / w**2)
        step = np.linalg.solve(system, np.append(-slopes, 0.0))[:m]
        promised = -float(slopes @ step)
        if promised <= gap:
            break
        length = min(1.0, _INSIDE / max(float((-step / w).max()), _INSIDE))
        moved = _line_search(loss, w, step, length, now, -promised)
        if moved is None:
            break  # no more than rounding is left to decrease
        w, now = moved
    return np.asarray(w / w.sum())


def _line_search(
    loss: Callable[[F64], float], w: F64, step: F64, length: float, now: float, descent: float
) -> tuple[F64, float] | None:
    for _ in range(_MOST_HALVINGS):
        after = loss(w + length * step)
        if after <= now + _SUFFICIENT * length * descent:
            return w + length * step, after
        length *= 0.5
    return None


def squared_error_weights(error: F64, weights: F64) -> F64:
    """Weights w of the mean ``sum_k w_k f_k`` of least squared error, w >= 0 and sum_k w_k = 1, ``(m,)``.

    `error` ``(m, n)`` are the members' predictions minus the target on held-out rows; `weights` ``(n,)`` count copies.
    The minimum is u / sum u for the u >= 0 of least ``u'Gu / 2 - sum u``, with G the Gram matrix of errors and a ridge.

    Equation: blend-least-squares (docs/theory.md).

    >>> import numpy as np
    >>> error = np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> squared_error_weights(error, np.ones(2)).round(6).tolist()
    [0.5, 0.5]
    """
    from scipy.optimize import nnls  # models that predict weigh no members

    m = len(error)
    error = np.ldexp(error, -np.frexp(np.abs(error).max(initial=0.0))[1])  # a unit in which squares do not overflow
    gram = (error * weights) @ error.T / weights.sum()
    scale = np.trace(gram) / m
    if not scale > 0.0:
        return np.full(m, 1.0 / m)
    gram = gram / scale + np.eye(m) * (PRIOR / weights.sum() + 1e-12)
    root = np.linalg.cholesky(gram).T
    u, _ = nnls(root, np.linalg.solve(root.T, np.ones(m)))
    return np.asarray(u / u.sum())


def best_sharpness(p: Sequence[F64], w: F64, labels: NDArray[np.unsignedinteger], weights: F64) -> float:
    """Number b >= 1 by which the temperatures of all members are divided for the least mean log loss of their mixture.

    `p` are the members' probabilities of held-out rows, each ``(n, K)``, which become proportional to ``p^b``; `w` are
    the members' weights, and `weights` those of the rows, which count copies.

    R. Ranjan, T. Gneiting (2010). Combining probability forecasts. Journal of the Royal Statistical Society B 72.

    Equation: blend-sharpness (docs/theory.md).

    >>> import numpy as np
    >>> labels = np.array([0] * 75 + [1] * 25, np.uint16)
    >>> one, other = (np.tile([share, 1 - share], (100, 1)) for share in (0.6, 0.7))
    >>> round(best_sharpness([one, other], np.array([0.5, 0.5]), labels, np.ones(100)), 2)
    1.83
    """
    share = weights / weights.sum()
    unknown, row = share / weights.sum(), np.arange(len(labels))

    def loss(b: float) -> float:
        mixture = np.maximum(sum(each * sharpened(one, b) for each, one in zip(w, p, strict=True)), MIN_PROBABILITY)
        logs = np.log(mixture)
        return -float(share @ logs[row, labels]) - float(unknown @ logs.mean(axis=1))

    step, now = 0, loss(1.0)
    while step < _MOST_SHARP and (after := loss(2.0 ** ((step + 1) / STEPS))) < now:
        step, now = step + 1, after
    return float(2.0 ** (step / STEPS))


@dataclass(frozen=True)
class _Bent:
    # slope clip((f - y) / width, low, high): two lines, joined by a parabola
    y: F64
    low: float
    high: float
    width: float

    def value(self, f: F64) -> F64:
        # the maximum over slopes u between low and high of u (f - y) - width u^2 / 2
        residual = f - self.y
        slope = np.clip(residual / self.width, self.low, self.high)
        return slope * (residual - 0.5 * self.width * slope)

    def derivatives(self, f: F64) -> tuple[F64, F64]:
        steep = (f - self.y) / self.width
        return np.clip(steep, self.low, self.high), ((steep > self.low) & (steep < self.high)) / self.width


@dataclass(frozen=True, eq=False)
class _OfScores:
    # a loss of scores F as one of predictions f = exp(F) or F
    loss: Loss
    y: F64

    def value(self, f: F64) -> F64:
        return self.loss.value(self.y, scores_of(self.loss, f))

    def derivatives(self, f: F64) -> tuple[F64, F64]:
        # by the chain rule; a negative curvature, which gamma and Tweedie have, counts as 0
        if not isinstance(self.loss.link, Log):
            return self.loss.gradient_hessian(self.y, scores_of(self.loss, f))
        f = np.maximum(f, 1.0 / _FARTHEST)  # a mean of predictions that are far apart may round to 0
        gradient, hessian = self.loss.gradient_hessian(self.y, scores_of(self.loss, f))
        return gradient / f, np.maximum(hessian - gradient, 0.0) / f**2


def loss_weights(loss: Loss, predictions: F64, y: F64, weights: F64) -> F64:
    """Weights w of the mean ``sum_k w_k f_k`` of least mean loss, w >= 0 and sum_k w_k = 1, ``(m,)``.

    `predictions` ``(m, n)`` are the members' for held-out rows with targets `y`; `weights` ``(n,)`` count copies.
    Of a loss that is not convex in a mean of predictions, as Tweedie's, the result is a stationary point.

    Equation: blend-losses (docs/theory.md).

    >>> import numpy as np
    >>> from committee.objectives.losses import Quantile
    >>> y = np.arange(1000.0)
    >>> loss_weights(Quantile(0.9), np.array([np.full(1000, 0.0), np.full(1000, 999.0)]), y, np.ones(1000)).round(2)
    array([0.1, 0.9])
    """
    m = len(predictions)
    share = weights / weights.sum()
    if isinstance(loss.link, Log):  # in a unit that changes no weights and in which squares do not overflow
        unit = float(share @ y) or float(share @ predictions.mean(axis=0)) or 1.0
        y, predictions = y / unit, np.clip(predictions, unit / _FARTHEST, unit * _FARTHEST) / unit
    least = loss.value(y, scores_of(loss, y))
    excess = np.maximum(np.stack([loss.value(y, scores_of(loss, f)) for f in predictions]) - least, 0.0)
    size = float(np.mean(excess @ share))
    w = np.full(m, 1.0 / m)
    if not size > _LEAST_LOSS:
        return w
    for curve in _curves(loss, predictions, y, share):
        w = _descended(curve, predictions, share, w, PRIOR / weights.sum() * size, _LOSS_GAP * size)
    return w


def _curves(loss: Loss, predictions: F64, y: F64, share: F64) -> Iterator[_Bent | _OfScores]:
    # the loss, or smooth curves that approach it
    slopes: tuple[float, float, float] | None = None
    match loss:
        case Absolute():
            slopes = -1.0, 1.0, 0.0
        case Quantile():
            slopes = -loss.quantile, 1.0 - loss.quantile, 0.0
        case Huber():
            slopes = -loss.delta, loss.delta, 1.0
    if slopes is None:
        yield _OfScores(loss, y)
        return
    low, high, least = slopes
    mean = float(np.mean(np.abs(predictions - y) @ share)) / (high - low)
    width, least = mean, max(least, _NARROWEST * mean)
    while width > least:
        yield _Bent(y, low, high, width)
        width *= _NARROWER
    yield _Bent(y, low, high, least)


def _descended(curve: _Bent | _OfScores, predictions: F64, share: F64, w: F64, ridge: float, gap: float) -> F64:
    middle = predictions.mean(axis=0)
    apart = predictions - middle  # the mean of predictions is middle + w @ apart, as weights add up to 1

    def objective(w: F64) -> float:
        return float(share @ curve.value(middle + w @ apart)) + ridge * float(w @ w)

    now = objective(w)
    for _ in range(_MOST_STEPS):
        slope, curvature = curve.derivatives(middle + w @ apart)
        slopes = apart @ (share * slope) + 2.0 * ridge * w
        if float(slopes @ w - slopes.min()) <= gap:
            break
        bend = (apart * (share * curvature)) @ apart.T + 2.0 * ridge * np.eye(len(w))
        step = simplex_minimum(bend, bend @ w - slopes, w) - w
        moved = _line_search(objective, w, step, 1.0, now, float(slopes @ step))
        if moved is None:
            break  # no more than rounding is left to decrease
        w, now = moved
    w = np.maximum(w, 0.0)
    return np.asarray(w / w.sum())


# --- the vote ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WeightedVote:
    members: Sequence[Member]
    weights: F64
    losses: F64
    gains: F64
    """Rise of the vote's mean loss without each member."""
    loss: float
    score: float
    """Accuracy of the vote, R2 or D2."""
    left_out: Sequence[LeftOut] = ()
    predictions: F64 | None = None
    """Predictions of the vote for the validation rows `row` that all members predict, ``(n, K)``."""
    row: Index | None = None
    known: Mask | None = None
    """Mask of these rows among the validation rows."""

    @property
    def fits(self) -> list[Any]:
        return [each for one in self.members for each in one.committees]

    @property
    def voters(self) -> tuple[Any, F64]:
        fits = np.array([len(one.committees) for one in self.members])
        return MemberCommittees(self.fits), np.repeat(self.weights / fits, fits)


def common_rows(members: Sequence[Member]) -> Mask:
    """Mask of the validation rows that all members predict; if there is none, without those that predict fewest."""
    predicted = sorted((np.isfinite(one.predictions[:, 0]) for one in members), key=lambda known: -int(known.sum()))
    known = np.all(predicted, axis=0)
    while not known.any():
        predicted.pop()
        known = np.all(predicted, axis=0)
    return np.asarray(known)


def mean_and_error(values: F64, share: F64) -> tuple[float, float]:
    """Mean of rows with weights `share`, which sum to 1, and its standard error."""
    mean = float(share @ values)
    unit = float(np.sqrt((share**2).sum()))  # standard error of a mean of rows that deviate by 1
    return mean, unit * float(norm(np.sqrt(share) * (values - mean)))


def select_members(
    members: Sequence[Member],
    known: Mask,
    min_gain: float,
    row_weights: F64,
    losses: Callable[[F64], F64],
    weigh: Callable[[Sequence[F64]], F64],
    score: Callable[[F64], float],
    sharpness: Callable[[Sequence[F64], F64], float | None] = lambda *_: None,
    too_large: Callable[[Sequence[Member], F64, F64], int | None] = lambda *_: None,
) -> WeightedVote:
    """Weigh members by the `known` validation rows, without those of too little gain (backward elimination).

    `min_gain` is in standard errors. `losses` (of rows) and `score` take predictions ``(n, K)`` of the vote; `weigh`
    takes those of each member, and `sharpness` also their weights.
    """

    def vote(predictions: Sequence[F64]) -> tuple[F64, F64]:
        weights = weigh(predictions) if len(predictions) > 1 else np.ones(1)
        return weights, np.tensordot(weights, np.stack(predictions), 1)

    share = row_weights / row_weights.sum()

    def rises_without(predictions: Sequence[F64], mean: F64) -> tuple[F64, F64]:
        # rise of the loss without each member, and its standard error
        if len(predictions) == 1:
            return np.zeros(1), np.zeros(1)
        others = ([*predictions[:k], *predictions[k + 1 :]] for k in range(len(predictions)))
        found = [mean_and_error(losses(vote(each)[1]) - losses(mean), share) for each in others]
        return np.array([gain for gain, _ in found]), np.array([error for _, error in found])

    chosen = [one for one in members if np.isfinite(one.predictions[known, 0]).all()]
    predictions = [one.predictions[known] for one in chosen]
    alone = {one.name: float(share @ losses(each)) for one, each in zip(chosen, predictions, strict=True)}
    reasons: dict[str, str] = {}
    while True:
        weights, mean = vote(predictions)
        gains, errors = rises_without(predictions, mean)
        if len(chosen) == 1:
            break
        least = int(np.argmin(gains))
        if gains[least] > min_gain * errors[least]:
            largest = too_large(chosen, gains, errors)
            if largest is None:
                break
            least = largest
            reasons[chosen[least].name] = "size"
        del chosen[least], predictions[least]
    others = [
        LeftOut(one.name, reasons.get(one.name, "no weight"), alone.get(one.name, np.nan), one.seconds)
        for one in members
        if one.name not in {each.name for each in chosen}
    ]
    if (factor := sharpness(predictions, weights)) is not None:
        chosen = [one.sharpened(factor) for one in chosen]
        predictions = [one.predictions[known] for one in chosen]
        mean = np.tensordot(weights, np.stack(predictions), 1)
        gains, _ = rises_without(predictions, mean)
    of_chosen = np.array([alone[one.name] for one in chosen])
    return WeightedVote(chosen, weights, of_chosen, gains, float(share @ losses(mean)), score(mean), others, mean)
