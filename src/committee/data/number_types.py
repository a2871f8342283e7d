"""Types of arrays, the limits that the kernels' number types set, and checks of numbers and arrays from files."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

F64: TypeAlias = NDArray[np.float64]
I8: TypeAlias = NDArray[np.int8]
I32: TypeAlias = NDArray[np.int32]
I64: TypeAlias = NDArray[np.int64]
Index: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]

MAX_CLASSES = int(np.iinfo(np.int16).max)  # votes are class numbers in 16 bits; -1 is an abstention
MAX_FEATURES = 2**29 - 1  # a node of a native tree stores its feature in 29 bits


def is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, Integral) and not isinstance(value, bool)


def checked_length(name: str, array: NDArray[Any]) -> int:
    if not array.ndim:
        raise ValueError(f"{name} is a single number; it must be an array.")
    return len(array)


def check_array(name: str, array: NDArray[Any], dtype: type[np.generic], shape: tuple[int, ...]) -> None:
    if array.dtype != dtype or array.shape != shape or not array.flags.c_contiguous:
        raise ValueError(
            f"{name} is {array.dtype} of shape {array.shape}; it must be {np.dtype(dtype)} of shape {shape}, and "
            "C-contiguous."
        )


def check_finite(name: str, array: NDArray[Any], shape: tuple[int, ...]) -> None:
    check_array(name, array, np.float64, shape)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds a number that is not finite.")


def check_range(name: str, array: NDArray[np.integer[Any]], least: int, most: int) -> None:
    outside = (array < least) | (array > most)
    if outside.any():
        raise ValueError(f"{name} holds {array[np.argmax(outside)]}, which is not between {least} and {most}.")
