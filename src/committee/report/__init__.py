"""Tables, pictures and the HTML report."""

from committee.report.bound_display import BoundDisplay
from committee.report.displays import ComparisonDisplay, SizeDisplay
from committee.report.doll_display import DollDisplay
from committee.report.margin_change_display import MarginChangeDisplay
from committee.report.margin_display import MarginDisplay
from committee.report.model_displays import CoefficientMapDisplay, ContributionDisplay
from committee.report.nest_display import NestDisplay
from committee.report.path_display import QuadBoostPathDisplay
from committee.report.risk_display import RiskPathDisplay

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
