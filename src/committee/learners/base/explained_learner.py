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
    from committee.vote.explain.tree_scores import Output
    from committee.vote.regression import RegressionCommittee
    from committee.voters.forest import ImportanceKind


class ExplainedLearner(ABC):
    """Base of learners whose trees can be looked at; all that they answer, their committee answers."""

    committee_: Committee | RegressionCommittee
    n_jobs: int | None

    @abstractmethod
    def validate_rows(self, X: Any) -> Any:
        """Return X as the committee takes it."""

    def contributions(self, X: Any, *, output: Output = "score") -> Any:
        """Exact share of each feature in what the trees say of a row: its Shapley values.

        Where leaves have lines these are the Shapley values of the leaves' weights, and what a line adds beyond its
        leaf's weight goes to the column that it is along. See `committee.vote.explain.tree_contributions`.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to explain.
        output : {"score", "probability", "prediction"}, default="score"
            "score": the weighted sum over the trees. "probability", of forests and other means of class shares: that
            mean, which is `predict_proba` with ``calibrate=None``; a temperature sharpens it and elects the same class,
            but what comes of it is no sum over trees. "prediction", of numbers that are a sum or a mean over the trees:
            `predict`.

        Returns
        -------
        float64 array
            Features in order, and last what is expected of a row of which nothing is known; they add up to the output.
            ``(n, p + 1, K)`` for probabilities, of any number K of classes, and for scores of more than two classes or
            K numbers; else ``(n, p + 1)``.

        Raises
        ------
        TypeError
            If the voters are no native trees, or `X` is sparse.
        ValueError
            If the learner's `output` is no sum over its trees.
        """
        check_is_fitted(self)
        from committee.vote.explain.tree_contributions import tree_contributions

        rows = self.validate_rows(X)
        return tree_contributions(self.committee_, rows, output=output, n_threads=n_threads(self.n_jobs))

    def interventional_contributions(self, X: Any, background: Any, *, output: Output = "score") -> Any:
        """Shapley values of the features beside background rows: where one is not known it has their value.

        `contributions` lets features that are known tell of those that are not, as the training rows do; here they do
        not, and a column that the model does not look at gets nothing, whatever it goes along with. See
        `committee.vote.explain.interventional_contributions`.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to explain.
        background : table or array-like (m, p)
            Rows, such as 100 drawn from the training table; the time grows with n times m.
        output : {"score", "probability", "prediction"}, default="score"
            As in `contributions`.

        Returns
        -------
        float64 array
            As that of `contributions`; the last place is the mean output of the background.

        Raises
        ------
        TypeError
            If the voters are no native trees, or a table is sparse.
        ValueError
            If there is no background row, or the learner's `output` is no sum over its trees.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from committee import GradientBoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = GradientBoostingRegressor(n_estimators=20).fit(X, y)
        >>> shares = model.interventional_contributions(X[:5], X[::10])
        >>> shares.shape, bool(abs(shares.sum(axis=1) - model.predict(X[:5])).max() < 1e-9)
        ((5, 11), True)
        """
        check_is_fitted(self)
        from committee.vote.explain.interventional_contributions import interventional_contributions, refuse_no_rows

        refuse_no_rows(background)
        rows, others = self.validate_rows(X), self.validate_rows(background)
        threads = n_threads(self.n_jobs)
        return interventional_contributions(self.committee_, rows, others, output=output, n_threads=threads)

    def interactions(self, X: Any, *, output: Output = "score") -> Any:
        """What every two features add together: Shapley interaction values of trees of at most 64 leaves.

        See `committee.vote.explain.tree_interactions`.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to explain; the result holds n p^2 numbers for each output.
        output : {"score", "probability", "prediction"}, default="score"
            As in `contributions`.

        Returns
        -------
        float64 array
            ``(n, p, p)``, or ``(n, p, p, K)`` where `contributions` has K numbers: symmetric, half of what two features
            add together in each of its two places. Summed over the second p they are `contributions` without its last
            place.

        Raises
        ------
        TypeError
            If the voters are no native trees, or `X` is sparse.
        ValueError
            If a tree has more than 64 leaves, or the learner's `output` is no sum over its trees.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from committee import GradientBoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = GradientBoostingRegressor(n_estimators=20).fit(X, y)
        >>> model.interactions(X[:5]).shape
        (5, 10, 10)
        """
        check_is_fitted(self)
        from committee.vote.explain.tree_interactions import tree_interactions

        return tree_interactions(
            self.committee_, self.validate_rows(X), output=output, n_threads=n_threads(self.n_jobs)
        )

    def explanation(self, X: Any, *, output: Output | None = None, background: Any = None) -> Any:
        """Contributions as an explanation of the package shap, which its pictures are made from.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to explain.
        output : {"score", "probability", "prediction"}, default=None
            What the values add up to; None: the default of the learner's `contributions`.
        background : table or array-like (m, p), default=None
            Rows for `interventional_contributions`; None: `contributions`, over the training rows.

        Returns
        -------
        shap.Explanation
            Values and base values, the columns' names, the rows as the model reads them, with the numbers of
            categories, and as they were given in ``display_data``. Several classes are its last axis, with their names.

        Raises
        ------
        MissingExtraError
            If shap is not installed.
        TypeError, ValueError
            As `contributions`.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from committee import GradientBoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> model = GradientBoostingRegressor(n_estimators=20).fit(X, y)
        >>> model.explanation(X[:5]).feature_names[:3]  # shap.plots.waterfall(model.explanation(X)[0])
        ['age', 'sex', 'bmi']
        """
        check_is_fitted(self)
        from committee.vote.explain.shap_explanation import shap_explanation

        return shap_explanation(self, X, output, background)

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
        """Share of each feature in the splits of the voters' trees, ``(p,)``, by gain, number or rows of these.

        Parameters, result and errors are those of the committee's `feature_importances`, but for "gain", which is
        `feature_importances_`, of voters of any kind.
        """
        check_is_fitted(self)
        return self.feature_importances_ if kind == "gain" else self.committee_.feature_importances(kind)
