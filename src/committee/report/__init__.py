"""Tables, pictures and the HTML report."""

from committee.report.displays import ComparisonDisplay, MarginDisplay, SizeDisplay

__all__ = ["ComparisonDisplay", "MarginDisplay", "SizeDisplay"]
