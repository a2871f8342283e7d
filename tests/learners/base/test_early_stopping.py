"""The boosting loop on a small booster, and early stopping by losses and scorers."""

from contextlib import nullcontext
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import clone, is_regressor
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, get_scorer, make_scorer
from sklearn.pipeline import make_pipeline
from sklearn.utils.class_weight import compute_sample_weight

import committee
from committee import (
    AdaBoostClassifier,
    ArcGVClassifier,
    DOOMBoostClassifier,
    FunctionalGradientBoostingClassifier,
    FunctionalGradientBoostingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LogitBoostClassifier,
    MDBoostClassifier,
    ProbitBoostClassifier,
    QuadBoostClassifier,
    QuadBoostRegressor,
    RegressionCommittee,
    TreeRegressor,
)
from committee.data.rows import TargetRows, scaled_weights
from committee.learners.base import shared_parameters as shared
from committee.learners.base.boosting import Boosting
from committee.learners.base.early_stopping import EarlyStopping, StagedLoss
from committee.learners.base.parameters import COUNT, parameter, with_parameters
from committee.learners.base.predictors import BaseRegressor
from committee.learners.base.row_sampling import GroupedUnits
from committee.learners.gradient.target import PartedRows
from committee.vote.links.mean import Identity
from committee.voters.forest import Forest
from tests.learners.base.test_capabilities import words
from tests.limits import examples
from tests.model_files import craft, refused, tell
from tests.subjects import assert_same_bits, noisy_scores, numbers, weights


def coarse(seed: int = 0, n: int = 400) -> tuple[Any, Any]:
    X = np.random.default_rng(seed).normal(size=(n, 3)).round(1)
    return X, X[:, 0] + np.arange(n) / 1e6  # no two targets are equal


# --- early stopping ----------------------------------------------------------------------------------------------


DECLINE = [3.0, 2.0, 1.75, 1.5, 1.0, 0.97, 0.95]  # 1 - 0.95 is less than 0.1, as are its parts


@pytest.mark.parametrize(
    ("losses", "patience", "tol", "ended", "best"),
    [
        ([3, 2, 2, 2, 2], 2, 0.0, 4, 2),  # a tie is no improvement, and the first of the best counts
        ([3, 2, 3, 1, 3, 3], 2, 0.0, 6, 4),
        ([3, 4, 5], 5, 0.0, None, 1),
        ([1, 2], 1, 0.0, 2, 1),
        *(
            (DECLINE, 2, tol, ended, best)
            for tol, ended, best in ((0.1, 7, 5), (0.5, 4, 2), (1.0, 5, 3), (np.inf, 3, 1))
        ),
    ],
)
def test_patience_and_improvements_up_to_tol(losses, patience, tol, ended, best):
    stopping = EarlyStopping(lambda t: losses[t - 1], patience, tol=tol)
    last = next((t for t in range(1, len(losses) + 1) if stopping.follow(t)), None)
    assert (last, stopping.best, stopping.losses) == (ended, best, losses[:ended])


def test_several_rounds_at_once_are_followed_one_by_one_and_the_loss_before_any_may_count():
    calls: list[int] = []
    stopping = EarlyStopping(lambda t: calls.append(t) or abs(t - 2.0), patience=3)
    assert not stopping.follow(0)
    assert stopping.follow(5) and stopping.best == 2
    assert calls == [1, 2, 3, 4, 5]
    losses = [1.0, 2.0, 3.0, 4.0]
    stopping = EarlyStopping(losses.__getitem__, patience=2, first=0)
    assert not stopping.follow(0) and stopping.losses == [1.0]
    assert not stopping.follow(2) and stopping.follow(3)
    assert stopping.best == 1 and stopping.losses == losses  # a committee needs a voter


@pytest.mark.parametrize(("start", "losses"), [(0.0, [2.0, 6.0, 12.0]), (np.ones((2, 1)), [4.0, 8.0, 14.0])])
def test_votes_add_up(start, losses):
    loss = StagedLoss(lambda t: np.full((2, 1), float(t)), lambda F: float(F.sum()), start)
    assert [loss(t) for t in (1, 2, 3)] == losses


# --- a booster of its own ------------------------------------------------------------------------------------------


class ResidualRun:
    """Stumps on residuals, half of each."""

    n_rounds = 0

    def __init__(self, rows: TargetRows, ends_after: int) -> None:
        self.rows, self.ends_after = rows, ends_after
        self.residual = rows.target.copy()
        self.forests: list[Forest] = []

    def has_next(self) -> bool:
        return self.n_rounds < self.ends_after

    def advance(self) -> None:
        self.n_rounds += 1
        tree = TreeRegressor(max_depth=1).fit(self.rows.X, self.residual, self.rows.weights)
        self.residual -= 0.5 * tree.predict(self.rows.X)
        self.forests.append(tree.committee_.voters)  # type: ignore[arg-type]


@with_parameters
class ResidualBoosting(Boosting, BaseRegressor):
    """All that a new booster has to say."""

    stored_attributes: ClassVar[tuple[str, ...]] = ("losses_",)

    n_estimators: int = shared.n_estimators(5, "the residuals are gone")
    _: KW_ONLY
    ends_after: int = parameter(99, "Rounds that a run has.", COUNT)
    validation_fraction: float = shared.validation_fraction(0.25)
    n_iter_no_change: int = shared.n_iter_no_change(2)
    random_state: Any = parameter(0, "Seed.", "random_state")

    def _run(self, rows: TargetRows, random: np.random.RandomState) -> ResidualRun:
        self.trained_on_ = rows
        return ResidualRun(rows, self.ends_after)

    def _early_stopping(self, run: ResidualRun, held_out: TargetRows) -> EarlyStopping:
        self.held_out_ = held_out
        loss = StagedLoss(
            lambda t: 0.5 * run.forests[t - 1].tally(held_out.X)[:, 0],
            lambda F: float(np.average((held_out.target - F) ** 2, weights=held_out.weights)),
        )
        return EarlyStopping(loss, self.n_iter_no_change)

    def _fitted(self, run: ResidualRun, n_rounds: int, losses: Any) -> dict[str, Any]:
        voters, weights = Forest.concatenate(run.forests[:n_rounds]), np.full(n_rounds, 0.5)
        return {"committee_": RegressionCommittee(voters, weights, Identity(), self.table_), "losses_": losses}


def test_a_new_booster_is_a_run_and_its_attributes():
    X, y = coarse()
    model = ResidualBoosting().fit(X, y)
    assert model.committee_.n_voters == 5 and model.losses_ is None
    assert len(model.trained_on_) == 400
    errors = [((y - stage) ** 2).mean() for stage in model.staged_predict(X)]
    assert errors == sorted(errors, reverse=True)
    assert ResidualBoosting(ends_after=3).fit(X, y).committee_.n_voters == 3


def test_rounds_after_the_best_are_left_out():
    X, y = coarse()
    noise = np.random.default_rng(1).normal(size=400)
    model = ResidualBoosting(6, early_stopping=True).fit(X, noise, X_val=X, y_val=-noise)
    assert model.committee_.n_voters == 1
    assert len(model.losses_) == 3 and model.losses_.argmin() == 0
    stopped = ResidualBoosting(6, early_stopping=True).fit(X, y, X_val=X, y_val=y)
    assert stopped.committee_.n_voters == 6
    assert_array_equal(stopped.predict(X), ResidualBoosting(6).fit(X, y).predict(X))


# --- held-out rows -------------------------------------------------------------------------------------------------


def test_rows_are_shared_out():
    X, y = coarse()
    w = scaled_weights(np.random.default_rng(2).exponential(size=400))
    model, again = (ResidualBoosting(early_stopping=True).fit(X, y, w) for _ in range(2))
    parts = model.trained_on_, model.held_out_
    assert [len(part) for part in parts] == [300, 100]
    assert_array_equal(np.sort(np.concatenate([part.target for part in parts])), np.sort(y))
    for part in parts:
        at = np.flatnonzero(np.isin(y, part.target))
        assert_array_equal(part.X, X[at])
        assert_array_equal(part.weights, w[at])
    assert_array_equal(again.trained_on_.target, parts[0].target)


def test_rows_of_the_user_are_held_out():
    X, y = coarse()
    X_val, y_val = coarse(7, 30)
    model = ResidualBoosting(early_stopping=True).fit(X, y, X_val=X_val, y_val=y_val)
    held = model.held_out_
    assert len(model.trained_on_) == 400
    assert_array_equal(held.X, X_val)
    assert_array_equal(held.target, y_val)
    assert held.uniform and held.count == 30.0
    watched = ResidualBoosting().fit(X, y, X_val=X_val, y_val=y_val)
    assert watched.committee_.n_voters == watched.n_estimators
    with pytest.raises(ValueError, match="Input y_val contains NaN: row 3"):
        model.fit(X, y, X_val=X_val, y_val=np.where(np.arange(30) == 3, np.nan, y_val))


@pytest.mark.parametrize(("fraction", "n"), [(0.99, 10), (0.5, 1)])
def test_too_few_rows_to_share(fraction, n):
    X, y = coarse(n=n)
    model = ResidualBoosting(early_stopping=True, validation_fraction=fraction)
    with pytest.raises(ValueError, match=f"validation_fraction={fraction} holds out {n} of {n} rows|holds out 1 of 1"):
        model.fit(X, y)


STOPPED = {"early_stopping": True, "n_iter_no_change": 4, "random_state": 0}
UNCALIBRATED = STOPPED | {"calibrate": None}
SMALL = STOPPED | {"n_estimators": 20, "min_samples_leaf": 2, "max_leaf_nodes": 4}
CLASSIFIERS = [
    AdaBoostClassifier(25, **UNCALIBRATED),
    AdaBoostClassifier(25, max_depth=2, vote="confidence", **UNCALIBRATED),
    AdaBoostClassifier(25, vote="abstaining", **UNCALIBRATED),
    AdaBoostClassifier(8, voter=LogisticRegression(), **UNCALIBRATED),
    ArcGVClassifier(15, **UNCALIBRATED),
    MDBoostClassifier(2.0, n_estimators=15, max_depth=2, tol=0.01, **UNCALIBRATED),
    DOOMBoostClassifier(n_estimators=20, n_start=5, **UNCALIBRATED),
    ProbitBoostClassifier(25, **STOPPED),
    LogitBoostClassifier(15, learner="stump", **STOPPED),
    QuadBoostClassifier(n_estimators=20, **STOPPED),
    QuadBoostClassifier("l2", n_estimators=12, dictionary="trees", reweight="fully_corrective", **STOPPED),
    QuadBoostClassifier(None, n_estimators=12, fit_intercept=False, **STOPPED),
    GradientBoostingClassifier(**SMALL),
    GradientBoostingClassifier(20, loss="exponential", min_samples_leaf=2, tree="shared", line_search=True, **STOPPED),
    FunctionalGradientBoostingClassifier(n_estimators=12, learning_rate=0.5, **STOPPED),
]
REGRESSORS = [
    QuadBoostRegressor(n_estimators=20, **STOPPED),
    GradientBoostingRegressor(**SMALL),
    FunctionalGradientBoostingRegressor(n_estimators=12, learning_rate=0.5, **STOPPED),
    GradientBoostingRegressor(loss="poisson", **SMALL),
]
each_booster = pytest.mark.parametrize("model", CLASSIFIERS + REGRESSORS, ids=words)
OF_ERRORS = (AdaBoostClassifier, ArcGVClassifier, MDBoostClassifier, DOOMBoostClassifier)
"""Boosters that stop by the error. They calibrate probabilities when the rounds are over, which is off here."""
quiet = pytest.mark.filterwarnings("ignore:No voter beats", "ignore:A re-weighting ended", "ignore:n_estimators=.* end")


def loss_of(model):
    """The held-out loss that is followed without a scorer."""
    names = ("validation_errors_", "validation_risks_", "validation_losses_")
    return next(getattr(model, name) for name in names if hasattr(model, name))


def rows_of(model, n_classes=2, n=150, seed=0):
    return noisy_scores(n, seed) if is_regressor(model) else numbers(n_classes, n, seed)


OF_CLASSES = ["accuracy", "balanced_accuracy", "f1_macro", "roc_auc_ovr", "neg_log_loss"]


@pytest.mark.one_in(4)
@quiet
@pytest.mark.parametrize(
    ("model", "n_classes", "scoring"),
    [
        *((model, k, scoring) for model in CLASSIFIERS for k in (2, 3) for scoring in OF_CLASSES),
        *((model, 0, scoring) for model in REGRESSORS for scoring in ("r2", "neg_mean_absolute_error")),
    ],
    ids=lambda value: value if isinstance(value, str | int) else words(value),
)
def test_the_best_score_is_that_of_the_model_that_is_kept(model, n_classes, scoring):
    (X, y), (X_val, y_val) = rows_of(model, n_classes), rows_of(model, n_classes, 90, 7)
    if n_classes:
        y, y_val = (np.array(["ant", "bee", "cow"])[each] for each in (y, y_val))
    fitted = clone(model).set_params(scoring=scoring).fit(X, y, X_val=X_val, y_val=y_val)
    scores = fitted.validation_scores_
    assert loss_of(fitted) is None
    assert len(scores) == scores.argmax() + 1 and (scores > -np.inf).all()
    assert scores[-1] == pytest.approx(get_scorer(scoring)(fitted, X_val, y_val), abs=1e-12)


def test_every_booster_is_there():
    kinds = {type(model).__name__ for model in CLASSIFIERS + REGRESSORS}
    assert kinds == {name for name in committee.LEARNERS if issubclass(committee.learner(name), Boosting)}


@pytest.mark.one_in(3)
@quiet
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", [model for model in CLASSIFIERS if isinstance(model, OF_ERRORS)], ids=words)
def test_a_scorer_of_the_error_keeps_what_the_error_keeps(model, n_classes):
    X, y = numbers(n_classes, 150)
    w = weights(150)
    by_error = clone(model).fit(X, y, w)
    by_score = clone(model).set_params(scoring="accuracy").fit(X, y, w)
    assert_same_bits(by_score, by_error, X)
    assert_allclose(by_score.validation_scores_, 1.0 - by_error.validation_errors_, atol=1e-12)


@quiet
@pytest.mark.parametrize("model", CLASSIFIERS, ids=words)
def test_class_weights_are_weights_of_the_held_out_rows(model):
    X, y = numbers(2, 150)
    given = {0: 0.5, 1: 3.0}
    scored = clone(model).set_params(scoring="f1_macro")
    weighted = clone(scored).set_params(class_weight=given).fit(X, y)
    multiplied = clone(scored).fit(X, y, compute_sample_weight(given, y))
    assert_same_bits(weighted, multiplied, X)
    assert_array_equal(weighted.validation_scores_, multiplied.validation_scores_)


def fitted_by(scoring, y_val=None, **params):
    X, y = numbers(3, 150)
    X_val, labels = numbers(3, 90, 7)
    settings = {"n_estimators": 15, "early_stopping": True, "n_iter_no_change": 3, **params}
    model = AdaBoostClassifier(scoring=scoring, **settings)
    return model.fit(X, y, X_val=X_val, y_val=labels if y_val is None else y_val)


def test_a_callable_is_given_the_model_and_the_held_out_rows_and_is_not_stored(tmp_path):
    seen = []

    def score(model, X, y):
        seen.append((X.shape, model.predict(X).shape, model.predict_proba(X).shape, model.decision_function(X).shape))
        return float((model.predict(X) == y).mean())

    model = fitted_by(score)
    assert_array_equal(model.validation_scores_, fitted_by("accuracy").validation_scores_)
    assert set(seen) == {((90, 5), (90,), (90, 3), (90, 3))}
    assert len(seen) >= len(model.validation_scores_)
    with pytest.raises(TypeError, match=r"scoring is a .*, which a model file cannot hold"):
        fitted_by(make_scorer(accuracy_score)).save(tmp_path / "model")


def test_a_callable_that_takes_no_weights_is_refused_where_there_are_some():
    with pytest.raises(ValueError, match=r"scoring=.* takes no sample_weight, but the scored rows have weights"):
        fitted_by(lambda model, X, y: 0.0, class_weight="balanced")
    model = fitted_by(
        lambda model, X, y, sample_weight: -float(sample_weight @ (model.predict(X) != y)), class_weight="balanced"
    )
    assert model.validation_scores_[-1] <= 0.0


@pytest.mark.parametrize(
    ("scoring", "message"),
    [
        ("acuracy", "scoring='acuracy' is not the name of a scorer; sklearn.metrics.get_scorer_names"),
        ("f1", "scoring='f1' cannot score the rows: Target is multiclass"),
        ("roc_auc", "scoring='roc_auc' cannot score the rows: multi_class must be in"),
        (lambda model, X, y: np.nan, r"is NaN on the scored rows\. Choose another scorer"),
        (lambda model, X, y: None, "cannot score the rows: float"),
        (lambda model, X, y: model.predict(X[:3]), "may predict the rows X that it is given, and no others"),
        ([], r"scoring=\[\] names no scorer; give one, or None for the loss"),
        (["accuracy", "accuracy"], "has two scorers named 'accuracy'; leave one out or rename it"),
    ],
)
def test_refused(scoring, message):
    with pytest.raises(ValueError, match=message):
        fitted_by(scoring)


@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score", "balanced_accuracy", "f1_macro", "accuracy"])
def test_held_out_rows_may_lack_a_class(scoring):
    _, y_val = numbers(3, 90, 7)
    for labels in (np.where(y_val == 1, 2, y_val), np.full(90, 2)):
        assert np.isfinite(fitted_by(scoring, labels).validation_scores_).all()
    with pytest.raises(ValueError, match=r"scoring='roc_auc_ovr' .* no row of class 1"):
        fitted_by("roc_auc_ovr", np.where(y_val == 1, 2, y_val))


@each_booster
def test_a_scorer_without_held_out_rows_is_refused(model):
    judged = clone(model).set_params(early_stopping=False, scoring="r2" if is_regressor(model) else "accuracy")
    if getattr(judged, "learning_rate", None) == "auto":  # trials have held-out rows
        judged.set_params(learning_rate=0.1)
    with pytest.raises(ValueError, match=r"scoring='.*' needs held-out rows, and there are none; set early_stopping="):
        judged.fit(*rows_of(model))


def test_scorers_that_a_booster_or_its_target_does_not_take():
    for kind, scoring, message in (
        (GradientBoostingRegressor, "roc_auc", "scoring='roc_auc' cannot score the rows: .* has none of the"),
        (ResidualBoosting, "r2", "scoring='r2': a ResidualBoosting takes no scorers; set scoring=None"),
    ):
        with pytest.raises(ValueError, match=message):
            kind(early_stopping=True, scoring=scoring).fit(*noisy_scores())


def test_a_warm_start_goes_on_with_the_scores(tmp_path):
    X, y = numbers(2, 200)
    settings = {"early_stopping": True, "n_iter_no_change": 50, "random_state": 0, "min_samples_leaf": 2}
    model = GradientBoostingClassifier(n_estimators=12, scoring="roc_auc", **settings)
    whole, checked = clone(model).fit(X, y), clone(model).fit(X, y, checkpoint=tmp_path / "fit")
    part = clone(model).set_params(n_estimators=5, warm_start=True).fit(X, y)
    more = part.set_params(n_estimators=12).fit(X, y)
    assert_array_equal(more.validation_scores_[: len(whole.validation_scores_)], whole.validation_scores_)
    assert_same_bits(checked, whole, X)


@quiet
@pytest.mark.parametrize("kind", [AdaBoostClassifier, GradientBoostingClassifier])
def test_sparse_rows_are_scored_as_dense_ones(kind):
    X, y = numbers(2, 150)
    X[np.abs(X) < 0.5] = 0.0
    dense, sparse = (kind(n_estimators=8, scoring="roc_auc", **STOPPED).fit(rows, y) for rows in (X, csr_array(X)))
    assert_array_equal(dense.validation_scores_, sparse.validation_scores_)


# --- weights of validation rows, least improvements -------------------------------------------------------------------


def weighted_rows(model, n=90, seed=7):
    X, y = rows_of(model, n=n, seed=seed)
    w = np.random.default_rng(3).integers(0, 4, n)
    kept = np.repeat(np.arange(n), w)
    return X, y, w, kept


@pytest.mark.one_in(3)
@quiet
@each_booster
def test_weights_of_validation_rows_are_repeated_rows(model):
    X, y = rows_of(model)
    X_val, y_val, w, kept = weighted_rows(model)
    scoring = "r2" if is_regressor(model) else "neg_log_loss"
    for options in ({}, {"scoring": scoring}):
        booster = clone(model).set_params(**options)
        weighted = clone(booster).fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=w)
        repeated = clone(booster).fit(X, y, X_val=X_val[kept], y_val=y_val[kept])
        losses = (each.validation_scores_ if options else loss_of(each) for each in (weighted, repeated))
        assert_allclose(*losses, rtol=1e-9, atol=1e-12)
        scaled = clone(booster).fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=w * 2.0**-40)
        assert scaled.best_iteration_ == weighted.best_iteration_ == repeated.best_iteration_


def test_weights_of_validation_rows_are_checked():
    X, y = numbers(2)
    X_val, y_val, w, kept = weighted_rows(GradientBoostingClassifier())
    model = GradientBoostingClassifier(n_estimators=2)
    for message, rows in (
        ("sample_weight_val goes with X_val and y_val; X_val is missing", {"sample_weight_val": w}),
        ("sample_weight_val is zero for every row", {"X_val": X_val, "y_val": y_val, "sample_weight_val": 0 * w}),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, y, **rows)
    frame = pd.DataFrame(X_val).add_prefix("x").assign(w=w, label=y_val)
    by_name = clone(model).fit(pd.DataFrame(X).add_prefix("x"), y, X_val=frame, y_val="label", sample_weight_val="w")
    plain = clone(model).fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=w)
    assert_array_equal(by_name.validation_losses_, plain.validation_losses_)
    balanced = clone(model).set_params(class_weight={0: 1, 1: 3})
    both = clone(balanced).fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=w)
    factors = clone(balanced).fit(X, y, X_val=X_val[kept], y_val=y_val[kept])
    assert_allclose(both.validation_losses_, factors.validation_losses_)


def test_tol_ends_a_fit_earlier():
    X, y = rows_of(GradientBoostingRegressor(), n=400)
    model = GradientBoostingRegressor(n_estimators=60, early_stopping=True, n_iter_no_change=5, random_state=0)
    every, large = clone(model).fit(X, y), clone(model).set_params(tol=0.05).fit(X, y)
    assert large.best_iteration_ < every.best_iteration_
    losses = large.validation_losses_
    assert_array_equal(losses, every.validation_losses_[: len(losses)])
    with pytest.raises(ValueError, match="'tol' parameter of GradientBoostingRegressor must be"):
        model.set_params(tol=-1.0).fit(X, y)


# --- groups -----------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 3), st.sampled_from([0.05, 0.1, 0.25, 0.5]))
@settings(max_examples=examples(20, 200))
def test_whole_groups_are_held_out_and_every_class_stays(seed, n_groups, n_classes, share):
    rng = np.random.default_rng(seed)
    group, labels = rng.integers(0, n_groups, 60), rng.integers(0, n_classes, 60)
    group[:n_groups] = np.arange(n_groups)
    groups = GroupedUnits.of(group, labels, rng.permutation(n_groups))
    held = groups.held_out(share)
    if held is None:
        alone = [set(labels[group == g]).difference(labels[group != g]) for g in range(n_groups)]
        assert all(alone)
    else:
        assert set(group[held]).isdisjoint(group[~held])
        assert set(labels[~held]) == set(labels) and 0 < held.sum() < 60
        sizes = np.bincount(group)
        assert held.sum() < max(2.0 * share * 60, sizes.min() + 1) or held.sum() in sizes
    part = groups.parts(4)
    for k in range(4):
        inside = part == k
        assert set(group[inside]).isdisjoint(group[~inside])
        assert set(labels[~inside]) == set(labels)


@pytest.mark.one_in(3)
@quiet
@each_booster
def test_groups_are_held_out_as_wholes(model, monkeypatch):
    X, y = rows_of(model)
    group = np.arange(len(y)) // 5
    seen = []

    def hold_out(self, rows, random):
        training, held_out = self_hold_out(self, rows, random)
        if isinstance(held_out, PartedRows):
            seen.append((rows.group[held_out.units.rows_of(~held_out.held)[0]], held_out.held_rows().group))
        else:
            seen.append((training.group, held_out.group))
        return training, held_out

    self_hold_out = type(model)._hold_out
    monkeypatch.setattr(type(model), "_hold_out", hold_out)
    fitted = clone(model).fit(X, y, groups=[f"patient {g}" for g in group])
    (trained, held), n = seen[0], len(y)
    assert set(trained).isdisjoint(held) and len(trained) + len(held) == n
    assert 0.05 * n < len(held) < 0.2 * n
    w = np.where(np.arange(n) < 20, 0.0, 1.0)
    weighted = clone(model).fit(X, y, w, groups=group)
    assert_same_bits(weighted, clone(model).fit(X[20:], y[20:], groups=group[20:]), X)
    frame = pd.DataFrame(X).add_prefix("x")
    by_name = clone(model).fit(frame.assign(patient=group), y, groups="patient")
    assert_array_equal(by_name.predict(frame), fitted.predict(X))
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline("passthrough", clone(model).set_fit_request(groups=True))
        assert_same_bits(pipeline.fit(X, y, groups=group)[-1], fitted, X)


def test_groups_in_trials_of_the_learning_rate():
    X, y = rows_of(GradientBoostingRegressor(), n=200)
    group = np.arange(200) // 4
    X = np.column_stack([X, group])  # a column by which rows of a group know each other
    y = y + np.random.default_rng(5).normal(size=50)[group] * 3.0
    model = GradientBoostingRegressor(n_estimators=20, random_state=0)
    rows, whole = model.fit(X, y).learning_rate_, clone(model).fit(X, y, groups=group).learning_rate_
    assert whole < rows  # rows of known groups ask for larger steps than those of new ones
    order = np.random.default_rng(0).permutation(200)
    assert clone(model).fit(X[order], y[order], groups=group[order]).learning_rate_ == whole
    assert clone(model).fit(X, y, groups=9 - group).learning_rate_ == whole


def test_groups_of_rows_in_pieces_are_those_of_a_frame():
    X, y = numbers(2, 90)
    frame = pl.DataFrame(dict(zip("abcde", X.T, strict=True)) | {"y": y, "patient": np.arange(90) // 3})
    pieces = committee.scan([frame.drop("patient")[first : first + 30] for first in range(0, 90, 30)])
    model = GradientBoostingClassifier(**SMALL, return_train_score=True)
    whole = clone(model).fit(frame, "y", groups="patient")
    pieced = clone(model).fit(pieces, "y", groups=frame["patient"].to_numpy())
    assert pieced.evals_result_ == whole.evals_result_
    with pytest.raises(ValueError, match="groups='patient' names a column, and rows in pieces need an array"):
        model.fit(pieces, "y", groups="patient")


def test_groups_that_cannot_be_held_out():
    X, y = numbers(2, 60)
    model = GradientBoostingClassifier(n_estimators=2, early_stopping=True)
    for groups, message in (
        (y, "no group can be held out, as each has all rows of a class"),
        (np.arange(59), r"groups has shape \(59,\); 60 rows need one group each"),
        (np.zeros(60), "groups holds one group only"),
        ("patient", "groups='patient' names a column, but X is a ndarray"),
    ):
        for each in (model, AdaBoostClassifier(2, early_stopping=True)):
            with pytest.raises(ValueError, match=message):
                each.fit(X, y, groups=groups)
    for each in (ProbitBoostClassifier(3), GradientBoostingClassifier(n_estimators=2, learning_rate=0.1)):
        with pytest.raises(ValueError, match="groups are given, but no rows of X are held out; set early_stopping="):
            each.fit(X, y, groups=np.arange(60) // 3)


# --- curves of training and validation rows ---------------------------------------------------------------------------


@pytest.mark.one_in(3)
@quiet
@each_booster
def test_curves_are_those_of_the_stages(model, tmp_path):
    (X, y), (X_val, y_val) = rows_of(model), rows_of(model, n=90, seed=7)
    names = ["r2", "neg_mean_absolute_error"] if is_regressor(model) else ["neg_log_loss", "accuracy"]
    settings = {"early_stopping": False, "return_train_score": True, "scoring": names}
    fitted = clone(model).set_params(**settings).fit(X, y, X_val=X_val, y_val=y_val)
    curves = fitted.evals_result_
    assert list(curves) == ["training", "validation"] and list(curves["training"]) == names
    assert_array_equal(fitted.validation_scores_, curves["validation"][names[0]])
    for rows, (X_of, y_of) in {"training": (X, y), "validation": (X_val, y_val)}.items():
        for name in names:
            assert curves[rows][name][-1] == pytest.approx(get_scorer(name)(fitted, X_of, y_of), abs=1e-9)
    if isinstance(fitted, GradientBoostingClassifier):
        assert curves["training"]["accuracy"] == [np.mean(stage == y) for stage in fitted.staged_predict(X)]
    frame = fitted.evals_frame()
    assert frame.columns.tolist() == ["rows", "metric", "round", "value"]
    T = len(curves["training"][names[1]])
    assert frame[(frame["rows"] == "training") & (frame["metric"] == names[1])]["round"].tolist() == [*range(1, T + 1)]
    if not isinstance(getattr(model, "voter", None), LogisticRegression):
        fitted.save(tmp_path / "model")
        assert committee.load(tmp_path / "model").evals_result_ == curves


@quiet
@each_booster
def test_curves_change_no_model_and_hold_the_losses(model):
    X, y = rows_of(model)
    plain, watched = clone(model).fit(X, y), clone(model).set_params(return_train_score=True).fit(X, y)
    assert_same_bits(watched, plain, X)
    losses, best = watched.evals_result_["validation"]["loss"], watched.best_iteration_
    first = 1 if hasattr(plain, "validation_risks_") and len(loss_of(plain)) == best + 1 else 0
    assert losses[:best] == loss_of(watched)[first:][:best].tolist()
    assert plain.evals_result_ == {"validation": watched.evals_result_["validation"]}
    assert len(watched.evals_result_["training"]["loss"]) == len(losses) >= best


def test_training_rows_alone_may_be_recorded():
    X, y = rows_of(GradientBoostingRegressor())
    model = GradientBoostingRegressor(n_estimators=6, return_train_score=True, leaf="constant", random_state=0)
    losses = model.fit(X, y).evals_result_["training"]["loss"]
    assert_allclose(losses, [((y - stage) ** 2).mean() / 2 for stage in model.staged_predict(X)])
    assert model.best_iteration_ is model.validation_losses_ is model.validation_scores_ is None
    scored = clone(model).set_params(scoring="r2").fit(X, y)
    assert scored.evals_result_["training"]["r2"][-1] == pytest.approx(scored.score(X, y))
    warm = clone(model).set_params(n_estimators=3, warm_start=True).fit(X, y).set_params(n_estimators=6).fit(X, y)
    assert_allclose(warm.evals_result_["training"]["loss"], losses)
    table = model.evals_frame("polars")
    assert isinstance(table, pl.DataFrame) and table["value"].to_list() == losses
    with pytest.raises(ValueError, match="backend='dask' is not one of 'pandas', 'polars', 'pyarrow'"):
        model.evals_frame("dask")


def test_curves_that_are_not_there():
    X, y = numbers(2)
    model = GradientBoostingClassifier(n_estimators=2).fit(X, y)
    assert model.evals_result_ is None
    for each in (model, GradientBoostingClassifier(return_train_score=True)):
        with pytest.warns(UserWarning, match="one class only") if each is not model else nullcontext():
            each.fit(X, y if each is model else np.zeros(len(y)))
        with pytest.raises(ValueError, match="there are no curves; fit with early_stopping=True, X_val, or return_tra"):
            each.evals_frame()
    bare = GradientBoostingRegressor(
        loss=lambda y, F: (F - y, np.ones_like(F)), n_estimators=2, return_train_score=True
    )
    with pytest.raises(ValueError, match="gives derivatives but no value, which early stopping, curves of training"):
        bare.fit(*noisy_scores())


# --- the number of rounds that are kept -------------------------------------------------------------------------------


@pytest.mark.one_in(3)
@quiet
@each_booster
def test_the_best_iteration_is_the_first_best_round_that_patience_reached(model, tmp_path):
    (X, y), (X_val, y_val) = rows_of(model), rows_of(model, n=90, seed=7)
    given = clone(model).set_params(scoring="r2" if is_regressor(model) else "accuracy")
    stopped = clone(given).fit(X, y, X_val=X_val, y_val=y_val)
    watched = clone(given).set_params(early_stopping=False).fit(X, y, X_val=X_val, y_val=y_val)
    assert watched.best_iteration_ is None
    stopping = EarlyStopping(lambda t: -watched.validation_scores_[t - 1], patience=4)
    for t in range(1, len(watched.validation_scores_) + 1):
        if stopping.follow(t):
            break
    assert stopped.best_iteration_ == stopping.best == len(stopped.validation_scores_)
    if isinstance(model, (AdaBoostClassifier, GradientBoostingClassifier, GradientBoostingRegressor)):
        assert stopped.committee_.n_voters == stopped.best_iteration_  # others drop voters without weight
    if not isinstance(getattr(model, "voter", None), LogisticRegression):
        stopped.save(tmp_path / "model")
        again = committee.load(tmp_path / "model")
        assert (again.best_iteration_, again.scoring) == (stopped.best_iteration_, given.scoring)
        assert_array_equal(again.validation_scores_, stopped.validation_scores_)


@pytest.mark.parametrize("number", [0, -3, 2.5, True, "two"])
def test_a_best_iteration_that_cannot_be_is_refused(number, tmp_path):
    X, y = numbers(2)
    AdaBoostClassifier(5, calibrate=None, **STOPPED).fit(X, y).save(tmp_path / "model")
    content = craft((tmp_path / "model").read_bytes(), tell("attributes", "best_iteration_", value=number))
    refused(tmp_path / "changed", content, "best_iteration_ is .*; it must be a number of rounds, or None")
