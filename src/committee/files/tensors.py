"""Documents and named arrays of a model file, as each part of the file sees them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

Document: TypeAlias = dict[str, Any]
"""A JSON object."""
Arrays: TypeAlias = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Tensors:
    """The arrays of a file, by the names that one part of its document gives them.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.files.tensors import Tensors
    >>> tensors = Tensors({})
    >>> tensors.part("voters").part("trees").put(left=np.zeros(3))
    >>> list(tensors.arrays)
    ['voters.trees.left']
    """

    arrays: Arrays
    """All arrays of the file, shared by all parts. Writing puts arrays in, reading takes them out, so that what is left
    in the end belongs to nothing."""
    prefix: str = ""
    """What this part's names start with in the file."""
    depth: int = 0
    """How many learners this part is inside of."""

    def part(self, name: str) -> Tensors:
        """The arrays of a part of this part."""
        return replace(self, prefix=f"{self.prefix}{name}.")

    def member(self, number: int) -> Tensors:
        """The arrays of a learner among the voters of this part."""
        return replace(self.part(str(number)), depth=self.depth + 1)

    def put(self, **arrays: NDArray[Any]) -> None:
        """Add arrays to the file."""
        for name, array in arrays.items():
            self.arrays[self.prefix + name] = array

    def put_fields(self, holder: object, names: Iterable[str]) -> None:
        """Add those attributes of an object, under their own names."""
        for name in names:
            self.arrays[self.prefix + name] = getattr(holder, name)

    def take(self, name: str, dtype: DTypeLike | None = None, ndim: int | None = None) -> NDArray[Any]:
        """Take an array out of the file; its name is without the prefix, and `dtype` and `ndim` what it must be of.

        Raises
        ------
        ValueError
            If there is no such array, or it is of another type.
        """
        full = self.prefix + name
        if full not in self.arrays:
            raise ValueError(f"the array {full!r} is absent")
        array = self.arrays.pop(full)
        if dtype is not None and (array.dtype != dtype or array.ndim != ndim):
            raise ValueError(
                f"{full} is {array.dtype} of {array.ndim} dimensions; it must be {np.dtype(dtype)} of {ndim}"
            )
        return array

    def take_fields(self, names: Sequence[str]) -> dict[str, Any]:
        """Take several arrays out of the file, as keyword arguments."""
        return dict(zip(names, map(self.take, names), strict=True))

    def take_numbers(self, name: str, n: int, what: str) -> NDArray[np.float64]:
        """Take n finite numbers out of the file; errors say that they are `what`."""
        numbers = self.take(name)
        if numbers.dtype != np.float64 or numbers.shape != (n,) or not np.isfinite(numbers).all():
            raise ValueError(f"{self.prefix}{name} are not {n} finite float64 numbers, {what}")
        return numbers
