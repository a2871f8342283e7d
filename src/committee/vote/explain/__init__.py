"""Explanations: contributions, interactions, importances, rules and partial dependence of committees."""
