"""The leaves of one tree: rules, shares of the training rows, and contents, with their pictures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.data.text import pluralize
from committee.report.displays.contributions import leaf_scores
from committee.report.displays.tree_text import TreeText, table_with_forms
from committee.report.drawing.rows import Bar, Stack, bars, stacks
from committee.report.drawing.scale import format_number, format_percent, format_signed
from committee.report.drawing.svg import AGAINST, FOR, REST, Color, legend, side_by_side
from committee.report.members import has_members
from committee.report.page import Picture
from committee.vote.committee import Committee
from committee.vote.explain.rules import leaf_rules
from committee.vote.members import MemberCommittees, reads_tables

MOST_LEAVES, MOST_TERMS = 12, 6
_MOST_CLASSES = 6


@dataclass(frozen=True, eq=False)
class Leaf:
    """`number` is as of ``apply``. `classes` are class shares, or 1 for the class that the leaf votes for, 0 for
    others.
    """

    number: int
    rule: str
    share: float | None
    words: str
    value: float | None = None
    classes: F64 | None = None

    @property
    def text(self) -> str:
        return self.words + self.share_text

    @property
    def share_text(self) -> str:
        return "" if self.share is None else f" ({format_percent(self.share)} of rows)"


@dataclass(frozen=True, eq=False)
class TreeLeaves:
    """Of the `n_leaves` leaves of a tree at most `MOST_LEAVES`, those with the most training rows."""

    title: str
    leaves: tuple[Leaf, ...]
    n_leaves: int
    names: tuple[str, ...]

    @classmethod
    def of(cls, model: Any, had_missing: NDArray[np.bool_] | None = None) -> TreeLeaves | None:
        """Return the leaves of the first tree, of a committee of ensembles that of its heaviest member with trees.

        The mask `had_missing`, (p,), marks the columns whose rules include missing values.
        """
        for member, votes in _candidates(model):
            try:
                tree = TreeText.of(votes, 0, None)
            except TypeError:
                continue
            return cls._of_tree(replace(tree, table=table_with_forms(tree.table, model)), member, had_missing)
        return None

    @classmethod
    def _of_tree(cls, tree: TreeText, member: str, had_missing: NDArray[np.bool_] | None) -> TreeLeaves:
        missing = np.zeros(tree.forest.n_features, dtype=bool) if had_missing is None else had_missing
        rules = leaf_rules(tree.forest, 0, tree.table, missing)
        words, shares = tree.words(short=False), tree.shares
        leaves = []
        for number, rule in rules.items():
            share = None if shares is None else float(shares[number])
            leaves.append(Leaf(number, rule, share, words[number], *_content(tree.values[number], len(tree.names))))
        leaves.sort(key=lambda leaf: -(leaf.share or 0.0))
        title = tree.title + (f" (of the member {member})" if member else "")
        return cls(title[:1].upper() + title[1:], tuple(leaves[:MOST_LEAVES]), len(leaves), tuple(tree.names))


def _candidates(model: Any) -> list[tuple[str, Any]]:
    if not has_members(model):
        return [("", model)]
    names = [model.member_names_[k] for k in np.argsort(-model.member_weights_, kind="stable").tolist()]
    fits = [(name, _first_fit(model.member(name))) for name in names]
    return [(name, _with_names(fit, model)) for name, fit in fits if not reads_tables(fit)]


def _with_names(votes: Any, model: Any) -> Any:
    named = replace(votes, table=votes.table.decode_categories(model.table_))
    return replace(named, classes=model.classes_[votes.classes]) if isinstance(votes, Committee) else named


def _first_fit(votes: Any) -> Any:
    while isinstance(votes.voters, MemberCommittees):
        votes = votes.voters.members[0]
    return votes


def _content(value: Any, n_classes: int) -> tuple[float | None, F64 | None]:
    if value is None:
        return None, None
    if isinstance(value, int):
        return None, np.eye(n_classes)[value] if value >= 0 else np.zeros(n_classes)
    numbers: F64 = np.asarray(value, dtype=np.float64)
    if numbers.size == 1:
        return float(numbers[0]), None
    is_share = bool((numbers >= 0.0).all() and abs(numbers.sum() - 1.0) < 1e-6 and numbers.size == n_classes)
    return (None, numbers) if is_share else (None, None)


def leaves_picture(found: TreeLeaves) -> Picture:
    which = "The leaf with the most training rows comes first."
    if found.n_leaves > len(found.leaves):
        which = f"The {len(found.leaves)} leaves with the most training rows, of {found.n_leaves:,}."
    description = "; ".join(f"{leaf.rule}: {leaf.words}" for leaf in found.leaves[:4])
    caption = f"Each leaf: its rule, its content, and its share of the training rows. {which}"
    if all(leaf.classes is not None for leaf in found.leaves):
        key, rows = _class_stacks(found)
        body = legend(key) + stacks(rows, description, most_lines=3)
    elif any(leaf.value is None for leaf in found.leaves):
        body = stacks([Stack(leaf.rule, (), leaf.text) for leaf in found.leaves], description, most_lines=3)
    else:
        values = [(leaf, leaf.value or 0.0) for leaf in found.leaves]
        lines = [Bar(leaf.rule, value, format_number(value, 3) + leaf.share_text) for leaf, value in values]
        have_signs = min(value for _, value in values) < 0.0
        signs = [(FOR, "raises the score"), (AGAINST, "lowers it")] if have_signs else [(FOR, "prediction")]
        body = legend(signs) + bars(lines, description, most_lines=3)
    return Picture(found.title, caption, body)


def _class_stacks(found: TreeLeaves) -> tuple[list[tuple[Color, str]], list[Stack]]:
    shares = np.array([leaf.classes for leaf in found.leaves])
    shown = sorted(np.argsort(-shares.sum(axis=0), kind="stable")[:_MOST_CLASSES].tolist())
    rows = []
    for leaf, share in zip(found.leaves, shares, strict=True):
        parts: list[tuple[Color, float, str]] = [
            (i, float(share[k]), f"{found.names[k]}: {share[k]:.0%}") for i, k in enumerate(shown)
        ]
        rest = 1.0 - float(share[shown].sum())
        if rest > 1e-9:
            parts.append((REST, rest, f"others: {rest:.0%}"))
        rows.append(Stack(leaf.rule, tuple(parts), leaf.text))
    key: list[tuple[Color, str]] = [(i, found.names[k]) for i, k in enumerate(shown)]
    if len(found.names) > len(shown):
        key.append((REST, "all other classes"))
    return key, rows


@dataclass(frozen=True, eq=False)
class LeafTerms:
    """Largest terms of the linear score of one leaf, per standard deviation of their columns."""

    rule: str
    n_rows: int
    terms: tuple[tuple[str, float], ...]
    n_others: int


def leaf_terms(model: Any, rows: F64, most: int = 6) -> tuple[str, list[LeafTerms]]:
    """Terms are coefficients times the standard deviations of the design columns of encoded `rows` (n, p)."""
    label, frame, design = leaf_scores(model)
    deviation, names = design.matrix(rows).std(axis=0), design.names(model.table_)
    found = []
    coefficients = frame[:, -len(design) :].to_numpy() * deviation
    for (rule, n_rows), effect in zip(frame[["rule", "rows"]].rows()[:most], coefficients, strict=False):
        order = [c for c in np.argsort(-np.abs(effect), kind="stable").tolist() if effect[c] != 0.0]
        terms = tuple((names[c], float(effect[c])) for c in order[:MOST_TERMS])
        found.append(LeafTerms(rule, int(n_rows), terms, len(order) - len(terms)))
    return str(label), found


def terms_picture(label: str, found: list[LeafTerms]) -> Picture:
    sizes = [value for leaf in found for _, value in leaf.terms] or [0.0]
    panels = []
    for leaf in found:
        rows = [Bar(name, value, format_signed(value)) for name, value in leaf.terms]
        others = f", {pluralize(leaf.n_others, 'smaller term')} left out" if leaf.n_others else ""
        heading = f"{leaf.rule} ({pluralize(leaf.n_rows, 'row')}{others})"
        if not rows:
            rows = [Bar("no column: the score is a constant", 0.0, "0")]
        description = f"{heading}: " + "; ".join(f"{bar.name} {bar.text}" for bar in rows[:3])
        panels.append(bars(rows, description, heading=heading, least=min(sizes), largest=max(sizes)))
    return Picture(
        "Linear models in the leaves of the first tree",
        f"Change of the score for {label} per standard deviation of a column. All leaves have one scale.",
        legend([(FOR, f"raises the score for {label}"), (AGAINST, "lowers it")]) + side_by_side(panels),
    )
