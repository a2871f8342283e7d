"""Bases of the learners: parameters, training rows, fits with callbacks, and predictions by a committee."""
