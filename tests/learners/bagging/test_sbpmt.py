"""SBPMT against Algorithms 3 and 4 by hand, its votes, out-of-bag rows and tables."""

import warnings
from dataclasses import replace
from itertools import pairwise
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import StratifiedKFold, cross_val_score

from committee import ProbitModelTreeClassifier, SBPMTClassifier
from committee.data.bins import Binned
from committee.data.design import Design
from committee.learners.bagging import sbpmt as learner
from committee.learners.trees.newton_boost import SCORE_CAP
from committee.voters.model_forest import BoostedCommittees
from tests.oracles import grow, linear_boost, sbpmt
from tests.subjects import assert_same_bits

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
seeds = st.integers(0, 2**31 - 1)


def table(seed: int, n: int = 90, n_classes: int = 2, noise: float = 1.0) -> tuple[Floats, Integers]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    score = X[:, 0] + X[:, 1] * (X[:, 2] > 0) + noise * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)


def small(**params: Any) -> SBPMTClassifier:
    fixed = {"n_estimators": 3, "n_boosting_rounds": 3, "n_leaf_steps": 4, "max_depth": 2, "min_samples_leaf": 10}
    fixed |= {"min_impurity_decrease": 0.01, "max_features": None, "emphasis": "half", "voting": "hard"}
    return SBPMTClassifier(**(fixed | {"random_state": 0} | params))


def voters(model: SBPMTClassifier) -> BoostedCommittees:
    found = model.committee_.voters
    assert isinstance(found, BoostedCommittees)
    return found


def sizes(model: SBPMTClassifier) -> Integers:
    """Number of trees of each committee."""
    return np.diff(voters(model).start)


def parts(model: SBPMTClassifier) -> list[slice]:
    """Trees of each committee."""
    return [slice(a, b) for a, b in pairwise(voters(model).start)]


def boosted_of(model: SBPMTClassifier, X: Any) -> list[sbpmt.Boosted]:
    ours, votes = voters(model), voters(model).members.votes(X).astype(np.int64)
    return [sbpmt.Boosted(ours.alpha[part].tolist(), [], votes[:, part]) for part in parts(model)]


def committees_by_hand(model: SBPMTClassifier, X: Any, y: Any, weights: Floats | None) -> list[sbpmt.Boosted]:
    """Boosted on the rows that the model drew."""
    encoded = model.table_.encode(X)
    w = np.ones(len(y)) if weights is None else weights
    binned = Binned.of(encoded, weights, model.table_, 255)
    bins, design = binned.bins, Design.learn(encoded, w, model.table_.n_categories)
    labels, K = np.searchsorted(model.classes_, y).astype(np.uint16), len(model.classes_)
    rows = sbpmt.Rows(binned.codes, bins.n_bins, bins.categorical, design.matrix(encoded), labels, K)
    likelihood = model.selection == "likelihood"
    leaf = linear_boost.Settings(model.link, model.n_leaf_steps, model.tol, SCORE_CAP[model.link], likelihood)
    limits = grow.Limits(model.max_depth or 0, 0, model.min_samples_leaf, 0.0, model.min_impurity_decrease)
    recipe = sbpmt.Recipe(
        limits, leaf, model.tree == "per_class", model.emphasis, model.n_boosting_rounds, learner.MOST_CLASSES
    )
    return [sbpmt.boost(rows, w, drawn, recipe) for drawn in model.estimators_samples_]


def weighted_table(seed: int, n_classes: int, weighted: bool) -> tuple[Floats, Integers, Floats | None]:
    X, y = table(seed, n_classes=n_classes)
    return X, y, np.random.default_rng(seed).exponential(size=len(y)) + 0.05 if weighted else None


# --- the algorithm ------------------------------------------------------------------------------------------


CONFIGURATIONS: list[dict[str, Any]] = [
    {},
    {"emphasis": "samme", "voting": "soft"},
    {"tree": "per_class"},
    {"tree": "per_class", "link": "logit", "emphasis": "samme"},
    {"link": "logit", "voting": "soft"},
    {"selection": "likelihood", "min_impurity_decrease": 0.0},
]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("params", CONFIGURATIONS)
@pytest.mark.parametrize("n_classes", [2, 3])
@settings(max_examples=8)
@given(seed=seeds, weighted=st.booleans())
def test_boosting_is_the_one_by_hand(params, n_classes, seed, weighted):
    X, y, w = weighted_table(seed, n_classes, weighted)
    model = small(**params, random_state=seed).fit(X, y, w)
    ours, same = voters(model), 0
    for m, (mine, committee) in enumerate(zip(parts(model), committees_by_hand(model, X, y, w), strict=True)):
        if len(committee.alpha) != sizes(model)[m] or not np.allclose(ours.alpha[mine], committee.alpha, rtol=1e-6):
            continue  # one row on the border, or one tie, and the next weights are others
        assert_allclose(model.errors_[mine], committee.errors, rtol=1e-6)
        assert (replace(ours[m].members, soft=False).votes(X) == committee.votes).mean() > 0.98
        same += 1
    assert same >= 2


@pytest.mark.parametrize("params", [{}, {"min_impurity_decrease": "auto"}])
def test_scores_of_many_classes_are_boosted_on_samples_of_the_rows(params, monkeypatch):
    X, y = table(3, n=240, n_classes=7)
    every = small(**params).fit(X, y)
    monkeypatch.setattr(learner, "MOST_CLASSES", 4)
    some = small(**params).fit(X, y)
    assert_allclose(some.risks_[:1], some_risk(some, X, y), rtol=1e-9)
    assert (some.predict_proba(X) != every.predict_proba(X)).any()
    if not params:
        for mine, committee in zip(parts(some), committees_by_hand(some, X, y, None), strict=True):
            assert_allclose(some.errors_[mine], committee.errors, rtol=1e-6)


def test_scores_with_weights_of_their_own_are_boosted_on_all_rows(monkeypatch):
    X, y = table(3, n=240, n_classes=7)
    every = small(emphasis="mh").fit(X, y)
    monkeypatch.setattr(learner, "MOST_CLASSES", 4)
    assert_same_bits(small(emphasis="mh").fit(X, y), every, X)


def some_risk(model: SBPMTClassifier, X: Any, y: Any) -> Floats:
    """Risk of the first tree on the rows of its committee, which have equal weights."""
    drawn = model.estimators_samples_[0]
    F = voters(model)[0].members.scores(X[drawn])[:, 0]
    signs = linear_boost.signs(y[drawn].astype(np.uint16), F.shape[1])
    return np.array([linear_boost.terms(model.link, signs * F)[2].sum(axis=1).mean()])


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("params", "n_classes"),
    [
        ({"emphasis": "m1"}, 3),
        ({"emphasis": "m2", "voting": "soft"}, 2),
        ({"emphasis": "m2", "voting": "soft"}, 3),
        ({"emphasis": "m2", "tree": "per_class", "link": "logit"}, 3),
        ({"emphasis": "mh", "voting": "shares"}, 3),
        ({"emphasis": "mh", "tree": "per_class"}, 3),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_other_adaboosts_are_those_by_hand(params, n_classes, weighted):
    for seed in range(3):
        X, y, w = weighted_table(seed, n_classes, weighted)
        model = small(**params, random_state=seed).fit(X, y, w)
        ours = voters(model)
        for m, (mine, committee) in enumerate(zip(parts(model), committees_by_hand(model, X, y, w), strict=True)):
            assert_allclose(ours.alpha[mine], committee.alpha, rtol=1e-6)
            assert_allclose(model.errors_[mine], committee.errors, rtol=1e-6)
            assert_array_equal(replace(ours[m].members, soft=False).votes(X), committee.votes)
        assert (model.errors_ <= model.risks_ / np.log(2.0)).all()


def test_adaboost_m2_goes_on_while_a_tree_is_in_doubt():
    X, y = load_iris(return_X_y=True)
    deep = {"max_depth": 4, "min_samples_leaf": 2, "n_boosting_rounds": 4, "random_state": 0}
    samme, m2 = (SBPMTClassifier(3, emphasis=name, **deep).fit(X, y) for name in ("samme", "m2"))
    right = m2.errors_[voters(m2).start[:-1]] == 0.0
    assert right.any() and (sizes(m2)[right] == 4).all()
    assert (voters(m2).alpha > 0.0).all()
    # the first trees are the same, and one that errs nowhere is the last
    assert (sizes(samme)[right] == 1).all()


def test_for_two_classes_three_adaboosts_are_one():
    X, y = table(0, 200)
    samme, m1, mh = (small(emphasis=name, n_boosting_rounds=6).fit(X, y) for name in ("samme", "m1", "mh"))
    assert len(samme.errors_) == 18
    for other in (m1, mh):
        assert_allclose(other.errors_, samme.errors_, rtol=1e-9)
        assert_allclose(voters(other).alpha, voters(samme).alpha, rtol=1e-9)
        assert_array_equal(other.predict(X), samme.predict(X))


def test_adaboost_m1_ends_where_half_of_the_weight_is_wrong():
    X, y = table(0, 200, 5, noise=8.0)
    model = small(emphasis="m1", n_boosting_rounds=10, voting="shares").fit(X, y)
    alone = sizes(model) == 1
    assert alone.any() and (model.errors_[voters(model).start[:-1]][alone] >= 0.5).any()
    assert sizes(small(emphasis="samme", n_boosting_rounds=10).fit(X, y)).sum() > len(model.errors_)


@pytest.mark.parametrize("voting", ["hard", "shares", "soft"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("tree", ["shared", "per_class"])
def test_vote_is_that_of_the_committees(voting, n_classes, tree):
    X, y = table(0, 200, n_classes)
    model = small(n_estimators=7, voting=voting, tree=tree, calibrate=None).fit(X, y)
    assert_array_equal(model.committee_.weights, 1.0)
    if voting == "soft":  # members' probabilities, averaged by their weights
        P, alpha = voters(model).members.probabilities(X), voters(model).alpha
        share = np.mean([np.average(P[:, mine], axis=1, weights=alpha[mine]) for mine in parts(model)], axis=0)
    else:
        share = sbpmt.subagged(boosted_of(model, X), n_classes, voting == "shares")
    assert_allclose(model.predict_proba(X), share, rtol=1e-9, atol=1e-12)
    clear = np.diff(np.sort(share, axis=1)[:, -2:])[:, 0] > 1e-9
    assert_array_equal(model.predict(X)[clear], share.argmax(axis=1)[clear])


def test_a_tree_that_never_errs_decides_alone():
    x = np.linspace(-1, 1, 60)
    model = small().fit(x[:, None], x > 0)
    assert len(voters(model).alpha) == 3
    assert_array_equal(voters(model).alpha, 1.0)
    assert_array_equal(model.errors_, 0.0)
    assert model.score(x[:, None], x > 0) == 1.0


def test_a_late_perfect_tree_decides_alone():
    """Boosting by hand ends there too; some committee of many must come to it."""
    for seed in range(60):
        X, y = table(seed, 40, noise=0.1)
        model = small(random_state=seed, n_boosting_rounds=8, emphasis="samme", n_leaf_steps=10).fit(X, y)
        for m in np.flatnonzero((sizes(model) == 1) & (model.errors_[voters(model).start[:-1]] == 0)).tolist():
            drawn = model.estimators_samples_[m]
            assert_array_equal(voters(model)[m].members.votes(X[drawn])[:, 0], y[drawn])
            first = ProbitModelTreeClassifier(10, max_depth=2, min_samples_leaf=10).fit(X[drawn], y[drawn])
            if first.score(X[drawn], y[drawn]) < 1.0:  # so it was not the first tree
                return
    pytest.fail("no committee was decided by a later tree")


def test_chance_alone_is_kept_and_later_trees_without_skill_are_left_out():
    X, y = np.zeros((40, 1)), np.arange(40) % 2
    with pytest.warns(UserWarning, match="No model tree beats chance on any of 3 subsamples"):
        model = small(max_samples=1.0).fit(X, y)
    assert_array_equal(sizes(model), 1)
    assert_array_equal(voters(model).alpha, 1.0)
    assert_allclose(model.errors_, 0.5)
    assert_array_equal(model.predict(X), 0)
    model = small(n_estimators=11, n_boosting_rounds=10).fit(*table(0, 60, noise=50.0))
    assert sizes(model).min() < 10  # some end early
    assert (model.errors_ < 0.5).all() and (voters(model).alpha > 0).all()
    assert len(model.errors_) == len(voters(model).alpha) == sizes(model).sum()


# --- out of bag ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("voting", ["hard", "shares"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("tree", ["shared", "per_class"])
def test_rows_left_out_judge(voting, n_classes, tree):
    X, y = table(2, 120, n_classes)
    w = np.random.default_rng(0).exponential(size=120)
    w[::9] = 0.0
    with pytest.warns(UserWarning, match="in every draw"):
        model = small(n_estimators=9, voting=voting, tree=tree, oob_score=True).fit(X, y, w)
    share = sbpmt.out_of_bag(boosted_of(model, X), model.estimators_samples_, n_classes, voting == "shares")
    share[w == 0] = np.nan
    assert_allclose(model.oob_decision_function_, share, atol=1e-12)
    judged = ~np.isnan(share[:, 0])
    for i in np.flatnonzero(judged):
        margin = share[i, y[i]] - np.delete(share[i], y[i]).max()
        assert model.oob_margins_[i] == pytest.approx(margin, abs=1e-12)
    assert np.isnan(model.oob_margins_[~judged]).all()
    right = np.nan_to_num(model.oob_decision_function_).argmax(axis=1) == y
    assert model.oob_score_ == pytest.approx(np.average(right[judged], weights=w[judged]))


# --- the rest -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "y"),
    [
        pytest.param(np.linspace(-1, 1, 8)[:, None], np.arange(8) % 2, id="fewer rows than a leaf"),
        pytest.param(np.zeros((2, 1)), np.array([0, 1]), id="two rows alike"),
        pytest.param(np.arange(3.0)[:, None], np.array([0, 1, 2]), id="classes of one row"),
        pytest.param(np.full((30, 2), np.nan), np.arange(30) % 3, id="nothing ever there"),
        pytest.param(np.column_stack([np.ones(30), np.arange(30.0)]), np.arange(30) > 12, id="a constant column"),
    ],
)
@pytest.mark.parametrize("params", [{}, {"tree": "per_class"}, {"voting": "soft", "emphasis": "samme"}])
def test_awkward_tables(params, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = SBPMTClassifier(3, 2, 10, random_state=0, **params).fit(X, y)
    p = model.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])


def test_a_weight_that_is_nothing_beside_the_others_is_zero():
    X, y = table(0)
    w = np.linspace(1.0, 2.0, 90) * 1e140
    w[0] = 1e-180
    model, without = small().fit(X, y, w), small().fit(X, y, np.where(np.arange(90) > 0, w, 0.0))
    np.testing.assert_array_equal(model.predict_proba(X), without.predict_proba(X))
    np.testing.assert_array_equal(model.draws_, without.draws_)
    w[1:] = 1e-180
    w[1] = 1e140
    with pytest.warns(UserWarning, match=r"y holds one class only, .* \(rows of zero weight do not count\)"):
        small().fit(X, y, w)


def test_accuracy_on_a_known_table():
    """The document has 97.5 for wdbc."""
    X, y = load_breast_cancer(return_X_y=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    assert cross_val_score(SBPMTClassifier(random_state=0), X, y, cv=folds).mean() > 0.965
