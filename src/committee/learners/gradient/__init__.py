"""Gradient boosting of any loss."""
