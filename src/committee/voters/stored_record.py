"""The training record of trees as files have it: short numbers, and none of nodes that are sums of their children."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, Index
from committee.voters.forest import Forest
from committee.voters.node_order import inner_levels

RECORD = ("gain", "weight", "count")
"""What is recorded of each node."""
GAINS = "gain_value"
"""The different gains, where `gain` has their numbers."""

UNSIGNED = (np.uint8, np.uint16, np.uint32)
"""Types of whole numbers in files."""


def short(numbers: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers of at least 0 and less than 2^32, in the shortest type that holds all of them."""
    largest = int(numbers.max(initial=0))
    return numbers.astype(next(kind for kind in UNSIGNED if largest <= np.iinfo(kind).max))


def record_arrays(forest: Forest) -> dict[str, NDArray[Any]]:
    """The record in few bytes; empty where there is none, or leaves gained something, which none of ours does.

    Weights and counts are those of the leaves where each inner node has the sum of its children's, else of all nodes.
    Whole numbers are short. Gains are those of the inner nodes, or their numbers among the different ones.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from committee import Committee
    >>> from committee.voters.stored_record import record_arrays
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = Committee.from_estimator(RandomForestClassifier(20, random_state=0).fit(X, y)).voters
    >>> {name: array.dtype.name for name, array in record_arrays(forest).items()}
    {'gain': 'uint8', 'gain_value': 'float64', 'weight': 'uint8', 'count': 'uint8'}
    """
    leaf = forest.left < 0
    if not has_record(forest) or forest.gain[leaf].any():
        return {}
    inner = np.flatnonzero(~leaf)
    child = forest.left[inner] + np.repeat(forest.offset[:-1], forest.n_nodes)[inner]
    found = _gains(forest.gain[inner])
    for name in ("weight", "count"):
        numbers = getattr(forest, name)
        sums = (numbers[inner] == numbers[child] + numbers[child + 1]).all()
        found[name] = _whole(numbers[leaf] if sums else numbers)
    return found


def has_record(forest: Forest) -> bool:
    """Whether any node has a gain, a weight or a count."""
    return any(bool(getattr(forest, name).any()) for name in RECORD)


def read_record(arrays: dict[str, Any], left: NDArray[np.int32], offset: NDArray[np.int64]) -> dict[str, Any]:
    """The record of all nodes of the trees, from what `record_arrays` gave; `Forest.check` looks at its values.

    Raises
    ------
    ValueError
        If an array is of another type or length.
    """
    inner = np.flatnonzero(left >= 0)
    gain = np.zeros(len(left))
    gain[inner] = _read_gains(arrays, len(inner))
    levels = inner_levels(left, offset)
    found: dict[str, Any] = {"gain": gain}
    for name, kind in (("weight", np.float64), ("count", np.int64)):
        found[name] = _read_numbers(name, arrays[name], np.dtype(kind), left, levels)
    return found


def _gains(gain: F64) -> dict[str, NDArray[Any]]:
    values, number = np.unique(gain.view(np.int64), return_inverse=True)
    numbers = short(number.reshape(-1))
    if values.nbytes + numbers.nbytes >= gain.nbytes:
        return {"gain": gain}
    return {"gain": numbers, GAINS: values.view(np.float64)}


def _whole(numbers: NDArray[Any]) -> NDArray[Any]:
    """Short, if they are whole and not too large, and no zero has a sign."""
    are_small = len(numbers) > 0 and numbers.min() >= 0 and numbers.max() < 2**32
    if are_small and not np.signbit(numbers).any() and (numbers == np.floor(numbers)).all():
        return short(numbers)
    return numbers


def _read_gains(arrays: dict[str, Any], n_inner: int) -> F64:
    gain = arrays["gain"]
    if gain.shape != (n_inner,):
        raise ValueError(f"gain has the shape {gain.shape}; there are {n_inner} inner nodes")
    if GAINS not in arrays:
        if gain.dtype != np.float64:
            raise ValueError(f"gain is {gain.dtype}; without {GAINS} it must be float64")
        return np.asarray(gain)
    values = arrays[GAINS]
    if values.dtype != np.float64 or values.ndim != 1 or gain.dtype not in UNSIGNED:
        raise ValueError(f"gain is {gain.dtype} and {GAINS} {values.dtype} of {values.ndim} dimensions; they must be "
                         "unsigned, and float64 of 1")  # fmt: skip
    if (gain >= len(values)).any():
        raise ValueError(f"gain holds {int(gain.max())}; there are {len(values)} different gains")
    return np.asarray(values[gain])


def _read_numbers(
    name: str, stored: NDArray[Any], dtype: np.dtype[Any], left: NDArray[np.int32], levels: list[tuple[Index, Index]]
) -> NDArray[Any]:
    leaf = left < 0
    n_leaves = int(leaf.sum())
    if stored.dtype not in (*UNSIGNED, dtype) or stored.ndim != 1 or len(stored) not in (n_leaves, len(left)):
        raise ValueError(
            f"{name} is {stored.dtype} of shape {stored.shape}; it must be unsigned or {dtype}, of the {n_leaves} "
            f"leaves or all {len(left)} nodes"
        )
    if len(stored) == len(left):
        return stored.astype(dtype)
    numbers = np.zeros(len(left), dtype=dtype)
    numbers[leaf] = stored
    for level, child in reversed(levels):
        numbers[level] = numbers[child] + numbers[child + 1]
    return numbers
