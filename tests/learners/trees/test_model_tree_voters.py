"""Model trees become voters a few at a time, and how many at a time changes no bit."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from committee import SBPMTClassifier
from committee.learners.trees import model_tree_voters
from committee.voters.committees import BoostedCommittees
from committee.voters.model_forest import ModelForest


def rows() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.digitize(np.nansum(X, axis=1) + rng.normal(size=200), [-1.0, 1.0])


def trees(**settings: Any) -> ModelForest:
    voters = SBPMTClassifier(2, 4, 10, random_state=0, **settings).fit(*rows()).committee_.voters
    assert isinstance(voters, BoostedCommittees)
    return voters.members


@pytest.mark.parametrize("tree", ["shared", "per_class"])
@pytest.mark.parametrize("at_once", [1, 2_000])
def test_a_few_at_a_time_are_those_of_all_together(tree: str, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    together = trees(tree=tree)
    made: list[int] = []
    model_forest = model_tree_voters.model_forest

    def counted(some: Any, *others: Any) -> ModelForest:
        made.append(len(some))
        return model_forest(some, *others)

    monkeypatch.setattr(model_tree_voters, "model_forest", counted)
    monkeypatch.setattr(model_tree_voters, "CELLS_AT_ONCE", at_once)
    apart = trees(tree=tree)
    assert sum(made) == len(together.forest)
    assert max(made) == (1 if at_once == 1 else 2)  # of 140 rows, and eight columns of the design
    assert len(apart) == len(together) == 8
    for name in ("model", "intercept", "coefficient"):
        np.testing.assert_array_equal(getattr(apart, name), getattr(together, name))
    assert apart.record is not None
    assert together.record is not None
    for each in fields(together.record):
        np.testing.assert_array_equal(getattr(apart.record, each.name), getattr(together.record, each.name))
    for name in ("feature", "threshold", "left", "label", "gain"):
        np.testing.assert_array_equal(getattr(apart.forest, name), getattr(together.forest, name))
