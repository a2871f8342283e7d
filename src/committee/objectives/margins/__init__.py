"""Objectives of re-weighting: functionals of the margins of the rows."""
