"""Links from scores to probabilities and numbers."""
