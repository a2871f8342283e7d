"""Models of rows in pieces have the bits of models of the whole table."""

import pickle
import warnings

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.base import clone

import committee
from committee import scan
from committee.data.bins import Bins
from committee.data.out_of_core.table_summary import TableSummary
from committee.data.table_schema import TableSchema
from tests.pieced_cases import cut, ends_of_pieces, sampled, saved, table, weights_of

BOOSTING = {"n_estimators": 4, "learning_rate": 0.3, "min_samples_leaf": 2, "max_leaf_nodes": 6, "random_state": 0}
MODELS = {
    "boosting": committee.GradientBoostingClassifier(**BOOSTING),
    "boosting, few bins": committee.GradientBoostingClassifier(**BOOSTING, max_bins=5, subsample=1.0),
    "boosting, stopped early": committee.GradientBoostingClassifier(
        **BOOSTING, early_stopping=True, validation_fraction=0.3, class_weight="balanced"
    ),
    "boosted numbers": committee.GradientBoostingRegressor(**BOOSTING),
    "boosted numbers, constant leaves": committee.GradientBoostingRegressor(**BOOSTING, leaf="constant"),
    "forest": committee.RandomForestClassifier(n_estimators=4, random_state=0, oob_score=True),
    "forest of numbers": committee.RandomForestRegressor(n_estimators=4, random_state=0),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=25, deadline=None)
@given(
    st.data(),
    st.integers(12, 150),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["array", "frame", "many levels"]),
    st.sampled_from(["none", "whole", "tiny"]),
    st.sampled_from([10, 40, 1000]),
)
def test_models_of_pieces_have_the_bits_of_models_in_memory(name, data, n, seed, kind, weighted, most):
    X, weights, rng = table(n, seed, kind), weights_of(n, seed, weighted), np.random.default_rng(seed)
    y = rng.normal(size=n) if "numbers" in name else np.where(rng.random(n) < 0.5, "no", "yes")
    if "numbers" not in name:
        y[0], y[n - 1] = "no", "seen last"
    limit = data.draw(st.sampled_from([None, 1]))
    with sampled(most), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = clone(MODELS[name]).fit(X, y, weights)
        pieces = scan(cut(data.draw(ends_of_pieces(n)), X, y, weights), memory_limit=limit)
        found = clone(MODELS[name]).fit(pieces)
        assert saved(found) == saved(whole)
        assert found.table_ == whole.table_
        again = scan(cut(data.draw(ends_of_pieces(n)), X))
        np.testing.assert_array_equal(found.predict(again), whole.predict(X))


@settings(max_examples=40, deadline=None)
@given(
    st.data(),
    st.integers(4, 80),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["array", "frame"]),
    st.sampled_from([3, 20, 1000]),
)
def test_looks_at_shares_of_a_table_merge_in_any_order(data, n, seed, kind, most):
    X = table(n, seed, kind)
    ends = data.draw(ends_of_pieces(n))
    with sampled(most):
        whole, looks = TableSummary(), []
        whole.add(X)
        for first, piece in zip([0, *ends[:-1]], cut(ends, X), strict=True):
            looks.append(TableSummary())
            looks[-1].add(piece, first)
        merged = TableSummary()
        for one in data.draw(st.permutations(looks)):
            merged = pickle.loads(pickle.dumps(merged.merged(one)))
        assert merged.schema == whole.schema == TableSchema.learn(X)
        expected = Bins.learn(whole.schema.encode(X), None, whole.schema.n_categories, 20)
        for look in (whole, merged):
            edges, offset = look.edges(20, None)
            np.testing.assert_array_equal(edges, expected.edges)
            np.testing.assert_array_equal(offset, expected.offset)
