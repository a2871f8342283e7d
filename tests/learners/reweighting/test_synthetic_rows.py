"""Synthetic rows between near rows."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import load_wine, make_classification
from sklearn.metrics import log_loss
from xgboost import XGBClassifier

from committee import GradientBoostingClassifier, LeafReweighter, RandomForestClassifier
from committee.data.matrices import SparseMatrix
from committee.data.table_schema import TableSchema
from committee.learners.reweighting import base_leaf_reweighter, synthetic_rows
from committee.learners.reweighting.synthetic_rows import COPIES, SyntheticRows, interpolated_rows
from tests.examples import examples


@st.composite
def tables(draw):
    """Numbers, whole numbers and categories with gaps; rows may be there several times."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.sampled_from([1, 2, 5, 40, 300]))
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 3, n), rng.integers(0, 4, n), rng.normal(size=n)])
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.2]))] = np.nan
    if draw(st.booleans()):
        X = X[rng.integers(0, n, n)]
    schema = TableSchema(("a", "b", "c", "d"), (None, None, ("p", "q", "r", "s"), None))
    return X, schema, draw(st.integers(0, 9))


@settings(max_examples=examples(15, 60), deadline=None)
@given(tables())
def test_a_synthetic_row_lies_between_two_rows_and_nearer_to_one(case):
    X, schema, seed = case
    made = interpolated_rows(X, None, schema, seed)
    different = len({row.tobytes() for row in np.where(np.isnan(X), -9.0, X)})
    assert len(made.matrix) == len(made.beside) == COPIES * different
    tests = (_is_between, _is_one_of, _is_one_of, _is_between)
    for row, beside in zip(made.matrix[::7], X[made.beside[::7]], strict=True):
        assert any(all(test(*cells) for test, *cells in zip(tests, row, beside, other, strict=True)) for other in X)


def _is_between(value, one, other):
    if np.isnan(one) or np.isnan(other):
        return _is_one_of(value, one, other)
    half = one + 0.5 * (other - one)
    return min(one, half) - 1e-12 <= value <= max(one, half) + 1e-12


def _is_one_of(value, *others):
    return any(value == other or (np.isnan(value) and np.isnan(other)) for other in others)


@settings(max_examples=40, deadline=None)
@given(tables(), st.randoms(use_true_random=False))
def test_synthetic_rows_do_not_depend_on_order_or_copies_of_rows(case, random):
    X, schema, seed = case
    made = interpolated_rows(X, None, schema, seed, 2)
    order = np.arange(len(X))
    random.shuffle(order)
    twice = np.concatenate([X[order], X[: len(X) // 2]])
    other = interpolated_rows(twice, None, schema, seed)
    assert_array_equal(other.matrix, made.matrix)
    assert_array_equal(twice[other.beside], X[made.beside])
    weight = np.ones(len(X))
    weight[: len(X) // 2] += 1.0
    assert_array_equal(interpolated_rows(X, weight, schema, seed).weight, other.weight)


def test_synthetic_rows_do_not_depend_on_column_order_or_sparsity():
    X = np.random.default_rng(0).poisson(0.5, (80, 5)) * np.random.default_rng(1).normal(size=(80, 5))
    made = interpolated_rows(X, None, None, 0)
    order = np.array([3, 0, 4, 1, 2])
    other = interpolated_rows(np.ascontiguousarray(X[:, order]), None, None, 0)
    assert_array_equal(other.matrix, made.matrix[:, order])
    stored = SparseMatrix.read(csr_array(X))
    sparse = interpolated_rows(stored, None, None, 0)
    assert_array_equal(sparse.matrix, made.matrix)
    both = sparse.below(stored)
    assert_array_equal(np.concatenate(list(both.blocks(np.arange(5)))), np.concatenate([X, made.matrix]))


def test_the_number_of_synthetic_rows_is_limited(monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 4))
    monkeypatch.setattr(synthetic_rows, "MAX_ROWS", 120)
    found = interpolated_rows(X, None, None, 0)
    assert len(found.matrix) == 120
    assert np.bincount(found.beside, minlength=50).tolist().count(2) == 30  # each has two, and some one more
    monkeypatch.setattr(synthetic_rows, "MAX_CELLS", 40)
    assert len(interpolated_rows(X, None, None, 0).matrix) == 10  # between ten rows


def test_a_cut_of_a_booster_is_nearer_to_the_whole_on_new_rows(monkeypatch):
    X, y = make_classification(1500, 12, n_informative=6, flip_y=0.1, random_state=0)
    booster = XGBClassifier(n_estimators=60, n_jobs=1).fit(X[:700], y[:700])

    def cut():
        return LeafReweighter(booster, max_nodes=1 / 3, on="train").fit(X[:700], y[:700])

    with_made = cut()
    none = SyntheticRows(np.empty((0, 12)), np.empty(0, dtype=np.intp), np.empty(0))
    monkeypatch.setattr(base_leaf_reweighter, "interpolated_rows", lambda *_: none)
    without = cut()
    new, far = (each.predict_proba(X[700:]) for each in (with_made, without))
    assert log_loss(y[700:], new) < log_loss(y[700:], far)
    whole = booster.predict_proba(X[700:])
    assert np.abs(new - whole).mean() < np.abs(far - whole).mean()


@pytest.mark.parametrize("on", ["oob", "validation"])
def test_out_of_bag_and_validation_rows_need_no_synthetic_rows(on, monkeypatch):
    monkeypatch.setattr(base_leaf_reweighter, "interpolated_rows", lambda *_: pytest.fail("rows are made"))
    X, y = load_wine(return_X_y=True)
    forest = RandomForestClassifier(20, oob_score=True, random_state=0).fit(X, y)
    LeafReweighter(forest, max_nodes=0.5, on=on, C=(1.0,), growth=(1.0,)).fit(X, y)


def test_categories_gaps_weights_and_threads():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.normal(size=300), "c": rng.choice(["x", "y", "z"], 300)})
    frame = frame.with_columns(a=pl.when(pl.Series(rng.random(300) < 0.1)).then(None).otherwise(pl.col("a")))
    y = np.where((frame["c"] == "x").to_numpy() ^ (rng.random(300) < 0.2), "yes", "no")
    weight = rng.integers(0, 3, 300).astype(float)
    booster = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(frame, y, weight)
    one, two = (
        LeafReweighter(booster, max_nodes=0.5, on="train", n_jobs=jobs).fit(frame, y, weight) for jobs in (1, 2)
    )
    assert_array_equal(one.predict_proba(frame), two.predict_proba(frame))
    left_out = LeafReweighter(booster, max_nodes=0.5, on="train")
    kept = frame.filter(pl.Series(weight > 0))
    left_out.fit(kept, y[weight > 0], weight[weight > 0])
    assert_array_equal(left_out.predict_proba(frame), one.predict_proba(frame))
