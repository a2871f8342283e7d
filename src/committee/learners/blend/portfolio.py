"""The ensembles that a blend may have as members, chosen for errors that complement each other (docs/blend.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from committee.learners.adaboost.adaboost import AdaBoostClassifier
from committee.learners.bagging.random_forest import RandomForestClassifier, RandomForestRegressor
from committee.learners.bagging.sbpmt import SBPMTClassifier
from committee.learners.blend.effort import Effort
from committee.learners.blend.loss_of_rows import trains_means
from committee.learners.gradient.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from committee.learners.trees.probit_boost import LogitBoostClassifier
from committee.objectives.losses import Loss, Squared

MOST_DRAWN = 30_000
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
    moved: bool = False
    """It predicts means where another constant is wanted, and is moved by the best one for rows not seen."""


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
_ON_LOSS = {
    "boosting_on_loss": Candidate("boosting_on_loss", GradientBoostingRegressor),
    "random_thresholds_on_loss": Candidate(
        "random_thresholds_on_loss", GradientBoostingRegressor, {"extra_trees": True}
    ),
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
_OF_LOSS: dict[Effort, tuple[str, ...]] = {
    "fast": ("boosting_on_loss",),
    "default": ("boosting_on_loss", "random_thresholds_on_loss"),
    "best": ("boosting_on_loss", "random_thresholds_on_loss"),
}


def candidates(numbers: bool, effort: Effort, n: float = 0.0) -> list[Candidate]:
    """Return the candidates of an effort for n rows, in the order of their training: those that are fitted once first.

    Examples
    --------
    >>> [one.name for one in candidates(True, "fast")]
    ['forest', 'boosted_lines', 'small_trees']
    >>> candidates(True, "fast", 10**6)[0].parameters["max_samples"]
    30000
    """
    table, names = (_NUMBERS, _OF_NUMBERS) if numbers else (_CLASSES, _OF_CLASSES)
    chosen = [table[name] for name in names[effort]]
    if n <= 1.5 * MOST_DRAWN:
        return chosen
    return [
        replace(one, parameters=one.parameters | {"max_samples": MOST_DRAWN}) if one.out_of_bag else one
        for one in chosen
    ]


def without_lines(lines: Candidate) -> Candidate:
    """Return boosting for numbers with a constant in each leaf, for the same loss as one with lines.

    Examples
    --------
    >>> without_lines(candidates(True, "fast")[1]).parameters
    {'leaf': 'constant', 'leaf_l2': 1.0}
    """
    constant = _NUMBERS["boosting"]
    return replace(constant, parameters=constant.parameters | lines.parameters, moved=lines.moved)


def of_loss(wanted: Sequence[Candidate], loss: Loss, effort: Effort) -> list[Candidate]:
    """Return candidates for a loss of numbers, by those for squared error.

    Boosting is trained on a loss whose best constant is a mean. For another, such as a quantile's, candidates for means
    are moved by a constant, and boosting on the loss itself joins them.

    Examples
    --------
    >>> from committee.objectives.losses import Poisson, Quantile
    >>> [one.parameters for one in of_loss(candidates(True, "fast"), Poisson(), "fast")[1:]]
    [{'loss': Poisson()}, {'max_leaf_nodes': 4, 'loss': Poisson()}]
    >>> [(one.name, one.moved) for one in of_loss(candidates(True, "fast"), Quantile(0.9), "fast")[2:]]
    [('small_trees', True), ('boosting_on_loss', False)]
    """
    if isinstance(loss, Squared):
        return list(wanted)
    if trains_means(loss):
        return [
            replace(one, parameters=one.parameters | {"loss": loss})
            if "loss" in one.learner.declared_parameters
            else one
            for one in wanted
        ]
    own = [replace(_ON_LOSS[name], parameters=_ON_LOSS[name].parameters | {"loss": loss}) for name in _OF_LOSS[effort]]
    return [replace(one, moved=True) for one in wanted] + own
