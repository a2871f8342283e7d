"""Boosting: each voter is trained where the committee so far is wrong."""
