"""`prune`: its levels, limits, and checks of rows; `lossless`: the same classes in every cell, by the fewest trees."""

import pickle
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.optimize import linprog
from sklearn.datasets import load_iris, make_classification, make_friedman1
from sklearn.ensemble import AdaBoostClassifier as TheirAdaBoost
from sklearn.ensemble import GradientBoostingClassifier as TheirBoosting
from sklearn.ensemble import GradientBoostingRegressor as TheirBoostedNumbers
from sklearn.ensemble import RandomForestClassifier as TheirForest
from sklearn.ensemble import RandomForestRegressor as TheirRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import committee
from committee import (
    AdaBoostClassifier,
    Committee,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LeafReweighter,
    MarginReweighter,
    RandomForestClassifier,
    RandomForestRegressor,
    RegressionCommittee,
    SBPMTClassifier,
    lossless,
    prune,
)
from committee.learners.pruning.vote_cells import WeightedParts
from committee.learners.reweighting.leaf_cuts import TreeNodes, highest_levels
from committee.learners.trained_ensembles.out_of_bag import out_of_bag_mask
from committee.vote.links.probability import Softmax
from committee.voters.shared_forest import SharedForest
from tests.limits import examples
from tests.oracles import traverse

X, y = make_classification(300, 8, n_informative=4, flip_y=0.1, random_state=1)
FOREST = TheirForest(40, random_state=0).fit(X, y)
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
    forest = TheirRegressor(30, random_state=0).fit(rows, numbers)
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
    for rows in ({}, {"X": X}, {"y": y}):
        with pytest.raises(ValueError, match="this level needs rows; pass X and y: rows as"):
            model.prune(max_nodes=0.2, level="leaf", **rows)


def test_a_pruned_ensemble_has_no_out_of_bag_rows():
    small = prune(FOREST, X, y)
    with pytest.raises(
        ValueError, match=r"this LeafReweighter has none, as after loading, or of a bare committee\. Give"
    ):
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


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("kind", [TheirForest, TheirRegressor])
def test_a_pipeline_is_pruned_like_its_last_step(kind, stored):
    X, y = load_iris(return_X_y=True)
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), kind(40, oob_score=stored, random_state=0))
    pipeline.fit(holes, y)
    last, last_rows = pipeline[-1], pipeline[:-1].transform(holes)
    found, expected = prune(pipeline, holes, y), prune(last, last_rows, y)
    assert found.committee_.n_nodes == expected.committee_.n_nodes
    assert_array_equal(found.predict(holes), expected.predict(last_rows))
    with pytest.raises(ValueError, match="drew reach other leaves" if not stored else "out-of-bag .* of row|on row"):
        prune(pipeline, holes[::-1], y[::-1])


def test_a_pipeline_refuses_what_its_last_step_refuses():
    X, y = load_iris(return_X_y=True)
    boosting = make_pipeline(StandardScaler(), TheirBoosting(n_estimators=3)).fit(X, y)
    with pytest.raises(ValueError, match=r"\(NaN\), which GradientBoostingClassifier does not accept"):
        prune(boosting, np.where(X > 7.0, np.nan, X), y, on="validation")
    quantile = TheirBoostedNumbers(loss="quantile", alpha=0.9, n_estimators=3)
    assert prune(make_pipeline(StandardScaler(), quantile).fit(X, y), X, y, on="validation").quantile_ == 0.9
    weighted = make_pipeline(StandardScaler(), TheirForest(10, class_weight={0: 1, 1: 9, 2: 1})).fit(X, y)
    with pytest.raises(ValueError, match="RandomForestClassifier drew rows of greater weight"):
        prune(weighted, X, y, max_loss=0.5)


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
        ({"max_voters": 0, "level": "voter"}, "max_voters=0 must be a whole number of at least 1"),
        ({"max_voters": 2.5, "level": "voter"}, r"max_voters=2\.5 must be a whole number"),
        ({"min_gain": -0.1}, r"min_gain=-0\.1 must be a number that is not negative"),
        ({"min_gain": "1%"}, "min_gain='1%' must be a number that is not negative"),
        ({"max_loss": -0.1}, "max_loss=-0.1 must be a finite number"),
        ({"max_loss": 0.1, "min_gain": 0.1}, "max_loss=0.1 and min_gain=0.1 both choose the size"),
        ({"max_loss": 0.1, "min_gain": 0.1, "level": "voter"}, "max_loss=0.1 and min_gain=0.1 both choose the size"),
        ({"max_loss": 0.1, "on": "train", "level": "voter", "objective": "soft_margin"}, "max_loss=0.1 needs rows"),
        ({"max_loss": 0.1, "on": "train"}, "max_loss=0.1 needs rows that the ensemble was not trained on"),
        ({"max_loss": 0.1, "metric": "auc"}, "metric='auc' is unknown; choose 'accuracy', 'log_loss', 'brier', the na"),
        ({"max_loss": 0.1, "metric": "r2"}, "metric='r2' does not score classifiers"),
        ({"max_loss": 0.1, "metric": "auc", "level": "voter"}, "metric='auc' is unknown"),
    ],
)
def test_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        prune(FOREST, X, y, **arguments)


# --- lossless ---------------------------------------------------------------------------------------------------------

IRIS = load_iris(return_X_y=True)


def every_cell(forest):
    """A row of every cell: at each threshold, above all, missing, each category and one that is none."""
    values = []
    for j in range(forest.n_features):
        split = forest.feature == j
        words = int(np.diff(forest.category_offset)[split].max(initial=0))
        cuts = np.unique(forest.threshold[split]) if not words else np.arange(32.0 * words)
        values.append([*cuts.tolist(), 1e9, np.nan])
    return np.array(list(product(*values)))


def vote(seed, kind, n_trees, n_categories=(0, 0, 3)):
    """A vote of random trees: of two or three classes, by names, whole numbers or any numbers."""
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 4))
    outputs = None if kind == "labels" else 1 if K == 2 and rng.random() < 0.5 else K
    forest = traverse.random_forest(
        rng, n_trees=n_trees, n_splits=2, n_categories=n_categories, n_classes=K, n_outputs=outputs
    )
    if kind == "whole":
        assert forest.value is not None
        forest = replace(forest, value=np.round(forest.value))
    weights = rng.integers(-1, 4, n_trees) if kind != "numbers" else rng.normal(size=n_trees)
    intercept = rng.integers(-1, 2, forest.n_outputs).astype(float) if rng.random() < 0.5 else None
    return Committee(forest, weights.astype(float), np.array(["a", "b", "c"][:K]), Softmax(), intercept=intercept)


@settings(deadline=None, max_examples=examples(6, 25))
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["labels", "whole", "numbers"]),
    st.sampled_from(["trees", "leaves", None]),
)
def test_every_cell_elects_the_same_class(seed, kind, fewest):
    whole = vote(seed, kind, 5)
    X = every_cell(whole.voters)
    found = lossless(whole, fewest=fewest, time_limit=20.0, random_state=0)
    np.testing.assert_array_equal(found.committee.predict(X), whole.predict(X))
    assert 0 <= found.bound <= found.after <= found.before
    if found.same_scores:
        assert found.committee.decision_function(X).tobytes() == whole.decision_function(X).tobytes()


def leads(whole, X):
    """Lead of the elected class over each other one by each tree and the intercept; whether a tie will do."""
    K = whole.n_classes
    scores = whole.voters.votes(X)
    if whole.voters.kind == "label":
        scores = (scores[..., None] == np.arange(K)).astype(float)
    elif scores.shape[2] == 1:
        scores = np.concatenate([np.zeros_like(scores), scores], axis=2)
    start = np.zeros(K) if whole.intercept is None else np.append(np.zeros(K - len(whole.intercept)), whole.intercept)
    scores = np.concatenate([scores * whole.weights[:, None], np.broadcast_to(start, (len(X), 1, K))], axis=1)
    elected = whole.class_indices(whole.predict(X))
    lines, ties = [], []
    for k in range(K):
        others = elected != k
        own = scores[np.arange(len(X)), :, elected]
        lines.append((own - scores[:, :, k])[others])
        ties.append((elected < k)[others])
    return np.concatenate(lines), np.concatenate(ties)


def least_by_trying(whole, X):
    """The fewest trees of which some weights satisfy all lines."""
    lines, ties = leads(whole, X)
    both = np.unique(np.column_stack([lines, ties]), axis=0)
    lines, ties = both[:, :-1], both[:, -1] > 0
    n = lines.shape[1] - 1
    width = np.abs(lines).max(axis=0)
    for size in range(n + 1):
        for chosen in combinations(range(n), size):
            used = [j for j in (*chosen, n) if width[j] > 0]
            if not used:
                if ties.all():
                    return 0
                continue
            # maximise the least lead of those that may not be tied
            A = np.column_stack([-lines[:, used] / width[used], ~ties])
            A = np.vstack([A, np.append(np.ones(len(used)), 0.0)])
            bounds = [(0, 1)] * len(used) + [(None, 1)]
            solved = linprog(
                np.append(np.zeros(len(used)), -1.0), A, np.append(np.zeros(len(A) - 1), 1.0), bounds=bounds
            )
            if solved.status == 0 and -solved.fun > 1e-4:
                return size
    raise AssertionError("the trees themselves do")


@pytest.mark.slow
@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["labels", "whole"]))
def test_no_fewer_trees_do(seed, kind):
    whole = vote(seed, kind, 5)
    clean = replace(whole, voters=SharedForest.of(whole.voters))
    assume(not WeightedParts.of(clean, "trees").has_merged)  # of trees that are one, brute force knows nothing
    found = lossless(whole, time_limit=20.0, random_state=0)
    if found.proved:
        assert found.after == least_by_trying(whole, every_cell(whole.voters))


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("model", "counted", "most"),
    [
        (TheirForest(10, max_depth=2, random_state=0), "trees", 8),
        (TheirForest(10, max_depth=2, random_state=0), "leaves", 14),
        (TheirAdaBoost(n_estimators=50, random_state=0), "trees", 11),
        (AdaBoostClassifier(30, vote="discrete", random_state=0), "trees", 11),
        (RandomForestClassifier(8, max_depth=2, random_state=0), "trees", 7),
    ],
    ids=lambda value: type(value).__name__,
)
def test_learners_lose_trees_and_no_class(model, counted, most, tmp_path):
    X, y = IRIS
    model.fit(X, y)
    found = lossless(model, fewest=counted, random_state=0, time_limit=600.0)
    assert found.counted == counted and found.proved and found.after <= most and not found.same_scores
    rng = np.random.default_rng(0)
    drawn = np.column_stack([rng.choice(np.append(column, rng.uniform(0, 9, 99)), 100_000) for column in X.T])
    expected = model.predict(drawn)
    np.testing.assert_array_equal(found.predict(drawn), expected)
    found.committee.save(tmp_path / "small")
    np.testing.assert_array_equal(committee.load(tmp_path / "small").predict(drawn), expected)
    assert found.bytes_after < found.bytes_before / 5
    assert f"{found.after} of {found.before} {counted} (the fewest that do)" in str(found)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_boosters(n_classes):
    X, y = IRIS
    y = np.minimum(y, n_classes - 1)
    settings = {"n_estimators": 20, "max_leaf_nodes": 2, "learning_rate": 0.5, "extra_trees": False}
    model = GradientBoostingClassifier(**settings).fit(X, y)
    found = lossless(model, random_state=0, time_limit=600.0)
    drawn = np.random.default_rng(0).uniform(0, 9, (100_000, 4))
    np.testing.assert_array_equal(found.predict(drawn), model.predict(drawn))
    assert found.counted == ("trees" if n_classes == 2 else "rounds") and found.proved
    assert found.after < 20 or found.same_scores
    if n_classes == 2:
        assert found.after < 10  # stumps of the same threshold are one


def test_categories_and_missing_values():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "colour": [["red", "green", "blue", None][code] for code in rng.integers(0, 4, 300)],
            "size": np.where(rng.random(300) < 0.1, np.nan, rng.integers(0, 5, 300)),
        }
    )
    y = (frame["colour"].fill_null("?") == "red").to_numpy() ^ (frame["size"].to_numpy() > 2)
    model = RandomForestClassifier(12, max_depth=3, random_state=0).fit(frame, y)
    found = lossless(model, random_state=0, time_limit=600.0)
    assert found.proved and found.after < 12
    cells = list(product(["red", "green", "blue", "violet", None], [*range(-1, 7), None]))
    asked = pl.DataFrame(cells, schema=frame.schema, orient="row")
    np.testing.assert_array_equal(found.predict(asked), model.predict(asked))


@pytest.mark.parametrize(
    "learner", [RandomForestRegressor(5, random_state=0), GradientBoostingRegressor(n_estimators=20, leaf="constant")]
)
def test_numbers_stay_bit_for_bit(learner):
    X, y = IRIS
    model = learner.fit(X[:, :3], X[:, 3] + y)
    found = lossless(model)
    asked = np.random.default_rng(0).uniform(0, 9, (5000, 3))
    assert found.predict(asked).tobytes() == model.predict(asked).tobytes()
    assert isinstance(found.committee, RegressionCommittee) and found.same_scores and not found.searched
    assert found.bytes_after < found.bytes_before / 3


def test_a_search_that_has_no_time_leaves_all_trees():
    model = TheirForest(40, max_depth=4, random_state=0).fit(*IRIS)
    found = lossless(model, time_limit=0.01)
    asked = np.random.default_rng(0).uniform(0, 9, (1000, 4))
    assert found.same_scores and found.after == 40 and not found.proved and 0 < found.gap <= 1
    assert found.searched and "The search stopped: the time limit was reached" in found.note
    whole = Committee.from_estimator(model)
    np.testing.assert_array_equal(found.committee.predict_proba(asked), whole.predict_proba(asked))


def test_too_large_an_ensemble_is_not_searched(monkeypatch):
    monkeypatch.setattr("committee.learners.pruning.vote_cells.MOST_ENTRIES", 100)
    found = lossless(TheirForest(5, random_state=0).fit(*IRIS))
    assert found.same_scores and not found.searched
    assert str(found).startswith("5 of 5 trees, ") and "too large for a search; all trees stay" in str(found)


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (TheirForest(2), {"fewest": "nodes"}, "fewest='nodes' must be"),
        (TheirForest(2), {"time_limit": 0}, "time_limit=0 must be"),
        (TheirForest(2), {"time_limit": "9"}, "time_limit='9'"),
        (SBPMTClassifier(2, 2, 4), {}, "lossless takes trees with a class, shares or a number in each leaf"),
    ],
)
def test_what_lossless_refuses(model, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        lossless(model.fit(*IRIS), **options)
