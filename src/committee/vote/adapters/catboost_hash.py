"""The numbers by which CatBoost's models know their categories."""

from __future__ import annotations

from functools import cache

_WORD = (1 << 64) - 1
_FACTOR_2, _FACTOR_3, _FACTOR_16 = 0x9AE16A3B2F90404F, 0xC949D7C7509E6557, 0x9DDFEA08EB382D69

WHOLE_NUMBERS = range(-999, 100_000)
"""Whole numbers that are looked for behind a hash."""


def category_hash(category: str) -> int:
    """Return the hash of a category of at most 8 bytes: the low half of CityHash64, signed.

    Examples
    --------
    >>> category_hash("0"), category_hash("red")
    (-1438285038, -1242798403)
    """
    text = category.encode()
    n = len(text)
    if not 0 < n <= 8:
        raise ValueError(f"category {category!r} has {n} bytes; the hash is that of 1 to 8.")
    if n >= 4:
        first, last = (int.from_bytes(part, "little") for part in (text[:4], text[-4:]))
        whole = _of_two(n + (first << 3) & _WORD, last)
    else:
        mixed = (text[0] + (text[n >> 1] << 8)) * _FACTOR_2 ^ (n + (text[-1] << 2)) * _FACTOR_3
        whole = _shifted(mixed & _WORD) * _FACTOR_2
    return signed(whole)


def signed(number: int) -> int:
    """Return the low 32 bits of a number, of which the highest is a sign.

    Examples
    --------
    >>> signed(2**32 - 1)
    -1
    """
    low = number & 0xFFFFFFFF
    return low - (1 << 32) if low >> 31 else low


@cache
def whole_numbers() -> dict[int, int]:
    """Whole numbers by their hashes, -999 to 99,999."""
    return {category_hash(str(number)): number for number in WHOLE_NUMBERS}


def _shifted(word: int) -> int:
    return word ^ (word >> 47)


def _of_two(low: int, high: int) -> int:
    mixed = _shifted((low ^ high) * _FACTOR_16 & _WORD)
    return _shifted((high ^ mixed) * _FACTOR_16 & _WORD) * _FACTOR_16
