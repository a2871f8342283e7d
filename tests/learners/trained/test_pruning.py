"""One call for a smaller vote: which class makes it, and whose limits count."""

import pickle

import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_classification, make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from committee import Committee, LeafReweighter, MarginReweighter, prune
from committee.learners.trained.tree_nodes import TreeNodes, highest_levels

X, y = make_classification(300, 8, n_informative=4, flip_y=0.1, random_state=1)
FOREST = RandomForestClassifier(40, random_state=0).fit(X, y)
NODES = sum(tree.tree_.node_count for tree in FOREST)


def test_each_level_is_its_class_and_the_forest_stays_as_it_is():
    before = pickle.dumps(FOREST)
    leaves, voters = prune(FOREST, X, y), prune(FOREST, X, y, level="voter")
    assert leaves.committee_.n_nodes <= 0.1 * NODES and voters.committee_.n_nodes <= 0.1 * NODES
    assert_array_equal(leaves.decision_function(X), LeafReweighter(FOREST).fit(X, y).decision_function(X))
    by_hand = MarginReweighter(FOREST, "doom", on="oob").fit(X, y).prune(max_nodes=0.1)
    assert_array_equal(voters.decision_function(X), by_hand.decision_function(X))
    assert pickle.dumps(FOREST) == before


def test_levels_between_leaves_and_voters():
    trees = Committee.from_estimator(FOREST).voters
    small = {level: prune(FOREST, X, y, level=level, max_nodes=0.2) for level in ("subtree", "depth", "tree")}
    assert all(0.1 * NODES < model.committee_.n_nodes <= 0.2 * NODES for model in small.values())
    whole = small["tree"]
    assert_array_equal(whole.committee_.voters.n_nodes, trees.n_nodes[whole.voters_])
    # all trees of a depth, but for the first ones, which have a level more
    nodes = TreeNodes.of(trees)
    split = highest_levels(nodes, 500)
    assert nodes.n_left(split) in (499, 500)
    depths = [int(split[level].any()) for level in nodes.levels]
    full = sum(depths) - 1
    assert all(split[level].all() for level in nodes.levels[:full]) and depths[: full + 1] == [1] * (full + 1)
    assert small["depth"].committee_.n_voters > whole.committee_.n_voters
    by_hand = LeafReweighter(FOREST, max_nodes=0.2, growth=(2.0, 4.0, 8.0)).fit(X, y)
    assert_array_equal(small["subtree"].decision_function(X), by_hand.decision_function(X))


def test_a_quantile_is_what_votes_are_fitted_to():
    rows, numbers = make_friedman1(200, noise=1.0, random_state=0)
    forest = RandomForestRegressor(30, random_state=0).fit(rows, numbers)
    upper = prune(forest, rows, numbers, quantile=0.9, max_nodes=0.3, level="tree")
    assert upper.quantile_ == 0.9 and (numbers <= upper.predict(rows)).mean() > 0.8
    with pytest.raises(ValueError, match="level='tree' drops whole trees of numbers"):
        prune(forest, rows, numbers, level="voter")


def test_a_reweighted_ensemble_loses_leaves_too():
    model = MarginReweighter(FOREST, "doom", on="oob").fit(X, y)
    small = model.prune(max_nodes=0.2, level="leaf", X=X, y=y)
    assert isinstance(small, LeafReweighter) and small.ensemble is model
    assert small.committee_.n_nodes <= 0.2 * model.committee_.n_nodes
    by_hand = LeafReweighter(model, max_nodes=0.2, on="oob").fit(X, y)
    assert_array_equal(small.decision_function(X), by_hand.decision_function(X))
    for given in ({}, {"X": X}, {"y": y}):
        with pytest.raises(ValueError, match="level='leaf' looks at rows again; give X and y, those of fit or others"):
            model.prune(max_nodes=0.2, level="leaf", **given)


def test_what_was_pruned_once_has_forgotten_its_draws():
    small = prune(FOREST, X, y)
    with pytest.raises(ValueError, match=r"this LeafReweighter has forgotten its own\. Give the ensemble"):
        MarginReweighter(small, "doom", on="oob").fit(X, y)


@pytest.mark.parametrize("level", ["leaf", "voter"])
def test_what_is_small_is_small_in_a_pickle_too(level):
    small = prune(FOREST, X, y, level=level, max_nodes=0.1, min_gain=0.02)
    stored = pickle.dumps(small)
    assert len(stored) < 0.25 * len(pickle.dumps(FOREST))
    assert_array_equal(pickle.loads(stored).decision_function(X), small.decision_function(X))


def test_a_limit_of_voters_is_the_only_one():
    ten = prune(FOREST, X, y, level="voter", max_voters=10)
    by_hand = MarginReweighter(FOREST, "doom", on="oob").fit(X, y).prune(max_voters=10)
    assert ten.committee_.n_voters == by_hand.committee_.n_voters > 4
    both = prune(FOREST, X, y, level="voter", max_voters=10, max_nodes=0.1)
    assert both.committee_.n_voters < ten.committee_.n_voters


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_voters": 10}, "max_voters=10 is of whole voters, and this level limits nodes"),
        ({"level": "branch"}, "level='branch' is unknown; choose 'leaf', 'subtree', 'depth', 'tree', 'voter'"),
        ({"quantile": 0.9}, "quantile=0.9 is of ensembles of numbers"),
        ({"max_nodes": "10%"}, "max_nodes"),
        ({"max_nodes": "10%", "level": "voter"}, "max_nodes='10%' must be a share"),
        ({"on": "holdout"}, "on"),
        ({"max_nodes": True}, "max_nodes"),
        ({"max_voters": True, "level": "voter"}, "max_voters=True must be a whole number"),
    ],
)
def test_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        prune(FOREST, X, y, **arguments)
