"""Checks of arrays that nobody vouches for: type, shape, range; ``ValueError`` names the array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def checked_length(name: str, array: NDArray[Any]) -> int:
    """Length of an array, which must have a dimension."""
    if not array.ndim:
        raise ValueError(f"{name} is a single number; it must be an array.")
    return len(array)


def check_array(name: str, array: NDArray[Any], dtype: type[np.generic], shape: tuple[int, ...]) -> None:
    """Refuse an array of another type, shape or order in memory."""
    if array.dtype != dtype or array.shape != shape or not array.flags.c_contiguous:
        raise ValueError(
            f"{name} is {array.dtype} of shape {array.shape}; it must be {np.dtype(dtype)} of shape {shape}."
        )


def check_finite(name: str, array: NDArray[Any], shape: tuple[int, ...]) -> None:
    """Refuse anything but finite float64 numbers of that shape."""
    check_array(name, array, np.float64, shape)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds a number that is not finite.")


def check_range(name: str, array: NDArray[np.int32], least: int, most: int) -> None:
    """Refuse whole numbers outside a range, both ends of it allowed."""
    outside = (array < least) | (array > most)
    if outside.any():
        raise ValueError(f"{name} holds {array[np.argmax(outside)]}, which is not within {least} and {most}.")
