"""Voters that answer at random, boosted into sums, trees, and trees nested in trees."""
