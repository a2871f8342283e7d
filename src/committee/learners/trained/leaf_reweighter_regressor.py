"""An ensemble of trees of numbers that is trained already, with a part of its nodes and a new vote for every leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from committee.data.number_types import F64, Index, Mask
from committee.data.parallel import n_threads
from committee.data.rows import TargetRows, target_vector
from committee.learners.base.parameters import FRACTION, fitted, parameter, required, with_parameters
from committee.learners.trained.base_leaf_reweighter import BaseLeafReweighter, FitRows, WholeVote
from committee.learners.trained.leaf_cut import LeafRows
from committee.learners.trained.number_judge import NumberJudge
from committee.learners.trained.number_loss import fitted_loss
from committee.learners.trained.number_metric import number_metric
from committee.learners.trained.quantile_level import quantile_level
from committee.learners.trained.trained_ensemble import TrainedEnsembleRegressor, trained_regression
from committee.learners.trained.unseen_mean import mean_of_unseen
from committee.learners.trained.unseen_rows import check_remembered_numbers, unseen_rows
from committee.learners.trained.vote_loss import HalfSquares, SmoothPinball, VoteLoss
from committee.objectives.losses.regression import weighted_quantile
from committee.vote.links.mean import Identity
from committee.vote.regression import RegressionCommittee
from committee.voters.forest import Forest

WIDTH = 0.2
"""Residuals within which pinball loss is smooth, in mean absolute residuals of the whole ensemble."""

LEAST_WIDTH = 1e-3
"""The least of these, in standard deviations of the numbers."""


@with_parameters
class LeafReweighterRegressor(BaseLeafReweighter, TrainedEnsembleRegressor):
    """A tenth of the nodes of a forest of numbers, or any other part, with votes of leaves that make up for the rest.

    It is `LeafReweighter` for numbers. The trees stay whose squared errors are least on rows that they have not seen
    (or those of greatest weight, the first of equals, where no tree has such rows) and fit into the limit, or more of
    them with their weakest sub-trees cut off; cross-validation chooses. Then all leaves of all trees get new votes at
    once, by a ridge regression in which they deviate from their old ones as far as the rows give reason; if the
    ensemble predicts a quantile, by pinball loss in place of squares. With ``on="oob"`` each row speaks of the leaves
    of those trees only that have not seen it.

    The ensemble itself is frozen: it is neither trained nor changed, and `clone` keeps it as it is.

    Attributes
    ----------
    committee_ : RegressionCommittee
        The trees that are left, each of weight 1 / K; what the ensemble starts from is part of their votes.
    quantile_ : float or None
        The quantile that is predicted; None for means.
    voters_ : intp array (K,)
        Numbers of these trees among the ensemble's, in the order of the committee.
    C_, growth_ : float
        Those that cross-validation chose; NaN where the ensemble is kept whole.
    lost_, lost_error_ : float
        How much more the vote loses of `metric` than the whole ensemble on rows that its trees have not seen, as a
        share of what the whole loses, and the standard error of that; NaN where no such rows are known, with
        ``on="train"`` or of a forest that drew heavy rows more often. The same rows choose the size, so that of many
        sizes a lucky one may be taken.
    n_nodes_before_, nbytes_before_, n_voters_before_ : int
        Of the ensemble.
    path_ : LeafPath
        The best cut at each limit, as a table or a picture; not in a model file, nor in a pickle.

    Raises
    ------
    TypeError, ValueError, NotFittedError
        From `fit`, which checks everything before it sets anything.

    References
    ----------
    S. Ren, X. Cao, Y. Wei, J. Sun (2015). Global refinement of random forest. CVPR.
    B. Liu, R. Mazumder (2023). ForestPrune: compact depth-pruned tree ensembles. AISTATS.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from committee import LeafReweighterRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(random_state=0).fit(X[::2], y[::2])
    >>> small = LeafReweighterRegressor(forest, max_nodes=0.1).fit(X[::2], y[::2])
    >>> small.committee_.n_nodes <= 0.1 * small.n_nodes_before_
    True
    >>> bool(small.score(X[1::2], y[1::2]) > forest.score(X[1::2], y[1::2]) - 0.02)
    True
    """

    stored_attributes: ClassVar[tuple[str, ...]] = (*BaseLeafReweighter.stored_attributes, "quantile_")
    voter_kinds: ClassVar[tuple[str, ...] | None] = ("shared_forest", "forest")
    _answer_word: ClassVar[str] = "numbers"
    _stratifies: ClassVar[bool] = False

    committee_: RegressionCommittee = fitted()
    quantile_: float | None = fitted()

    ensemble: Any = required(
        """Of trees: a forest or boosted trees of one number, of this library or what
        `RegressionCommittee.from_estimator` takes.""",
        "no_validation",
        type_words="fitted regressor or RegressionCommittee",
    )
    _: KW_ONLY
    min_gain: float | None = parameter(
        None,
        """Price of accuracy. Limits are halved from `max_nodes` on, and the smallest is taken whose R^2 on held-out
        folds, less its standard error, is less than this below the best one's; of quantiles, the same share of pinball
        loss. None: `max_nodes`, no other limit is tried.""",
        *BaseLeafReweighter.declared_parameters["min_gain"].constraints,
    )
    max_loss: float | None = parameter(
        None,
        """A contract in place of a size: limits are halved from `max_nodes` on, and the smallest cut is taken whose
        `metric` is at most this share above the whole ensemble's, standard error included: 0.01 is a mean squared error
        one percent larger. That is judged on rows that the trees have not seen and other folds (`LeafPath.lost`). If
        none does, the ensemble is kept whole, and a warning says so. None: no contract.""",
        *BaseLeafReweighter.declared_parameters["max_loss"].constraints,
    )
    metric: Any = parameter(
        None,
        """What `max_loss` counts: "squared_error", "absolute_error", or "pinball" of the quantile that is predicted.
        Or a score of all rows together, of which no share is lost but so many units: the name of a scorer of
        scikit-learn, such as "r2", its function, or what ``make_scorer`` makes. Or a function of numbers ``(n,)`` and
        predictions ``(n,)`` that gives the loss of each row, less being better and none below 0. A model with a
        function that is none of scikit-learn's cannot be saved. None: "pinball" of ensembles of a quantile, else
        "squared_error".""",
        str,
        callable,
        None,
        type_words='{"absolute_error", "pinball", "squared_error"}, name of a scorer, callable or None',
        after="max_loss",
    )
    C: float | tuple[float, ...] = parameter(
        (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0),
        "How far the leaves' votes may deviate from their old ones; out of several cross-validation chooses.",
        *BaseLeafReweighter.declared_parameters["C"].constraints,
        type_words="float or tuple of float",
    )
    quantile: float | None = parameter(
        None,
        """The quantile that the ensemble predicts, to which votes are then fitted by pinball loss. None: what its own
        parameters say, as those of this library's, XGBoost's and LightGBM's boosters do; else it predicts means.""",
        FRACTION,
        after="metric",
    )

    def _committee_of(self, ensemble: Any) -> RegressionCommittee:
        committee = trained_regression(ensemble)
        if not isinstance(committee.voters, Forest):
            raise TypeError(
                f"ensemble has {type(committee.voters).__name__} for voters, and votes of leaves are numbers; train it "
                "with trees whose leaves predict constants, such as GradientBoostingRegressor(leaf='constant')."
            )
        if committee.link.name == "log" and self.on != "train":
            raise ValueError(
                "ensemble predicts the exponential of its score, and votes are fitted to squares or quantiles; give "
                "its training rows with on='train', so that they are fitted to its own scores."
            )
        return committee

    def _read_answers(self, committee: Any, y: ArrayLike) -> Index | F64:
        return target_vector(y)

    def _check_answers(self, answers: Index | F64) -> None:
        if len(answers) < 2:
            raise ValueError(f"n_samples={len(answers)} of the rows count; votes need two of them.")

    def _unseen(self, ensemble: Any, committee: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Mask:
        return unseen_rows(ensemble, committee.n_voters, target_vector(y), sample_weight)

    def _whole_vote(
        self,
        ensemble: Any,
        committee: Any,
        forest: Forest,
        rows: FitRows,
        parts: Sequence[Index],
        given: tuple[ArrayLike, ArrayLike | None],
    ) -> WholeVote:
        y = np.asarray(rows.y, dtype=np.float64)
        weight = np.ones(len(y)) if rows.weight is None else rows.weight
        TargetRows(rows.matrix, y, weight, rows.weight is None).refuse_squares()
        threads, quantile = n_threads(self.n_jobs), self._level(ensemble)
        contract = number_metric(self.metric, quantile)
        known = mean_of_unseen(committee, forest, rows.matrix, y, rows.unseen, rows.weight, parts, threads)
        if given[1] is None and self.on == "oob":
            check_remembered_numbers(ensemble, rows.place, known.predicted)
        tells = self._tells_loss(ensemble)
        kept = contract.kept(y, known.predicted, known.by_halves, known.unseen) if tells else None
        if self.on == "train":  # numbers that the trees know by heart would be believed too much
            y, quantile = known.predicted, None
        centre, unit = _centre_and_unit(y, weight)
        target = (y - centre) / unit
        fitted = fitted_loss(quantile)
        best = 0.0 if quantile is None else weighted_quantile(target, weight, quantile)
        constant = float(np.average(fitted(target, np.full(len(target), best)), weights=weight))
        score = "r2" if quantile is None else "d2_pinball"
        votes_loss: VoteLoss = HalfSquares()
        if quantile is not None:
            residual = float(np.average(np.abs(y - known.predicted), weights=weight)) / unit
            votes_loss = SmoothPinball(quantile, max(WIDTH * residual, LEAST_WIDTH))

        def aimed(reached: LeafRows) -> LeafRows:
            return replace(reached, y=y, target=target[:, None], loss=votes_loss)

        judge = NumberJudge(centre, unit, fitted, constant, contract, score)
        return WholeVote(known.worth, judge, kept, aimed, unit, centre)

    def _level(self, ensemble: Any) -> float | None:
        """The quantile that the ensemble predicts."""
        return quantile_level(ensemble) if self.quantile is None else self.quantile

    def _small(self, committee: Any, voters: Forest, weights: F64, table: Any) -> RegressionCommittee:
        link = Identity() if committee.link.name == "average" else committee.link
        return RegressionCommittee(voters, weights, link, table)

    def _take_answers(self, committee: Any) -> None:
        self.quantile_ = self._level(self.trained)

    @property
    def metric_name(self) -> str:
        """What `max_loss` counts: a metric's name, or a function's."""
        if self.metric is not None:
            return super().metric_name
        return "squared_error" if self._level(self.trained) is None else "pinball"


def _centre_and_unit(y: F64, weight: F64) -> tuple[float, float]:
    """Mean and standard deviation; 1 in place of the latter where numbers do not differ."""
    centre = float(np.average(y, weights=weight))
    unit = float(np.sqrt(np.average((y - centre) ** 2, weights=weight)))
    return centre, unit if unit > 1e-12 * float(np.abs(y).max()) else 1.0
