"""Numbers that stand for the levels of a column with too many of them to be parted into subsets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST = 1e300
"""Numbers of a file must be below it."""


@dataclass(frozen=True)
class LevelValues:
    """The number of each level of a column, and of a level that training has not seen.

    Parameters
    ----------
    values : tuple of float
        A number for each level, in the order of the codes.
    unknown : float
        The number of a level that training has not seen; that of all rows together.
    of : str
        What the numbers are, for rules: ``"rate of yes"``.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.data.level_values import LevelValues
    >>> rates = LevelValues((0.2, 0.7), 0.5, "rate of yes")
    >>> rates.numbers(np.array([1.0, np.nan, np.nan]), np.array([False, True, False]))
    array([0.7, nan, 0.5])
    """

    values: tuple[float, ...]
    unknown: float
    of: str

    @cached_property
    def _table(self) -> NDArray[np.float64]:
        return np.append(np.array(self.values, dtype=np.float64), self.unknown)

    def numbers(self, codes: NDArray[np.float64], missing: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Numbers of cells ``(n,)`` by their codes, NaN where they have none; those that are missing stay NaN."""
        place = np.where(np.isnan(codes), len(self.values), codes).astype(np.intp)
        return np.where(missing, np.nan, self._table[place])

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as values that JSON has."""
        return {"values": list(self.values), "unknown": self.unknown, "of": self.of}

    @classmethod
    def from_json(cls, stored: Any) -> LevelValues:
        """Rebuild what :meth:`to_json` wrote, trusting nothing in it.

        Raises
        ------
        ValueError
            If anything is not as :meth:`to_json` writes it.
        """
        if not isinstance(stored, dict) or set(stored) != {"values", "unknown", "of"}:
            raise ValueError("values of levels must be an object with 'values', 'unknown' and 'of', and nothing else")
        values, unknown, of = stored["values"], stored["unknown"], stored["of"]
        if not isinstance(values, list) or not all(_is_number(each) for each in [*values, unknown]):
            raise ValueError("the values of levels must be a list of finite numbers, and the unknown level's one more")
        if not isinstance(of, str):
            raise ValueError(f"'of' of the values of levels must be text, got {of!r}")
        return cls(tuple(float(each) for each in values), float(unknown), of)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST
