"""Row samples and folds by the rows' contents, and draws of columns by their weights."""

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from committee import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ProbitModelTreeClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    SBPMTClassifier,
    TreeRegressor,
    TreeVoter,
    _core,
    load,
)
from committee.data.matrices import SparseMatrix
from committee.data.rows import Rows, TargetRows
from committee.learners.base.row_sampling import (
    MOST_UNITS,
    Folds,
    RowUnits,
    are_resampled,
    content_digests,
    multiples,
    table_seed,
)
from committee.learners.gradient.rounds import Draws
from tests.gradient_cases import PLAIN, numbers

seeds = st.integers(0, 2**32 - 1)


def few_values(seed: int, n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, 3)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, rng.integers(0, 2, n).astype(np.uint16)


def equal_rows(X, labels):
    return Rows(X, labels, np.ones(len(X)), uniform=True)


def content(X, labels, rows, weights=None):
    """What a choice of rows holds, whatever their order."""
    held = np.column_stack([np.nan_to_num(X[rows], nan=-1.0), labels[rows]])
    weights = np.ones(len(rows)) if weights is None else weights
    kinds, of = np.unique(held, axis=0, return_inverse=True)
    return kinds, np.bincount(np.ravel(of), weights)


@settings(max_examples=60)
@given(seeds, st.floats(0.1, 0.9))
def test_a_row_of_weight_k_is_drawn_as_k_rows_are(seed, share):
    X, labels = few_values(seed)
    rng = np.random.default_rng(seed)
    w = rng.integers(1, 5, len(X)).astype(float)
    rows = np.repeat(np.arange(len(X)), w.astype(int))[rng.permutation(int(w.sum()))]
    heavy = RowUnits.of(Rows(X, labels, w, uniform=False), 7, 1)
    many = RowUnits.of(equal_rows(X[rows], labels[rows]), 7, 1)
    for choose in (
        lambda units, y: units.drawn(share, 3),
        lambda units, y: units.held_out(share, y),
        lambda units, y: units.parts(4, y) == 2,
        lambda units, y: units.drawn(share, 3, ~units.held_out(0.3, y)),
    ):
        one, other = choose(heavy, labels), choose(many, labels[rows])
        if one is None:
            assert other is None
            continue
        chosen, weights = heavy.rows_of(one)
        chosen_too, none = many.rows_of(other)
        assert weights is not None and none is None
        for first, second in zip(
            content(X, labels, chosen, weights[chosen]), content(X, labels, rows[chosen_too]), strict=True
        ):
            assert_array_equal(first, second)


@given(seeds)
def test_parts_have_equal_sizes_and_classes(seed):
    X, labels = few_values(seed)
    labels[0] = 2  # a class of one row
    units = RowUnits.of(equal_rows(X, labels), seed, 1)
    part = units.parts(4, labels)
    assert part[0] == -1
    for k in (0, 1):
        sizes = np.bincount(part[labels == k], minlength=4)
        assert sizes.max() - sizes.min() <= 1


@given(seeds)
def test_the_seed_of_a_table_depends_on_the_weights_of_its_classes_alone(seed):
    rng = np.random.default_rng(seed)
    labels, weights = 2 * rng.integers(0, 5, 60).astype(np.uint16), rng.integers(0, 3, 60).astype(float)
    weights[0] = 1.0
    order = rng.permutation(60)
    drawn = table_seed(labels, weights)
    assert drawn == table_seed(labels[order], weights[order])
    assert drawn == table_seed(np.array([f"class {label}" for label in labels]), weights)
    assert drawn == table_seed(labels[weights > 0.0], weights[weights > 0.0])
    weights[labels == labels[0]] += 1.0
    assert drawn != table_seed(labels, weights)


def test_held_out_leaves_one_of_each_class():
    labels = np.array([0, 0, 0, 0, 0, 1], dtype=np.uint16)
    units = RowUnits.of(equal_rows(np.arange(6.0)[:, None], labels), 0, 1)
    held = units.held_out(0.9, labels)
    assert held.sum() == 4 and not held[5]
    assert units.held_out(0.05, labels) is None


def test_shares_are_those_asked_for_and_draws_differ():
    rng = np.random.default_rng(0)
    rows = TargetRows(rng.normal(size=(20_000, 2)), rng.normal(size=20_000), np.ones(20_000), uniform=True)
    units = RowUnits.of(rows, 0, 1)
    draws = np.array([units.drawn(0.3, t) for t in range(20)])
    assert abs(draws.mean() - 0.3) < 0.005
    together = (draws[:-1] & draws[1:]).mean()
    assert abs(together - 0.09) < 0.005  # one draw says nothing about the next
    assert RowUnits.of(rows, 0, 1).drawn(1e-12, 0).sum() == 1


@pytest.mark.parametrize("share", [1e-12, 0.25, 0.7, 1.0 - 2.0**-53, 1.0])
def test_units_are_drawn_by_their_numbers(share):
    X, labels = few_values(3, 200)
    units = RowUnits.of(equal_rows(X, labels), 0, 1)
    number = (_core.row_keys(units.place[:, None], 5, 1) >> np.uint64(11)) * 2.0**-53
    among = np.arange(len(number)) % 3 > 0
    assert_array_equal(units.below(share, 5), number < share)
    assert_array_equal(units.below(share, 5, among), (number < share) & among)
    least = number == number[among].min()  # one, where the share draws none
    drawn = (number < share) & among
    assert_array_equal(units.drawn(share, 5, among), drawn if drawn.any() else least & among)
    for some in (None, among):
        rows, weights = units.rows_drawn(share, 5, some)
        assert weights is None
        assert_array_equal(rows, np.flatnonzero(units.drawn(share, 5, some)))


@pytest.mark.parametrize("weight", [0.25, 2.5, 1000.0, 1e12])
def test_units_add_up_to_the_weight(weight):
    rows = TargetRows(np.arange(3.0)[:, None], np.zeros(3), np.array([weight, 1.0, weight]), uniform=False)
    units = RowUnits.of(rows, 0, 1)
    assert units.weight is not None
    np.testing.assert_allclose(np.bincount(units.row, units.weight), rows.weights, rtol=1e-12)
    assert np.bincount(units.row).max() <= MOST_UNITS
    assert (units.weight > 0.0).all()


def rows(X, y, weights=None):
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    return Rows(np.array(X, dtype=np.float64, order="C"), np.array(y, dtype=np.uint16), weights, uniform=False)


def table(seed, n=40, levels=3, n_classes=3):
    random = np.random.default_rng(seed)
    X = random.integers(0, levels, (n, 4)).astype(np.float64)
    X[random.random(X.shape) < 0.1] = np.nan
    return X, random.integers(0, n_classes, n)


def held(folds, X, y):
    """By what a row holds, what each fold judges and trains on of it."""
    found = {}
    for k, fold in enumerate(folds):
        for side, some, weights in ((0, fold.test, fold.test_weights), (1, fold.train, fold.train_weights)):
            for i, w in zip(some.tolist(), weights.tolist(), strict=True):
                found[k, side, str(X[i]), int(y[i])] = w
    return found


@given(seeds, st.integers(2, 6))
def test_copies_are_dealt_out_evenly(seed, n_folds):
    X, y = table(seed)
    folds = Folds.of(rows(X, y), n_folds)
    assert len({(str(X[i]), y[i]) for i in folds.row}) == len(folds.row)
    assert_array_equal(folds.row, np.sort(folds.row))
    all_of = list(folds)
    judged = np.zeros((len(X), n_folds))
    for k, fold in enumerate(all_of):
        judged[fold.test, k] = fold.test_weights
        assert fold.n_test >= fold.test_weights.sum() - 1e-9 or (folds.copies == 1).any()
        whole = np.zeros(len(X))
        whole[fold.test] += fold.test_weights
        whole[fold.train] += fold.train_weights
        assert_allclose(whole[folds.row], folds.weights)
    for label in range(3):
        of_class = folds.row[y[folds.row] == label]
        copies = folds.copies[y[folds.row] == label]
        if copies.sum() == 1:
            assert not judged[of_class].any()
        else:
            assert_allclose(judged[of_class].sum(axis=1), folds.weights[y[folds.row] == label])
            unit = folds.weights[y[folds.row] == label] / copies
            counts = judged[of_class] / unit[:, None]
            assert np.ptp(counts.sum(axis=0)) <= 1 + 1e-9
            assert (np.ptp(counts, axis=1) <= 1 + 1e-9).all()


@given(seeds, st.permutations(range(40)), st.permutations(range(4)), st.sampled_from([0.37, 1.0, 3.0]))
def test_order_repetitions_and_scale_do_not_matter(seed, order, columns, scale):
    X, y = table(seed)
    times = np.random.default_rng(seed).integers(1, 4, len(y))
    expected = held(Folds.of(rows(X, y, times), 5), X, y)
    order, columns = list(order), list(columns)
    shuffled = rows(X[order], y[order], times[order])
    assert held(Folds.of(shuffled, 5), X[order], y[order]) == expected
    again = np.repeat(X, times, axis=0), np.repeat(y, times)
    assert held(Folds.of(rows(*again), 5), *again) == expected
    by_column = held(Folds.of(rows(X[:, columns], y, times), 5), X, y)
    assert by_column == expected
    scaled = held(Folds.of(rows(X, y, scale * times), 5), X, y)
    assert scaled.keys() == expected.keys()
    assert_allclose(list(scaled.values()), scale * np.array(list(expected.values())))


def test_rows_that_come_again_are_in_several_folds():
    X, y = np.repeat(np.arange(4.0), [1, 4, 10, 5])[:, None], np.zeros(20)
    folds = Folds.of(rows(X, y), 5)
    assert folds.copies.tolist() == [1, 4, 10, 5]
    assert [fold.n_test for fold in folds] == [4] * 5
    assert all({5, 15} <= set(fold.test.tolist()) and fold.test_weights.sum() == 4.0 for fold in folds)


def test_weights_without_a_unit_make_no_copies():
    weights = np.random.default_rng(0).exponential(size=50)
    folds = Folds.of(rows(np.arange(50.0)[:, None], np.zeros(50), weights), 5)
    assert set(folds.copies.tolist()) == {1}
    for fold in folds:
        assert not set(fold.test) & set(fold.train)
        assert_array_equal(fold.test_weights, weights[fold.test])


@given(st.lists(st.integers(1, 9), min_size=1, max_size=30), st.sampled_from([1.0, 0.37, 1e-12, 1e12, 7.0]))
def test_multiples_of_a_unit_are_counted(counts, unit):
    counts = np.array(counts)
    usual = np.quantile(counts, 0.25, method="lower")
    common = np.gcd.reduce(counts[counts >= usual])
    expected = np.where(counts >= usual, counts // common, 0)
    found = multiples(unit * counts)
    assert_array_equal(found[counts >= usual], expected[counts >= usual])
    assert (found >= 1).all()


def test_many_copies_of_a_few_rows_are_counted_as_they_are():
    counts = np.array([5003.0, 7001.0, 2.0**40])
    assert multiples(counts).tolist() == [5003, 7001, 2**30]
    assert multiples(counts * 0.37).tolist() == [1, 1, 1]


def test_columns_of_the_same_values_are_told_apart():
    """Rows of ones and zeros are not dealt out by the number of their ones."""
    bits = ((np.arange(256)[:, None] >> np.arange(8)) & 1).astype(np.float64)
    label = (np.random.default_rng(0).random(256) < 0.5).astype(int)
    ones = bits.sum(axis=1)
    of = np.empty(256, dtype=int)
    for k, fold in enumerate(Folds.of(rows(bits, label), 4)):
        of[fold.test] = k
    assert all(len(set(of[ones == k].tolist())) == 4 for k in (3, 4, 5))


def test_zeros_and_missing_values_have_no_signs_and_a_class_of_one_copy_no_fold():
    X = np.array([[0.0, np.nan], [-0.0, -np.nan], [1.0, 2.0], [3.0, 4.0]])
    folds = Folds.of(rows(X, [0, 0, 0, 0]), 3)
    assert folds.row.tolist() == [0, 2, 3] and folds.weights.tolist() == [2.0, 1.0, 1.0]
    folds = list(Folds.of(rows([[1.0], [2.0], [3.0], [3.0]], [0, 0, 1, 1]), 2))
    assert sorted(fold.test.tolist() for fold in folds) == [[0], [1]]
    assert all(2 in fold.train for fold in folds)
    assert not list(Folds.of(rows([[1.0], [2.0]], [0, 1]), 5))


@given(seeds)
def test_sparse_rows_have_the_folds_of_dense_ones(seed):
    X, y = table(seed, levels=2)
    stored = Rows(SparseMatrix.read(csr_array(X)), y.astype(np.uint16), np.ones(len(y)), uniform=True)
    assert held(Folds.of(stored, 5), X, y) == held(Folds.of(rows(X, y), 5), X, y)


def test_stored_zeros_are_no_rows_alike():
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[:40, 0] = 0.0
    stored = csr_array(np.ones_like(X))
    stored.data[:] = X.ravel()
    of_cells = content_digests(rows(X, np.zeros(50)), 1)
    assert are_resampled(X, of_cells, 80) and are_resampled(SparseMatrix.read(stored), of_cells, 80)


# --- draws of columns by weights --------------------------------------------------------------------------------------


STUMPS = PLAIN | {"max_leaf_nodes": 2, "min_samples_leaf": 1, "n_estimators": 2000, "random_state": 0}
WEIGHTS = [4.0, 3.0, 0.0, 1.0]


def shares(model):
    forest = getattr(model.committee_.voters, "forest", model.committee_.voters)
    roots = forest.feature[forest.offset[:-1]]
    return np.bincount(roots, minlength=4) / len(roots)


def test_one_column_is_drawn_by_its_weight():
    X, y = numbers(40)
    model = GradientBoostingRegressor(**STUMPS | {"max_features": 1}, feature_weights=WEIGHTS).fit(X, y)
    assert_allclose(shares(model), np.array(WEIGHTS) / 8.0, atol=0.035)  # three standard errors


def test_the_best_of_two_columns_is_that_of_draws_one_after_the_other():
    # the first column parts the target exactly, the others less and less
    i, y = np.arange(64), np.arange(64) // 32
    X = np.stack([y, y ^ (i % 16 == 0), y ^ (i % 8 == 0), y ^ (i % 4 == 0)], axis=1).astype(float)
    settings = STUMPS | {"max_features": 2, "learning_rate": 1e-6, "leaf_l2": 0.0}
    found = shares(GradientBoostingRegressor(**settings, feature_weights=WEIGHTS).fit(X, y))
    without_first = 3 / 8 * 1 / 5 + 1 / 8 * 3 / 7  # the second and the fourth, in both orders
    assert_allclose(found, [1.0 - without_first, without_first, 0.0, 0.0], atol=0.03)


def test_the_columns_of_a_round():
    weights = np.array([4, 3, 0, 1], dtype=np.uint32)
    draws = Draws(0, 4, 1.0, 2, False, None, feature_weights=weights)
    pairs = [tuple(draws.features_of_round(t).tolist()) for t in range(2000)]
    for pair, share in {(0, 1): 4 / 8 * 3 / 4 + 3 / 8 * 4 / 5, (1, 3): 3 / 8 * 1 / 5 + 1 / 8 * 3 / 7}.items():
        assert abs(pairs.count(pair) / 2000 - share) < 0.035
    few = Draws(0, 4, 1.0, 3, False, None, feature_weights=np.array([1, 1, 0, 0], dtype=np.uint32))
    assert few.features_of_round(0).tolist() == [0, 1]


@pytest.mark.parametrize(
    "settings",
    [{"max_features": 0.5}, {"max_features_tree": 0.5}, {"max_features_tree": 2, "max_features": 1}],
    ids=str,
)
@pytest.mark.parametrize(
    "kind", [GradientBoostingClassifier, GradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor]
)
def test_a_column_of_weight_0_is_in_no_split(kind, settings, tmp_path):
    X, z = numbers(80)
    frame, y = pd.DataFrame(X, columns=list("abcd")), z > 0.0
    model = kind(n_estimators=5, random_state=0, feature_weights={"c": 0, "a": 0.5}, **settings).fit(frame, y * 1)
    used = model.feature_importances("count")
    assert used[2] == 0.0 and (used[[0, 1, 3]] > 0.0).all()
    same = kind(n_estimators=5, random_state=0, feature_weights=[0.5, 1, 0, 1], **settings).fit(frame, y * 1)
    assert_array_equal(same.predict(frame), model.predict(frame))
    scaled = kind(n_estimators=5, random_state=0, feature_weights=np.array([2.0, 4, 0, 4]), **settings)
    assert_array_equal(scaled.fit(frame, y * 1).predict(frame), model.predict(frame))
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").feature_weights == {"c": 0, "a": 0.5}


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], "feature_weights has 2 weights; it needs one for each of the 4 columns"),
        ([1.0, -1.0, 1.0, 1.0], r"feature_weights has -1.0 for column 'b'; weights are finite numbers from 0 on"),
        ([1.0, 10**400, 1.0, 1.0], r"feature_weights has 1000+ for column 'b'; weights are finite numbers"),
        ({"a": np.nan}, "feature_weights has nan for column 'a'"),
        ({"e": 1.0}, "feature_weights names 'e', which is not a column of X"),
        ([0, 0, 0, 0], "feature_weights is 0 for every column"),
    ],
)
def test_wrong_weights(weights, message):
    X, y = numbers(30)
    frame = pd.DataFrame(X, columns=list("abcd"))
    for kind in (GradientBoostingRegressor, RandomForestRegressor):
        with pytest.raises(ValueError, match=message):
            kind(n_estimators=1, max_features=0.5, feature_weights=weights).fit(frame, y)


@pytest.mark.parametrize("kind", [TreeVoter, TreeRegressor, AdaBoostClassifier])
def test_trees_and_adaboost(kind):
    X, z = numbers(80)
    model = kind(max_depth=3, max_features=1, random_state=0, feature_weights=[0, 1, 0, 1]).fit(X, z > 0.0)
    used = model.committee_.feature_importances("count")
    assert (used[[0, 2]] == 0.0).all() and used[[1, 3]].any()


def test_model_trees_split_by_drawn_columns_and_have_lines_of_all(tmp_path):
    X, z = numbers(80)
    settings = {"max_features": 1, "min_samples_leaf": 5, "random_state": 0, "feature_weights": [0, 1, 0, 1]}
    tree = ProbitModelTreeClassifier(2, min_impurity_decrease=0, **settings).fit(X, z > 0.0)
    forests = [tree.committee_.voters.forest]
    model = SBPMTClassifier(2, 2, 2, **settings).fit(X, z > 0.0)
    forests += [member.forest for member in model.committee_.voters.members]
    split = np.unique(np.concatenate([forest.feature for forest in forests]))
    assert_array_equal(split, [-1, 1, 3])
    assert tree.feature_importances_[[0, 2]].any()  # of lines in leaves
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").feature_weights == [0, 1, 0, 1]


def test_weights_where_nothing_is_drawn():
    X, y = numbers(30)
    for kind in (GradientBoostingRegressor, TreeRegressor):
        with pytest.raises(ValueError, match="every node has all columns; set max_features, or max_features_tree"):
            kind(feature_weights=[1, 2, 3, 4]).fit(X, y)
    odd = pd.DataFrame(X, columns=[3, 2, 1, 0])
    with pytest.raises(ValueError, match="a number may mean a position or a name"):
        GradientBoostingRegressor(n_estimators=1, max_features=2, feature_weights={1: 0}).fit(odd, y)
    with pytest.raises(ValueError, match="a number may mean a position or a name"):
        TreeVoter(max_features=2, feature_weights={1: 0}).fit(odd, y > 0.0)
