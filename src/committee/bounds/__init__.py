"""Upper bounds on errors, one file per theorem; each says its terms, whether it is vacuous and what would help."""

from committee.bounds.base_class import ln_tree_class
from committee.bounds.binomial import binomial
from committee.bounds.boosting_vc import boosting_probit_risk, boosting_vc, model_tree_vc_dimension
from committee.bounds.breiman_margin import breiman_margin
from committee.bounds.c_bound import c_bound, c_bound_pac_bayes
from committee.bounds.ensemble_norm import Surrogate, ensemble_margin, ensemble_norm
from committee.bounds.first_order import first_order
from committee.bounds.held_out_errors import held_out_errors
from committee.bounds.margin_product import exponential_loss, margin_product
from committee.bounds.nested_trees import boosting_tree, matryoshka
from committee.bounds.overlap import Overlap, advised_draws, overlap, overlap_limits
from committee.bounds.rademacher import ensemble_complexity, expected_complexity, massart
from committee.bounds.result import Bound
from committee.bounds.schapire_margin import schapire_margin
from committee.bounds.subagging import majority, subagging
from committee.bounds.tandem import tandem
from committee.bounds.tandem_weights import tandem_weights
from committee.bounds.unlabelled_margins import unlabelled_margins
from committee.bounds.voter_losses import VoterLosses
from committee.bounds.voting import voting, voting_certified
from committee.learners.trained.certify import Certificate, certify
from committee.learners.trained.fitted_bounds import for_adaboost, for_sbpmt, for_vote
from committee.learners.trained.fitted_norm import for_quadboost

__all__ = [
    "Bound",
    "Certificate",
    "Overlap",
    "Surrogate",
    "VoterLosses",
    "advised_draws",
    "binomial",
    "boosting_probit_risk",
    "boosting_tree",
    "boosting_vc",
    "breiman_margin",
    "c_bound",
    "c_bound_pac_bayes",
    "certify",
    "ensemble_complexity",
    "ensemble_margin",
    "ensemble_norm",
    "expected_complexity",
    "exponential_loss",
    "first_order",
    "for_adaboost",
    "for_quadboost",
    "for_sbpmt",
    "for_vote",
    "held_out_errors",
    "ln_tree_class",
    "majority",
    "margin_product",
    "massart",
    "matryoshka",
    "model_tree_vc_dimension",
    "overlap",
    "overlap_limits",
    "schapire_margin",
    "subagging",
    "tandem",
    "tandem_weights",
    "unlabelled_margins",
    "voting",
    "voting_certified",
]
