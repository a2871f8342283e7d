"""Single trees: scikit-learn's, and what that tree cannot do (categories, missing values, abstentions, shrinkage)."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import log_loss
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import (
    AbstainingStump,
    GradientBoostingRegressor,
    ProbitModelTreeClassifier,
    RandomForestRegressor,
    TreeRegressor,
    TreeVoter,
    load,
)
from committee.data.labels import MAX_TARGET, target_vector
from committee.data.rows import Rows, scaled_weights
from committee.data.table_schema import TableSchema
from committee.learners.base.row_sampling import Folds
from committee.learners.trees.tree import STRENGTHS, TreeOfFold, abstention_z, best_strength, shrunk_shares
from committee.voters.growing import GrowthLimits, tree_grower
from tests.oracles import adaboost as oracle

seeds = st.integers(0, 2**32 - 1)


def coarse_numbers(seed=0, n=400):
    """Few distinct values, as bins keep them all, and noise, so that leaves stay impure."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-6, 7, size=(n, 5)) / 2.0
    return X, X[:, 0] + X[:, 1] * (X[:, 2] > 0) + rng.normal(size=n)


def coarse(seed=0, n=400, n_classes=3):
    X, score = coarse_numbers(seed, n)
    return X, np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)


def random_weights(n=400):
    return np.random.default_rng(1).exponential(size=n)


def leaves(tree, X):
    return tree.committee_.voters.apply(tree.table_.encode(X))[:, 0]


def assert_same_partition(ours, theirs):
    pairs = np.unique(np.column_stack([ours, theirs]), axis=0)
    assert len(pairs) == len(np.unique(ours)) == len(np.unique(theirs))


LIMITS = [
    {"max_depth": 1},
    {"max_depth": 3},
    {"max_depth": 6, "min_samples_leaf": 7},
    {"max_leaf_nodes": 2},
    {"max_leaf_nodes": 9},
    {"max_leaf_nodes": 20, "max_depth": 4},
    {"min_samples_leaf": 25},
    {"min_impurity_decrease": 0.012},
    {"min_weight_leaf": 0.04},
    {"min_samples_leaf": 5, "min_weight_leaf": 0.02, "max_leaf_nodes": 12, "min_impurity_decrease": 0.002},
]


def of_scikit_learn(limits):
    return {{"min_weight_leaf": "min_weight_fraction_leaf"}.get(name, name): value for name, value in limits.items()}


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_same_partition_as_scikit_learn(limits, criterion, n_classes):
    """Random weights leave no two splits equally good, and leaves of a few rows stay impure."""
    X, y = coarse(n_classes=n_classes)
    w = random_weights()
    limits = {"min_samples_leaf": 5} | limits
    ours = TreeVoter(criterion=criterion, **limits, calibrate=None).fit(X, y, w)
    named = of_scikit_learn(limits)
    if criterion == "entropy" and "min_impurity_decrease" in named:
        named["min_impurity_decrease"] /= np.log(2)  # bits there, nats here
    theirs = DecisionTreeClassifier(criterion=criterion, random_state=0, **named).fit(X, y, w)
    assert theirs.get_n_leaves() > 1
    assert ours.committee_.n_nodes == theirs.tree_.node_count
    assert_same_partition(leaves(ours, X), theirs.apply(X))
    # new rows may differ: between values that a node lacks, our threshold is half-way in the table, theirs in the node
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9, atol=1e-12)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-9, atol=1e-12)


def test_more_categories_than_fit_a_word():
    rng = np.random.default_rng(0)
    code = rng.integers(0, 300, 3000)
    y = (rng.random(300) < 0.5)[code]
    tree, numbers = TreeVoter(max_depth=1, max_bins=1000), code[:, None] / 2
    assert tree.fit(numbers, y).score(numbers, y) < 0.7
    frame = pl.DataFrame({"code": [f"c{c}" for c in code]})
    assert tree.fit(frame, y).score(frame, y) == 1.0
    assert tree.set_params(categorical_features=[0]).fit(numbers, y).score(numbers, y) == 1.0


def test_being_missing_can_be_all_there_is_to_know():
    gone = np.random.default_rng(0).random(100) < 0.4
    X = np.where(gone, np.nan, 3.5)[:, None]
    tree = TreeVoter().fit(X, gone)
    assert tree.score(X, gone) == 1.0
    assert tree.predict([[-1e9], [1e9], [np.nan]]).tolist() == [False, False, True]
    frame = pl.DataFrame({"c": [None if g else "x" for g in gone]})
    assert TreeVoter().fit(frame, gone).score(frame, gone) == 1.0


def test_below_zero_a_split_that_gains_nothing_is_the_first_step_of_xor():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 5)
    y = X[:, 0] != X[:, 1]
    assert TreeVoter(max_depth=2).fit(X, y).score(X, y) == 0.5
    assert TreeVoter(max_depth=2, min_impurity_decrease=-np.inf).fit(X, y).score(X, y) == 1.0


@pytest.mark.parametrize(
    ("criterion", "limits"),
    [(criterion, each) for criterion in ("squared_error", "poisson") for each in LIMITS]
    + [("absolute_error", each) for each in LIMITS if "max_leaf_nodes" not in each],
    ids=str,
)
def test_same_tree_as_scikit_learn(criterion, limits):
    X, y = coarse_numbers()
    y, w = y if criterion == "squared_error" else np.exp(0.3 * y), scaled_weights(random_weights())
    peer = DecisionTreeRegressor(criterion=criterion, **of_scikit_learn(limits), random_state=0).fit(X, y, w)
    tree = TreeRegressor(criterion=criterion, **limits).fit(X, y, w)
    assert tree.committee_.n_nodes == peer.tree_.node_count
    assert_allclose(tree.predict(X), peer.predict(X), rtol=1e-9)
    assert_allclose(tree.feature_importances_, peer.feature_importances_, rtol=1e-9, atol=1e-12)
    forest = tree.committee_.voters
    assert_allclose(np.sort(forest.weight), np.sort(peer.tree_.weighted_n_node_samples), rtol=1e-9)
    assert_array_equal(np.sort(forest.count), np.sort(peer.tree_.n_node_samples))
    if criterion == "poisson":
        one = RandomForestRegressor(1, criterion=criterion, bootstrap=False, random_state=0, **limits).fit(X, y, w)
        assert_allclose(one.predict(X), peer.predict(X), rtol=1e-9)


@pytest.mark.parametrize("of", [TreeRegressor, RandomForestRegressor])
def test_leaves_of_absolute_errors_hold_medians(of):
    """Whole weights are repeated rows; of an even number of rows the median is the middle of two."""
    y, w = np.array([0.0, 1.0, 5.0, 9.0, 2.0]), np.array([1.0, 1.0, 2.0, 0.0, 2.0])
    settings = {"bootstrap": False, "n_estimators": 1} if of is RandomForestRegressor else {}
    tree = of(criterion="absolute_error", min_samples_leaf=3, **settings)
    assert tree.fit(np.zeros((5, 1)), y, w).predict([[0.0]]) == [2.0]
    assert tree.fit(np.zeros((4, 1)), y[:4]).predict([[0.0]]) == [3.0]
    frame = pl.DataFrame({"colour": ["a", "b", "c", None] * 9})
    y = np.tile([1.0, 7.0, 1.5, 8.0], 9) + np.eye(36)[0] * 1000.0
    assert set(tree.set_params(max_depth=1, min_samples_leaf=1).fit(frame, y).predict(frame)) == {1.5, 7.5}


@pytest.mark.parametrize("of", [TreeRegressor, RandomForestRegressor])
@pytest.mark.parametrize(
    ("settings", "y", "message"),
    [
        (
            {"criterion": "poisson"},
            [1.0, -2.0, 0.0],
            r"criterion='poisson' .* y holds -2.0 \(row 1 .* choose criterion=",
        ),
        ({"criterion": "poisson"}, [0.0, 0.0, 0.0], r"criterion='poisson' needs a number above 0"),
        ({"criterion": "absolute_error"}, [[0.0, 1.0]] * 3, r"takes one target, and y has 2 columns; wrap"),
        ({"criterion": "absolute_error", "max_leaf_nodes": 4}, [0.0, 1.0, 2.0], r"max_leaf_nodes=4 .* set max_depth"),
    ],
)
def test_targets_that_a_criterion_does_not_take(of, settings, y, message):
    with pytest.raises(ValueError, match=message):
        of(**settings).fit([[0.0], [1.0], [2.0]], y)


@pytest.mark.parametrize("y", [[3.5] * 4, [0.0] * 4, [1e-300] * 4, [-1e150] * 4])
def test_a_constant_is_predicted_exactly(y):
    tree = TreeRegressor().fit([[0.0], [1.0], [2.0], [3.0]], y)
    assert tree.committee_.n_nodes == 1
    assert tree.predict([[9.0]]).tolist() == y[:1]


def test_large_offsets_cost_no_split():
    X, y = coarse_numbers()
    plain, far = TreeRegressor(max_leaf_nodes=8).fit(X, y), TreeRegressor(max_leaf_nodes=8).fit(X, y + 1e9)
    assert_allclose(far.predict(X) - 1e9, plain.predict(X), atol=1e-5)


def test_targets_come_in_many_ways():
    for y in ([1, 2], (1.0, 2.0), np.array([1, 2], dtype=np.uint8), pl.Series([1.0, 2.0]), np.array([1, 2.0], object)):
        target = target_vector(y)
        assert target.dtype == np.float64 and target.tolist() == [1.0, 2.0]
    assert target_vector([True, False]).tolist() == [1.0, 0.0]
    with pytest.warns(DataConversionWarning, match="column-vector"):
        assert target_vector([[1.0], [2.0]]).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        ([1.0, np.nan, 2.0], "Input y contains NaN: row 1 has no number"),
        (np.array([1.0, 2.0, None], dtype=object), "Input y contains NaN: row 2"),
        ([1.0, -np.inf], r"y\[1\] is -inf; targets must be finite"),
        ([1.0, 1e200], r"y\[1\] is 1e\+200.*between -1e\+150 and 1e\+150.*rescale"),
        (["a", "b"], r"y holds text, 'a' in row 0; a regressor predicts numbers. Take a classifier for classes"),
        (["1.5", "2"], r"y holds text, '1.5' in row 0; .* for numbers that were read as text, y.astype\(float\)"),
        (np.array([1.0, "b"], dtype=object), "y holds text, 'b' in row 1"),
        (pl.Series(["x"]), "y holds text, 'x' in row 0"),
        ([1 + 2j, 3.0], "Complex data not supported"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "y holds datetime64.* values, such as 2020-01-01"),
        ([[1.0, 2.0], [3.0, 4.0]], "y has 2 columns, and this learner predicts one number a row"),
    ],
)
def test_targets_that_are_none(y, message):
    with pytest.raises(ValueError, match=message):
        target_vector(y)


def test_the_largest_targets_are_kept():
    X = np.arange(6.0)[:, None]
    y = [-MAX_TARGET, MAX_TARGET] * 3
    assert TreeRegressor().fit(X, y).predict(X).tolist() == y


@pytest.mark.parametrize("learner", [TreeRegressor(), RandomForestRegressor(2), GradientBoostingRegressor()], ids=str)
def test_targets_whose_weighted_squares_are_no_number_are_refused(learner):
    X, y = np.arange(1_200.0)[:, None], np.where(np.arange(1_200) % 3, 1e150, 0.0)
    with pytest.raises(ValueError, match=r"y holds numbers up to 1e\+150, and the rows weigh 1.2e\+03 .* Rescale y or"):
        learner.fit(X, y)
    assert np.isfinite(learner.fit(X, y / 1e10).feature_importances_).all()


def table(rng, n=60, n_classes=2):
    X = rng.normal(size=(n, 3))
    y = np.where(np.abs(X[:, 0]) > 1, X[:, 0] > 0, rng.integers(0, n_classes, n)).astype(int)
    y[:n_classes] = np.arange(n_classes)
    return X, y, rng.exponential(size=n)


@given(seeds, st.integers(8, 60))
def test_two_classes_have_the_least_z_of_all(seed, n):
    X, y, w = table(np.random.default_rng(seed), n)
    stump = AbstainingStump().fit(X, y, w)
    try:
        best = next(oracle.abstaining(X, y, w, 1.0, 1))
    except oracle.TieError:
        assume(False)
    assert stump.committee_.voters.feature[0] == best.feature
    assert_allclose(stump.committee_.voters.threshold[0], best.threshold)
    for rows in (X, np.random.default_rng(0).normal(size=(40, 3))):
        assert_array_equal(stump.vote(rows), best.say(rows)[:, 0])


@given(seeds, st.integers(3, 5))
def test_many_classes_have_the_least_z_of_all(seed, n_classes):
    """Each side votes for any class or refuses; Z is minimised over alpha by search."""
    X, y, w = table(np.random.default_rng(seed), 30, n_classes)
    w = w / w.sum()
    stump = AbstainingStump().fit(X, y, w)
    vote = stump.vote(X)
    P, N = w[vote == y].sum(), w[(vote >= 0) & (vote != y)].sum()
    ours = abstention_z(P, N, n_classes)
    shares = []
    for _, _, left in oracle.stumps(X):
        W = [oracle.class_weights(side, y, w, n_classes) for side in (left, ~left)]
        for a in range(-1, n_classes):
            for b in range(-1, n_classes):
                voted = [(side, k) for side, k in zip(W, (a, b), strict=True) if k >= 0]
                right = sum(side[k] for side, k in voted)
                shares.append((right, sum(side.sum() for side, _ in voted) - right))
    assert ours <= min(abstention_z(p, n, n_classes) for p, n in shares) + 1e-9


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_z_is_the_least_over_alpha(n_classes):
    rng = np.random.default_rng(n_classes)
    for _ in range(50):
        right, wrong, refused = rng.dirichlet([1, 1, 1])

        def loss(alpha, right=right, wrong=wrong, refused=refused):
            return refused + right * np.exp(-alpha) + wrong * np.exp(alpha / (n_classes - 1))

        least = minimize_scalar(loss, bounds=(0, 50), method="bounded", options={"xatol": 1e-10}).fun
        assert abstention_z(right, wrong, n_classes) == pytest.approx(least, abs=1e-7)
    if n_classes == 2:
        assert abstention_z(0.5, 0.2, 2) == pytest.approx(1 - (np.sqrt(0.5) - np.sqrt(0.2)) ** 2)
    assert abstention_z(0.0, 0.5, n_classes) == 1.0


def test_silent_where_it_knows_nothing():
    x = np.arange(100.0)
    y = np.where(x < 60, np.arange(100) % 2, 1)
    stump = AbstainingStump().fit(x[:, None], y)
    assert_array_equal(stump.vote(x[:, None]), x >= 59)  # the last of the mixture is a 1
    refused = stump.vote(x[:, None]) == 0
    assert_array_equal(stump.predict(x[:, None])[refused], 0)
    assert_allclose(stump.predict_proba(x[:, None])[refused], 0.5)
    assert_allclose(stump.predict_proba(x[:, None])[~refused], [[1 / 43, 42 / 43]] * (~refused).sum())
    assert stump.committee_.n_voters == 1


def test_votes_of_many_classes_are_their_numbers():
    x = np.arange(90.0)
    y = np.array(["a", "b", "c"])[np.where(x < 30, 2, np.arange(90) % 2)]
    stump = AbstainingStump().fit(x[:, None], y)
    assert set(stump.vote(x[:, None]).tolist()) == {-1, 2}
    assert set(stump.predict(x[:30, None])) == {"c"}
    assert_allclose(stump.predict_proba(x[30:, None]), 1 / 3)


def test_categories_and_missing_values():
    letters = np.array(list("abcd") * 25)
    y = np.where(np.isin(letters, ["b", "d"]), 1, np.arange(100) // 4 % 2)
    stump = AbstainingStump().fit(pl.DataFrame({"letter": letters}), y)
    assert stump.vote(pl.DataFrame({"letter": ["a", "b", "c", "d"]})).tolist() == [0, 1, 0, 1]
    gone = np.arange(100) % 4 == 0
    X = np.where(gone, np.nan, np.random.default_rng(0).normal(size=100))[:, None]
    y = np.where(gone, 1, np.arange(100) // 2 % 2)
    assert AbstainingStump().fit(X, y).vote([[np.nan], [0.0]]).tolist() == [1, 0]


def test_limits_of_a_side():
    X, y, w = table(np.random.default_rng(0), 200)
    for fewest in (1, 60, 100):
        assert AbstainingStump(min_samples_leaf=fewest).fit(X, y).committee_.voters.count.min() >= fewest
    voters = AbstainingStump(min_weight_leaf=0.3).fit(X, y, w).committee_.voters
    assert voters.weight.min() >= 0.3 * w.sum() * (1 - 1e-9)


@pytest.mark.parametrize("y", [[0, 1] * 10, [0, 1, 1, 1] * 5, [0, 1, 2, 1] * 5])
def test_nothing_to_split(y):
    stump = AbstainingStump().fit(np.ones((20, 1)), y)
    assert stump.committee_.n_nodes == 1
    assert_array_equal(stump.predict(np.ones((3, 1))), np.bincount(y).argmax())


# --- leaves shrunk towards their ancestors ---------------------------------------------------------------------------


def noisy(n=300, n_classes=2, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    return X, (X[:, 0] + random.normal(size=n) > 0).astype(int) + (n_classes > 2) * (X[:, 1] > 1)


def grown_on(rows, n_classes):
    binned = rows.binned(TableSchema(None, (None,) * 4), 255, 1)
    return tree_grower(binned, "gini", n_classes, GrowthLimits(), 1).grow_classes(rows.labels, rows.weights, None, 0)


def naive(tree, strength):
    """The published sum over a leaf's ancestors, node by node."""
    P, W = tree.sums / tree.sums.sum(axis=1, keepdims=True), tree.sums.sum(axis=1)
    found = P.copy()

    def walk(node):
        if tree.feature[node] < 0:
            return
        for child in (tree.left[node], tree.left[node] + 1):
            found[child] = found[node] + (P[child] - P[node]) / (1.0 + strength / W[node])
            walk(child)

    walk(0)
    return found


def rows_of(X, y, weights=None):
    uniform = weights is None
    return Rows(X, y.astype(np.uint16), np.ones(len(y)) if uniform else weights, uniform)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("strength", [0.1, 7.0, 1000.0])
def test_shares_are_those_of_the_paper(n_classes, strength):
    X, y = noisy(120, n_classes)
    tree = grown_on(rows_of(X, y, np.random.default_rng(1).uniform(0.5, 2.0, 120)), n_classes)
    shares = shrunk_shares(tree, strength)
    assert_allclose(shares, naive(tree, strength), rtol=1e-12)
    assert_allclose(shares.sum(axis=1), 1.0)
    assert shares.min() > 0.0


def test_the_strength_has_the_least_log_loss_on_folds():
    X, y = noisy(150)
    own, anywhere, folds = np.zeros(len(STRENGTHS)), np.zeros(len(STRENGTHS)), []
    for fold in Folds.of(rows_of(X, y), 5):
        tree = grown_on(rows_of(X[fold.train], y[fold.train]), 2)
        leaf = TreeVoter(calibrate=None).fit(X[fold.train], y[fold.train]).apply(X[fold.test])[:, 0]
        folds.append(TreeOfFold(tree, leaf, y[fold.test].astype(np.uint16), fold.test_weights, fold.n_test))
        for s, strength in enumerate(STRENGTHS):
            surprise = -np.log(naive(tree, strength)[leaf])
            own[s] += surprise[np.arange(len(leaf)), y[fold.test]].sum()
            anywhere[s] += surprise.mean(axis=1).sum()
        n = sum(one.n_test for one in folds)
        if n >= 100:
            break
    expected = STRENGTHS[(own + anywhere / n).argmin()]
    assert best_strength(iter(folds)) == TreeVoter().fit(X, y).shrinkage_ == expected


@pytest.mark.parametrize(
    "learner", [TreeVoter(), ProbitModelTreeClassifier(max_depth=3, min_samples_leaf=5, n_leaf_steps=20)], ids=repr
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_tree_alone_has_usable_probabilities(learner, n_classes):
    X, y = noisy(600, n_classes)
    model = learner.set_params(calibrate="auto").fit(X[:300], y[:300])
    base = log_loss(y[300:], np.tile(np.bincount(y[:300]) / 300, (300, 1)))
    assert log_loss(y[300:], model.predict_proba(X[300:])) < base
    raw = learner.set_params(calibrate=None).fit(X[:300], y[:300])
    assert log_loss(y[300:], raw.predict_proba(X[300:])) > 1.3 * base
    assert not hasattr(raw, "shrinkage_") and not hasattr(raw, "temperature_")


def test_the_strength_of_shrinkage_is_stored_and_checked(tmp_path):
    model = TreeVoter().fit(*noisy(60))
    model.save(tmp_path / "tree")
    assert load(tmp_path / "tree").shrinkage_ == model.shrinkage_
    model.shrinkage_ = -1.0
    with pytest.raises(ValueError, match=r"shrinkage_ is -1\.0"):
        model.save(tmp_path / "tree")


def test_categories_that_become_numbers_are_learned_in_each_fold_of_shrinkage():
    """A column of random names is of no use, and its tree is shrunk to the shares of all rows."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({"name": pd.Categorical([f"n{i}" for i in random.integers(0, 60, 300)])})
    model = TreeVoter().fit(X, random.integers(0, 2, 300))
    assert abs(model.predict_proba(X) - 0.5).max() < 0.2


def test_too_few_rows_or_one_class_have_no_strength():
    X = np.arange(4.0)[:, None]
    assert not hasattr(TreeVoter().fit(X[:2], [0, 1]), "shrinkage_")
    with pytest.warns(UserWarning, match="one class only"):
        assert not hasattr(TreeVoter().fit(X, np.zeros(4)), "shrinkage_")
    same = TreeVoter().fit(np.zeros((40, 1)), np.arange(40) % 2)
    assert_array_equal(same.predict_proba([[0.0]]), [[0.5, 0.5]])
