"""Probabilistic voters, boosted into sums, trees, and trees nested in trees."""
