"""Margins of a vote: weights that make them large."""
