"""Products of votes that are + or - on every row of one weight: counts of the rows on which two of them differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64


@dataclass(frozen=True, eq=False)
class CountedProducts:
    """Products G_jk = total - 2 unit apart_jk - mean_j mean_k of N voters, in a quarter of the memory of numbers.

    Parameters
    ----------
    apart : uint16 or uint32 array (N, N)
        Rows on which two voters vote otherwise.
    mean : float64 array (N,)
        Mean votes, where products are centred; else zeros.
    unit : float
        Weight of a row.
    total : float
        Weight of all rows.

    Examples
    --------
    Two voters who differ on one of four rows:

    >>> import numpy as np
    >>> from committee.objectives.programs.counted_products import CountedProducts
    >>> CountedProducts(np.array([[0, 1], [1, 0]], dtype=np.uint16), np.zeros(2), 0.25, 1.0).dense().tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """

    apart: NDArray[np.uint16] | NDArray[np.uint32]
    mean: F64
    unit: float
    total: float

    def dense(self) -> F64:
        """G as numbers, ``(N, N)``."""
        return (self.total - 2.0 * self.unit * self.apart) - self.mean[:, None] * self.mean

    def diagonal(self) -> F64:
        """Products of the voters with themselves, ``(N,)``."""
        return self.total - self.mean**2
