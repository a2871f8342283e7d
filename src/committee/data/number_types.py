"""Arrays by the type of their numbers, and the limits that the kernels' number types set on tables and votes."""

from numbers import Integral, Real
from typing import TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

F64: TypeAlias = NDArray[np.float64]
I8: TypeAlias = NDArray[np.int8]
Index: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]

MAX_CLASSES = int(np.iinfo(np.int16).max)
"""Votes are class indices in 16 bits, one of them negative for "abstains"."""
MAX_FEATURES = 2**29 - 1
"""The native node keeps its feature in 29 bits."""


def is_number(value: object) -> TypeGuard[float]:
    """Say whether a value is a real number, of which True and False are none, though Python counts them among them."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: object) -> TypeGuard[int]:
    """Say whether a value is a whole number, of which True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)
