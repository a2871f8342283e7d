"""Configurations of the models as TabArena wants them: the default, and what a search may try."""

from __future__ import annotations

from typing import Any

from autogluon.common.space import Categorical, Int, Real
from tabarena.utils.config_utils import AGConfigGenerator, ConfigGenerator

from committee_tabarena.models import CommitteeBoostingModel, CommitteeModel, CommitteeOnceModel, SBPMTModel

BOOSTING_SPACE = {
    "learning_rate": Real(0.02, 0.3, log=True),
    "max_leaf_nodes": Categorical(15, 4, 7, 31, 63),
    "min_samples_leaf": Categorical(5, 1, 2, 10, 20, 40),
    "leaf_l2": Real(0.1, 30.0, log=True),
    "subsample": Real(0.5, 1.0),
    "max_features": Real(0.2, 1.0),
    "extra_trees": Categorical(False, True),
    "leaf": Categorical("auto", "constant"),
}
"""Of gradient boosting; the number of rounds follows from early stopping on the rows to validate on."""
SBPMT_SPACE = {
    "n_boosting_rounds": Int(1, 12),
    "max_samples": Real(0.5, 0.9),
    "max_depth": Categorical("auto", 1, 2, 4, 6),
    "min_samples_leaf": Categorical(20, 5, 10, 40),
    "max_features": Real(0.2, 1.0),
    "emphasis": Categorical("samme", "m2", "mh"),
    "voting": Categorical("soft", "shares"),
}
"""Of SBPMT."""


class NothingToTune(AGConfigGenerator):  # type: ignore[misc]
    """Configurations of a model without a search."""

    def get_searcher_configs(self, num_configs: int) -> list[dict[str, Any]]:
        """Refuse to draw any.

        Raises
        ------
        ValueError
            Always.
        """
        raise ValueError(f"num_random_configs={num_configs}: {self.name} has nothing to tune; give 0.")


gen_committee = NothingToTune(CommitteeModel, manual_configs=[{}])
"""The committee as it comes; in a bag it is trained on each of the bag's folds, as all models are."""
gen_committee_once = NothingToTune(CommitteeOnceModel, manual_configs=[{}])
"""The committee trained once on all rows where others are bagged."""
gen_boosting = ConfigGenerator(BOOSTING_SPACE, CommitteeBoostingModel, manual_configs=[{}])
gen_sbpmt = ConfigGenerator(SBPMT_SPACE, SBPMTModel, manual_configs=[{}])
