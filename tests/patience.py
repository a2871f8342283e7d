"""Time limit of what tests wait for: generous, as only a failure reaches it."""

PATIENCE = 300.0
"""Seconds. A busy machine may run a test at a tenth of its speed."""
