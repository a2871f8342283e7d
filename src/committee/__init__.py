"""Voting ensembles for tabular data: voters, emphasis, weights, and the vote they cast."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from committee.bagging.random_forest import RandomForestClassifier, RandomForestRegressor
    from committee.bagging.sbpmt import SBPMTClassifier
    from committee.bagging.subagging import SubaggingClassifier
    from committee.boosting.adaboost import AdaBoostClassifier
    from committee.boosting.arc_gv import ArcGVClassifier
    from committee.boosting.doomboost import DOOMBoostClassifier
    from committee.boosting.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
    from committee.boosting.lpboost import LPBoostClassifier
    from committee.boosting.mdboost import MDBoostClassifier
    from committee.boosting.quadboost import QuadBoostClassifier, QuadBoostRegressor
    from committee.boosting.quadboost_cv import QuadBoostClassifierCV
    from committee.boosting.quadboost_path import quadboost_path
    from committee.bounds.certify import certify
    from committee.margins.distribution import MarginDistribution
    from committee.margins.reweighter import MarginReweighter
    from committee.nesting.boosting_tree import BoostingTreeClassifier
    from committee.nesting.matryoshka import MatryoshkaClassifier
    from committee.nesting.probabilistic_adaboost import ProbabilisticAdaBoostClassifier
    from committee.pruned import prune
    from committee.pruning.leaf_reweighter import LeafReweighter
    from committee.regression_vote import RegressionCommittee
    from committee.store import ModelFileError, load
    from committee.vote import Committee
    from committee.voters.probit_boost import LogitBoostClassifier, ProbitBoostClassifier
    from committee.voters.probit_model_tree import ProbitModelTreeClassifier
    from committee.voters.stump import AbstainingStump
    from committee.voters.tree import TreeVoter
    from committee.voters.tree_regressor import TreeRegressor

__version__ = version("committee")

LEARNERS: dict[str, str] = {
    "AdaBoostClassifier": "committee.boosting.adaboost",
    "GradientBoostingClassifier": "committee.boosting.gradient_boosting",
    "GradientBoostingRegressor": "committee.boosting.gradient_boosting",
    "RandomForestClassifier": "committee.bagging.random_forest",
    "RandomForestRegressor": "committee.bagging.random_forest",
    "SubaggingClassifier": "committee.bagging.subagging",
    "SBPMTClassifier": "committee.bagging.sbpmt",
    "ProbitModelTreeClassifier": "committee.voters.probit_model_tree",
    "ProbitBoostClassifier": "committee.voters.probit_boost",
    "LPBoostClassifier": "committee.boosting.lpboost",
    "ArcGVClassifier": "committee.boosting.arc_gv",
    "MDBoostClassifier": "committee.boosting.mdboost",
    "DOOMBoostClassifier": "committee.boosting.doomboost",
    "MarginReweighter": "committee.margins.reweighter",
    "LeafReweighter": "committee.pruning.leaf_reweighter",
    "LogitBoostClassifier": "committee.voters.probit_boost",
    "QuadBoostClassifier": "committee.boosting.quadboost",
    "QuadBoostClassifierCV": "committee.boosting.quadboost_cv",
    "QuadBoostRegressor": "committee.boosting.quadboost",
    "ProbabilisticAdaBoostClassifier": "committee.nesting.probabilistic_adaboost",
    "BoostingTreeClassifier": "committee.nesting.boosting_tree",
    "MatryoshkaClassifier": "committee.nesting.matryoshka",
    "TreeVoter": "committee.voters.tree",
    "AbstainingStump": "committee.voters.stump",
    "TreeRegressor": "committee.voters.tree_regressor",
}
"""Every learner and its module: what files may name, and what `committee.learner` finds."""

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
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
"""Short names on the command line, all of classifiers: a learner, and parameters that differ from its defaults."""

_OTHERS = {
    "MarginDistribution": "committee.margins.distribution",
    "certify": "committee.bounds.certify",
    "Committee": "committee.vote",
    "RegressionCommittee": "committee.regression_vote",
    "ModelFileError": "committee.store",
    "load": "committee.store",
    "prune": "committee.pruned",
    "quadboost_path": "committee.boosting.quadboost_path",
}

__all__ = [
    "LEARNERS",
    "MODELS",
    "AbstainingStump",
    "AdaBoostClassifier",
    "ArcGVClassifier",
    "BoostingTreeClassifier",
    "Committee",
    "DOOMBoostClassifier",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "LPBoostClassifier",
    "LeafReweighter",
    "LogitBoostClassifier",
    "MDBoostClassifier",
    "MarginDistribution",
    "MarginReweighter",
    "MatryoshkaClassifier",
    "ModelFileError",
    "ProbabilisticAdaBoostClassifier",
    "ProbitBoostClassifier",
    "ProbitModelTreeClassifier",
    "QuadBoostClassifier",
    "QuadBoostClassifierCV",
    "QuadBoostRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RegressionCommittee",
    "SBPMTClassifier",
    "SubaggingClassifier",
    "TreeRegressor",
    "TreeVoter",
    "certify",
    "learner",
    "load",
    "model",
    "prune",
    "quadboost_path",
]


def learner(name: str) -> type[Any]:
    """The learner of that class name.

    Raises
    ------
    KeyError
        If there is none.
    """
    found: type[Any] = getattr(import_module(LEARNERS[name]), name)
    return found


def model(name: str) -> Any:
    """A new, unfitted classifier by its short name.

    Parameters
    ----------
    name : str
        A key of `MODELS`.

    Raises
    ------
    KeyError
        If there is none of that name.

    Examples
    --------
    >>> import committee
    >>> committee.model("adaboost_confidence")
    AdaBoostClassifier(n_estimators=200, vote='confidence')
    """
    class_name, parameters = MODELS[name]
    return learner(class_name)(**parameters)


def __getattr__(name: str) -> Any:
    # imported when first asked for, so that `import committee` costs little
    module = LEARNERS.get(name) or _OTHERS.get(name)
    if module is None:
        raise AttributeError(f"module 'committee' has no attribute {name!r}")
    return getattr(import_module(module), name)
