"""Voting ensembles for tabular data."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, TypeVar

from committee.data.packages import lazy_attributes, stub_imports

T = TypeVar("T")

_NAMES = stub_imports(__file__)

_CALLBACKS = frozenset({"MemberLines"})

LEARNERS = {
    name: module
    for name, module in _NAMES.items()
    if module.startswith("committee.learners.") and name[0].isupper() and name not in _CALLBACKS
}
"""Module of each learner by its class name. Model files may hold these learners; `learner` returns their classes."""

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "committee": ("CommitteeClassifier", {}),
    "adaboost": ("AdaBoostClassifier", {}),
    "adaboost_confidence": ("AdaBoostClassifier", {"vote": "confidence", "n_estimators": 200}),
    "adaboost_trees": (
        "AdaBoostClassifier",
        {"vote": "confidence", "n_estimators": 100, "max_depth": 3, "learning_rate": 0.3},
    ),
    "gradient_boosting": ("GradientBoostingClassifier", {}),
    "random_forest": ("RandomForestClassifier", {}),
    "lpboost": ("LPBoostClassifier", {}),
    "arc_gv": ("ArcGVClassifier", {}),
    "mdboost": ("MDBoostClassifier", {}),
    "doomboost": ("DOOMBoostClassifier", {}),
    "sbpmt": ("SBPMTClassifier", {}),
    "quadboost": ("QuadBoostClassifier", {}),
    "quadboost_cv": ("QuadBoostClassifierCV", {}),
    "probabilistic_adaboost": ("ProbabilisticAdaBoostClassifier", {}),
    "boosting_tree": ("BoostingTreeClassifier", {}),
    "matryoshka": ("MatryoshkaClassifier", {}),
    "greedy_matryoshka": ("MatryoshkaClassifier", {"shape": "greedy"}),
    "subagging": ("SubaggingClassifier", {}),
    "probit_model_tree": ("ProbitModelTreeClassifier", {}),
    "probit_boost": ("ProbitBoostClassifier", {}),
    "logit_boost": ("LogitBoostClassifier", {}),
    "tree": ("TreeVoter", {}),
    "abstaining_stump": ("AbstainingStump", {}),
}
"""Class name, and parameters that differ from its defaults, of each classifier by its short name (`model`)."""

MODELS_OF_NUMBERS: dict[str, tuple[str, dict[str, Any]]] = {
    "committee": ("CommitteeRegressor", {}),
    "gradient_boosting": ("GradientBoostingRegressor", {}),
    "random_forest": ("RandomForestRegressor", {}),
    "quadboost": ("QuadBoostRegressor", {}),
    "tree": ("TreeRegressor", {}),
}
"""The same for regressors; each short name is also one of `MODELS`."""

__all__ = ["LEARNERS", "MODELS", "MODELS_OF_NUMBERS", "learner", "model", *_NAMES]


def learner(name: str) -> type[Any]:
    """Return the class of a learner by its name, a key of `LEARNERS`.

    Raises
    ------
    ValueError
        If no learner has that name. The message suggests names.
    """
    found: type[Any] = getattr(import_module(_named(LEARNERS, name, "learner")), name)
    return found


def model(name: str, numbers: bool = False) -> Any:
    """Return a new, unfitted classifier or regressor by its short name on the command line.

    Parameters
    ----------
    name : str
        A key of `MODELS`; of `MODELS_OF_NUMBERS` for a regressor.
    numbers : bool, default=False
        True for a regressor.

    Raises
    ------
    ValueError
        If no model has that name. The message suggests names.

    Examples
    --------
    >>> import committee
    >>> committee.model("adaboost_confidence")
    AdaBoostClassifier(n_estimators=200, vote='confidence')
    """
    known, kind = (MODELS_OF_NUMBERS, "model of numbers") if numbers else (MODELS, "model")
    class_name, parameters = _named(known, name, kind)
    return learner(class_name)(**parameters)


def _named(known: Mapping[str, T], name: str, kind: str) -> T:
    if name in known:
        return known[name]
    from committee.data.text import suggest_names

    raise ValueError(f"there is no {kind} {name!r}; {suggest_names(str(name), list(known))}")


# imported when first used, so that `import committee` costs little
_imported, __dir__ = lazy_attributes(__name__, _NAMES)


def __getattr__(name: str) -> Any:
    if name != "__version__":
        return _imported(name)
    from importlib.metadata import version  # takes longer than all else here

    return version("committee")
