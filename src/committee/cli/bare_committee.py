"""Learner interface for committees that were saved without a learner."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.learners.base.stored_learner import BaseEstimator
from committee.vote.committee import Committee, RegressionCommittee


def require_draws(learner: Any, source: Path, on: str) -> None:
    if on == "oob" and isinstance(learner, BareCommittee):
        raise ValueError(
            f"{source} does not hold the rows that each voter drew, so that --on oob is not possible; use --on"
            " validation with rows not used in training, or, of a forest, the original in Python"
        )


class BareCommittee(BaseEstimator):
    trained_parameters: tuple[str, ...] = ("committee",)

    committee_: Any
    table_: Any

    def __init__(self, committee: Committee | RegressionCommittee | None) -> None:
        self.committee = committee
        if committee is None:
            return
        self.committee_, self.table_ = committee, committee.table
        if committee.table is not None:
            self.n_features_in_: int = committee.table.source.n_features
            if committee.table.source.names is not None:
                self.feature_names_in_: NDArray[Any] = np.array(committee.table.source.names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "committee_")

    def fit(self, X: Any, y: Any) -> BareCommittee:
        raise ValueError("the file holds a committee without the learner that trained it; fit that learner")

    def stored_values(self) -> Mapping[str, Any]:
        return {}

    def validate_rows(self, X: Any) -> Any:
        return X  # the committee checks them

    def predict(self, X: Any) -> Any:
        return self.committee_.predict(X)

    def contributions(self, X: Any, *, output: Any = "score") -> Any:
        from committee.vote.explain.tree_contributions import tree_contributions

        return tree_contributions(self.committee_, X, output=output)

    @property
    def feature_importances_(self) -> Any:
        return self.committee_.feature_importances_


class BareClassifier(BareCommittee):
    @property
    def classes_(self) -> Any:
        return self.committee_.classes

    def predict_proba(self, X: Any) -> Any:
        return self.committee_.predict_proba(X)
