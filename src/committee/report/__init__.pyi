from committee.report.displays.bound import BoundDisplay as BoundDisplay
from committee.report.displays.coefficient_map import CoefficientMapDisplay as CoefficientMapDisplay
from committee.report.displays.comparison import ComparisonDisplay as ComparisonDisplay
from committee.report.displays.comparison import SizeDisplay as SizeDisplay
from committee.report.displays.contribution import ContributionDisplay as ContributionDisplay
from committee.report.displays.margin import MarginDisplay as MarginDisplay
from committee.report.displays.margin_change import MarginChangeDisplay as MarginChangeDisplay
from committee.report.displays.mean_contribution import MeanContributionDisplay as MeanContributionDisplay
from committee.report.displays.member_disagreement import MemberDisagreementDisplay as MemberDisagreementDisplay
from committee.report.displays.member_votes import MemberVotesDisplay as MemberVotesDisplay
from committee.report.displays.nest import NestDisplay as NestDisplay
from committee.report.displays.pruning_path import PruningPathDisplay as PruningPathDisplay
from committee.report.displays.quadboost_path import QuadBoostPathDisplay as QuadBoostPathDisplay
from committee.report.displays.reliability import ReliabilityDisplay as ReliabilityDisplay
from committee.report.displays.risk import RiskPathDisplay as RiskPathDisplay
from committee.report.displays.small_ensemble import SmallEnsembleDisplay as SmallEnsembleDisplay
from committee.report.displays.tree import TreeDisplay as TreeDisplay

DISPLAYS: dict[str, str]
