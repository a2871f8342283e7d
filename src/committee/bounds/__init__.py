"""Upper bounds on errors, one file per theorem; each says its terms, whether it is vacuous and what would help."""

from committee.bounds.base_class import ln_tree_class
from committee.bounds.boosting_vc import boosting_probit_risk, boosting_vc, model_tree_vc_dimension
from committee.bounds.ensemble_norm import Surrogate, ensemble_margin, ensemble_norm
from committee.bounds.fitted import for_adaboost, for_sbpmt, for_vote
from committee.bounds.fitted_norm import for_quadboost
from committee.bounds.margin_product import exponential_loss, margin_product
from committee.bounds.nested_trees import boosting_tree, matryoshka
from committee.bounds.overlap import Overlap, advised_draws, overlap, overlap_limits
from committee.bounds.rademacher import ensemble_complexity, expected_complexity, massart
from committee.bounds.result import Bound
from committee.bounds.subagging import majority, subagging
from committee.bounds.voting import voting, voting_certified

__all__ = [
    "Bound",
    "Overlap",
    "Surrogate",
    "advised_draws",
    "boosting_probit_risk",
    "boosting_tree",
    "boosting_vc",
    "ensemble_complexity",
    "ensemble_margin",
    "ensemble_norm",
    "expected_complexity",
    "exponential_loss",
    "for_adaboost",
    "for_quadboost",
    "for_sbpmt",
    "for_vote",
    "ln_tree_class",
    "majority",
    "margin_product",
    "massart",
    "matryoshka",
    "model_tree_vc_dimension",
    "overlap",
    "overlap_limits",
    "subagging",
    "voting",
    "voting_certified",
]
