"""Texts of trees: the condition of each voter or split, and the content of each leaf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from committee.data.categories import unpack_category_bits
from committee.data.dates import format_duration
from committee.data.number_types import F64
from committee.data.table_schema import TableSchema
from committee.data.text import shortened
from committee.report.displays.base import AGAINST, FOR, GREY, color
from committee.report.drawing.svg import middle_cut
from committee.report.explanation import place
from committee.vote.committee import Committee
from committee.vote.explain.rules import missing_condition, model_tree_means, split_condition
from committee.vote.links.mean import Average, Ordered
from committee.vote.links.probability import Share
from committee.vote.weighted_votes import WeightedVotes
from committee.voters.forest import Forest
from committee.voters.model_forest import BoostedCommittees, ModelForest
from committee.voters.probabilistic_voters import OracleVoters, SoftStumps
from committee.voters.rounds import LinearLeaves
from committee.voters.tree_voters import MemberTrees

MOST_NAMED = 3
"""Most classes of a leaf whose shares or scores are written."""

# longest texts of a column, of listed categories, of a condition on a line of its own, and of a leaf in a picture
_COLUMN, _CATEGORIES, _CONDITION, _LEAF = 22, 14, 30, 40
_CATEGORY_BESIDE_MISSING = 8


def voter_words(voters: SoftStumps | OracleVoters, t: int, table: TableSchema) -> str:
    """Condition under which a voter is likely to answer +; ``x > c ± s`` stands for q(x) = Phi((x - c) / s)."""
    if isinstance(voters, OracleVoters):
        return type(voters.voters[t]).__name__
    j, is_missing_plus = int(voters.feature[t]), float(voters.missing[t]) == 1.0
    column = shortened(table.quantity(j), _COLUMN)
    c = float(voters.threshold[t])
    bits = voters.category_bits[int(voters.category_offset[t]) : int(voters.category_offset[t + 1])]
    known = [str(word) for word in table.categories[j] or ()]
    is_plus = _for_all_known(bits, known, c, bool(voters.ascending[t]))
    if is_plus is not None:
        if is_plus == is_missing_plus:
            return "always +" if is_plus else "always −"
        return missing_condition(column, negated=is_plus)
    if len(bits):
        return _category_condition(column, bits, known, is_missing_plus)
    s = float(voters.softness[t])
    about = "" if not s else f" ± {_number(s, 2) if table.time_format(j) is None else format_duration(s)}"
    text = f"{column} {'>' if voters.ascending[t] else '<='} {_threshold(table, j, c)}{about}"
    return f"{text} or missing" if is_missing_plus else text


def split_words(forest: Forest, node: int, table: TableSchema) -> str:
    j, c, bits, known, goes_left = _split(forest, node, table)
    column = shortened(table.column(j), _COLUMN)
    if goes_left is not None:
        return missing_condition(column, negated=goes_left)
    if len(bits):
        return _category_condition(column, bits, known, False)
    return f"{shortened(table.quantity(j), _COLUMN)} <= {_threshold(table, j, c)}"


def plain_split(forest: Forest, node: int, table: TableSchema) -> tuple[str, str]:
    j, c, bits, known, goes_left = _split(forest, node, table)
    if goes_left is not None:
        return middle_cut(table.column(j)), "is known" if goes_left else "is missing"
    if len(bits):
        return middle_cut(table.column(j)), _plain_categories(bits, known)
    return middle_cut(table.quantity(j)), f"≤ {_threshold(table, j, c)}"


def _split(
    forest: Forest, node: int, table: TableSchema
) -> tuple[int, float, NDArray[np.uint32], list[str], bool | None]:
    j, c = int(forest.feature[node]), float(forest.threshold[node])
    bits = forest.category_bits[int(forest.category_offset[node]) : int(forest.category_offset[node + 1])]
    known = [str(word) for word in table.coded(j) or ()]
    return j, c, bits, known, _for_all_known(bits, known, c, ascending=False)


def _for_all_known(bits: NDArray[np.uint32], known: list[str], c: float, ascending: bool) -> bool | None:
    if not len(bits):
        return (c < 0.0) == ascending if np.isinf(c) else None
    listed = np.isin(np.arange(len(known)), unpack_category_bits(bits))
    return None if listed.any() != listed.all() else bool(listed.all())


def _inside_and_outside(bits: NDArray[np.uint32], known: list[str]) -> tuple[list[str], list[str]]:
    inside = [known[code] for code in unpack_category_bits(bits).tolist() if code < len(known)]
    return inside, [word for word in known if word not in inside]


def _plain_categories(bits: NDArray[np.uint32], known: list[str]) -> str:
    inside, outside = _inside_and_outside(bits, known)
    if len(inside) == 1:
        return f"is {shortened(inside[0], _CONDITION)}"
    if len(outside) == 1:
        return f"is not {shortened(outside[0], _CONDITION)}"
    for verb, words in (("is", inside), ("is not", outside)):
        if len(text := f"{verb} {', '.join(words[:-1])} or {words[-1]}") <= _CONDITION:
            return text
    text = f"is one of {len(inside)}: {shortened(inside[0], _CATEGORIES)}"
    for word in inside[1:]:
        if len(text) + len(word) + 5 > _CONDITION:
            break
        text += f", {word}"
    return f"{text}, …"


def _category_condition(column: str, bits: NDArray[np.uint32], known: list[str], with_missing: bool) -> str:
    end = " or missing" if with_missing else ""
    inside, outside = _inside_and_outside(bits, known)
    if len(inside) == 1:
        return f"{column} = {shortened(inside[0], _CATEGORIES)}{end}"
    if len(outside) == 1:
        return f"{column} ≠ {shortened(outside[0], _CATEGORIES)}{end}"
    last = ["missing"] if with_missing else []
    n_listed, letters = 0, _CATEGORIES - len(", ".join(["", *last]))
    while n_listed < len(inside) and (n_listed == 0 or len(inside[n_listed]) + 2 <= letters):
        letters -= len(inside[n_listed]) + 2
        n_listed += 1
    more = [f"+{len(inside) - n_listed}"] if n_listed < len(inside) else []
    most = _CATEGORY_BESIDE_MISSING if with_missing else _CATEGORIES
    return f"{column} in {{{', '.join([shortened(word, most) for word in inside[:n_listed]] + more + last)}}}"


def _threshold(table: TableSchema, j: int, c: float) -> str:
    plain = table.time_format(j) is None and table.date_part(j) is None
    return _number(c) if plain else table.format_number(j, c)


def _number(value: float, digits: int = 4) -> str:
    # neither exponents nor decimals where the integer part has as many digits
    return f"{value:.0f}" if 10.0 ** (digits - 1) <= abs(value) < 1e6 else f"{value:.{digits}g}"


@dataclass(frozen=True)
class TreeText:
    forest: Forest  # of one tree
    table: TableSchema
    number: int
    n_trees: int
    values: list[Any]  # of the nodes: class indices, numbers, or None for a linear function without a mean
    names: list[str]
    leaves: list[str]
    colors: list[str]
    color_meaning: str
    subject: str
    slopes: list[list[str]]

    @classmethod
    def of(cls, estimator: Any, tree: int, for_class: Any) -> TreeText:
        votes = votes_of(estimator)
        trees = MemberTrees.of(votes.voters, votes.weights, "TreeDisplay")
        n_trees = len(trees.forest) // trees.per_round
        tree = place("tree", tree, n_trees)
        k = _output_number(for_class, votes, trees.per_round)
        t = tree * trees.per_round + k
        forest = trees.forest[t : t + 1]
        leaves = _Leaves(votes, float(trees.weights[t]), k if trees.per_round > 1 else None)
        values, subject = leaves.of_model_tree(t, len(forest.feature)) if leaves.are_model_trees else leaves.of(forest)
        texts = [leaves.text(value) for value in values]
        table = table_with_forms(votes.table or plain_table(forest), estimator)
        slopes = _slopes(votes.voters, t, float(trees.weights[t]), table) or [[]] * len(texts)
        one_mean = leaves.have_lines and np.size(values[0]) == 1 and values[0] is not None
        meaning = "sign of the mean" if one_mean else ""
        words, colors = ([each[i] for each in texts] for i in (0, 1))
        return cls(forest, table, tree, n_trees, list(values), leaves.names, words, colors, meaning, subject, slopes)

    @property
    def title(self) -> str:
        n_leaves = int((self.forest.feature < 0).sum())
        leaves = "1 leaf" if n_leaves == 1 else f"{n_leaves:,} leaves"
        number = f"tree {self.number} of {self.n_trees:,}" if self.n_trees > 1 else "tree"
        return f"{number}: {leaves}, {self.subject}"

    def words(self, *, short: bool) -> list[str]:
        texts = []
        for node, j in enumerate(self.forest.feature.tolist()):
            if j < 0:
                texts.append(self._leaf(node, short=short))
            elif short:
                texts.append(split_words(self.forest, node, self.table))
            else:
                texts.append(split_condition(self.forest, node, self.table).words(self.table, say_missing=False))
        return texts

    def _leaf(self, node: int, *, short: bool) -> str:
        mean, slopes = self.leaves[node], self.slopes[node]
        text = f"{mean} ({', '.join(slopes)})" if slopes else mean
        if not short or len(text) <= _LEAF:
            return text
        if not slopes:
            return shortened(mean, _LEAF)
        return f"{mean} (a line)" if len(slopes) == 1 else f"{mean} ({len(slopes)} lines)"

    @property
    def shares(self) -> F64 | None:
        return node_shares(self.forest)


def node_shares(forest: Forest) -> F64 | None:
    totals = next((each for each in (forest.count, forest.weight) if each[0] > 0), None)
    return None if totals is None else np.asarray(totals / totals[0])


class _Leaves:
    def __init__(self, votes: Any, weight: float, k: int | None) -> None:
        self.votes, self.weight, self.k = votes, weight, k
        self.of_classes = isinstance(votes, Committee)
        self.names = (
            [str(label) for label in votes.classes.tolist()]
            if self.of_classes
            else [f"{_predicted(votes)} {k}" for k in range(votes.voters.n_outputs)]
        )
        self.are_model_trees = isinstance(votes.voters, (ModelForest, BoostedCommittees))
        self.have_lines = self.are_model_trees or isinstance(votes.voters, LinearLeaves)
        self.are_shares = isinstance(votes.link, Share) and not self.are_model_trees
        alone = votes.n_voters == 1 and votes.intercept is None
        self.are_predictions = not self.of_classes and (isinstance(votes.link, Average) or alone)

    def of(self, forest: Forest) -> tuple[Any, str]:
        if forest.label is not None:
            return forest.label.tolist(), f"leaves vote for a class (weight {self.weight:.4g})"
        value = forest.node_votes
        if self.are_shares:
            both = np.hstack([1.0 - value, 1.0 + value]) / 2.0 if value.shape[1] < forest.n_classes else value
            return list(both), "leaves hold class shares"
        output = self._output(value.shape[1])
        if self.are_predictions:
            return list(value), f"leaves hold predictions{output}"
        adds = "hold lines; their mean adds" if self.have_lines else "add"
        return list(self.weight * value), f"leaves {adds} to the score{output}"

    def of_model_tree(self, t: int, n_nodes: int) -> tuple[Any, str]:
        means = model_tree_means(self.votes.voters, t)
        if means is None:
            return [None] * n_nodes, "leaves hold lines"
        return list(means), f"leaves hold lines; their mean score{self._output(means.shape[1])}"

    def text(self, value: Any) -> tuple[str, str]:
        if value is None:
            return "a line", GREY
        if isinstance(value, int):
            return ("abstains", GREY) if value < 0 else (self.names[value], color(value))
        if self.are_predictions:
            return ", ".join(f"{number:.4g}" for number in value.tolist()), FOR
        if not self.of_classes and len(value) > 1:
            return ", ".join(_signed(number) for number in value.tolist()), FOR
        if len(value) == 1:
            number = float(value[0])
            return _signed(number), GREY if number == 0.0 else FOR if number > 0.0 else AGAINST
        order = np.argsort(-value, kind="stable").tolist()
        named = [
            f"{shortened(self.names[k], 16)}: " + (f"{value[k]:.0%}" if self.are_shares else _signed(float(value[k])))
            for k in order[:MOST_NAMED]
            if value[k] >= 0.005 or not self.are_shares
        ]
        return ", ".join(named), color(order[0]) if value.any() else GREY

    def _output(self, n_outputs: int) -> str:
        if self.k is not None:
            return f" of {shortened(self.names[self.k], 16)}"
        if self.of_classes:
            return f", above 0 for {self.names[-1]}" if n_outputs == 1 else ""
        return f" of {_predicted(self.votes)}s 0 to {n_outputs - 1}" if n_outputs > 1 else ""


def _predicted(votes: WeightedVotes) -> str:
    return "quantile" if isinstance(votes.link, Ordered) else "target"


def _slopes(voters: Any, t: int, weight: float, table: TableSchema) -> list[list[str]]:
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


def _output_number(for_class: Any, votes: WeightedVotes, per_round: int) -> int:
    of_classes = isinstance(votes, Committee)
    if for_class is None:
        return 0
    if per_round == 1:
        one, several = ("class", "all classes") if of_classes else (_predicted(votes), f"all {_predicted(votes)}s")
        whole = several if of_classes or votes.voters.n_outputs > 1 else "a single number"
        raise ValueError(
            f"for_class={for_class!r} selects the tree of one {one}, but each tree of this model predicts {whole}; "
            "leave for_class out"
        )
    known = votes.classes.tolist() if isinstance(votes, Committee) else list(range(per_round))
    if for_class not in known:
        raise ValueError(f"for_class={for_class!r} has no tree; there is one for each of {', '.join(map(repr, known))}")
    return known.index(for_class)


def votes_of(estimator: Any) -> WeightedVotes:
    if isinstance(estimator, BaseEstimator):
        check_is_fitted(estimator)
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
    known: TableSchema | None = getattr(estimator, "table_", None)
    return table if known is None or table.written else table.with_forms(known.forms)


def plain_table(forest: Forest) -> TableSchema:
    n_codes = np.zeros(forest.n_features, dtype=np.int64)
    inner = forest.feature >= 0
    np.maximum.at(n_codes, forest.feature[inner], 32 * np.diff(forest.category_offset)[inner])
    return TableSchema(None, tuple(tuple(range(n)) or None for n in n_codes.tolist()))


def _signed(value: float) -> str:
    return f"{value:+.3g}" if value else "0"
