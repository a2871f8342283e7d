"""Matryoshka: trees of trees of ... of trees of probabilistic voters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from math import log2, prod
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from committee.learners.base.parameters import COUNT, parameter, with_parameters
from committee.learners.nesting.growth import Growth
from committee.learners.nesting.nested_fit import NestedClassifier, Run
from committee.learners.nesting.nests import Collect, Collector, GreedyNest, Rate, nested

_MOST_LEVELS = 6
_MOST_NESTED = 30
"""Levels of trees in trees; 30 of two nodes are a billion voters."""


@with_parameters
class MatryoshkaClassifier(NestedClassifier):
    """Trees nested in trees: a sub-tree's leaves are collected, and it becomes one node of the tree around it.

    Leaves that vote + become the node's + edge, the others its - edge, so that a later voter is met by all rows that
    come through either. Collected leaves keep their own votes; then Z_+ + Z_- of the node is the bound C of the
    sub-tree, and with voters of edge eps the whole has the bound F(T_L, ... F(T_2, F(T_1, rho))),
    rho = sqrt(1 - 4 eps^2) (`bounds.matryoshka`), far below that of one tree of as many voters. More than two classes:
    one against the rest.

    Attributes
    ----------
    committee_ : Committee
        The voters, and where their answers lead (`graph_`).
    dolls_ : list of list of int
        For every collected sub-tree the graph's nodes inside it, inner ones before those around them.

    Notes
    -----
    A leaf's vote is half the log-odds of the weight that leaves through it, out of what entered its tree, which in a
    tree that is not nested is the sum of its alphas. It follows from p(l, x_i), which leaves hold beside their weights,
    8 n bytes a leaf in float32, or twice as many, in float64, where all take at most 64 MB. Nested trees of given sizes
    have as many leaves at a time as one tree at each level, "greedy" as many as its voters and one; its leaves keep 8 n
    bytes more, as their next voters are kept.

    References
    ----------
    E. Grossmann, A theory of probabilistic boosting, decision trees and matryoshki, section 5.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from committee import MatryoshkaClassifier
    >>> X_train, X_test, y_train, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
    >>> model = MatryoshkaClassifier(levels=5).fit(X_train, y_train)
    >>> model.score(X_test, y_test) > 0.93
    True
    >>> model.cost_ < 20  # voters that a row meets
    True
    """

    stored_attributes: ClassVar[tuple[str, ...]] = (*NestedClassifier.stored_attributes, "dolls_")

    shape: Literal["binary", "greedy"] | Sequence[int] = parameter(
        "binary",
        """"binary": every tree has two nodes, the 2-matryoshka. "greedy": sub-trees are collected where that lowers the
        bound faster. A sequence: nodes of the trees at each level, the innermost first, as `bounds.matryoshka` has
        them.""",
        StrOptions({"binary", "greedy"}),
        "array-like",
        type_words='{"binary", "greedy"} or sequence of int',
    )
    _: KW_ONLY
    levels: int | None = parameter(
        None,
        """Levels of "binary", which has 2^levels voters. None: 6, or as many as the rows allow.""",
        Interval(Integral, 1, 30, closed="both"),
    )
    max_voters: int = parameter(64, """Most voters of "greedy".""", COUNT)
    rate: Rate = parameter(
        "voters",
        """Unit by which "greedy" compares decreases of the bound: a voter, or a second of training (such a run
        cannot be repeated exactly).""",
    )
    collect: Collect = parameter(
        "confidence",
        """Votes of collected leaves: as they are, or their signs only, the node then getting a vote of its own; of a
        sub-tree's C only sqrt(C (2 - C)) is then left.""",
    )

    def _most_voters(self, count: float) -> int | None:
        if self._is("greedy"):
            return self.max_voters
        sizes = self._sizes(count)
        if prod(sizes) > count:
            given = f"levels={self.levels}" if self._is("binary") else f"shape={list(self.shape)}"
            raise ValueError(
                f"{given} asks for {prod(sizes):,} voters, more than the {count:,.0f} rows; choose fewer levels or "
                "smaller trees."
            )
        return None  # the last sub-trees are collected after their last voter

    def _sizes(self, count: float) -> list[int]:
        """Nodes of the trees at each level, the innermost first."""
        if self._is("binary"):
            return [2] * (self.levels or max(1, min(_MOST_LEVELS, int(log2(count)))))
        given = list(self.shape)
        numbers = [size for size in given if isinstance(size, int | float | np.number) and not isinstance(size, bool)]
        whole = [size for size in numbers if float(size).is_integer()]
        sizes = [int(size) for size in whole if size >= 1]
        if not sizes or len(sizes) != len(given):
            raise ValueError(
                f"shape={self.shape!r} is no list of tree sizes; give whole numbers of at least 1, the innermost "
                "first, as [2, 2, 2], or 'binary' or 'greedy'."
            )
        if len(sizes) > _MOST_NESTED:
            raise ValueError(
                f"shape has {len(sizes):,} levels; give at most {_MOST_NESTED}, leaving out trees of one node."
            )
        return sizes

    def _most_leaves(self, count: float) -> int:
        sizes = [self.max_voters] if self._is("greedy") else self._sizes(count)
        return sum(sizes) + len(sizes)

    def _is(self, name: str) -> bool:
        return isinstance(self.shape, str) and self.shape == name  # an array is not to be compared with a word

    def _clocks(self) -> dict[str, bool]:
        return super()._clocks() | {"rate": self.rate == "seconds" and self._is("greedy")}

    def _keeps_reach(self) -> bool:
        return True

    def _grow(self, growth: Growth) -> Iterator[None]:
        """By the given sizes, or greedily."""
        collector = Collector(growth, self.collect)
        if self._is("greedy"):
            return GreedyNest(growth, collector, self.rate).grow(growth.root())
        return nested(growth, collector, growth.root(), self._sizes(0.25 / growth.eps))

    def _fitted(self, run: Run) -> dict[str, Any]:
        """Also the nodes inside each collected sub-tree."""
        first = self._starts(run)[:-1]
        dolls = [
            [node + int(by) for node in doll]
            for growth, by in zip(run.growths, first, strict=True)
            for doll in growth.collected
        ]
        return {**super()._fitted(run), "dolls_": dolls}
