"""LPBoost: the largest soft margin that any vote over a dictionary has, by column generation."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import Interval

from committee.data.parallel import n_threads
from committee.data.rows import Rows
from committee.learners.base import shared_parameters as shared
from committee.learners.base.estimator import CommitteeClassifier
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import SHARE, parameter, with_parameters
from committee.learners.margin_boosting.margin_run import MarginRun
from committee.learners.pools.dictionaries import check_voter, stumps_binned, trees_binned
from committee.learners.pools.edge_sources import ClassifierEdges, EdgeSource, StumpEdges, TreeEdges
from committee.vote.committee import Committee
from committee.vote.links.probability import Truncated
from committee.voters.growing import GrowthLimits

if TYPE_CHECKING:
    from sklearn.utils import Tags

F64 = NDArray[np.float64]


@with_parameters
class LPBoostClassifier(CommitteeClassifier):
    """The vote with the largest soft margin, by linear programming and column generation.

    Of all weighted votes over a dictionary of voters h_j this one has

        max  rho - 1 / (nu n) sum_i xi_i   s.t.  y_i sum_j alpha_j h_j(x_i) >= rho - xi_i,  sum_j alpha_j = 1,

    with alpha, xi >= 0 [1]_: the mean of the lowest margins, a share nu of all, is as large as it can be. The dual
    solution weighs the rows; the voters with the largest edges under these weights join the program; and when no voter
    has an edge above the dual value, no voter of the whole dictionary could raise the margin, and the run ends. With
    more than two classes each is told from the rest by a program of its own.

    Attributes
    ----------
    committee_ : Committee
        The voters of positive weight; weights add up to one, for each class where there are more than two.
    classes_ : array (n_classes,)
    rho_ : float64 array (P,)
        The margin of each program; P = 1 for two classes, else n_classes.
    soft_margin_ : float64 array (P,)
        What is maximised: rho less the mean shortfall of the rows below it.
    duality_gap_ : float64 array (P,)
        The largest edge of any voter, less `soft_margin_`: what another vote over the dictionary could gain at most.
        For trees and classifiers, over the voters that were found.
    row_weights_ : float64 array (P, n)
        The dual solutions: which rows decide. Each adds up to one; 0 for rows with a margin above rho.
    table_ : TableSchema
        What the columns are.

    Raises
    ------
    sklearn.utils._param_validation.InvalidParameterError
        At `fit`, naming the parameter, its value and its range.

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

    _stored_attributes: ClassVar[tuple[str, ...]] = ("rho_", "soft_margin_", "duality_gap_", "row_weights_")

    nu: float = parameter(
        0.5,
        """In (0, 1]. At most this share of the weight of the training rows has a margin below rho. The smaller, the
        more the hardest rows decide; where voters err on more than about nu / 2 of the rows together, the largest
        margin is 0 and a larger nu is needed. 1 is the mean margin, which a single voter makes largest.""",
        SHARE,
    )
    _: KW_ONLY
    dictionary: Any = shared.dictionary(
        """"stumps": `n_thresholds` stumps a column, and their complements. "all_stumps": a stump between any two bins,
        any subset of categories, and their complements. "trees": native trees grown on the rows as they are weighted. A
        scikit-learn classifier whose ``fit`` takes ``sample_weight`` is trained on the rows as they are weighted. Only
        of stumps is the voter with the largest edge sure to be found."""
    )
    n_estimators: int = shared.program_n_estimators("most")
    n_thresholds: int = shared.n_thresholds('For "stumps".')
    thresholds: Literal["quantile", "even"] = shared.thresholds('For "stumps".')
    max_depth: int | None = shared.max_depth(2, 'For "trees".')
    max_leaf_nodes: int | None = shared.max_leaf_nodes()
    min_samples_leaf: int = shared.min_samples_leaf(more="Rows that look the same count once.")
    max_bins: int = shared.max_bins('For "all_stumps" and "trees".')
    tol: float = parameter(
        1e-6,
        """A voter joins while its edge exceeds the value of the program by more than this: what the soft margin of the
        result is at most below the largest.""",
        Interval(Real, 0.0, 1.0, closed="left"),
    )
    categorical_features: Any = shared.categorical_features()
    random_state: Any = shared.random_state("a given classifier")
    n_jobs: int | None = shared.n_jobs()

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Generate voters until none can raise the margin.

        Parameters
        ----------
        X : table or array-like (n, p)
            Training rows; NaN is a value of its own.
        y : array-like (n,)
            Class labels.
        sample_weight : array-like (n,), default=None
            Row weights; 0 means absent, k means repeated k times.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If `y` holds fewer than two classes, no voter can be made of the columns, a column holds infinity or what
            can be no feature, or a given classifier takes no row weights.

        Warns
        -----
        ConvergenceWarning
            If `n_estimators` ends the run before the margin is the largest.
        """
        tasks = FitTasks(self, X, y, sample_weight, self.n_estimators)
        check_voter(self.dictionary)
        rows = self._rows(X, y, sample_weight)
        given = np.asarray(1.0 if sample_weight is None else sample_weight, dtype=np.float64)
        kept = given > 0.0 if given.ndim else slice(None)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        source = self._source(rows, seed)
        K = len(self.classes_)
        positives = [1] if K == 2 else range(K)
        runs = [MarginRun(source, k, self.nu, self.n_estimators, self.tol) for k in positives]
        n_given = len(rows) if isinstance(kept, slice) else len(kept)
        tasks.begin()
        while not all(run.finished for run in runs):
            ended = tasks.part("round")
            for run in runs:
                run.round()
            if ended(lambda: self._state(source, runs, kept, n_given, rows.count)):
                break
        state = self._state(source, runs, kept, n_given, rows.count)
        for name, value in state.items():
            setattr(self, name, value)
        self._warn_of_what_is_left(runs)
        tasks.end(lambda: state)
        return self

    def _source(self, rows: Rows, seed: int) -> EdgeSource:
        """Where the voters come from that the parameters ask for."""
        threads = n_threads(self.n_jobs)
        if not isinstance(self.dictionary, str):
            return ClassifierEdges(self._member("dictionary", self.dictionary), rows, seed)
        if self.dictionary == "trees":
            binned = trees_binned(rows, self.table_, self.max_bins, threads)
            limits = GrowthLimits(self.max_depth, self.max_leaf_nodes, self.min_samples_leaf)
            return TreeEdges(rows, binned, limits, threads)
        which: Literal["stumps", "all_stumps"] = "stumps" if self.dictionary == "stumps" else "all_stumps"
        binned, stumps = stumps_binned(
            rows, self.table_, which, self.n_thresholds, self.thresholds, self.max_bins, threads
        )
        return StumpEdges(rows, binned, stumps, threads)

    def _state(
        self,
        source: EdgeSource,
        runs: list[MarginRun],
        kept: slice | NDArray[np.bool_],
        n_given: int,
        count: float,
    ) -> dict[str, Any]:
        """Fitted attributes as of now."""
        parts = [run.solution.weights for run in runs]
        used = [np.flatnonzero(weights) for weights in parts]
        found = [run.voters[j] for run, some in zip(runs, used, strict=True) for j in some.tolist()]
        output = np.repeat(np.arange(len(runs)), [len(some) for some in used])
        weights = np.concatenate([weights[some] for weights, some in zip(parts, used, strict=True)])
        # each program's weights sum to one, so that its score is a difference of shares of the vote; none is certain
        link = Truncated(floor=0.5 / (count + len(self.classes_)))
        voters = source.plant(found, None if len(runs) == 1 else output, len(self.classes_))
        row_weights = np.zeros((len(runs), n_given))
        row_weights[:, kept] = [source.of_rows(run.solution.row_weights) for run in runs]
        return {
            "classes_": self.classes_,
            "table_": self.table_,
            "n_features_in_": self.n_features_in_,
            "committee_": Committee(voters, weights, self.classes_, link, self.table_),
            "rho_": np.array([run.solution.rho for run in runs]),
            "soft_margin_": np.array([run.solution.value for run in runs]),
            "duality_gap_": np.array([run.gap for run in runs]),
            "row_weights_": row_weights,
        }

    def _warn_of_what_is_left(self, runs: list[MarginRun]) -> None:
        """Say that a run ended before it was done, or that it found nothing to say."""
        if any(run.cut_short for run in runs):
            warnings.warn(
                f"n_estimators={self.n_estimators} ended the run: the soft margin is {self.soft_margin_.min():.3g}, "
                f"and up to {self.duality_gap_.max():.3g} below the largest. Raise n_estimators, or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        elif all(run.finished for run in runs) and self.soft_margin_.min() <= self.tol:
            warnings.warn(
                f"nu={self.nu} is too small for these rows: the voters found have no vote with a soft margin above 0, "
                "and this one may say nothing. Raise nu, or choose stronger voters.",
                stacklevel=3,
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if hasattr(self.dictionary, "__sklearn_tags__"):
            tags.input_tags.allow_nan = get_tags(self.dictionary).input_tags.allow_nan
        return tags
