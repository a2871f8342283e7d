"""Conformal sets and intervals as the papers write them: row by row, label by label."""

from math import ceil, floor, inf
from typing import Any


def quantile(scores: list[float], alpha: float) -> float:
    """The ceil((1 - alpha)(n + 1))-th smallest score; infinite if there are fewer."""
    k = ceil(round((1 - alpha) * (len(scores) + 1), 9))
    return inf if k > len(scores) else sorted(scores)[k - 1]


def lac(p: list[float], label: int) -> float:
    return 1 - p[label]


def aps(p: list[float], label: int) -> float:
    """The least tau for which the labels, the likeliest first, up to a probability of tau hold this one."""
    return sum(sorted((other for other in p if other > p[label]), reverse=True))


def label_set(p: list[float], score: Any, threshold: Any) -> set[int]:
    """Labels whose score is no larger than the threshold of their class."""
    return {label for label in range(len(p)) if score(p, label) <= threshold(label)}


def cross_conformal_set(without: list[list[float]], scores: list[float], score: Any, alpha: float) -> set[int]:
    """Romano, Sesia, Candes (2020), CV+: `without` are the probabilities by fits that have not seen row i."""
    n = len(scores)
    return {
        label
        for label in range(len(without[0]))
        if sum(known < score(p, label) for known, p in zip(scores, without, strict=True))
        < round((1 - alpha) * (n + 1), 9)
    }


def p_value(scores: list[float], weights: list[float], own: list[float]) -> float:
    """(sum_i v_i [s_i >= s] + 1) / (V + 1) of a label whose score s is own[i] by voters that have not seen row i."""
    larger = sum(v for known, v, s in zip(scores, weights, own, strict=True) if known >= s)
    return (larger + 1) / (sum(weights) + 1)


def jackknife_plus(without: list[float], errors: list[float], alpha: float) -> tuple[float, float]:
    """Barber, Candes, Ramdas, Tibshirani (2021): of each row the prediction without it, less and plus its error."""
    low = sorted(f - error for f, error in zip(without, errors, strict=True))
    high = sorted(f + error for f, error in zip(without, errors, strict=True))
    n = len(errors)
    k, top = floor(round(alpha * (n + 1), 9)), ceil(round((1 - alpha) * (n + 1), 9))
    return (low[k - 1] if k >= 1 else -inf), (high[top - 1] if top <= n else inf)
