"""The same classes in every cell, by looking at all of them; the fewest trees, by trying all sets of them."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.datasets import load_iris
from sklearn.ensemble import AdaBoostClassifier as TheirAdaBoost
from sklearn.ensemble import RandomForestClassifier as TheirForest

import committee
from committee import (
    AdaBoostClassifier,
    Committee,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RegressionCommittee,
    SBPMTClassifier,
    lossless,
)
from committee.learners.pruning.lossless import WeightedParts
from committee.vote.links.probability import Softmax
from committee.voters.shared_forest import SharedForest
from tests.examples import examples
from tests.oracles import traverse

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
    monkeypatch.setattr("committee.learners.pruning.lossless.MOST_ENTRIES", 100)
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
def test_refused(model, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        lossless(model.fit(*IRIS), **options)
