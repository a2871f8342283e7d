"""Rules of leaves in words, and the linear models of leaves as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.data.categories import unpack_category_bits
from committee.data.design import Design
from committee.data.number_types import F64
from committee.data.packages import require_package
from committee.data.table_schema import TableSchema
from committee.vote.explain.contributions import node_means
from committee.voters.forest import Forest
from committee.voters.model_forest import BoostedCommittees, ModelForest

if TYPE_CHECKING:
    import polars as pl


EVERY_ROW = "every row"
LEAF_COLUMNS = ("committee", "tree", "alpha", "leaf", "rule", "rows", "class", "intercept")
"""Columns of `leaf_models` before the coefficients."""
MOST_LISTED = 8
"""Number of categories beyond which a rule lists the others, if they are fewer."""


@dataclass(frozen=True)
class Condition:
    feature: int
    low: float = -inf  # a number must be > low
    high: float = inf  # and <= high
    codes: frozenset[int] | None = None  # admitted category codes; None for numeric columns
    missing: bool = True  # admit missing values and unseen categories

    def words(self, table: TableSchema, say_missing: bool = True) -> str:
        name = table.column(self.feature)
        if self.low >= self.high or (self.codes is not None and not self.codes):
            return missing_condition(name)
        text = self._numbers(table) if self.codes is None else self._categories(name, table)
        if not text:  # all that is known passes
            return "" if self.missing else missing_condition(name, negated=True)
        return f"{text} (or missing)" if self.missing and say_missing else text

    def _numbers(self, table: TableSchema) -> str:
        name = table.quantity(self.feature)
        low, high = (
            "" if abs(each) == inf else table.format_number(self.feature, each) for each in (self.low, self.high)
        )
        if low == high:
            low, high = repr(self.low), repr(self.high)
        if self.low == -inf:
            return "" if self.high == inf else f"{name} <= {high}"
        return f"{name} > {low}" if self.high == inf else f"{low} < {name} <= {high}"

    def _categories(self, name: str, table: TableSchema) -> str:
        known = table.coded(self.feature) or ()
        assert self.codes is not None
        inside = [str(known[c]) for c in sorted(self.codes)]
        outside = [str(word) for c, word in enumerate(known) if c not in self.codes]
        if not outside:
            return ""
        if len(inside) == 1:
            return f"{name} = {inside[0]}"
        if len(inside) > MOST_LISTED and len(outside) < len(inside):
            return f"{name} not in {{{', '.join(outside)}}}"
        return f"{name} in {{{', '.join(inside)}}}"


def missing_condition(name: str, *, negated: bool = False) -> str:
    return f"{name} is not missing" if negated else f"{name} is missing"


def split_condition(forest: Forest, node: int, table: TableSchema) -> Condition:
    return _narrowed(_any_value(int(forest.feature[node]), table), forest, node, goes_left=True)


def leaf_conditions(forest: Forest, tree: int, table: TableSchema) -> dict[int, list[Condition]]:
    """Conditions of each leaf of a tree, by the leaf's number within the tree."""
    first = int(forest.offset[tree])
    ways: dict[int, dict[int, Condition]] = {0: {}}
    for i in range(int(forest.n_nodes[tree])):
        node = first + i
        j = int(forest.feature[node])
        if j < 0:
            continue
        way, left = ways.pop(i), int(forest.left[node])
        before = way.get(j) or _any_value(j, table)
        for child, goes_left in ((left, True), (left + 1, False)):
            ways[child] = way | {j: _narrowed(before, forest, node, goes_left)}
    return {leaf: list(ways[leaf].values()) for leaf in sorted(ways)}


def leaf_rules(
    forest: Forest, tree: int, table: TableSchema, had_missing: NDArray[np.bool_] | None = None
) -> dict[int, str]:
    """Rules of a tree's leaves; they mention missing values of columns in `had_missing` ``(p,)``."""
    shown = np.ones(forest.n_features, dtype=bool) if had_missing is None else had_missing
    rules = {}
    for leaf, conditions in leaf_conditions(forest, tree, table).items():
        words = [each.words(table, bool(shown[each.feature])) for each in conditions]
        rules[leaf] = " and ".join(word for word in words if word) or EVERY_ROW
    return rules


def _any_value(feature: int, table: TableSchema) -> Condition:
    known = table.coded(feature)
    return Condition(feature, codes=None if known is None else frozenset(range(len(known))))


def _narrowed(before: Condition, forest: Forest, node: int, goes_left: bool) -> Condition:
    missing = before.missing and bool(forest.missing_left[node]) == goes_left
    if before.codes is not None:
        listed = frozenset(unpack_category_bits(forest.category_words(node)).tolist())
        codes = before.codes & listed if goes_left else before.codes - listed
        return replace(before, codes=codes, missing=missing)
    threshold = float(forest.threshold[node])
    if goes_left:
        return replace(before, high=min(before.high, threshold), missing=missing)
    return replace(before, low=max(before.low, threshold), missing=missing)


def leaf_models(
    voters: ModelForest | BoostedCommittees,
    classes: NDArray[Any],
    table: TableSchema,
    trees: Sequence[int] | None = None,
) -> pl.DataFrame:
    """Table of the leaf models of `trees` (all if None), with a row for each tree, leaf and score."""
    require_package("polars", "the table of leaves")
    import polars as pl

    members = voters.members if isinstance(voters, BoostedCommittees) else voters
    forest = members.forest
    chosen = [range(len(forest))[t] for t in (range(len(forest)) if trees is None else trees)]
    had_missing = np.zeros(members.n_features, dtype=bool)
    had_missing[members.design.source[members.design.category == -2]] = True
    n_outputs = members.intercept.shape[1]
    columns: dict[str, list[Any]] = {name: [] for name in LEAF_COLUMNS}
    models = []
    for t in chosen:
        rules = leaf_rules(forest, t, table, had_missing)
        leaves = np.fromiter(rules, dtype=np.int64) + forest.offset[t]
        models.append(members.model[leaves])
        each = len(rules) * n_outputs
        committee, place, alpha = _place(voters, t)
        columns["committee"] += [committee] * each
        columns["tree"] += [place] * each
        columns["alpha"] += [alpha] * each
        columns["leaf"] += np.repeat(list(rules), n_outputs).tolist()
        columns["rule"] += [rule for rule in rules.values() for _ in range(n_outputs)]
        columns["rows"] += np.repeat(forest.count[leaves], n_outputs).tolist()
        columns["class"] += _output_classes(members, t, classes) * len(rules)
    model = np.concatenate([*models, np.empty(0, dtype=np.int32)]).astype(np.int64)
    columns["intercept"] = members.intercept[model].ravel()  # type: ignore[assignment]
    if not isinstance(voters, BoostedCommittees):
        del columns["committee"], columns["alpha"]
    coefficient = members.coefficient[model].reshape(-1, len(members.design))
    names = members.design.names(table)
    filled = np.flatnonzero(had_missing & (table.n_categories == 0))
    named = coefficient_names([*names, *(f"{table.column(j)} if missing" for j in filled.tolist())])
    values = [*coefficient.T, *(np.full(len(model) * n_outputs, members.design.fill[j]) for j in filled)]
    return pl.DataFrame({**columns, **{name: value.copy() for name, value in zip(named, values, strict=True)}})


def model_coefficients(frame: pl.DataFrame, design: Design) -> F64:
    """Coefficients of a table of `leaf_models`, ``(rows, q)``."""
    first = frame.columns.index("intercept") + 1
    return frame[:, first : first + len(design)].to_numpy()


def model_trees(estimator: Any) -> ModelForest:
    voters = getattr(getattr(estimator, "committee_", None), "voters", None)
    if isinstance(voters, BoostedCommittees):
        return voters.members
    if not isinstance(voters, ModelForest):
        raise ValueError(f"{type(estimator).__name__} has no linear leaf models; give a fitted model tree or SBPMT")
    return voters


def model_tree_means(voters: ModelForest | BoostedCommittees, tree: int) -> F64 | None:
    members = voters.members if isinstance(voters, BoostedCommittees) else voters
    return None if members.record is None else node_means(members, tree)


def coefficient_names(design_names: Sequence[str]) -> list[str]:
    seen = Counter(LEAF_COLUMNS)
    names = []
    for given in design_names:
        name = f"coefficient of {given}" if given in LEAF_COLUMNS else given
        while name in seen:
            seen[name] += 1
            name = f"{name} ({seen[name]})"
        seen[name] += 1
        names.append(name)
    return names


def _place(voters: ModelForest | BoostedCommittees, tree: int) -> tuple[int, int, float]:
    if not isinstance(voters, BoostedCommittees):
        return 0, tree, 1.0
    per_voter = voters.members.trees_per_voter
    voter = tree // per_voter
    committee = int(np.searchsorted(voters.start, voter, side="right")) - 1
    return committee, tree - int(voters.start[committee]) * per_voter, float(voters.alpha[voter])


def _output_classes(members: ModelForest, tree: int, classes: NDArray[Any]) -> list[Any]:
    labels: list[Any] = classes.tolist()
    if members.trees_per_voter > 1:
        k = tree % members.trees_per_voter
        return labels[k : k + 1]
    return labels[1:2] if members.intercept.shape[1] == 1 else labels
