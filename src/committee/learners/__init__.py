"""Learners: scikit-learn estimators by family; `base` has what all share."""
