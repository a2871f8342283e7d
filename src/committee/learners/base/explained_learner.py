"""What a fitted learner says of its votes: leaves, importances, and each row's score shared out among the columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from committee.data.parallel import n_threads

if TYPE_CHECKING:
    from committee.vote.committee import Committee
    from committee.vote.regression import RegressionCommittee
    from committee.voters.forest import ImportanceKind


class ExplainedLearner(ABC):
    """Base of learners whose trees can be looked at; all that they answer, their committee answers."""

    committee_: Committee | RegressionCommittee
    n_jobs: int | None

    @abstractmethod
    def validate_rows(self, X: Any) -> Any:
        """Return X as the committee takes it."""

    def contributions(self, X: Any) -> Any:
        """Exact share of each feature in a row's score; see `committee.vote.explain.tree_contributions`.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to explain.

        Returns
        -------
        float64 array (n, p + 1) for two classes or one number, else (n, p + 1, D)
            Features in order, and last what is expected of a row of which nothing is known. They add up to the score.

        Raises
        ------
        TypeError
            If the voters are no native trees.
        """
        check_is_fitted(self)
        from committee.vote.explain.tree_contributions import tree_contributions

        return tree_contributions(self.committee_, self.validate_rows(X), n_threads=n_threads(self.n_jobs))

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Leaf that each row reaches in each tree of the voters.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows.

        Returns
        -------
        int32 array (n, number of trees), or (n, rounds, scores)
            Node numbers within each tree; the latter where a round has a tree for each of several scores. Trees of
            committees of trees stand one committee after the other.

        Raises
        ------
        TypeError
            If the voters are no native trees.
        """
        check_is_fitted(self)
        return self.committee_.apply(self.validate_rows(X), n_threads=n_threads(self.n_jobs))

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of the voters' weighted split gain that each feature earned, ``(p,)``."""
        check_is_fitted(self)
        return self.committee_.feature_importances_

    def feature_importances(self, kind: ImportanceKind = "gain") -> NDArray[np.float64]:
        """Share of each feature in the splits of the voters' trees, ``(p,)``, by what splits gained or otherwise.

        Parameters
        ----------
        kind : {"gain", "count", "cover"}, default="gain"
            "gain": `feature_importances_`. "count": the number of splits. "cover": the training weight of the rows
            that came to them. A tree counts with the absolute value of its weight; lines in leaves are no splits.

        Returns
        -------
        float64 array (p,)
            Sums to one; all zeros if there is no split.

        Raises
        ------
        TypeError
            If the voters are no native trees, for another kind than "gain".
        ValueError
            If `kind` is unknown, or the trees hold no weights of their training rows.
        """
        check_is_fitted(self)
        return self.feature_importances_ if kind == "gain" else self.committee_.feature_importances(kind)
