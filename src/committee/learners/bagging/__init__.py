"""Bagging: each voter is trained on a sample of its own."""
