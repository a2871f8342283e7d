"""Margins as a distribution: its curve, its moments, and what the voters on their own have to do with it."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import BaggingClassifier
from sklearn.ensemble import RandomForestClassifier as TheirForest
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier

from committee import (
    AdaBoostClassifier,
    Committee,
    GradientBoostingClassifier,
    RandomForestClassifier,
    SBPMTClassifier,
    SubaggingClassifier,
)
from committee.vote.links.probability import Logistic, Share, Softmax, Truncated
from committee.vote.margin_distribution import MarginDistribution, VoterMargins
from tests.cast_votes import casts, committee_of, forest_that_votes, rows
from tests.oracles import votes as oracle


def cast(votes, weights, n_classes):
    return Committee(forest_that_votes(votes, n_classes), weights, np.arange(n_classes), Softmax())


CLOSE = {"rtol": 0.0, "atol": 1e-12}
margins = st.lists(st.integers(-20, 20).map(lambda k: k / 20), min_size=1, max_size=30)


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[::2], y[::2]


@pytest.fixture(scope="module")
def two():
    X, y = cancer()
    return {
        "labels": AdaBoostClassifier(20).fit(X, y),
        "abstaining": AdaBoostClassifier(20, vote="abstaining").fit(X, y),
        "confidence": AdaBoostClassifier(20, vote="confidence").fit(X, y),
        "intercept": GradientBoostingClassifier(n_estimators=10).fit(X, y),
        "shares": RandomForestClassifier(20, max_leaf_nodes=4, random_state=0).fit(X, y),
        "theirs": TheirForest(20, random_state=0).fit(X, y),
    }


@pytest.fixture(scope="module")
def many():
    X, y = load_wine(return_X_y=True)
    knn = BaggingClassifier(KNeighborsClassifier(3), 5, random_state=0, oob_score=False).fit(X, y)
    return {
        "labels": AdaBoostClassifier(15).fit(X, y),
        "shares": RandomForestClassifier(15, max_leaf_nodes=4, random_state=0).fit(X, y),
        "intercept": GradientBoostingClassifier(n_estimators=5).fit(X, y),
        "theirs": TheirForest(15, max_depth=2, random_state=0).fit(X, y),
        "neighbours": knn,
    }


@given(margins, st.floats(-1.0, 1.0))
def test_nu_counts_the_margins_at_or_below(m, theta):
    d = MarginDistribution(m)
    assert_allclose(d.nu(theta), np.mean(np.array(m) <= theta), **CLOSE)
    assert_allclose(d.nu([theta, *m]), [np.mean(np.array(m) <= t) for t in [theta, *m]], **CLOSE)
    assert d.nu(1.0) == 1.0


@given(margins, st.integers(0, 100).map(lambda k: k / 100))
def test_a_quantile_is_the_smallest_margin_that_reaches_the_share(m, q):
    d = MarginDistribution(m)
    theta = d.quantile(q)
    assert theta in m
    assert d.nu(theta) >= q - 1e-12
    assert not [below for below in m if below < theta and d.nu(below) >= q + 1e-12]
    assert d.quantile([0.0, 1.0]).tolist() == [min(m), max(m)]


def test_quantiles_of_ten_rows_are_margins_of_rows():
    d = MarginDistribution(np.arange(1, 11) / 10)
    assert_array_equal(d.quantile(np.arange(1, 11) / 10), np.arange(1, 11) / 10)


@given(margins)
def test_moments(m):
    d = MarginDistribution(m)
    middle = np.quantile(m, 0.5, method="inverted_cdf")
    assert_allclose([d.mean, d.median, d.minimum], [np.mean(m), middle, np.min(m)], **CLOSE)
    assert_allclose([d.variance, d.second_moment], [np.var(m), np.mean(np.square(m))], **CLOSE)
    assert_allclose(d.variance, d.second_moment - d.mean**2, **CLOSE)


@given(margins.flatmap(lambda m: st.tuples(st.just(m), st.lists(st.integers(0, 3), min_size=len(m), max_size=len(m)))))
def test_whole_weights_are_repeated_rows(case):
    m, weight = case
    if not any(weight):
        weight = [1] * len(m)
    once = MarginDistribution(m, weight, voter_margins=m)
    repeated = np.repeat(m, weight)
    again = MarginDistribution(repeated, voter_margins=repeated)
    for name in (
        "mean",
        "median",
        "minimum",
        "variance",
        "second_moment",
        "error",
        "gibbs_risk",
        "disagreement",
        "joint_error",
    ):
        assert_allclose(getattr(once, name), getattr(again, name), err_msg=name, **CLOSE)
    for a, b in zip(once.curve(), again.curve(), strict=True):
        assert_allclose(a, b, **CLOSE)
    assert once.rows.tolist() == np.flatnonzero(weight).tolist()


def test_a_curve_ends_at_one_and_is_at_most_one_before_whatever_the_rounding():
    """Weights whose sum is one, taken one after the other, may pass it before the last, small one."""
    m = np.linspace(-1.0, 1.0, 21)
    weights = [np.append(np.random.default_rng(seed).random(20), 1e-20) for seed in range(20)]
    assert any((np.cumsum(w / w.sum())[:-1] > 1.0).any() for w in weights)
    for w in weights:
        theta, share = MarginDistribution(m, w).curve()
        assert share[-1] == 1.0 and (np.diff(share) >= 0).all() and (np.diff(theta) > 0).all()


def test_margins_beyond_one_by_a_rounding_are_one():
    d = MarginDistribution([1.0 + 1e-9, -1.0 - 1e-9], voter_margins=[1.0 + 1e-9, -1.0 - 1e-9])
    assert d.margins.tolist() == d.voter_margins.tolist() == [1.0, -1.0]
    with pytest.raises(ValueError, match=r"margins\[0\] is -1\.0000000015"):
        MarginDistribution([-1.0 - 1.5e-9])


def test_it_keeps_what_it_was_given():
    m = np.array([0.5, -0.5])
    d = MarginDistribution(m)
    m[0] = 0.0
    assert d.margins.tolist() == [0.5, -0.5]
    with pytest.raises(ValueError, match="read-only"):
        d.margins[0] = 0.0
    with pytest.raises(AttributeError):
        d.margins = m


@pytest.mark.parametrize("name", ["labels", "abstaining", "confidence", "intercept", "shares", "theirs"])
def test_two_classes_the_identities(name, two):
    X, y = cancer()
    weight = np.random.default_rng(0).random(len(y))
    model = two[name]
    d = MarginDistribution.of(model, X, y, weight)
    committee = Committee.from_estimator(model)
    assert_array_equal(d.margins, committee.margins(X, y))
    assert_array_equal(d.voter_margins, d.margins)
    assert_allclose(d.mean, 1 - 2 * d.gibbs_risk, **CLOSE)
    assert_allclose(d.second_moment, 1 - 2 * d.disagreement, **CLOSE)
    assert_allclose(d.gibbs_risk, d.joint_error + d.disagreement / 2, **CLOSE)
    assert_allclose(d.error, np.average(committee.predict(X) != y, weights=weight), **CLOSE)


@pytest.mark.parametrize("name", ["labels", "shares", "intercept", "theirs", "neighbours"])
def test_more_classes_the_inequalities(name, many):
    X, y = load_wine(return_X_y=True)
    d = MarginDistribution.of(many[name], X, y)
    assert (d.voter_margins <= d.margins + 1e-12).all()
    assert d.mean >= 1 - 2 * d.gibbs_risk - 1e-12
    assert d.error <= min(2 * d.gibbs_risk, 4 * d.joint_error) + 1e-12
    assert_allclose(d.gibbs_risk, d.joint_error + d.disagreement / 2, **CLOSE)
    assert_allclose(d.error, np.mean(Committee.from_estimator(many[name]).predict(X) != y), **CLOSE)


@pytest.mark.parametrize(("models", "load"), [("two", cancer), ("many", lambda: load_wine(return_X_y=True))])
def test_voters_on_their_own_are_committees_of_one(models, load, request):
    X, y = load()
    for name, model in request.getfixturevalue(models).items():
        committee = Committee.from_estimator(model)
        if committee.intercept is not None:
            continue
        rho = np.abs(committee.weights) * committee.voters.spread
        alone = np.stack([committee.select([t]).margins(X, y) for t in range(committee.n_voters)], axis=1)
        d = MarginDistribution.of(committee, X, y)
        assert_allclose(d.voter_margins, alone @ rho / rho.sum(), err_msg=name, **CLOSE)


@settings(max_examples=60)
@given(st.integers(2, 4), st.integers(1, 5), st.integers(1, 8), st.integers(0, 10_000))
def test_drawn_voters_are_drawn_by_weight(K, T, n, seed):
    """Gibbs risk, joint error and disagreement are those of drawing one voter, and two."""
    random = np.random.default_rng(seed)
    votes = random.integers(-1, K, (n, T))
    weights, y = random.integers(1, 4, T).astype(float), random.integers(0, K, n)
    d = MarginDistribution.of(cast(votes, weights, K), rows(n), y)
    loss = np.where(votes == -1, 0.5, votes != y[:, None])
    rho = weights / weights.sum()
    both = sum(rho[t] * rho[u] * np.mean(loss[:, t] * loss[:, u]) for t, u in product(range(T), repeat=2))
    one = sum(
        rho[t] * rho[u] * np.mean(loss[:, t] * (1 - loss[:, u]) + loss[:, u] * (1 - loss[:, t]))
        for t, u in product(range(T), repeat=2)
    )
    assert_allclose([d.gibbs_risk, d.joint_error, d.disagreement], [loss.mean(0) @ rho, both, one], **CLOSE)


def test_a_tie_is_settled_as_the_vote_settles_it():
    committee = cast(np.array([[0, 1], [0, 1]]), np.ones(2), 2)
    d = MarginDistribution.of(committee, rows(2), [0, 1])
    assert d.margins.tolist() == [0.0, 0.0]
    assert d.wrong.tolist() == [False, True]
    assert (d.error, d.nu(0.0)) == (0.5, 1.0)
    assert MarginDistribution([0.0, 0.0]).error == 1.0
    assert MarginDistribution([-0.5, 0.0, 0.5]).wrong.tolist() == [True, True, False]


def test_ties_are_settled_beside_rows_without_one():
    committee = cast(np.array([[0, 1], [1, 1], [0, 1], [1, 1]]), np.ones(2), 2)
    d = MarginDistribution.of(committee, rows(4), [0, 1, 1, 0])
    assert d.margins.tolist() == [0.0, 1.0, 0.0, -1.0]
    assert d.wrong.tolist() == [False, False, True, True]


def test_negative_weights_count_the_other_way_round():
    committee = cast(np.array([[0, 1], [0, 1]]), np.array([-1.0, 1.0]), 2)
    d = MarginDistribution.of(committee, rows(2), [1, 0])
    assert d.margins.tolist() == d.voter_margins.tolist() == [1.0, -1.0]


def test_frames_with_names_and_text():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X.assign(side=np.where(np.arange(len(X)) % 2, "left", "right"))
    model = AdaBoostClassifier(5).fit(X, y)
    assert MarginDistribution.of(model, X, y).n_rows == 150
    with pytest.raises(ValueError, match=r"feature names|column"):
        MarginDistribution.of(model, X.drop(columns="side"), y)


@pytest.mark.parametrize(("models", "load"), [("two", cancer), ("many", lambda: load_wine(return_X_y=True))])
def test_to_ask_all_is_to_ask_as_ever(models, load, request):
    X, y = load()
    for name, model in request.getfixturevalue(models).items():
        T = Committee.from_estimator(model).n_voters
        plain, asked = (
            MarginDistribution.of(model, X, y),
            MarginDistribution.of(model, X, y, asked=np.ones((len(y), T), bool)),
        )
        assert_allclose(asked.margins, plain.margins, err_msg=name, **CLOSE)
        assert_allclose(asked.voter_margins, plain.voter_margins, err_msg=name, **CLOSE)


def test_rows_that_nobody_is_asked_about_are_left_out(two):
    X, y = cancer()
    asked = np.zeros((len(y), 20), dtype=bool)
    asked[::2, :5] = True
    d = MarginDistribution.of(two["labels"], X, y, asked=asked)
    assert d.rows.tolist() == list(range(0, len(y), 2))
    assert_allclose(d.margins, two["labels"].committee_.select(slice(5)).margins(X, y)[::2], **CLOSE)


@pytest.mark.parametrize(
    "learner", [RandomForestClassifier, SubaggingClassifier, SBPMTClassifier], ids=lambda learner: learner.__name__
)
@pytest.mark.parametrize("load", [cancer, lambda: load_wine(return_X_y=True)], ids=["two", "three"])
@pytest.mark.filterwarnings("ignore:.*in every draw")
def test_out_of_bag_is_what_the_learner_remembers(learner, load):
    X, y = load()
    model = learner(n_estimators=10, oob_score=True, random_state=0).fit(X, y)
    d = MarginDistribution.out_of_bag(model, y)
    assert_allclose(1 - d.error, model.oob_score_, **CLOSE)
    assert d.rows.tolist() == np.flatnonzero(np.isfinite(model.oob_decision_function_[:, 0])).tolist()
    if hasattr(model, "oob_margins_"):
        assert_allclose(d.margins, model.oob_margins_[d.rows], **CLOSE)
    if len(model.classes_) == 2:
        assert_allclose(d.mean, 1 - 2 * d.gibbs_risk, **CLOSE)
    else:
        with pytest.raises(ValueError, match="asked="):
            _ = d.gibbs_risk
        assert "Gibbs" not in str(d)


@pytest.mark.parametrize("load", [cancer, lambda: load_wine(return_X_y=True)], ids=["two", "three"])
def test_their_forests_remember_too_and_their_draws_say_the_same(load):
    X, y = load()
    forest = TheirForest(60, oob_score=True, random_state=0).fit(X, y)
    remembered = MarginDistribution.out_of_bag(forest, y)
    unseen = np.ones((len(y), 60), dtype=bool)
    for t, drawn in enumerate(forest.estimators_samples_):
        unseen[drawn, t] = False
    asked = MarginDistribution.of(forest, X, y, asked=unseen)
    assert_allclose(remembered.margins, asked.margins, **CLOSE)
    assert_array_equal(remembered.wrong, asked.wrong)
    assert asked.gibbs_risk >= (1 - asked.mean) / 2 - 1e-12


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB", "ignore:.*in every draw")
def test_rows_seen_by_all_have_no_out_of_bag_margin():
    X, y = cancer()
    few = MarginDistribution.out_of_bag(TheirForest(3, oob_score=True, random_state=0).fit(X, y), y)
    assert 0 < few.n_rows < len(y)
    weight = np.ones(len(y))
    weight[:50] = 0.0
    ours = RandomForestClassifier(30, oob_score=True, random_state=0).fit(X, y, weight)
    assert MarginDistribution.out_of_bag(ours, y, weight).rows.min() >= 50


def test_rows_without_a_whole_vote_have_no_out_of_bag_margin():
    shares = np.array([[0.75, 0.25], [np.nan, np.nan], [0.0, 0.0], [0.5, np.nan], [0.0, 1.0]])
    d = MarginDistribution.out_of_bag(SimpleNamespace(oob_decision_function_=shares, classes_=[3, 8]), [3, 3, 3, 3, 3])
    assert d.rows.tolist() == [0, 4] and d.margins.tolist() == [0.5, -1.0]


def test_in_words():
    d = MarginDistribution([-0.5, 0.5, 1.0, 1.0], voter_margins=[-0.5, 0.5, 1.0, 1.0])
    assert str(d) == repr(d)
    lines = str(d).splitlines()
    assert lines[0] == "Margins of 4 rows"
    assert lines[1].split() == ["mean", "0.500"]
    assert [line.rstrip() for line in lines] == lines
    assert max(map(len, lines)) <= 80
    assert "25.0%   (Gibbs risk)" in str(d)
    assert str(MarginDistribution([1.0])).startswith("Margins of 1 row\n")


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"margins": []}, "one row at least"),
        ({"margins": [[0.1]]}, r"shape \(1, 1\)"),
        ({"margins": [0.1, 1.5]}, r"margins\[1\] is 1.5"),
        ({"margins": [np.nan]}, r"margins\[0\] is nan"),
        ({"margins": [0.1], "voter_margins": [2.0]}, "voter_margins"),
        ({"margins": [0.1], "voter_margins": [0.1, 0.2]}, "voter_margins has shape"),
        ({"margins": [0.1], "wrong": [True, False]}, "wrong has shape"),
        ({"margins": [0.1], "row_weight": [1.0, 1.0]}, "weights of the rows have shape"),
        ({"margins": [0.1], "row_weight": [0.0]}, "above zero"),
        ({"margins": [0.1, 0.2], "row_weight": [1.0, -1.0]}, "not negative"),
        ({"margins": [0.1, 0.2], "row_weight": [1.0, np.nan]}, "must be finite"),
    ],
)
def test_refused_numbers(given, match):
    with pytest.raises(ValueError, match=match):
        MarginDistribution(**given)


@pytest.mark.parametrize("q", [-0.1, 1.1, np.nan, [0.5, 2.0]])
def test_refused_shares(q):
    with pytest.raises(ValueError, match="between 0 and 1"):
        MarginDistribution([0.1]).quantile(q)


def test_gibbs_quantities_that_nobody_knows():
    d = MarginDistribution([0.1])
    for name in ("gibbs_risk", "disagreement", "joint_error"):
        with pytest.raises(ValueError, match="margins of single voters are unknown"):
            getattr(d, name)


def test_refused_rows_and_models(two):
    X, y = cancer()
    model = two["labels"]
    with pytest.raises(ValueError, match="not classes of the committee"):
        MarginDistribution.of(model, X, y + 1)
    with pytest.raises(ValueError, match="labels"):
        MarginDistribution.of(model, X, y[:-1])
    with pytest.raises(ValueError, match=r"there are \d+ rows"):
        MarginDistribution.of(model, X, y, np.ones(3))
    for asked in (np.ones((len(y), 20)), np.ones((len(y), 3), bool)):
        with pytest.raises(ValueError, match="give a boolean one"):
            MarginDistribution.of(model, X, y, asked=asked)
    with pytest.raises(ValueError, match="asked holds no True"):
        MarginDistribution.of(model, X, y, asked=np.zeros((len(y), 20), bool))
    first = np.arange(len(y)) == 0
    with pytest.raises(ValueError, match="asked holds no True in a row with weight"):
        MarginDistribution.of(model, X, y, 1.0 - first, asked=np.repeat(first[:, None], 20, axis=1))
    with pytest.raises(TypeError, match="regressor"):
        MarginDistribution.of(Ridge().fit(X, y), X, y)
    with pytest.raises(ValueError, match="labels"):
        MarginDistribution.of(model, X, y[:-1], asked=np.ones((len(y) - 1, 20), bool))


def test_refused_out_of_bag(two):
    X, y = cancer()
    with pytest.raises(ValueError, match="without an out-of-bag vote"):
        MarginDistribution.out_of_bag(two["shares"], y)
    forest = RandomForestClassifier(30, oob_score=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="was trained on"):
        MarginDistribution.out_of_bag(forest, y[:-1])
    with pytest.raises(ValueError, match=r"y holds .*7.*, which is no class"):
        MarginDistribution.out_of_bag(forest, np.append(y[:-1], 7))
    forest.oob_decision_function_[:] = np.nan
    with pytest.raises(ValueError, match="Every voter of the RandomForestClassifier was trained on all rows"):
        MarginDistribution.out_of_bag(forest, y)
    for strange in (y + 1, y.astype(str), pd.Series(y.astype(str))):
        with pytest.raises(ValueError, match="no class of the"):
            MarginDistribution.out_of_bag(forest, strange)


NEAR = {"rtol": 1e-9, "atol": 1e-9}


def of_row(cast, weights, spreads, K, truth, intercept):
    """Margin and mean margin of the voters with these votes, and the lead of the one elected over the next."""
    votes, weights, spreads = list(cast), list(weights), list(spreads)
    if intercept is not None:
        votes, weights = [*votes, intercept], [*weights, 1.0]
        spreads = [*spreads, oracle.spread([intercept])]
    D = 1 if votes and not isinstance(votes[0], int) and len(votes[0]) == 1 else K
    total = sum(abs(w) * s for w, s in zip(weights, spreads, strict=True))
    F = oracle.score(oracle.tally(votes, weights, D), K)
    alone = sum(
        oracle.margin(oracle.score(oracle.tally([v], [w], D), K), truth, [1.0], [1.0])
        for v, w in zip(votes, weights, strict=True)
    )
    lead = sorted([0.0, F[0]] if len(F) == 1 else F)
    return oracle.margin(F, truth, weights, spreads), alone / total if total else 0.0, F, lead[-1] - lead[-2]


@given(casts(), st.booleans(), st.data())
def test_votes_on_some_rows_are_those_of_a_loop(case, with_intercept, data):
    votes, weights, K = case
    n, T = votes.shape[:2]
    D = 1 if votes.ndim == 3 and votes.shape[2] == 1 else K
    kinds = votes.tolist()
    intercept = None
    if with_intercept and votes.ndim == 3:
        intercept = data.draw(st.lists(st.floats(-2, 2), min_size=D, max_size=D))
    truth = np.array(data.draw(st.lists(st.integers(0, K - 1), min_size=n, max_size=n)))
    counted = np.array(data.draw(st.lists(st.booleans(), min_size=n * T, max_size=n * T))).reshape(n, T)
    committee = Committee(forest_that_votes(votes, K), weights, np.arange(K), Softmax(), intercept=intercept)
    spreads = [oracle.spread([kinds[i][t] for i in range(n)]) for t in range(T)]
    for mask in (None, counted):
        found = VoterMargins.of(committee, rows(n), truth, mask, 1)
        for i in range(n):
            of = [t for t in range(T) if mask is None or mask[i, t]]
            margin, alone, F, lead = of_row(
                [kinds[i][t] for t in of], weights[of], [spreads[t] for t in of], K, truth[i], intercept
            )
            size = sum(abs(w) for w in weights[of]) + 1.0
            total = sum(abs(weights[t]) * spreads[t] for t in of)
            if total + (oracle.spread([intercept]) if intercept else 0.0) > 1e-6 * size:  # digits enough to compare
                assert_allclose([found.margins[i], found.voter_margins[i]], [margin, alone], **NEAR)
            if lead > 1e-9 * size:
                assert found.elected[i] == oracle.elected(F)


@pytest.mark.parametrize("scale", [1e-12, 0.01, 1.0, 100.0, 1e12])
def test_the_scale_of_the_weights_means_nothing(scale):
    committee = committee_of(np.array([[0, 1, 2], [1, 1, -1], [2, 2, 2]]), scale * np.array([1.0, 2.0, 4.0]), 3)
    counted = np.array([[True, True, True], [True, False, True], [False, True, False]])
    found = VoterMargins.of(committee, rows(3), np.array([2, 1, 0]), counted, 1)
    assert_allclose(found.margins, [2 / 7, 1 / 5, -1.0], rtol=1e-12)
    assert_allclose(found.voter_margins, [1 / 7, 1 / 5, -1.0], rtol=1e-12)
    assert found.elected.tolist() == [2, 1, 2]


def test_a_row_on_which_nobody_votes_has_no_margin():
    committee = committee_of(np.array([[0, 0], [1, 1]]), np.ones(2), 2)
    found = VoterMargins.of(committee, rows(2), np.array([0, 0]), np.array([[False, False], [True, True]]), 1)
    assert found.margins.tolist() == found.voter_margins.tolist() == [0.0, -1.0]


def test_no_margin_is_beyond_one_whatever_the_order_of_the_sums():
    """All voters favour the right class of the first row with all their spread, and a wrong one of the second."""
    low, high = [0.1, 0.2, 0.1], [0.6, 0.7, 0.8]
    votes = np.array([[[top, least, least] for least, top in zip(low, high, strict=True)]] * 2)
    found = VoterMargins.of(committee_of(votes, np.array([0.3, 0.7, 0.1]), 3), rows(2), np.array([0, 1]), None, 1)
    assert found.margins.tolist() == found.voter_margins.tolist() == [1.0, -1.0]


@given(casts(), st.sampled_from([Softmax(), Logistic(), Truncated()]))
def test_all_voters_elect_as_the_committee_does(case, link):
    """Ties and what its link takes for ties among them."""
    votes, weights, K = case
    committee = Committee(forest_that_votes(votes, K), weights, np.arange(K), link)
    found = VoterMargins.of(committee, rows(len(votes)), np.zeros(len(votes), dtype=int), None, 1)
    assert_array_equal(found.elected, committee.predict(rows(len(votes))))


@pytest.mark.parametrize("weight", [1.0, 0.03])
def test_shares_with_the_same_mean_are_a_tie_among_some_voters_too(weight):
    """0.3 + 0.4 + 0.1 and 0.1 + 0.3 + 0.4 are apart by a rounding, a third of each is not."""
    shares = np.array([[0.3, 0.1, 0.3, 0.3], [0.4, 0.3, 0.15, 0.15], [0.1, 0.4, 0.25, 0.25], [0.0, 0.0, 0.0, 1.0]])
    tally = weight * shares[0] + weight * shares[1] + weight * shares[2]
    assert tally[0] < tally[1]
    of_three, of_four = (
        Committee(forest_that_votes(np.array([shares[:T]] * 3), 4), np.full(T, weight), np.arange(4), Share())
        for T in (3, 4)
    )
    assert of_three.predict(rows(3)).tolist() == [0, 0, 0]
    counted = np.array([[True, True, True, True], [True, True, True, False], [False, False, False, False]])
    found = VoterMargins.of(of_four, rows(3), np.zeros(3, dtype=int), counted, 1)
    assert found.elected.tolist() == [3, 0, 0]


def test_an_intercept_counts_as_a_voter_where_scores_are_near():
    """Least squares takes scores for equal that are apart by 1e-12 of all weight, here 2."""
    votes = np.array([[[0.0, 1.5e-12, -1.0]], [[0.0, 2.5e-12, -1.0]]])
    committee = Committee(forest_that_votes(votes, 3), [1.0], np.arange(3), Truncated(), intercept=np.zeros(3))
    found = VoterMargins.of(committee, rows(2), np.zeros(2, dtype=int), None, 1)
    assert found.elected.tolist() == committee.predict(rows(2)).tolist() == [0, 1]
