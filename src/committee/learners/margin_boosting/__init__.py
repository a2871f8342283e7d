"""Boosting that optimises the margins of a vote."""
