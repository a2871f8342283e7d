"""Ensembles that are trained already: new weights, fewer voters or nodes, certificates and bounds."""
