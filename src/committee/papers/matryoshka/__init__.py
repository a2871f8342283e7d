"""Figures and experiments of the theory of matryoshki (nested boosting trees)."""
