"""Committees whose members are whole ensembles."""
