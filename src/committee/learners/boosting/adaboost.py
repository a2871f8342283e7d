"""AdaBoost: discrete, confidence-rated and abstaining votes; any number of classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from committee import _core
from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.data.rows import Rows
from committee.data.text import warn_user
from committee.learners.base import shared_parameters as shared
from committee.learners.base.boosting import Boosting, BoostingRun
from committee.learners.base.calibration import BoostedCalibration
from committee.learners.base.early_stopping import EarlyStopping, HeldOutVotes, StagedLoss, weighted_error
from committee.learners.base.estimator import voter_template
from committee.learners.base.fit_record import FitRecord, RecordedGrower
from committee.learners.base.parameters import parameter, with_parameters
from committee.vote.committee import Committee
from committee.vote.links.probability import Link, Logistic, Softmax
from committee.voters.growing import GrowthLimits, forest_from_grown, majority_class, tree_grower
from committee.voters.protocol import Voters

MAX_STEP = 600.0  # largest ln(factor of wrong rows / factor of right rows); exp(600) is still a float64


@with_parameters
class AdaBoostClassifier(Boosting, BoostedCalibration):
    """AdaBoost on native trees, or on any classifier that takes weights.

    Each round fits a voter h_t to weighted rows, gives it a weight alpha_t, and raises the weights of the rows that
    it misclassifies. The committee is F(x) = sum_t alpha_t h_t(x).

    Attributes
    ----------
    committee_ : Committee
        The voters h_t and weights alpha_t.
    estimator_errors_ : float64 array (rounds,)
        Weighted error of each voter under the weights it was trained on. Abstentions are no errors, but together
        count as half a row if less is wrong; with AdaBoost.MH the error is that of "class k or not", over all k.
    normalisers_ : float64 array (rounds,)
        Z_t, the sum of the row weights that round t has updated, before they are normalised. With two classes the
        training error is at most the product of the Z_t.
    validation_errors_ : float64 array or None
        Held-out error after each round that is kept; None without held-out rows, or with `scoring`.

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

    first_parameters: ClassVar[tuple[str, ...]] = (
        *("max_depth", "learning_rate", "vote", "early_stopping", "random_state"),
    )
    voter_kinds: ClassVar[tuple[str, ...] | None] = ("forest", "estimators")
    stored_attributes: ClassVar[tuple[str, ...]] = (
        *("estimator_errors_", "normalisers_", "validation_errors_", "validation_scores_", "evals_result_"),
        *("best_iteration_", "temperature_"),
    )

    n_estimators: int = shared.n_estimators(50, "a voter is perfect, none beats chance, or early stopping ends the run")
    _: KW_ONLY
    max_depth: int | None = shared.max_depth(1, "1: stumps.")
    max_leaf_nodes: int | None = shared.max_leaf_nodes()
    learning_rate: float = shared.learning_rate(1.0)
    vote: Literal["auto", "discrete", "confidence", "abstaining"] = parameter(
        "auto",
        """"auto": "discrete" for two classes and for any `voter`, else "confidence". "discrete": a leaf votes for its
        heaviest class, alpha = ln((1 - err) / err) + ln(K - 1) (SAMME). "confidence": a leaf votes c = 1/2 ln((W_+ +
        eps) / (W_- + eps)), splits have the least Z = 2 sum sqrt(W_+ W_-); with K > 2 classes AdaBoost.MH.
        "abstaining": stumps whose sides may abstain. eps = 1 / (2 n) for n rows, with AdaBoost.MH 1 / (2 n K).""",
    )
    voter: Any = shared.voter()
    criterion: Literal["gini", "entropy", "error"] = parameter(
        "gini",
        """Split criterion of discrete trees; the other votes have their own. "error": least weighted error, which for
        stumps finds the best one.""",
    )
    min_samples_leaf: int = shared.min_samples_leaf()
    min_weight_leaf: float = shared.min_weight_leaf("current weight")
    max_features: int | float | str | None = shared.max_features()
    feature_weights: Any = shared.feature_weights(of="`max_features` draws")
    max_bins: int | Literal["auto"] = shared.max_bins_by_rows()
    categorical_features: Any = shared.categorical_features()
    random_state: Any = shared.random_state("the held-out rows, the features of `max_features` and a given `voter`")

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
        if self.voter is not None and self.vote not in ("auto", "discrete"):
            raise ValueError(f"vote={self.vote!r} needs the native trees; set voter=None, or vote='discrete'.")
        super()._check_parameters()

    @property
    def vote_(self) -> Literal["discrete", "confidence", "abstaining"]:
        """Vote of the fit: `vote`, or the choice of "auto"."""
        check_is_fitted(self, "classes_")
        if self.vote != "auto":
            return self.vote
        return "discrete" if self.voter is not None or len(self.classes_) < 3 else "confidence"

    def _n_rounds(self, committee: Committee) -> int:
        return committee.n_voters

    def _run(self, rows: Rows, random: np.random.RandomState) -> AdaBoostRun:
        seed = int(random.randint(2**31 - 1))
        return TreeRun(self, rows, seed) if self.voter is None else VoterRun(self, rows, seed)

    def _early_stopping(self, run: AdaBoostRun, held_out: Rows) -> EarlyStopping:
        return EarlyStopping(self._added_votes(run, held_out), self.n_iter_no_change)

    def _held_out_votes(self, run: AdaBoostRun, held_out: Rows) -> HeldOutVotes:
        def total_weight(t: int) -> float:
            return float(sum(abs(step.alpha) for step in run.steps[:t]))

        votes = self._added_votes(run, held_out).after
        return HeldOutVotes(votes, total_weight, run.link, names_classes=self.vote_ == "discrete")

    @staticmethod
    def _added_votes(run: AdaBoostRun, held_out: Rows) -> StagedLoss:
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
            stronger = "deeper trees (max_depth)" if self.voter is None else "another voter"
            warn_user(
                f"No voter beats chance: the first has a weighted error of {run.steps[0].error:.3g}, and is the whole "
                f"committee. Choose {'another vote' if self.vote_ == 'abstaining' else stronger}, or other columns.",
            )


# --- rounds -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Round:
    alpha: float
    factor: F64  # of a row's weight, by its leaf and class: (N, K), or (N, 2 K) for AdaBoost.MH
    error: float
    normaliser: float
    label: NDArray[np.int32] | None = None
    value: F64 | None = None
    useless: bool = False  # no better than chance: the voter should not join


class AdaBoostRun(BoostingRun):
    link: Link

    def __init__(self, model: AdaBoostClassifier, rows: Rows) -> None:
        self.rows: Rows = rows
        self.n_classes: int = len(model.classes_)
        self.row_weights: F64 = rows.weights / rows.weights.sum()
        self.steps: list[Round] = []

    def has_next(self) -> bool:
        # a perfect voter ends the run; one no better than chance joins only if it is the first
        if self.steps and (self.steps[-1].error <= 0.0 or self.steps[-1].useless):
            return False
        self._next = self._train()
        return not (self._next.useless and self.steps)

    def advance(self) -> None:
        self.steps.append(self._next)
        self.n_rounds += 1

    @abstractmethod
    def _train(self) -> Round: ...

    @abstractmethod
    def voters(self, first: int, end: int) -> Voters: ...


class TreeRun(AdaBoostRun):
    def __init__(self, model: AdaBoostClassifier, rows: Rows, seed: int) -> None:
        super().__init__(model, rows)
        self.seed: int = seed
        self.threads: int = n_threads(model.n_jobs)
        self.rule: Rule = RULES[model.vote_](self.n_classes, rows.count, model.learning_rate)
        self.link = self.rule.link
        if self.rule.one_versus_rest:
            self.row_weights = np.repeat(self.row_weights[:, None] / self.n_classes, self.n_classes, axis=1)
        self.binned = rows.binned(model.table_, model.max_bins, self.threads)
        self.grower: _core.Grower | RecordedGrower = tree_grower(
            self.binned, self.rule.criterion or model.criterion, self.n_classes, GrowthLimits.of(model), self.threads
        )
        self.trees: list[_core.GrownTree] = []

    def keep(self, record: FitRecord) -> None:
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
        steps = self.steps[first:end]
        names_classes = self.steps[0].label is not None
        votes: Any = {"label": [s.label for s in steps]} if names_classes else {"value": [s.value for s in steps]}
        return forest_from_grown(self.trees[first:end], self.binned.bins, self.n_classes, **votes)


class VoterRun(AdaBoostRun):
    link = Softmax()

    def __init__(self, model: AdaBoostClassifier, rows: Rows, seed: int) -> None:
        from committee.learners.boosting.pool import Clones

        super().__init__(model, rows)
        self.classes: NDArray[Any] = model.classes_
        self.y: NDArray[Any] = model.classes_[rows.labels]
        self.learning_rate: float = model.learning_rate
        voter = voter_template("voter", model.voter, model.table_)
        self.clones: Clones = Clones(voter, np.random.RandomState(seed))
        self.estimators: list[Any] = []

    def _train(self) -> Round:
        weights = self.row_weights
        voter = self.clones.trained(self.rows.dense, self.y, weights)
        wrong = voter.predict(self.rows.dense) != self.y
        error = float(weights[wrong].sum())
        useless = is_chance(error, self.n_classes)
        weight = samme_weight(error, 0.5 / self.rows.count, self.n_classes)
        alpha = 1.0 if useless else samme_step(self.learning_rate, weight)
        weights *= np.where(wrong, *reversed(samme_factors(alpha, self.n_classes)))
        Z = float(weights.sum())
        weights /= Z
        self.estimators.append(voter)
        return Round(alpha, np.empty((0, self.n_classes)), error, Z, useless=useless)

    def voters(self, first: int, end: int) -> Voters:
        from committee.voters.estimators import EstimatorVoters

        return EstimatorVoters(self.estimators[first:end], self.classes)


# --- votes, weights and updates of a round ----------------------------------------------------------------------------


def samme_weight(error: float, eps: float, n_classes: int) -> float:
    """Voter weight of SAMME. Equation: samme (docs/theory.md)."""
    error = error if error > 0.0 else eps
    return float(np.log((1.0 - error) / error) + np.log(n_classes - 1.0))


def samme_step(learning_rate: float, weight: float) -> float:
    return min(learning_rate * weight, MAX_STEP)


def samme_factors(alpha: float, n_classes: int) -> tuple[float, float]:
    """Return the weight factors of right and wrong rows."""
    # their quotient is exp(alpha); with these powers their weighted sum is the Z of the exponential loss
    K = n_classes
    return float(np.exp(-alpha * (K - 1) / K)), float(np.exp(alpha / K))


def is_chance(error: float, n_classes: int) -> bool:
    return error >= 1.0 - 1.0 / n_classes - 1e-12


class Rule(ABC):
    """Votes of the leaves, weight of the tree and factors of the row weights in a round."""

    link: Link = Softmax()
    criterion: _core.Criterion | None = None  # split criterion of the vote; None: the user's choice
    one_versus_rest = False

    def __init__(self, n_classes: int, count: float, learning_rate: float) -> None:
        self.n_classes: int = n_classes
        self.learning_rate: float = learning_rate
        self.eps: float = 0.5 / count
        self.numbers: NDArray[np.intp] = np.arange(n_classes)

    @abstractmethod
    def round(self, tree: _core.GrownTree) -> Round: ...


class Discrete(Rule):
    """SAMME (Zhu et al. 2009)."""

    def round(self, tree: _core.GrownTree) -> Round:
        inner = tree.feature >= 0
        W = tree.sums * ~inner[:, None]
        label = majority_class(W)
        label[inner] = -1
        is_right = label[:, None] == self.numbers
        total = float(np.add.reduce(W, axis=None))  # faster than `sum`, as is one buffer
        W[is_right] = 0.0
        error = float(np.add.reduce(W, axis=None)) / total
        useless = is_chance(error, self.n_classes)
        alpha = 1.0 if useless else samme_step(self.learning_rate, samme_weight(error, self.eps, self.n_classes))
        right, wrong = samme_factors(alpha, self.n_classes)
        Z = right * (1.0 - error) + wrong * error
        factor = np.where(is_right, right / Z, wrong / Z)
        return Round(alpha, factor, error, Z, label=label.astype(np.int32), useless=useless)


class Confidence(Rule):
    """Confidence-rated votes (Schapire & Singer 1999). Equation: confidence-leaf (docs/theory.md)."""

    link: Link = Logistic(scale=2.0)
    criterion: _core.Criterion | None = "confidence"

    def __init__(self, n_classes: int, count: float, learning_rate: float) -> None:
        self.one_versus_rest: bool = n_classes > 2  # AdaBoost.MH
        super().__init__(n_classes, count * (n_classes if self.one_versus_rest else 1), learning_rate)

    def round(self, tree: _core.GrownTree) -> Round:
        W = shares(tree)
        no, yes = W[:, 0::2], W[:, 1::2]  # two classes: columns 0 and 1 are "no" and "yes" of the second class
        most = 0.5 * MAX_STEP / self.learning_rate
        c = np.clip(0.5 * np.log((yes + self.eps) / (no + self.eps)), -most, most)
        error = float(np.minimum(no, yes).sum())  # the sign of c goes with the heavier side
        factor = np.empty_like(W)
        factor[:, 0::2] = np.exp(self.learning_rate * c)
        factor[:, 1::2] = np.exp(-self.learning_rate * c)
        factor, Z = normalised(factor, W)
        full_step_z = 2.0 * float(np.sqrt(no * yes).sum())
        return Round(self.learning_rate, factor, error, Z, value=c, useless=full_step_z >= 1.0 - 1e-12)


class Abstaining(Rule):
    criterion: _core.Criterion | None = "abstaining"

    def round(self, tree: _core.GrownTree) -> Round:
        from committee.learners.trees.tree import best_abstention

        K, W, label = self.n_classes, shares(tree), best_abstention(tree)
        is_right = label[:, None] == self.numbers
        is_wrong = (label >= 0)[:, None] & ~is_right
        P, N = float(W[is_right].sum()), float(W[is_wrong].sum())  # weights voted right and wrong
        useless = (K - 1) * P <= N * (1.0 + 1e-12)
        odds = (K - 1) * (P + self.eps) / (N + self.eps)
        alpha = 1.0 if useless else samme_step(self.learning_rate, float(np.log(odds)))
        right, wrong = samme_factors(alpha, K)
        factor, Z = normalised(np.select([is_right, is_wrong], [right, wrong], 1.0), W)
        error = N if P + N > 1.0 - 1e-12 else max(N, self.eps)  # a voter that abstains is not perfect
        return Round(alpha, factor, error, Z, label=label, useless=useless)


RULES: dict[str, type[Rule]] = {"discrete": Discrete, "confidence": Confidence, "abstaining": Abstaining}


def shares(tree: _core.GrownTree) -> F64:
    W: F64 = np.where((tree.feature < 0)[:, None], tree.sums, 0.0)
    W /= W.sum()
    return W


def normalised(factor: F64, W: F64) -> tuple[F64, float]:
    Z = float((W * factor).sum())
    return factor / Z, Z
