"""Matryoshka: trees of trees of ... of trees of probabilistic voters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log2, prod
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from committee.learners.nesting.growth import Growth
from committee.learners.nesting.nested_fit import VOTER_CONSTRAINTS, NestedClassifier, Run
from committee.learners.nesting.nests import Collect, Collector, GreedyNest, Rate, nested

_MOST_LEVELS = 6
_MOST_NESTED = 30
"""Levels of trees in trees; 30 of two nodes are a billion voters."""


class MatryoshkaClassifier(NestedClassifier):
    """Trees nested in trees: a sub-tree's leaves are collected, and it becomes one node of the tree around it.

    Leaves that vote + become the node's + edge, the others its - edge, so that a later voter is met by all rows that
    come through either. Collected leaves keep their own votes; then Z_+ + Z_- of the node is the bound C of the
    sub-tree, and with voters of edge eps the whole has the bound F(T_L, ... F(T_2, F(T_1, rho))),
    rho = sqrt(1 - 4 eps^2) (`bounds.matryoshka`), far below that of one tree of as many voters. More than two classes:
    one against the rest.

    Parameters
    ----------
    shape : {"binary", "greedy"} or sequence of int, default="binary"
        "binary": every tree has two nodes, the 2-matryoshka. "greedy": sub-trees are collected where that lowers the
        bound faster. A sequence: nodes of the trees at each level, the innermost first, as `bounds.matryoshka` has
        them.
    levels : int or None, default=None
        Levels of "binary", which has 2^levels voters. None: 6, or as many as the rows allow.
    max_voters : int, default=64
        Most voters of "greedy".
    rate : {"voters", "seconds"}, default="voters"
        Whether "greedy" compares the fall of the bound by voter or by second of training (such a run cannot be
        repeated exactly).
    collect : {"confidence", "sign"}, default="confidence"
        What collected leaves keep: their votes, or only the sign, the node then getting a vote of its own; of a
        sub-tree's C only sqrt(C (2 - C)) is then left.
    voter : classifier or None, default=None
        What is trained at each node, in place of soft stumps: any classifier whose ``fit`` takes ``sample_weight`` and
        that has ``predict_proba``, ``prob_positive(X)`` (the probability of +1, exact) or only ``draw(X, rng)`` (one
        answer a row, above 0 for +1, drawn anew at each call). It is fitted on classes 0 and 1.
    softness : float, default=0.35
        Softness s of the stumps, in standard deviations of their column: q(x) = Phi((x_j - c) / s). 0: hard stumps. It
        is given, not sought, as the least Z would always take the least softness (docs/theory.md). The default was the
        best of seven over 30 tables (docs/decisions.md).
    n_draws : int, "first_rise", "stopwatch" or None, default=None
        Estimate q on the training rows from that many answers, or draw until the estimate of Z first rises, or while a
        draw lowers the bound faster than the next voter would, per second measured (such a run cannot be repeated
        exactly). None: q is known; an oracle that can only be asked then has "first_rise".
    estimate : {"map", "ml"}, default="map"
        Estimate of q from draws: (1 + count) / (R + 2), or count / R.
    target_bound : float or None, default=None
        Stop when the bound on the expected training error is at most this, in (0, 1).
    time_budget : float or None, default=None
        Stop after this many seconds, above 0; one voter is always trained. Such a run cannot be repeated exactly.
    method : {"expected", "likely_path", "sampled", "majority"}, default="expected"
        What the committee's score is. "expected": E[H(x)]. "likely_path": H along the likelier answer at each node; it
        asks the fewest stumps. "sampled": H on one path, drawn by `random_state` and the row's values. "majority":
        2 P - 1, with P the probability that H(x) > 0, which then is what `predict_proba` says.
    n_paths : int, default=1000
        Paths that P is estimated from where they are too many to add up: its standard error is at most
        1 / (2 sqrt(n_paths)).
    max_bins : int, default=255
        Most bins of a column. A column with fewer distinct values is split exactly.
    categorical_features : "from_dtype", None, list or mask, default="from_dtype"
        Which columns are categories; "from_dtype": text, categorical and boolean columns of a data frame.
    random_state : int, RandomState or None, default=None
        Seeds sampled paths, draws, and user's voters; otherwise not used.
    n_jobs : int or None, default=None
        Threads; the committee does not depend on it, bit for bit.

    Attributes
    ----------
    committee_ : Committee
        The voters, and where their answers lead (`graph_`).
    classes_ : array (n_classes,)
    bounds_ : float64 array (T,)
        Bound on the expected training error after each voter, the exponential loss E[exp(-H y)]; of more than two
        classes score after score.
    bound_ : float
        The last of them; of more than two classes the sum over scores, which bounds the expected training error.
    normalisers_ : float64 array (T,)
        Z_+ + Z_- of each voter under the weights it was trained with.
    edges_ : float64 array (T,)
        1/2 minus its expected error under these weights.
    reach_ : float64 array (T,)
        Expected share of training rows that meet each voter.
    cost_ : float
        Expected number of voters that a training row meets; of more than two classes in all scores together.
    n_draws_ : int64 array (T,)
        Answers that q was estimated from; 0 where it is known.
    table_ : TableSchema
    dolls_ : list of list of int
        For every collected sub-tree the graph's nodes inside it, inner ones before those around them.

    Raises
    ------
    sklearn.utils._param_validation.InvalidParameterError
        At `fit`, naming the parameter, its value and its range.

    Notes
    -----
    A leaf's vote is half the log-odds of the weight that leaves through it, out of what entered its tree, which in a
    tree that is not nested is the sum of its alphas. It is told from p(l, x_i), which leaves keep beside their weights,
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

    _stored_attributes: ClassVar[tuple[str, ...]] = (*NestedClassifier._stored_attributes, "dolls_")

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "shape": [StrOptions({"binary", "greedy"}), "array-like"],
        "levels": [Interval(Integral, 1, 30, closed="both"), None],
        "max_voters": [Interval(Integral, 1, None, closed="left")],
        "rate": [StrOptions({"voters", "seconds"})],
        "collect": [StrOptions({"confidence", "sign"})],
        **VOTER_CONSTRAINTS,
    }

    def __init__(
        self,
        shape: Literal["binary", "greedy"] | Sequence[int] = "binary",
        *,
        levels: int | None = None,
        max_voters: int = 64,
        rate: Rate = "voters",
        collect: Collect = "confidence",
        voter: Any = None,
        softness: float = 0.35,
        n_draws: int | Literal["first_rise", "stopwatch"] | None = None,
        estimate: Literal["map", "ml"] = "map",
        target_bound: float | None = None,
        time_budget: float | None = None,
        method: Literal["expected", "likely_path", "sampled", "majority"] = "expected",
        n_paths: int = 1000,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.shape = shape
        self.levels = levels
        self.max_voters = max_voters
        self.rate = rate
        self.collect = collect
        self.voter = voter
        self.softness = softness
        self.n_draws = n_draws
        self.estimate = estimate
        self.target_bound = target_bound
        self.time_budget = time_budget
        self.method = method
        self.n_paths = n_paths
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

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

    def _keeps_reach(self) -> bool:
        return True

    def _grow(self, growth: Growth) -> Iterator[None]:
        """By the given sizes, or greedily."""
        collector = Collector(growth, self.collect)
        if self._is("greedy"):
            return GreedyNest(growth, collector, self.rate).grow(growth.root())
        return nested(growth, collector, growth.root(), self._sizes(0.25 / growth.eps))

    def _state(self, run: Run) -> dict[str, Any]:
        """Also the nodes inside each collected sub-tree."""
        first = self._starts(run)[:-1]
        dolls = [
            [node + int(by) for node in doll]
            for growth, by in zip(run.growths, first, strict=True)
            for doll in growth.dolls
        ]
        return {**super()._state(run), "dolls_": dolls}
