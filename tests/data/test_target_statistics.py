"""Numbers for the levels of a column: cross-fitted, shrunk, and by the rows' contents alone."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from committee.data.categories import MAX_SUBSET_CATEGORIES
from committee.data.rows import Rows, TargetRows
from committee.data.table_schema import TableSchema
from committee.data.target_statistics import N_FOLDS, HighCardinality
from tests.oracles.bins import first_axis, shrunk_means


def table_of(n: int, k: int, n_classes: int = 2, seed: int = 0, effect: float = 2.0) -> tuple[pd.DataFrame, np.ndarray]:
    """A column of k levels, of which the classes depend, and one of numbers."""
    rng = np.random.default_rng(seed)
    level = rng.integers(k, size=n)
    score = effect * rng.normal(size=(k, n_classes))[level] + rng.gumbel(size=(n, n_classes))
    frame = pd.DataFrame({"size": rng.normal(size=n), "town": [f"town {each}" for each in level]})
    return frame, score.argmax(axis=1).astype(np.uint16)


def rows_of(
    frame: pd.DataFrame, y: np.ndarray, weights: np.ndarray | None = None
) -> tuple[Rows | TargetRows, TableSchema]:
    """Rows of classes (uint16) or of numbers to predict, with target statistics."""
    table = TableSchema.learn(frame)
    X = table.encode(frame)
    weights = np.ones(len(X)) if weights is None else weights
    kept = weights > 0
    levels = HighCardinality.of_table(X[kept], table, 255, "statistic")
    kind = Rows if y.dtype == np.uint16 else TargetRows
    return kind(X[kept], y[kept], weights[kept], uniform=False, levels=levels).with_numbers(table)


def folds_and_codes(rows: Rows | TargetRows) -> tuple[list[int], list[int]]:
    return rows.levels.fold.tolist(), rows.levels.codes[:, 0].tolist()


def assert_numbers_of_the_oracle(
    rows: Rows | TargetRows, table: TableSchema, target: np.ndarray, **near: float
) -> None:
    fold, codes = folds_and_codes(rows)
    seen, of_level = shrunk_means(codes, fold, target, np.ones(300))
    assert_allclose(rows.X[:, 1], seen, **near)
    assert_allclose(table.values[1].values, [of_level[c] for c in range(30)], **near)


def test_few_levels_stay_codes():
    frame, y = table_of(200, MAX_SUBSET_CATEGORIES)
    rows, table = rows_of(frame, y)
    assert rows.levels is None
    assert table.n_categories.tolist() == [0, MAX_SUBSET_CATEGORIES]
    # fewer bins than levels
    assert HighCardinality.of_table(table.encode(frame), table, MAX_SUBSET_CATEGORIES - 1, "").columns == (1,)


def test_levels_without_rows_do_not_count():
    frame, y = table_of(300, 40)
    frame["town"] = frame["town"].where(np.arange(300) < 150, "town 0")
    weights = np.ones(300)
    weights[(frame["town"].factorize()[0] >= MAX_SUBSET_CATEGORIES)] = 0.0
    rows, table = rows_of(frame, y, weights)
    assert rows.levels is None
    assert table.values == ()


@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_those_of_the_oracle(seed):
    frame, y = table_of(300, 30, seed=seed)
    rows, table = rows_of(frame, y)
    assert_numbers_of_the_oracle(rows, table, y.astype(float), rtol=1e-10)
    assert table.values[1].unknown == y.mean()
    assert_array_equal(table.encode(frame)[:, 1], np.array(table.values[1].values)[rows.levels.codes[:, 0]])
    rng = np.random.default_rng(5 + seed)
    target = rng.normal(size=30)[frame["town"].factorize()[0]] + rng.normal(size=300)
    assert_numbers_of_the_oracle(*rows_of(frame, target), target, rtol=1e-6)


def targets_of(frame: pd.DataFrame, seed: int, effect: float = 1.0) -> np.ndarray:
    """Three targets, two of which depend on the levels; whole numbers, so that sums are exact."""
    rng = np.random.default_rng(seed)
    of_level = np.outer(rng.normal(size=len(frame)), [1.0, -2.0, 0.0])
    return np.rint(20 * (effect * of_level[frame["town"].factorize(sort=True)[0]] + rng.normal(size=(len(frame), 3))))


@pytest.mark.parametrize("seed", range(3))
def test_several_targets_stand_on_their_first_axis(seed):
    frame, _ = table_of(300, 30, seed=seed)
    Y = targets_of(frame, seed)
    rows, table = rows_of(frame, Y)
    assert_allclose(rows.scale, Y.std(axis=0), rtol=0.03)
    fold, codes = folds_and_codes(rows)
    axis = first_axis(codes, fold, Y / rows.scale, np.ones(300))
    assert abs(axis @ [1.0, -1.0, 0.0]) > 0.9 * np.sqrt(2.0)
    assert_numbers_of_the_oracle(rows, table, Y / rows.scale @ axis, rtol=1e-5, atol=1e-6)


def test_a_target_twice_is_that_target():
    frame, _ = table_of(300, 30)
    y = targets_of(frame, 0)[:, 0]
    (one, _), (two, _) = rows_of(frame, y), rows_of(frame, np.column_stack([y, y]))
    assert_allclose(two.X[:, 1], np.sqrt(2.0) * one.X[:, 1] / two.scale[0], rtol=1e-6)


def test_missing_cells_stay_missing_and_new_levels_are_all_rows_together():
    frame, y = table_of(300, 30)
    frame.loc[::7, "town"] = None
    rows, table = rows_of(frame, y)
    assert_array_equal(np.isnan(rows.X[:, 1]), frame["town"].isna())
    values = table.values[1]
    new = table.encode(pd.DataFrame({"size": [0.0, 0.0], "town": ["nowhere", None]}))
    assert_array_equal(new[:, 1], [values.unknown, np.nan])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("target", ["2 classes", "3 classes", "10 classes", "2 numbers", "6 numbers"])
@pytest.mark.parametrize("k", [20, 250, 2000])
def test_levels_that_say_nothing_have_one_number(target, k):
    n, kind = target.split()
    found = []
    for seed in range(8):
        frame, y = table_of(1500, k, int(n), seed, effect=0.0)
        y = y if kind == "classes" else np.random.default_rng(seed + 100).normal(size=(1500, int(n)))
        rows, _ = rows_of(frame, y)
        found.append(len(np.unique(rows.X[:, 1])))
    assert np.median(found) == 1
    assert sum(each > 1 for each in found) <= 2  # two standard errors: one of 40


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_levels_that_say_something_are_told_apart(n_classes):
    frame, y = table_of(2000, 100, n_classes)
    numbers = rows_of(frame, y)[0].X[:, 1]
    assert np.ptp([numbers[y == c].mean() for c in range(n_classes)]) > 0.5 * numbers.std()


def test_a_table_of_levels_alone():
    frame, y = table_of(500, 25)
    rows, table = rows_of(frame[["town"]], y)
    rate = frame.assign(y=y).groupby("town")["y"].transform("mean")
    assert_allclose(rows.X[:, 0], rate, atol=1e-15)
    assert_allclose(table.encode(frame[["town"]])[:, 0], rate, atol=1e-15)


small = st.tuples(st.integers(0, 10_000), st.sampled_from([2, 3, 4]))


@settings(max_examples=25, deadline=None)
@given(small)
def test_integer_weights_are_repeated_rows(drawn):
    seed, n_classes = drawn
    frame, y = table_of(150, 25, n_classes, seed)
    counts = np.random.default_rng(seed).integers(0, 4, size=150)
    weighted, by_weights = rows_of(frame, y, counts.astype(float))
    again = np.repeat(np.arange(150), counts)
    repeated, by_repeats = rows_of(frame.iloc[again], y[again])
    if weighted.levels is None:  # fewer levels have weight
        assert repeated.levels is None
        return
    assert_array_equal(np.repeat(weighted.X[:, 1], counts[counts > 0]), repeated.X[:, 1])
    assert_array_equal(by_weights.encode(frame)[counts > 0], by_repeats.encode(frame)[counts > 0])


@settings(max_examples=25, deadline=None)
@given(small)
def test_order_of_rows_and_columns_and_scale_of_weights_do_not_matter(drawn):
    seed, n_classes = drawn
    frame, y = table_of(150, 25, n_classes, seed)
    order = np.random.default_rng(seed).permutation(150)
    rows, table = rows_of(frame, y)
    shuffled, by_shuffled = rows_of(frame.iloc[order, ::-1], y[order])
    assert_array_equal(rows.X[order], shuffled.X[:, ::-1])
    assert_array_equal(table.encode(frame), by_shuffled.encode(frame.iloc[:, ::-1])[:, ::-1])
    scaled, _ = rows_of(frame, y, np.full(150, 8.0))
    assert_array_equal(rows.X, scaled.X)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_several_targets_do_not_hang_on_the_order_of_rows_or_on_how_they_are_repeated(seed):
    frame, _ = table_of(150, 25, 2, seed)
    Y = targets_of(frame, seed)
    counts = np.random.default_rng(seed).integers(1, 4, size=150)
    rows, table = rows_of(frame, Y, counts.astype(float))
    again = np.random.default_rng(seed + 1).permutation(np.repeat(np.arange(150), counts))
    repeated, by_repeats = rows_of(frame.iloc[again], Y[again], np.ones(len(again)))
    assert_array_equal(rows.X[again], repeated.X)
    assert_array_equal(table.encode(frame), by_repeats.encode(frame))


@settings(max_examples=25, deadline=None)
@given(small)
def test_rows_of_a_fold_have_no_part_in_their_numbers(drawn):
    """Labels exchanged among the rows of one level and fold, which have one number, change no number."""
    seed, n_classes = drawn
    frame, y = table_of(150, 20, n_classes, seed)
    rows, table = rows_of(frame, y)
    if rows.levels is None:
        return
    cell = rows.levels.codes[:, 0] * N_FOLDS + rows.levels.fold
    other = y.copy()
    for each in np.unique(cell):
        other[cell == each] = y[cell == each][::-1]
        assert len(np.unique(rows.X[cell == each, 1])) == 1
    exchanged, by_exchanged = rows_of(frame, other)
    assert_array_equal(rows.X, exchanged.X)
    assert by_exchanged == table
