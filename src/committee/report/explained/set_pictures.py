"""Sets and intervals of a conformal model as pictures: how large they are, and which rows they cover."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from committee.data.counts import counted
from committee.data.number_types import F64, Mask
from committee.report.covered_rows import CoveredRows
from committee.report.evaluation import CONFIDENCE, accuracy_interval
from committee.report.grid import BLANK, Grid
from committee.report.page import Part, Picture, Section
from committee.report.svg.axes import Axes
from committee.report.svg.bars import Bar, bars
from committee.report.svg.dot_rows import DotRow, dot_rows
from committee.report.svg.scale import Scale, plain

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_SIZES, MOST_CLASSES = 8, 20
"""Sizes of sets that have a bar of their own, and classes whose coverage is shown: those of the most rows."""

_FEWEST_ROWS = 30
"""Rows of a part whose coverage is shown."""


def set_section(found: CoveredRows) -> Section:
    """The sets or intervals of rows with answers."""
    if found.sizes is not None:
        return Section("Sets on these rows", [_sizes(found), _by_class(found)])
    assert found.intervals is not None
    parts: list[Part] = [_widths(found.intervals)]
    by_size = _by_size(found)
    return Section("Intervals on these rows", parts if by_size is None else [*parts, by_size])


def _sizes(found: CoveredRows) -> Picture:
    """Rows by the number of classes in their sets."""
    assert found.sizes is not None
    n, largest = len(found.sizes), int(found.sizes.max())
    drawn, rows = [], []
    for size in range(min(largest, MOST_SIZES) + 1):
        last = size == MOST_SIZES and largest > size
        chosen = found.sizes >= size if last else found.sizes == size
        count = int(chosen.sum())
        name = ("no class" if size == 0 else counted(size, "class", "classes")) + (" or more" if last else "")
        right = f"{found.inside[chosen].mean():.1%}" if count else BLANK
        drawn.append(
            Bar(name, count / n, f"{count / n:.1%}" + (f", {right} hold the right one" if count and size else ""))
        )
        rows.append((name, f"{count:,}", f"{count / n:.1%}", right))
    said = "; ".join(f"{bar.name}: {bar.text}" for bar in drawn)
    grid = Grid("Sets by size", ("classes in the set", "rows", "share", "hold the right class"), tuple(rows), "lrrr")
    return Picture(
        "Classes in a set",
        "Rows by the number of classes that cannot be excluded. A set of one is as good as a prediction; a large one "
        "says that the row is hard to tell; none, that it is unlike all classes, or between them.",
        bars(drawn, f"Shares of rows. {said}"),
        grid,
    )


def _by_class(found: CoveredRows) -> Picture:
    """Share of each class's rows whose set holds it."""
    labels, place, count = np.unique(found.y, return_inverse=True, return_counts=True)
    shown = sorted(np.argsort(-count, kind="stable")[:MOST_CLASSES].tolist())
    names = [str(label) for label in labels.tolist()]
    picture = _coverage([(names[k], found.inside[place == k]) for k in shown], found, "class")
    left = len(labels) - len(shown)
    also = f" {counted(left, 'class', 'classes')} of fewer rows are left out." if left else ""
    caption = (
        "Of the rows of each class, the share whose set holds it, and the line on which that share lies with "
        f"{CONFIDENCE:.0%} confidence. The upright line is what is asked for, of all rows together unless sets are "
        f"made by class (per_class).{also}"
    )
    return Picture("Coverage by class", caption, *picture)


def _widths(intervals: F64) -> Picture | str:
    """How wide the intervals are."""
    width = intervals[:, 1] - intervals[:, 0]
    finite = width[np.isfinite(width)]
    if not len(finite):
        return "All intervals are infinite: too few rows were scored for such an alpha."
    low, middle, high = (float(q) for q in np.quantile(finite, [0.0, 0.5, 1.0]))
    beyond = f" {len(width) - len(finite):,} more are infinite." if len(finite) < len(width) else ""
    if high - low <= 1e-9 * high:
        return f"All intervals are {plain(middle, 4)} wide: this score has one width for all rows.{beyond}"
    counts, edges = np.histogram(finite, bins=min(25, max(5, int(np.sqrt(len(finite))))))
    axes = Axes(
        Scale(float(edges[0]), float(edges[-1])),
        Scale(0.0, 1.05 * float(counts.max())),
        "width of the interval",
        "rows",
    )
    tips = [
        f"{counted(n, 'row')} from {plain(a, 3)} to {plain(b, 3)}"
        for n, a, b in zip(counts.tolist(), edges[:-1], edges[1:], strict=True)
    ]
    axes.columns(edges[:-1], edges[1:], counts, tips=tips)
    said = f"from {plain(low, 3)} to {plain(high, 3)}, half of them at most {plain(middle, 3)}"
    return Picture(
        "Widths",
        f"How wide the intervals are: {said}. Wide ones are of rows that are hard to predict.{beyond}",
        axes.svg(f"Bars of the widths, {said}"),
    )


def _by_size(found: CoveredRows) -> Picture | None:
    """Share of the numbers within their intervals, by parts of the rows in the order of the intervals' middles."""
    assert found.intervals is not None
    finite = np.isfinite(found.intervals).all(axis=1)
    middle, inside = found.intervals[finite].mean(axis=1), found.inside[finite]
    n_parts = min(10, len(middle) // _FEWEST_ROWS)
    if n_parts < 2 or np.ptp(middle) == 0.0:
        return None
    parts = np.array_split(np.argsort(middle, kind="stable"), n_parts)
    named = [
        (f"{plain(float(middle[part[0]]), 3)} to {plain(float(middle[part[-1]]), 3)}", inside[part]) for part in parts
    ]
    caption = (
        "Rows by the middle of their interval, from small to large in equal parts: the share of numbers within, and "
        f"the line on which it lies with {CONFIDENCE:.0%} confidence. Below the upright line, which is what is asked "
        "for, intervals are too narrow for numbers of that size, above it too wide."
    )
    return Picture("Coverage by size", caption, *_coverage(named, found, "middle of the interval"))


def _coverage(named: Sequence[tuple[str, Mask]], found: CoveredRows, heading: str) -> tuple[Markup, Grid]:
    """A dot for each part of the rows with its interval, and the same as a table."""
    drawn, rows = [], []
    for name, inside in named:
        share, (low, high) = float(inside.mean()), accuracy_interval(np.ones(len(inside), dtype=bool), inside)
        drawn.append(DotRow(name, [share], f"{share:.1%}", span=(low, high), tips=[f"{counted(len(inside), 'row')}"]))
        rows.append((name, f"{len(inside):,}", f"{share:.1%}", f"{low:.1%} to {high:.1%}"))
    said = "; ".join(f"{row.name} {row.end}" for row in drawn)
    grid = Grid("Coverage", (heading, "rows", "covered", f"with {CONFIDENCE:.0%} confidence"), tuple(rows), "lrrr")
    return dot_rows(drawn, description=f"Shares of rows that are covered. {said}", reference=found.asked), grid
