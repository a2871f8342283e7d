"""Votes of the largest margin: LPBoost, by a linear program, and arc-gv, whose least margin tends to the largest."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.data.rows import Rows, nonzero_sample_weights
from committee.data.text import warn_user
from committee.learners.base import shared_parameters as shared
from committee.learners.base.boosting import run_rounds
from committee.learners.base.calibration import BoostedCalibration
from committee.learners.base.estimator import voter_template
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import SHARE, parameter, with_parameters
from committee.learners.boosting.dictionaries import (
    DICTIONARIES,
    DistinctPool,
    DistinctRows,
    StumpPool,
    classifiers_on,
    dictionary_parameter,
)
from committee.learners.boosting.margin_boosting import (
    NO_EDGE,
    ClassRuns,
    MarginBoosting,
    VotingRun,
    by_round,
    depth_of_voters,
)
from committee.learners.boosting.pool import Candidate, Pool
from committee.objectives.margins.multiclass_margins import MANY_ROWS, ManyRows
from committee.objectives.programs.soft_margin import VOTERS_AT_ONCE, SoftMarginLP, SoftMarginSolution
from committee.vote.committee import Committee
from committee.vote.links.probability import Truncated


@with_parameters
class LPBoostClassifier(BoostedCalibration):
    """The vote with the largest soft margin, by linear programming and column generation.

    Of all weighted votes over a dictionary of voters h_j this one has

        max  rho - 1 / (nu n) sum_i xi_i   s.t.  y_i sum_j alpha_j h_j(x_i) >= rho - xi_i,  sum_j alpha_j = 1,

    with alpha, xi >= 0 [1]_: the largest mean of the lowest margins, a share nu of all. The dual solution weighs the
    rows; the voters with the largest edges under these weights join the program; and the run ends when no voter of the
    dictionary has an edge above the dual value, as then none can raise the soft margin. With more than two classes each
    has a program of its own against the rest.

    Attributes
    ----------
    committee_ : Committee
        The voters of positive weight; weights add up to one, for each class where there are more than two.
    rho_ : float64 array (P,)
        rho of each program; P = 1 for two classes, else n_classes.
    soft_margin_ : float64 array (P,)
        Objective of each program.
    duality_gap_ : float64 array (P,)
        The least of the rounds' largest edges, minus `soft_margin_`: upper bound on the gain of another vote over the
        dictionary; for trees and classifiers, by the last edges, over the voters that were found.
    row_weights_ : float64 array (P, n)
        The dual solution of each program, with a sum of one; 0 for rows with a margin above rho.

    Notes
    -----
    The soft margin has one maximum, but several votes may reach it. Which of them is found follows the order of the
    categories' names, in which voters and rows join the program; other names give the same `soft_margin_`. From 2,000
    different rows on the rounding of sums, which differs between kinds of processors, may decide, too.

    References
    ----------
    .. [1] A. Demiriz, K. Bennett, J. Shawe-Taylor (2002). Linear programming boosting via column generation. Machine
       Learning 46.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import LPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LPBoostClassifier(nu=0.1).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.93, bool(model.duality_gap_[0] < 1e-6)
    (True, True)
    """

    _voter_parameter = "dictionary"
    voter_kinds: ClassVar[tuple[str, ...] | None] = ("forest", "estimators", "signed")
    stored_attributes: ClassVar[tuple[str, ...]] = (
        *("rho_", "soft_margin_", "duality_gap_", "row_weights_", "temperature_"),
    )

    nu: float = parameter(
        0.5,
        """At most this share of the weight of the training rows has a margin below rho. The smaller, the more the
        hardest rows count; where every vote misclassifies more than about nu / 2 of the rows, the largest soft margin
        is 0, and a larger nu is needed. 1 maximises the mean margin, for which a single voter is best.""",
        SHARE,
    )
    _: KW_ONLY
    dictionary: Any = dictionary_parameter(
        """"stumps": stumps at `n_thresholds` thresholds a column, or as many categories, and their complements.
        "all_stumps": a stump between any two bins, any subset of categories, and their complements. "trees": native
        trees. Trees, or a scikit-learn classifier whose ``fit`` takes ``sample_weight``, are trained in each round on
        weighted rows. Only of stumps is the voter with the largest edge sure to be found."""
    )
    n_estimators: int = shared.program_n_estimators("most")
    n_thresholds: int = shared.n_thresholds('For "stumps".')
    thresholds: Literal["quantile", "even"] = shared.thresholds('For "stumps".')
    max_depth: int | None = shared.max_depth(2, 'For "trees".')
    max_leaf_nodes: int | None = shared.max_leaf_nodes('For "trees".')
    min_samples_leaf: int = shared.min_samples_leaf(more='For "trees". Equal rows count once.')
    max_bins: int = shared.max_bins('For "all_stumps" and "trees".')
    tol: float = parameter(
        1e-6,
        """A voter joins while its edge exceeds the value of the program by more than this, which bounds the distance of
        the soft margin from its maximum.""",
        Interval(Real, 0.0, 1.0, closed="left"),
    )
    categorical_features: Any = shared.categorical_features()
    random_state: Any = shared.random_state("a given classifier")
    n_jobs: int | None = shared.n_jobs()

    def _most_tasks(self, X: Any) -> int:
        return self.n_estimators

    def _train(self, rows: Rows, tasks: FitTasks) -> dict[str, Any]:
        random = tasks.random(rows)
        run = ClassRuns.of(self, LPRun, rows, random)
        if tasks.record is not None:
            run.keep(tasks.record)
        run_rounds(run, self.n_estimators, tasks, lambda: self._fitted(run, tasks.sample_weight))
        fitted = self._fitted(run, tasks.sample_weight)
        self._warn_of_gap(run, fitted)
        return self._finished(fitted, rows, None, random, tasks)

    def _pool(self, rows: Rows, seed: int) -> DistinctPool:
        if not isinstance(self.dictionary, str):
            return classifiers_on(rows, voter_template("dictionary", self.dictionary, self.table_), seed)
        voters = DICTIONARIES[self.dictionary](rows, self.table_, self, n_threads(self.n_jobs))
        distinct, binned = DistinctRows.in_bins(voters.binned, rows)
        return voters.pool(binned), distinct

    def _fitted(self, run: ClassRuns, sample_weight: ArrayLike | None) -> dict[str, Any]:
        solutions = [one.solution for one in run.runs]
        by_class = [one.weights_after(run.n_rounds) for one in run.runs]
        used = [np.flatnonzero(weights) for weights in by_class]
        voters = run.voters(np.repeat(np.arange(len(used)), [len(some) for some in used]), np.concatenate(used))
        weights = np.concatenate([weights[some] for weights, some in zip(by_class, used, strict=True)])
        # each program's weights sum to one, so that its score is a difference of shares; n rows make no class certain
        link = Truncated(floor=0.5 / (run.count + len(self.classes_)))
        row_weights = np.stack([run.rows.shared_out(solution.row_weights) for solution in solutions])
        counted = nonzero_sample_weights(sample_weight, row_weights.shape[1])
        among_all = np.zeros((len(solutions), len(counted)))
        among_all[:, counted] = row_weights
        return {
            "committee_": Committee(voters, weights, self.classes_, link, self.table_),
            "rho_": np.array([solution.rho for solution in solutions]),
            "soft_margin_": np.array([solution.value for solution in solutions]),
            "duality_gap_": np.array([one.gap for one in run.runs]),
            "row_weights_": among_all,
        }

    def _warn_of_gap(self, run: ClassRuns, fitted: dict[str, Any]) -> None:
        least, gap = fitted["soft_margin_"].min(), fitted["duality_gap_"].max()
        if any(one.cut_short for one in run.runs):
            warn_user(
                f"n_estimators={self.n_estimators} ended the run: the soft margin is {least:.3g}, and another vote of "
                f"the voters searched may have up to {gap:.3g} more. Raise n_estimators, or tol.",
                ConvergenceWarning,
            )
        elif not run.has_next() and least <= self.tol:
            too_small, remedy = f"nu={self.nu} is too small for these rows: no", "Raise nu, or choose"
            if self.nu == 1.0:
                too_small, remedy = "No", "Choose"
            k = int(fitted["soft_margin_"].argmin())
            of = "" if len(run.runs) == 1 else f" for class {self.classes_.tolist()[k]!r} against the rest"
            warn_user(
                f"{too_small} vote of the voters found has a soft margin above {self.tol:g}{of}, and the fitted vote "
                f"may be useless. {remedy} stronger voters.",
            )


class LPRun(VotingRun):
    solution: SoftMarginSolution

    def __init__(self, model: Any, pool: Pool, rows: DistinctRows, positive: int, count: float) -> None:
        super().__init__(model, pool, rows, positive, count)
        self.tol: float = model.tol
        n_stumps = len(pool.dictionary) if isinstance(pool, StumpPool) else self.most + 1
        many = len(rows.weights) >= MANY_ROWS and n_stumps <= self.most
        program = ManyRows if many else SoftMarginLP
        self.program: SoftMarginLP | ManyRows = program(rows.weights, model.nu)
        self._doubles = many and 2 * n_stumps <= self.most  # all may join, and rounds of many voters are fewer
        self._known: set[Hashable] = set()
        self._bound = np.inf
        # the first row weights are feasible for any nu, so that their largest edge is a bound
        self._u, self._sum, self._n_weights = self.share, np.zeros(len(self.y)), 0
        self._next = self._search(-np.inf)

    @property
    def gap(self) -> float:
        return max(0.0, self._bound - self.solution.value, self.solution.gap)

    def _join(self, signed: NDArray[np.int8]) -> None:
        self.program.add_voters(signed.T)
        self.solution = self.program.solve()
        self._u = self.solution.row_weights
        self.least_edge: float = self.solution.bound + self.tol

    def _search(self, least: float) -> list[Candidate]:
        at_once = max(VOTERS_AT_ONCE, len(self.voters)) if self._doubles else VOTERS_AT_ONCE
        most = max(1, min(at_once, self.most - len(self.voters)))
        self._sum, self._n_weights = self._sum + self._u, self._n_weights + 1
        centre = self._sum / self._n_weights
        largest, found = self.pool.largest(self._u * self.y, centre * self.y, least, most, self._known)
        # a voter that no list holds may come later, and beat an earlier round's largest edge
        self._bound = min(self._bound, largest) if self.pool.exhaustive else largest
        self._known.update(one.key for one in found)
        return found

    def weights_after(self, n_rounds: int) -> F64:
        return self.solution.weights  # of the last round: earlier solutions are not kept


class ArcGVRun(VotingRun):
    """Rounds of arc-gv for one class against the rest. Equation: arc-gv (docs/theory.md)."""

    # `bound` is the least of the largest edges of all rounds: if under some row weights no voter has a larger edge,
    # no vote has a larger minimum margin

    def __init__(self, model: Any, pool: Pool, rows: DistinctRows, positive: int, count: float) -> None:
        super().__init__(model, pool, rows, positive, count)
        self.edges: list[float] = []
        self.minimum_margins: list[float] = []
        self.alphas: list[float] = []
        self.bound = self._edge = np.inf
        self._margins = np.zeros(len(self.y))
        self._u = self.share

    def _search(self, least: float) -> list[Candidate]:
        signed = self._u * self.y
        edge, found = self.pool.largest(signed, signed, least, 1, set())
        self.bound = min(self.bound, edge)
        self._edge = edge
        return found

    def _join(self, signed: NDArray[np.int8]) -> None:
        votes = signed[0]
        reached = max(0.0, self.minimum_margins[-1]) if self.minimum_margins else 0.0
        self.edges.append(self._edge)
        self.useless: bool = self._edge <= NO_EDGE
        if self.useless or (votes > 0).all():
            self.alphas.append(1.0 if self.useless else np.inf)
            self.minimum_margins.append(float(votes.min()))
            self.finished = True
            return
        self.alphas.append(float(np.arctanh(min(self._edge, 1.0 - NO_EDGE)) - np.arctanh(reached)))
        self._margins += self.alphas[-1] * votes
        lowest = float(self._margins.min())
        self.minimum_margins.append(lowest / sum(self.alphas))
        self.least_edge: float = max(0.0, self.minimum_margins[-1]) + NO_EDGE
        u = self.share * np.exp(lowest - self._margins)
        self._u = u / u.sum()

    def weights_after(self, n_rounds: int) -> F64:
        alpha = np.array(self.alphas[:n_rounds])
        perfect = np.isinf(alpha)
        weights: F64 = perfect.astype(np.float64) if perfect.any() else alpha / alpha.sum()
        return weights


@with_parameters
class ArcGVClassifier(MarginBoosting):
    """Arc-gv (Breiman 1999): boosting towards the largest minimum margin.

    As in AdaBoost a row's weight u_i is proportional to exp(-y_i F(x_i)), F = sum_t alpha_t h_t. The step depends on
    the edge of the voter, g_t = sum_i u_i y_i h_t(x_i), and on the least normalised margin so far,
    r_t = max(0, min_i y_i F(x_i) / sum_s alpha_s):

        alpha_t = 1/2 ln((1 + g_t) / (1 - g_t)) - 1/2 ln((1 + r_t) / (1 - r_t)).

    While some training row is misclassified, r_t = 0, and this is AdaBoost. From then on the steps are shorter. If
    every voter has the largest edge of all, the least margin tends to the largest of any vote over the dictionary [1]_
    [2]_, the value of LPBoost's program without slack; AdaBoost may stay at half of that. A large minimum margin need
    not mean a small test error [3]_, as noisy rows count as much as any.

    With more than two classes each has a vote of its own against the rest; the largest mean vote is elected.

    Attributes
    ----------
    committee_ : Committee
        The voters h_t; weights alpha_t / sum_s alpha_s, for each class where there are more than two.
    edges_ : float64 array (P, rounds)
        g_t; P = 1 for two classes, else n_classes. NaN after the last round of a class.
    minimum_margins_ : float64 array (P, rounds)
        The least normalised margin of the training rows after each round; after the end that of the last round.
    estimator_weights_ : float64 array (P, rounds)
        alpha_t; infinite for a voter that is right on all rows, which is then the whole vote; 1 for the only voter if
        it does not beat chance; 0 after the end.
    duality_gap_ : float64 array (P,)
        The least of the rounds' largest edges, minus the minimum margin: upper bound on the gain of any other vote
        over the stumps. NaN for given classifiers, deeper trees and ``min_samples_leaf > 1``, whose largest edge is
        unknown.

    Warns
    -----
    UserWarning
        If no voter beats chance.

    References
    ----------
    .. [1] L. Breiman (1999). Prediction games and arcing algorithms. Neural Computation 11.
    .. [2] R. Meir, G. Rätsch (2003). An introduction to boosting and leveraging. Advanced Lectures on Machine
       Learning, LNAI 2600.
    .. [3] L. Reyzin, R. Schapire (2006). How boosting the margin can also boost classifier complexity. ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import ArcGVClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ArcGVClassifier(200).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.95, bool(model.minimum_margins_[0, -1] > 0.05)
    (True, True)
    """

    _run_type = ArcGVRun
    _share_of_rounds = 1 / 2
    stored_attributes: ClassVar[tuple[str, ...]] = (
        *("edges_", "minimum_margins_", "estimator_weights_", "duality_gap_"),
        *MarginBoosting.stored_attributes,
    )

    n_estimators: int = shared.n_estimators(
        100, "a voter is perfect, none has an edge above the margin, or early stopping ends the run"
    )
    _: KW_ONLY
    max_depth: int | None = depth_of_voters("the one with the largest edge, so that the limit is the largest margin")

    def _figures(self, runs: Sequence[ArcGVRun], n_rounds: int) -> dict[str, Any]:
        margins = by_round([run.minimum_margins for run in runs], n_rounds)
        bound = np.array([run.bound if run.pool.exhaustive else np.nan for run in runs])
        return {
            "edges_": by_round([run.edges for run in runs], n_rounds, np.nan),
            "minimum_margins_": margins,
            "estimator_weights_": by_round([run.alphas for run in runs], n_rounds, 0.0),
            "duality_gap_": np.maximum(0.0, bound - margins[:, -1]),
        }
