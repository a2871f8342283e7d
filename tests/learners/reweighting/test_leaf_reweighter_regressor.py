"""Regression trees with refitted leaf votes."""

import pickle
from dataclasses import replace

import lightgbm
import numpy as np
import polars as pl
import pytest
import xgboost
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.ensemble import RandomForestRegressor as PeerForest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import d2_pinball_score, mean_pinball_loss, r2_score

from committee import (
    GradientBoostingRegressor,
    LeafReweighter,
    LeafReweighterRegressor,
    QuadBoostRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RegressionCommittee,
    TreeRegressor,
    load,
    prune,
)
from committee.learners.reweighting.leaf_reweighter import quantile_level
from committee.learners.reweighting.unseen_rows import oob_mean_votes
from committee.learners.trained_ensembles.out_of_bag import out_of_bag_mask
from committee.report import PruningPathDisplay

X, y = make_friedman1(900, noise=1.0, random_state=0)
X, X_new, y, y_new = X[:300], X[300:], y[:300], y[300:]
FOREST = PeerForest(40, oob_score=True, random_state=0).fit(X, y)
QUICK = {"max_nodes": 0.3, "growth": (2.0,), "C": (0.1,), "cv": 3}
Q = 0.8


# --- the whole ----------------------------------------------------------------------------------------------------


def test_the_whole_forest_out_of_bag_is_scikit_learns():
    whole, unseen = RegressionCommittee.from_estimator(FOREST), out_of_bag_mask(FOREST, 40, y)
    part = np.arange(0, 300, 2)
    found = oob_mean_votes(whole, whole.voters, X, y, unseen, None, [np.arange(300), part])
    assert_allclose(found.predicted, FOREST.oob_prediction_)
    squares = (np.column_stack([tree.predict(X) for tree in FOREST.estimators_]) - y[:, None]) ** 2
    for worth, rows in zip(found.worth, (slice(None), part), strict=True):
        assert_allclose(worth, -np.ma.array(squares, mask=~unseen)[rows].mean(axis=0))
    every = oob_mean_votes(whole, whole.voters, X, y, None, None, [part])
    assert_allclose(every.predicted, FOREST.predict(X))


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "forest",
    [FOREST, RandomForestRegressor(40, random_state=0), ExtraTreesRegressor(40, bootstrap=True, random_state=0)],
    ids=lambda forest: type(forest).__module__.split(".")[0] + type(forest).__name__,
)
def test_a_tenth_of_a_forest(forest, tmp_path):
    forest.fit(X, y)
    before = pickle.dumps(forest)
    small = prune(forest, X, y)
    assert isinstance(small, LeafReweighterRegressor) and small.quantile_ is None
    assert small.committee_.n_nodes <= 0.1 * small.n_nodes_before_
    first = RegressionCommittee.from_estimator(forest)[:4]
    assert small.score(X_new, y_new) > r2_score(y_new, first.predict(X_new)) + 0.03
    assert small.score(X_new, y_new) > forest.score(X_new, y_new) - 0.035
    assert pickle.dumps(forest) == before
    small.save(tmp_path / "small")
    for other in (load(tmp_path / "small"), pickle.loads(pickle.dumps(small))):
        assert_array_equal(other.predict(X_new), small.predict(X_new))
        assert (other.C_, other.lost_, other.quantile_) == (small.C_, small.lost_, None)
    two = LeafReweighterRegressor(forest, n_jobs=2).fit(X, y)
    assert_array_equal(two.predict(X_new), small.predict(X_new))
    assert clone(two).ensemble is forest
    again = LeafReweighterRegressor(two, max_nodes=0.5, cv=3).fit(X, y)
    assert again.committee_.n_nodes <= 0.5 * two.committee_.n_nodes, "it knows which rows its trees have not seen"


def test_numbers_in_other_units_get_the_same_votes():
    quick, committee = QUICK | {"on": "validation"}, RegressionCommittee.from_estimator(FOREST)
    same = LeafReweighterRegressor(committee, **quick).fit(X_new, y_new).predict(X)
    for factor, plus in ((1e-9, 0.0), (1e7, -3e9)):
        voters = replace(committee.voters, value=factor * committee.voters.value + plus)
        other = LeafReweighterRegressor(replace(committee, voters=voters), **quick).fit(X_new, factor * y_new + plus)
        assert_allclose((other.predict(X) - plus) / factor, same, rtol=1e-5)
    flat = PeerForest(5, random_state=0).fit(X, np.full(300, 7.0))
    assert_allclose(LeafReweighterRegressor(flat, **QUICK).fit(X, np.full(300, 7.0)).predict(X_new), 7.0)


def test_weights_are_repetitions():
    tree = TreeRegressor(max_leaf_nodes=40).fit(X, y)
    times = np.random.default_rng(0).integers(0, 4, 600)
    fixed = {"on": "validation", "max_nodes": 0.5, "growth": 1.0, "C": 1.0}
    ones, rows = np.flatnonzero(times), np.repeat(np.arange(600), times)
    # folds choose nothing here, and any will do
    weighted, absent, repeated = (
        LeafReweighterRegressor(tree, **fixed).fit(X_new[some], y_new[some], weight)
        for some, weight in ((slice(None), times), (ones, times[ones]), (rows, None))
    )
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-6)
    assert_array_equal(weighted.predict(X), absent.predict(X))


def test_gaps_and_categories():
    random = np.random.default_rng(0)
    table = pl.DataFrame(X[:, 1:], schema=list("abcdefghi")).with_columns(
        pl.Series("kind", np.array(["low", "mid", "high"])[(3 * X[:, 0]).astype(int)]).cast(pl.Categorical),
        pl.when(pl.Series(random.random(300) < 0.2)).then(None).otherwise(pl.col("a")).alias("a"),
    )
    forest = RandomForestRegressor(30, oob_score=True, random_state=0).fit(table, y)
    small = prune(forest, table, y, max_nodes=0.2)
    assert np.corrcoef(small.predict(table), forest.predict(table))[0, 1] > 0.9
    assert small.feature_names_in_.tolist() == table.columns


# --- boosters and quantiles ---------------------------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "booster",
    [
        GradientBoostingRegressor(n_estimators=60, leaf="constant", random_state=0),
        xgboost.XGBRegressor(n_estimators=60),
        QuadBoostRegressor(random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_boosters(booster):
    booster.fit(X, y)
    seen, new = np.arange(0, 600, 2), np.arange(1, 600, 2)
    small = prune(booster, X_new[seen], y_new[seen], on="validation", max_nodes=1 / 3)
    assert small.score(X_new[new], y_new[new]) > booster.score(X_new[new], y_new[new]) - 0.08
    known = prune(booster, X, y, on="train", max_nodes=1 / 3)
    whole = booster.predict(X_new)
    assert np.isnan(known.lost_) and r2_score(whole, known.predict(X_new)) > 0.95


@pytest.mark.parametrize(
    "booster",
    [
        GradientBoostingRegressor(40, loss="quantile", quantile=Q, random_state=0),
        lightgbm.LGBMRegressor(n_estimators=40, objective="quantile", alpha=Q, verbose=-1),
        xgboost.XGBRegressor(n_estimators=40, objective="reg:quantileerror", quantile_alpha=Q),
    ],
    ids=lambda model: type(model).__name__,
)
def test_quantiles(booster, tmp_path):
    booster.fit(X, y)
    seen, new = np.arange(0, 600, 2), np.arange(1, 600, 2)
    small = LeafReweighterRegressor(booster, on="validation", max_nodes=0.5, growth=(2.0,))
    small.fit(X_new[seen], y_new[seen])
    small.save(tmp_path / "small")
    assert small.quantile_ == load(tmp_path / "small").quantile_ == quantile_level(small) == Q
    losses = [mean_pinball_loss(y_new[new], each.predict(X_new[new]), alpha=Q) for each in (booster, small)]
    assert losses[1] < losses[0]
    assert abs((y_new[new] <= small.predict(X_new[new])).mean() - Q) < 0.08
    (step,) = small.path_.steps
    assert "d2_pinball" in small.path_.table().columns
    assert abs(step.score - d2_pinball_score(y_new[new], small.predict(X_new[new]), alpha=Q)) < 0.1


# --- contracts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["absolute_error", lambda truth, said: (said - truth) ** 2])
def test_the_smallest_cut_that_loses_no_more_than_a_share(metric):
    model = LeafReweighterRegressor(FOREST, max_nodes=0.33, max_loss=0.15, metric=metric, growth=(4.0,), C=(0.03, 0.3))
    model.fit(X, y)
    steps, lost = model.path_.steps, model.path_.lost()
    chosen = next(i for i, step in enumerate(steps) if step.cut.n_nodes == model.committee_.n_nodes)
    sure = lost + [step.lost_error for step in steps]
    assert sure[chosen] <= 0.15 and (sure[chosen + 1 :] > 0.15).all() and len(steps) > chosen + 1
    # the same as a share of the whole's loss on new rows: four of its standard errors, and of theirs
    off = [np.abs(each.predict(X_new) - y_new) ** (1 if metric == "absolute_error" else 2) for each in (model, FOREST)]
    share = off[0].mean() / off[1].mean() - 1.0
    error = (off[0] - (1.0 + share) * off[1]).std() / np.sqrt(600) / off[1].mean()
    assert abs(share - model.lost_) < 4.0 * np.hypot(model.lost_error_, error)
    if metric == "absolute_error":
        display = PruningPathDisplay.from_estimator(model)
        assert display.ax_.get_ylabel() == "share of absolute error lost"


def test_the_ensemble_is_kept_whole_if_every_cut_loses_too_much(tmp_path):
    with pytest.warns(UserWarning, match=r"metric='squared_error' rises by \d.* ± .* of the whole ensemble's on rows"):
        model = prune(FOREST, X, y, max_nodes=5, max_loss=0.0)
    assert_allclose(model.predict(X_new), FOREST.predict(X_new))
    model.save(tmp_path / "whole")
    assert_array_equal(load(tmp_path / "whole").predict(X_new), model.predict(X_new))
    boosted = xgboost.XGBRegressor(n_estimators=5).fit(X, y)
    with pytest.warns(UserWarning, match="kept whole"):
        model = prune(boosted, X_new, y_new, on="validation", max_nodes=3, max_loss=0.0)
    assert_allclose(model.predict(X_new), boosted.predict(X_new), rtol=1e-5)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_loss_increase_is_estimated_without_bias():
    off = []
    for seed in range(6):
        rows, numbers = make_friedman1(2200, noise=1.0, random_state=seed)
        forest = PeerForest(15, random_state=seed).fit(rows[:200], numbers[:200])
        small = LeafReweighterRegressor(forest, **QUICK | {"cv": 5}).fit(rows[:200], numbers[:200])
        errors = [((each.predict(rows[200:]) - numbers[200:]) ** 2).mean() for each in (small, forest)]
        off.append(small.lost_ - (errors[0] / errors[1] - 1.0))
    # a row in eleven of these is new to one of the nine trees alone: as if these cost no more, it would be 0.13
    assert abs(np.mean(off)) < 0.07


# --- what is refused ----------------------------------------------------------------------------------------------


def two_quantiles():
    return GradientBoostingRegressor(3, loss="quantile", quantile=[0.1, 0.9]).fit(X, y)


def poisson():
    return xgboost.XGBRegressor(n_estimators=3, objective="count:poisson").fit(X, y - y.min())


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (lambda: FOREST, {"X": X[::-1]}, "The out-of-bag prediction of row 0 differs from the one that ensemble has"),
        (lambda: FOREST, {"level": "voter"}, "level='voter' weighs voters by margins"),
        (lambda: FOREST, {"metric": "accuracy"}, "metric"),
        (
            lambda: FOREST,
            {"metric": "pinball"},
            "metric='pinball' needs a quantile, and the ensemble's parameters name none",
        ),
        (lambda: FOREST, {"y": y[:10]}, "y has 10 numbers; X has 300 rows"),
        (lambda: FOREST, {"y": np.full(300, np.nan)}, "y"),
        (lambda: FOREST, {"max_loss": 0.1, "metric": lambda truth, said: said[:3]}, "returned an array of shape"),
        (
            lambda: FOREST,
            {"max_loss": 0.1, "metric": lambda truth, said: truth - said},
            "returned negative numbers for 3",
        ),
        (lambda: RandomForestRegressor(3), {}, "not fitted yet"),
        (poisson, {"on": "validation"}, "ensemble predicts the exponential of its score"),
        (
            lambda: GradientBoostingRegressor(n_estimators=3).fit(X, y),
            {"on": "train"},
            r"train trees with.*leaf='constant'",
        ),
        (lambda: PeerForest(3).fit(X, np.column_stack([y, y])), {}, "2 outputs"),
        (two_quantiles, {"on": "train"}, "ensemble predicts 2 numbers of each row"),
        (lambda: xgboost.XGBRegressor(n_estimators=3).fit(X, y), {}, "on='oob' needs an ensemble with the training"),
    ],
)
def test_refused(make, arguments, message):
    given = {"X": X, "y": y} | arguments
    with pytest.raises((TypeError, ValueError, NotFittedError), match=message):
        prune(make(), **given)


def test_each_kind_has_its_class():
    of_classes = RandomForestClassifier(3, random_state=0).fit(*load_iris(return_X_y=True))
    with pytest.raises(TypeError, match="votes for classes; use LeafReweighter"):
        LeafReweighterRegressor(of_classes).fit(*load_iris(return_X_y=True))
    with pytest.raises(TypeError, match="estimator is the regressor"):
        LeafReweighter(RandomForestRegressor(3, random_state=0).fit(X, y)).fit(X, y)
    scores = prune(poisson(), X, y, on="train", max_nodes=0.5)
    assert (scores.predict(X_new) > 0.0).all() and r2_score(poisson().predict(X_new), scores.predict(X_new)) > 0.9
    assert quantile_level(GradientBoostingRegressor(loss="absolute_error")) == 0.5
    assert quantile_level(PeerForest(criterion="absolute_error")) is None
