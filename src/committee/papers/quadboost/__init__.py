"""QuadBoost's Tables 1 and 2."""
