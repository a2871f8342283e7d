"""Settings and trials of gradient boosting in model files: those of a fit come back, and others are refused."""

import math
from functools import cache
from typing import Any

import pytest

from committee import GradientBoostingClassifier, GradientBoostingRegressor, load
from tests.crafted_files import craft, forget, refused, tell
from tests.golden.write import FOLDER

NAMES = ("learning_rate_", "max_leaf_nodes_", "subsample_", "max_features_", "trials_")
GOLDEN = {GradientBoostingClassifier: "gradient_trials", GradientBoostingRegressor: "gradient_trials_regressor"}
BOTH = pytest.mark.parametrize("kind", GOLDEN)


@cache
def golden(kind: Any) -> bytes:
    return (FOLDER / f"{GOLDEN[kind]}.safetensors").read_bytes()


@BOTH
def test_the_chosen_settings_come_back(kind, tmp_path):
    model = load(FOLDER / f"{GOLDEN[kind]}.safetensors")
    assert type(model) is kind and len(model.trials_["loss"]) >= 2
    model.save(tmp_path / "again")
    assert all(getattr(load(tmp_path / "again"), name) == getattr(model, name) for name in NAMES)


@BOTH
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("learning_rate_", value) for value in (0.0, -0.1, {"float": "nan"}, {"float": "inf"}, True, "0.1", None)),
        *(("max_leaf_nodes_", value) for value in (-1, 1, 2**31, 7.0, True, None)),
        *(("subsample_", value) for value in (0.0, 1.5, {"float": "nan"}, True, None)),
        *(("max_features_", value) for value in (-1, 1000, 2.0, False, None)),
    ],
)
def test_settings_that_no_fit_chooses_are_refused(kind, name, value, tmp_path):
    change = tell("attributes", name, value=value)
    refused(tmp_path / "model", craft(golden(kind), change), f"{name} is .*, which no fit chooses")


def changed_trials(name: str, values: Any) -> Any:
    def change(document: dict[str, Any], _: Any) -> None:
        pairs = document["model"]["attributes"]["trials_"]["dict"]
        at = next(k for k, (key, _) in enumerate(pairs) if key == name)
        if values is None:
            del pairs[at]
        else:
            pairs[at][1] = values

    return change


@BOTH
@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("loss", None, "trials_ must be null, or lists named max_leaf_nodes, subsample"),
        ("loss", {"tuple": [0.1]}, "trials_ must be null, or lists named"),
        ("loss", {"list": []}, "lists of different lengths"),
        ("loss", {"list": [0.1] * 40}, "lists of different lengths"),
        ("max_leaf_nodes", -3, "trials_ holds -3 in 'max_leaf_nodes', which no trial has"),
        ("subsample", 0.0, "trials_ holds 0.0 in 'subsample'"),
        ("max_features", 900, "trials_ holds 900 in 'max_features'"),
        ("rounds", 0.0, "trials_ holds 0.0 in 'rounds'"),
        ("gain", "much", "trials_ holds 'much' in 'gain'"),
    ],
)
def test_trials_that_no_fit_makes_are_refused(kind, name, values, message, tmp_path):
    n = len(load(FOLDER / f"{GOLDEN[kind]}.safetensors").trials_["loss"])
    values = values if values is None or isinstance(values, dict) else {"list": [values] * n}
    refused(tmp_path / "model", craft(golden(kind), changed_trials(name, values)), message)


@BOTH
def test_fits_without_trials_and_earlier_files_load(kind, tmp_path):
    for change in (tell("attributes", "trials_", value=None), *(forget("attributes", name) for name in NAMES)):
        (tmp_path / "model").write_bytes(craft(golden(kind), change))
        assert math.isfinite(getattr(load(tmp_path / "model"), "learning_rate_", 0.1))
