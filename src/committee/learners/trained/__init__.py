"""Ensembles that are trained already: new weights, fewer voters or nodes, certificates and bounds."""

from typing import TYPE_CHECKING

from committee.data.lazy_names import lazy_names

if TYPE_CHECKING:
    from committee.learners.trained.certificates import Certificate, certify
    from committee.learners.trained.ensemble_losses import voter_losses
    from committee.learners.trained.fitted_bounds import for_adaboost, for_sbpmt, for_vote
    from committee.learners.trained.fitted_norm import for_quadboost
    from committee.learners.trained.leaf_reweighter import LeafReweighter
    from committee.learners.trained.pruning import prune
    from committee.learners.trained.reweighter import MarginReweighter

__all__ = [
    "Certificate",
    "LeafReweighter",
    "MarginReweighter",
    "certify",
    "for_adaboost",
    "for_quadboost",
    "for_sbpmt",
    "for_vote",
    "prune",
    "voter_losses",
]

_MODULES = {
    "Certificate": "committee.learners.trained.certificates",
    "LeafReweighter": "committee.learners.trained.leaf_reweighter",
    "MarginReweighter": "committee.learners.trained.reweighter",
    "certify": "committee.learners.trained.certificates",
    "for_adaboost": "committee.learners.trained.fitted_bounds",
    "for_quadboost": "committee.learners.trained.fitted_norm",
    "for_sbpmt": "committee.learners.trained.fitted_bounds",
    "for_vote": "committee.learners.trained.fitted_bounds",
    "prune": "committee.learners.trained.pruning",
    "voter_losses": "committee.learners.trained.ensemble_losses",
}

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
