"""Shared by every learner: rows in, a fit with its callbacks, a committee out."""
