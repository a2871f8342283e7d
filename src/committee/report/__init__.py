"""Tables, pictures and the HTML report."""

from typing import TYPE_CHECKING

from committee.data.lazy_names import lazy_names

if TYPE_CHECKING:
    from committee.report.displays.bound import BoundDisplay
    from committee.report.displays.coefficient_map import CoefficientMapDisplay
    from committee.report.displays.comparison import ComparisonDisplay, SizeDisplay
    from committee.report.displays.contribution import ContributionDisplay
    from committee.report.displays.margin import MarginDisplay
    from committee.report.displays.margin_change import MarginChangeDisplay
    from committee.report.displays.nest import NestDisplay
    from committee.report.displays.quadboost_path import QuadBoostPathDisplay
    from committee.report.displays.risk import RiskPathDisplay

__all__ = [
    "BoundDisplay",
    "CoefficientMapDisplay",
    "ComparisonDisplay",
    "ContributionDisplay",
    "MarginChangeDisplay",
    "MarginDisplay",
    "NestDisplay",
    "QuadBoostPathDisplay",
    "RiskPathDisplay",
    "SizeDisplay",
]

DISPLAYS = {
    "BoundDisplay": "committee.report.displays.bound",
    "CoefficientMapDisplay": "committee.report.displays.coefficient_map",
    "ComparisonDisplay": "committee.report.displays.comparison",
    "ContributionDisplay": "committee.report.displays.contribution",
    "MarginChangeDisplay": "committee.report.displays.margin_change",
    "MarginDisplay": "committee.report.displays.margin",
    "NestDisplay": "committee.report.displays.nest",
    "QuadBoostPathDisplay": "committee.report.displays.quadboost_path",
    "RiskPathDisplay": "committee.report.displays.risk",
    "SizeDisplay": "committee.report.displays.comparison",
}
"""Every display and its module, which is imported when the display is first asked for."""

__getattr__, __dir__ = lazy_names(__name__, DISPLAYS)
