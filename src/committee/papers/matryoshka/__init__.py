"""Matryoshki: the theory's figures and experiments."""
