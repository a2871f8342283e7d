"""Forests made to cast any given votes, and committees of them."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from committee.vote.committee import Committee
from committee.vote.links.probability import Softmax
from committee.voters.forest import Forest


def forest_that_votes(votes: np.ndarray, n_classes: int) -> Forest:
    """Trees that give row i (the row with x = i) the vote ``votes[i, t]``: a chain of splits x <= i + 1/2."""
    n, T = votes.shape[:2]
    size = 2 * n - 1
    feature = np.full(size, -1, dtype=np.int32)
    left = np.full(size, -1, dtype=np.int32)
    threshold = np.zeros(size)
    inner = 2 * np.arange(n - 1)
    feature[inner], left[inner], threshold[inner] = 0, inner + 1, np.arange(n - 1) + 0.5
    leaf_of_row = np.append(2 * np.arange(n - 1) + 1, size - 1)
    hard = votes.ndim == 2
    label = np.full((T, size), -1, dtype=np.int32)
    value = np.zeros((T, size, 1 if hard else votes.shape[2]))
    if hard:
        label[:, leaf_of_row] = votes.T
    else:
        value[:, leaf_of_row] = votes.transpose(1, 0, 2)
    forest = forest_by_hand(
        np.tile(feature, T),
        np.tile(left, T),
        n_classes=n_classes,
        n_features=1,
        offset=np.arange(T + 1, dtype=np.int64) * size,
        threshold=np.tile(threshold, T),
        label=label.ravel() if hard else None,
        value=None if hard else value.reshape(T * size, -1),
        gain=np.tile(np.where(feature < 0, 0.0, 1.0), T),
    )
    forest.check()
    return forest


def rows(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.float64)[:, None]


weights_of = st.one_of(
    st.floats(-3, 3), st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.0, 1.0, 0.1, 0.2, 0.3, 1e-30, -1.0])
)
values_of = st.one_of(st.floats(-2, 2), st.sampled_from([0.0, 1.0, -1.0, 1 / 3, 1e-30, 1e5]))


@st.composite
def casts(draw: st.DrawFn, kind: str | None = None) -> tuple[np.ndarray, np.ndarray, int]:
    """Votes (n, T) or (n, T, D), weights (T,), number of classes."""
    n, T = draw(st.integers(1, 6)), draw(st.integers(1, 7))
    K = draw(st.integers(2, 4))
    kind = kind or draw(st.sampled_from(["label", "score", "signed"]))
    weights = np.array(draw(st.lists(weights_of, min_size=T, max_size=T)))
    if kind == "label":
        flat = draw(st.lists(st.integers(-1, K - 1), min_size=n * T, max_size=n * T))
        return np.array(flat, dtype=np.int32).reshape(n, T), weights, K
    D, K = (1, 2) if kind == "signed" else (K, K)
    flat = draw(st.lists(values_of, min_size=n * T * D, max_size=n * T * D))
    return np.array(flat).reshape(n, T, D), weights, K


def committee_of(votes: np.ndarray, weights: np.ndarray, K: int, link: Any = None) -> Committee:
    voters = forest_that_votes(votes, K)
    return Committee(voters, weights, np.array(list("abcdef")[:K]), link or Softmax())


def forest_by_hand(feature: Any, left: Any, *, n_classes: int = 2, **arrays: Any) -> Forest:
    """Forest of one tree of these nodes; arrays that are not given have neutral values."""
    N = len(feature)
    neutral: dict[str, Any] = {
        "n_features": max(1, max(feature) + 1),
        "offset": np.array([0, N]),
        "threshold": np.zeros(N),
        "missing_left": np.zeros(N, dtype=np.uint8),
        "category_offset": np.zeros(N + 1, dtype=np.int64),
        "category_bits": np.zeros(0, dtype=np.uint32),
        "label": None,
        "value": None,
        "gain": np.zeros(N),
        "weight": np.ones(N),
        "count": np.ones(N, dtype=np.int64),
    }
    nodes = {"feature": np.array(feature, dtype=np.int32), "left": np.array(left, dtype=np.int32)}
    return Forest(n_classes=n_classes, **(neutral | nodes | arrays))


def stump_by_hand(feature: int = 0, **arrays: Any) -> Forest:
    """Forest of one tree with a single split."""
    return forest_by_hand([feature, -1, -1], [1, -1, -1], **arrays)
