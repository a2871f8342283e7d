"""Upper bounds on errors, one file per theorem; each says its terms, whether it is vacuous and what would help.

An argument out of its range raises a ValueError that names the argument, its value and the range.
"""

from typing import TYPE_CHECKING

from committee.data.lazy_names import lazy_names

if TYPE_CHECKING:
    from committee.bounds.base_class import ln_tree_class
    from committee.bounds.binomial_tail import binomial
    from committee.bounds.finite_class_margins import schapire_margin
    from committee.bounds.gibbs_loss import first_order
    from committee.bounds.held_out_rows import held_out_errors
    from committee.bounds.margin_moments import c_bound, c_bound_pac_bayes
    from committee.bounds.nested_trees import boosting_tree, matryoshka
    from committee.bounds.rademacher import ensemble_complexity, expected_complexity, massart
    from committee.bounds.result import Bound
    from committee.bounds.smallest_margin import breiman_margin
    from committee.bounds.subsample_overlap import Overlap, advised_draws, overlap, overlap_limits
    from committee.bounds.subsample_vote import majority, subagging
    from committee.bounds.tandem_loss import tandem
    from committee.bounds.tandem_minimum import tandem_weights
    from committee.bounds.training_margins import exponential_loss, margin_product
    from committee.bounds.unlabelled_rows import unlabelled_margins
    from committee.bounds.vc_dimension import boosting_probit_risk, boosting_vc, model_tree_vc_dimension
    from committee.bounds.voter_losses import VoterLosses
    from committee.bounds.voting_margins import voting, voting_certified
    from committee.bounds.weight_norm import Surrogate, ensemble_margin, ensemble_norm

__all__ = [
    "Bound",
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
    "ensemble_complexity",
    "ensemble_margin",
    "ensemble_norm",
    "expected_complexity",
    "exponential_loss",
    "first_order",
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

_MODULES = {
    "Bound": "committee.bounds.result",
    "Overlap": "committee.bounds.subsample_overlap",
    "Surrogate": "committee.bounds.weight_norm",
    "VoterLosses": "committee.bounds.voter_losses",
    "advised_draws": "committee.bounds.subsample_overlap",
    "binomial": "committee.bounds.binomial_tail",
    "boosting_probit_risk": "committee.bounds.vc_dimension",
    "boosting_tree": "committee.bounds.nested_trees",
    "boosting_vc": "committee.bounds.vc_dimension",
    "breiman_margin": "committee.bounds.smallest_margin",
    "c_bound": "committee.bounds.margin_moments",
    "c_bound_pac_bayes": "committee.bounds.margin_moments",
    "ensemble_complexity": "committee.bounds.rademacher",
    "ensemble_margin": "committee.bounds.weight_norm",
    "ensemble_norm": "committee.bounds.weight_norm",
    "expected_complexity": "committee.bounds.rademacher",
    "exponential_loss": "committee.bounds.training_margins",
    "first_order": "committee.bounds.gibbs_loss",
    "held_out_errors": "committee.bounds.held_out_rows",
    "ln_tree_class": "committee.bounds.base_class",
    "majority": "committee.bounds.subsample_vote",
    "margin_product": "committee.bounds.training_margins",
    "massart": "committee.bounds.rademacher",
    "matryoshka": "committee.bounds.nested_trees",
    "model_tree_vc_dimension": "committee.bounds.vc_dimension",
    "overlap": "committee.bounds.subsample_overlap",
    "overlap_limits": "committee.bounds.subsample_overlap",
    "schapire_margin": "committee.bounds.finite_class_margins",
    "subagging": "committee.bounds.subsample_vote",
    "tandem": "committee.bounds.tandem_loss",
    "tandem_weights": "committee.bounds.tandem_minimum",
    "unlabelled_margins": "committee.bounds.unlabelled_rows",
    "voting": "committee.bounds.voting_margins",
    "voting_certified": "committee.bounds.voting_margins",
}

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
