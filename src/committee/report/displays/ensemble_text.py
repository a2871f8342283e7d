"""Text of a small ensemble of trees: the test of each split, the content of each leaf, and the sum of one row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from committee.data.matrices import is_sparse
from committee.data.number_types import F64, Index
from committee.data.table_schema import TableSchema
from committee.data.text import pluralize
from committee.report.column_effects import TableRows, encoded_rows
from committee.report.displays.tree_text import node_shares, plain_split, plain_table, table_with_forms, votes_of
from committee.report.drawing.scale import format_percent
from committee.report.drawing.svg import Color, middle_cut
from committee.report.explanation import place, values_in_words
from committee.vote.committee import Committee
from committee.vote.links.mean import Average, Log
from committee.vote.links.probability import Logistic, Share, Softmax
from committee.vote.members import MemberCommittees
from committee.vote.weighted_votes import WeightedVotes, signed
from committee.voters.forest import Forest
from committee.voters.model_forest import BoostedCommittees, LinearScores, ModelForest
from committee.voters.rounds import LinearLeaves
from committee.voters.tree_voters import MemberTrees

MOST_LEAVES = 60

_MOST_CLASSES = 2  # whose sums are written


@dataclass(frozen=True, eq=False)
class LeafReading:
    """Kind of leaf values of D outputs, whose sum begins with `start` (D,)."""

    kind: Literal["sums", "shares", "means"]
    names: tuple[str, ...]
    unit: str
    factor: float  # of votes, besides their weights
    start: F64
    is_log: bool = False

    @classmethod
    def of(cls, votes: WeightedVotes) -> LeafReading:
        if not isinstance(votes, Committee):
            if votes.voters.n_outputs > 1:
                raise ValueError(
                    f"the ensemble predicts {votes.voters.n_outputs} numbers of each row; one picture shows one. "
                    "Draw its trees one by one by TreeDisplay"
                )
            start = np.zeros(1) if votes.intercept is None else votes.intercept
            kind: Literal["means", "sums"] = "means" if isinstance(votes.link, Average) else "sums"
            return cls(kind, (), "", 1.0, start, isinstance(votes.link, Log))
        names = tuple(str(label) for label in votes.classes.tolist())
        if len(names) < 2:
            raise ValueError(f"the ensemble has only the class {names[0]!r}; to draw one, fit two or more classes")
        if isinstance(votes.link, Share):
            return cls("shares", names, "", 1.0, np.zeros(len(names)))
        factor, unit = _unit(votes)
        start = np.zeros(1 if len(names) == 2 else len(names))
        if votes.intercept is not None:
            start = np.atleast_1d(signed(votes.intercept)) if len(names) == 2 else np.array(votes.intercept)
        return cls("sums", names, unit, factor, factor * start)

    def values(self, forest: Forest, weight: float, output: int | None) -> F64:
        """Return the contents of a tree's nodes, (N, D)."""
        value = forest.node_votes
        if self.kind == "shares":
            return np.hstack([1.0 - value, 1.0 + value]) / 2.0 if value.shape[1] == 1 else value
        if self.kind == "means" or not self.names:
            return value if self.kind == "means" else weight * value
        value = self.factor * weight * value
        if len(self.names) == 2:
            return signed(value)[:, None]
        if output is None:
            return value
        spread = np.zeros((len(value), len(self.names)))
        spread[:, output] = value[:, 0]
        return spread

    def words(self, value: F64, output: int | None = None) -> tuple[str, str, Color]:
        if output is not None:
            number = float(value[output])
            return plain_signed(number), "", output if number > 0.0 else "soft"
        if not self.names:
            number = float(value[0])
            if self.kind == "means":
                return f"{number:.4g}", "", 0
            return plain_signed(number), "", "soft" if number == 0.0 else int(number < 0.0)
        if not value.any():
            return "0", "no vote", "soft"
        if len(value) == 1:
            number, k = float(value[0]), int(value[0] > 0.0)
            return plain_signed(number), f"for {self.short(k)}", k
        k = int(np.argmax(value)) if self.kind == "shares" or value.max() > 0.0 else int(np.argmin(value))
        number = float(value[k])
        if self.kind == "shares":
            return f"{number:.0%}", self.short(k), k
        return plain_signed(number), f"{'for' if number > 0.0 else 'against'} {self.short(k)}", k

    def short(self, k: int) -> str:
        return middle_cut(self.names[k], 16)


def _unit(votes: Any) -> tuple[float, str]:
    link, is_binary = votes.link, len(votes.classes) == 2
    if isinstance(link, Softmax):
        factor = link.scale / votes.total_weight if link.normalized and votes.total_weight > 0.0 else link.scale
        return factor, "log-odds" if is_binary else "score"
    if isinstance(link, Logistic) and is_binary:
        return link.scale, "log-odds"
    return 1.0, "score"


def plain_signed(number: float) -> str:
    form = "+.2f" if 0.1 <= abs(number) < 10.0 else "+.2g" if abs(number) < 0.1 else "+.3g"
    return f"{number:{form}}".replace("-", "−") if number else "0"


@dataclass(frozen=True, eq=False)
class PlainTree:
    """One tree, or the sum of `n_summed` trees of the same `tests`."""

    number: int
    tests: tuple[tuple[str, str], ...]  # column and condition of each node
    children: Index
    missing: Index  # answer for missing values: 0 yes, 1 no, -1 not shown
    shares: F64 | None
    values: F64  # contents of the nodes, (N, D)
    weight: float
    output: int | None  # class index of a tree for a single class
    n_summed: int = 1
    name: str = ""

    @classmethod
    def of(cls, members: MemberTrees, t: int, leaves: LeafReading, table: TableSchema, had_missing: Any) -> PlainTree:
        forest, weight = members.forest[t : t + 1], float(members.weights[t])
        output = t % members.per_round if members.per_round > 1 else None
        inner = forest.feature >= 0
        missing = np.where(inner, 1 - forest.missing_left.astype(np.int64), -1)
        if had_missing is not None:
            missing[inner & ~np.asarray(had_missing)[np.maximum(forest.feature, 0)]] = -1
        tests = tuple(plain_split(forest, i, table) if inner[i] else ("", "") for i in range(len(inner)))
        children = np.where(forest.left[:, None] < 0, -1, forest.left[:, None] + [0, 1]).astype(np.int64)
        values = leaves.values(forest, weight, output)
        return cls(t, tests, children, missing, node_shares(forest), values, weight, output)

    @property
    def leaves(self) -> Index:
        return np.flatnonzero(self.children[:, 0] < 0)

    def path(self, leaf: int) -> frozenset[int]:
        parent = {int(child): node for node, pair in enumerate(self.children) for child in pair if child >= 0}
        path = [leaf]
        while path[-1]:
            path.append(parent[path[-1]])
        return frozenset(path)


def _summed(trees: list[PlainTree], members: MemberTrees) -> list[PlainTree]:
    groups: dict[tuple[Any, ...], list[PlainTree]] = {}
    for tree in trees:
        one = members.forest[tree.number : tree.number + 1]
        tests = (one.feature, one.threshold, one.left, one.missing_left, one.category_offset, one.category_bits)
        groups.setdefault((tree.output, *(array.tobytes() for array in tests)), []).append(tree)
    return [
        replace(
            same[0],
            values=np.sum([each.values for each in same], axis=0),
            weight=float(sum(each.weight for each in same)),
            n_summed=len(same),
            shares=None if same[0].shares is None else np.mean(np.array([each.shares for each in same]), axis=0),
        )
        for same in groups.values()
    ]


@dataclass(frozen=True, eq=False)
class EnsembleText:
    votes: WeightedVotes
    table: TableSchema
    trees: tuple[PlainTree, ...]
    leaves: LeafReading

    @classmethod
    def of(cls, estimator: Any, had_missing: Any = None) -> EnsembleText:
        """Describe an ensemble, with the missing values of columns in the mask `had_missing` (p,)."""
        votes = votes_of(estimator)
        members = _small(votes)
        leaves = LeafReading.of(votes)
        table = table_with_forms(votes.table or plain_table(members.forest), estimator)
        trees = [PlainTree.of(members, t, leaves, table, had_missing) for t in range(len(members.forest))]
        if leaves.kind == "sums":
            trees = _summed(trees, members)
            trees.sort(key=lambda tree: -float(np.abs(tree.values[tree.leaves]).max()))
        else:
            trees.sort(key=lambda tree: -abs(tree.weight))
        total = float(sum(abs(tree.weight) for tree in trees)) or 1.0
        have_weights = leaves.kind != "sums" and len({tree.weight for tree in trees}) > 1
        named = []
        for number, tree in enumerate(trees, 1):
            name = f"Tree {number}"
            if tree.n_summed > 1:
                name += f", the sum of {tree.n_summed}"
            if tree.output is not None:
                name += f", for {leaves.short(tree.output)}"
            elif have_weights:
                name += f", counts {abs(tree.weight) / total:.0%}"
            named.append(replace(tree, name=name))
        return cls(votes, table, tuple(named), leaves)

    @property
    def size(self) -> str:
        n_leaves, n_trees = sum(len(tree.leaves) for tree in self.trees), sum(tree.n_summed for tree in self.trees)
        trees = pluralize(n_trees, "tree")
        if n_trees > len(self.trees):
            trees += f" (drawn as {len(self.trees)}: those of the same tests are added up)"
        return f"{trees}, {pluralize(n_leaves, 'leaf', 'leaves')}"

    @property
    def instruction(self) -> str:
        is_one = len(self.trees) == 1
        down = "Go down the tree" if is_one else "Go down every tree"
        if self.leaves.kind == "shares":
            vote = "Its shares of classes are the vote" if is_one else "The mean of their shares of classes is the vote"
            return f"{down} to a leaf. {vote}: the class of the largest share wins."
        if self.leaves.kind == "means":
            end = "It is the prediction." if is_one else "The mean of the numbers is predicted."
            return f"{down} to a leaf. {end}"
        return self._sum_instruction(down, is_one)

    def _sum_instruction(self, down: str, is_one: bool) -> str:
        leaves, names = self.leaves, self.leaves.names
        alone = is_one and not leaves.start.any()
        what = "the number of its leaf" if is_one else "the numbers of their leaves"
        add = f"{self._start}{down}{':' if alone else ' and add'} {what}"
        total = f"{add} is" if alone else f"{add}: the sum is"
        if not names:
            return f"{total} the {'logarithm of the prediction' if leaves.is_log else 'prediction'}."
        if len(names) == 2:
            return f"{total} the {leaves.unit} of {names[1]}; above 0 it is {names[1]}, else {names[0]}."
        if alone:
            return f"{total} a score of each class: the largest wins."
        return f"{add}, class by class: the class of the largest sum wins."

    @property
    def _start(self) -> str:
        start, names = self.leaves.start, self.leaves.names
        if not start.any():
            return ""
        if len(start) == 1:
            return f"Start at {plain_signed(float(start[0])) if names else f'{start[0]:.4g}'}. "
        some = ", ".join(f"{self.leaves.short(k)} {plain_signed(float(v))}" for k, v in enumerate(start[:7].tolist()))
        return f"Start at {some}{', …' if len(names) > 7 else ''}. "


def is_small(estimator: Any) -> bool:
    try:
        EnsembleText.of(estimator)
    except (TypeError, ValueError):
        return False
    return True


def _small(votes: WeightedVotes) -> MemberTrees:
    voters = votes.voters
    if isinstance(voters, MemberCommittees):
        raise TypeError(
            "SmallEnsembleDisplay needs an ensemble of trees; this is a committee of ensembles. Draw a small one that "
            "is trained on its predictions, such as a random forest of 4 trees with max_leaf_nodes=8"
        )
    have_lines = isinstance(voters, LinearLeaves) and np.diff(voters.lines.start).any()
    are_models = isinstance(voters, (ModelForest, BoostedCommittees)) and not isinstance(voters, LinearScores)
    if have_lines or are_models:
        raise TypeError(
            "SmallEnsembleDisplay needs trees with numbers or classes in their leaves; these have linear "
            'functions. Draw one of them by TreeDisplay, or train without (leaf="constant" of gradient boosting)'
        )
    members = MemberTrees.of(votes.voters, votes.weights, "SmallEnsembleDisplay")
    n_leaves = int((members.forest.feature < 0).sum())
    if n_leaves > MOST_LEAVES:
        raise ValueError(
            f"the ensemble has {n_leaves:,} leaves in {len(members.forest):,} trees; at most {MOST_LEAVES} can be read "
            "in a picture. Make it smaller first, as by prune(ensemble, X, y, on='validation', max_nodes=40) with "
            "held-out rows, or draw one tree by TreeDisplay"
        )
    return members


@dataclass(frozen=True, eq=False)
class RowPath:
    """Row `number`: its nodes in each tree (`paths`), and the tested values and the sums as text."""

    number: int
    paths: tuple[frozenset[int], ...]
    values: tuple[str, ...]
    sums: tuple[str, ...]  # of the two likeliest classes, or one in all
    had_missing: NDArray[np.bool_]  # (p,)

    @classmethod
    def of(cls, ensemble: EnsembleText, estimator: Any, X: Any, row: int) -> RowPath:
        if is_sparse(X):
            raise TypeError("X is sparse, and a picture is of the values of one row; pass X[[row]].toarray() and row=0")
        has_table = hasattr(estimator, "validate_rows") and getattr(estimator, "table_", None) is not None
        encoded = encoded_rows(estimator, X) if has_table else ensemble.votes.encode(X)
        row = place("row", row, len(encoded))
        one = TableRows(X).taken(np.array([row]))
        forest = MemberTrees.of(ensemble.votes.voters, ensemble.votes.weights, "SmallEnsembleDisplay").forest
        leaf = forest.apply(encoded[[row]])[0]
        paths = tuple(tree.path(int(leaf[tree.number])) for tree in ensemble.trees)
        tested: dict[int, None] = {}
        for tree, path in zip(ensemble.trees, paths, strict=True):
            for node in sorted(path - set(tree.leaves.tolist())):
                tested[int(forest.feature[forest.offset[tree.number] + node])] = None
        known = values_in_words(encoded[row], ensemble.table, one)
        values = np.array([tree.values[max(path)] for tree, path in zip(ensemble.trees, paths, strict=True)])
        model: Any = estimator if hasattr(estimator, "predict") else ensemble.votes
        answer = model.predict_proba(one)[0] if ensemble.leaves.names else np.ravel(model.predict(one))
        return cls(
            row,
            paths,
            tuple(known[j] for j in tested),
            _sums(ensemble, values, answer),
            np.asarray(np.isnan(encoded).any(axis=0)),
        )


def _sums(ensemble: EnsembleText, values: F64, answer: F64) -> tuple[str, ...]:
    leaves = ensemble.leaves
    if leaves.kind != "sums":
        return _means(ensemble, values, answer)
    total = leaves.start + values.sum(axis=0)
    if not leaves.names:
        exp = f"  (exp of it {float(answer[0]):.4g})" if leaves.is_log else ""
        start = f"{leaves.start[0]:.4g}" if leaves.start.any() else ""
        return (_sum(start, values[:, 0], f"{float(total[0]):.4g}") + exp,)
    lines = []
    several = len(total) > 1
    for d in np.argsort(-answer, kind="stable")[:_MOST_CLASSES].tolist() if several else [0]:
        k, name, of_class = (d, f"{leaves.names[d]}: ", "") if several else (1, "", f" of {leaves.names[1]}")
        start = plain_signed(float(leaves.start[d])) if leaves.start.any() else ""
        summed = _sum(start, values[:, d], plain_signed(float(total[d])))
        lines.append(f"{name}{summed}  (probability{of_class} {format_percent(answer[k])})")
    return tuple(lines)


def _sum(start: str, values: F64, total: str) -> str:
    terms = [f"tree {t} {plain_signed(float(v))}" for t, v in enumerate(values.tolist(), 1) if v or len(values) < 9]
    if start:
        terms.insert(0, f"start {start}")
    return terms[0] if len(terms) == 1 else f"{',  '.join(terms)} = {total}"


def _means(ensemble: EnsembleText, values: F64, answer: F64) -> tuple[str, ...]:
    leaves, weight = ensemble.leaves, np.array([tree.weight for tree in ensemble.trees])
    mean = weight @ values / weight.sum() if weight.sum() > 0.0 else values.mean(axis=0)
    what = "" if len(weight) == 1 else "mean " if len(set(weight.tolist())) == 1 else "weighted mean "
    if not leaves.names:
        terms = ",  ".join(f"tree {t} {v:.4g}" for t, v in enumerate(values[:, 0].tolist(), 1))
        return (f"{terms};  {what or 'predicted '}{mean[0]:.4g}",)
    lines = []
    for k in np.argsort(-answer, kind="stable")[:_MOST_CLASSES].tolist():
        terms = ",  ".join(f"tree {t} {v:.0%}" for t, v in enumerate(values[:, k].tolist(), 1))
        differs = abs(answer[k] - mean[k]) >= 0.005
        probability = f"  (probability {format_percent(answer[k])})" if differs else ""
        lines.append(f"{leaves.names[k]}: {terms};  {what}{mean[k]:.0%}{probability}")
    return tuple(lines)
