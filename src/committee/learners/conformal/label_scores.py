"""How strange each label would be for a row, by the probabilities of the classes."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from committee.data.number_types import F64
from committee.data.row_digests import U64

LabelScore: TypeAlias = Literal["lac", "aps"]


def lac(p: F64) -> F64:
    """One minus the probability of the label, ``(n, K)``: the smallest sets in the mean (Sadinle et al. 2019).

    Examples
    --------
    >>> lac(np.array([[0.5, 0.25, 0.25]])).tolist()
    [[0.5, 0.75, 0.75]]
    """
    return np.asarray(1.0 - p)


def aps(p: F64, own: F64 | None = None) -> F64:
    """Probability of all labels that are likelier, ``(n, K)``, and a share of the label's own (Romano et al. 2020).

    The likeliest label scores 0 without a share, so that it is in every set. With a uniform share for each row the sets
    are those of the paper's randomisation: smaller, and at times empty.

    Parameters
    ----------
    p : float64 array (n, K)
        Probabilities.
    own : float64 array (n,), default=None
        Share of the label's own probability for each row; None: nothing.

    Examples
    --------
    >>> aps(np.array([[0.25, 0.5, 0.25]])).tolist()
    [[0.5, 0.0, 0.5]]
    >>> aps(np.array([[0.25, 0.5, 0.25]]), np.array([0.5])).tolist()
    [[0.625, 0.25, 0.625]]
    """
    order = np.argsort(-p, axis=1, kind="stable")
    sorted_p = np.take_along_axis(p, order, axis=1)
    before = np.zeros_like(p)
    np.cumsum(sorted_p[:, :-1], axis=1, out=before[:, 1:])
    # labels that are as likely as each other have the same score, whichever comes first
    new = np.ones(p.shape, dtype=bool)
    new[:, 1:] = sorted_p[:, 1:] < sorted_p[:, :-1]
    first = np.maximum.accumulate(np.where(new, np.arange(p.shape[1]), 0), axis=1)
    score = np.empty_like(p)
    np.put_along_axis(score, order, np.take_along_axis(before, first, axis=1), axis=1)
    return score if own is None else score + own[:, None] * p


def random_shares(numbers: U64, seed: int) -> F64:
    """Uniform numbers in [0, 1) that follow from a seed and what a row holds, ``(n,)``.

    A row has the same one whichever rows come with it, in any order of the rows; so have rows that are equal.

    Parameters
    ----------
    numbers : uint64 array (n,)
        Those of the rows' content.
    seed : int

    Examples
    --------
    >>> u = random_shares(np.array([7, 8, 7], dtype=np.uint64), 0)
    >>> bool(u[0] == u[2]), bool(u[0] == u[1])
    (True, False)
    """
    mixed = numbers + np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return np.asarray((mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def label_scores(p: F64, kind: LabelScore, own: F64 | None) -> F64:
    """Scores ``(n, K)`` of a kind; `own` are the rows' random shares, None where nothing is random."""
    return lac(p) if kind == "lac" else aps(p, own)
