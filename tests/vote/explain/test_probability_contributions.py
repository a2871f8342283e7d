"""Contributions to probabilities and the slopes of links: sums, definitions, differences and integrals."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad_vec
from scipy.sparse import csr_array
from sklearn.naive_bayes import GaussianNB

from committee import (
    AdaBoostClassifier,
    Committee,
    GradientBoostingClassifier,
    LogitBoostClassifier,
    ProbitBoostClassifier,
    QuadBoostClassifier,
    RandomForestClassifier,
    SBPMTClassifier,
    TreeVoter,
)
from committee.learners.blend.portfolio import candidates
from committee.vote.explain.contributions import (
    carried_shares,
    leaf_probability_shares,
    mean_slopes,
    probability_contributions,
    slopes,
)
from committee.vote.explain.tree_contributions import tree_contributions
from committee.vote.explain.tree_expectations import tree_expectations
from committee.vote.links.probability import (
    LINKS,
    Logistic,
    Probit,
    Share,
    Softmax,
    TemperedMargin,
    TemperedShare,
    Truncated,
)
from committee.vote.members import MemberCommittees
from committee.vote.weighted_votes import signed
from tests.oracles import votes as oracle
from tests.small_portfolio import BOOSTING, SMALL, products, with_second_layer
from tests.subjects import numbers
from tests.vote.explain.mixed_table import mixed_table

SMOOTH = [Softmax(1.5), Logistic(1.0), Probit(), TemperedShare(0.5)]


def small(n_classes, link, places, seed=0):
    """Shares in scores: of a few features, and last of none."""
    rng = np.random.default_rng(seed)
    D = 1 if n_classes == 2 and not isinstance(link, TemperedShare) else n_classes
    shares = rng.normal(0.0, 0.3, (2, places, D))
    shares[:, -1] += 2.0 if isinstance(link, TemperedShare) else 0.0
    return shares


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("link", SMOOTH, ids=str)
def test_carried_shares_are_those_of_many_short_steps(link, n_classes):
    shares = small(n_classes, link, 4)
    found = carried_shares(link, shares, 6.0)
    for i in range(len(shares)):
        assert_allclose(found[i], oracle.carried(link, shares[i], 6.0), atol=1e-8)


@pytest.mark.parametrize("link", SMOOTH, ids=str)
def test_of_one_score_they_are_in_proportion(link):
    shares = np.random.default_rng(0).normal(0.0, 1.0, (20, 5, 1))
    F = shares.sum(axis=1)
    change = link.probability(F, 9.0) - link.probability(shares[:, -1], 9.0)
    part = shares[:, :-1] / (F - shares[:, -1])[:, None]
    assert_allclose(carried_shares(link, shares, 9.0)[:, :-1], part * change[:, None], atol=1e-11)


@given(st.sampled_from(SMOOTH), st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_they_are_fair(link, n_classes, seed):
    """They add up; nothing has no share, the same has the same; the order of the features is of no account."""
    shares = small(n_classes, link, 6, seed)
    shares[:, 1], shares[:, 3] = 0.0, shares[:, 2]
    found = carried_shares(link, shares, 12.0)
    assert_allclose(found.sum(axis=1), link.probability(shares.sum(axis=1), 12.0), atol=1e-13)
    assert_allclose(found[:, :-1].sum(axis=2), 0.0, atol=1e-13)
    assert not found[:, 1].any()
    assert_array_equal(found[:, 2], found[:, 3])
    order = [4, 2, 0, 1, 3, 5]
    assert_allclose(carried_shares(link, shares[:, order], 12.0), found[:, order], atol=1e-13)


def test_where_the_link_is_straight_or_one_feature_counts_they_are_shapley_values():
    shares = np.random.default_rng(0).dirichlet(np.ones(3), (4, 5))
    assert_allclose(carried_shares(Share(), shares, 10.0), shares / 10.0, atol=1e-14)
    shares[:, 1:-1] = 0.0
    found = carried_shares(Softmax(), shares, 1.0)
    assert_allclose(found[:, 0], Softmax().probability(shares.sum(axis=1)) - found[:, -1], atol=1e-13)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("candidate", candidates(False, "best"), ids=lambda one: one.name)
def test_they_add_up_for_every_candidate_of_a_blend(candidate, n_classes):
    X, y = mixed_table(n_classes=n_classes)
    settings = {"random_state": 0} | candidate.parameters | SMALL.get(candidate.name, BOOSTING)
    if "calibrate" in candidate.learner.declared_parameters:
        settings["calibrate"] = None
    model = candidate.learner(**settings).fit(X, y)
    for one in (model.committee_, replace(model.committee_, link=model.committee_.link.tempered(0.7))):
        shares = probability_contributions(one, X)
        p = one.predict_proba(X)
        assert shares.shape == (len(p), 5, n_classes)
        assert_allclose(shares.sum(axis=1), p, atol=1e-12)
        assert_allclose(shares[:, :-1].sum(axis=2), 0.0, atol=1e-12)
        assert (np.ptp(shares[:, -1], axis=0) == 0.0).all()
        assert_array_equal(probability_contributions(one, X, n_threads=3), shares)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_forest_without_temperature_has_its_shapley_values(n_classes):
    X, y = numbers(n_classes)
    forest = RandomForestClassifier(5, calibrate=None, random_state=0).fit(X, y)
    exact = tree_contributions(forest, X, output="probability")
    assert_allclose(probability_contributions(forest.committee_, X), exact, atol=1e-13)


@pytest.mark.parametrize("kind", [LogitBoostClassifier, ProbitBoostClassifier])
def test_lines_share_out_what_is_beyond_the_mean(kind):
    X, y = numbers(2)
    model = kind(20).fit(X, y)
    F = model.decision_function(X)
    score = model.coef_[0] * (X - X.mean(axis=0))
    base = float(model.intercept_[0] + model.coef_[0] @ X.mean(axis=0))
    p = model.committee_.link.probability(np.append(F, base))[:, 1]
    expected = score * ((p[:-1] - p[-1]) / (F - base))[:, None]
    shares = probability_contributions(model.committee_, X)[:, :, 1]
    assert_allclose(shares[:, :-1], expected, atol=1e-10)
    assert_allclose(shares[:, -1], p[-1])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("link", ["probit", "logit"])
def test_leaf_probabilities_are_shared_out_as_the_definition_has_it(n_classes, link):
    X, y = mixed_table(n_classes=n_classes)
    model = SBPMTClassifier(1, 2, 5, max_depth=2, min_impurity_decrease=0, link=link, random_state=0).fit(X, y)
    voters = model.committee_.voters
    data, weights = model.table_.encode(X)[:6], voters.tree_weights(np.full(1, 3.0))
    inner = Probit() if link == "probit" else Logistic(1.0)
    found = leaf_probability_shares(voters.members, data, weights)
    assert_allclose(found, oracle.leaf_probabilities(voters.members, inner, data, weights), atol=1e-7)
    assert (np.diff(voters.members.forest.offset) > 1).any()


def test_a_block_of_rows_is_those_of_each(monkeypatch):
    X, y = numbers(3)
    model = SBPMTClassifier(2, random_state=0).fit(X, y)
    shares = probability_contributions(model.committee_, X)
    monkeypatch.setattr("committee.vote.explain.contributions._SHARE_BLOCK", 200)
    assert_array_equal(probability_contributions(model.committee_, X), shares)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_members_count_with_their_weights(n_classes):
    X, y = numbers(n_classes)
    kinds = [TreeVoter(max_depth=2), GradientBoostingClassifier(n_estimators=5), LogitBoostClassifier(5)]
    members = [kind.fit(X, y).committee_ for kind in kinds]
    w = np.array([0.5, 0.2, 0.3])
    committee = Committee(MemberCommittees(members), w, members[0].classes, Share())
    expected = sum(v * probability_contributions(one, X) for v, one in zip(w, members, strict=True))
    assert_allclose(probability_contributions(committee, X), expected, atol=1e-13)
    for link in (TemperedShare(0.5), Logistic(), Probit(), Truncated()):
        other = replace(committee, link=link)
        assert_allclose(probability_contributions(other, X).sum(axis=1), other.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize(
    ("model", "n_classes"),
    [
        *((AdaBoostClassifier(10, vote=vote, calibrate=None), 3) for vote in ("discrete", "confidence")),
        (AdaBoostClassifier(10, vote="abstaining", calibrate=None), 2),
        *((QuadBoostClassifier(random_state=0), n_classes) for n_classes in (2, 3)),
    ],
)
def test_they_add_up_for_trees_that_name_classes_and_scores_that_are_cut_off(model, n_classes):
    X, y = numbers(n_classes)
    shares = probability_contributions(model.fit(X, y).committee_, X)
    assert_allclose(shares.sum(axis=1), model.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_weight_all_classes_are_alike(n_classes):
    X, y = numbers(n_classes)
    forest = RandomForestClassifier(2, calibrate=None).fit(X, y).committee_
    shares = probability_contributions(forest.select(slice(None), np.zeros(2)), X)
    assert not shares[:, :-1].any()
    assert_allclose(shares[:, -1], 1.0 / n_classes)


@pytest.mark.filterwarnings("ignore:y holds one class")
def test_one_class_has_nothing_to_share():
    X, _ = numbers(2)
    model = RandomForestClassifier(2).fit(X, np.zeros(len(X)))
    shares = probability_contributions(model.committee_, X)
    assert shares.shape == (len(X), 6, 1)
    assert not shares[:, :-1].any() and (shares[:, -1] == 1.0).all()


def test_what_cannot_be():
    X, y = numbers(2)
    hard = SBPMTClassifier(2, voting="hard", calibrate=None, random_state=0).fit(X, y).committee_
    with pytest.raises(TypeError, match=r"add up to the probabilities of BoostedCommittees; .* voting='soft'"):
        probability_contributions(hard, X)
    with pytest.raises(TypeError, match="member 0: no contributions add up"):
        probability_contributions(Committee(MemberCommittees([hard]), [1.0], hard.classes, Share()), X)
    bayes = AdaBoostClassifier(2, voter=GaussianNB(), calibrate=None).fit(X, y).committee_
    with pytest.raises(TypeError, match="EstimatorVoters"):
        probability_contributions(bayes, X)
    with pytest.raises(TypeError, match="sparse X"):
        probability_contributions(hard, csr_array(X))
    abstaining = AdaBoostClassifier(10, vote="abstaining", calibrate=None).fit(X, y).committee_
    for link in (Share(), Softmax(normalized=True)):
        with pytest.raises(ValueError, match=r"some trees abstain, and .* divides by the weight of the others"):
            probability_contributions(replace(abstaining, link=link), X)
    soft = SBPMTClassifier(2, random_state=0).fit(X, y).committee_
    bare = replace(soft.voters, members=replace(soft.voters.members, record=None))
    with pytest.raises(ValueError, match="hold no record"):
        probability_contributions(replace(soft, voters=bare), X)
    layered = with_second_layer()
    with pytest.raises(TypeError, match=r"'second_layer' reads .* model\.without\('second_layer'\)"):
        probability_contributions(layered.committee_, products()[0])
    with pytest.raises(TypeError, match=r"'second_layer' reads .* model\.without\('second_layer'\)"):
        tree_expectations(layered.committee_, 0, np.zeros(1))
    assert probability_contributions(layered.without("second_layer").committee_, np.ones((1, 4))).shape == (1, 5, 3)


EVERY = [
    Softmax(1.3),
    Softmax(2.0, normalized=True),
    Logistic(),
    Probit(),
    TemperedShare(0.6),
    Truncated(0.05),
    TemperedMargin(0.4),
]
TOTAL = 5.0


def scores(rng, link, n, D, size=1.0):
    """Scores that the link takes, those of shares votes of weight `TOTAL`."""
    if not isinstance(link, TemperedShare):
        return rng.normal(0.0, size, (n, D))
    return rng.uniform(-TOTAL, TOTAL, (n, 1)) if D == 1 else rng.dirichlet(np.ones(D), n) * TOTAL


def test_every_link_has_slopes():
    assert {type(link) for link in EVERY} == {*LINKS.values()} - {Share}


@pytest.mark.parametrize("link", EVERY, ids=str)
def test_slopes_are_differences(link):
    rng = np.random.default_rng(0)
    for D in (1, 2, 3, 5):
        F = scores(rng, link, 40, D)
        if isinstance(link, Truncated):
            F = F[(np.abs(np.abs(signed(F)[:, None] if D == 2 else F) - 0.9) > 1e-3).all(axis=1)]
        found = slopes(link, F, TOTAL)
        for d, step in enumerate(np.eye(D) * 1e-5):
            change = link.probability(F + step, TOTAL) - link.probability(F - step, TOTAL)
            assert_allclose(found[:, :, d], change / 2e-5, atol=1e-8)


def slope_at(link, first, last, t):
    return slopes(link, (first + t * (last - first))[None], TOTAL)[0]


@pytest.mark.parametrize("link", EVERY, ids=str)
@pytest.mark.parametrize("size", [0.1, 40.0])
def test_means_are_integrals(link, size):
    rng = np.random.default_rng(1)
    for D in (1, 3, 2):
        base, end = scores(rng, link, 2, D, size), scores(rng, link, 2, D, size)
        found = mean_slopes(link, base, end - base, TOTAL)
        pieces = np.linspace(0, 1, 40).tolist() if size > 1.0 or isinstance(link, Truncated) else None
        for first, last, slope in zip(base, end, found, strict=True):
            mean, _ = quad_vec(partial(slope_at, link, first, last), 0.0, 1.0, points=pieces)
            assert_allclose(slope, mean, atol=1e-6 if isinstance(link, Truncated) else 1e-9)


@given(
    st.sampled_from(EVERY),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 1e-9, 1.0, 30.0, 1e6, 1e100]),
    st.sampled_from([0.0, 1.0, 50.0]),
)
def test_means_times_steps_are_the_change(link, seed, size, far):
    rng = np.random.default_rng(seed)
    for D in (1, 2, 3, 5):
        base, end = scores(rng, link, 3, D, far), scores(rng, link, 3, D, size)
        found = mean_slopes(link, base, end - base, TOTAL)
        change = link.probability(base + (end - base), TOTAL) - link.probability(base, TOTAL)
        assert_allclose(np.einsum("nkd,nd->nk", found, end - base), change, atol=1e-12)


def test_a_row_of_many_has_the_bits_of_one_alone():
    rng = np.random.default_rng(2)
    base, step = rng.normal(0, 3, (40_000, 3)), rng.normal(0, 30, (40_000, 3))
    found = mean_slopes(Logistic(1.0), base, step, 1.0)
    for i in (0, 17, 39_999):
        assert_array_equal(mean_slopes(Logistic(1.0), base[i : i + 1], step[i : i + 1], 1.0)[0], found[i])


def test_wrong_slopes_are_refused(monkeypatch):
    monkeypatch.setattr("committee.vote.explain.contributions._slope_of_two", lambda link, F, p, total: 0.1 + 0.0 * F)
    with pytest.raises(ArithmeticError, match=r"derivatives of Logistic\(scale=2.0\) do not sum to the changes"):
        mean_slopes(Logistic(), np.zeros((2, 1)), np.ones((2, 1)), 1.0)


def test_no_weight_has_no_slopes():
    assert not slopes(Softmax(1.0, normalized=True), np.zeros((1, 3)), 0.0).any()
