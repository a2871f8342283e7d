"""Voting ensembles for tabular data: voters, emphasis, weights, and the vote they cast."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from committee.data.lazy_names import lazy_names

if TYPE_CHECKING:
    from committee.files.store import ModelFileError, load
    from committee.learners.adaboost.adaboost import AdaBoostClassifier
    from committee.learners.bagging.random_forest import RandomForestClassifier, RandomForestRegressor
    from committee.learners.bagging.sbpmt import SBPMTClassifier
    from committee.learners.bagging.subagging import SubaggingClassifier
    from committee.learners.gradient.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
    from committee.learners.margin_boosting.arc_gv import ArcGVClassifier
    from committee.learners.margin_boosting.doomboost import DOOMBoostClassifier
    from committee.learners.margin_boosting.lpboost import LPBoostClassifier
    from committee.learners.margin_boosting.mdboost import MDBoostClassifier
    from committee.learners.nesting.boosting_tree import BoostingTreeClassifier
    from committee.learners.nesting.matryoshka import MatryoshkaClassifier
    from committee.learners.nesting.probabilistic_adaboost import ProbabilisticAdaBoostClassifier
    from committee.learners.quadboost.quadboost import QuadBoostClassifier, QuadBoostRegressor
    from committee.learners.quadboost.quadboost_cv import QuadBoostClassifierCV
    from committee.learners.quadboost.quadboost_path import quadboost_path
    from committee.learners.trained.certificates import certify
    from committee.learners.trained.leaf_reweighter import LeafReweighter
    from committee.learners.trained.pruning import prune
    from committee.learners.trained.reweighter import MarginReweighter
    from committee.learners.trees.probit_boost import LogitBoostClassifier, ProbitBoostClassifier
    from committee.learners.trees.probit_model_tree import ProbitModelTreeClassifier
    from committee.learners.trees.stump import AbstainingStump
    from committee.learners.trees.tree import TreeVoter
    from committee.learners.trees.tree_regressor import TreeRegressor
    from committee.vote.committee import Committee
    from committee.vote.margin_distribution import MarginDistribution
    from committee.vote.regression import RegressionCommittee

__version__ = version("committee")

LEARNERS: dict[str, str] = {
    "AdaBoostClassifier": "committee.learners.adaboost.adaboost",
    "GradientBoostingClassifier": "committee.learners.gradient.gradient_boosting",
    "GradientBoostingRegressor": "committee.learners.gradient.gradient_boosting",
    "RandomForestClassifier": "committee.learners.bagging.random_forest",
    "RandomForestRegressor": "committee.learners.bagging.random_forest",
    "SubaggingClassifier": "committee.learners.bagging.subagging",
    "SBPMTClassifier": "committee.learners.bagging.sbpmt",
    "ProbitModelTreeClassifier": "committee.learners.trees.probit_model_tree",
    "ProbitBoostClassifier": "committee.learners.trees.probit_boost",
    "LPBoostClassifier": "committee.learners.margin_boosting.lpboost",
    "ArcGVClassifier": "committee.learners.margin_boosting.arc_gv",
    "MDBoostClassifier": "committee.learners.margin_boosting.mdboost",
    "DOOMBoostClassifier": "committee.learners.margin_boosting.doomboost",
    "MarginReweighter": "committee.learners.trained.reweighter",
    "LeafReweighter": "committee.learners.trained.leaf_reweighter",
    "LogitBoostClassifier": "committee.learners.trees.probit_boost",
    "QuadBoostClassifier": "committee.learners.quadboost.quadboost",
    "QuadBoostClassifierCV": "committee.learners.quadboost.quadboost_cv",
    "QuadBoostRegressor": "committee.learners.quadboost.quadboost",
    "ProbabilisticAdaBoostClassifier": "committee.learners.nesting.probabilistic_adaboost",
    "BoostingTreeClassifier": "committee.learners.nesting.boosting_tree",
    "MatryoshkaClassifier": "committee.learners.nesting.matryoshka",
    "TreeVoter": "committee.learners.trees.tree",
    "AbstainingStump": "committee.learners.trees.stump",
    "TreeRegressor": "committee.learners.trees.tree_regressor",
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
    "MarginDistribution": "committee.vote.margin_distribution",
    "certify": "committee.learners.trained.certificates",
    "Committee": "committee.vote.committee",
    "RegressionCommittee": "committee.vote.regression",
    "ModelFileError": "committee.files.store",
    "load": "committee.files.store",
    "prune": "committee.learners.trained.pruning",
    "quadboost_path": "committee.learners.quadboost.quadboost_path",
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


# imported when first used, so that `import committee` costs little
__getattr__, __dir__ = lazy_names(__name__, LEARNERS | _OTHERS)
