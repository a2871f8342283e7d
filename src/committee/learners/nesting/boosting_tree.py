"""A tree of probabilistic voters, each trained on all rows, grown where it lowers the bound on the training error."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from numbers import Integral
from typing import Any, ClassVar, Literal

from sklearn.utils._param_validation import Interval, StrOptions

from committee.learners.nesting.growth import Branching, Growth, Leaf
from committee.learners.nesting.nested_fit import VOTER_CONSTRAINTS, NestedClassifier


class BoostingTreeClassifier(NestedClassifier):
    """A tree whose nodes are voters that answer at random, each trained on all rows.

    A row comes to a node with a probability, not with certainty, and its weight there tells both how likely it comes
    and how wrong the votes on the way are:

        D_{s+} ~ D_s q exp(-alpha_+ y),    D_{s-} ~ D_s (1 - q) exp(alpha_- y).

    H(x) is the sum of the alphas on the path taken, and C = sum over leaves of the product of the Z on their paths
    bounds the expected training error. The tree grows at the leaf that has most of C, and with voters whose edge is at
    least eps C <= F(T, sqrt(1 - 4 eps^2)) (`bounds.boosting_tree`). A row meets about log T voters, not T. More than
    two classes: one tree against the rest for each.

    Parameters
    ----------
    max_voters : int, default=64
        Most nodes of a tree; fewer when none beats chance or the run is ended otherwise.
    choose : {"mass", "drop"}, default="mass"
        Which leaf grows next: that with the largest product of Z, as in the document, or that whose voter lowers the
        bound most, for which one is trained at every leaf beforehand (twice the time, and 8 bytes a row and leaf more).
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

    Raises
    ------
    sklearn.utils._param_validation.InvalidParameterError
        At `fit`, naming the parameter, its value and its range.

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
    >>> model.cost_ < 20  # voters that a row meets
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "max_voters": [Interval(Integral, 1, None, closed="left")],
        "choose": [StrOptions({"mass", "drop"})],
        **VOTER_CONSTRAINTS,
    }

    def __init__(
        self,
        max_voters: int = 64,
        *,
        choose: Literal["mass", "drop"] = "mass",
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
        self.max_voters = max_voters
        self.choose = choose
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

    def _most_voters(self, count: float) -> int:
        return self.max_voters

    def _most_leaves(self, count: float) -> int:
        return self.max_voters + 1

    def _grow(self, growth: Growth) -> Iterator[None]:
        """The best leaf of all gets a voter and is replaced by two."""
        order = count()  # of equal leaves the older one
        waiting: list[tuple[float, int, Leaf, Branching | None]] = []

        def wait(leaf: Leaf) -> None:
            if self.choose == "mass":
                heappush(waiting, (-leaf.mass, next(order), leaf, None))
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
