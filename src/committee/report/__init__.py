"""Tables, pictures and the HTML report."""

from committee.report.displays import ComparisonDisplay, MarginDisplay, SizeDisplay
from committee.report.model_displays import CoefficientMapDisplay, ContributionDisplay
from committee.report.path_display import QuadBoostPathDisplay
from committee.report.risk_display import RiskPathDisplay

__all__ = [
    "CoefficientMapDisplay",
    "ComparisonDisplay",
    "ContributionDisplay",
    "MarginDisplay",
    "QuadBoostPathDisplay",
    "RiskPathDisplay",
    "SizeDisplay",
]
