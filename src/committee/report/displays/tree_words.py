"""One tree of a fitted learner in words: the question of each node, and what each leaf says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from committee.data.frames import TableSchema
from committee.data.number_types import F64
from committee.report.arguments import place
from committee.report.displays.base import AGAINST, FOR, GREY, color, shortened
from committee.report.displays.voter_words import split_words
from committee.vote.committee import Committee
from committee.vote.explain.leaf_models import model_tree_means
from committee.vote.explain.rules import split_condition
from committee.vote.links.mean import Average, Ordered
from committee.vote.links.probability import Share
from committee.vote.weighted_votes import WeightedVotes
from committee.voters.committees import BoostedCommittees
from committee.voters.forest import Forest
from committee.voters.linear_leaves import LinearLeaves
from committee.voters.member_trees import MemberTrees
from committee.voters.model_forest import ModelForest

_MOST_LETTERS = 40
"""Letters of a leaf in a picture."""

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
    values: list[Any]
    """What each node says: the number of a class, numbers, or None for a line without a mean."""
    names: list[str]
    """Of the classes, or of the numbers that are predicted."""
    leaves: list[str]
    colors: list[str]
    colors_tell: str
    subject: str
    slopes: list[list[str]]
    """Lines of each node, in words."""

    @classmethod
    def of(cls, estimator: Any, tree: int, for_class: Any) -> TreeWords:
        """Find the tree, and put its leaves into words.

        Raises
        ------
        TypeError
            If it is no such estimator, or the voters are no native trees.
        ValueError
            If there is no tree of that number, or no tree for that class.
        """
        votes = votes_of(estimator)
        trees = MemberTrees.of(votes.voters, votes.weights, "TreeDisplay")
        n_trees = len(trees.forest) // trees.per_round
        tree = place("tree", tree, n_trees)
        k = _whose(for_class, votes, trees.per_round)
        t = tree * trees.per_round + k
        forest = trees.forest[t : t + 1]
        speaks = _Leaves(votes, float(trees.weights[t]), k if trees.per_round > 1 else None)
        values, subject = speaks.of_model_tree(t, len(forest.feature)) if speaks.are_model_trees else speaks.of(forest)
        said = [speaks.words(value) for value in values]
        table = table_with_forms(votes.table or plain_table(forest), estimator)
        slopes = _slopes(votes.voters, t, float(trees.weights[t]), table)
        leaves, colors = ([each[i] for each in said] for i in (0, 1))
        tell = "sign of the mean" if speaks.have_lines and np.size(values[0]) == 1 and values[0] is not None else ""
        slopes = slopes or [[]] * len(leaves)
        return cls(forest, table, tree, n_trees, list(values), speaks.names, leaves, colors, tell, subject, slopes)

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
                texts.append(self._leaf_words(node, short=short))
            elif short:
                texts.append(split_words(self.forest, node, self.table))
            else:
                texts.append(split_condition(self.forest, node, self.table).words(self.table, say_missing=False))
        return texts

    def _leaf_words(self, node: int, *, short: bool) -> str:
        """What a leaf says; of lines that do not fit into a short text their number."""
        says, slopes = self.leaves[node], self.slopes[node]
        whole = f"{says} ({', '.join(slopes)})" if slopes else says
        if not short or len(whole) <= _MOST_LETTERS:
            return whole
        if not slopes:
            return shortened(says, _MOST_LETTERS)
        return f"{says} (a line)" if len(slopes) == 1 else f"{says} ({len(slopes)} lines)"

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

    def __init__(self, votes: Any, weight: float, k: int | None) -> None:
        self.votes, self.weight, self.k = votes, weight, k
        self.of_classes = isinstance(votes, Committee)
        self.names = _names(votes)
        self.are_model_trees = isinstance(votes.voters, (ModelForest, BoostedCommittees))
        self.have_lines = self.are_model_trees or isinstance(votes.voters, LinearLeaves)
        self.shares = isinstance(votes.link, Share) and not self.are_model_trees
        alone = votes.n_voters == 1 and votes.intercept is None
        self.predicts = not self.of_classes and (isinstance(votes.link, Average) or alone)

    def of(self, forest: Forest) -> tuple[Any, str]:
        """Say of every node what it votes, and in which unit."""
        if forest.label is not None:
            return forest.label.tolist(), f"leaves name a class (weight {self.weight:.4g})"
        value = forest.value
        assert value is not None
        if self.shares:
            both = np.hstack([1.0 - value, 1.0 + value]) / 2.0 if value.shape[1] < forest.n_classes else value
            return list(both), "leaves hold class shares"
        about = self._about(value.shape[1])
        if self.predicts:
            return list(value), f"leaves hold predictions{about}"
        adds = "hold lines; their mean adds" if self.have_lines else "add"
        return list(self.weight * value), f"leaves {adds} to the score{about}"

    def of_model_tree(self, t: int, n_nodes: int) -> tuple[Any, str]:
        """Say of every node of a model tree its mean score, and what that speaks for."""
        means = model_tree_means(self.votes.voters, t)
        if means is None:
            return [None] * n_nodes, "leaves hold lines"
        return list(means), f"leaves hold lines; their mean score{self._about(means.shape[1])}"

    def words(self, value: Any) -> tuple[str, str]:
        """What a node says of its value, and the colour of that."""
        if value is None:
            return "a line", GREY
        if isinstance(value, int):
            return ("abstains", GREY) if value < 0 else (self.names[value], color(value))
        if self.predicts:
            return ", ".join(f"{number:.4g}" for number in value.tolist()), FOR
        if not self.of_classes and len(value) > 1:
            return ", ".join(_signed(number) for number in value.tolist()), FOR
        if len(value) == 1:
            number = float(value[0])
            return _signed(number), GREY if number == 0.0 else FOR if number > 0.0 else AGAINST
        order = np.argsort(-value, kind="stable").tolist()
        if self.shares:
            named = [f"{self._name(k)}: {value[k]:.0%}" for k in order[:MOST_NAMED] if value[k] >= 0.005]
        else:
            named = [f"{self._name(k)}: {_signed(float(value[k]))}" for k in order[:MOST_NAMED]]
        return ", ".join(named), color(order[0]) if value.any() else GREY

    def _about(self, n_outputs: int) -> str:
        """Which class, target or quantile the numbers of a leaf are about; nothing where there is one alone."""
        if self.k is not None:
            return f" of {self._name(self.k)}"
        if self.of_classes:
            return f", above 0 for {self.names[-1]}" if n_outputs == 1 else ""
        return f" of {_predicted(self.votes)}s 0 to {n_outputs - 1}" if n_outputs > 1 else ""

    def _name(self, k: int) -> str:
        return shortened(self.names[k], 16)


def _names(votes: WeightedVotes) -> list[str]:
    """Names of the classes, or of the numbers that are predicted."""
    if isinstance(votes, Committee):
        return [str(label) for label in votes.classes.tolist()]
    return [f"{_predicted(votes)} {k}" for k in range(votes.voters.n_outputs)]


def _predicted(votes: WeightedVotes) -> str:
    """Call a number that is predicted what it is."""
    return "quantile" if isinstance(votes.link, Ordered) else "target"


def _slopes(voters: Any, t: int, weight: float, table: TableSchema) -> list[list[str]]:
    """Slopes of the lines in each leaf of a boosted tree, in words; none where leaves are constants."""
    if not isinstance(voters, LinearLeaves):
        return []
    lines, texts = voters.lines, []
    for node in range(int(voters.forest.offset[t]), int(voters.forest.offset[t + 1])):
        named = []
        for m in range(int(lines.start[node]), int(lines.start[node + 1])):
            slopes = (weight * lines.slope[m]).tolist()
            if any(slopes):
                named.append(f"{' / '.join(map(_signed, slopes))} per {table.quantity(int(lines.column[m]))}")
        texts.append(named)
    return texts


def _whose(for_class: Any, votes: WeightedVotes, per_round: int) -> int:
    """Place of a class, or of a number that is predicted, among the trees of a round."""
    of_classes = isinstance(votes, Committee)
    if for_class is None:
        return 0
    if per_round == 1:
        one, several = ("class", "all classes") if of_classes else (_predicted(votes), f"all {_predicted(votes)}s")
        whole = several if of_classes or votes.voters.n_outputs > 1 else "the one number"
        raise ValueError(
            f"for_class={for_class!r} asks for the tree of one {one}; here each tree is for {whole} that the model "
            "predicts; leave for_class out"
        )
    known = votes.classes.tolist() if isinstance(votes, Committee) else list(range(per_round))
    if for_class not in known:
        raise ValueError(f"for_class={for_class!r} has no tree; there is one for each of {', '.join(map(repr, known))}")
    return known.index(for_class)


def votes_of(estimator: Any) -> WeightedVotes:
    """The committee of a fitted learner, of this library or another; one that is given as it is."""
    votes = getattr(estimator, "committee_", estimator)
    if isinstance(votes, WeightedVotes):
        return votes
    try:
        return Committee.from_estimator(estimator)
    except TypeError as error:
        raise TypeError(
            f"estimator={shortened(repr(estimator), 60)} has no trees that can be drawn; give a fitted learner of this "
            "library, its committee_, or a classifier that Committee.from_estimator takes"
        ) from error


def table_with_forms(table: TableSchema, estimator: Any) -> TableSchema:
    """A committee's table with the dates and times that the learner around it knows of."""
    known: TableSchema | None = getattr(estimator, "table_", None)
    return table if known is None or table.written else table.with_forms(known.forms)


def plain_table(forest: Forest) -> TableSchema:
    """Columns of trees whose table is not known, with the codes as names of their categories."""
    n_codes = np.zeros(forest.n_features, dtype=np.int64)
    np.maximum.at(
        n_codes, forest.feature[forest.feature >= 0], 32 * np.diff(forest.category_offset)[forest.feature >= 0]
    )
    return TableSchema(None, tuple(tuple(range(n)) or None for n in n_codes.tolist()))


def _signed(value: float) -> str:
    return f"{value:+.3g}" if value else "0"
