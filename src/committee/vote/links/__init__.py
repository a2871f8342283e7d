"""Links: from scores to probabilities, and to numbers."""
