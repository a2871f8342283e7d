"""`prune`: its levels, limits, and checks of the rows."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_classification, make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import committee
from committee import Committee, LeafReweighter, MarginReweighter, prune
from committee.learners.reweighting.leaf_cuts import TreeNodes, highest_levels
from committee.learners.trained_ensembles.out_of_bag import out_of_bag_mask

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
        with pytest.raises(ValueError, match="this level needs rows; pass X and y: those of the fit"):
            model.prune(max_nodes=0.2, level="leaf", **given)


def test_a_pruned_ensemble_has_no_out_of_bag_rows():
    small = prune(FOREST, X, y)
    with pytest.raises(ValueError, match=r"this LeafReweighter has not kept its source ensemble\. Give the ensemble"):
        MarginReweighter(small, "doom", on="oob").fit(X, y)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("level", ["leaf", "voter"])
@pytest.mark.parametrize(
    "others", [{}, {"max_samples": 0.5}, {"reserve": 0.1}, {"bootstrap": False, "max_samples": 0.5}]
)
def test_another_number_of_rows_than_the_fit_had_is_refused(level, others):
    weight = np.arange(300) % 5 / 4.0  # a fifth of the rows did not count
    own = committee.RandomForestClassifier(20, random_state=0, **others).fit(X, y, sample_weight=weight)
    assert prune(own, X, y, level=level, max_nodes=0.3, sample_weight=weight).committee_.n_nodes
    for rows in (slice(100), slice(299), np.r_[:300, :50]):
        with pytest.raises(ValueError, match="X and y are not the rows that the RandomForestClassifier was trained on"):
            prune(own, X[rows], y[rows], level=level, max_nodes=0.3, sample_weight=weight[rows])
    own = committee.SubaggingClassifier(n_estimators=9, random_state=0).fit(X, y)
    assert prune(own, X, y, level=level, max_nodes=0.3).committee_.n_nodes
    with pytest.raises(ValueError, match=r"X has 100 rows of positive weight; the SubaggingClassifier .* on 300"):
        prune(own, X[:100], y[:100], level=level, max_nodes=0.3)


def test_a_forest_of_numbers_and_a_stored_one_refuse_other_rows_too(tmp_path):
    rows, numbers = make_friedman1(200, noise=1.0, random_state=0)
    forest = committee.RandomForestRegressor(20, random_state=0).fit(rows, numbers)
    forest.save(tmp_path / "forest.safetensors")
    for own in (forest, committee.load(tmp_path / "forest.safetensors")):
        assert prune(own, rows, numbers, max_nodes=0.3).committee_.n_nodes
        with pytest.raises(ValueError, match=r"its tree 0 has seen \d+ rows, and would have drawn \d+ of these"):
            prune(own, rows[:100], numbers[:100], max_nodes=0.3)
        with pytest.raises(ValueError, match="the parameters of the fit"):
            prune(own.set_params(random_state=1), rows, numbers, max_nodes=0.3)


def test_a_forest_of_one_class_drew_no_rows_that_could_be_compared():
    with pytest.warns(UserWarning, match="y holds one class only"):
        own = committee.RandomForestClassifier(5, random_state=0).fit(X, np.zeros(300))
    assert out_of_bag_mask(own, own.committee_.n_voters, np.zeros(300)).any()


@pytest.mark.filterwarnings("ignore:pruned to")
@pytest.mark.parametrize(
    "model", [committee.GradientBoostingClassifier(n_estimators=5), committee.AdaBoostClassifier(5)]
)
def test_ensembles_without_draws_are_refused_out_of_bag(model):
    model.fit(X, y)
    with pytest.raises(ValueError, match=r"held-out rows instead, with on='validation', or .* where on='train'"):
        prune(model, X, y)
    for on in ("validation", "train"):
        assert prune(model, X, y, on=on).committee_.n_nodes


@pytest.mark.parametrize("level", ["leaf", "voter"])
def test_pickles_of_pruned_ensembles_are_small(level):
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
        ({"max_voters": 10}, "max_voters=10 limits whole voters, and this level limits nodes"),
        ({"level": "branch"}, "level='branch' is unknown; choose 'leaf', 'subtree', 'depth', 'tree', 'voter'"),
        ({"quantile": 0.9}, "quantile=0.9 is for ensembles of numbers"),
        ({"max_nodes": "10%"}, "max_nodes"),
        ({"max_nodes": "10%", "level": "voter"}, "max_nodes='10%' must be a share"),
        ({"on": "holdout"}, "on"),
        ({"max_nodes": True}, "max_nodes"),
        ({"max_voters": True, "level": "voter"}, "max_voters=True must be a whole number"),
        ({"max_loss": -0.1}, "max_loss=-0.1 must be a finite number"),
        ({"max_loss": 0.1, "min_gain": 0.1}, "max_loss=0.1 and min_gain=0.1 both choose the size"),
        ({"max_loss": 0.1, "min_gain": 0.1, "level": "voter"}, "max_loss=0.1 and min_gain=0.1 both choose the size"),
        ({"max_loss": 0.1, "on": "train", "level": "voter", "objective": "soft_margin"}, "max_loss=0.1 needs rows"),
        ({"max_loss": 0.1, "on": "train"}, "max_loss=0.1 needs rows that the trees were not trained on"),
        ({"max_loss": 0.1, "metric": "auc"}, "metric='auc' is unknown; choose 'accuracy', 'log_loss', 'brier', the na"),
        ({"max_loss": 0.1, "metric": "r2"}, "metric='r2' does not score classifiers"),
        ({"max_loss": 0.1, "metric": "auc", "level": "voter"}, "metric='auc' is unknown"),
    ],
)
def test_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        prune(FOREST, X, y, **arguments)
