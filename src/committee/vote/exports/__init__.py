"""Committees of trees as models of other libraries."""
