"""Files packed by UNIX ``compress`` (``.Z``), which Python's library does not open: adaptive Lempel-Ziv-Welch codes."""

from __future__ import annotations

MAGIC = b"\x1f\x9d"
FIRST_BITS = 9
CLEAR = 256
"""The code by which the table of words begins anew."""


def decompressed(content: bytes) -> bytes:
    r"""Return what was packed.

    Codes of 9 bits, and of one more each time that the table of words is full, stand in groups of eight, least
    significant bit first; a group is filled up where the width changes.

    Raises
    ------
    ValueError
        If the content is not of this format, or damaged.

    Examples
    --------
    >>> from committee.papers.public_tables.compress import decompressed
    >>> decompressed(b"\x1f\x9d\x90a\xc4\x00")
    b'ab'
    """
    if content[:2] != MAGIC or len(content) < 3 or not content[2] & 0x80:
        raise ValueError("the file is not one of UNIX compress in block mode")
    most_bits = content[2] & 0x1F
    words = [bytes([code]) for code in range(256)] + [b""]
    found: list[bytes] = []
    before = b""
    bits, at, group = FIRST_BITS, 24, 24
    while at + bits <= 8 * len(content):
        start = at >> 3
        code = int.from_bytes(content[start : start + 4], "little") >> (at & 7) & ((1 << bits) - 1)
        at += bits
        if code == CLEAR:
            at = group = _end_of_group(at, group, bits)
            del words[CLEAR + 1 :]
            bits, before = FIRST_BITS, b""
            continue
        if code < len(words):
            word = words[code]
        elif code == len(words) and before:
            word = before + before[:1]
        else:
            raise ValueError(f"the file is damaged: at bit {at - bits} it has a word that is not known there")
        found.append(word)
        if before and len(words) < 1 << most_bits:
            words.append(before + word[:1])
        before = word
        if len(words) == 1 << bits and bits < most_bits:
            at = group = _end_of_group(at, group, bits)
            bits += 1
    return b"".join(found)


def _end_of_group(at: int, group: int, bits: int) -> int:
    """The bit after the group of eight codes that the last one read is in."""
    return at + (group - at) % (8 * bits)
