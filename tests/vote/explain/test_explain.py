"""Model trees read: contributions against their definition row by row, rules against the walk, importances by hand."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import entr, log_ndtr
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from committee import ProbitModelTreeClassifier, SBPMTClassifier, load
from committee.data.frames import TableSchema
from committee.vote.explain.contributions import contributions, node_means
from committee.vote.explain.leaf_models import LEADING, coefficient_names, leaf_models
from committee.vote.explain.rules import EVERY_ROW, Condition, leaf_conditions, leaf_rules

N = 400


def mixed_table(seed=0, n=N, n_classes=2):
    """Numbers and categories, both with gaps, and classes that hang on all of them."""
    rng = np.random.default_rng(seed)
    age, size = rng.normal(40.0, 9.0, n), rng.exponential(1e6, n)
    colour, flag = rng.choice(["blue", "green", "red"], n), rng.choice(["no", "yes"], n)
    F = 0.1 * (age - 40) + (colour == "red") * 1.5 - (flag == "yes") + rng.normal(0, 0.7, n)
    y = np.digitize(F, np.quantile(F, np.arange(1, n_classes) / n_classes))
    gap = rng.random((2, n)) < 0.15
    frame = pl.DataFrame(
        {
            "age": [None if g else float(a) for a, g in zip(age, gap[0], strict=True)],
            "size": size,
            "colour": [None if g else str(c) for c, g in zip(colour, gap[1], strict=True)],
            "flag": flag,
        }
    )
    return frame, np.array(["a", "b", "c", "d"])[y]


def scores(model, X):
    """Linear scores of a single model tree, ``(n, O)``."""
    return model.committee_.voters.scores(model.table_.encode(X))[:, 0]


def column(shares, k):
    return shares if shares.ndim == 2 else shares[:, :, k]


# --- contributions ---------------------------------------------------------------------------------------------------


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
                np.testing.assert_allclose(got, expected[:, k], rtol=1e-11, atol=1e-11)


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
    np.testing.assert_allclose(mean[:-1], 0.0, atol=1e-10)
    np.testing.assert_allclose(mean[-1], np.average(F, axis=0, weights=weights), rtol=1e-10)
    np.testing.assert_allclose(shares[0, -1], shares[-1, -1], rtol=0, atol=0)


@pytest.mark.parametrize("load_table", [load_iris, load_breast_cancer, load_wine])
@pytest.mark.parametrize("tree", ["shared", "per_class"])
def test_contributions_of_committees_add_up_to_the_mean_score(load_table, tree):
    X, y = load_table(return_X_y=True)
    model = SBPMTClassifier(5, 3, 30, tree=tree, random_state=0).fit(X, y)
    committees = model.committee_.voters
    shares, vote = model.contributions(X, return_vote=True)
    F, mean = committees.members.scores(X), 0.0
    for m in range(5):
        own = slice(committees.start[m], committees.start[m + 1])
        mean += np.average(F[:, own], axis=1, weights=committees.alpha[own]) / 5
    mean = mean[:, 0] if mean.shape[1] == 1 else mean
    scale = np.maximum(np.abs(mean), np.abs(shares).max(axis=1))
    assert (np.abs(shares.sum(axis=1) - mean) <= 1e-12 * scale).all()
    np.testing.assert_allclose(vote, model.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(model.contributions(X), shares)
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
    np.testing.assert_allclose(once.contributions(X), twice.contributions(X), atol=1e-9)
    np.testing.assert_allclose(once.feature_importances_, twice.feature_importances_, atol=1e-9)


def test_a_column_far_from_zero_loses_no_digits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X[:, 0] + rng.normal(0, 0.5, 300) > 0
    here = ProbitModelTreeClassifier(max_depth=1).fit(X, y).contributions(X)
    there = ProbitModelTreeClassifier(max_depth=1).fit(X + 2.0**20, y).contributions(X + 2.0**20)
    np.testing.assert_allclose(here, there, atol=1e-6)


def test_a_tree_of_one_leaf_is_a_linear_model():
    X, y = load_breast_cancer(return_X_y=True)
    model = ProbitModelTreeClassifier(max_depth=1, min_impurity_decrease=1.0).fit(X, y)
    b = model.committee_.voters.coefficient[0, 0]
    np.testing.assert_allclose(model.contributions(X)[:, :-1], b * (X - X.mean(axis=0)), atol=1e-9)
    assert model.leaf_models_["rule"].to_list() == [EVERY_ROW]


def test_rows_are_explained_alike_in_blocks_and_threads():
    X, y = load_wine(return_X_y=True)
    model = SBPMTClassifier(3, 2, 20, random_state=0).fit(X, y)
    many = np.tile(X, (40, 1))
    shares = model.contributions(many)
    np.testing.assert_array_equal(shares[:178], model.contributions(X))
    np.testing.assert_array_equal(shares, model.set_params(n_jobs=2).contributions(many))


def test_without_a_record_the_model_says_so():
    from dataclasses import replace

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
        np.testing.assert_array_equal(again.contributions(X), model.contributions(X))
        np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)
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
    np.testing.assert_allclose(parts, whole, atol=1e-9)
    assert node_means(some.members, 0).shape[1] == 3


# --- rules -----------------------------------------------------------------------------------------------------------


def holds(condition, x):
    missing = np.isnan(x)
    if condition.codes is None:
        inside = (x > condition.low) & (x <= condition.high)
    else:
        inside = np.isin(x, list(condition.codes))
    return np.where(missing, condition.missing, inside)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 4))
def test_a_rule_holds_for_the_rows_of_its_leaf_and_no_others(seed, n_classes):
    X, y = mixed_table(seed, n_classes=n_classes)
    model = ProbitModelTreeClassifier(n_leaf_steps=1, min_samples_leaf=5, min_impurity_decrease=0.0).fit(X, y)
    forest, encoded = model.committee_.voters.forest, model.table_.encode(X)
    leaf = forest.apply(encoded)[:, 0]
    conditions = leaf_conditions(forest, 0, model.table_)
    assert sorted(conditions) == sorted(np.flatnonzero(forest.feature < 0))
    for node, asked in conditions.items():
        met = np.ones(N, dtype=bool)
        for condition in asked:
            met &= holds(condition, encoded[:, condition.feature])
        np.testing.assert_array_equal(met, leaf == node)


TABLE = TableSchema(("w", "colour"), (None, ("blue", "green", "red")))


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (Condition(0, high=0.8, missing=False), "w <= 0.8"),
        (Condition(0, low=0.8), "w > 0.8 (or missing)"),
        (Condition(0, low=0.1, high=0.30000000000000004, missing=False), "0.1 < w <= 0.3"),
        (Condition(0, low=1.0, high=1.0000000001, missing=False), "1.0 < w <= 1.0000000001"),
        (Condition(0, low=np.inf), "w missing"),
        (Condition(0, low=2.0, high=1.0), "w missing"),
        (Condition(0, missing=False), "w not missing"),
        (Condition(0), ""),
        (Condition(1, codes=frozenset({2})), "colour = red (or missing)"),
        (Condition(1, codes=frozenset({0, 2}), missing=False), "colour in {blue, red}"),
        (Condition(1, codes=frozenset()), "colour missing"),
    ],
)
def test_conditions_in_words(condition, words):
    assert condition.words(TABLE) == words


def test_missing_values_are_told_only_where_there_were_some():
    assert Condition(0, low=0.8).words(TABLE, say_missing=False) == "w > 0.8"
    X, y = mixed_table(6)
    rules = ProbitModelTreeClassifier(min_impurity_decrease=0.0).fit(X, y).leaf_models_["rule"].to_list()
    assert any("(or missing)" in rule for rule in rules)
    assert not any("flag" in part and "missing" in part for rule in rules for part in rule.split(" and "))


def test_long_lists_of_categories_name_the_fewer():
    table = TableSchema(("c",), (tuple(f"k{i:02}" for i in range(40)),))
    assert Condition(0, codes=frozenset(range(38)), missing=False).words(table) == "c not in {k38, k39}"
    assert Condition(0, codes=frozenset(range(40)), missing=False).words(table) == "c not missing"
    assert Condition(0, codes=frozenset({3, 39}), missing=False).words(table) == "c in {k03, k39}"


# --- leaf models -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tree", ["shared", "per_class"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_leaf_models_give_the_scores(tree, n_classes):
    X, y = mixed_table(7, n_classes=n_classes)
    model = ProbitModelTreeClassifier(tree=tree, min_impurity_decrease=0.001).fit(X, y)
    frame, voters = model.leaf_models_, model.committee_.voters
    encoded = model.table_.encode(X)
    D, leaf, F = voters.design.matrix(encoded), voters.forest.apply(encoded), scores(model, X)
    names = coefficient_names(voters.design.names(model.table_))
    assert frame.columns == ["tree", "leaf", "rule", "rows", "class", "intercept", *names]
    assert "colour = red" in names and "age missing" in names and "flag = yes" in names
    table = {(r["tree"], r["leaf"], r["class"]): r for r in frame.iter_rows(named=True)}
    assert len(table) == len(frame)
    for i in range(0, N, 7):
        for k, label in enumerate(model.classes_ if n_classes > 2 else model.classes_[1:]):
            t = k if voters.trees_per_voter > 1 else 0
            row = table[t, int(leaf[i, t]), label]
            assert np.isclose(row["intercept"] + D[i] @ [row[name] for name in names], F[i, k], rtol=1e-9, atol=1e-9)
    one = frame.filter((pl.col("tree") == 0) & (pl.col("class") == frame["class"][0]))
    assert one["rows"].sum() == N


@pytest.mark.parametrize("tree", ["shared", "per_class"])
def test_leaf_models_of_committees_say_which(tree):
    X, y = load_iris(return_X_y=True)
    model = SBPMTClassifier(4, 3, 10, tree=tree, random_state=0).fit(X, y)
    frame, voters = model.leaf_models_, model.committee_.voters
    per_voter = 3 if tree == "per_class" else 1
    assert frame["committee"].unique().to_list() == [0, 1, 2, 3]
    for m in range(4):
        own = frame.filter(pl.col("committee") == m)
        n_trees = int(np.diff(voters.start)[m])
        assert own["tree"].unique().sort().to_list() == list(range(n_trees * per_voter))
        for t in range(n_trees):
            alpha = own.filter(pl.col("tree") == t * per_voter)["alpha"]
            assert (alpha == voters.alpha[voters.start[m] + t]).all()
    assert leaf_models(voters, model.classes_, model.table_, [1]).equals(frame.filter(_tree_number(frame) == 1))
    with pytest.raises(IndexError):
        leaf_models(voters, model.classes_, model.table_, [10_000])


def _tree_number(frame):
    """Trees of all committees counted through."""
    changed = frame.select((pl.struct("committee", "tree") != pl.struct("committee", "tree").shift()).fill_null(False))
    return changed.to_series().cum_sum()


def test_a_column_may_be_named_as_the_table_is():
    rng = np.random.default_rng(0)
    X = pl.DataFrame({name: rng.normal(size=100) for name in LEADING})
    model = ProbitModelTreeClassifier().fit(X, rng.integers(0, 2, 100))
    assert set(model.leaf_models_.columns) >= {"rows", "coefficient of rows", "class", "coefficient of class"}


# --- importances -----------------------------------------------------------------------------------------------------


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
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_nothing_learned_is_nothing_important():
    y = np.tile([0, 1], 50)
    model = ProbitModelTreeClassifier().fit(np.ones((100, 3)), y)
    np.testing.assert_array_equal(model.feature_importances_, np.zeros(3))
    np.testing.assert_allclose(model.contributions(np.ones((2, 3))), 0.0, atol=1e-12)


def test_rules_of_a_plain_forest():
    from committee import TreeVoter

    X, y = load_iris(return_X_y=True)
    tree = TreeVoter(max_depth=2).fit(X, y)
    rules = leaf_rules(tree.committee_.voters, 0, tree.table_)
    assert len(rules) == int((tree.committee_.voters.feature < 0).sum())
