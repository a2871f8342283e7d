"""Conformal prediction: sets of labels and intervals around an estimator."""
