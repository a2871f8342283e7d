"""Kernels for vectors shorter than the processor's."""

from collections.abc import Iterator
from contextlib import contextmanager

from committee import _core

WIDEST = _core.lane_bytes()
NARROWER = [bytes for bytes in (16, 32) if bytes < WIDEST]


@contextmanager
def vectors_of(bytes: int) -> Iterator[None]:
    """Within it kernels use vectors of so many bytes."""
    _core.use_lane_bytes(bytes)
    try:
        yield
    finally:
        _core.use_lane_bytes(WIDEST)
