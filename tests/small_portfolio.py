"""Candidates of a blend with few voters each, for tests that need no quality."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from committee import CommitteeClassifier, CommitteeRegressor, GradientBoostingRegressor
from committee.learners.blend import portfolio
from committee.learners.blend.portfolio import candidates_for_sparse
from tests.subjects import noisy_scores, numbers

SMALL: dict[str, dict[str, Any]] = {
    "sbpmt": {"n_estimators": 4, "n_leaf_steps": 8, "n_boosting_rounds": 2},
    "forest": {"n_estimators": 10},
    "lines": {"n_estimators": 10},
    "adaboost_trees": {"n_estimators": 5},
}
BOOSTING = {"n_estimators": 8, "min_samples_leaf": 4}
FAST: dict[str, Any] = {"effort": "fast", "cv": 2, "random_state": 0, "n_jobs": 1}
BOTH = pytest.mark.parametrize("kind", [CommitteeClassifier, CommitteeRegressor])


def rows_for(kind: Any, n: int = 120, seed: int = 0, n_classes: int = 2) -> Any:
    """Rows with classes or numbers."""
    return numbers(n_classes, n, seed) if kind is CommitteeClassifier else noisy_scores(n, seed)


def answers(model: Any, X: Any) -> Any:
    """Probabilities, or predicted numbers."""
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def out_of_fold(model: Any, folds: list[tuple[Any, Any]], X: Any) -> Any:
    """The vote of members with a fit for each fold on the rows that their fits have not seen, fold by fold."""
    n, members = len(folds), model.committee_.voters.members
    return np.concatenate(
        [
            sum(w * answers(one, X[test]) for w, one in zip(model.member_weights_, members[f::n], strict=True))
            for f, (_, test) in enumerate(folds)
        ]
    )


def products() -> tuple[Any, Any]:
    """Rows of small whole numbers, of which a second layer predicts the sign better than the lines that it reads."""
    X = np.stack(np.meshgrid(*[np.arange(1.0, 6.0)] * 4), axis=-1).reshape(-1, 4)
    return X, np.sign(X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3]).astype(int)


@cache
def with_second_layer() -> CommitteeClassifier:
    """A committee of lines and a second layer."""
    model = CommitteeClassifier(candidates=["lines"], second_layer=True, random_state=0).fit(*products())
    assert model.member_names_ == ["lines", "second_layer"]
    return model


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
    for of_numbers, of in ((False, "_OF_CLASSES"), (True, "_OF_NUMBERS")):
        suited = {
            effort: tuple(one.name for one in candidates_for_sparse(portfolio.candidates(of_numbers, effort))[0])
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
