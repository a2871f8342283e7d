"""One tree of a fitted learner in words: the question of each node, and what each leaf says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from committee.data.frames import TableSchema
from committee.data.number_types import F64
from committee.report.displays.base import AGAINST, FOR, GREY, color, shortened
from committee.report.displays.voter_words import split_words
from committee.vote.committee import Committee
from committee.vote.explain.leaf_models import model_tree_means
from committee.vote.explain.rules import split_condition
from committee.vote.links.mean import Average
from committee.vote.links.probability import Share
from committee.voters.committees import BoostedCommittees
from committee.voters.forest import Forest
from committee.voters.linear_leaves import LinearLeaves
from committee.voters.member_trees import MemberTrees
from committee.voters.model_forest import ModelForest

MOST_NAMED = 3
"""Classes that a leaf names with their shares or scores, the largest first."""


@dataclass(frozen=True)
class TreeWords:
    """A tree of T in words.

    `forest` holds it alone; `subject` is what its leaves say, and about which class.
    """

    forest: Forest
    table: TableSchema
    number: int
    n_trees: int
    leaves: list[str]
    colors: list[str]
    subject: str
    slopes: list[str]
    """Lines of each leaf, for texts; empty where it has none."""

    @classmethod
    def of(cls, estimator: Any, tree: int, for_class: Any) -> TreeWords:
        """Find the tree, and put its leaves into words.

        Raises
        ------
        TypeError
            If the voters are no native trees.
        ValueError
            If there is no tree of that number, or no tree for that class.
        """
        votes = getattr(estimator, "committee_", estimator)
        trees = MemberTrees.of(votes.voters, votes.weights, "TreeDisplay")
        n_trees = len(trees.forest) // trees.per_round
        if not 0 <= tree < n_trees:
            raise ValueError(f"tree={tree} is not there; the trees are numbered from 0 to {n_trees - 1}")
        names = [str(label) for label in votes.classes.tolist()] if isinstance(votes, Committee) else None
        k = _place(for_class, votes, trees.per_round)
        t = tree * trees.per_round + k
        forest = trees.forest[t : t + 1]
        speaks = _Leaves(votes, names, float(trees.weights[t]), k if trees.per_round > 1 else None)
        values, subject = speaks.model_tree(t) if forest.value is None and speaks.has_lines else speaks.of(forest)
        said = [speaks.words(value) for value in values]
        table = votes.table or _plain_table(forest)
        slopes = _slopes(votes.voters, t, float(trees.weights[t]), table)
        leaves, colors = ([each[i] for each in said] for i in (0, 1))
        return cls(forest, table, tree, n_trees, leaves, colors, subject, slopes or [""] * len(leaves))

    @property
    def title(self) -> str:
        """The tree's number, its size, and what its leaves say."""
        n_leaves = int((self.forest.feature < 0).sum())
        leaves = "1 leaf" if n_leaves == 1 else f"{n_leaves:,} leaves"
        return (
            f"tree {self.number} of {self.n_trees:,}: " if self.n_trees > 1 else "tree: "
        ) + f"{leaves}, {self.subject}"

    def words(self, *, short: bool) -> list[str]:
        """Question of every inner node, and what every leaf says; short ones for pictures."""
        texts = []
        for node, j in enumerate(self.forest.feature.tolist()):
            if j < 0:
                texts.append(shortened(self.leaves[node], 40) if short else self.leaves[node] + self.slopes[node])
            elif short:
                texts.append(split_words(self.forest, node, self.table))
            else:
                texts.append(split_condition(self.forest, node, self.table).words(self.table, say_missing=False))
        return texts

    @property
    def shares(self) -> F64 | None:
        """Share of the tree's training rows that came to each node, or of their weight; None if neither is known."""
        for counted in (self.forest.count, self.forest.weight):
            if counted[0] > 0:
                shares: F64 = counted / counted[0]
                return shares
        return None


class _Leaves:
    """What leaves say, by the committee's kind of vote."""

    def __init__(self, votes: Any, names: list[str] | None, weight: float, k: int | None) -> None:
        self.votes, self.names, self.weight, self.k = votes, names, weight, k
        self.shares = isinstance(votes.link, Share)
        alone = votes.n_voters == 1 and votes.intercept is None
        self.predicts = names is None and (isinstance(votes.link, Average) or alone)

    @property
    def has_lines(self) -> bool:
        """Whether the voters are model trees."""
        return isinstance(self.votes.voters, (ModelForest, BoostedCommittees))

    def of(self, forest: Forest) -> tuple[Any, str]:
        """Say of every node what it votes, and in which unit."""
        if forest.label is not None:
            return forest.label.tolist(), f"leaves name a class (weight {self.weight:.4g})"
        value = forest.value
        assert value is not None
        if self.shares:
            both = np.hstack([1.0 - value, 1.0 + value]) / 2.0 if value.shape[1] < forest.n_classes else value
            return list(both), "leaves hold class shares"
        if self.predicts:
            return list(value), "leaves hold predictions"
        about = "" if self.k is None else f" of {self._name(self.k)}"
        if self.k is None and self.names is not None and value.shape[1] == 1:
            about = f", above 0 for {self.names[-1]}"
        if isinstance(self.votes.voters, LinearLeaves):
            return list(self.weight * value), f"leaves hold lines, whose middle adds to the score{about}"
        return list(self.weight * value), f"leaves add to the score{about}"

    def model_tree(self, t: int) -> tuple[Any, str]:
        """Mean score of every node of a model tree, and what it speaks for."""
        means = model_tree_means(self.votes.voters, t)
        assert self.names is not None
        if means is None:
            return [None] * int(self.votes.voters.forest.n_nodes[t]), "leaves hold lines"
        about = f" of {self._name(self.k)}" if self.k is not None else ""
        if self.k is None and means.shape[1] == 1:
            about = f", above 0 for {self.names[-1]}"
        return list(means), f"leaves hold lines; their mean score{about}"

    def words(self, value: Any) -> tuple[str, str]:
        """What a node says of its value, and the colour of that."""
        if value is None:
            return "a line", GREY
        if isinstance(value, int):
            assert self.names is not None
            return ("abstains", GREY) if value < 0 else (self.names[value], color(value))
        if self.predicts:
            return ", ".join(f"{number:.4g}" for number in value.tolist()), FOR
        if self.names is None and len(value) > 1:
            return ", ".join(_signed(number) for number in value.tolist()), FOR
        if len(value) == 1:
            number = float(value[0])
            return _signed(number), GREY if number == 0.0 else FOR if number > 0.0 else AGAINST
        order = np.argsort(-value, kind="stable").tolist()
        if self.shares and not self.has_lines:
            named = [f"{self._name(k)}: {value[k]:.0%}" for k in order[:MOST_NAMED] if value[k] >= 0.005]
        else:
            named = [f"{self._name(k)}: {_signed(float(value[k]))}" for k in order[:MOST_NAMED]]
        return ", ".join(named), color(order[0]) if value.any() else GREY

    def _name(self, k: int) -> str:
        return f"number {k}" if self.names is None else shortened(self.names[k], 16)


def _slopes(voters: Any, t: int, weight: float, table: TableSchema) -> list[str]:
    """Slopes of the lines in each leaf of a boosted tree, in words; none where leaves are constants."""
    if not isinstance(voters, LinearLeaves) or voters.lines.slope.shape[1] > 1:
        return []
    start, slope = voters.lines.start, weight * voters.lines.slope[:, 0]
    texts = []
    for node in range(int(voters.forest.offset[t]), int(voters.forest.offset[t + 1])):
        own = range(int(start[node]), int(start[node + 1]))
        named = [
            f"{_signed(float(slope[m]))} per {table.quantity(int(voters.lines.column[m]))}" for m in own if slope[m]
        ]
        texts.append(f" ({', '.join(named)})" if named else "")
    return texts


def _place(for_class: Any, votes: Any, per_round: int) -> int:
    """Place of a class, or of a number that is predicted, among the trees of a round."""
    if per_round == 1:
        if for_class is not None:
            raise ValueError(
                f"for_class={for_class!r} asks for the tree of one class; here each tree is for all classes"
            )
        return 0
    known = votes.classes.tolist() if isinstance(votes, Committee) else list(range(per_round))
    if for_class is None:
        return 0
    if for_class not in known:
        raise ValueError(f"for_class={for_class!r} has no tree; there is one for each of {', '.join(map(repr, known))}")
    return known.index(for_class)


def _plain_table(forest: Forest) -> TableSchema:
    """Columns of trees whose table is not known, with the codes as names of their categories."""
    n_codes = np.zeros(forest.n_features, dtype=np.int64)
    np.maximum.at(
        n_codes, forest.feature[forest.feature >= 0], 32 * np.diff(forest.category_offset)[forest.feature >= 0]
    )
    return TableSchema(None, tuple(tuple(range(n)) or None for n in n_codes.tolist()))


def _signed(value: float) -> str:
    return f"{value:+.3g}" if value else "0"
