"""Learners: estimators in scikit-learn's sense, one folder for each way to choose voters and weights."""
