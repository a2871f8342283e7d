"""The tandem bound as an objective: whose bound it is, that its weights are the best, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import RandomForestClassifier as TheirForest
from sklearn.model_selection import train_test_split

from committee import AdaBoostClassifier, MarginReweighter, RandomForestClassifier
from committee.bounds import VoterLosses, tandem, tandem_weights
from committee.learners.trained_ensembles import voter_losses
from committee.objectives.margins.tandem_bound import PairLosses, Tandem, least_tandem_bound, tandem_bound
from committee.objectives.programs.margin_matrix import MarginMatrix

CANCER, WINE = load_breast_cancer(return_X_y=True), load_wine(return_X_y=True)
seeds = st.integers(0, 2**32 - 1)


def random_lines(seed, n=200, T=8):
    rng = np.random.default_rng(seed)
    wrong = (rng.random((n, 1)) < 0.1) | (rng.random((n, T)) < rng.uniform(0.05, 0.45, T))
    return MarginMatrix.of_matrix(np.where(wrong, -1, 1).astype(np.int8), own=rng.dirichlet(np.ones(T)))


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_it_is_the_bound_of_the_losses_and_never_above_the_own_weights(seed):
    lines = random_lines(seed)
    losses = VoterLosses(lines.matrix, None, lines.own)
    found = Tandem(delta=0.1).solve(lines)
    assert found.before == pytest.approx(tandem(losses, delta=0.1).value, abs=1e-12)
    assert found.value == pytest.approx(tandem(losses, found.weights, 0.1).value, abs=1e-12)
    assert found.value <= found.before and found.value <= tandem(losses, np.ones(8), 0.1).value
    assert found.weights.min() >= 0.0 and found.weights.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(found.weights, tandem_weights(losses, delta=0.1))


@pytest.mark.parametrize("limits", [{"max_rounds": 0}, {"max_rounds": 1, "max_steps": 1}, {"max_steps": 3}], ids=str)
def test_a_search_that_is_cut_short_is_no_worse_than_its_starts(limits):
    """Which are the own weights and equal ones; the longer it goes on, the better."""
    lines = random_lines(1)
    pairs, prior = PairLosses.of_lines(lines), np.log(8)
    weights, rounds = least_tandem_bound(pairs, prior, lines.own, **limits)
    bound = tandem_bound(pairs, weights, prior, 0.05)
    assert bound <= min(tandem_bound(pairs, w, prior, 0.05) for w in (lines.own, np.full(8, 1 / 8)))
    assert rounds <= limits.get("max_rounds", 50)
    assert bound >= tandem_bound(pairs, least_tandem_bound(pairs, prior, lines.own)[0], prior, 0.05) - 1e-6


def test_no_other_weights_are_better():
    """The slope of the bound is the same for every voter of the simplex's inside, and no random step lowers it."""
    lines = random_lines(0, n=3000, T=6)
    pairs, prior = PairLosses.of_lines(lines), np.log(6)
    w = Tandem().solve(lines).weights
    least = tandem_bound(pairs, w, prior, 0.05)
    assert w.min() > 1e-6
    slope = [
        (tandem_bound(pairs, w + 1e-5 * (e - w), prior, 0.05) - tandem_bound(pairs, w - 1e-5 * (e - w), prior, 0.05))
        / 2e-5
        for e in np.eye(6)
    ]
    np.testing.assert_allclose(slope, 0.0, atol=1e-4)
    rng = np.random.default_rng(1)
    for size in (0.001, 0.01, 0.1, 1.0):
        for e in rng.dirichlet(np.full(6, 0.3), 200):
            assert tandem_bound(pairs, (1 - size) * w + size * e, prior, 0.05) >= least - 1e-6


@pytest.mark.parametrize("table", [CANCER, WINE], ids=["two", "three"])
def test_out_of_bag_and_on_validation_rows(table):
    X, new, y, labels = train_test_split(*table, test_size=0.4, random_state=0)
    ours = RandomForestClassifier(40, max_samples=0.4, max_depth=4, oob_score=True, random_state=0).fit(X, y)
    theirs = TheirForest(40, max_samples=0.4, max_depth=4, random_state=0).fit(X, y)
    for forest in (ours, theirs):
        for on, rows, truth in (("oob", X, y), ("validation", new, labels)):
            model = MarginReweighter(forest, "tandem", on=on).fit(rows, truth)
            losses = voter_losses(forest, rows, truth, on="oob" if on == "oob" else "validation")
            assert model.value_before_ == pytest.approx(tandem(losses).value, abs=1e-9)
            assert model.value_ == pytest.approx(tandem(losses, model.weights_).value, abs=1e-9)
            assert model.value_ <= model.value_before_ and model.weights_.min() >= 0.0
            assert model.score(new, labels) > 0.85
            smaller = model.prune(max_voters=10)
            assert smaller.committee_.n_voters <= 10 and smaller.predict(new).shape == labels.shape


def test_voters_that_count_the_other_way_round_cost_a_larger_prior():
    X, y = CANCER
    committee = AdaBoostClassifier(n_estimators=6).fit(X[:300], y[:300]).committee_
    turned = committee.select(np.arange(6), weights=committee.weights * [1, -1, 1, 1, 1, 1])
    model = MarginReweighter(turned, "tandem", on="validation").fit(X[300:], y[300:])
    losses = voter_losses(turned, X[300:], y[300:])
    assert losses.turned and model.weights_[1] <= 0.0
    assert model.value_ == pytest.approx(tandem(losses, np.abs(model.weights_)).value, abs=1e-9)


def test_what_is_refused():
    X, y = WINE
    forest = TheirForest(10, random_state=0).fit(X, y)
    model = MarginReweighter(forest, "tandem")
    with pytest.raises(
        ValueError, match="objective='tandem' needs rows that the voters have not seen, and with on='train'"
    ):
        model.fit(X, y)
    assert not hasattr(model, "weights_")
    model.set_params(on="validation")
    with pytest.raises(ValueError, match="sample_weight differs among the rows"):
        model.fit(X, y, np.arange(1, 179) / 89.5)
    weight = np.where(np.arange(178) % 3 > 0, 2.0, 0.0)
    some = weight > 0
    assert model.fit(X, y, weight).value_ == pytest.approx(model.fit(X[some], y[some]).value_)
    with pytest.raises(ValueError, match=r"delta=1\.0 is not in \(0, 1\)"):
        Tandem(delta=1.0)
