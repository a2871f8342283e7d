"""Sums and trees of probabilistic voters, each trained on all rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from heapq import heappop, heappush
from itertools import count
from typing import ClassVar, Literal

from committee.learners.base.parameters import COUNT, parameter, with_parameters
from committee.learners.nesting.growth import Branching, Growth, Leaf, look_ahead
from committee.learners.nesting.nested_classifier import NestedClassifier


@with_parameters
class ProbabilisticAdaBoostClassifier(NestedClassifier):
    """AdaBoost of voters that vote +1 with a probability q(x) [1]_.

    H(x) = sum_t alpha_t(x) h_t(x) is a random number: the vote of voter t is alpha_+ for the answer + and -alpha_- for
    -. With W^{ab} the expected weight of class b with answer a, smoothed by 1 / (4 n),

        alpha_+ = 1/2 ln (W^{++} / W^{+-}),    alpha_- = 1/2 ln (W^{--} / W^{-+}),
        D_i <- D_i (q_i exp(-alpha_+ y_i) + (1 - q_i) exp(alpha_- y_i)) / Z.

    The expected training error is at most the product of the Z. With q in {0, 1} it is confidence-rated AdaBoost [2]_.
    More than two classes: one against the rest.

    References
    ----------
    .. [1] E. Grossmann, A theory of probabilistic boosting, decision trees and matryoshki, section 3.
    .. [2] R. Schapire, Y. Singer (1999). Improved boosting algorithms using confidence-rated predictions.
       Machine Learning 37.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from committee import ProbabilisticAdaBoostClassifier
    >>> X_train, X_test, y_train, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
    >>> model = ProbabilisticAdaBoostClassifier(n_estimators=50).fit(X_train, y_train)
    >>> model.score(X_test, y_test) > 0.93
    True
    """

    _looks_ahead: ClassVar[bool] = True

    n_estimators: int = parameter(
        50, "Most voters of a score; fewer when none beats chance or the run is ended otherwise.", COUNT
    )

    def _most_voters(self, count: float) -> int:
        return self.n_estimators

    def _grow(self, growth: Growth) -> Iterator[None]:
        if self.n_draws == "look_ahead":
            yield from look_ahead(growth)
            return
        leaf = growth.root()
        while (found := growth.branching(leaf)) is not None:
            leaf = growth.join(leaf, found)
            yield


@with_parameters
class BoostingTreeClassifier(NestedClassifier):
    """A tree of probabilistic voters, each trained on all rows, grown where it lowers the bound on the training error.

    A row comes to a node with a probability. Its weight there depends on this probability and on the votes on the path:

        D_{s+} ~ D_s q exp(-alpha_+ y),    D_{s-} ~ D_s (1 - q) exp(alpha_- y).

    H(x) is the sum of the votes alpha_+ and -alpha_- on the path taken, and C = sum over leaves of the product of the Z
    on their paths bounds the expected training error. By default the tree grows at the leaf with the largest part of C;
    with voters of edge eps or more C <= F(T, sqrt(1 - 4 eps^2)) (`bounds.boosting_tree`). A row meets about log T
    voters, not T. More than two classes: one tree against the rest for each.

    Notes
    -----
    Every leaf keeps its weights on all rows while training: 4 n (T + 1) bytes in float32, or twice as many, in float64,
    where these are at most 64 MB.

    References
    ----------
    E. Grossmann, A theory of probabilistic boosting, decision trees and matryoshki, section 4. Eq. 6 as printed has the
    wrong sign for the minus child.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from committee import BoostingTreeClassifier
    >>> X_train, X_test, y_train, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
    >>> model = BoostingTreeClassifier(max_voters=64).fit(X_train, y_train)
    >>> model.score(X_test, y_test) > 0.93
    True
    """

    max_voters: int = parameter(
        64, "Most nodes of a tree; fewer when none beats chance or the run is ended otherwise.", COUNT
    )
    _: KW_ONLY
    choose: Literal["mass", "drop", "entropy"] = parameter(
        "mass",
        """Leaf that grows next. "mass": that with the largest product of Z, as in the source document. "drop": that
        whose voter lowers the bound most; voters are trained at every leaf beforehand (twice the time, and 8 bytes a
        row and leaf more). "entropy": that whose product of Z, times minus the relative entropy of its weights, is
        largest, as voters err less where these lie on few rows.""",
    )

    def _most_voters(self, count: float) -> int:
        return self.max_voters

    def _most_leaves(self, count: float) -> int:
        return self.max_voters + 1

    def _grow(self, growth: Growth) -> Iterator[None]:
        order = count()  # of equal leaves the older one
        waiting: list[tuple[float, int, Leaf, Branching | None]] = []

        def wait(leaf: Leaf) -> None:
            if self.choose == "mass":
                heappush(waiting, (-leaf.mass, next(order), leaf, None))
            elif self.choose == "entropy":
                ahead = leaf.mass * growth.entropy(leaf) if leaf.mass > 0.0 else 0.0
                heappush(waiting, (ahead, next(order), leaf, None))
            elif (found := growth.branching(leaf)) is not None:
                heappush(waiting, (leaf.mass * (float(found.Z.sum()) - 1.0), next(order), leaf, found))

        wait(growth.root())
        while waiting:
            _, _, leaf, prepared = heappop(waiting)
            found = growth.branching(leaf) if prepared is None else prepared
            if found is None:
                continue
            leaves = growth.branch(leaf, found)
            yield
            for child in leaves:
                wait(child)
