"""Bounds on the error of a trained ensemble."""
