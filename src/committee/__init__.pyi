from typing import Any

from committee.data.derived_columns import DateEncoder as DateEncoder
from committee.data.derived_columns import TextEncoder as TextEncoder
from committee.data.out_of_core.scan import Pieces as Pieces
from committee.data.out_of_core.scan import scan as scan
from committee.data.readers.table_reader import TableReader as TableReader
from committee.files.journal import Checkpoint as Checkpoint
from committee.files.journal import CheckpointError as CheckpointError
from committee.files.store import ModelFileError as ModelFileError
from committee.files.store import load as load
from committee.learners.bagging.random_forest import RandomForestClassifier as RandomForestClassifier
from committee.learners.bagging.random_forest import RandomForestRegressor as RandomForestRegressor
from committee.learners.bagging.sbpmt import SBPMTClassifier as SBPMTClassifier
from committee.learners.bagging.subagging import SubaggingClassifier as SubaggingClassifier
from committee.learners.blend.committees import CommitteeClassifier as CommitteeClassifier
from committee.learners.blend.committees import CommitteeRegressor as CommitteeRegressor
from committee.learners.blend.training import MemberLines as MemberLines
from committee.learners.boosting.adaboost import AdaBoostClassifier as AdaBoostClassifier
from committee.learners.boosting.average_margin import DOOMBoostClassifier as DOOMBoostClassifier
from committee.learners.boosting.average_margin import MDBoostClassifier as MDBoostClassifier
from committee.learners.boosting.largest_margin import ArcGVClassifier as ArcGVClassifier
from committee.learners.boosting.largest_margin import LPBoostClassifier as LPBoostClassifier
from committee.learners.boosting.quadboost import QuadBoostClassifier as QuadBoostClassifier
from committee.learners.boosting.quadboost import QuadBoostRegressor as QuadBoostRegressor
from committee.learners.boosting.quadboost_path import QuadBoostClassifierCV as QuadBoostClassifierCV
from committee.learners.boosting.quadboost_path import quadboost_path as quadboost_path
from committee.learners.certificates.certificates import certify as certify
from committee.learners.conformal.conformal_learners import ConformalClassifier as ConformalClassifier
from committee.learners.conformal.conformal_learners import ConformalRegressor as ConformalRegressor
from committee.learners.gradient.functional_gradient_boosting import (
    FunctionalGradientBoostingClassifier as FunctionalGradientBoostingClassifier,
)
from committee.learners.gradient.functional_gradient_boosting import (
    FunctionalGradientBoostingRegressor as FunctionalGradientBoostingRegressor,
)
from committee.learners.gradient.gradient_boosting import GradientBoostingClassifier as GradientBoostingClassifier
from committee.learners.gradient.gradient_boosting import GradientBoostingRegressor as GradientBoostingRegressor
from committee.learners.nesting.nested_trees import BoostingTreeClassifier as BoostingTreeClassifier
from committee.learners.nesting.nested_trees import MatryoshkaClassifier as MatryoshkaClassifier
from committee.learners.nesting.nested_trees import ProbabilisticAdaBoostClassifier as ProbabilisticAdaBoostClassifier
from committee.learners.pruning.pruning import lossless as lossless
from committee.learners.pruning.pruning import prune as prune
from committee.learners.reweighting.leaf_reweighter import LeafReweighter as LeafReweighter
from committee.learners.reweighting.leaf_reweighter import LeafReweighterRegressor as LeafReweighterRegressor
from committee.learners.reweighting.margin_reweighter import MarginReweighter as MarginReweighter
from committee.learners.trees.model_tree import ProbitModelTreeClassifier as ProbitModelTreeClassifier
from committee.learners.trees.probit_boost import LogitBoostClassifier as LogitBoostClassifier
from committee.learners.trees.probit_boost import ProbitBoostClassifier as ProbitBoostClassifier
from committee.learners.trees.tree import AbstainingStump as AbstainingStump
from committee.learners.trees.tree import TreeRegressor as TreeRegressor
from committee.learners.trees.tree import TreeVoter as TreeVoter
from committee.onnx.export import to_onnx as to_onnx
from committee.vote.committee import Committee as Committee
from committee.vote.committee import RegressionCommittee as RegressionCommittee
from committee.vote.exports.scikit_learn_model import as_sklearn as as_sklearn
from committee.vote.exports.treelite_model import to_treelite as to_treelite
from committee.vote.margin_distribution import MarginDistribution as MarginDistribution

__version__: str
LEARNERS: dict[str, str]
MODELS: dict[str, tuple[str, dict[str, Any]]]
MODELS_OF_NUMBERS: dict[str, tuple[str, dict[str, Any]]]

def learner(name: str) -> type[Any]: ...
def model(name: str, numbers: bool = ...) -> Any: ...
