"""Contributions of model trees against their definition, row by row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import entr, log_ndtr
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from committee import ProbitModelTreeClassifier, SBPMTClassifier, load
from committee.vote.explain.contributions import contributions, node_means
from committee.vote.explain.rules import EVERY_ROW
from tests.vote.explain.mixed_table import N, column, mixed_table, scores


def naive(voters, x, tree):
    """One row through one tree, as the definition has it."""
    f, record = voters.forest, voters.record
    o = int(f.offset[tree])

    def leaves_below(i):
        if f.feature[o + i] < 0:
            return [voters.model[o + i]]
        left = int(f.left[o + i])
        return leaves_below(left) + leaves_below(left + 1)

    def mean(i):
        below = leaves_below(i)
        each = [voters.intercept[m] + voters.coefficient[m] @ record.centre[m] for m in below]
        return np.average(each, axis=0, weights=record.mass[below])

    leaf = int(f.apply(x[None])[0, tree])
    shares = np.zeros((voters.n_features + 1, voters.intercept.shape[1]))
    shares[-1] = mean(0)
    at = 0
    while at != leaf:
        left = int(f.left[o + at])
        goes = left if leaf in reached_from(f, o, left) else left + 1
        shares[f.feature[o + at]] += mean(goes) - mean(at)
        at = goes
    m = voters.model[o + leaf]
    d = voters.design.matrix(x[None])[0]
    for c, j in enumerate(voters.design.source):
        shares[j] += voters.coefficient[m][:, c] * (d[c] - record.centre[m, c])
    return shares


def reached_from(f, o, i):
    if f.feature[o + i] < 0:
        return {i}
    left = int(f.left[o + i])
    return {i} | reached_from(f, o, left) | reached_from(f, o, left + 1)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("tree", ["shared", "per_class"])
def test_contributions_are_what_the_definition_says(n_classes, tree):
    X, y = mixed_table(1, n_classes=n_classes)
    model = ProbitModelTreeClassifier(tree=tree, min_impurity_decrease=0.0, n_leaf_steps=20).fit(X, y)
    voters = model.committee_.voters
    encoded = model.table_.encode(X)[:25]
    shares = contributions(voters, encoded, np.ones(1))
    for i, x in enumerate(encoded):
        for t in range(len(voters.forest)):
            expected = naive(voters, x, t)
            for k in range(expected.shape[1]):
                got = column(shares, t if voters.trees_per_voter > 1 else k)[i]
                assert_allclose(got, expected[:, k], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("tree", ["shared", "per_class"])
def test_contributions_add_up_to_the_score_and_to_nothing_over_the_training_rows(n_classes, tree):
    X, y = mixed_table(2, n_classes=n_classes)
    weights = np.random.default_rng(3).uniform(0.2, 2.0, N)
    model = ProbitModelTreeClassifier(tree=tree, min_impurity_decrease=0.001).fit(X, y, weights)
    assert model.committee_.n_nodes > 3
    shares, F = model.contributions(X), scores(model, X)
    F = F[:, 0] if n_classes == 2 else F
    assert shares.shape == ((N, 5) if n_classes == 2 else (N, 5, 4))
    scale = np.maximum(np.abs(F), np.abs(shares).max(axis=1))
    assert (np.abs(shares.sum(axis=1) - F) <= 1e-12 * scale).all()
    mean = np.average(shares, axis=0, weights=weights)
    assert_allclose(mean[:-1], 0.0, atol=1e-10)
    assert_allclose(mean[-1], np.average(F, axis=0, weights=weights), rtol=1e-10)
    assert_allclose(shares[0, -1], shares[-1, -1], rtol=0, atol=0)


@pytest.mark.parametrize("load_table", [load_iris, load_breast_cancer, load_wine])
@pytest.mark.parametrize("tree", ["shared", "per_class"])
def test_contributions_of_committees_add_up_to_the_mean_score(load_table, tree):
    X, y = load_table(return_X_y=True)
    model = SBPMTClassifier(5, 3, 30, tree=tree, calibrate=None, random_state=0).fit(X, y)
    committees = model.committee_.voters
    shares, vote = model.contributions(X, return_vote=True)
    F, mean = committees.members.scores(X), 0.0
    for m in range(5):
        own = slice(committees.start[m], committees.start[m + 1])
        mean += np.average(F[:, own], axis=1, weights=committees.alpha[own]) / 5
    mean = mean[:, 0] if mean.shape[1] == 1 else mean
    scale = np.maximum(np.abs(mean), np.abs(shares).max(axis=1))
    assert (np.abs(shares.sum(axis=1) - mean) <= 1e-12 * scale).all()
    assert_allclose(vote, model.predict_proba(X), atol=1e-12)
    assert_array_equal(model.contributions(X), shares)
    elected = shares.sum(axis=1)
    elected = (elected > 0).astype(int) if elected.ndim == 1 else elected.argmax(axis=1)
    assert (model.classes_[elected] == model.predict(X)).mean() > 0.95


def test_a_weight_of_two_is_the_row_twice():
    X, y = mixed_table(4, n=200)
    weights = np.random.default_rng(0).integers(1, 3, 200).astype(float)
    index = np.repeat(np.arange(200), weights.astype(int))
    kinds = {"min_samples_leaf": 40, "n_leaf_steps": 1}  # the kernel standardises by rows, so one step from zero
    once = ProbitModelTreeClassifier(max_depth=1, **kinds).fit(X, y, weights)
    twice = ProbitModelTreeClassifier(max_depth=1, **kinds).fit(X[index], y[index])
    assert_allclose(once.contributions(X), twice.contributions(X), atol=1e-9)
    assert_allclose(once.feature_importances_, twice.feature_importances_, atol=1e-9)


def test_a_column_far_from_zero_loses_no_digits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X[:, 0] + rng.normal(0, 0.5, 300) > 0
    here = ProbitModelTreeClassifier(max_depth=1).fit(X, y).contributions(X)
    there = ProbitModelTreeClassifier(max_depth=1).fit(X + 2.0**20, y).contributions(X + 2.0**20)
    assert_allclose(here, there, atol=1e-6)


def test_a_tree_of_one_leaf_is_a_linear_model():
    X, y = load_breast_cancer(return_X_y=True)
    model = ProbitModelTreeClassifier(max_depth=1, min_impurity_decrease=1.0).fit(X, y)
    b = model.committee_.voters.coefficient[0, 0]
    assert_allclose(model.contributions(X)[:, :-1], b * (X - X.mean(axis=0)), atol=1e-9)
    assert model.leaf_models_["rule"].to_list() == [EVERY_ROW]


def test_rows_are_explained_alike_in_blocks_and_threads():
    X, y = load_wine(return_X_y=True)
    model = SBPMTClassifier(3, 2, 20, random_state=0).fit(X, y)
    many = np.tile(X, (40, 1))
    shares = model.contributions(many)
    assert_array_equal(shares[:178], model.contributions(X))
    assert_array_equal(shares, model.set_params(n_jobs=2).contributions(many))


def test_without_a_record_the_model_says_so():
    X, y = load_iris(return_X_y=True)
    model = ProbitModelTreeClassifier().fit(X, y)
    model.committee_ = replace(model.committee_, voters=replace(model.committee_.voters, record=None))
    with pytest.raises(ValueError, match="record of their training rows"):
        model.contributions(X)
    assert not hasattr(model, "feature_importances_")


def test_a_saved_model_explains_as_the_fitted_one(tmp_path):
    X, y = mixed_table(5, n_classes=3)
    for model in (ProbitModelTreeClassifier(), SBPMTClassifier(3, 2, 20, random_state=0)):
        model.fit(X, y).save(tmp_path / "m.committee")
        again = load(tmp_path / "m.committee")
        assert_array_equal(again.contributions(X), model.contributions(X))
        assert_array_equal(again.feature_importances_, model.feature_importances_)
        assert again.leaf_models_.equals(model.leaf_models_)


def test_selected_committees_keep_their_record():
    X, y = load_iris(return_X_y=True)
    model = SBPMTClassifier(4, 3, 20, random_state=0).fit(X, y)
    voters = model.committee_.voters
    some = voters[[2, 0]]
    whole = contributions(voters.members, X, np.arange(1.0, len(voters.alpha) + 1))
    order = np.concatenate([np.arange(voters.start[m], voters.start[m + 1]) for m in (2, 0)])
    rest = np.setdiff1d(np.arange(len(voters.alpha)), order)
    parts = contributions(some.members, X, order + 1.0) + contributions(voters.members[rest], X, rest + 1.0)
    assert_allclose(parts, whole, atol=1e-9)
    assert node_means(some.members, 0).shape[1] == 3


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("tree", ["shared", "per_class"])
def test_importances_divide_the_fall_of_the_risk(n_classes, tree):
    X, y = mixed_table(8, n_classes=n_classes)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, N)
    model = ProbitModelTreeClassifier(tree=tree, min_impurity_decrease=0.001).fit(X, y, weights)
    fall = model.committee_.voters.record.risk_decrease.sum()
    F = scores(model, X)
    w = weights / weights.sum()
    positive = y[:, None] == (model.classes_[1:] if n_classes == 2 else model.classes_)
    risk = -(w @ log_ndtr(np.where(positive, F, -F))).sum()
    p = w @ positive
    assert np.isclose(fall, (entr(p) + entr(1 - p)).sum() - risk, rtol=1e-9)
    importances = model.feature_importances_
    assert importances.shape == (4,) and np.isclose(importances.sum(), 1.0) and (importances >= 0).all()


def test_importances_of_many_scores_are_those_of_few(monkeypatch):
    X, y = mixed_table(8, n_classes=3)
    few = ProbitModelTreeClassifier(n_leaf_steps=5).fit(X, y).feature_importances_
    monkeypatch.setattr("committee.vote.explain.importances.is_faster_by_covariance", lambda n_scores, n_columns: True)
    many = ProbitModelTreeClassifier(n_leaf_steps=5).fit(X, y).feature_importances_
    assert_allclose(many, few, rtol=1e-8)


def test_importances_find_what_matters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 6))
    y = 2.0 * (X[:, 0] > 0) + X[:, 1] + 0.3 * rng.normal(size=1000) > 1.0
    for model in (ProbitModelTreeClassifier(), SBPMTClassifier(5, random_state=0)):
        importances = model.fit(X, y).feature_importances_
        assert importances[:2].min() > importances[2:].max()
        assert np.isclose(importances.sum(), 1.0)


def test_units_do_not_matter_to_importances():
    X, y = load_breast_cancer(return_X_y=True)
    scale = 10.0 ** np.random.default_rng(0).integers(-3, 4, X.shape[1])
    one, other = (ProbitModelTreeClassifier(n_leaf_steps=20).fit(A, y).feature_importances_ for A in (X, X * scale))
    assert_allclose(one, other, atol=1e-6)


def test_nothing_learned_is_nothing_important():
    y = np.tile([0, 1], 50)
    model = ProbitModelTreeClassifier().fit(np.ones((100, 3)), y)
    assert_array_equal(model.feature_importances_, np.zeros(3))
    assert_allclose(model.contributions(np.ones((2, 3))), 0.0, atol=1e-12)
