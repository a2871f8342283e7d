"""Candidates of a blend with few voters each, for tests that need no quality."""

from dataclasses import replace
from typing import Any

import pytest

from committee import GradientBoostingRegressor
from committee.learners.blend import portfolio
from committee.learners.blend.suited import suited_to_sparse_rows

SMALL: dict[str, dict[str, Any]] = {
    "sbpmt": {"n_estimators": 4, "n_leaf_steps": 8, "n_boosting_rounds": 2},
    "forest": {"n_estimators": 10},
    "lines": {"n_estimators": 10},
    "adaboost_trees": {"n_estimators": 5},
}
BOOSTING = {"n_estimators": 8, "min_samples_leaf": 4}


def use_small_members(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the candidates of all efforts few voters."""
    for table in ("_CLASSES", "_NUMBERS"):
        small = {
            name: replace(one, parameters=one.parameters | SMALL.get(name, BOOSTING))
            for name, one in getattr(portfolio, table).items()
        }
        monkeypatch.setattr(portfolio, table, small)


def use_members_of_sparse_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give all efforts the candidates that sparse rows would have, with constants in leaves."""
    for numbers, of in ((False, "_OF_CLASSES"), (True, "_OF_NUMBERS")):
        suited = {
            effort: tuple(one.name for one in suited_to_sparse_rows(portfolio.candidates(numbers, effort))[0])
            for effort in getattr(portfolio, of)
        }
        monkeypatch.setattr(portfolio, of, suited)
    constant = {
        name: replace(one, parameters=one.parameters | {"leaf": "constant"})
        if issubclass(one.learner, GradientBoostingRegressor)
        else one
        for name, one in portfolio._NUMBERS.items()
    }
    monkeypatch.setattr(portfolio, "_NUMBERS", constant)
