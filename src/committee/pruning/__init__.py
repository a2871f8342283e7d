"""Fewer nodes for an ensemble of trees that is trained already: sub-trees cut off, all leaves' votes found anew."""
