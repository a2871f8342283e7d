"""The leaves of one tree: the rule of each in words, its share of the training rows, and what it says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.report.displays.tree_words import TreeWords, table_with_forms
from committee.report.members import has_members
from committee.vote.committee import Committee
from committee.vote.explain.leaf_models import leaf_models, model_trees
from committee.vote.explain.rules import leaf_rules
from committee.vote.members import MemberCommittees

MOST_LEAVES, MOST_TERMS = 12, 6


@dataclass(frozen=True, eq=False)
class Leaf:
    """A leaf; of what it says the one of the last three that its tree has."""

    number: int
    """Its node number within the tree, as ``apply`` gives it."""
    rule: str
    share: float | None
    """Of the training rows; None if not known."""
    words: str
    """What it says."""
    value: float | None = None
    """The one number that it adds or predicts."""
    classes: F64 | None = None
    """Its class shares, or 1 for the class that it votes for."""


@dataclass(frozen=True, eq=False)
class TreeLeaves:
    """The leaves of one tree that hold the most training rows."""

    title: str
    leaves: tuple[Leaf, ...]
    n_leaves: int
    names: tuple[str, ...]
    """Of the classes, if leaves hold their shares."""

    @classmethod
    def of(cls, model: Any, had_missing: NDArray[np.bool_] | None = None) -> TreeLeaves | None:
        """Those of the first tree, of a committee of ensembles that of its heaviest member that has trees.

        With `had_missing`, bool ``(p,)``, rules say of these columns where missing values go. None if there is no tree.
        """
        for whose, votes in _candidates(model):
            try:
                tree = TreeWords.of(votes, 0, None)
                tree = replace(tree, table=table_with_forms(tree.table, model))
            except TypeError:
                continue
            return cls._of_words(tree, whose, had_missing)
        return None

    @classmethod
    def _of_words(cls, tree: TreeWords, whose: str, had_missing: NDArray[np.bool_] | None) -> TreeLeaves:
        missing = np.zeros(tree.forest.n_features, dtype=bool) if had_missing is None else had_missing
        rules = leaf_rules(tree.forest, 0, tree.table, missing)
        words, shares = tree.words(short=False), tree.shares
        leaves = [
            Leaf(
                number,
                rule,
                None if shares is None else float(shares[number]),
                words[number],
                *_value(tree.values[number], len(tree.names)),
            )
            for number, rule in rules.items()
        ]
        leaves.sort(key=lambda leaf: -(leaf.share or 0.0))
        title = tree.title + (f" ({whose})" if whose else "")
        return cls(title[:1].upper() + title[1:], tuple(leaves[:MOST_LEAVES]), len(leaves), tuple(tree.names))


def _candidates(model: Any) -> list[tuple[str, Any]]:
    """Committees in which a tree is looked for, and what they are called."""
    if not has_members(model):
        return [("", model)]
    order = np.argsort(-model.member_weights_, kind="stable").tolist()
    names = [model.member_names_[k] for k in order]
    fits = [_first_fit(model.member(name)) for name in names]
    return [(f"of the member {name}", _named(votes, model)) for name, votes in zip(names, fits, strict=True)]


def _named(votes: Any, model: Any) -> Any:
    """A member with the names of columns, categories and classes; it learned from the encoded matrix and from codes."""
    named = replace(votes, table=votes.table.on_codes_of(model.table_))
    return replace(named, classes=model.classes_[votes.classes]) if isinstance(votes, Committee) else named


def _first_fit(votes: Any) -> Any:
    """The committee itself, or of several fits on other rows the first."""
    while isinstance(votes.voters, MemberCommittees):
        votes = votes.voters.members[0]
    return votes


def _value(value: Any, n_classes: int) -> tuple[float | None, F64 | None]:
    """What a leaf says as a number, or as class shares."""
    if value is None:
        return None, None
    if isinstance(value, int):
        voted = np.zeros(n_classes)
        if value >= 0:
            voted[value] = 1.0
        return None, voted
    numbers: F64 = np.asarray(value, dtype=np.float64)
    if numbers.size == 1:
        return float(numbers[0]), None
    is_share = bool((numbers >= 0.0).all() and abs(numbers.sum() - 1.0) < 1e-6 and numbers.size == n_classes)
    return (None, numbers) if is_share else (None, None)


@dataclass(frozen=True, eq=False)
class LeafTerms:
    """The linear score of one leaf, in standard deviations of the columns."""

    rule: str
    n_rows: int
    terms: tuple[tuple[str, float], ...]
    """Columns, and by how much the score rises with one standard deviation, the largest first."""
    n_others: int


def leaf_terms(model: Any, rows: F64, most: int = 6) -> tuple[str, list[LeafTerms]]:
    """Linear scores of the largest leaves of the first model tree; whose score it is, and the terms of each leaf.

    Parameters
    ----------
    model : fitted classifier of model trees
    rows : float64 array (n, p)
        Encoded rows, whose standard deviations make columns of other units comparable.
    most : int, default=6
        Leaves at most.
    """
    trees = model_trees(model)
    frame = leaf_models(trees, model.classes_, model.table_, [0])
    design = trees.design
    deviation, names = design.matrix(rows).std(axis=0), design.names(model.table_)
    linear = (frame[:, -len(design) :].to_numpy() != 0.0).any(axis=1)
    label = frame["class"].to_list()[int(linear.argmax())]
    frame = frame.filter(frame["class"] == label).sort("rows", descending=True, maintain_order=True)
    found = []
    coefficients = frame[:, -len(design) :].to_numpy() * deviation
    for (rule, n_rows), effect in zip(frame[["rule", "rows"]].rows()[:most], coefficients, strict=False):
        order = [c for c in np.argsort(-np.abs(effect), kind="stable").tolist() if effect[c] != 0.0]
        terms = tuple((names[c], float(effect[c])) for c in order[:MOST_TERMS])
        found.append(LeafTerms(rule, int(n_rows), terms, len(order) - len(terms)))
    return str(label), found
