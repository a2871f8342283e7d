"""LightGBM's linear trees: the original's predictions, whatever is missing, in committees of trees with lines."""

import lightgbm as lgb
import numpy as np
import pytest

from committee import Committee, MarginDistribution, RegressionCommittee, certify, prune
from committee.voters.linear_leaves import LinearLeaves
from tests.cli.calls import succeed
from tests.vote.adapters.every_use import assert_saved_and_explained


def rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4)).round(2)
    X[:, 3] = random.integers(0, 8, n)
    y = np.exp(0.5 * X[:, 0] * X[:, 1] + (X[:, 3] % 3 == 1) + 0.1 * random.normal(size=n))
    X[random.random(X.shape) < 0.1] = np.nan
    return X, y


X, Y = rows(1500, 0)
NEW = rows(10_000, 1)[0]
NEW[0, :3] = [50.0, -80.0, 1e4]  # lines go on beyond what training has seen
KINDS = {
    "numbers": {},
    "categories": {"cat": [3]},
    "nothing is missing": {"use_missing": False},
    "dart": {"boosting": "dart", "objective": "huber"},
    "forest": {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5},
    "poisson": {"objective": "poisson"},
    "two classes": {"objective": "binary", "sigmoid": 0.7},
    "three classes": {"objective": "multiclass", "num_class": 3},
}


def trained(options: dict) -> lgb.Booster:
    settings = {"objective": "regression", "linear_tree": True, "num_leaves": 9, "num_threads": 1, "verbose": -1}
    settings |= {name: value for name, value in options.items() if name != "cat"}
    parts = {"binary": [0.5], "multiclass": [0.3, 0.6]}.get(settings["objective"])
    y = Y if parts is None else np.digitize(Y, np.quantile(Y, parts))
    data = lgb.Dataset(X, y, categorical_feature=options.get("cat", []), params={"verbose": -1})
    return lgb.train(settings, data, 10)


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_the_originals(kind, tmp_path):
    booster = trained(KINDS[kind])
    expected = booster.predict(NEW)
    of_classes = "classes" in kind
    committee = (Committee if of_classes else RegressionCommittee).from_estimator(booster)
    assert isinstance(committee.voters, LinearLeaves) and np.diff(committee.voters.lines.start).max() >= 2
    committee.voters.check()
    found = committee.predict_proba(NEW) if of_classes else committee.predict(NEW)
    found = found[:, 1] if of_classes and expected.ndim == 1 else found
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    assert_saved_and_explained(committee, NEW[1:40], tmp_path / "model")


def test_what_they_can_and_what_not(tmp_path):
    booster = trained({"objective": "binary"})
    committee, y = Committee.from_estimator(booster), (np.median(Y) <= Y).astype(int)
    assert certify(committee, X, y).headline.value < 0.5
    assert np.isfinite(MarginDistribution.of(committee, X, y).margins).all()
    booster = trained({})
    with pytest.raises(TypeError, match="ensemble has LinearLeaves for voters"):
        prune(RegressionCommittee.from_estimator(booster), X, Y, on="validation")
    booster.save_model(tmp_path / "lines.txt")
    np.savetxt(tmp_path / "rows.csv", np.nan_to_num(NEW[:20]), delimiter=",", header="a,b,c,d", comments="")
    assert "10 voters" in succeed("convert", tmp_path / "lines.txt", "-o", tmp_path / "lines.st").stderr
    printed = succeed("predict", tmp_path / "lines.st", tmp_path / "rows.csv").stdout.splitlines()[1:]
    np.testing.assert_allclose([float(line) for line in printed], booster.predict(np.nan_to_num(NEW[:20])), rtol=1e-4)
