"""The committee of ensembles for numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.data.rows import TargetRows
from committee.learners.base.estimator import BaseRegressor
from committee.learners.base.parameters import with_parameters
from committee.learners.blend.blend import Blend, Blended
from committee.learners.blend.member import Judged
from committee.learners.blend.pool import squared_error_weights
from committee.vote.explain.tree_contributions import Output, tree_contributions
from committee.vote.links.mean import Identity
from committee.vote.regression import RegressionCommittee


@with_parameters
class CommitteeRegressor(Blend, BaseRegressor):
    """A committee whose members are whole ensembles, with nothing to tune, for numbers.

    As `CommitteeClassifier`, with the weights of least squared error of the mean f(x) = sum_k w_k f_k(x), and no
    temperatures.

    Attributes
    ----------
    committee_ : RegressionCommittee
        The fits of all members, each a committee that votes with what it predicts.

    References
    ----------
    L. Breiman (1996). Stacked regressions. Machine Learning 24.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import CommitteeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = CommitteeRegressor("fast", random_state=0).fit(X, y)
    >>> 0.4 < model.oof_score_ < 0.6
    True
    """

    @property
    def _numbers(self) -> bool:
        return True

    def _losses(self, answers: F64, rows: TargetRows, judged: Judged) -> F64:
        return np.asarray((answers[:, 0] - rows.target[judged.row]) ** 2)

    def _weights(self, answers: Sequence[F64], rows: TargetRows, judged: Judged) -> F64:
        error = np.stack([each[:, 0] for each in answers]) - rows.target[judged.row]
        return squared_error_weights(error, judged.weights / judged.weights.sum() * judged.count)

    def _score(self, answers: F64, rows: TargetRows, judged: Judged) -> float:
        y, share = rows.target[judged.row], judged.weights / judged.weights.sum()
        y = y - y[0]  # exactly 0 where all are equal
        spread = float(share @ (y - share @ y) ** 2)
        return 1.0 - float(share @ self._losses(answers, rows, judged)) / spread if spread > 0.0 else float("nan")

    def _vote(self, blended: Blended) -> RegressionCommittee:
        return RegressionCommittee(*blended.voters, Identity(), self.table_)

    def contributions(self, X: Any, *, output: Output = "prediction") -> F64:
        """Exact share of each feature in the predictions: the members' Shapley values, weighted by the vote.

        Each member's are those of `committee.vote.explain.tree_contributions`.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to explain.
        output : {"prediction", "score"}, default="prediction"
            Both are the number predicted.

        Returns
        -------
        float64 array (n, p + 1)
            Features in order, and last what is expected of a row of which nothing is known; they add up to `predict`.

        Raises
        ------
        ValueError
            If `output` is another one.
        """
        if output not in ("prediction", "score"):
            raise ValueError(f"output={output!r} is none of a regressor's; give 'prediction'.")
        check_is_fitted(self)
        data = self.committee_.encode(self.validate_rows(X))
        threads = n_threads(self.n_jobs)
        shares = np.zeros((len(data), self.n_features_in_ + 1))
        for weight, one in self._fits:
            shares += weight * tree_contributions(one, data, output="prediction", n_threads=threads)
        return shares
