"""Subagging: each voter is trained on a subsample of its own, and the rows left out judge it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import HasMethods

from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.data.rows import Rows
from committee.learners.bagging.draws import OutOfBagVotes, balanced_draw, draws_of, out_of_bag, packed_draws
from committee.learners.bagging.subsampled_vote import SubsampledVote
from committee.learners.base import shared_parameters as shared
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import parameter, with_parameters
from committee.learners.base.user_voter import fit_weighted, seeded, voter_to_clone, weight_argument
from committee.learners.trees.tree import TreeVoter
from committee.vote.committee import Committee
from committee.vote.links.probability import Share
from committee.voters.estimators import EstimatorVoters
from committee.voters.forest import Forest
from committee.voters.growing import class_shares, forest_of, leaf_labels
from committee.voters.protocol import Voters

if TYPE_CHECKING:
    from committee.learners.base.fit_record import Form


@with_parameters
class SubaggingClassifier(SubsampledVote):
    """Subagging (or bagging) of any classifier: M voters, each trained on rows drawn for it alone.

    Voter m sees floor(max_samples n) rows drawn without replacement (or with, `bootstrap=True`), never fewer
    than one of each class: where a draw would lose a class it is made within classes instead. The committee
    is the plain vote, one voter one vote. The rows that a voter did not see give its error for free.

    Attributes
    ----------
    committee_ : Committee
        The M voters, each of weight 1.
    oob_score_ : float
        Accuracy of the out-of-bag vote over the rows that at least one voter left out.
    oob_margins_ : float64 array (n,)
        Out-of-bag margins of the training rows; NaN where every voter saw the row.
    oob_decision_function_ : float64 array (n, n_classes)
        Out-of-bag vote shares; NaN where every voter saw the row.

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

    _voter_parameter = "estimator"
    voter_kinds: ClassVar[tuple[str, ...] | None] = ("forest", "estimators")
    stored_attributes: ClassVar[tuple[str, ...]] = (
        "oob_score_",
        "oob_margins_",
        "oob_decision_function_",
        "draws_",
        "n_samples_fit_",
        "complete_",
        "temperature_",
    )

    estimator: Any = parameter(
        None,
        """Classifier to train on each draw; None: `TreeVoter()`, a fully grown tree. It gets the encoded matrix
        (categories as codes) and, if it has that parameter, ``categorical_features``.""",
        HasMethods(["fit", "predict"]),
        None,
        type_words="classifier or None",
    )
    n_estimators: int | Literal["all"] = shared.n_subsamples("Odd, so that two classes cannot tie.")
    _: KW_ONLY
    max_samples: float | int = shared.max_samples(0.7, "0.7 is the SBPMT paper's.")
    bootstrap: bool = shared.bootstrap(False)
    oob_score: bool = shared.oob_score()
    voting: Literal["hard", "soft"] = parameter(
        "hard", """"hard": one vote for the predicted class. "soft": class probabilities are averaged."""
    )
    class_weight: Any = shared.class_weight_of_draws()
    categorical_features: Any = shared.categorical_features()
    n_jobs: int | None = shared.n_jobs("Voters trained at the same time")
    random_state: Any = shared.random_state("the rows of the draws and of each voter's own ``random_state``")

    def _no_checkpoint(self, X: Any) -> str | None:
        return None if type(self.estimator) is TreeVoter else super()._no_checkpoint(X)

    def _check_parameters(self) -> None:
        """Refuse no voter yet: one that takes no row weights will do where rows have none."""
        if self.bootstrap and self.n_estimators == "all":
            raise ValueError("n_estimators='all' is for draws without replacement; set bootstrap=False, or a number.")

    def _train(self, rows: Rows, tasks: FitTasks) -> dict[str, Any]:
        """Draw rows, and train a voter on each draw."""
        template = self._template(tasks.sample_weight is not None)
        random = tasks.random()
        draws = draws_of(rows.labels, len(self.classes_), self.n_estimators, self.max_samples, self.bootstrap, random)
        seeds = random.randint(2**31 - 1, size=len(draws))
        train = self._trainer(rows, template)
        jobs = (delayed(train)(counts, int(seed)) for counts, seed in zip(draws, seeds, strict=True))
        form = partial(_tree_form, rows.X.shape[1], len(self.classes_))
        with tasks.in_parallel(jobs, self.n_jobs, form) as trained:
            voters = tasks.each("voter", trained, lambda voters: {"committee_": self._vote_of(voters)})
        committee = self._vote_of(voters)
        fitted: dict[str, Any] = {"committee_": committee}
        if not self.bootstrap:
            fitted |= {
                "draws_": packed_draws(draws[: len(voters)], tasks.sample_weight),
                "n_samples_fit_": len(rows.labels),
                "complete_": self.n_estimators == "all" and len(voters) == len(draws),
            }
        if not (self.oob_score or self._calibrates):
            return fitted
        votes = OutOfBagVotes.of(committee, rows, draws[: len(voters)])
        if self.oob_score:
            fitted |= out_of_bag(votes, rows, tasks.sample_weight)
        return self._calibrated_out_of_bag(fitted, rows, votes.tally, votes.voting, random, tasks)

    def _template(self, weights_given: bool) -> BaseEstimator:
        """Return the estimator to clone."""
        given = TreeVoter() if self.estimator is None else self.estimator
        template = voter_to_clone("estimator", given, self.table_, votes_by_class=self.voting == "hard")
        if weights_given and weight_argument(template) is None:
            given_name = "sample_weight" if self.class_weight is None else "class_weight"
            raise ValueError(
                f"{given_name} is given, but the fit of estimator={self.estimator!r} takes no sample_weight; "
                "leave the weights out or choose another estimator."
            )
        if self.voting == "soft" and not hasattr(template, "predict_proba"):
            raise ValueError(
                f"voting='soft' needs predict_proba, which estimator={self.estimator!r} lacks; use 'hard'."
            )
        return template

    def _trainer(self, rows: Rows, template: BaseEstimator) -> Callable[[NDArray[np.int64], int], Any]:
        """Return the function that trains on a draw with a seed: a tree on the kernels, or any other classifier."""
        if type(template) is TreeVoter:
            return _TreeTrainer(self, template, rows)
        weighted = weight_argument(template) is not None
        return partial(_train, template, rows, self.classes_, weighted, self._balances)

    @property
    def _balances(self) -> bool:
        """Whether the classes of each draw weigh alike."""
        return bool(self.class_weight == "balanced_subsample")

    def _vote_of(self, trained: list[Any]) -> Committee:
        """Give each voter one vote; native trees are one forest."""
        voters: Voters
        if isinstance(trained[0], Forest):
            voters = Forest.concatenate(trained)
        else:
            voters = EstimatorVoters(trained, self.classes_, soft=self.voting == "soft")
        return Committee(voters, np.ones(len(trained)), self.classes_, Share(), self.table_)


def _tree_form(n_features: int, n_classes: int) -> Form[Forest]:
    """Return how native trees become arrays of a checkpoint."""
    from committee.learners.bagging.voter_parts import parts_of, voters_of
    from committee.learners.base.fit_record import Form

    return Form(parts_of, lambda *parts: voters_of(Forest, parts, n_features, n_classes))


class _TreeTrainer:
    """Trees grown straight from one binned table, which all draws share."""

    def __init__(self, model: SubaggingClassifier, template: TreeVoter, rows: Rows) -> None:
        self.template, self.rows, self.soft = template.validated(), rows, model.voting == "soft"
        self.classes, self.n_classes, self.balances = model.classes_, len(model.classes_), model._balances
        self.binned = rows.binned(model.table_, template.max_bins, n_threads(model.n_jobs))

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"rows": self.rows.without_cells()}

    def __call__(self, counts: NDArray[np.int64], seed: int) -> Forest:
        drawn = np.flatnonzero(counts).astype(np.int32)
        grower = self.template.grower(self.binned, self.n_classes, n_threads(self.template.n_jobs))
        weights = _weights_of_draw(self.rows, self.n_classes, self.balances, counts) * counts
        if self.template.class_weight is not None:
            weights[drawn] = self.template.fit_weights(self.classes[self.rows.labels[drawn]], weights[drawn])
        tree = grower.grow_classes(self.rows.labels, weights, drawn, seed)
        if self.soft:
            return forest_of([tree], self.binned.bins, self.n_classes, value=[class_shares(tree)])
        return forest_of([tree], self.binned.bins, self.n_classes, label=[leaf_labels(tree)])


def _weights_of_draw(rows: Rows, n_classes: int, balances: bool, counts: NDArray[np.int64]) -> F64:
    """Weights of the rows where each is drawn so many times."""
    return balanced_draw(rows.labels, n_classes, rows.weights, counts) if balances else rows.weights


def _train(
    template: BaseEstimator,
    rows: Rows,
    classes: NDArray[Any],
    weighted: bool,
    balances: bool,
    counts: NDArray[np.int64],
    seed: int,
) -> Any:
    """One voter on one draw; a row drawn k times has weight k, or stands k times where weights are not taken."""
    member: Any = seeded(clone(template), seed)
    if weighted:
        drawn = np.flatnonzero(counts)
        weights = _weights_of_draw(rows, len(classes), balances, counts) * counts
        return fit_weighted(member, rows.cells[drawn], classes[rows.labels[drawn]], weights[drawn])
    drawn = np.repeat(np.arange(len(counts)), counts)
    return member.fit(rows.cells[drawn], classes[rows.labels[drawn]])
