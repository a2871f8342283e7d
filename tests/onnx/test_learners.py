"""Every kind of model, as a runtime of ONNX answers and as the library does."""

from typing import Any

import numpy as np
import pytest

import committee
from tests.golden.write import FOLDER, MODELS
from tests.onnx.parity import REFUSED, asked, assert_same, awkward_rows


def golden(name: str) -> Any:
    return committee.load(FOLDER / f"{name}.safetensors")


@pytest.mark.parametrize("name", sorted(MODELS.keys() - REFUSED))
def test_a_runtime_answers_the_same(name: str) -> None:
    model = golden(name)
    X = awkward_rows(model, 300, np.random.default_rng(len(name)))
    assert_same(asked(committee.to_onnx(model), X), model, X)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_has_no_nodes_is_refused_by_name(name: str) -> None:
    with pytest.raises(TypeError, match=r"sampled paths .* set classify to 'expected'|Conformal\w+ .* estimator_"):
        committee.to_onnx(golden(name))


@pytest.mark.parametrize("name", ["forest_regressor", "forest_oob", "committee_two"])
def test_single_precision_comes_to_the_same_leaves(name: str) -> None:
    model = golden(name)
    if model.table_.names is not None or any(model.table_.categories):
        pytest.fail(f"{name} is meant to be a model of a matrix of numbers")
    X = awkward_rows(model, 300, np.random.default_rng(0))
    X = np.clip(X, -1e30, 1e30).astype(np.float32)
    answers = asked(committee.to_onnx(model, dtype="float32"), X)
    assert all(answer.dtype == np.float32 for name, answer in answers.items() if name != "label")
    assert_same(answers, model, X.astype(np.float64), close=1e-6)
