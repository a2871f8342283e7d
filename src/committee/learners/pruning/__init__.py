"""Smaller votes of a trained ensemble: fewer voters or nodes, or the same classes with fewer trees."""
