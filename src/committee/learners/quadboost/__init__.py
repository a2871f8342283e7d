"""Least squares over voters under a penalty of their weights: QuadBoost."""
