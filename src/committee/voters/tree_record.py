"""Training record of trees in files: gains, weights and counts of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, Index, check_range
from committee.files.documents import Document, to_single
from committee.voters.flat_trees import inner_levels
from committee.voters.forest import Forest

UNSIGNED = (np.uint8, np.uint16, np.uint32)
REAL = (np.float32, np.float64)
RECORD = ("gain", "weight", "count")
GAINS = "gain_value"
"""Array of the distinct gains, if `gain` holds indices."""


def to_smallest_unsigned(numbers: NDArray[Any]) -> NDArray[Any]:
    largest = int(numbers.max(initial=0))
    return numbers.astype(next(kind for kind in UNSIGNED if largest <= np.iinfo(kind).max))


def record_arrays(forest: Forest) -> dict[str, NDArray[Any]]:
    """Compressed training record, or an empty dict without a record or if leaves have a gain.

    Weights and counts are those of the leaves if each inner node has the sum of its children, else of all nodes. Gains
    are those of the inner nodes, or indices of the distinct gains if these are shorter.
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
    return any(bool(getattr(forest, name).any()) for name in RECORD)


def read_record(arrays: dict[str, Any], left: NDArray[np.int32], offset: NDArray[np.int64]) -> dict[str, Any]:
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
    numbers = to_smallest_unsigned(number.reshape(-1))
    distinct, each = to_single(values.view(np.float64)), to_single(gain)
    if distinct.nbytes + numbers.nbytes >= each.nbytes:
        return {"gain": each}
    return {"gain": numbers, GAINS: distinct}


def _whole(numbers: NDArray[Any]) -> NDArray[Any]:
    are_small = len(numbers) > 0 and numbers.min() >= 0 and numbers.max() < 2**32
    if are_small and not np.signbit(numbers).any() and (numbers == np.floor(numbers)).all():
        return to_smallest_unsigned(numbers)
    return to_single(numbers) if numbers.dtype == np.float64 else numbers


def _read_gains(arrays: dict[str, Any], n_inner: int) -> F64:
    gain = arrays["gain"]
    if gain.shape != (n_inner,):
        raise ValueError(f"gain has the shape {gain.shape}; there are {n_inner} inner nodes")
    if GAINS not in arrays:
        if gain.dtype not in REAL:
            raise ValueError(f"gain is {gain.dtype}; without {GAINS} it must be float32 or float64")
        return np.asarray(gain, dtype=np.float64)
    values = arrays[GAINS]
    if values.dtype not in REAL or values.ndim != 1 or gain.dtype not in UNSIGNED:
        raise ValueError(
            f"gain is {gain.dtype} and {GAINS} {values.dtype} of {values.ndim} dimensions; they must be unsigned and a "
            "vector of float32 or float64"
        )
    check_range("gain", gain, 0, len(values) - 1)
    return np.asarray(values[gain], dtype=np.float64)


def _read_numbers(
    name: str, stored: NDArray[Any], dtype: np.dtype[Any], left: NDArray[np.int32], levels: list[tuple[Index, Index]]
) -> NDArray[Any]:
    leaf = left < 0
    n_leaves = int(leaf.sum())
    real = REAL if dtype == np.float64 else (dtype,)
    if stored.dtype not in (*UNSIGNED, *real) or stored.ndim != 1 or len(stored) not in (n_leaves, len(left)):
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


def record_names(document: Document) -> tuple[str, ...]:
    record = document.get("record")
    if record is None:
        return ()
    if record not in ("all", "values"):
        raise ValueError(f"record is {record!r}; it must be 'all' or 'values'")
    return (*RECORD, GAINS) if record == "values" else RECORD
