"""Committees of other libraries' ensembles."""
