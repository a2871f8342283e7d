"""The soft margin of many rows is that of one dense program, with row weights that prove it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from committee import LPBoostClassifier
from committee.objectives.margins.many_rows import ManyRows, distinct_lines, opposite_voters
from committee.objectives.programs.soft_margin import SoftMarginLP
from tests.examples import examples
from tests.oracles.margins import primal_program

MANY = "committee.learners.margin_boosting.lpboost.MANY_ROWS"


@settings(max_examples=examples(15, 200))
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.02, 0.2, 0.5, 0.9, 1.0]),
    st.sampled_from([0.45, 0.5, 0.7]),
    st.booleans(),
)
def test_value_and_bound_are_those_of_one_dense_program(seed, nu, right, complements):
    rng = np.random.default_rng(seed)
    n, T = int(rng.integers(1, 200)), int(rng.integers(1, 8))
    S = np.where(rng.random((n, T)) < right, 1, -1).astype(np.int8)
    if complements:
        S = np.concatenate([S, -S], axis=1)
    w = rng.choice([0.01, 1.0, 2.0, 3.0], n)
    program = ManyRows(w, nu)
    first = max(1, T // 2)
    program.add_voters(S[:, :first])
    program.solve()
    if first < S.shape[1]:
        program.add_voters(S[:, first:])
    found = program.solve()
    value, _ = primal_program(S.astype(float), nu, w / w.sum())
    assert_allclose([found.value, found.bound], value, rtol=0, atol=1e-8)
    cap = w / w.sum() / nu
    assert_allclose(found.row_weights.sum(), 1.0)
    assert found.row_weights.min() >= 0.0 and (found.row_weights <= cap * (1 + 1e-9)).all()
    assert_allclose(found.margins, S @ found.weights)
    assert_allclose(found.weights.sum(), 1.0)


def test_without_a_margin_two_opposite_voters_are_the_vote():
    rng = np.random.default_rng(0)
    S = rng.choice([-1, 1], (400, 5)).astype(np.int8)
    program = ManyRows(np.ones(400), 0.3)
    program.add_voters(np.concatenate([S, -S], axis=1))
    found = program.solve()
    assert_array_equal(np.sort(found.weights)[-2:], 0.5)
    assert_array_equal(found.margins, 0.0)
    assert found.bound <= 1e-10
    assert opposite_voters(S) is None


def test_equal_rows_are_one():
    S = np.array([[1, -1], [1, 1], [1, -1], [-1, 1]], dtype=np.int8)
    first, twin = distinct_lines(S)
    assert len(first) == 3
    assert_array_equal(S[first][twin], S)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_fit_has_the_same_soft_margins_in_both_ways(n_classes, monkeypatch):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(300, 4))
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=300), [0.0, 0.8][: n_classes - 1])
    weights = rng.choice([0.0, 1.0, 2.0], 300)
    program = LPBoostClassifier(calibrate=None).fit(X, y, weights)
    monkeypatch.setattr(MANY, 1)
    rows = LPBoostClassifier(calibrate=None).fit(X, y, weights)
    assert_allclose(rows.soft_margin_, program.soft_margin_, rtol=0, atol=1e-8)
    assert rows.duality_gap_.max() < 1e-6
    repeated = np.repeat(np.arange(300), weights.astype(int))
    again = LPBoostClassifier(calibrate=None).fit(X[repeated], y[repeated])
    assert_allclose(again.soft_margin_, rows.soft_margin_, rtol=0, atol=1e-8)


def test_it_agrees_with_the_simplex_method_on_real_valued_row_weights():
    rng = np.random.default_rng(3)
    S, w = np.where(rng.random((500, 30)) < 0.6, 1, -1).astype(np.int8), rng.uniform(0.1, 1.0, 500)
    programs = SoftMarginLP(w, 0.4), ManyRows(w, 0.4)
    for each in programs:
        each.add_voters(S)
    one, other = (each.solve() for each in programs)
    assert_allclose([other.value, other.rho], [one.value, one.rho], rtol=0, atol=1e-9)
