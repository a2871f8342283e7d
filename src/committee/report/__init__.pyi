from committee.report.comparison_page import ComparisonDisplay as ComparisonDisplay
from committee.report.comparison_page import SizeDisplay as SizeDisplay
from committee.report.displays.contributions import ContributionDisplay as ContributionDisplay
from committee.report.displays.contributions import MeanContributionDisplay as MeanContributionDisplay
from committee.report.displays.curves import EvaluationDisplay as EvaluationDisplay
from committee.report.displays.curves import PruningPathDisplay as PruningPathDisplay
from committee.report.displays.curves import ReliabilityDisplay as ReliabilityDisplay
from committee.report.displays.curves import RiskPathDisplay as RiskPathDisplay
from committee.report.displays.margins import MarginChangeDisplay as MarginChangeDisplay
from committee.report.displays.margins import MarginDisplay as MarginDisplay
from committee.report.displays.members import MemberDisagreementDisplay as MemberDisagreementDisplay
from committee.report.displays.members import MemberVotesDisplay as MemberVotesDisplay
from committee.report.displays.nested import BoundDisplay as BoundDisplay
from committee.report.displays.nested import NestDisplay as NestDisplay
from committee.report.displays.partial_dependence import PartialDependenceDisplay as PartialDependenceDisplay
from committee.report.displays.quadboost_path import QuadBoostPathDisplay as QuadBoostPathDisplay
from committee.report.displays.small_ensembles import SmallEnsembleDisplay as SmallEnsembleDisplay
from committee.report.displays.tree import CoefficientMapDisplay as CoefficientMapDisplay
from committee.report.displays.tree import TreeDisplay as TreeDisplay
from committee.report.displays.trials import TrialsDisplay as TrialsDisplay

DISPLAYS: dict[str, str]
