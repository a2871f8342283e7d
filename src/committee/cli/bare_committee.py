"""A committee in a file of its own, as commands take learners: what convert writes has none that trained it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.learners.base.stored_learner import BaseEstimator
from committee.vote.committee import Committee, RegressionCommittee


def bare_committee(committee: Committee | RegressionCommittee) -> BareCommittee:
    """Return a committee as commands take learners.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    >>> model = bare_committee(Committee.from_estimator(forest))
    >>> bool((model.predict(X) == forest.predict(X)).all())
    True
    """
    return (BareClassifier if isinstance(committee, Committee) else BareCommittee)(committee)


class BareCommittee(BaseEstimator):
    """A committee, and what commands ask of a learner; it has no parameters.

    Parameters
    ----------
    committee : Committee, RegressionCommittee or None
        None: one that is not fitted, by which descriptions compare parameters.
    """

    trained_parameters: tuple[str, ...] = ("committee",)

    committee_: Any
    table_: Any

    def __init__(self, committee: Committee | RegressionCommittee | None) -> None:
        self.committee = committee
        if committee is None:
            return
        self.committee_, self.table_ = committee, committee.table
        if committee.table is not None:
            self.n_features_in_: int = committee.table.n_features
            if committee.table.names is not None:
                self.feature_names_in_: NDArray[Any] = np.array(committee.table.names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "committee_")

    def fit(self, X: Any, y: Any) -> BareCommittee:
        """Refuse to train."""
        raise ValueError("the file holds a committee alone, without the learner that trained it")

    def stored_values(self) -> Mapping[str, Any]:
        """None."""
        return {}

    def validate_rows(self, X: Any) -> Any:
        """Rows as they are; the committee checks them."""
        return X

    def predict(self, X: Any) -> NDArray[Any]:
        """Elected classes, or numbers."""
        answers: NDArray[Any] = self.committee_.predict(X)
        return answers

    def contributions(self, X: Any, *, output: Any = "score") -> Any:
        """Shapley values of the columns; see `committee.vote.explain.tree_contributions`."""
        from committee.vote.explain.tree_contributions import tree_contributions

        return tree_contributions(self.committee_, X, output=output)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of the split gain that each column earned."""
        shares: NDArray[np.float64] = self.committee_.feature_importances_
        return shares


class BareClassifier(BareCommittee):
    """A committee of classes."""

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in the committee's order."""
        labels: NDArray[Any] = self.committee_.classes
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes."""
        chances: NDArray[np.float64] = self.committee_.predict_proba(X)
        return chances
