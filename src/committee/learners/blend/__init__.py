"""Committees whose members are whole ensembles: candidates, held-out predictions, weights, the vote."""
