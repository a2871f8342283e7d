import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_array_equal

from committee.data.rows import Rows, TargetRows
from committee.learners.base.row_units import MOST_UNITS, RowUnits

seeds = st.integers(0, 2**32 - 1)


def few_values(seed: int, n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, 3)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, rng.integers(0, 2, n).astype(np.uint16)


def weighted(X, labels, w):
    return Rows(X, labels, w, uniform=False)


def repeated(X, labels, w, order):
    rows = np.repeat(np.arange(len(X)), w.astype(int))[order]
    return rows, Rows(X[rows], labels[rows], np.ones(len(rows)), uniform=True)


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
    order = rng.permutation(int(w.sum()))
    heavy = RowUnits.of(weighted(X, labels, w), 7, 1)
    rows, again = repeated(X, labels, w, order)
    many = RowUnits.of(again, 7, 1)
    for choose in (
        lambda units, y: units.drawn(share, 3),
        lambda units, y: units.held_out(share, y),
        lambda units, y: units.parts(4, y) == 2,
        lambda units, y: units.drawn(share, 3, ~units.held_out(0.3, y)),
    ):
        one, other = choose(heavy, labels), choose(many, again.labels)
        if one is None:
            assert other is None
            continue
        chosen, weights = heavy.rows_of(one)
        chosen_too, none = many.rows_of(other)
        assert weights is not None and none is None
        first = content(X, labels, chosen, weights[chosen])
        second = content(X, labels, rows[chosen_too])
        assert_array_equal(first[0], second[0])
        assert_array_equal(first[1], second[1])


@given(seeds)
def test_parts_have_equal_sizes_and_classes(seed):
    X, labels = few_values(seed)
    labels[0] = 2  # a class of one row
    units = RowUnits.of(Rows(X, labels, np.ones(len(X)), uniform=True), seed, 1)
    part = units.parts(4, labels)
    assert part[0] == -1
    for k in (0, 1):
        sizes = np.bincount(part[labels == k], minlength=4)
        assert sizes.max() - sizes.min() <= 1


def test_held_out_leaves_one_of_each_class():
    X = np.arange(6.0)[:, None]
    labels = np.array([0, 0, 0, 0, 0, 1], dtype=np.uint16)
    rows = Rows(X, labels, np.ones(6), uniform=True)
    held = RowUnits.of(rows, 0, 1).held_out(0.9, labels)
    assert held is not None
    assert held.sum() == 4 and not held[5]
    assert RowUnits.of(rows, 0, 1).held_out(0.05, labels) is None


def test_shares_are_those_asked_for_and_draws_differ():
    rng = np.random.default_rng(0)
    rows = TargetRows(rng.normal(size=(20_000, 2)), rng.normal(size=20_000), np.ones(20_000), uniform=True)
    units = RowUnits.of(rows, 0, 1)
    draws = np.array([units.drawn(0.3, t) for t in range(20)])
    assert abs(draws.mean() - 0.3) < 0.005
    together = (draws[:-1] & draws[1:]).mean()
    assert abs(together - 0.09) < 0.005  # one draw says nothing about the next
    assert RowUnits.of(rows, 0, 1).drawn(1e-12, 0).sum() == 1


@pytest.mark.parametrize("weight", [0.25, 2.5, 1000.0, 1e12])
def test_units_add_up_to_the_weight(weight):
    rows = TargetRows(np.arange(3.0)[:, None], np.zeros(3), np.array([weight, 1.0, weight]), uniform=False)
    units = RowUnits.of(rows, 0, 1)
    assert units.weight is not None
    np.testing.assert_allclose(np.bincount(units.row, units.weight), rows.weights, rtol=1e-12)
    assert np.bincount(units.row).max() <= MOST_UNITS
    assert (units.weight > 0.0).all()
