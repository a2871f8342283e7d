"""Probit model trees against one grown and boosted by hand, and what tables they take."""

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, ndtr

from committee import ProbitModelTreeClassifier, SBPMTClassifier
from committee.data.bins import Binned
from committee.data.design import Design
from committee.learners.trees import model_tree
from committee.learners.trees.model_tree import ModelTreeLimits, depth_for
from committee.learners.trees.newton_boost import SCORE_CAP
from committee.papers.sbpmt.table2 import SETTINGS
from committee.voters.model_forest import BoostedCommittees
from tests.oracles import grow, linear_boost, sbpmt
from tests.subjects import assert_same_parts

seeds = st.integers(0, 2**32 - 1)


def table(seed, n=90, n_classes=2, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    score = np.where(X[:, 0] > 0.3, 2 * X[:, 1], -X[:, 1]) + 0.7 * rng.normal(size=n)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def oracle_scores(model, X, y, weights):
    encoded = model.table_.encode(X)
    binned = Binned.of(encoded, weights, model.table_, 255)
    design = Design.learn(encoded, np.ones(len(y)) if weights is None else weights, model.table_.n_categories)
    labels = np.searchsorted(model.classes_, y).astype(np.uint16)
    columns = binned.codes, binned.bins.n_bins, binned.bins.categorical, design.matrix(encoded)
    rows = sbpmt.Rows(*columns, labels, len(model.classes_))
    leaf = linear_boost.Settings(
        model.link, model.n_leaf_steps, model.tol, SCORE_CAP[model.link], model.selection == "likelihood"
    )
    limits = grow.Limits(model.max_depth or 0, 0, model.min_samples_leaf, 0.0, model.min_impurity_decrease)
    w = np.ones(len(y)) if weights is None else weights
    return sbpmt.model_tree(rows, w, np.arange(len(y)), sbpmt.Recipe(limits, leaf, model.tree == "per_class"))


def scores(model, X):
    return model.committee_.voters.scores(model.table_.encode(X))[:, 0]


def small(**params):
    limits = {"n_leaf_steps": 6, "max_depth": 2, "min_samples_leaf": 12, "calibrate": None}
    return ProbitModelTreeClassifier(**(limits | params))


CONFIGURATIONS = [
    {},
    {"link": "logit"},
    {"selection": "likelihood"},
    {"tree": "per_class"},
    {"tree": "per_class", "link": "logit", "selection": "likelihood"},
    {"min_impurity_decrease": 0.0, "max_depth": 3},
    {"tol": 1e-2},
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("params", CONFIGURATIONS)
@pytest.mark.parametrize("n_classes", [2, 3])
@settings(max_examples=10, derandomize=True)
@given(seed=seeds, missing=st.sampled_from([0.0, 0.2]))
def test_tree_is_the_one_grown_and_boosted_by_hand(params, n_classes, seed, missing):
    X, y = table(seed, n_classes=n_classes, missing=missing)
    w = np.random.default_rng(seed).exponential(size=len(y)) + 0.05  # rows that all weigh the same tie splits
    model = small(**params).fit(X, y, w)
    expected = oracle_scores(model, X, y, w)
    # a step that hangs on a tie may be another one, hence not every row of every table
    close = np.isclose(scores(model, X), expected, rtol=1e-4, atol=1e-4)
    assert close.mean() > 0.75
    curve = expit if model.link == "logit" else ndtr
    P = curve(np.hstack([-expected, expected]) if n_classes == 2 else expected)
    right = close.all(axis=1)
    assert_allclose(model.predict_proba(X)[right], (P / P.sum(axis=1, keepdims=True))[right], atol=1e-3)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_by_hand_with_categories(n_classes):
    rng = np.random.default_rng(0)
    X, y = table(0, 200, n_classes)
    town = rng.choice(["Oslo", "Bergen", "Tromsø"], 200)
    y = (y + (town == "Oslo")) % n_classes
    frame = pl.DataFrame({"a": X[:, 0], "town": town, "b": X[:, 1], "old": rng.random(200) < 0.5})
    frame = frame.with_columns(town=pl.when(pl.col("a") > 1.5).then(None).otherwise(pl.col("town")))
    model = small(n_leaf_steps=4).fit(frame, y)
    assert_allclose(scores(model, frame), oracle_scores(model, frame, y, None), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_elected_class_has_the_largest_score(n_classes):
    X, y = table(0, 200, n_classes)
    model = small().fit(X, y)
    for far in (1.0, 30.0, 1e4, 1e8):  # where every Phi is 0 or 1
        F = scores(model, X * far)
        assert_array_equal(model.predict(X * far), sbpmt.elect(F))
        assert_array_equal(model.predict_proba(X * far).argmax(axis=1), sbpmt.elect(F))


def test_first_step_alone_is_one_line():
    X, y = table(1)
    model = ProbitModelTreeClassifier(1, min_samples_leaf=90).fit(X, y)
    coefficient = model.committee_.voters.coefficient
    assert coefficient.shape == (1, 1, 3) and np.count_nonzero(coefficient) == 1


def test_pure_leaves_say_so():
    x = np.repeat([0.0, 1.0, 2.0], 30)[:, None]
    y = np.repeat(["ant", "bee", "cow"], 30)
    for tree in ("shared", "per_class"):
        model = ProbitModelTreeClassifier(tree=tree, calibrate=None).fit(x, y)
        assert_array_equal(model.predict(x), y)
        assert model.predict_proba(x).max(axis=1).min() > 0.999


def awkward_tables():
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    y = (x + rng.normal(size=60) > 0).astype(int)
    gaps = np.column_stack([x, np.where(rng.random(60) < 0.5, np.nan, x)])
    return [
        pytest.param(x[:, None], y, id="one column"),
        pytest.param(np.column_stack([np.ones(60), x]), y, id="a constant column"),
        pytest.param(np.ones((60, 2)), y, id="constant columns alone"),
        pytest.param(np.column_stack([x, np.full(60, np.nan)]), y, id="a column never there"),
        pytest.param(np.full((60, 1), np.nan), y, id="nothing ever there"),
        pytest.param(gaps, y, id="gaps"),
        pytest.param(np.column_stack([x, x, 1e6 * x]), y, id="repeated columns"),
        pytest.param(x[:3, None], np.array([0, 1, 1]), id="three rows"),
        pytest.param(np.array([[0.0], [1.0]]), np.array([0, 1]), id="two rows"),
        pytest.param(np.zeros((2, 1)), np.array([0, 1]), id="two rows alike"),
        pytest.param(x[:5, None], np.arange(5), id="five classes of one row"),
        pytest.param(np.column_stack([x, x * 1e149]), y, id="huge numbers"),
        pytest.param(np.column_stack([x, np.full(60, 1e150)]), y, id="a huge constant"),
        pytest.param(np.column_stack([x, x > 0, rng.integers(0, 2, 60)]), x > 0, id="separable"),
        pytest.param(np.column_stack([x, 10.0 ** rng.uniform(-300, 150, 60)]), y, id="numbers of all sizes"),
    ]


@pytest.mark.parametrize("params", [{}, {"tree": "per_class", "min_samples_leaf": 1}, {"selection": "likelihood"}])
@pytest.mark.parametrize(("X", "y"), awkward_tables())
def test_awkward_tables(params, X, y):
    model = ProbitModelTreeClassifier(**params).fit(X, y)
    for rows in (X, np.full_like(X[:1], np.nan), np.zeros_like(X[:1])):
        p = model.predict_proba(rows)
        assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
        assert_array_equal(model.predict(rows), model.classes_[p.argmax(axis=1)])
    assert model.score(X, y) >= max(np.bincount(y)) / len(y) - 1e-9


@pytest.mark.parametrize("link", ["probit", "logit"])
def test_columns_too_small_for_a_slope_count_as_constant(link):
    X, y = np.array([[2.2e-308, 1e-200], [-0.0, 0.0], [0.0, 2e-200]]), ["a", "b", "c"]
    model = ProbitModelTreeClassifier(1, link=link).fit(X, y)
    for rows in (X, np.full((1, 2), 1e308)):
        assert np.isfinite(model.predict_proba(rows)).all()


def test_missing_values_have_an_effect_of_their_own():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    gone = rng.random(400) < 0.5
    X = np.column_stack([np.where(gone, np.nan, x), rng.normal(size=400)])
    y = np.where(rng.random(400) < 0.1, ~gone, gone)
    for limits in ({"min_samples_leaf": 400}, {}):  # in a leaf by its column, in a tree by its side
        model = ProbitModelTreeClassifier(**limits).fit(X, y)
        assert model.score(X, y) == pytest.approx(0.9, abs=0.05)
        assert model.predict([[np.nan, 0.0]]) == [True]


def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.digitize(np.nansum(X, axis=1) + rng.normal(size=200), [-1.0, 1.0])


def trees(**settings):
    voters = SBPMTClassifier(2, 4, 10, random_state=0, **settings).fit(*rows()).committee_.voters
    assert isinstance(voters, BoostedCommittees)
    return voters.members


@pytest.mark.parametrize("tree", ["shared", "per_class"])
@pytest.mark.parametrize("at_once", [1, 2_000])
def test_a_few_at_a_time_are_those_of_all_together(tree, at_once, monkeypatch):
    together = trees(tree=tree)
    made = []
    model_forest = model_tree.model_forest

    def counted(some, *others):
        made.append(len(some))
        return model_forest(some, *others)

    monkeypatch.setattr(model_tree, "model_forest", counted)
    monkeypatch.setattr(model_tree, "CELLS_AT_ONCE", at_once)
    apart = trees(tree=tree)
    assert sum(made) == len(together.forest)
    assert max(made) == (1 if at_once == 1 else 2)  # of 140 rows, and eight columns of the design
    assert len(apart) == len(together) == 8
    assert_same_parts(apart, together)


def boxes(n, seed=0):
    X = np.random.default_rng(seed).uniform(size=(n, 6))
    classes = np.random.default_rng(7).integers(0, 2, (8, 8))
    return X, classes[tuple(np.floor(8 * X[:, :2]).astype(int).T)]


def test_depth_is_that_of_even_splits_and_one_more():
    assert [depth_for(n, 20) for n in (2, 100, 640, 641, 1280, 20 * 2**10)] == [6, 6, 6, 7, 7, 11]
    assert depth_for(1024, 1) == 11


def test_auto_gives_trees_more_depth_the_more_rows_there_are():
    for n_rows in (150, 5_000, 30_000):
        limits = ModelTreeLimits.of(SBPMTClassifier(), n_rows)
        assert limits.growth.max_depth == depth_for(n_rows, 20)
        assert (limits.growth.min_impurity_decrease, limits.pruned) == (0.0, True)


@pytest.mark.parametrize("given", [{"max_depth": None, "min_impurity_decrease": -np.inf}, SETTINGS["paper"]])
def test_what_is_given_does_not_follow_the_rows(given):
    learner = SBPMTClassifier(**given)
    small, large = (ModelTreeLimits.of(learner, n) for n in (100, 100_000))
    assert small == large
    assert not small.pruned
    assert small.growth.max_depth == given["max_depth"]
    assert small.growth.min_impurity_decrease == given["min_impurity_decrease"]


@pytest.mark.parametrize(
    ("learner", "n_grown"),
    [
        (SBPMTClassifier(3, 2, 5, random_state=0), 1400),
        (ProbitModelTreeClassifier(5, max_depth="auto", min_impurity_decrease=0.0), 2000),
    ],
)
def test_auto_is_the_depth_of_the_rows_of_a_tree(learner, n_grown):
    X, y = boxes(2000)
    told = learner.__class__(**learner.get_params()).set_params(max_depth=depth_for(n_grown, 20))
    assert_array_equal(learner.fit(X, y).predict_proba(X), told.fit(X, y).predict_proba(X))


def test_weights_of_trees_of_many_classes_are_multiples_whose_squares_are_exact():
    weights = np.append(np.random.default_rng(0).random(1000) ** 9, [0.0, 1e-30])
    rounded = model_tree.whole_weights(weights)
    unit = rounded[-1]
    assert np.log2(unit) % 1 == 0.0 and 2.0**-25 <= unit / weights.sum() <= 2.0**-24
    assert rounded[-2] == 0.0 and (rounded / unit % 1 == 0.0).all() and (rounded / unit).sum() <= 2**26
    assert_allclose(rounded, weights, rtol=0.0, atol=unit)
