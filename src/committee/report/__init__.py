"""Tables, pictures and the HTML report."""

from committee.report.displays.bound import BoundDisplay
from committee.report.displays.comparison import ComparisonDisplay, SizeDisplay
from committee.report.displays.doll import DollDisplay
from committee.report.displays.margin import MarginDisplay
from committee.report.displays.margin_change import MarginChangeDisplay
from committee.report.displays.model_trees import CoefficientMapDisplay, ContributionDisplay
from committee.report.displays.nest import NestDisplay
from committee.report.displays.path import QuadBoostPathDisplay
from committee.report.displays.risk import RiskPathDisplay

__all__ = [
    "BoundDisplay",
    "CoefficientMapDisplay",
    "ComparisonDisplay",
    "ContributionDisplay",
    "DollDisplay",
    "MarginChangeDisplay",
    "MarginDisplay",
    "NestDisplay",
    "QuadBoostPathDisplay",
    "RiskPathDisplay",
    "SizeDisplay",
]
