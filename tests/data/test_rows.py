"""Row weights as counts or ratios, and class weights compared with scikit-learn."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.class_weight import compute_class_weight

from committee.data.rows import (
    MOST_COUNTED,
    ClassWeights,
    balanced_class_factors,
    checked_weights,
    counts_rows,
    inner_weights,
    row_weights,
    weighted_by_class,
)

LABELS = np.array(["a", "b", "b", "c", "b", "c"])
COUNTS = st.lists(st.integers(0, 30), min_size=1, max_size=20).filter(any)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_balanced_is_that_of_scikit_learn(labels):
    y = np.array(labels)
    ours = ClassWeights.of("balanced", y, np.ones(len(y)))
    assert_array_equal(ours.classes, np.unique(y))
    assert_array_equal(ours.factors, compute_class_weight("balanced", classes=np.unique(y), y=y))


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1).filter(lambda rows: any(w for _, w in rows))
)
def test_weights_of_integers_are_repeated_rows(rows):
    y, times = np.array(rows).T
    whole = ClassWeights.of("balanced", np.repeat(y, times), np.ones(times.sum()))
    weighted = ClassWeights.of("balanced", y, times.astype(float))
    assert_array_equal(weighted.classes, whole.classes)
    assert_array_equal(weighted.factors, whole.factors)


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=5))
def test_balanced_classes_weigh_alike_and_as_much_as_before(weights):
    totals = np.array(weights)
    balanced = totals * balanced_class_factors(totals)
    assert_allclose(balanced, totals.sum() / len(totals))


@given(COUNTS)
def test_small_whole_weights_are_counts_and_large_ones_are_ratios(counts):
    weights = np.array(counts, dtype=float)
    mean = weights[weights > 0].mean()
    if mean <= MOST_COUNTED:
        assert_array_equal(row_weights(weights, weights), weights)
    else:
        with pytest.warns(UserWarning, match="whole numbers with a mean of .* Only their ratios are used"):
            scaled = row_weights(weights, weights)
        assert_allclose(scaled, weights / mean, rtol=1e-15)


@given(COUNTS, st.floats(1e-290, 1e290).filter(lambda factor: factor % 1.0))
def test_only_ratios_of_other_weights_matter(counts, factor):
    weights = np.array(counts) * factor
    assume((weights % 1.0).any())
    counted = weights > 0
    scaled = row_weights(weights, weights)
    assert_allclose(scaled, weights / (weights[counted] / counted.sum()).sum(), rtol=1e-14)
    assert_array_equal(row_weights(2.0**-30 * weights, weights), scaled)
    assert_array_equal(row_weights(scaled, weights), scaled)
    order = np.random.default_rng(0).permutation(len(weights))
    assert_array_equal(row_weights(weights[order], weights), scaled[order])
    assert_array_equal(row_weights(weights[counted], weights[counted]), scaled[counted])


@given(COUNTS, st.sampled_from([1.0, 0.7, 40.0]))
def test_weights_of_a_fit_inside_a_fit_are_used_as_they_are(counts, factor):
    weights = np.array(counts) * factor
    inner = pickle.loads(pickle.dumps(inner_weights(weights)))
    assert_array_equal(row_weights(inner[::-1], weights), weights[::-1])
    assert type(row_weights(inner, weights)) is np.ndarray
    product = weighted_by_class(checked_weights(inner, weights), np.full(len(weights), 3.0))
    assert_allclose(product, weights, rtol=1e-12)


@given(COUNTS, st.lists(st.sampled_from([0.3, 1.0, 2.0, 1e-6]), min_size=20, max_size=20))
def test_weights_of_classes_leave_the_number_of_counted_rows(counts, factors):
    weights, factors = np.array(counts, dtype=float), np.array(factors[: len(counts)])
    product = weighted_by_class(weights, factors)
    assert product.sum() == pytest.approx(weights.sum() if counts_rows(weights) else (weights > 0).sum())
    assert_allclose(product / product.sum(), weights * factors / (weights * factors).sum(), rtol=1e-12)


def test_a_class_without_weight_is_none():
    weights = np.array([1.0, 2.0, 0.0, 0.0, 1e-200, 0.0])
    balanced = ClassWeights.of("balanced", LABELS, weights)
    assert balanced.classes.tolist() == ["a", "b"]
    assert_array_equal(balanced.factors, [1.5, 0.75])
    assert_array_equal(balanced.of_rows(LABELS), [1.5, 0.75, 0.75, 1.0, 0.75, 1.0])
    assert balanced_class_factors(np.array([2.0, 0.0, 2.0])).tolist() == [1.0, 0.0, 1.0]


def test_a_dict_gives_factors_by_label():
    some = ClassWeights.of({"c": 3, "a": np.float32(0.5)}, LABELS, np.ones(6))
    assert some.factors.tolist() == [0.5, 1.0, 3.0]
    numbers = ClassWeights.of({np.int64(7): 2, 3.0: 4}, np.array([3, 7, 9]), np.ones(3))
    assert numbers.factors.tolist() == [4.0, 2.0, 1.0]
    objects = ClassWeights.of({"a": 2.0}, LABELS.astype(object), np.ones(6))
    assert objects.of_rows(LABELS.astype(object)).tolist() == [2.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert ClassWeights.of({}, LABELS, np.ones(6)).factors.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"d": 1.0}, r"class_weight has the key 'd', which is not a class of y's rows with weight, \['a', 'b', 'c'\]"),
        ({0: 1.0}, "class_weight has the key 0, which is not a class"),
        ({"a": 0}, r"class_weight\['a'\] is 0; it must be a finite number above 0"),
        ({"a": -1.0}, r"class_weight\['a'\] is -1.0"),
        ({"a": np.nan}, r"class_weight\['a'\] is nan"),
        ({"a": np.inf}, r"class_weight\['a'\] is inf"),
        ({"a": True}, r"class_weight\['a'\] is True"),
        ({"a": "2"}, r"class_weight\['a'\] is '2'"),
        ({"a": None}, r"class_weight\['a'\] is None"),
    ],
)
def test_what_is_no_class_or_no_weight_is_refused(choice, message):
    with pytest.raises(ValueError, match=message):
        ClassWeights.of(choice, LABELS, np.ones(6))
