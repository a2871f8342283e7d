"""Cuts of trees against naive recursion and enumeration, and the learner that refits the votes of leaves."""

import itertools
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

import committee
from committee import LeafReweighter, MarginReweighter, load
from committee.learners.reweighting.leaf_cuts import (
    TreeNodes,
    cut_forest,
    leaf_weight,
    node_votes,
    shrunk_votes,
    weakest_links,
)
from committee.learners.trained_ensembles.out_of_bag import out_of_bag_mask
from committee.vote.committee import Committee

X, y = make_classification(500, 8, n_informative=4, flip_y=0.1, random_state=1)
X, X_new, y, y_new = X[:300], X[300:], y[:300], y[300:]
FOREST = RandomForestClassifier(40, random_state=0).fit(X, y)


def forest_of(seed, n_trees=3, depth=4):
    """A small forest of random rows."""
    random = np.random.default_rng(seed)
    rows, labels = random.normal(size=(40, 3)), random.integers(0, 2, 40)
    labels[:2] = 0, 1
    trees = ExtraTreesClassifier(n_trees, max_depth=depth, random_state=seed).fit(rows, labels)
    return Committee.from_estimator(trees).voters


def leaves_below(nodes, node):
    if nodes.left[node] < 0:
        return [node]
    return leaves_below(nodes, nodes.left[node]) + leaves_below(nodes, nodes.left[node] + 1)


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_sums_votes_and_shrinkage_of_nodes(seed):
    forest = forest_of(seed)
    nodes = TreeNodes.of(forest)
    random = np.random.default_rng(seed)
    leaf = nodes.left < 0
    amount = np.where(leaf, random.random(len(nodes)), 0.0)
    below = [leaves_below(nodes, i) for i in range(len(nodes))]
    assert_allclose(nodes.upwards(amount), [amount[each].sum() for each in below])

    votes, mass = node_votes(forest, nodes), leaf_weight(forest, nodes)
    says = forest.value[:, 1] - forest.value[:, 0]
    assert_allclose(votes[:, 0], [np.average(says[each], weights=mass[each]) for each in below], atol=1e-12)

    split = random.random(len(nodes)) < 0.7
    weight = nodes.upwards(mass)
    stands, shrunk = nodes.stand_ins(split), shrunk_votes(votes, weight, nodes, 7.0)
    for node in range(len(nodes)):
        way = [node]
        while nodes.parent[way[0]] >= 0:
            way.insert(0, int(nodes.parent[way[0]]))
        ends = [each for each in way[:-1] if not split[each]]
        assert stands[node] == (ends[0] if ends else node)
        steps = [(votes[b] - votes[a]) / (1 + 7.0 / weight[a]) for a, b in itertools.pairwise(way)]
        assert_allclose(shrunk[node], votes[way[0]] + sum(steps))


def every_cut(nodes, node):
    """All ways to cut the tree under a node: (leaves that are left, number of nodes)."""
    cuts = [([node], 1)]
    if nodes.left[node] >= 0:
        for a, b in itertools.product(every_cut(nodes, nodes.left[node]), every_cut(nodes, nodes.left[node] + 1)):
            cuts.append((a[0] + b[0], a[1] + b[1] + 1))
    return cuts


@pytest.mark.slow
@given(st.integers(0, 10_000), st.integers(1, 40))
@settings(max_examples=30, deadline=None)
def test_the_weakest_links_are_the_cheapest_cut_at_their_price(seed, limit):
    forest = forest_of(seed, n_trees=2, depth=3)
    nodes = TreeNodes.of(forest)
    random = np.random.default_rng(seed)
    votes, mass = random.normal(size=(len(nodes), 2)), leaf_weight(forest, nodes) * random.random(len(nodes))
    limit = max(limit, 2)

    def change(kept):
        total = 0.0
        for each in kept:
            part = leaves_below(nodes, each)
            centre = np.average(votes[part], axis=0, weights=mass[part])
            total += (mass[part][:, None] * (votes[part] - centre) ** 2).sum()
        return total

    split = weakest_links(nodes, votes, mass, limit)
    stands = nodes.stand_ins(split & (nodes.left >= 0))
    stays = stands == np.arange(len(nodes))
    assert stays.sum() <= limit
    kept = [i for i in np.flatnonzero(stays) if nodes.left[i] < 0 or not split[i]]
    of_trees = (every_cut(nodes, root) for root in nodes.offset[:-1])
    cuts = [(change(a[0] + b[0]), a[1] + b[1]) for a, b in itertools.product(*of_trees)]
    # on the lower convex hull of change against size: no cut of at most its size changes less
    assert change(kept) <= min(c for c, size in cuts if size <= stays.sum()) + 1e-9
    # and there is no cut on that hull between it and the limit
    price = min(((c - change(kept)) / (stays.sum() - size) for c, size in cuts if size < stays.sum()), default=0.0)
    for c, size in cuts:
        if stays.sum() < size <= limit:
            larger = (change(kept) - c) / (size - stays.sum())
            assert larger <= price + 1e-9 or price == 0.0


def test_trees_within_the_limit_stay_whole():
    forest = forest_of(3)
    nodes = TreeNodes.of(forest)
    split = weakest_links(nodes, node_votes(forest, nodes), leaf_weight(forest, nodes), 10_000)
    assert_array_equal(split, nodes.left >= 0)


def test_a_cut_forest_sends_rows_to_the_stand_ins():
    random = np.random.default_rng(2)
    ours = committee.RandomForestClassifier(5, random_state=0, categorical_features=[0, 1])
    rows = np.column_stack([random.integers(0, 40, 300), random.integers(0, 3, 300), random.normal(size=(300, 2))])
    labels = (rows[:, 0] % 3 == 0) ^ (rows[:, 2] > 0)
    forest = ours.fit(rows, labels).committee_.voters
    assert len(forest.category_bits)
    nodes = TreeNodes.of(forest)
    stands = nodes.stand_ins(random.random(len(nodes)) < 0.8)
    value = random.normal(size=(len(nodes), 1))
    cut = cut_forest(forest, stands, value)
    cut.check()
    matrix = ours.committee_.encode(rows)
    expected = value[stands[forest.apply(matrix) + nodes.offset[:-1]]][..., 0]
    assert_array_equal(cut.votes(matrix)[..., 0], expected)


# -- the learner ----------------------------------------------------------------------------------------------


def held(model):
    return float((model.predict(X_new) == y_new).mean())


@pytest.mark.one_in(2)
@pytest.mark.filterwarnings("ignore:pruned to")
@pytest.mark.parametrize("most", [0.02, 0.1, 0.5, 1.0, 100, 3])
def test_the_limit_holds(most):
    before = pickle.dumps(FOREST)
    model = LeafReweighter(FOREST, max_nodes=most).fit(X, y)
    assert model.n_nodes_before_ == sum(tree.tree_.node_count for tree in FOREST.estimators_)
    assert model.committee_.n_nodes <= (most if most > 1 else most * model.n_nodes_before_)
    assert held(model) > 0.75 or most == 3  # a single split
    assert pickle.dumps(FOREST) == before
    proba = model.predict_proba(X_new)
    assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X_new))
    assert_allclose(proba[:, 1], expit(model.decision_function(X_new)), atol=1e-12)


@pytest.mark.slow
def test_refit_beats_the_first_trees():
    """Over several draws, at equal nodes; a smoke alarm, the measurement is in benchmarks."""
    gain = []
    for seed in range(4):
        rows, labels = make_classification(600, 20, n_informative=5, flip_y=0.05, random_state=seed)
        forest = RandomForestClassifier(200, random_state=seed).fit(rows[:300], labels[:300])
        model = LeafReweighter(forest, max_nodes=0.05).fit(rows[:300], labels[:300])
        sizes = np.cumsum([tree.tree_.node_count for tree in forest.estimators_])
        first = forest.estimators_[: int((sizes <= 0.05 * sizes[-1]).sum())]
        votes = np.mean([tree.predict_proba(rows[300:])[:, 1] for tree in first], axis=0)
        gain.append(model.score(rows[300:], labels[300:]) - ((votes > 0.5) == labels[300:]).mean())
    assert np.mean(gain) > 0.005


@pytest.mark.slow
def test_min_gain_chooses_a_step_of_the_path():
    model = LeafReweighter(FOREST, max_nodes=0.5, min_gain=0.02).fit(X, y)
    table = model.path_.table()
    assert (np.diff(table["n_nodes"].to_numpy()) <= 0).all() and len(table) > 4
    chosen = next(i for i, step in enumerate(model.path_.steps) if step.cut.n_nodes == model.committee_.n_nodes)
    sure = table["accuracy"] - table["accuracy_error"]
    assert sure.max() - sure[chosen] < 0.02
    assert all(sure.max() - a >= 0.02 for a in sure[chosen + 1 :])
    voters = MarginReweighter(FOREST, "doom", on="oob").fit(X, y).prune(max_voters=5)
    for path in (model.path_, voters.pruning_path_):
        assert str(path.table()) in repr(path) and len(repr(path)) < 4000


def test_rows_that_all_trees_have_seen_do_not_evaluate_a_cut():
    # columns that tell the class: every tree is always right, and few trees have all seen many a row
    rows = np.column_stack([y, y, y]).astype(float)
    forest = RandomForestClassifier(60, random_state=0).fit(rows, y)
    model = LeafReweighter(forest, max_nodes=24, min_gain=0.5, growth=(1.0,)).fit(rows, y)
    unseen = out_of_bag_mask(forest, 60, y)[:, model.voters_[:1]].any(axis=1)
    assert 0.3 < unseen.mean() < 0.5
    assert model.path_.table()["accuracy"].to_list() == [1.0] * len(model.path_.steps)


def test_the_trees_that_are_right_most_often_come_first():
    model = LeafReweighter(FOREST, max_nodes=1.0, growth=(1.0,)).fit(X, y)
    unseen = out_of_bag_mask(FOREST, 40, y)
    right = [(tree.predict(X[unseen[:, t]]) == y[unseen[:, t]]).mean() for t, tree in enumerate(FOREST.estimators_)]
    assert (np.diff(np.array(right)[model.voters_]) <= 1e-12).all()


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "ensemble",
    [
        ExtraTreesClassifier(20, random_state=0),
        BaggingClassifier(n_estimators=15, random_state=0),
        AdaBoostClassifier(n_estimators=20, random_state=0),
        committee.AdaBoostClassifier(n_estimators=20, max_depth=2),
        committee.GradientBoostingClassifier(n_estimators=20),
        committee.RandomForestClassifier(20, random_state=0),
        committee.SubaggingClassifier(n_estimators=10, random_state=0),
    ],
    ids=lambda e: f"{type(e).__module__.partition('.')[0]}-{type(e).__name__}",
)
def test_any_trees_on_held_out_rows(ensemble):
    trained = clone(ensemble).fit(X, y)
    model = LeafReweighter(trained, max_nodes=0.5, on="validation", n_jobs=2).fit(X_new, y_new)
    assert model.committee_.n_nodes <= 0.5 * Committee.from_estimator(trained).n_nodes
    assert held(model) > 0.7
    alone = LeafReweighter(trained, max_nodes=0.5, on="validation").fit(X_new, y_new)
    assert_array_equal(alone.decision_function(X), model.decision_function(X))


def test_weights_of_rows():
    """A row of weight 0 is absent; a weight of 2 is the row twice (one C, so that folds choose nothing)."""
    random = np.random.default_rng(0)
    times = random.integers(0, 3, len(y_new))
    model = LeafReweighter(FOREST, on="validation", C=(1.0,), growth=(1.0,))
    weighted = clone(model).fit(X_new, y_new, sample_weight=times)
    absent = clone(model).fit(X_new[times > 0], y_new[times > 0], sample_weight=times[times > 0])
    twice = clone(model).fit(np.repeat(X_new, times, axis=0), np.repeat(y_new, times))
    assert_array_equal(weighted.decision_function(X), absent.decision_function(X))
    assert_allclose(weighted.decision_function(X), twice.decision_function(X), rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore:pruned to")
@pytest.mark.parametrize("C", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_extreme_weights_and_penalties_converge(scale, C):
    model = LeafReweighter(FOREST, on="validation", C=C, cv=2).fit(X_new, y_new, np.full(len(y_new), scale))
    assert np.isfinite(model.predict_proba(X)).all()


def test_several_classes_and_names():
    rows, labels = load_wine(return_X_y=True, as_frame=True)
    labels = np.array(["a", "b", "c"])[labels]
    forest = RandomForestClassifier(60, random_state=0).fit(rows[::2], labels[::2])
    model = LeafReweighter(forest, max_nodes=0.2).fit(rows[::2], labels[::2])
    assert model.decision_function(rows).shape == (len(rows), 3)
    assert (model.predict(rows[1::2]) == labels[1::2]).mean() > 0.9
    assert list(model.feature_names_in_) == list(rows.columns)
    theirs = model.as_sklearn()
    assert_array_equal(theirs.predict(rows), model.predict(rows))


def test_weighted_trees_first():
    weights = np.linspace(0.1, 1.0, 40)
    turned = Committee.from_estimator(FOREST).select(slice(None), weights)
    model = LeafReweighter(turned, max_nodes=0.2, on="validation", growth=(1.0,)).fit(X_new, y_new)
    assert_array_equal(model.voters_, np.arange(39, 39 - len(model.voters_), -1))


def test_files(tmp_path):
    model = LeafReweighter(FOREST).fit(X, y)
    model.save(tmp_path / "small")
    again = load(tmp_path / "small")
    assert_array_equal(again.decision_function(X_new), model.decision_function(X_new))
    assert (again.C_, again.growth_, again.n_nodes_before_) == (model.C_, model.growth_, model.n_nodes_before_)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X_new), model.predict(X_new))
    assert_array_equal(again.as_sklearn().predict(X_new), model.predict(X_new))


@pytest.mark.parametrize(
    ("ensemble", "options", "arguments", "error", "words"),
    [
        (BaggingClassifier(LogisticRegression(), 3).fit(X, y), {}, (X, y), TypeError, "only trees with constant"),
        (FOREST, {}, (X, y[:10]), ValueError, "10"),
        (FOREST, {"on": "validation"}, (X[y == 1], y[y == 1]), ValueError, "fewer than two classes"),
        (FOREST, {}, (X[:100], y[:100]), ValueError, "oob"),
        (FOREST, {"max_nodes": 1.5}, (X, y), ValueError, "at most 1.0"),
        (FOREST, {"max_nodes": 2}, (X, y), ValueError, "splits has 3"),
        (FOREST, {"max_nodes": 0}, (X, y), ValueError, "max_nodes"),
        (FOREST, {"C": ()}, (X, y), ValueError, "C="),
        (FOREST, {"C": (0.0,)}, (X, y), ValueError, "above 0"),
        (FOREST, {"growth": (0.5,)}, (X, y), ValueError, "at least 1"),
        (FOREST, {"on": "bag"}, (X, y), ValueError, "on"),
        (FOREST, {"min_gain": -1.0}, (X, y), ValueError, "min_gain"),
    ],
)
def test_refused(ensemble, options, arguments, error, words):
    model = LeafReweighter(ensemble, **options)
    with pytest.raises(error, match=words):
        model.fit(*arguments)
    assert not hasattr(model, "committee_")


# -- back to scikit-learn -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [None, 2])
def test_importances_are_by_the_gain_of_the_splits_that_are_left(depth):
    rows, labels = load_wine(return_X_y=True)
    theirs = RandomForestClassifier(25, max_depth=depth, random_state=0).fit(rows, labels)
    made = committee.as_sklearn(theirs)
    assert_allclose(made.feature_importances_, theirs.feature_importances_, atol=1e-9)
    cut = LeafReweighter(theirs, max_nodes=0.2, growth=(2.0,)).fit(rows, labels)
    importance = cut.as_sklearn(keep="classes").feature_importances_
    used = np.unique(cut.committee_.voters.feature[cut.committee_.voters.feature >= 0])
    assert_array_equal(np.flatnonzero(importance), used)
    assert importance.sum() == pytest.approx(1.0)


def test_new_weights_go_to_scikit_learn_too():
    model = MarginReweighter(FOREST, "doom", on="oob").fit(X, y)
    made = model.as_sklearn()
    assert len(made.estimators_) == model.committee_.n_voters < 40
    assert_array_equal(made.predict(X_new), model.predict(X_new))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("missing", [False, True])
def test_boosters_of_several_classes_are_cut_too(missing, tmp_path):
    rows, labels = make_classification(900, 8, n_informative=6, n_classes=4, n_clusters_per_class=1, random_state=0)
    if missing:
        rows = np.where(np.random.default_rng(0).random(rows.shape) < 0.1, np.nan, rows)
    boosted = committee.GradientBoostingClassifier(n_estimators=30, random_state=0)
    boosted.fit(rows[:300], labels[:300])
    model = LeafReweighter(boosted, max_nodes=1 / 3, on="validation").fit(rows[300:600], labels[300:600])
    assert model.committee_.n_nodes <= model.n_nodes_before_ / 3
    assert model.score(rows[600:], labels[600:]) > boosted.score(rows[600:], labels[600:]) - 0.02
    assert model.voters_.max() < 120
    model.save(tmp_path / "small.safetensors")
    assert_array_equal(load(tmp_path / "small.safetensors").predict_proba(rows), model.predict_proba(rows))


def test_folds_of_a_splitter_and_of_a_list():
    splits = list(StratifiedKFold(3).split(X_new, y_new))
    by_splitter = LeafReweighter(FOREST, on="validation", cv=StratifiedKFold(3)).fit(X_new, y_new)
    by_hand = LeafReweighter(FOREST, on="validation", cv=splits).fit(X_new, y_new)
    assert by_splitter.path_.table().equals(by_hand.path_.table())
    weight = np.ones(len(y_new))
    weight[:20] = 0.0  # of folds of all rows, those that count are left
    absent = LeafReweighter(FOREST, on="validation", cv=splits).fit(X_new, y_new, weight)
    assert np.isfinite(absent.path_.steps[0].loss)
    with pytest.raises(ValueError, match="without usable rows"):
        LeafReweighter(FOREST, on="validation", cv=[(np.arange(20, 200), np.arange(20))]).fit(X_new, y_new, weight)


def test_blas_has_one_thread_while_votes_are_fitted():
    """Its sums hang on how many there are, and many small products are slower with several."""
    from threadpoolctl import threadpool_info, threadpool_limits

    def threads():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    seen = []

    def wrong(labels, probability):
        seen.append(threads())
        return (probability.argmax(axis=1) != labels).astype(float)

    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(20, oob_score=True, random_state=0).fit(X, y)
    with threadpool_limits(2, "blas"):
        before = threads()
        LeafReweighter(forest, max_loss=0.5, metric=wrong, C=(1.0,), growth=(1.0,), cv=2).fit(X, y)
        assert threads() == before
    assert {1} in seen


# -- losses that are too large ------------------------------------------------------------------------------------


QUICK = {"growth": (1.0,), "C": (1.0,), "cv": 3}


def forest_and_rows(load_table, n_trees=20):
    rows, labels = load_table(return_X_y=True)
    rows, labels = rows[:500], labels[:500]
    return RandomForestClassifier(n_trees, random_state=0).fit(rows, labels), rows, labels


def loss_warning(model, rows, labels):
    with pytest.warns(UserWarning, match="pruned to") as caught:
        model.fit(rows, labels)
    (warning,) = caught
    return str(warning.message)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("load_table", "limits"),
    [
        (load_wine, {"max_nodes": 0.01}),
        (load_digits, {"max_nodes": 0.1}),
        (load_digits, {"max_nodes": 0.4, "min_gain": 0.9}),
        (load_digits, {"max_nodes": 0.1, "max_loss": 0.05}),
    ],
)
def test_the_warning_of_a_loss_names_the_smallest_size_without(load_table, limits):
    forest, rows, labels = forest_and_rows(load_table, n_trees=60)
    model = LeafReweighter(forest, **limits, **QUICK)
    message = loss_warning(model, rows, labels)
    step = next(each for each in model.path_.steps if f"to {each.cut.n_nodes} node" in message)
    assert f"by max_nodes={limits['max_nodes']}, " in message
    assert f"{step.lost:.2g} ± {step.lost_error:.1g}" in message
    named = re.search(r"; give max_nodes=(\d+) \((\S+) of the nodes\)( without min_gain)?, the smallest size", message)
    size = int(named[1])
    assert float(named[2]) == pytest.approx(size / model.n_nodes_before_, rel=0.06)
    assert bool(named[3]) == ("min_gain" in limits)
    share = (size + 0.5) / model.n_nodes_before_
    # any warning of the first fit is an error
    small = clone(model).set_params(max_nodes=share, min_gain=None).fit(rows, labels)
    assert small.committee_.n_nodes <= size
    loss_warning(clone(model).set_params(max_nodes=share / 2, min_gain=None), rows, labels)


def test_the_warning_of_a_loss_without_a_size_that_suffices():
    forest, rows, labels = forest_and_rows(load_digits)
    model = LeafReweighter(forest, max_nodes=0.2, **QUICK)
    message = loss_warning(model, rows, labels)
    tried = f"no size tried, up to max_nodes={2 * int(0.2 * model.n_nodes_before_)} (0.4 of the nodes), "
    assert (
        f"; {tried}loses at most 0.01 plus two standard errors; give a larger max_nodes, or keep the whole" in message
    )
    message = loss_warning(model.set_params(max_loss=0.01), rows, labels)
    assert message.endswith(f"; {tried}meets max_loss=0.01; raise max_loss or max_nodes, or give more rows.")
    message = loss_warning(model.set_params(max_nodes=0.5), rows, labels)
    assert message.endswith("kept whole; raise max_loss or max_nodes, or give more rows."), "twice a half is the whole"


def test_a_loss_by_another_metric_a_small_one_or_a_number_of_nodes_gives_no_warning():
    forest, rows, labels = forest_and_rows(load_wine)
    LeafReweighter(forest, max_nodes=0.5, **QUICK).fit(rows, labels)
    LeafReweighter(forest, max_nodes=0.01, metric="log_loss", **QUICK).fit(rows, labels)
    LeafReweighter(forest, max_nodes=3, **QUICK).fit(rows, labels)
