"""Leaves in words, with bars whose colours mean one thing each: for, against, or a class."""

from __future__ import annotations

import numpy as np

from committee.data.counts import counted
from committee.report.explained.leaves import LeafTerms, TreeLeaves
from committee.report.page import Picture
from committee.report.svg.axes import COLORS
from committee.report.svg.bars import AGAINST, FOR, REST, Bar, Stack, bars, stacks
from committee.report.svg.element import legend, side_by_side
from committee.report.svg.scale import plain

_CAPTION = "Each leaf in words: which rows come to it, what it says, and its share of the training rows."


def leaves_picture(found: TreeLeaves) -> Picture:
    """The leaves of a tree, each below its rule; several scores of a leaf are words alone."""
    left = found.n_leaves - len(found.leaves)
    first = "The leaf of the most training rows stands first."
    largest = f"The {len(found.leaves)} leaves of the most training rows, of {found.n_leaves:,}." if left else first
    if all(leaf.classes is not None for leaf in found.leaves):
        return _of_classes(found, largest)
    if any(leaf.value is None for leaf in found.leaves):
        some = [Stack(leaf.rule, (), f"{leaf.words}{_rows(leaf.share)}") for leaf in found.leaves]
        return Picture(found.title, f"{_CAPTION} {largest}", stacks(some, _said(found), most_lines=3))
    values = [(leaf, leaf.value or 0.0) for leaf in found.leaves]
    lying = [Bar(leaf.rule, value, f"{plain(value, 3)}{_rows(leaf.share)}") for leaf, value in values]
    signed = min(value for _, value in values) < 0.0
    key = legend([(FOR, "raises the score"), (AGAINST, "lowers it")]) if signed else legend([(FOR, "predicts")])
    return Picture(
        found.title,
        f"{_CAPTION} {largest}",
        key + bars(lying, _said(found), most_lines=3),
    )


def _of_classes(found: TreeLeaves, largest: str) -> Picture:
    total = np.sum([leaf.classes for leaf in found.leaves if leaf.classes is not None], axis=0)
    shown = sorted(np.argsort(-total, kind="stable")[: len(COLORS)].tolist())
    color = {k: COLORS[i] for i, k in enumerate(shown)}
    some = []
    for leaf in found.leaves:
        assert leaf.classes is not None
        parts = [(color[k], float(leaf.classes[k]), f"{found.names[k]}: {leaf.classes[k]:.0%}") for k in shown]
        rest = 1.0 - sum(share for _, share, _ in parts)
        if rest > 1e-9:
            parts.append((REST, rest, f"others: {rest:.0%}"))
        some.append(Stack(leaf.rule, tuple(parts), f"{leaf.words}{_rows(leaf.share)}"))
    named = [(color[k], found.names[k]) for k in shown]
    if len(found.names) > len(shown):
        named.append((REST, "all other classes"))
    return Picture(
        found.title,
        "Each leaf in words: which rows come to it, which classes they are of, and its share of the training rows. "
        f"{largest}",
        legend(named) + stacks(some, _said(found), most_lines=3),
    )


def _rows(share: float | None) -> str:
    if share is None:
        return ""
    return f" ({share:.1%} of rows)" if share < 0.0995 else f" ({share:.0%} of rows)"


def _said(found: TreeLeaves) -> str:
    return "; ".join(f"{leaf.rule}: {leaf.words}" for leaf in found.leaves[:4])


def terms_picture(label: str, found: list[LeafTerms]) -> Picture:
    """The linear scores of leaves, all on one scale."""
    sizes = [value for leaf in found for _, value in leaf.terms] or [0.0]
    panels = []
    for leaf in found:
        some = [Bar(name, value, f"{'+' if value >= 0.0 else ''}{plain(value, 3)}") for name, value in leaf.terms]
        others = f", {counted(leaf.n_others, 'smaller term')} left out" if leaf.n_others else ""
        heading = f"{leaf.rule} ({counted(leaf.n_rows, 'row')}{others})"
        if not some:
            some = [Bar("no column: the score is a constant", 0.0, "0")]
        said = "; ".join(f"{bar.name} {bar.text}" for bar in some[:3])
        panels.append(bars(some, f"{heading}: {said}", heading=heading, least=min(sizes), largest=max(sizes)))
    return Picture(
        "Lines in the leaves of the first tree",
        f"By how much the score for {label} rises or falls with one standard deviation of a column. All leaves have "
        "one scale: a short bar is a small effect, whatever the column's unit.",
        legend([(FOR, f"speaks for {label}"), (AGAINST, "speaks against it")]) + side_by_side(panels),
    )
