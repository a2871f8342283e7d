"""The path to a leaf in words: ``petal width <= 0.8 and colour in {red, blue} (or missing)``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from committee.data.categories import unpack_category_bits
from committee.data.frames import TableSchema
from committee.voters.forest import Forest

EVERY_ROW = "every row"
MOST_LISTED = 8
"""Categories are listed up to this many; beyond, the others are if they are fewer."""


@dataclass(frozen=True)
class Condition:
    """Condition on one column: the splits on the path to a node, taken together.

    Parameters
    ----------
    feature : int
        Column of the encoded matrix.
    low, high : float
        A number must be > low and <= high.
    codes : frozenset of int or None
        Category codes that may pass; None for a column of numbers.
    missing : bool
        Whether a missing value passes, and with it a category that was not seen in training.
    """

    feature: int
    low: float = -inf
    high: float = inf
    codes: frozenset[int] | None = None
    missing: bool = True

    def words(self, table: TableSchema, say_missing: bool = True) -> str:
        """The condition as text; where no missing values were seen, to say that they pass is noise.

        Examples
        --------
        >>> from committee.data.frames import TableSchema
        >>> table = TableSchema(("width", "colour"), (None, ("blue", "green", "red")))
        >>> Condition(0, high=0.8, missing=False).words(table)
        'width <= 0.8'
        >>> Condition(1, codes=frozenset({0, 2})).words(table)
        'colour in {blue, red} (or missing)'
        """
        name = table.column(self.feature)
        if self.low >= self.high or (self.codes is not None and not self.codes):
            return missing_words(name)
        text = self._numbers(table) if self.codes is None else self._categories(name, table)
        if not text:  # all that is known passes
            return "" if self.missing else missing_words(name, negated=True)
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


def missing_words(name: str, *, negated: bool = False) -> str:
    """The condition that a column's value is missing, or that it is there, as text.

    Examples
    --------
    >>> from committee.vote.explain.rules import missing_words
    >>> missing_words("age"), missing_words("age", negated=True)
    ('age is missing', 'age is not missing')
    """
    return f"{name} is not missing" if negated else f"{name} is missing"


def split_condition(forest: Forest, node: int, table: TableSchema) -> Condition:
    """Condition of the rows that a split sends left, by itself; nodes are counted over the whole forest."""
    j = int(forest.feature[node])
    known = table.coded(j)
    every = Condition(j, codes=None if known is None else frozenset(range(len(known))))
    return _narrowed(every, forest, node, goes_left=True)


def leaf_conditions(forest: Forest, tree: int, table: TableSchema) -> dict[int, list[Condition]]:
    """Conditions of every leaf of a tree by node number, ascending; columns in the order of their first split.

    The forest's trees were grown on the encoded matrix of `table`; `tree` is which of them.
    """
    first = int(forest.offset[tree])
    ways: dict[int, dict[int, Condition]] = {0: {}}
    for i in range(int(forest.n_nodes[tree])):
        node = first + i
        j = int(forest.feature[node])
        if j < 0:
            continue
        way, left = ways.pop(i), int(forest.left[node])
        known = table.coded(j)
        before = way.get(j) or Condition(j, codes=None if known is None else frozenset(range(len(known))))
        for child, goes_left in ((left, True), (left + 1, False)):
            ways[child] = way | {j: _narrowed(before, forest, node, goes_left)}
    return {leaf: list(ways[leaf].values()) for leaf in sorted(ways)}


def leaf_rules(
    forest: Forest, tree: int, table: TableSchema, had_missing: NDArray[np.bool_] | None = None
) -> dict[int, str]:
    """Rule of every leaf of a tree in words, by node number, ascending; numbers are shortened to six digits.

    Forest, tree and table are as for `leaf_conditions`. With `had_missing`, bool ``(p,)``, rules say where missing
    values go only for the columns that had some in training.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import TreeVoter
    >>> from committee.vote.explain.rules import leaf_rules
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = TreeVoter(max_depth=1).fit(X, y)
    >>> leaf_rules(tree.committee_.voters, 0, tree.table_, had_missing=X.any(axis=0) & False)
    {1: 'x2 <= 2.45', 2: 'x2 > 2.45'}
    """
    shown = np.ones(forest.n_features, dtype=bool) if had_missing is None else had_missing
    rules = {}
    for leaf, conditions in leaf_conditions(forest, tree, table).items():
        words = [each.words(table, bool(shown[each.feature])) for each in conditions]
        rules[leaf] = " and ".join(word for word in words if word) or EVERY_ROW
    return rules


def _narrowed(before: Condition, forest: Forest, node: int, goes_left: bool) -> Condition:
    """Narrow a condition to one side of a split."""
    missing = before.missing and bool(forest.missing_left[node]) == goes_left
    if before.codes is not None:
        listed = _codes_left(forest, node)
        codes = before.codes & listed if goes_left else before.codes - listed
        return replace(before, codes=codes, missing=missing)
    threshold = float(forest.threshold[node])
    if goes_left:
        return replace(before, high=min(before.high, threshold), missing=missing)
    return replace(before, low=max(before.low, threshold), missing=missing)


def _codes_left(forest: Forest, node: int) -> frozenset[int]:
    """Category codes that a split sends left."""
    words = forest.category_bits[int(forest.category_offset[node]) : int(forest.category_offset[node + 1])]
    return frozenset(unpack_category_bits(words).tolist())
