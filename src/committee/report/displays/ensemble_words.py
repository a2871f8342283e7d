"""A small ensemble of trees in plain words: every tree's tests and leaves, and how the trees are summed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from committee.data.counts import counted
from committee.data.frames import TableSchema
from committee.data.number_types import F64, Index
from committee.report.displays.leaf_says import LeafSays, plain_signed
from committee.report.displays.tree_words import plain_table, table_with_forms, votes_of
from committee.report.displays.voter_words import plain_split
from committee.vote.members import MemberCommittees
from committee.vote.weighted_votes import WeightedVotes
from committee.voters.committees import BoostedCommittees
from committee.voters.linear_leaves import LinearLeaves
from committee.voters.member_trees import MemberTrees
from committee.voters.model_forest import ModelForest

MOST_LEAVES = 60
"""Leaves of an ensemble that a person can read."""


@dataclass(frozen=True, eq=False)
class PlainTree:
    """One tree: of each node its test, as column and condition, its two answers, and what it says."""

    number: int
    """Among the trees of the ensemble."""
    name: str
    """Of the drawn trees: their number from 1 on, and what the tree is for or counts."""
    tests: tuple[tuple[str, str], ...]
    children: Index
    missing: Index
    """Answer that missing values go with: 0 for yes, 1 for no, -1 where none are known to be."""
    shares: F64 | None
    """Of the training rows; None if not known."""
    says: F64
    """What each node says ``(N, D)``, in the unit of the sum."""
    weight: float
    about: int | None
    """Number of the class that it is for, where every class has trees of its own."""
    alike: int
    """How many trees of the ensemble it is the sum of, which all have its tests."""

    @property
    def ends(self) -> Index:
        """Numbers of the leaves."""
        return np.flatnonzero(self.children[:, 0] < 0)


@dataclass(frozen=True, eq=False)
class EnsembleWords:
    """All trees of an ensemble, those that count most first."""

    votes: WeightedVotes
    table: TableSchema
    trees: tuple[PlainTree, ...]
    leaves: LeafSays

    @classmethod
    def of(cls, estimator: Any, had_missing: Any = None) -> EnsembleWords:
        """Put an ensemble into words; bool ``(p,)`` may say which columns have missing values.

        Raises
        ------
        TypeError
            If its voters are no trees, or leaves have lines.
        ValueError
            If it has too many leaves, or predicts several numbers.
        """
        votes = votes_of(estimator)
        members = _small(votes)
        leaves = LeafSays.of(votes)
        table = table_with_forms(votes.table or plain_table(members.forest), estimator)
        parts = [_parts(members, t, leaves, table, had_missing) for t in range(len(members.forest))]
        if leaves.kind == "sums":
            parts = _added_up(parts, members)
        order = sorted(range(len(parts)), key=lambda t: -_counts(parts[t], leaves))
        total = float(sum(abs(each["weight"]) for each in parts)) or 1.0
        alike = len({each["weight"] for each in parts}) == 1
        trees = []
        for number, t in enumerate(order, 1):
            name = f"Tree {number}"
            if (alike := parts[t]["alike"]) > 1:
                name += f", the sum of {alike}"
            if (about := parts[t]["about"]) is not None:
                name += f", for {leaves.short(about)}"
            elif leaves.kind != "sums" and not alike:
                name += f", counts {abs(parts[t]['weight']) / total:.0%}"
            trees.append(PlainTree(name=name, **parts[t]))
        return cls(votes, table, tuple(trees), leaves)

    @property
    def size(self) -> str:
        """How many trees and leaves there are, and are drawn."""
        n_leaves, n_trees = sum(len(tree.ends) for tree in self.trees), sum(tree.alike for tree in self.trees)
        trees = counted(n_trees, "tree")
        if n_trees > len(self.trees):
            trees += f" (drawn as {len(self.trees)}: those of the same tests are added up)"
        return f"{trees}, {counted(n_leaves, 'leaf', 'leaves')}"

    @property
    def how(self) -> str:
        """One sentence on how the trees make a prediction."""
        one = len(self.trees) == 1
        down = "Go down the tree" if one else "Go down every tree"
        says = self.leaves
        if says.kind == "shares":
            mean = "Its shares of classes are the vote" if one else "The mean of their shares of classes is the vote"
            return f"{down} to a leaf. {mean}: the class of the largest share wins."
        if says.kind == "means":
            return f"{down} to a leaf. " + ("It is the prediction." if one else "The mean of the numbers is predicted.")
        return self._summed(down, one)

    def _summed(self, down: str, one: bool) -> str:
        """How a sum is read: from its start on, and which side of 0, or which class, wins."""
        says, names = self.leaves, self.leaves.names
        alone = one and not says.start.any()
        add = (
            f"{down}: what its leaf says"
            if alone
            else f"{down} and add what the {'leaf says' if one else 'leaves say'}"
        )
        add = self._start + add
        total = f"{add} is" if alone else f"{add}: the sum is"
        if not names:
            return f"{total} the {'logarithm of the prediction' if says.is_log else 'prediction'}."
        if len(names) == 2:
            return f"{total} the {says.unit} of {names[1]}; above 0 it is {names[1]}, else {names[0]}."
        if alone:
            return f"{total} a score of each class: the largest wins."
        return f"{add}, class by class: the class of the largest sum wins."

    @property
    def _start(self) -> str:
        """What the sum starts with; nothing if that is 0."""
        says, names = self.leaves, self.leaves.names
        if not says.start.any():
            return ""
        if len(says.start) == 1:
            return f"Start at {plain_signed(float(says.start[0])) if names else f'{says.start[0]:.4g}'}. "
        some = ", ".join(f"{says.short(k)} {plain_signed(float(v))}" for k, v in enumerate(says.start[:7].tolist()))
        return f"Start at {some}{', …' if len(names) > 7 else ''}. "


def is_small(estimator: Any) -> bool:
    """Whether all trees of an ensemble can be put into one picture."""
    try:
        EnsembleWords.of(estimator)
    except (TypeError, ValueError):
        return False
    return True


def _small(votes: WeightedVotes) -> MemberTrees:
    """The trees, if they are few and small, and have numbers in their leaves."""
    voters = votes.voters
    if isinstance(voters, MemberCommittees):
        raise TypeError(
            "SmallEnsembleDisplay needs an ensemble of trees; this is a committee of ensembles. Draw the small model "
            "that stands for it: distil(X, max_nodes=40).model"
        )
    have_lines = isinstance(voters, LinearLeaves) and np.diff(voters.lines.start).any()
    if have_lines or isinstance(voters, (ModelForest, BoostedCommittees)):
        raise TypeError(
            "SmallEnsembleDisplay needs trees with numbers or classes in their leaves; these have lines. Draw one of "
            'them by TreeDisplay, or train without lines (leaf="constant" of gradient boosting)'
        )
    members = MemberTrees.of(votes.voters, votes.weights, "SmallEnsembleDisplay")
    n_leaves = int((members.forest.feature < 0).sum())
    if n_leaves > MOST_LEAVES:
        raise ValueError(
            f"the ensemble has {n_leaves:,} leaves in {len(members.forest):,} trees; at most {MOST_LEAVES} can be read "
            "in a picture. Make it smaller first, as by prune(ensemble, X, y, max_nodes=40) or the distil of a "
            "committee, or draw one tree by TreeDisplay"
        )
    return members


def _parts(members: MemberTrees, t: int, leaves: LeafSays, table: TableSchema, had_missing: Any) -> dict[str, Any]:
    """What is known of one tree."""
    forest, weight = members.forest[t : t + 1], float(members.weights[t])
    about = t % members.per_round if members.per_round > 1 else None
    inner = forest.feature >= 0
    missing = np.where(inner, 1 - forest.missing_left.astype(np.int64), -1)
    if had_missing is not None:
        missing[inner & ~np.asarray(had_missing)[np.maximum(forest.feature, 0)]] = -1
    counts = next((each for each in (forest.count, forest.weight) if each[0] > 0), None)
    return {
        "number": t,
        "alike": 1,
        "tests": tuple(plain_split(forest, i, table) if inner[i] else ("", "") for i in range(len(inner))),
        "children": np.where(forest.left[:, None] < 0, -1, forest.left[:, None] + [0, 1]).astype(np.int64),
        "missing": missing,
        "shares": None if counts is None else counts / counts[0],
        "says": leaves.of_tree(forest, weight, about),
        "weight": weight,
        "about": about,
    }


def _added_up(parts: list[dict[str, Any]], members: MemberTrees) -> list[dict[str, Any]]:
    """Trees of which none has the tests of another: those of the same tests are one, whose leaves say their sum."""
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for t, each in enumerate(parts):
        tree = members.forest[t : t + 1]
        tests = (tree.feature, tree.threshold, tree.left, tree.missing_left, tree.category_offset, tree.category_bits)
        found.setdefault((each["about"], *(array.tobytes() for array in tests)), []).append(each)
    return [
        one[0]
        | {
            "says": np.sum([each["says"] for each in one], axis=0),
            "weight": float(sum(each["weight"] for each in one)),
            "alike": len(one),
            "shares": None if one[0]["shares"] is None else np.mean([each["shares"] for each in one], axis=0),
        }
        for one in found.values()
    ]


def _counts(parts: dict[str, Any], leaves: LeafSays) -> float:
    """How much a tree can change the vote."""
    if leaves.kind != "sums":
        return float(abs(parts["weight"]))
    return float(np.abs(parts["says"][parts["children"][:, 0] < 0]).max())
