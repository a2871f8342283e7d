"""Target columns of tables that are read: rows without a target, and labels that differ by case alone."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from committee.data.readers.cells import are_missing

if TYPE_CHECKING:
    import polars as pl


def drop_unlabelled(frame: pl.DataFrame, target: str, *, strict: bool) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Leave out rows without a target, with a note; keep them if `strict`, or if the target is missing in all rows."""
    if strict or target not in frame.columns:
        return frame, ()
    missing = are_missing(frame[target])
    n = int(missing.sum())
    if n in (0, frame.height):
        return frame, ()
    return frame.filter(~missing), (unlabelled_note(target, n, frame.height, int(missing.arg_max() or 0)),)


def unlabelled_note(target: str, n_missing: int, n: int, first: int) -> str:
    rows = "1 row" if n_missing == 1 else f"{n_missing:,} rows"
    return f"{rows} of {n:,} without target {target!r} left out, the first row {first:,}; --strict refuses them"


def case_notes(target: str, y: NDArray[Any]) -> tuple[str, ...]:
    if y.dtype.kind != "U":
        return ()
    same: dict[str, list[str]] = {}
    for label, count in sorted(Counter(y.tolist()).items()):
        same.setdefault(label.casefold(), []).append(f"{label!r} ({count:,})")
    groups = [" and ".join(group) for group in same.values() if len(group) > 1]
    if not groups:
        return ()
    shown = ", ".join(groups[:3]) + (f" and {len(groups) - 3:,} more" if len(groups) > 3 else "")
    return (f"target {target!r} has classes that differ by case alone: {shown}; write each in one way",)
