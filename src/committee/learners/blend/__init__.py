"""Committees whose members are whole ensembles: candidates, out-of-fold predictions, weights, the vote."""
