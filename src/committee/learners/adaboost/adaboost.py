"""AdaBoost: discrete, confidence-rated and abstaining votes; any number of classes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context, clone
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import has_fit_parameter

from committee import _core
from committee.data.parallel import n_threads
from committee.data.rows import Rows
from committee.learners.adaboost.emphasis import CRITERIA, RULES, Round, is_chance, samme_factors, samme_weight
from committee.learners.base import shared_parameters as shared
from committee.learners.base.estimator import CommitteeClassifier, seeded
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.held_out import held_out_rows
from committee.learners.base.parameters import parameter, with_parameters
from committee.learners.base.shared_parameters import EarlyStoppingParameters
from committee.vote.committee import Committee
from committee.vote.links.probability import Softmax
from committee.vote.scores import elected
from committee.voters.estimators import EstimatorVoters
from committee.voters.growing import GrowthLimits, forest_of, grower
from committee.voters.protocol import Voters

if TYPE_CHECKING:
    from sklearn.utils import Tags


@with_parameters
class AdaBoostClassifier(CommitteeClassifier, EarlyStoppingParameters):
    """AdaBoost on native trees, or on any classifier that takes weights.

    Each round grows a voter h_t on weighted rows, gives it a weight alpha_t, and makes the rows it gets wrong
    heavier; the committee is F(x) = sum_t alpha_t h_t(x). The table is binned once; a round is one pass over
    the bins and one over the weights.

    Attributes
    ----------
    committee_ : Committee
        The voters h_t and weights alpha_t.
    classes_ : array (n_classes,)
    estimator_errors_ : float64 array (rounds,)
        Weighted error of each voter under the weights it was trained on.
    normalisers_ : float64 array (rounds,)
        Z_t, what the weights of round t sum to after its update; the training error of discrete and
        confidence-rated committees of two classes is at most their product.
    validation_errors_ : float64 array or None
        Held-out error after each round, when early stopping is on.
    table_ : TableSchema
        What the columns are.

    Raises
    ------
    sklearn.utils._param_validation.InvalidParameterError
        At `fit`, naming the parameter, its value and its range.

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

    _stored_attributes: ClassVar[tuple[str, ...]] = (
        "estimator_errors_",
        "normalisers_",
        "validation_errors_",
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
        than two classes AdaBoost.MH. "abstaining": stumps whose sides may refuse to vote. eps = 1 / (2 n).
        """,
    )
    voter: Any = shared.voter()
    criterion: Literal["gini", "entropy"] = parameter(
        "gini", "Split criterion of discrete trees; the other votes bring their own."
    )
    min_samples_leaf: int = shared.min_samples_leaf()
    min_weight_leaf: float = shared.min_weight_leaf("current weight")
    max_features: int | float | str | None = shared.max_features()
    max_bins: int = shared.max_bins()
    categorical_features: Any = shared.categorical_features()
    random_state: Any = shared.random_state("the held-out rows and the features of `max_features`")

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
    ) -> Self:
        """Run the rounds.

        Parameters
        ----------
        X : table or array-like (n, p)
            Training rows; NaN is a value of its own.
        y : array-like (n,)
            Class labels.
        sample_weight : array-like (n,), default=None
            Row weights; 0 means absent, k means repeated k times.
        X_val, y_val : table and labels, default=None
            Held-out rows for early stopping.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If `y` holds fewer than two classes, a column holds infinity or what can be no feature, or
            parameters contradict each other.
        """
        tasks = FitTasks(self, X, y, sample_weight, self.n_estimators)
        self._check_parameters()
        rows = self._rows(X, y, sample_weight)
        random = check_random_state(self.random_state)
        rows, held_out = held_out_rows(self, rows, X_val, y_val, random)
        tasks.begin()
        run: _TreeRun | _VoterRun
        seed = int(random.randint(2**31 - 1))
        run = _TreeRun(self, rows, seed) if self.voter is None else _VoterRun(self, rows, seed)
        watch = _Watch(held_out, len(self.classes_), self.n_iter_no_change)
        for step in run.rounds():
            ended = tasks.part("round")
            stop = watch.after(step, run)
            stop |= ended(lambda: self._state(run, watch))
            if step.useless:
                warnings.warn(
                    f"No voter beats chance (weighted error {step.error:.3g}): the committee is a single voter "
                    "that says no more than the class frequencies.",
                    stacklevel=2,
                )
            if stop or len(run.steps) == self.n_estimators:
                break
        for name, value in self._state(run, watch).items():
            setattr(self, name, value)
        tasks.end(lambda: self._state(run, watch))
        return self

    def _check_parameters(self) -> None:
        if self.vote == "abstaining" and (self.max_depth != 1 or self.max_leaf_nodes not in (None, 2)):
            raise ValueError(
                f"vote='abstaining' boosts stumps; max_depth is {self.max_depth!r} and max_leaf_nodes is "
                f"{self.max_leaf_nodes!r}. Set max_depth=1 and max_leaf_nodes=None."
            )
        if self.voter is not None and self.vote != "discrete":
            raise ValueError(f"vote={self.vote!r} needs the native trees; set voter=None, or vote='discrete'.")
        if self.voter is not None and not has_fit_parameter(self.voter, "sample_weight"):
            raise ValueError(
                f"voter={self.voter!r} cannot be boosted: its fit takes no sample_weight. Choose another "
                "classifier, or SubaggingClassifier, which needs no weights."
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if hasattr(self.voter, "__sklearn_tags__"):
            tags.input_tags.allow_nan = get_tags(self.voter).input_tags.allow_nan
        return tags

    def _state(self, run: _TreeRun | _VoterRun, watch: _Watch) -> dict[str, Any]:
        """Fitted attributes as of now."""
        kept = watch.kept(len(run.steps))
        steps = run.steps[:kept]
        return {
            "classes_": self.classes_,
            "table_": self.table_,
            "n_features_in_": self.n_features_in_,
            "committee_": Committee(
                run.voters(kept), np.array([s.alpha for s in steps]), self.classes_, run.link, self.table_
            ),
            "estimator_errors_": np.array([s.error for s in steps]),
            "normalisers_": np.array([s.normaliser for s in steps]),
            "validation_errors_": None if watch.rows is None else np.array(watch.errors[:kept]),
        }


class _TreeRun:
    """The rounds on native trees."""

    def __init__(self, model: AdaBoostClassifier, rows: Rows, seed: int) -> None:
        n_classes = len(model.classes_)
        self.rows, self.seed, self.n_classes = rows, seed, n_classes
        self.threads = n_threads(model.n_jobs)
        self.rule = RULES[model.vote](n_classes, rows.count, model.learning_rate)
        self.link = self.rule.link
        binned = rows.binned(model.table_, model.max_bins, self.threads)
        self.bins = binned.bins
        limits = GrowthLimits(
            model.max_depth,
            model.max_leaf_nodes,
            model.min_samples_leaf,
            model.min_weight_leaf,
            0.0,
            model.max_features,
        )
        criterion = CRITERIA[model.vote] or model.criterion
        self.grower = grower(binned, criterion, n_classes, limits, self.threads)
        self.trees: list[_core.GrownTree] = []
        self.steps: list[Round] = []

    def rounds(self) -> Iterator[Round]:
        """Grow, decide, re-weight; ends by itself when a voter is perfect or none beats chance."""
        labels = self.rows.labels
        weights = self.rows.weights / self.rows.weights.sum()
        if self.rule.one_versus_rest:
            weights = np.repeat(weights[:, None] / self.n_classes, self.n_classes, axis=1)
        while True:
            tree = self.grower.grow_classes(labels, weights, None, self.seed + len(self.trees))
            step = self.rule.round(tree)
            if step.useless and self.trees:
                return
            self.trees.append(tree)
            self.steps.append(step)
            yield step
            if step.perfect or step.useless:
                return
            _core.scale_rows(weights, tree.leaf_of_row, labels, step.factor, self.threads)
            tree.forget_rows()

    def voters(self, n: int, first: int = 0) -> Voters:
        """The voters from `first` to `n`."""
        trees, steps = self.trees[first:n], self.steps[first:n]
        if self.steps[0].label is not None:
            return forest_of(trees, self.bins, self.n_classes, label=[s.label for s in steps if s.label is not None])
        return forest_of(trees, self.bins, self.n_classes, value=[s.value for s in steps if s.value is not None])


class _VoterRun:
    """The rounds on a user's classifier: SAMME by its predictions."""

    link = Softmax()

    def __init__(self, model: AdaBoostClassifier, rows: Rows, seed: int) -> None:
        self.voter = model._member("voter", model.voter)
        self.classes, self.rows, self.learning_rate = model.classes_, rows, model.learning_rate
        self.random = np.random.RandomState(seed)
        self.estimators: list[Any] = []
        self.steps: list[Round] = []

    def rounds(self) -> Iterator[Round]:
        """Fit, ask, re-weight; the rules of `Discrete`."""
        y, n_classes = self.classes[self.rows.labels], len(self.classes)
        weights = self.rows.weights / self.rows.weights.sum()
        while True:
            member: Any = seeded(clone(self.voter), int(self.random.randint(2**31 - 1)))
            member.fit(self.rows.X, y, sample_weight=weights)
            wrong = member.predict(self.rows.X) != y
            error = float(weights[wrong].sum())
            useless = is_chance(error, n_classes)
            if useless and self.estimators:
                return
            eps = 0.5 / self.rows.count
            alpha = 1.0 if useless else self.learning_rate * samme_weight(error, eps, n_classes)
            weights *= np.where(wrong, *reversed(samme_factors(alpha, n_classes)))
            Z = float(weights.sum())
            weights /= Z
            step = Round(alpha, np.empty((0, n_classes)), error, Z, useless=useless)
            self.estimators.append(member)
            self.steps.append(step)
            yield step
            if step.perfect or step.useless:
                return

    def voters(self, n: int, first: int = 0) -> Voters:
        """The voters from `first` to `n`."""
        return EstimatorVoters(self.estimators[first:n], self.classes)


@dataclass
class _Watch:
    """Early stopping: the committee's error on held-out rows, round by round."""

    rows: Rows | None
    n_classes: int
    patience: int

    def __post_init__(self) -> None:
        self.errors: list[float] = []
        self.F: NDArray[np.float64] | float = 0.0

    def after(self, step: Round, run: _TreeRun | _VoterRun) -> bool:
        """Add the newest voter's votes; True when there has been no improvement for long enough."""
        if self.rows is None:
            return False
        newest = run.voters(len(run.steps), len(run.steps) - 1)
        self.F = self.F + newest.tally(self.rows.X, np.array([step.alpha]))
        wrong = elected(self.F) != self.rows.labels
        self.errors.append(float(np.average(wrong, weights=self.rows.weights)))
        return len(self.errors) - self.kept(len(self.errors)) >= self.patience

    def kept(self, n_voters: int) -> int:
        """Voters up to the first best round; all of them when nothing is watched."""
        return n_voters if self.rows is None else int(np.argmin(self.errors[:n_voters])) + 1
