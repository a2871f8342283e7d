"""Compact voters: the same votes to 1e-7, the same explanations, and files and pickles of a few bytes per node."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from committee import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LogitBoostClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    SBPMTClassifier,
    load,
)
from committee.files.documents import Tensors, to_single
from committee.vote.committee import Committee
from committee.vote.explain.contributions import probability_contributions
from committee.vote.explain.tree_contributions import tree_contributions
from committee.vote.members import MemberCommittees
from committee.voters.tree_voters import TOLERANCE, compact_voters

FEW: dict[str, Any] = {"n_estimators": 3, "random_state": 0}
LEARNERS = [
    RandomForestClassifier(**FEW),
    RandomForestClassifier(calibrate=None, **FEW),
    AdaBoostClassifier(vote="confidence", max_depth=3, **FEW),
    GradientBoostingClassifier(**FEW),
    SBPMTClassifier(**FEW),
    LogitBoostClassifier(random_state=0),
    RandomForestRegressor(**FEW),
    GradientBoostingRegressor(learning_rate=0.3, **FEW),
    GradientBoostingRegressor(leaf="constant", learning_rate=0.3, **FEW),
]


def rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers, one of them far from 0, with missing cells; targets; weights that are no whole numbers."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 3)), 1e9 + rng.normal(size=n), rng.integers(0, 4, n)])
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, np.nan_to_num(X[:, 0] + X[:, 4]) + rng.normal(size=n), rng.uniform(0.5, 1.5, n)


def compacted(learner: Any, *, offset: float = 0.0, n_classes: int = 2) -> tuple[Any, Any, np.ndarray]:
    X, y, w = rows(150)
    if hasattr(learner, "predict_proba"):
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    model = learner.fit(X, y + offset if n_classes == 2 else y, w).committee_
    return model, replace(model, voters=compact_voters(model.voters)), X  # refused if shares do not add up to 1


def array_bytes(model: Any) -> int:
    """Bytes of a model's file without its header, which is most of a small file."""
    arrays: dict[str, np.ndarray] = {}
    model.to_document(Tensors(arrays))
    return sum(array.nbytes for array in arrays.values())


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_votes_and_explanations_stay_to_the_tolerance(learner, n_classes, tmp_path):
    model, small, X = compacted(learner, n_classes=n_classes)
    answers = [one.predict_proba(X) if hasattr(one, "classes") else one.predict(X) for one in (model, small)]
    assert_allclose(*answers, rtol=3 * TOLERANCE, atol=3 * TOLERANCE * np.ptp(answers[0]))
    explain = probability_contributions if hasattr(model, "classes") else tree_contributions
    assert_allclose(explain(small, X[:5]), explain(model, X[:5]), atol=1e-5)
    small.save(tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert again.decision_function(X).tobytes() == small.decision_function(X).tobytes()
    assert_array_equal(explain(again, X[:5]), explain(small, X[:5]))
    if not isinstance(learner, LogitBoostClassifier):
        assert array_bytes(small) < 0.7 * array_bytes(model)


def test_trees_of_deep_forests_take_a_fifth():
    X, y, _ = rows(1200)
    model = RandomForestClassifier(3, random_state=0).fit(X, y > 0).committee_
    small = replace(model, voters=compact_voters(model.voters))
    assert small.file_bytes < model.file_bytes / 5
    assert small.feature_importances_ == pytest.approx(model.feature_importances_, rel=1e-6)
    assert_allclose(small.voters.weight.sum(), model.voters.weight.sum())


@pytest.mark.parametrize("learner", [RandomForestRegressor(**FEW), GradientBoostingRegressor(**FEW)])
def test_numbers_that_single_precision_cannot_tell_apart_stay_double(learner):
    model, small, X = compacted(learner, offset=1e12)
    assert np.ptp(model.predict(X)) > 0.5
    assert_allclose(small.predict(X), model.predict(X), atol=1e-3)


def test_lines_along_a_column_whose_range_overflows_stay_finite():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), rng.choice([-1.5e308, -1e300, 1e300, 1.5e308], 200)])
    model = GradientBoostingRegressor(**FEW).fit(X, X[:, 0] + (X[:, 1] > 0)).committee_
    lines = compact_voters(model.voters).lines
    assert (lines.column == 1).any()
    assert np.isfinite(lines.centre).all() and np.isfinite(lines.high).all()


def test_pickles_of_a_committee_are_as_small_as_its_file():
    X, y, _ = rows(300)
    model = RandomForestClassifier(3, random_state=0).fit(X, y > 0).committee_
    small = replace(model, voters=compact_voters(model.voters))
    votes = Committee(MemberCommittees([small, small]), np.ones(2), small.classes, small.link)
    stored = pickle.dumps(votes)
    assert len(stored) < votes.file_bytes + 5_000 < votes.nbytes / 2
    assert pickle.loads(stored).voters.tally(X).tobytes() == votes.voters.tally(X).tobytes()


def test_numbers_without_zeros_are_read_as_they_were():
    sparse = np.zeros((3, 2, 40))
    sparse[1, :, ::7], sparse[2, 0, 3] = 0.1, -0.0
    arrays: dict[str, np.ndarray] = {}
    Tensors(arrays).put_reals(a=sparse, b=np.arange(3.0))
    assert arrays["a"].shape == (13,) and arrays["b"].dtype == np.float32
    changed = {name: array.copy() for name, array in arrays.items()}
    assert Tensors(dict(arrays)).take_reals("a").tobytes() == sparse.tobytes()
    assert_array_equal(Tensors(dict(arrays)).take_reals("b"), np.arange(3.0))
    for name, array, fault in (
        ("a", changed["a"][1:], r"a has the shape \(12,\) for 13 numbers"),
        ("a", changed["a"].astype(np.int64), "a is int64; it must be float32 or float64"),
        ("a.shape", np.array([2**40, 2**40]), "a.nonzero has 30 bytes for the shape"),
        ("a.shape", np.array([-3, -80]), "a.nonzero has 30 bytes for the shape"),
        ("a.nonzero", changed["a.nonzero"][1:], "a.nonzero has 29 bytes for the shape"),
    ):
        with pytest.raises(ValueError, match=fault):
            Tensors(arrays | {name: array}).take_reals("a")
    huge = np.array([1e300, 1.0])
    assert to_single(huge) is huge
