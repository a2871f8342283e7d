"""Interactions of trees against Shapley's interaction index by its definition."""

from typing import Any

from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal

from committee import _core
from tests.core.test_tree_shap import cases
from tests.oracles import tree_shap


@settings(max_examples=40, deadline=None)
@given(cases())
def test_they_are_halves_of_the_interaction_index(case: Any) -> None:
    forest, value, X, weights, outputs = case
    arguments = (X, *forest.walk_arrays, forest.weight, value, weights, outputs)
    above = _core.tree_interactions(*arguments, 1)
    expected = tree_shap.interactions(forest, value, X, weights, outputs)
    assert_allclose(above + above.swapaxes(1, 2), expected, rtol=1e-9, atol=1e-10)
    assert_array_equal(_core.tree_interactions(*arguments, 3), above)
