"""The committee of ensembles for numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from committee.data.number_types import F64
from committee.data.parallel import n_threads
from committee.data.rows import TargetRows
from committee.learners.base.estimator import BaseRegressor
from committee.learners.base.parameters import FRACTION, fitted, parameter, with_parameters
from committee.learners.blend.blend import Blend
from committee.learners.blend.loss_of_rows import chosen_loss, loss_of_rows, share_explained
from committee.learners.blend.loss_weights import loss_weights
from committee.learners.blend.member import Judged, LeftOut
from committee.learners.blend.pool import squared_error_weights
from committee.learners.blend.suited import suited_to_targets
from committee.learners.blend.weighing import Blended
from committee.objectives.losses import Loss, LossChoice, Squared
from committee.vote.explain.tree_contributions import tree_contributions
from committee.vote.explain.tree_scores import Output
from committee.vote.links.mean import Identity, Log
from committee.vote.regression import RegressionCommittee

if TYPE_CHECKING:
    from committee.learners.blend.portfolio import Candidate


@with_parameters
class CommitteeRegressor(Blend, BaseRegressor):
    """A committee whose members are whole ensembles, with nothing to tune, for numbers.

    As `CommitteeClassifier`, with the weights of least loss of the mean f(x) = sum_k w_k f_k(x), and no temperatures.
    Where the loss wants no means, as absolute error and pinball loss, members for means are moved by the constant that
    is best for rows that they have not seen, and others are trained on the loss itself.

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

    oof_score_: float = fitted(
        """R2 of the vote on rows that the voting fits have not seen; for another loss than squared error D2, by what
        share of the best constant's loss the vote has less, as in scikit-learn's ``d2_pinball_score``.""",
        "float",
    )

    _: KW_ONLY
    loss: LossChoice = parameter(
        "squared_error",
        """What is to be least on new rows: "squared_error" (means), "absolute_error" (medians), "quantile", "huber";
        "poisson" (counts), "gamma" and "tweedie" (amounts). Or a `committee.objectives.losses.Loss` of one number, for
        other numbers than the defaults (``Huber(delta=5.0)``) or a convex loss of your own.""",
        str,
        Loss,
        type_words="str or Loss",
    )
    quantile: float = parameter(0.5, """For ``loss="quantile"``: which one.""", FRACTION)

    @property
    def _numbers(self) -> bool:
        return True

    @property
    def number_loss(self) -> Loss:
        """Loss of the numbers that are predicted, as `loss` and `quantile` say."""
        return chosen_loss(self.loss, self.quantile)

    def _wanted(self, n: float = 0.0) -> list[Candidate]:
        from committee.learners.blend.portfolio import of_loss

        return of_loss(super()._wanted(n), self.number_loss, self.effort)

    def _suited(self, wanted: list[Candidate], rows: TargetRows) -> tuple[list[Candidate], list[LeftOut]]:
        self.number_loss.check_target(rows.target)
        chosen, others = suited_to_targets(wanted, self.number_loss, rows.target)
        suited, left_out = super()._suited(chosen, rows)
        return suited, others + left_out

    def _losses(self, answers: F64, rows: TargetRows, judged: Judged) -> F64:
        return loss_of_rows(self.number_loss, rows.target[judged.row], answers[:, 0])

    def _weights(self, answers: Sequence[F64], rows: TargetRows, judged: Judged) -> F64:
        y, v = rows.target[judged.row], judged.weights / judged.weights.sum() * judged.count
        predictions = np.stack([each[:, 0] for each in answers])
        loss = self.number_loss
        if isinstance(loss, Squared):
            return squared_error_weights(predictions - y, v)
        return loss_weights(loss, predictions, y, v)

    def _score(self, answers: F64, rows: TargetRows, judged: Judged) -> float:
        y, loss = rows.target[judged.row], self.number_loss
        if not isinstance(loss, Squared):
            return share_explained(loss, y, answers[:, 0], judged.weights)
        share = judged.weights / judged.weights.sum()
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
            If `output` is another one, or the loss has a log link, whose members' predictions are no sums.
        """
        if output not in ("prediction", "score"):
            raise ValueError(f"output={output!r} is none of a regressor's; give 'prediction'.")
        check_is_fitted(self)
        if isinstance(self.number_loss.link, Log):
            raise ValueError(
                f"members for the {self.number_loss.name} loss predict exp(F), which is no sum over features; ask one "
                "of them for its score, as in committee.vote.explain.tree_contributions("
                "model.committee_.voters.members[0], X)."
            )
        data = self.committee_.encode(self.validate_rows(X))
        threads = n_threads(self.n_jobs)
        shares = np.zeros((len(data), self.n_features_in_ + 1))
        for weight, one in self._fits:
            shares += weight * tree_contributions(one, data, output="prediction", n_threads=threads)
        return shares

    def _from_file(self) -> None:
        super()._from_file()
        chosen_loss(self.loss, self.quantile)  # refuses what no fit takes
