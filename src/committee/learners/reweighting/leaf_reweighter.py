"""Pruned trees with refitted leaf votes: for classification and for regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from committee.data.labels import target_vector
from committee.data.number_types import F64, Index, Mask, is_number, is_whole
from committee.data.parallel import n_threads
from committee.data.rows import ClassWeights, TargetRows, row_weights
from committee.learners.base.parameters import FRACTION, fitted, parameter, with_parameters
from committee.learners.reweighting.base_leaf_reweighter import BaseLeafReweighter, FitRows, WholeVote
from committee.learners.reweighting.leaf_cuts import LeafRows
from committee.learners.reweighting.leaf_regression import HalfSquares, SmoothPinball, VoteLoss
from committee.learners.reweighting.pruning_metrics import (
    LINK,
    ClassCriterion,
    NumberCriterion,
    classification_metric,
    regression_loss,
    regression_metric,
)
from committee.learners.reweighting.unseen_rows import (
    BLOCK,
    enough_oob_trees,
    oob_class_votes,
    oob_mean_votes,
    refuse_few_oob_trees,
)
from committee.learners.trained_ensembles.out_of_bag import (
    check_oob_predictions,
    checked_out_of_bag_mask,
    out_of_bag_mask,
)
from committee.learners.trained_ensembles.trained_ensemble import (
    RowsGiven,
    TrainedEnsembleClassifier,
    TrainedEnsembleRegressor,
    predicts_numbers,
    trained_committee,
    trained_regression,
)
from committee.objectives.losses.regression import weighted_quantile
from committee.vote.adapters.pipelines import last_step
from committee.vote.committee import Committee, RegressionCommittee
from committee.vote.links.mean import Identity
from committee.voters.forest import Forest

DEFAULT_SHARE = 0.1  # share of the nodes that stay if no limit is given
MAX_LOSS_SHARE = 1 / 3  # share of the nodes that `max_loss` tries first without `max_nodes`
WIDTH = 0.2  # residuals within which pinball loss is smooth, in mean absolute residuals of the whole ensemble
LEAST_WIDTH = 1e-3  # least such width, in standard deviations of the target

MEDIAN_LOSSES = frozenset({"absolute_error", "reg:absoluteerror", "regression_l1", "l1", "mae", "mean_absolute_error"})

# the parameters that may hold the level, by loss
QUANTILE_LOSSES = {"quantile": ("quantile", "alpha"), "reg:quantileerror": ("quantile_alpha",)}


@with_parameters
class LeafReweighter(BaseLeafReweighter, TrainedEnsembleClassifier):
    """Pruned classification trees whose leaf votes are refitted together; by default a tenth of the nodes stay.

    The trees of highest out-of-bag accuracy stay (without out-of-bag rows, those of greatest weight): as many as the
    limit of nodes allows, or more of them with their weakest sub-trees cut off; cross-validation chooses. Then all
    leaves get new votes at once, by a logistic regression that penalises deviations from their old votes. With
    ``on="oob"`` a row's old votes come from its out-of-bag trees alone, so that labels which trees have memorised do
    not bias the fit. Scores are log-odds, or of several classes logarithms of shares, fitted to be calibrated.

    The ensemble is neither trained nor changed, and `clone` does not copy it.

    Attributes
    ----------
    committee_ : Committee
        The K kept trees, each of weight 1 / K; the ensemble's committee if it is kept whole.

    References
    ----------
    S. Ren, X. Cao, Y. Wei, J. Sun (2015). Global refinement of random forest. CVPR.
    B. Liu, R. Mazumder (2023). ForestPrune: compact depth-pruned tree ensembles. AISTATS.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from committee import LeafReweighter
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(200, random_state=0).fit(X[::2], y[::2])
    >>> small = LeafReweighter(forest, max_nodes=0.1).fit(X[::2], y[::2])
    >>> small.committee_.n_nodes <= 0.1 * small.n_nodes_before_
    True
    >>> bool(small.score(X[1::2], y[1::2]) > 0.94)
    True
    """

    voter_kinds: ClassVar[tuple[str, ...] | None] = ("shared_forest", "rounds", "forest")  # rounds if kept whole
    _target_word: ClassVar[str] = "labels"
    _stratifies: ClassVar[bool] = True

    _: KW_ONLY
    metric: Any = parameter(
        "accuracy",
        """Metric of `max_loss`. "accuracy", "log_loss" or "brier" (squared distance of the probabilities to the class,
        halved for two classes). Or a score of all rows together, in its own units: the name of a scorer of
        scikit-learn, such as "roc_auc", "balanced_accuracy" or "f1" (the second of two classes is the positive one),
        its function, or a scorer by ``make_scorer``. Or a function of class numbers ``(n,)`` and probabilities ``(n,
        K)`` that returns the loss of each row, less being better. A model with a function that is not scikit-learn's
        cannot be saved.""",
        str,
        callable,
        type_words='{"accuracy", "brier", "log_loss"}, name of a scorer, or callable',
        after="max_loss",
    )

    def _committee_of(self, ensemble: Any) -> Committee:
        return trained_committee(ensemble)

    def _read_target(self, committee: Any, y: ArrayLike) -> Index | F64:
        return np.asarray(committee.class_indices(y))

    def _check_target(self, target: Index | F64) -> None:
        if len(np.unique(target)) < 2:
            raise ValueError("y holds fewer than two classes in the usable rows; give rows of at least two.")

    def _out_of_bag_mask(self, committee: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Mask:
        return checked_out_of_bag_mask(self.trained, committee, X, y, sample_weight)

    def _whole_vote(self, committee: Any, forest: Forest, rows: FitRows, parts: Sequence[Index]) -> WholeVote:
        labels = np.asarray(rows.y, dtype=np.intp)
        metric = classification_metric(self.metric, committee.classes)
        votes = oob_class_votes(committee, forest, rows.matrix, labels, rows.unseen, n_threads(self.n_jobs))
        probability, by_halves = votes.predicted, votes.by_halves  # `with_target` must not hold `votes.right` (n, T)

        def with_target(reached: LeafRows) -> LeafRows:
            if self.on != "train":
                return reached
            of_classes = np.ones(committee.n_classes)
            if self.class_weight is not None:
                y, sample_weight = np.asarray(rows.given[0]), rows.given[1]
                known = ClassWeights.of(self.class_weight, y, row_weights(sample_weight, y, warn=False))
                of_classes[committee.class_indices(known.classes)] = known.of_rows(known.classes)
            return reached.towards(probability, of_classes)

        has_new_rows = self._has_new_rows
        if has_new_rows and rows.unseen is not None:
            if self.max_loss is not None:
                refuse_few_oob_trees(rows.unseen, self.max_loss)
            has_new_rows = enough_oob_trees(rows.unseen)
        statistics = metric.statistics(labels, probability, by_halves, rows.unseen) if has_new_rows else None
        weights = np.abs(committee.weights).repeat(len(forest) // committee.n_voters)
        worth = [_oob_accuracy(rows, votes.right, part, weights) for part in parts]
        return WholeVote(worth, ClassCriterion(metric, "accuracy"), statistics, with_target)

    def _small(self, committee: Any, voters: Forest, weights: F64) -> Committee:
        return Committee(voters, weights, committee.classes, LINK)

    def _take_target(self, committee: Any) -> None:
        self.classes_ = committee.classes


def _oob_accuracy(rows: FitRows, right: Mask | None, part: Index, weights: F64) -> F64:
    if right is None or rows.unseen is None:
        return weights
    weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
    hits, counts = np.zeros(len(weights)), np.zeros(len(weights))
    for at in range(0, len(part), BLOCK):  # the product converts masks to float64
        block = part[at : at + BLOCK]
        hits += weight[block] @ right[block]
        counts += weight[block] @ rows.unseen[block]
    return np.asarray(hits / np.maximum(counts, np.finfo(float).tiny))


@with_parameters
class LeafReweighterRegressor(BaseLeafReweighter, TrainedEnsembleRegressor):
    """Pruned regression trees whose leaf votes are refitted together; by default a tenth of the nodes stay.

    It is `LeafReweighter` for numbers: the trees of least out-of-bag squared error stay, and votes are refitted by
    ridge regression, or by pinball loss if the ensemble predicts a quantile and `on` is not "train".

    Attributes
    ----------
    committee_ : RegressionCommittee
        The K kept trees, each of weight 1 / K, with the ensemble's start value in their votes; the ensemble's committee
        if it is kept whole.

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
    _target_word: ClassVar[str] = "numbers"
    _stratifies: ClassVar[bool] = False

    committee_: RegressionCommittee = fitted()
    quantile_: float | None = fitted("Level of the predicted quantile; None for means.", "float or None")

    _: KW_ONLY
    metric: Any = parameter(
        None,
        """Metric of `max_loss`: "squared_error", "absolute_error", or "pinball" of the predicted quantile. Or a score
        of all rows together, in its own units and not as a share: the name of a scorer of scikit-learn, such as "r2",
        its function, or a scorer by ``make_scorer``. Or a function of numbers ``(n,)`` and predictions ``(n,)`` that
        returns the loss of each row, less being better and none below 0. A model with a function that is not
        scikit-learn's cannot be saved. None: "pinball" if the ensemble predicts a quantile, else "squared_error".""",
        str,
        callable,
        None,
        type_words='{"absolute_error", "pinball", "squared_error"}, name of a scorer, callable or None',
        after="max_loss",
    )
    C: float | tuple[float, ...] = parameter(
        (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0),
        "Inverse penalty of the leaves' deviations from their old votes; cross-validation chooses among several.",
        *BaseLeafReweighter.declared_parameters["C"].constraints,
        type_words="float or tuple of float",
    )
    quantile: float | None = parameter(
        None,
        """Level of the quantile that the ensemble predicts, for which votes are fitted by pinball loss. None: the level
        in the ensemble's parameters (this library, scikit-learn, XGBoost, LightGBM); if it has none, the ensemble
        predicts means.""",
        FRACTION,
        after="metric",
    )

    def _committee_of(self, ensemble: Any) -> RegressionCommittee:
        committee = trained_regression(ensemble)
        if not isinstance(committee.voters, Forest):
            raise TypeError(
                f"ensemble has {type(committee.voters).__name__} for voters, and only leaves that predict constants "
                "can be reweighted; train trees with such leaves, as in GradientBoostingRegressor(leaf='constant')."
            )
        if committee.link.name == "log" and self.on != "train":
            raise ValueError(
                "ensemble predicts the exponential of its score, and leaf votes are fitted by squared or pinball loss; "
                "give its training rows with on='train', by which they are fitted to its own scores."
            )
        return committee

    def _read_target(self, committee: Any, y: ArrayLike) -> Index | F64:
        return target_vector(y)

    def _check_target(self, target: Index | F64) -> None:
        if len(target) < 2:
            raise ValueError(f"n_samples={len(target)} usable rows; give at least two.")

    def _out_of_bag_mask(self, committee: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Mask:
        return out_of_bag_mask(self.trained, committee.n_voters, target_vector(y), sample_weight, X)

    def _whole_vote(self, committee: Any, forest: Forest, rows: FitRows, parts: Sequence[Index]) -> WholeVote:
        y = np.asarray(rows.y, dtype=np.float64)
        weight = np.ones(len(y)) if rows.weight is None else rows.weight
        TargetRows(rows.matrix, y, weight, rows.weight is None).check_squares()
        threads, quantile = n_threads(self.n_jobs), self._quantile
        metric = regression_metric(self.metric, quantile)
        votes = oob_mean_votes(committee, forest, rows.matrix, y, rows.unseen, rows.weight, parts, threads)
        if rows.given[1] is None and self.on == "oob":
            check_oob_predictions(self.trained, rows.place, votes.predicted)
        statistics = None
        if self._has_new_rows:
            statistics = metric.statistics(y, votes.predicted, votes.by_halves, rows.unseen)
        if self.on == "train":  # trees have memorised y
            y, quantile = votes.predicted, None
        centre = float(np.average(y, weights=weight))
        unit = float(np.sqrt(np.average((y - centre) ** 2, weights=weight)))
        unit = unit if unit > 1e-12 * float(np.abs(y).max()) else 1.0  # equal numbers have no spread
        target = (y - centre) / unit
        loss = regression_loss(quantile)
        best = 0.0 if quantile is None else weighted_quantile(target, weight, quantile)
        constant_loss = float(np.average(loss(target, np.full(len(target), best)), weights=weight))
        score = "r2" if quantile is None else "d2_pinball"
        fitted_loss: VoteLoss = HalfSquares()
        if quantile is not None:
            residual = float(np.average(np.abs(y - votes.predicted), weights=weight)) / unit
            fitted_loss = SmoothPinball(quantile, max(WIDTH * residual, LEAST_WIDTH))

        def with_target(reached: LeafRows) -> LeafRows:
            return replace(reached, y=y, target=target[:, None], loss=fitted_loss)

        criterion = NumberCriterion(metric, score, centre, unit, loss=loss, constant_loss=constant_loss)
        return WholeVote(votes.worth, criterion, statistics, with_target)

    @property
    def _quantile(self) -> float | None:
        return quantile_level(self.trained) if self.quantile is None else self.quantile

    def _small(self, committee: Any, voters: Forest, weights: F64) -> RegressionCommittee:
        return RegressionCommittee(voters, weights, Identity() if committee.link.name == "average" else committee.link)

    def _take_target(self, committee: Any) -> None:
        self.quantile_ = self._quantile

    @property
    def metric_name(self) -> str:
        if self.metric is not None:
            return super().metric_name
        return "squared_error" if self._quantile is None else "pinball"


def quantile_level(ensemble: Any) -> float | None:
    ensemble = last_step(ensemble)
    known = getattr(ensemble, "quantile_", None)
    if isinstance(known, Real):
        return float(known)
    if not hasattr(ensemble, "get_params"):
        return None
    params = ensemble.get_params(deep=False)
    for loss in (params.get("loss"), params.get("objective"), params.get("criterion")):
        if not isinstance(loss, str):
            continue
        if loss in MEDIAN_LOSSES and loss != params.get("criterion"):
            return 0.5
        for name in QUANTILE_LOSSES.get(loss, ()):
            if isinstance(params.get(name), Real):
                return float(params[name])
    return None


# --- levels of pruning -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Limits:
    max_nodes: float | None
    max_voters: int | None
    min_gain: float | None
    max_loss: float | None = None
    metric: Any = None

    def __post_init__(self) -> None:
        nodes, voters, gain = self.max_nodes, self.max_voters, self.min_gain
        if voters is not None and not (is_whole(voters) and voters >= 1):
            raise ValueError(f"max_voters={voters!r} must be a whole number of at least 1, or None.")
        whole = is_whole(nodes)
        if nodes is not None and not (is_number(nodes) and (nodes >= 1 if whole else 0.0 < nodes <= 1.0)):
            raise ValueError(f"max_nodes={nodes!r} must be a share in (0, 1], a whole number above 0, or None.")
        if self.max_loss is not None and not (is_number(self.max_loss) and 0.0 <= self.max_loss < float("inf")):
            raise ValueError(f"max_loss={self.max_loss!r} must be a finite number that is not negative, or None.")
        if gain is not None and not (is_number(gain) and gain >= 0.0):
            raise ValueError(f"min_gain={gain!r} must be a number that is not negative, or None.")


def prune_leaves(
    ensemble: Any,
    limits: Limits,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    *,
    on: RowsGiven,
    n_jobs: int | None,
    objective: Any = None,
    quantile: float | None = None,
    **options: Any,
) -> LeafReweighter | LeafReweighterRegressor:
    if X is None or y is None:
        raise ValueError("this level needs rows; pass X and y: rows as the parameter on describes them.")
    if limits.max_voters is not None:
        raise ValueError(
            f"max_voters={limits.max_voters!r} limits whole voters, and this level limits nodes; give max_nodes "
            "instead, or, for votes of classes, level='voter'."
        )
    max_nodes = limits.max_nodes
    if max_nodes is None:
        max_nodes = DEFAULT_SHARE if limits.max_loss is None else MAX_LOSS_SHARE
    given = {"metric": limits.metric, "quantile": quantile}
    options |= {name: value for name, value in given.items() if value is not None}
    options |= {"min_gain": limits.min_gain, "max_loss": limits.max_loss}
    kind = LeafReweighterRegressor if predicts_numbers(ensemble) else LeafReweighter
    model = kind(ensemble, max_nodes=max_nodes, on=on, n_jobs=n_jobs, **options).fit(X, y, sample_weight)
    model.ensemble = model.committee_  # smaller in memory and in files too
    return model
