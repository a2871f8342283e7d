"""Rows whose weights or targets are far apart: both growers find the same splits, in any unit of weight."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.core.cases import Case
from tests.oracles import grow as oracle


def stumps(codes: NDArray[Any], n_bins: list[int], kind: str, answers: NDArray[Any], weights: NDArray[Any]) -> Any:
    """Of `Grower` and of `DeepGrower`."""
    case = Case(
        kind=kind,
        codes=np.ascontiguousarray(codes.astype(np.uint8)),
        n_bins=np.array(n_bins, np.int32),
        categorical=np.zeros(len(n_bins), np.uint8),
        labels=(answers > 0).astype(np.uint16),
        n_classes=2,
        targets=answers.astype(np.float64),
        weights=weights,
    )
    limits = oracle.Limits(max_depth=1)
    return [case.grow_with(grower) for grower in (case.grower(limits), case.deep_grower(limits))]


def split(tree: Any) -> tuple[int, int, int]:
    return int(tree.feature[0]), int(tree.bin[0]), int(tree.missing_left[0])


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_the_unit_of_weight_changes_no_split(criterion, seed):
    """Sums of weights that add up to just under a power of two, a side that weighs some 1e-16 of them."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([256, 300, 512, 777, 1024]))
    margin = rng.random(n) * 37.0
    weights = np.exp(-margin)
    weights /= weights.sum()
    column = margin + 0.2 * rng.normal(size=n)  # light rows are at one end
    codes = (np.argsort(np.argsort(column)) * 200 // n)[:, None]
    answers = np.where(rng.random(n) < 0.5, -1.0, 1.0) if criterion == "squared_error" else rng.integers(0, 2, n)
    shallow, deep = stumps(codes, [200], criterion, answers, weights)
    others = stumps(codes, [200], criterion, answers, 0.75 * weights)
    assert {split(tree) for tree in (shallow, deep, *others)} == {split(shallow)}
    assert shallow.feature[0] == 0


@pytest.mark.parametrize(("size", "weight"), [(1.0, 1.0), (1e-150, 1.0), (1e-158, 1.0), (1e100, 1e100), (1e150, 1e3)])
def test_gains_near_the_ends_of_numbers(size, weight):
    codes, answers = np.array([[0], [0], [1], [1]]), size * np.array([-1.0, -1.0, 1.0, 1.0])
    for tree in stumps(codes, [2], "squared_error", answers, np.full(4, weight)):
        assert split(tree) == (0, 0, 0)


@pytest.mark.parametrize("light", [1e-17, 1e-12, 1e-8])
def test_a_light_row_far_out(light):
    codes, answers = np.array([[0, 0], [1, 0], [1, 1]]), np.array([-1.0, 1.0, light**-0.5 * 3.0])
    shallow, deep = stumps(codes, [2, 2], "squared_error", answers, np.array([1.0, 1.0, light]))
    assert split(shallow) == split(deep) == (1, 0, 1)  # what is missing follows the heavier side


@pytest.mark.parametrize("seed", range(60))
def test_few_rows_of_weights_far_apart(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    weights = np.exp(14.0 * rng.normal(size=n))
    answers = rng.normal(size=n) * weights**-0.5
    shallow, deep = stumps(rng.integers(0, 5, (n, 4)), [5] * 4, "squared_error", answers, weights)
    assert split(shallow) == split(deep)


@pytest.mark.parametrize("n_between", [8, 12, 25, 40])
@pytest.mark.parametrize("light", [0.3e-10, 0.45e-10, 0.9e-10])
def test_a_bin_without_rows_changes_no_chain_of_ties(n_between, light):
    """Gains rise by less than a tie from bin to bin; missing values alone are on the left of an unused bin in front."""
    weights = np.r_[1.0, np.full(n_between, light), 1.0]
    labels = np.r_[0, np.zeros(n_between), 1]
    codes = np.arange(n_between + 2)[:, None]  # the last is missing
    shallow, deep = stumps(codes, [n_between + 1], "gini", labels, weights)
    expected = split(shallow)
    assert expected == split(deep)
    for tree in stumps(codes + 1, [n_between + 2], "gini", labels, weights):
        assert split(tree) == (expected[0], expected[1] + 1, expected[2])
