"""Explanations of fitted models, and the pictures of their pages."""
