"""Texts of rows, each as its place among the distinct ones: a byte or two a row, however long they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray


@dataclass(frozen=True, eq=False)
class CodedText:
    """A vector of texts.

    Parameters
    ----------
    codes : array of unsigned integers (n,)
        Place of each text.
    texts : text array (k,)
        Distinct texts, rising.

    Examples
    --------
    >>> coded = CodedText.of(np.array(["yes", "no", "yes"]))
    >>> coded.texts.tolist(), coded.codes.tolist(), np.asarray(coded[1:]).tolist()
    (['no', 'yes'], [1, 0, 1], ['no', 'yes'])
    """

    codes: NDArray[Any]
    texts: NDArray[np.str_]

    @classmethod
    def of(cls, values: NDArray[np.str_]) -> Self:
        """Code an array of text."""
        texts, codes = np.unique(values, return_inverse=True)
        return cls(codes.astype(_codes_for(len(texts))), texts)

    @classmethod
    def of_parts(cls, parts: Sequence[CodedText]) -> Self:
        """Return parts one after the other."""
        texts = np.unique(np.concatenate([part.texts for part in parts]))
        places = [np.searchsorted(texts, part.texts).astype(_codes_for(len(texts))) for part in parts]
        return cls(np.concatenate([place[part.codes] for place, part in zip(places, parts, strict=True)]), texts)

    def counted(self) -> tuple[NDArray[np.str_], NDArray[Any]]:
        """Return the texts that occur, rising, and the place of each row's among these."""
        present = np.flatnonzero(np.bincount(self.codes, minlength=len(self.texts)))
        place = np.zeros(len(self.texts), dtype=self.codes.dtype)
        place[present] = np.arange(len(present))
        return self.texts[present], place[self.codes]

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of the array."""
        return self.texts.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the array."""
        return self.codes.shape

    @property
    def ndim(self) -> int:
        """One."""
        return 1

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: Any) -> CodedText:
        return CodedText(self.codes[index], self.texts)

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts[self.codes])

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """The texts themselves."""
        if copy is False:
            raise ValueError("texts that are coded become an array by a copy alone")
        texts: NDArray[Any] = self.texts[self.codes]
        return texts if dtype is None else texts.astype(dtype)


Labels: TypeAlias = NDArray[Any] | CodedText
"""Class labels of rows."""


def _codes_for(n: int) -> type[np.unsignedinteger[Any]]:
    return np.uint8 if n <= 2**8 else np.uint16 if n <= 2**16 else np.uint32
