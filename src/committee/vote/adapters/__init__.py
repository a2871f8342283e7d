"""Adapters: committees from other libraries' ensembles."""
