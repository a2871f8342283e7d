"""Learners of a single tree, and of boosted linear scores."""
