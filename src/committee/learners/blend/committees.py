"""Committees of ensembles for classes and for numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, replace
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from committee.data.labels import refuse_identifier
from committee.data.number_types import F64, Mask
from committee.data.parallel import n_threads
from committee.data.rows import Rows, TargetRows
from committee.data.text import brief_repr, parse_bytes
from committee.learners.bagging.forest_trees import Reserve
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import FRACTION, fitted, parameter, with_parameters
from committee.learners.base.predictors import BaseClassifier, BaseRegressor
from committee.learners.base.row_sampling import copied_rows
from committee.learners.blend.blend import RESERVE_ATTRIBUTES, Blend
from committee.learners.blend.candidates import SECOND_LAYER, LeftOut
from committee.learners.blend.out_of_fold import ValidationRows
from committee.learners.blend.training import CandidateRun
from committee.learners.blend.weights import (
    MIN_PROBABILITY,
    OF_ALL_FITS,
    WeightedVote,
    best_sharpness,
    d2_score,
    log_loss_weights,
    loss_weights,
    resolve_loss,
    row_losses,
    squared_error_weights,
)
from committee.objectives.losses import Loss, LossChoice, Squared
from committee.vote.committee import Committee, RegressionCommittee
from committee.vote.explain.contributions import probability_contributions
from committee.vote.explain.tree_contributions import Output, tree_contributions
from committee.vote.links.mean import Identity, Log
from committee.vote.links.probability import Share
from committee.vote.members import MemberCommittees

LEAST_ROWS_STACKED = 500
MOST_COPIES = 1.05
"""Copies of a row, by whole weights, below which a second layer is tried."""


@with_parameters
class CommitteeClassifier(Blend, BaseClassifier):
    """A committee whose members are whole ensembles, with nothing to tune.

    Each member predicts rows that it was not trained on: out-of-bag rows, or the test rows of folds. By these
    predictions it gets a temperature, and the members get the weights w >= 0, sum_k w_k = 1, of least log loss of

        p(x) = sum_k w_k p_k(x).

    The member of least gain to the vote is removed as long as this is at most `min_gain` standard errors. A member
    trained on folds votes by the mean of its fits.

    A second layer is one more member: boosting, in up to five fits, on the columns ln max(p_lk(x), 1e-4) of the
    held-out probabilities p_l of the library's candidates l, of two classes their log-odds. Equation: second-layer
    (docs/theory.md).

    Attributes
    ----------
    committee_ : Committee
        The fits of all members, each a committee that votes with its probabilities; link `Share`.
    reserved_rows_ : int64 array
        Numbers of the rows of the `reserve`, ascending; only with `reserve`.
    reserve_loss_, reserve_score_ : float
        Mean log loss and accuracy of the vote on these rows, each counted once; only with `reserve`.

    References
    ----------
    L. Breiman (1996). Stacked regressions. Machine Learning 24; of probabilities: M. J. van der Laan, E. C. Polley,
    A. E. Hubbard (2007). Super learner. Statistical Applications in Genetics and Molecular Biology 6(1); of a second
    layer: D. Wolpert (1992). Stacked generalization. Neural Networks 5.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from committee import CommitteeClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = CommitteeClassifier("fast", random_state=0).fit(X, y)
    >>> model.oof_score_ > 0.95, model.members_.columns[:2]
    (True, ['member', 'weight'])
    """

    stored_attributes: ClassVar[tuple[str, ...]] = (*Blend.stored_attributes, *RESERVE_ATTRIBUTES)

    _: KW_ONLY
    reserve: float = parameter(
        0.0,
        """Share of the rows that the fit does not use: neither in training, nor for temperatures and weights.
        ``certify(model, X, y, on="oob")`` bounds the error of the whole vote by it. 0: none, as all rows are
        worth more in training where no bound is wanted.""",
        Interval(Real, 0.0, 1.0, closed="left"),
        after="keep_oof",
    )

    second_layer: bool | Literal["auto"] = parameter(
        "auto",
        """Boosting on the held-out probabilities of the library's candidates, which joins the vote if that lowers the
        held-out loss by more than a standard error. "auto": with the effort "best", from 500 rows, unless rows were
        repeated or resampled, `cv` is a splitter, or the vote would have a larger loss on training rows than on
        held-out ones. True: whenever there are folds, False: never. Contributions, importances, `prune` and ONNX
        refuse it; use ``model.without("second_layer")``, or False if it has all the weight.""",
        after="min_gain",
    )

    def training_rows(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Rows:
        rows = super().training_rows(X, y, sample_weight)
        name = getattr(y, "name", None)
        refuse_identifier(len(self.classes_), rows.count, f"the target {name!r}" if name else "y")
        return rows

    def _reserved(self, rows: Rows, tasks: FitTasks) -> tuple[Rows, Mask, Reserve | None]:
        rows, counted, _ = super()._reserved(rows, tasks)
        if not self.reserve:
            return rows, counted, None
        if self._has_splitter or tasks.groups is not None:
            which = f"cv={brief_repr(self.cv)} may respect" if self._has_splitter else "the folds respect"
            raise ValueError(
                f"reserve={self.reserve} is drawn without regard to groups or time, which {which}; "
                "leave one of them out, or hold rows back yourself and certify with on='validation'."
            )
        rows, reserve = Reserve.draw(self, rows, counted, tasks.random(rows))
        return rows, reserve.others, reserve

    def _reserve_attributes(self, reserve: Reserve, committee: Committee, cells: Any) -> dict[str, Any]:
        labels = reserve.rows.labels
        votes = committee.voters.tally(cells, committee.weights, n_threads(self.n_jobs))
        shares = committee.probability_of(votes)
        return {
            "reserved_rows_": reserve.numbers,
            "reserve_loss_": mean_log_loss(labels, shares),
            "reserve_score_": float((shares.argmax(axis=1) == labels).mean()),
        }

    def _losses(self, predictions: F64, rows: Rows, validation: ValidationRows) -> F64:
        return -np.log(np.maximum(_of_true_class(predictions, rows, validation), MIN_PROBABILITY))

    def _weights(self, predictions: Sequence[F64], rows: Rows, validation: ValidationRows) -> F64:
        p = np.stack([_of_true_class(each, rows, validation) for each in predictions])
        return log_loss_weights(np.maximum(p, MIN_PROBABILITY), validation.row_counts)

    def _sharpness(self, predictions: Sequence[F64], weights: F64, rows: Rows, validation: ValidationRows) -> float:
        labels = rows.labels[validation.row]
        return best_sharpness(predictions, weights, labels, validation.row_counts) * OF_ALL_FITS

    def _score(self, predictions: F64, rows: Rows, validation: ValidationRows) -> float:
        right = predictions.argmax(axis=1) == rows.labels[validation.row]
        return float(np.average(right, weights=validation.weights))

    def _vote(self, vote: WeightedVote) -> Committee:
        return Committee(*vote.voters, self.classes_, Share(), self.table_)

    def _extended(self, run: CandidateRun, vote: WeightedVote) -> WeightedVote:
        rows, every, known = run.fits.rows, run.validation, vote.known
        assert isinstance(rows, Rows)
        if not self._wants_second_layer(rows) or known is None:
            return vote
        # with boosting, which no prediction needs
        from committee.learners.blend.portfolio import FitMemory
        from committee.learners.blend.second_layer import SecondLayer

        if self.memory_limit is not None:
            memory = FitMemory.of(rows, len(self.classes_), every.folds, n_threads(self.n_jobs))
            if memory.peak_with_second_layer(run.candidates) > parse_bytes(self.memory_limit):
                return replace(vote, left_out=[*vote.left_out, LeftOut(SECOND_LAYER, "memory")])
        fold = np.repeat(np.arange(len(every.folds)), [len(one.test) for one in every.folds])[known]
        validation = every.take(known)
        layer = SecondLayer(
            rows.labels[validation.row], known, fold, validation, run.fits.seed, self.n_jobs,
            losses=lambda predictions: self._losses(predictions, rows, validation),
            weighed=lambda members: self._selected(members, known, rows, validation),
            seconds=None if run.plan is None else run.plan.left(),
            most_bytes=None if (limit := self._size_limit(rows)) is None else limit.most,
            training_losses=self._training_losses(run, validation) if self.second_layer == "auto" else None,
        )  # fmt: skip
        return layer.added_to(vote, run.in_order)

    def _training_losses(self, run: CandidateRun, validation: ValidationRows) -> Callable[[WeightedVote], F64]:
        def losses(vote: WeightedVote) -> F64:
            committee, rows = self._vote(vote), run.fits.rows
            assert isinstance(rows, Rows) and isinstance(committee.voters, MemberCommittees)
            given = run.fits.given if committee.voters.reads_tables else None
            cells = rows.cells[validation.row] if given is None else given[validation.row]
            tally = committee.voters.tally(cells, committee.weights, n_threads(self.n_jobs))
            return self._losses(committee.probability_of(tally), rows, validation)

        return losses

    def _wants_second_layer(self, rows: Rows) -> bool:
        return self._suits_second_layer(rows) if self.second_layer == "auto" else self.second_layer

    def _suits_second_layer(self, rows: Rows) -> bool:
        return (
            self.effort == "best"
            and not self._has_splitter
            and len(rows) >= LEAST_ROWS_STACKED
            and rows.count < MOST_COPIES * len(rows)
            and copied_rows(rows, n_threads(self.n_jobs)) is None
        )

    def contributions(self, X: Any, *, output: Output | None = None, parts: bool = False) -> F64:
        """Contributions of the features to the probabilities: the members', weighted by the vote.

        Trees that average class shares without a temperature have the Shapley values of their probabilities. Other
        trees and lines have those of their scores, propagated through their links along the straight line from the
        expected score to the row's; lines in SBPMT's leaves are propagated within each leaf. All are additive, but
        Shapley values of the probability only where a link is straight. See `committee.vote.explain.contributions`.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to explain.
        output : {"probability", "score"}, default=None
            None: "probability". "score": of two classes the second's probability less the first's, `decision_function`;
            of more the probabilities.
        parts : bool, default=False
            Whether parts of dates (see `DateEncoder`) are columns of their own, with the names ``table_.explained``.

        Returns
        -------
        float64 array (n, p + 1, K)
            Features in order, and last the probability with all features unknown. They add up to `predict_proba`; a
            feature's contributions to the classes add up to 0. Of two classes' score ``(n, p + 1)``.

        Raises
        ------
        TypeError
            If `X` is sparse, or a member is of another library or a second layer.
        ValueError
            If `output` is another one.
        """
        if output not in ("probability", "score", None):
            raise ValueError(f"output={output!r} is not available for a classifier; give 'probability' or 'score'.")
        check_is_fitted(self)
        self._refuse_other_members(TypeError, "contributions are those of committee's own members that read columns")
        rows, threads = self.validate_rows(X), n_threads(self.n_jobs)
        shares = self._by_part(probability_contributions(self.committee_, rows, n_threads=threads), parts=parts)
        return shares[:, :, 1] - shares[:, :, 0] if output == "score" and shares.shape[2] == 2 else shares


def mean_log_loss(labels: NDArray[np.unsignedinteger | np.intp], shares: F64) -> float:
    return float(-np.log(np.maximum(shares[np.arange(len(labels)), labels], MIN_PROBABILITY)).mean())


def _of_true_class(predictions: F64, rows: Rows, validation: ValidationRows) -> F64:
    return predictions[np.arange(len(predictions)), rows.labels[validation.row]]


@with_parameters
class CommitteeRegressor(Blend, BaseRegressor):
    """A committee for regression whose members are whole ensembles, with nothing to tune.

    As `CommitteeClassifier`, with the weights of least loss of the mean f(x) = sum_k w_k f_k(x), and no temperatures.
    For losses whose best constant is not the mean, as absolute error and pinball loss, members for means are shifted by
    the best constant on held-out rows, and others are trained on the loss itself.

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

    _numbers = True
    oof_score_: float = fitted(
        """R2 of the vote on held-out rows; for another loss than squared error D2, the share of the best constant's
        loss that the vote saves, as in scikit-learn's ``d2_pinball_score``.""",
        "float",
    )

    _: KW_ONLY
    loss: LossChoice = parameter(
        "squared_error",
        """Loss of the vote: "squared_error" (means), "absolute_error" (medians), "quantile", "huber";
        "poisson" (counts), "gamma" and "tweedie" (amounts). Or a `committee.objectives.losses.Loss` of one number, with
        settings of its own (``Huber(delta=5.0)``) or a convex loss of your own.""",
        str,
        Loss,
        type_words="str or Loss",
    )
    quantile: float = parameter(0.5, """Level of the quantile, for ``loss="quantile"``.""", FRACTION)

    @property
    def number_loss(self) -> Loss:
        return resolve_loss(self.loss, self.quantile)

    def _losses(self, predictions: F64, rows: TargetRows, validation: ValidationRows) -> F64:
        return row_losses(self.number_loss, rows.target[validation.row], predictions[:, 0])

    def _weights(self, predictions: Sequence[F64], rows: TargetRows, validation: ValidationRows) -> F64:
        y, v = rows.target[validation.row], validation.row_counts
        f, loss = np.stack([each[:, 0] for each in predictions]), self.number_loss
        return squared_error_weights(f - y, v) if isinstance(loss, Squared) else loss_weights(loss, f, y, v)

    def _score(self, predictions: F64, rows: TargetRows, validation: ValidationRows) -> float:
        y, loss = rows.target[validation.row], self.number_loss
        if not isinstance(loss, Squared):
            return d2_score(loss, y, predictions[:, 0], validation.weights)
        share = validation.weights / validation.weights.sum()
        y = y - y[0]  # exactly 0 where all are equal
        spread = float(share @ (y - share @ y) ** 2)
        return (
            1.0 - float(share @ self._losses(predictions, rows, validation)) / spread if spread > 0.0 else float("nan")
        )

    def _vote(self, vote: WeightedVote) -> RegressionCommittee:
        return RegressionCommittee(*vote.voters, Identity(), self.table_)

    def contributions(self, X: Any, *, output: Output | None = None, parts: bool = False) -> F64:
        """Shapley values of the features in the predictions: the members', weighted by the vote.

        Each member's are those of `committee.vote.explain.tree_contributions`.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows to explain.
        output : {"prediction", "score"}, default=None
            All are the number predicted.
        parts : bool, default=False
            Whether parts of dates (see `DateEncoder`) are columns of their own, with the names ``table_.explained``.

        Returns
        -------
        float64 array (n, p + 1)
            Features in order, and last the expectation over the training rows; they add up to `predict`.

        Raises
        ------
        TypeError
            If `X` is sparse, or a member is of another library.
        ValueError
            If `output` is another one, or the loss has a log link, with which boosting predicts no sum.
        """
        if output not in ("prediction", "score", None):
            raise ValueError(f"output={output!r} is not available for a regressor; give 'prediction'.")
        check_is_fitted(self)
        self._refuse_other_members(TypeError, "contributions are those of committee's own members that read columns")
        if isinstance(self.number_loss.link, Log):
            raise ValueError(
                f"boosting on the {self.number_loss.name} loss predicts exp(F), which is not a sum over features; "
                "explain the score of a member by tree_contributions(model.committee_.voters.members[0], "
                "model.committee_.encode(X)) of the module committee.vote.explain.tree_contributions."
            )
        data = self.committee_.encode(self.validate_rows(X))
        threads = n_threads(self.n_jobs)
        shares = np.zeros((len(data), data.shape[1] + 1))
        for weight, one in self._fits:
            shares += weight * tree_contributions(one, data, output="prediction", n_threads=threads)
        return self._by_part(shares, parts=parts)

    def _from_file(self) -> None:
        super()._from_file()
        resolve_loss(self.loss, self.quantile)  # refuses what no fit takes
