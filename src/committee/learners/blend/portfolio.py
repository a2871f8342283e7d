"""The ensembles that a blend may have as members, chosen for errors that complement each other (docs/blend.md)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from committee.learners.adaboost.adaboost import AdaBoostClassifier
from committee.learners.bagging.random_forest import RandomForestClassifier, RandomForestRegressor
from committee.learners.bagging.sbpmt import SBPMTClassifier
from committee.learners.gradient.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from committee.learners.trees.probit_boost import LogitBoostClassifier

Effort = Literal["fast", "default", "best"]
MOST_DRAWN = 100_000
"""Rows that a draw of a candidate with rows out of bag has at most."""


@dataclass(frozen=True)
class Candidate:
    """A learner that may become a member, and how it comes by rows that it has not seen."""

    name: str
    learner: type[Any]
    parameters: dict[str, Any] = field(default_factory=dict)
    out_of_bag: bool = False
    """Its own draws leave rows out, so that it is trained once; others are trained on the rest of each fold."""
    lines: bool = False
    """It is there for the lines in its leaves, which not all rows let it have."""


_CLASSES = {
    "sbpmt": Candidate("sbpmt", SBPMTClassifier, {}, out_of_bag=True),
    "forest": Candidate("forest", RandomForestClassifier, {"n_estimators": 300}, out_of_bag=True),
    "lines": Candidate("lines", LogitBoostClassifier),
    "boosting": Candidate("boosting", GradientBoostingClassifier),
    "large_trees": Candidate("large_trees", GradientBoostingClassifier, {"max_leaf_nodes": 47, "max_features": 0.3}),
    "random_thresholds": Candidate("random_thresholds", GradientBoostingClassifier, {"extra_trees": True}),
    "adaboost_trees": Candidate(
        "adaboost_trees",
        AdaBoostClassifier,
        {"vote": "confidence", "n_estimators": 100, "max_depth": 3, "learning_rate": 0.3},
    ),
}
_NUMBERS = {
    "forest": Candidate("forest", RandomForestRegressor, {"n_estimators": 300}, out_of_bag=True),
    "boosted_lines": Candidate("boosted_lines", GradientBoostingRegressor, lines=True),
    "boosting": Candidate("boosting", GradientBoostingRegressor, {"leaf": "constant", "leaf_l2": 1.0}),
    "large_trees": Candidate("large_trees", GradientBoostingRegressor, {"max_leaf_nodes": 47, "max_features": 0.3}),
    "small_trees": Candidate("small_trees", GradientBoostingRegressor, {"max_leaf_nodes": 4}),
    "random_thresholds": Candidate("random_thresholds", GradientBoostingRegressor, {"extra_trees": True}),
}
_OF_CLASSES: dict[Effort, tuple[str, ...]] = {
    "fast": ("sbpmt", "forest", "lines", "large_trees"),
    "default": ("sbpmt", "forest", "lines", "large_trees", "random_thresholds", "adaboost_trees"),
    "best": tuple(_CLASSES),
}
_OF_NUMBERS: dict[Effort, tuple[str, ...]] = {
    "fast": ("forest", "boosted_lines", "small_trees"),
    "default": ("forest", "boosted_lines", "large_trees", "small_trees"),
    "best": tuple(_NUMBERS),
}


def candidates(numbers: bool, effort: Effort, n: float = 0.0) -> list[Candidate]:
    """Return the candidates of an effort for n rows, in the order in which they are trained: the cheap ones first.

    Examples
    --------
    >>> [one.name for one in candidates(True, "fast")]
    ['forest', 'boosted_lines', 'small_trees']
    >>> candidates(True, "fast", 10**6)[0].parameters["max_samples"]
    100000
    """
    table, names = (_NUMBERS, _OF_NUMBERS) if numbers else (_CLASSES, _OF_CLASSES)
    chosen = [table[name] for name in names[effort]]
    if n <= 1.5 * MOST_DRAWN:
        return chosen
    return [
        replace(one, parameters=one.parameters | {"max_samples": MOST_DRAWN}) if one.out_of_bag else one
        for one in chosen
    ]


def without_lines() -> Candidate:
    """Return boosting for numbers with a constant in each leaf.

    Examples
    --------
    >>> without_lines().parameters
    {'leaf': 'constant', 'leaf_l2': 1.0}
    """
    return _NUMBERS["boosting"]


def n_folds(n: float, effort: Effort) -> int:
    """Return the folds of candidates without rows out of bag, on n rows.

    Examples
    --------
    >>> n_folds(500, "default"), n_folds(20_000, "default"), n_folds(10**6, "default"), n_folds(500, "fast")
    (8, 5, 3, 4)
    """
    most = {"fast": 4, "default": 8, "best": 10}[effort]
    return most if n < 10_000 else min(most, 5) if n < 100_000 else 3
