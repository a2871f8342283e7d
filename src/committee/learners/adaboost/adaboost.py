"""AdaBoost: discrete, confidence-rated and abstaining votes; any number of classes."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.data.rows import Rows
from committee.learners.adaboost.emphasis import RULES, Round, is_chance, samme_factors, samme_step, samme_weight
from committee.learners.base import shared_parameters as shared
from committee.learners.base.boosting import Boosting, BoostingRun
from committee.learners.base.calibration import CalibratedClassifier
from committee.learners.base.parameters import parameter, with_parameters
from committee.learners.base.stored_learner import BaseEstimator
from committee.vote.committee import Committee
from committee.vote.links.probability import Link, Softmax
from committee.voters.growing import GrowthLimits, forest_of, grower
from committee.voters.protocol import Voters

if TYPE_CHECKING:
    from committee.learners.base.early_stopping import EarlyStopping, HeldOutVotes, StagedLoss
    from committee.learners.base.fit_record import FitRecord, RecordedGrower


@with_parameters
class AdaBoostClassifier(Boosting, CalibratedClassifier):
    """AdaBoost on native trees, or on any classifier that takes weights.

    Each round grows a voter h_t on weighted rows, gives it a weight alpha_t, and makes the rows it gets wrong
    heavier; the committee is F(x) = sum_t alpha_t h_t(x). The table is binned once; a round is one pass over
    the bins and one over the weights.

    Attributes
    ----------
    committee_ : Committee
        The voters h_t and weights alpha_t.
    estimator_errors_ : float64 array (rounds,)
        Weighted error of each voter under the weights it was trained on.
    normalisers_ : float64 array (rounds,)
        Z_t, what the weights of round t sum to after its update; the training error of discrete and
        confidence-rated committees of two classes is at most their product.
    validation_errors_ : float64 array or None
        Held-out error after each round, when early stopping is on.

    References
    ----------
    .. [1] Y. Freund, R. Schapire (1997). A decision-theoretic generalization of on-line learning and an
       application to boosting. JCSS 55.
    .. [2] R. Schapire, Y. Singer (1999). Improved boosting algorithms using confidence-rated predictions.
       Machine Learning 37.
    .. [3] J. Zhu, H. Zou, S. Rosset, T. Hastie (2009). Multi-class AdaBoost. Statistics and Its Interface 2.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=100, vote="confidence").fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.95
    True
    """

    voter_kinds: ClassVar[tuple[str, ...] | None] = ("forest", "estimators")
    stored_attributes: ClassVar[tuple[str, ...]] = (
        "estimator_errors_",
        "normalisers_",
        "validation_errors_",
        "validation_scores_",
        "best_iteration_",
        "temperature_",
    )

    n_estimators: int = shared.n_estimators(50, "a voter is perfect, none beats chance, or early stopping says so")
    _: KW_ONLY
    max_depth: int | None = shared.max_depth(1, "1: stumps.")
    max_leaf_nodes: int | None = shared.max_leaf_nodes()
    learning_rate: float = shared.learning_rate(1.0)
    vote: Literal["discrete", "confidence", "abstaining"] = parameter(
        "discrete",
        """
        "discrete": a leaf votes for its heaviest class, alpha = ln((1 - err) / err) + ln(K - 1) (SAMME). "confidence":
        a leaf votes c = 1/2 ln((W_+ + eps) / (W_- + eps)), splits have the least Z = 2 sum sqrt(W_+ W_-); with more
        than two classes AdaBoost.MH. "abstaining": stumps whose sides may abstain. eps = 1 / (2 n).
        """,
    )
    voter: Any = shared.voter()
    criterion: Literal["gini", "entropy", "error"] = parameter(
        "gini",
        """Split criterion of discrete trees; the other votes bring their own. "error": least weighted error, which for
        stumps finds the best one.""",
    )
    min_samples_leaf: int = shared.min_samples_leaf()
    min_weight_leaf: float = shared.min_weight_leaf("current weight")
    max_features: int | float | str | None = shared.max_features()
    max_bins: int = shared.max_bins()
    categorical_features: Any = shared.categorical_features()
    random_state: Any = shared.random_state("the held-out rows and the features of `max_features`")

    _voter_parameter = "voter"

    @property
    def _takes_sparse(self) -> bool:
        return self.voter is None

    def _check_parameters(self) -> None:
        if self.vote == "abstaining" and (self.max_depth != 1 or self.max_leaf_nodes not in (None, 2)):
            raise ValueError(
                f"vote='abstaining' boosts stumps; max_depth is {self.max_depth!r} and max_leaf_nodes is "
                f"{self.max_leaf_nodes!r}. Set max_depth=1 and max_leaf_nodes=None."
            )
        if self.voter is not None and self.vote != "discrete":
            raise ValueError(f"vote={self.vote!r} needs the native trees; set voter=None, or vote='discrete'.")
        super()._check_parameters()

    def _run(self, rows: Rows, random: np.random.RandomState) -> AdaBoostRun:
        seed = int(random.randint(2**31 - 1))
        if self.voter is None:
            return TreeRun(self, rows, seed)
        from committee.learners.base.user_voter import classifier_template

        return VoterRun(
            classifier_template("voter", self.voter, self.table_), rows, self.classes_, self.learning_rate, seed
        )

    def _early_stopping(self, run: AdaBoostRun, held_out: Rows) -> EarlyStopping:
        from committee.learners.base.early_stopping import EarlyStopping

        return EarlyStopping(self._added_votes(run, held_out), self.n_iter_no_change)

    def _held_out_votes(self, run: AdaBoostRun, held_out: Rows) -> HeldOutVotes:
        from committee.learners.base.early_stopping import HeldOutVotes

        def total(t: int) -> float:
            return float(sum(abs(step.alpha) for step in run.steps[:t]))

        names_classes = self.vote == "discrete"
        return HeldOutVotes(self._added_votes(run, held_out).after, total, run.link, names_classes)

    @staticmethod
    def _added_votes(run: AdaBoostRun, held_out: Rows) -> StagedLoss:
        """Votes of the rounds on held-out rows, and the error of their sum."""
        from committee.learners.base.early_stopping import StagedLoss, weighted_error

        def votes(t: int) -> F64:
            return run.voters(t - 1, t).tally(held_out.cells, np.array([run.steps[t - 1].alpha]))

        return StagedLoss(votes, lambda F: weighted_error(F, held_out))

    def _fitted(self, run: AdaBoostRun, n_rounds: int, losses: F64 | None) -> dict[str, Any]:
        steps = run.steps[:n_rounds]
        alpha = np.array([step.alpha for step in steps])
        return {
            "committee_": Committee(run.voters(0, n_rounds), alpha, self.classes_, run.link, self.table_),
            "estimator_errors_": np.array([step.error for step in steps]),
            "normalisers_": np.array([step.normaliser for step in steps]),
            "validation_errors_": None if losses is None else losses[:n_rounds],
        }

    def _warn(self, run: AdaBoostRun, fitted: dict[str, Any]) -> None:
        if run.steps[0].useless:
            warnings.warn(
                f"No voter beats chance (weighted error {run.steps[0].error:.3g}): the committee is a single voter "
                "that says no more than the class frequencies.",
                stacklevel=4,
            )


class AdaBoostRun(BoostingRun):
    """Rounds that train a voter, give it a weight, and weigh the rows anew.

    Attributes
    ----------
    steps : list of Round
        The rounds so far.
    """

    link: Link

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.row_weights: F64 = rows.weights / rows.weights.sum()
        self.steps: list[Round] = []

    def has_next(self) -> bool:
        """Train a voter, unless the last was perfect; one no better than chance joins only if it is the first."""
        if self.steps and (self.steps[-1].perfect or self.steps[-1].useless):
            return False
        self._next = self._train()
        return not (self._next.useless and self.steps)

    def advance(self) -> None:
        """Let the voter join."""
        self.steps.append(self._next)
        self.n_rounds += 1

    @abstractmethod
    def _train(self) -> Round:
        """Train a voter on rows weighed by the last round."""

    @abstractmethod
    def voters(self, first: int, end: int) -> Voters:
        """Return the voters from `first` to `end`."""


class TreeRun(AdaBoostRun):
    """The rounds on native trees."""

    def __init__(self, model: AdaBoostClassifier, rows: Rows, seed: int) -> None:
        super().__init__(rows)
        n_classes = len(model.classes_)
        self.seed: int = seed
        self.n_classes: int = n_classes
        self.threads: int = n_threads(model.n_jobs)
        self.rule = RULES[model.vote](n_classes, rows.count, model.learning_rate)
        self.link = self.rule.link
        if self.rule.one_versus_rest:
            self.row_weights = np.repeat(self.row_weights[:, None] / n_classes, n_classes, axis=1)
        binned = rows.binned(model.table_, model.max_bins, self.threads)
        self.binned = binned
        criterion = self.rule.criterion or model.criterion
        self.grower: _core.Grower | RecordedGrower = grower(
            binned, criterion, n_classes, GrowthLimits.of(model), self.threads
        )
        self.trees: list[_core.GrownTree] = []

    def keep(self, record: FitRecord) -> None:
        """As `BoostingRun.keep`: the trees."""
        from committee.learners.base.fit_record import RecordedGrower

        self.grower = RecordedGrower(self.grower, self.binned, record)

    def _train(self) -> Round:
        labels = self.rows.labels
        if self.steps:
            last = self.trees[-1]
            _core.scale_rows(self.row_weights, last.leaf_of_row, labels, self.steps[-1].factor, self.threads)
            last.forget_rows()
        tree = self.grower.grow_classes(labels, self.row_weights, None, self.seed + len(self.trees))
        self.trees.append(tree)
        return self.rule.round(tree)

    def voters(self, first: int, end: int) -> Voters:
        """Return the voters from `first` to `end`."""
        trees, steps = self.trees[first:end], self.steps[first:end]
        if self.steps[0].label is not None:
            return forest_of(
                trees, self.binned.bins, self.n_classes, label=[s.label for s in steps if s.label is not None]
            )
        return forest_of(trees, self.binned.bins, self.n_classes, value=[s.value for s in steps if s.value is not None])


class VoterRun(AdaBoostRun):
    """The rounds on a user's classifier: SAMME by its predictions."""

    link = Softmax()

    def __init__(
        self, voter: BaseEstimator, rows: Rows, classes: NDArray[Any], learning_rate: float, seed: int
    ) -> None:
        from committee.learners.pools.classifier_pool import Clones

        super().__init__(rows)
        self.classes: NDArray[Any] = classes
        self.y: NDArray[Any] = classes[rows.labels]
        self.learning_rate: float = learning_rate
        self.clones: Clones = Clones(voter, np.random.RandomState(seed))
        self.estimators: list[Any] = []

    def _train(self) -> Round:  # by the rules of `Discrete`
        n_classes, weights = len(self.classes), self.row_weights
        voter = self.clones.trained(self.rows.dense, self.y, weights)
        wrong = voter.predict(self.rows.dense) != self.y
        error = float(weights[wrong].sum())
        useless = is_chance(error, n_classes)
        eps = 0.5 / self.rows.count
        alpha = 1.0 if useless else samme_step(self.learning_rate, samme_weight(error, eps, n_classes))
        weights *= np.where(wrong, *reversed(samme_factors(alpha, n_classes)))
        Z = float(weights.sum())
        weights /= Z
        self.estimators.append(voter)
        return Round(alpha, np.empty((0, n_classes)), error, Z, useless=useless)

    def voters(self, first: int, end: int) -> Voters:
        """Return the voters from `first` to `end`."""
        from committee.voters.estimators import EstimatorVoters

        return EstimatorVoters(self.estimators[first:end], self.classes)
