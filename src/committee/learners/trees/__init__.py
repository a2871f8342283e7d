"""Learners of a single tree, and of boosted lines or stumps."""
