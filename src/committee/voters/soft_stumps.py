"""Stumps that answer at random near their threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.number_types import F64
from committee.data.typed_json import field
from committee.files.documents import Document, Tensors
from committee.voters.flat_trees import extents

if TYPE_CHECKING:
    from committee.data.frames import TableSchema

StumpArrays: TypeAlias = tuple[
    NDArray[np.int32], F64, F64, NDArray[np.uint8], F64, NDArray[np.int64], NDArray[np.uint32]
]


@dataclass(frozen=True, eq=False)
class SoftStumps:
    """T stumps on one column each: q(x) = Phi((x_j - c) / s), or that of the other side.

    s = 0 is the ordinary, hard stump: +1 where x_j > c. A column of categories has no softness: q is 1 on a set of them
    and 0 on the others.

    Parameters
    ----------
    feature : int32 array (T,)
        Column j.
    threshold : float64 array (T,)
        c, in the column's units; 0 for categories.
    softness : float64 array (T,)
        s >= 0, in the column's units.
    ascending : uint8 array (T,)
        1 where +1 is the side above c, 0 where it is the one below.
    missing : float64 array (T,)
        q of a missing value.
    category_offset : int64 array (T + 1,)
        Stump t has ``category_bits[category_offset[t]:category_offset[t + 1]]``; none marks a column of numbers.
    category_bits : uint32 array
        32 categories a word; a bit that is set says +1.
    n_features : int
        Width of the matrix.

    Raises
    ------
    ValueError
        If lengths differ or a number is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.voters.soft_stumps import SoftStumps
    >>> stump = SoftStumps.of([(0, 2.0, 1.0, True, 0.5, None)], n_features=1)
    >>> stump.probabilities(np.array([[1.0], [2.0], [np.nan]])).ravel().round(4).tolist()
    [0.1587, 0.5, 0.5]
    """

    feature: NDArray[np.int32]
    threshold: F64
    softness: F64
    ascending: NDArray[np.uint8]
    missing: F64
    category_offset: NDArray[np.int64]
    category_bits: NDArray[np.uint32]
    n_features: int

    def __post_init__(self) -> None:
        T = len(self.feature)
        for name, dtype in DTYPES.items():
            array = getattr(self, name)
            if array.dtype != dtype or array.ndim != 1:
                raise ValueError(f"{name} is {array.dtype} of {array.ndim} dimensions; it must be {dtype} of one")
        if any(len(getattr(self, name)) != T for name in ("threshold", "softness", "ascending", "missing")):
            raise ValueError("the stumps' arrays differ in length")
        offset, n_words = self.category_offset, len(self.category_bits)
        if len(offset) != T + 1 or offset[0] != 0 or (np.diff(offset) < 0).any() or offset[-1] != n_words:
            raise ValueError("category_offset does not share out category_bits")
        if T and not (self.feature.min() >= 0 and self.feature.max() < self.n_features):
            raise ValueError(f"feature holds a column outside the {self.n_features} there are")
        if np.isnan(self.threshold).any() or not np.isfinite(self.softness).all() or (self.softness < 0).any():
            raise ValueError("threshold must be a number, softness finite and not negative")
        if not ((self.missing >= 0) & (self.missing <= 1)).all() or (self.ascending > 1).any():
            raise ValueError("missing must lie in [0, 1], ascending be 0 or 1")

    @classmethod
    def of(
        cls,
        stumps: list[tuple[int, float, float, bool, float, NDArray[np.uint32] | None]],
        n_features: int,
    ) -> SoftStumps:
        """From one tuple for each: feature, threshold, softness, ascending, missing and the words of its categories."""
        words = [np.empty(0, np.uint32) if stump[5] is None else stump[5] for stump in stumps]
        return cls(
            np.array([stump[0] for stump in stumps], dtype=np.int32),
            np.array([stump[1] for stump in stumps], dtype=np.float64),
            np.array([stump[2] for stump in stumps], dtype=np.float64),
            np.array([stump[3] for stump in stumps], dtype=np.uint8),
            np.array([stump[4] for stump in stumps], dtype=np.float64),
            *_packed(words),
            n_features,
        )

    def __len__(self) -> int:
        return len(self.feature)

    def __getitem__(self, index: Any) -> SoftStumps:
        chosen = np.atleast_1d(np.arange(len(self))[index])
        words = [self.category_bits[self.category_offset[t] : self.category_offset[t + 1]] for t in chosen]
        return SoftStumps(
            self.feature[chosen],
            self.threshold[chosen],
            self.softness[chosen],
            self.ascending[chosen],
            self.missing[chosen],
            *_packed(words),
            self.n_features,
        )

    @property
    def arrays(self) -> StumpArrays:
        """The seven arrays, as the kernels take them."""
        numbers = self.feature, self.threshold, self.softness, self.ascending, self.missing
        return *numbers, self.category_offset, self.category_bits

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(array.nbytes for array in self.arrays)

    def probabilities(self, X: F64, n_threads: int = 1) -> F64:
        """q of every stump on every row, ``(n, T)``."""
        return _core.stump_probabilities(X, *self.arrays, n_threads)

    # -- the file ---------------------------------------------------------------------------------------------

    def to_document(self, tensors: Tensors) -> Document:
        """Write the stumps into a model file."""
        tensors.part("stumps").put_fields(self, DTYPES)
        return {"kind": "soft_stumps", "n_features": int(self.n_features)}

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> SoftStumps:
        """Read what `to_document` wrote; construction checks every value."""
        n_features = field(document, "n_features", int)
        own = tensors.part("stumps")
        arrays: dict[str, Any] = {name: own.take(name, dtype, 1) for name, dtype in DTYPES.items()}
        return cls(**arrays, n_features=n_features)

    def check_columns(self, table: TableSchema | None) -> None:
        """Refuse stumps that use a column in a way that its type forbids."""
        if table is None:
            return
        # a stump that all are above may stand on any column
        bad = table.mismatched_splits(self.feature, np.diff(self.category_offset)) & (self.threshold > -np.inf)
        if bad.any():
            raise ValueError(f"a stump on {table.column(int(self.feature[np.argmax(bad)]))} does not suit its type")


def _packed(words: list[NDArray[np.uint32]]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """The stumps' words end to end, and where each one's begin."""
    return extents([len(word) for word in words]), np.concatenate([np.empty(0, np.uint32), *words]).astype(np.uint32)


DTYPES: dict[str, np.dtype[Any]] = {
    "feature": np.dtype(np.int32),
    "threshold": np.dtype(np.float64),
    "softness": np.dtype(np.float64),
    "ascending": np.dtype(np.uint8),
    "missing": np.dtype(np.float64),
    "category_offset": np.dtype(np.int64),
    "category_bits": np.dtype(np.uint32),
}
