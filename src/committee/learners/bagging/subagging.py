"""Subagging: each voter is trained on a subsample of its own, and the rows left out judge it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import has_fit_parameter

from committee.data.parallel import closed_in_silence, n_threads
from committee.data.rows import Rows
from committee.learners.bagging.draws import draw, judge_out_of_bag
from committee.learners.base import shared_parameters as shared
from committee.learners.base.estimator import CommitteeClassifier, seeded
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import COUNT, parameter, with_parameters
from committee.learners.trees.tree import TreeVoter
from committee.vote.committee import Committee
from committee.vote.links.probability import Share
from committee.voters.estimators import EstimatorVoters
from committee.voters.forest import Forest
from committee.voters.growing import class_shares, forest_of, leaf_labels
from committee.voters.protocol import Voters

if TYPE_CHECKING:
    from sklearn.utils import Tags


@with_parameters
class SubaggingClassifier(CommitteeClassifier):
    """Subagging (or bagging) of any classifier: M voters, each trained on rows drawn for it alone.

    Voter m sees floor(max_samples n) rows drawn without replacement (or with, `bootstrap=True`), never fewer
    than one of each class: where a draw would lose a class it is made within classes instead. The committee
    is the plain vote, one voter one vote. The rows that a voter did not see give its error for free.

    Attributes
    ----------
    committee_ : Committee
        The M voters, each of weight 1.
    classes_ : array (n_classes,)
    oob_score_ : float
        Accuracy of the out-of-bag vote over the rows that at least one voter left out.
    oob_margins_ : float64 array (n,)
        Out-of-bag margins of the training rows; NaN where every voter saw the row.
    oob_decision_function_ : float64 array (n, n_classes)
        Out-of-bag vote shares; NaN where every voter saw the row.
    table_ : TableSchema

    Notes
    -----
    ``sample_weight`` goes to the voters, whose ``fit`` must take it. Rows of zero weight are left out; a
    weight of k counts as k rows in each voter, but a row is drawn or not drawn as a whole, so that weights
    and repeated rows agree in the mean over draws, not draw by draw. Out-of-bag rows of zero weight are NaN.

    References
    ----------
    P. Bühlmann, B. Yu (2002). Analyzing bagging. Annals of Statistics 30. L. Breiman (1996). Bagging
    predictors. Machine Learning 24. T. Qin, W.-M. Huang, On subbagging boosted probit model trees, section 3.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from committee import SubaggingClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = SubaggingClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> model.oob_score_ > 0.9
    True
    """

    _stored_attributes: ClassVar[tuple[str, ...]] = ("oob_score_", "oob_margins_", "oob_decision_function_")

    estimator: Any = parameter(
        None,
        """What is trained on each draw; None: `TreeVoter()`, a fully grown tree. It gets the encoded matrix (categories
        as codes) and, if it has that parameter, ``categorical_features``.""",
        HasMethods(["fit", "predict"]),
        None,
        type_words="classifier or None",
    )
    n_estimators: int = parameter(
        21, "Number M of voters; the SBPMT paper's. Odd, so that two classes cannot tie.", COUNT
    )
    _: KW_ONLY
    max_samples: float | int = shared.max_samples(0.7, "0.7 is the SBPMT paper's.")
    bootstrap: bool = shared.bootstrap(False)
    oob_score: bool = shared.oob_score()
    voting: Literal["hard", "soft"] = parameter(
        "hard", """"hard": one vote for the predicted class. "soft": class probabilities are averaged."""
    )
    categorical_features: Any = shared.categorical_features()
    n_jobs: int | None = shared.n_jobs("Voters trained at the same time")
    random_state: Any = shared.random_state("the rows of the draws and of each voter's own ``random_state``")

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Draw and train the voters.

        Parameters
        ----------
        X : table or array-like (n, p)
            Training rows.
        y : array-like (n,)
            Class labels.
        sample_weight : array-like (n,), default=None
            Row weights; needs an `estimator` whose ``fit`` takes them.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the estimator is no classifier or cannot take the weights that are given, `max_samples` is a
            number larger than the table or smaller than the number of classes, or the table is not fit for
            training.
        """
        tasks = FitTasks(self, X, y, sample_weight, self.n_estimators)
        rows = self._rows(X, y, sample_weight)
        tasks.begin()
        template = self._template(sample_weight is not None)
        random = check_random_state(self.random_state)
        draws = [
            draw(rows.labels, len(self.classes_), self.max_samples, self.bootstrap, random)
            for _ in range(self.n_estimators)
        ]
        seeds = random.randint(2**31 - 1, size=self.n_estimators)
        train = self._trainer(rows, template)
        members: list[Any] = []
        pool = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")
        jobs = (delayed(train)(counts, int(seed)) for counts, seed in zip(draws, seeds, strict=True))
        with closed_in_silence(pool(jobs)) as trained:
            for member in trained:
                ended = tasks.part("voter")
                members.append(member)
                if ended(lambda: {"committee_": self._vote_of(members)}):
                    break
        self.committee_ = self._vote_of(members)
        for name in self._stored_attributes:
            self.__dict__.pop(name, None)  # of an earlier fit, on other rows
        if self.oob_score:
            judge_out_of_bag(self, rows, draws[: len(members)], sample_weight)
        tasks.end(dict)
        return self

    def _template(self, weights_given: bool) -> BaseEstimator:
        """The estimator to clone, told which of the matrix's columns are categories."""
        template = self._member("estimator", TreeVoter() if self.estimator is None else self.estimator)
        if weights_given and not has_fit_parameter(template, "sample_weight"):
            raise ValueError(
                f"sample_weight is given, but the fit of estimator={self.estimator!r} takes none; "
                "leave the weights out or choose another estimator."
            )
        if self.voting == "soft" and not hasattr(template, "predict_proba"):
            raise ValueError(
                f"voting='soft' needs predict_proba, which estimator={self.estimator!r} lacks; use 'hard'."
            )
        return template

    def _trainer(self, rows: Rows, template: BaseEstimator) -> Callable[[NDArray[np.int64], int], Any]:
        """What makes a member of a draw and a seed: a tree on the kernels, or any other fitted classifier."""
        if type(template) is TreeVoter:
            return _TreeTrainer(self, template, rows)
        weighted = has_fit_parameter(template, "sample_weight")
        return partial(_train, template, rows, self.classes_, weighted)

    def _vote_of(self, members: list[Any]) -> Committee:
        """The members' committee, one voter one vote; native trees as one forest."""
        voters: Voters
        if isinstance(members[0], Forest):
            voters = Forest.concatenate(members)
        else:
            voters = EstimatorVoters(members, self.classes_, soft=self.voting == "soft")
        return Committee(voters, np.ones(len(members)), self.classes_, Share(), self.table_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags


class _TreeTrainer:
    """Trees grown straight from one binned table, which all draws share."""

    def __init__(self, model: SubaggingClassifier, template: TreeVoter, rows: Rows) -> None:
        template._validate_params()  # its fit, which does this, is never called
        self.template, self.rows, self.soft = template, rows, model.voting == "soft"
        self.n_classes = len(model.classes_)
        self.binned = rows.binned(model.table_, template.max_bins, n_threads(model.n_jobs))

    def __call__(self, counts: NDArray[np.int64], seed: int) -> Forest:
        drawn = np.flatnonzero(counts).astype(np.int32)
        grower = self.template.grower(self.binned, self.n_classes, n_threads(self.template.n_jobs))
        tree = grower.grow_classes(self.rows.labels, self.rows.weights * counts, drawn, seed)
        if self.soft:
            return forest_of([tree], self.binned.bins, self.n_classes, value=[class_shares(tree)])
        return forest_of([tree], self.binned.bins, self.n_classes, label=[leaf_labels(tree)])


def _train(
    template: BaseEstimator,
    rows: Rows,
    classes: NDArray[Any],
    weighted: bool,
    counts: NDArray[np.int64],
    seed: int,
) -> Any:
    """One voter on one draw; a row drawn k times has weight k, or stands k times where weights are not taken."""
    member: Any = seeded(clone(template), seed)
    if weighted:
        drawn = np.flatnonzero(counts)
        return member.fit(rows.X[drawn], classes[rows.labels[drawn]], sample_weight=rows.weights[drawn] * counts[drawn])
    drawn = np.repeat(np.arange(len(counts)), counts)
    return member.fit(rows.X[drawn], classes[rows.labels[drawn]])
