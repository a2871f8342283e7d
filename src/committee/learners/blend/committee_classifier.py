"""The committee of ensembles for classes."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from committee.data.number_types import F64, Mask
from committee.data.parallel import n_threads
from committee.data.rows import Rows
from committee.learners.bagging.reserve import Reserve, refuse_learned_weights
from committee.learners.base.estimator import BaseClassifier
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import parameter, with_parameters
from committee.learners.blend.blend import RESERVED, Blend
from committee.learners.blend.member import Judged
from committee.learners.blend.pool import log_loss_weights
from committee.learners.blend.weighing import Blended
from committee.vote.committee import Committee
from committee.vote.explain.probability_contributions import probability_contributions
from committee.vote.explain.tree_scores import Output
from committee.vote.links.probability import Share

LEAST = 1e-15
"""Probabilities below count as this in a loss."""


@with_parameters
class CommitteeClassifier(Blend, BaseClassifier):
    """A committee whose members are whole ensembles, with nothing to tune.

    Each member judges the rows that it has not seen: out of its bags, or as one of the folds that its fits leave out.
    By these answers it gets a temperature, and the members get the weights w >= 0, sum_k w_k = 1, of least log loss of

        p(x) = sum_k w_k p_k(x).

    Members that add less than `min_gain` standard errors to the vote go. A member of folds votes by the mean of its
    fits.

    Attributes
    ----------
    committee_ : Committee
        The fits of all members, each a committee that votes with its probabilities; link `Share`.
    reserved_rows_ : int64 array
        Numbers of the rows of the `reserve`, ascending; with `reserve` alone.
    reserve_loss_, reserve_score_ : float
        Mean log loss and accuracy of the vote on these rows, each counted once; with `reserve` alone.

    References
    ----------
    L. Breiman (1996). Stacked regressions. Machine Learning 24; of probabilities: M. J. van der Laan, E. C. Polley,
    A. E. Hubbard (2007). Super learner. Statistical Applications in Genetics and Molecular Biology 6(1).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from committee import CommitteeClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = CommitteeClassifier("fast", random_state=0).fit(X, y)
    >>> model.oof_score_ > 0.95, model.members_.columns[:2]
    (True, ['member', 'weight'])
    """

    stored_attributes: ClassVar[tuple[str, ...]] = (*Blend.stored_attributes, *RESERVED)

    reserve: float = parameter(
        0.0,
        """Share of the rows that has no part in anything: no fit is given it, and no temperature or weight is chosen
        by it. ``certify(model, X, y, on="oob")`` bounds the error of the whole vote by it. 0: none, as all rows are
        worth more in training where no bound is wanted.""",
        Interval(Real, 0.0, 1.0, closed="left"),
        after="keep_oof",
    )

    @property
    def _numbers(self) -> bool:
        return False

    def _reserved(self, rows: Rows, tasks: FitTasks) -> tuple[Rows, Mask, Reserve | None]:
        rows, counted, _ = super()._reserved(rows, tasks)
        if not self.reserve:
            return rows, counted, None
        if self._has_splitter:
            raise ValueError(
                f"reserve={self.reserve} is drawn without regard to groups or time, which cv={self.cv!r} may heed; "
                "leave one of them out, or hold rows back yourself and certify with on='validation'."
            )
        refuse_learned_weights(self.class_weight, self.reserve)
        rows, reserve, table = Reserve.draw(rows, self.reserve, self.table_, self.classes_, counted, tasks.random())
        self.table_ = table
        return rows, reserve.others, reserve

    def _told_by(self, reserve: Reserve | None, committee: Committee) -> dict[str, Any]:
        if reserve is None:
            return {}
        labels = reserve.rows.labels
        votes = committee.voters.tally(reserve.rows.cells, committee.weights, n_threads(self.n_jobs))
        shares = committee.probability_of(votes)
        return {
            "reserved_rows_": reserve.numbers,
            "reserve_loss_": log_loss_of(labels, shares),
            "reserve_score_": float((shares.argmax(axis=1) == labels).mean()),
        }

    def _losses(self, answers: F64, rows: Rows, judged: Judged) -> F64:
        return -np.log(np.maximum(_of_class(answers, rows, judged), LEAST))

    def _weights(self, answers: Sequence[F64], rows: Rows, judged: Judged) -> F64:
        p = np.stack([_of_class(each, rows, judged) for each in answers])
        v = judged.weights / judged.weights.sum() * judged.count
        return log_loss_weights(np.maximum(p, LEAST), v)

    def _score(self, answers: F64, rows: Rows, judged: Judged) -> float:
        right = answers.argmax(axis=1) == rows.labels[judged.row]
        return float(np.average(right, weights=judged.weights))

    def _vote(self, blended: Blended) -> Committee:
        return Committee(*blended.voters, self.classes_, Share(), self.table_)

    def contributions(self, X: Any, *, output: Output = "probability") -> F64:
        """Share of each feature in the probabilities: the members' shares, weighted by the vote.

        They add up. Members that average class shares without a temperature have the Shapley values of their
        probabilities; those of all others are Shapley values of their scores, carried through their links along the
        straight line from what is expected of a row of which nothing is known. These are Shapley values of the
        probability itself only where a link is straight there; `committee.vote.explain.probability_contributions` says
        which is which.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to explain.
        output : {"probability", "score"}, default="probability"
            "score": of two classes the second's probability less the first's, `decision_function`; of more the
            probabilities.

        Returns
        -------
        float64 array (n, p + 1, K)
            Features in order, and last what is expected of a row of which nothing is known. They add up to
            `predict_proba`; a feature's shares in the classes add up to 0. Of two classes' score ``(n, p + 1)``.

        Raises
        ------
        TypeError
            If `X` is sparse.
        ValueError
            If `output` is another one.
        """
        if output not in ("probability", "score"):
            raise ValueError(f"output={output!r} is none of a classifier's; give 'probability' or 'score'.")
        check_is_fitted(self)
        rows, threads = self.validate_rows(X), n_threads(self.n_jobs)
        shares = probability_contributions(self.committee_, rows, n_threads=threads)
        return shares[:, :, 1] - shares[:, :, 0] if output == "score" and shares.shape[2] == 2 else shares


def log_loss_of(labels: NDArray[np.unsignedinteger | np.intp], shares: F64) -> float:
    """Mean log loss of probabilities ``(n, K)``, each row counted once."""
    return float(-np.log(np.maximum(shares[np.arange(len(labels)), labels], LEAST)).mean())


def _of_class(answers: F64, rows: Rows, judged: Judged) -> F64:
    """Probability of each row's class."""
    return answers[np.arange(len(answers)), rows.labels[judged.row]]
