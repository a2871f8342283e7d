"""Subagging: each voter is trained on a subsample, and the rows left out give its error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, fields
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from committee.bounds.subsamples import unpack_draws
from committee.data.number_types import Index
from committee.data.parallel import n_threads
from committee.data.rows import Rows, inner_weights, nonzero_sample_weights
from committee.learners.bagging.subsamples import (
    Counts,
    GroupedRows,
    VoteVariance,
    draw_subsamples,
    draw_weights,
    infinitesimal_jackknife,
    oob_attributes,
)
from committee.learners.base import shared_parameters as shared
from committee.learners.base.calibration import CalibratedClassifier
from committee.learners.base.estimator import fit_weighted, seeded, voter_template, weight_argument
from committee.learners.base.fit_record import Codec, voters_from_arrays, voters_to_arrays
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import fitted, parameter, with_parameters
from committee.learners.trees.tree import TreeVoter
from committee.vote.committee import Committee
from committee.vote.links.probability import Share
from committee.voters.estimators import EstimatorVoters
from committee.voters.forest import Forest
from committee.voters.growing import class_votes, forest_from_grown
from committee.voters.protocol import Voters

OOB_ATTRIBUTES = ("oob_score_", "oob_margins_", "oob_decision_function_")
DRAW_ATTRIBUTES = ("draws_", "n_samples_fit_", "complete_", "temperature_", "n_groups_")
CELLS = 4_000_000  # most votes, or covariances of rows and votes, in memory at a time


@with_parameters
class SubsampledVote(GroupedRows, CalibratedClassifier):
    draws_: NDArray[np.uint8] = fitted(
        """Training rows of each voter, one bit a row as in `numpy.packbits`. Absent for draws with replacement, for one
        class, and where groups were drawn, as are the attributes that follow from it.""",
        "uint8 array (n_estimators, ceil(n / 8))",
    )
    n_samples_fit_: int = fitted("Number of training rows of positive weight; absent like `draws_`.", "int")
    complete_: bool = fitted("""True if `draws_` has every subsample, as with ``n_estimators="all"``.""", "bool")

    n_estimators: int | Literal["all"]
    max_samples: float | int
    oob_score: bool
    n_jobs: Any

    def _most_tasks(self, X: Any) -> int | None:
        return None if self.n_estimators == "all" else self.n_estimators

    def _draws(
        self, rows: Rows, tasks: FitTasks, random: np.random.RandomState, bootstrap: bool
    ) -> tuple[list[Counts], Index | None]:
        # counts of each voter's rows, and their groups if groups are drawn; all subsamples are of rows
        group = None if self.n_estimators == "all" and tasks.groups is None else self._drawn_groups(rows, tasks)
        drawn = draw_subsamples(
            rows.labels, len(self.classes_), self.n_estimators, self.max_samples, bootstrap, random, group
        )
        return drawn, group

    def _record_of_draws(
        self, draws: list[Counts], n_drawn: int, rows: Rows, tasks: FitTasks, group: Index | None
    ) -> dict[str, Any]:
        if group is not None:  # subsamples are not of one size, and what follows from that does not hold
            return {"n_groups_": int(group.max()) + 1}
        counted = nonzero_sample_weights(tasks.sample_weight, len(draws[0]))
        drawn = np.zeros((len(draws), len(counted)), dtype=bool)  # of all rows of the user
        drawn[:, counted] = np.stack(draws) > 0
        return {
            "draws_": np.packbits(drawn, axis=1),
            "n_samples_fit_": len(rows.labels),
            "complete_": self.n_estimators == "all" and len(draws) == n_drawn,
        }

    def _finished_by_draws(
        self, fitted: dict[str, Any], rows: Rows, draws: list[Counts], random: np.random.RandomState, tasks: FitTasks
    ) -> dict[str, Any]:
        if not (self.oob_score or self._calibrates):
            return fitted
        voters = fitted["committee_"].voters
        tally, voting = np.zeros((len(rows), len(self.classes_))), np.zeros(len(rows))
        for m, counts in enumerate(draws):
            out = counts == 0
            tally[out] += voters[m].tally(rows.dense[out])
            voting += out
        if self.oob_score:
            fitted |= oob_attributes(tally, voting, rows, tasks.sample_weight)
        return self._calibrated_out_of_bag(fitted, rows, tally, voting, random, tasks) if self._calibrates else fitted

    @property
    def estimators_samples_(self) -> list[NDArray[np.int64]]:
        """Indices of each voter's training rows among those of `fit`, ascending."""
        return [np.flatnonzero(np.unpackbits(drawn)) for drawn in self._record()]

    def vote_variance(self, X: Any) -> VoteVariance:
        """Estimate the variance of the vote shares over other training rows, and over other draws.

        The first is the infinitesimal jackknife over the draws (Wager, Hastie, Efron 2014; Ghosal and Hooker 2021 for
        subsamples), which needs no further fit. Its bias is positive and grows with `max_samples`: small at a fifth
        of the rows, a factor of two to four at 0.7. It needs hundreds of voters rather than 21, which ``noise`` shows.
        Both are of the vote without the temperature of `calibrate`, and count each row once, whatever it weighs.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to vote on.

        Returns
        -------
        VoteVariance
            ``rows``, ``draws``, ``noise`` and ``standard_error``, arrays ``(n, n_classes)``.

        Raises
        ------
        AttributeError
            If the model has no `draws_`.
        ValueError
            If no row was left out of a draw, or there is one voter only.
        """
        record = self._record()
        encoded = self.table_.encode(self.validate_rows(X))
        drawn, n = unpack_draws(record), self.n_samples_fit_
        complete = getattr(self, "complete_", False)  # models of earlier releases do not have it
        step = max(1, CELLS // (max(drawn.shape) * len(self.classes_)))
        voters, threads = self.committee_.voters, n_threads(self.n_jobs)
        blocks = []
        for a in range(0, len(encoded), step):
            votes = np.stack([voters[m].tally(encoded[a : a + step], n_threads=threads) for m in range(len(voters))])
            blocks.append(infinitesimal_jackknife(drawn, votes, n_samples=n, complete=complete))
        return VoteVariance(*(np.concatenate([getattr(b, f.name) for b in blocks]) for f in fields(VoteVariance)))

    def _record(self) -> NDArray[np.uint8]:
        check_is_fitted(self)
        if not hasattr(self, "draws_"):
            raise AttributeError(
                "this model has no record of subsamples: rows were drawn with replacement or had one class, whole "
                "groups or copies of rows were drawn, or an earlier release trained it. Fit it without these."
            )
        return self.draws_


@with_parameters
class SubaggingClassifier(SubsampledVote):
    """Subagging (or bagging) of any classifier: M voters, each trained on a draw of the rows.

    Voter m is trained on floor(max_samples n) rows drawn without replacement (or with, `bootstrap=True`), at least
    one of each class: a row of a class that the draw lacks replaces one of a class with several. The committee
    is the plain vote, one voter one vote. The rows out of a voter's draw give its error without a further fit.

    Attributes
    ----------
    committee_ : Committee
        The M voters, each of weight 1.
    oob_score_ : float
        Accuracy of the out-of-bag vote over the rows that have one.
    oob_margins_ : float64 array (n,)
        Out-of-bag margins of the training rows; NaN for rows in all draws, and of zero weight.
    oob_decision_function_ : float64 array (n, n_classes)
        Out-of-bag vote shares; NaN as above.

    Notes
    -----
    ``sample_weight`` goes to the voters, whose ``fit`` must take it. A weight of k counts as k rows in each voter, but
    a row is drawn or not drawn as a whole, where k equal rows are drawn one by one.
    Where many rows are copies of others, as after resampling, copies are drawn as a whole too (`fit`).

    References
    ----------
    P. Bühlmann, B. Yu (2002). Analyzing bagging. Annals of Statistics 30. L. Breiman (1996). Bagging
    predictors. Machine Learning 24. T. Qin, W.-M. Huang, On subbagging boosted probit model trees, section 3.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from committee import SubaggingClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> SubaggingClassifier(oob_score=True, random_state=0).fit(X, y).oob_score_ > 0.9
    True
    """

    _voter_parameter = "estimator"
    voter_kinds: ClassVar[tuple[str, ...] | None] = ("forest", "estimators")
    stored_attributes: ClassVar[tuple[str, ...]] = (*OOB_ATTRIBUTES, *DRAW_ATTRIBUTES)

    estimator: Any = parameter(
        None,
        """Classifier to train on each draw; None: `TreeVoter()`, a fully grown tree. It gets the encoded matrix
        (categories as codes) and, if it has that parameter, ``categorical_features``.""",
        HasMethods(["fit", "predict"]),
        None,
        type_words="classifier or None",
    )
    n_estimators: int | Literal["all"] = shared.n_subsamples("The default is odd, so that two classes cannot tie.")
    _: KW_ONLY
    max_samples: float | int = shared.max_samples(0.7, "0.7 is the SBPMT paper's.")
    bootstrap: bool = shared.bootstrap(False)
    oob_score: bool = shared.oob_score()
    voting: Literal["hard", "soft"] = parameter(
        "hard", """"hard": one vote for the predicted class. "soft": class probabilities are averaged."""
    )
    class_weight: Any = shared.class_weight(of_draws=True)
    categorical_features: Any = shared.categorical_features()
    n_jobs: int | None = shared.n_jobs("Voters trained at the same time")
    random_state: Any = shared.random_state("the rows of the draws and of each voter's own ``random_state``")

    def _no_checkpoint(self, X: Any) -> str | None:
        return None if type(self.estimator) is TreeVoter else super()._no_checkpoint(X)

    def _check_parameters(self) -> None:
        # a voter that takes no row weights is refused later, if rows have some
        if self.bootstrap and self.n_estimators == "all":
            raise ValueError("n_estimators='all' is for draws without replacement; set bootstrap=False, or a number.")

    def _train(self, rows: Rows, tasks: FitTasks) -> dict[str, Any]:
        template = self._template(tasks.sample_weight is not None)
        random = tasks.random(rows)
        draws, group = self._draws(rows, tasks, random, self.bootstrap)
        seeds = random.randint(2**31 - 1, size=len(draws))
        train: Callable[[Counts, int], Any]
        if type(template) is TreeVoter:
            train = _TreeTrainer(self, template, rows)
        else:
            weighted = weight_argument(template) is not None
            train = partial(_train, template, rows, self.classes_, weighted, self.class_weight)
        jobs = (delayed(train)(counts, int(seed)) for counts, seed in zip(draws, seeds, strict=True))
        p, K = rows.X.shape[1], len(self.classes_)
        # only trees have a checkpoint
        form = Codec(voters_to_arrays, lambda *parts: voters_from_arrays(Forest, parts, p, K))
        with tasks.in_parallel(jobs, self.n_jobs, form) as trained:
            voters = tasks.each("voter", trained, lambda voters: {"committee_": self._vote_of(voters)})
        fitted: dict[str, Any] = {"committee_": self._vote_of(voters)}
        used = draws[: len(voters)]
        if not self.bootstrap or group is not None:
            fitted |= self._record_of_draws(used, len(draws), rows, tasks, group)
        return self._finished_by_draws(fitted, rows, used, random, tasks)

    def _template(self, weights_given: bool) -> BaseEstimator:
        given = TreeVoter() if self.estimator is None else clone(self.estimator)
        template = voter_template("estimator", given, self.table_, calibrated=self.voting == "soft")
        if weights_given and weight_argument(template) is None:
            given_name = "sample_weight" if self.class_weight is None else "class_weight"
            raise ValueError(
                f"{given_name} is given, but the fit of estimator={self.estimator!r} takes no sample_weight; "
                "leave the weights out or choose another estimator."
            )
        if self.voting == "soft" and not hasattr(template, "predict_proba"):
            raise ValueError(
                f"voting='soft' needs predict_proba, which estimator={self.estimator!r} lacks; set voting='hard'."
            )
        return template

    def _vote_of(self, trained: list[Any]) -> Committee:
        voters: Voters
        if isinstance(trained[0], Forest):
            voters = Forest.concatenate(trained)
        else:
            voters = EstimatorVoters(trained, self.classes_, soft=self.voting == "soft")
        return Committee(voters, np.ones(len(trained)), self.classes_, Share(), self.table_)


class _TreeTrainer:
    # native trees, grown on one binned table

    def __init__(self, model: SubaggingClassifier, template: TreeVoter, rows: Rows) -> None:
        self.template, self.rows, self.soft = template.validated(), rows, model.voting == "soft"
        self.classes, self.class_weight = model.classes_, model.class_weight
        self.binned = rows.binned(model.table_, template.max_bins, n_threads(model.n_jobs))

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"rows": self.rows.without_cells()}

    def __call__(self, counts: Counts, seed: int) -> Forest:
        drawn, n_classes = np.flatnonzero(counts).astype(np.int32), len(self.classes)
        grower = self.template.grower(self.binned, n_classes, n_threads(self.template.n_jobs))
        weights = draw_weights(self.rows, n_classes, self.class_weight, counts) * counts
        if self.template.class_weight is not None:
            weights[drawn] = self.template.weights_with_classes(self.classes[self.rows.labels[drawn]], weights[drawn])
        tree = grower.grow_classes(self.rows.labels, weights, drawn, seed)
        return forest_from_grown([tree], self.binned.bins, n_classes, **class_votes(tree, hard=not self.soft))


def _train(
    template: BaseEstimator,
    rows: Rows,
    classes: NDArray[Any],
    weighted: bool,
    class_weight: Any,
    counts: Counts,
    seed: int,
) -> Any:
    member: Any = seeded(clone(template), seed)
    if weighted:
        drawn = np.flatnonzero(counts)
        weights = draw_weights(rows, len(classes), class_weight, counts) * counts
        return fit_weighted(member, rows.cells[drawn], classes[rows.labels[drawn]], inner_weights(weights[drawn]))
    drawn = np.repeat(np.arange(len(counts)), counts)
    return member.fit(rows.cells[drawn], classes[rows.labels[drawn]])
