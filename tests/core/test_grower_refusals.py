"""Tables, settings, labels, targets, weights and rows that both growers refuse; afterwards they grow as before."""

from typing import Any

import numpy as np
import pytest

from committee import _core
from tests.core.checked_tree import assert_same_tree

SETTINGS: dict[str, Any] = {
    "codes": np.array([[0, 1], [3, 0], [1, 2], [2, 2]], dtype=np.uint8),
    "n_bins": np.array([3, 2], dtype=np.int32),
    "categorical": np.array([0, 1], dtype=np.uint8),
    "criterion": "gini",
    "n_classes": 2,
    "max_depth": 2,
    "min_samples_leaf": 1,
    "min_weight_leaf": 0.0,
    "min_gain": 0.0,
    "max_features": 0,
    "n_threads": 1,
}
LABELS: dict[str, Any] = {
    "labels": np.array([0, 1, 1, 0], dtype=np.uint16),
    "weights": np.ones(4),
    "rows": np.array([2, 0, 1], dtype=np.int32),
    "seed": 0,
}
TARGETS: dict[str, Any] = {"targets": np.arange(1.0, 5.0), "weights": np.ones(4), "rows": None, "seed": 0}


def grower(**changes: Any) -> _core.Grower:
    return _core.Grower(**{**SETTINGS, "max_leaf_nodes": 0, **changes})


def deep_grower(**changes: Any) -> _core.DeepGrower:
    return _core.DeepGrower(**SETTINGS | changes)


both_growers = pytest.mark.parametrize("make", [grower, deep_grower])


def assert_refused(make: Any, wrong: dict[str, Any]) -> None:
    make()
    with pytest.raises(ValueError):
        make(**wrong)


def assert_not_grown(grow: Any, given: dict[str, Any], wrong: dict[str, Any], error: type = ValueError) -> None:
    before = grow(**given)
    with pytest.raises(error):
        grow(**given | wrong)
    assert_same_tree(grow(**given), before)


@both_growers
@pytest.mark.parametrize(
    "wrong",
    [
        {"codes": np.array([[0, 3], [3, 0], [1, 2], [2, 2]], dtype=np.uint8)},
        {"codes": np.array([[4, 0], [3, 0], [1, 2], [2, 2]], dtype=np.uint16)},
        {"codes": np.empty((0, 2), dtype=np.uint8)},
        {"codes": np.empty((4, 0), dtype=np.uint8)},
        {
            "codes": np.empty((4, 0), dtype=np.uint8),
            "n_bins": np.empty(0, np.int32),
            "categorical": np.empty(0, np.uint8),
        },
        {"n_bins": np.array([3], dtype=np.int32)},
        {"n_bins": np.array([3, 2, 1], dtype=np.int32)},
        {"n_bins": np.array([3, 0], dtype=np.int32)},
        {"n_bins": np.array([3, -2], dtype=np.int32)},
        {"categorical": np.array([1], dtype=np.uint8)},
        {"categorical": np.array([1, 0, 0], dtype=np.uint8)},
        {"criterion": "poisson"},
        {"criterion": ""},
        {"criterion": "abstaining"},
        {"criterion": "abstaining", "max_depth": 0},
        {"n_classes": 0},
        {"n_classes": -1},
        {"n_classes": 65_537},
        {"max_depth": -1},
        {"min_samples_leaf": 0},
        {"min_samples_leaf": -1},
        {"min_weight_leaf": -0.1},
        {"min_weight_leaf": np.nan},
        {"min_gain": -0.1, "criterion": "squared_error"},
        {"min_gain": np.nan},
        {"max_features": -1},
    ],
    ids="-".join,
)
def test_tables_and_settings(make: Any, wrong: dict[str, Any]) -> None:
    assert_refused(make, wrong)


def test_settings_of_one_grower() -> None:
    assert_refused(grower, {"max_leaf_nodes": -1})
    assert_refused(deep_grower, {"criterion": "confidence"})


@both_growers
@pytest.mark.parametrize(
    "wrong",
    [
        {"labels": np.array([0, 2, 1, 0], dtype=np.uint16)},
        {"labels": np.array([0, 65_535, 1, 0], dtype=np.uint16)},
        {"labels": np.array([0, 1, 1], dtype=np.uint16)},
        {"weights": np.ones(3)},
        {"weights": np.array([1.0, -1.0, 1.0, 1.0])},
        {"weights": np.array([1.0, np.nan, 1.0, 1.0])},
        {"weights": np.array([1.0, np.inf, 1.0, 1.0])},
        {"weights": np.array([0.0, 0.0, 0.0, 1.0])},
        {"weights": np.zeros(4)},
        {"weights": np.full(4, 1e308)},
        {"weights": np.full(4, 5e-324)},
        {"rows": np.array([0, 4], dtype=np.int32)},
        {"rows": np.array([0, -1], dtype=np.int32)},
        {"rows": np.array([0, 1, 0], dtype=np.int32)},
        {"rows": np.array([0, 1, 2, 3, 0], dtype=np.int32)},
        {"rows": np.array([], dtype=np.int32)},
    ],
    ids="-".join,
)
def test_labels_weights_and_rows(make: Any, wrong: dict[str, Any]) -> None:
    assert_not_grown(make().grow_classes, LABELS, wrong)


@pytest.mark.parametrize("shape", [(4, 2), (4, 1, 1)])
def test_weights_of_classes_are_not_for_gini(shape: tuple[int, ...]) -> None:
    assert_not_grown(grower().grow_classes, LABELS, {"weights": np.ones(shape)})


@both_growers
@pytest.mark.parametrize(
    "wrong",
    [
        {"targets": np.ones(3)},
        {"targets": np.ones((3, 2))},
        {"targets": np.ones((4, 0))},
        {"targets": np.ones((4, 1, 1))},
        {"targets": np.array([[1.0, 2.0], [1.0, 2.0], [np.nan, 2.0], [1.0, 2.0]])},
        {"targets": np.array([1.0, np.nan, 1.0, 1.0])},
        {"targets": np.array([1.0, np.inf, 1.0, 1.0])},
        {"targets": np.array([1e300, 1.0, 1.0, 1.0]), "weights": np.full(4, 1e300)},
        {"weights": np.ones(5)},
        {"weights": np.zeros(4)},
        {"weights": np.array([1.0, -1.0, 1.0, 1.0])},
        {"rows": np.array([0, 4], dtype=np.int32)},
        {"rows": np.array([1, 1], dtype=np.int32)},
    ],
    ids="-".join,
)
def test_targets(make: Any, wrong: dict[str, Any]) -> None:
    assert_not_grown(make(criterion="squared_error").grow_targets, TARGETS, wrong)


@both_growers
@pytest.mark.parametrize(
    "wrong",
    [
        {"labels": LABELS["labels"].astype(np.int64)},
        {"weights": np.ones(4, dtype=np.float32)},
        {"rows": np.array([0, 1], dtype=np.int64)},
        {"seed": -1},
    ],
    ids="-".join,
)
def test_other_types(make: Any, wrong: dict[str, Any]) -> None:
    assert_not_grown(make().grow_classes, LABELS, wrong, TypeError)


@both_growers
def test_the_criterion_decides_what_can_be_grown(make: Any) -> None:
    with pytest.raises(ValueError):
        make(criterion="squared_error").grow_classes(**LABELS)
    with pytest.raises(ValueError):
        make().grow_targets(np.ones(4), np.ones(4), None, 0)


def test_confidence_of_several_classes_needs_weights_of_each() -> None:
    three = grower(criterion="confidence", n_classes=3)
    with pytest.raises(ValueError):
        three.grow_classes(**LABELS)
    with pytest.raises(ValueError):
        three.grow_classes(**LABELS | {"weights": np.ones((4, 2))})
    three.grow_classes(**LABELS | {"weights": np.ones((4, 3))})
