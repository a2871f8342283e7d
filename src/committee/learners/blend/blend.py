"""A committee of ensembles: what its classifier and its regressor do alike."""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from committee.data.array_checks import check_array, check_range
from committee.data.memory_text import bytes_of
from committee.data.names import hint_of_names, is_unicode
from committee.data.number_types import F64, Mask
from committee.data.parallel import n_threads, one_blas_thread
from committee.data.rows import Rows, TargetRows, have_weight
from committee.data.sparse import SparseMatrix
from committee.data.typed_json import field
from committee.learners.bagging.draws import among_all
from committee.learners.bagging.reserve import Reserve
from committee.learners.base import shared_parameters as shared
from committee.learners.base.estimator import CommitteeEstimator, R
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.folds import Fold, Folds
from committee.learners.base.parameters import fitted, parameter, with_parameters
from committee.learners.blend.candidate_run import CandidateRun
from committee.learners.blend.effort import Effort, n_folds
from committee.learners.blend.fits_ahead import fits_ahead
from committee.learners.blend.fold_fits import FoldFits
from committee.learners.blend.given_folds import given_folds
from committee.learners.blend.left_out_rows import left_out_unseen
from committee.learners.blend.member import Judged, LeftOut, Member, Training
from committee.learners.blend.members_table import members_table
from committee.learners.blend.reducible import ReducibleBlend
from committee.learners.blend.suited import suited_to_sparse_rows
from committee.learners.blend.time_limit import TimeLimit
from committee.learners.blend.weighing import Blended, Weighing, answers_of_all, rows_of_all
from committee.objectives.losses import Loss
from committee.vote.explain.importances import feature_importances
from committee.vote.members import MemberCommittees
from committee.voters.committees import BoostedCommittees
from committee.voters.linear_scores import LinearScores

if TYPE_CHECKING:
    import polars as pl

    from committee.files.checkpoint import Checkpoint
    from committee.learners.blend.portfolio import Candidate
    from committee.vote.committee import Committee
    from committee.vote.regression import RegressionCommittee

KEPT = ("oof_decision_function_", "oof_prediction_")
"""What `keep_oof` keeps of classes and of numbers."""

RESERVED = ("reserved_rows_", "reserve_loss_", "reserve_score_")
"""What a fit with a `reserve` tells of it."""


@with_parameters
class Blend(ReducibleBlend, CommitteeEstimator):
    """Base of the committees of ensembles."""

    voter_kinds: ClassVar[tuple[str, ...] | None] = ("members",)
    stored_attributes: ClassVar[tuple[str, ...]] = (
        "member_names_",
        "member_weights_",
        "member_losses_",
        "member_gains_",
        "member_seconds_",
        "member_sizes_",
        "left_out_",
        "left_out_losses_",
        "left_out_seconds_",
        "oof_loss_",
        "oof_score_",
        "n_folds_",
    )

    member_names_: list[str] = fitted("Names of the members, those of weight.", "list of str")
    member_weights_: F64 = fitted("Weight of each member in the mean, adding up to 1.", "float64 array")
    member_losses_: F64 = fitted(
        "Mean loss of each member alone on rows that it has not seen: log loss, or the one for numbers.",
        "float64 array",
    )
    member_gains_: F64 = fitted("By how much that loss of the vote would rise without the member.", "float64 array")
    member_seconds_: F64 = fitted("Seconds that its training took.", "float64 array")
    member_sizes_: NDArray[np.int64] = fitted(
        "Fits of each member: the voters of ``committee_`` are those of the first member, then of the second, ...",
        "int64 array",
    )
    left_out_: dict[str, str] = fitted(
        """Candidates that are no members, and why: no weight, no time, memory, an error, or that the fit was
        interrupted, or stopped by a callback.""",
        "dict of str",
    )
    left_out_losses_: F64 = fitted("Mean loss of each of these alone; NaN if it is not trained.", "float64 array")
    left_out_seconds_: F64 = fitted("Seconds that its training took; NaN if it has not begun.", "float64 array")
    oof_loss_: float = fitted(
        """Mean loss of the vote on rows that the voting fits have not seen; a little too good, as the weights of the
        members and temperatures were chosen by it.""",
        "float",
    )
    oof_score_: float = fitted(
        "Accuracy of the vote on such rows, which count by sample and class weights; or R2.", "float"
    )
    n_folds_: int = fitted("Number of folds.", "int")

    effort: Effort = parameter(
        "default",
        """How many candidates are trained and on how many folds: docs/blend.md names them and says what they cost.""",
    )
    _: KW_ONLY
    cv: Any = parameter(
        None,
        """Rows that judge the members: a number of folds, or one of scikit-learn's splitters whose test sets share no
        row, as `GroupKFold` with the `groups` of `fit`. Then every member is trained on folds, as rows out of bag know
        nothing of groups or time. None: 8 folds up to 10,000 rows, 5 up to 100,000 and then 3, that follow from what
        rows hold; half as many if the effort is "fast".""",
        "cv_object",
        type_words="int, splitter, iterable of splits or None",
    )
    time_limit: float | None = parameter(
        None,
        """Seconds after which no further member is trained; one that would be ready later, by the time its last fit
        took, is left out. The first is always trained.""",
        Interval(Real, 0.0, None, closed="neither"),
        None,
        type_words="float or None",
    )
    memory_limit: float | str | None = parameter(
        None,
        """Memory that the fit may take, with its rows as it encodes them: bytes, or text such as "3 GB". By estimates
        of what candidates need, forests and SBPMT draw fewer rows, or candidates are left out, so that the fit stays
        below. None: any.""",
        Interval(Real, 0.0, None, closed="neither"),
        str,
        None,
        type_words="float, str or None",
    )
    min_gain: float = parameter(
        0.25,
        """Members whose gain is less than this many standard errors are left out, the least first, and the others
        weighted anew.""",
        Interval(Real, 0.0, None, closed="left"),
    )
    keep_oof: bool = parameter(
        False,
        """Keep what the vote says of each training row by fits that have not seen it: ``oof_decision_function_`` of
        classes, ``(n, n_classes)``, or ``oof_prediction_``, NaN where there is none; not saved. The weights of members
        and temperatures were chosen by it.""",
    )
    on_interrupt: Literal["raise", "keep"] = parameter(
        "raise",
        """If the fit is interrupted (Ctrl-C): "raise" leaves the estimator as it was, "keep" ends the fit with the
        members that are ready, if there is one, and a warning. A second interrupt is raised.""",
    )
    categorical_features: Any = shared.categorical_features()
    random_state: Any = shared.random_state("the members")
    n_jobs: int | None = shared.n_jobs("Threads of each member")

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | str | None = None,
        *,
        groups: ArrayLike | None = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    ) -> Self:
        """Train the members, and weigh them. A fit that fails changes nothing.

        Parameters
        ----------
        X : table or array-like (n, p)
            Training rows; NaN is a value of its own.
        y : array-like (n,)
            Class labels, or numbers to predict.
        sample_weight : array-like (n,), default=None
            Row weights; 0, or less than 1e-150 of their sum, means absent, k means repeated k times.
        groups : array-like (n,), default=None
            Groups of the rows, for a `cv` that heeds them.
        checkpoint : path or Checkpoint, default=None
            File from which the same fit goes on if it is killed; see `committee.Checkpoint`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If no member can be trained, `memory_limit` leaves no candidate room, `groups` comes without a `cv`, the
            splits of `cv` share rows or lack a class, or rows are as in the other learners' fits.

        Warns
        -----
        UserWarning
            If `y` holds one class only, which is then predicted everywhere; rows are too few to judge members by; or
            the fit is interrupted, and `on_interrupt` is "keep".
        """
        if groups is not None and not self._has_splitter:
            raise ValueError(
                f"groups are heeded by a splitter, and cv={self.cv!r}; give one, such as "
                "sklearn.model_selection.GroupKFold(5)."
            )
        with self._one_fit(X, y, sample_weight, checkpoint) as (tasks, rows):
            for name in (*KEPT, *RESERVED):  # of an earlier fit
                self.__dict__.pop(name, None)
            tasks.begin()
            found = self._constant(rows)
            if not found:
                rows, counted, reserve = self._reserved(rows, tasks)
                found = self._blended(rows, counted, groups, tasks)
                found |= self._told_by(reserve, found["committee_"])
            tasks.end(found)
        return self

    # --- one learner's own ---------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def _numbers(self) -> bool:
        """Whether numbers are predicted."""

    @property
    def number_loss(self) -> Loss | None:
        """Loss of the numbers that are predicted; None where classes are."""
        return None

    def _wanted(self, n: float = 0.0) -> list[Candidate]:
        """Candidates of the effort for n rows."""
        from committee.learners.blend.portfolio import candidates  # with all their learners, which prediction needs not

        return candidates(self._numbers, self.effort, n)

    @property
    def _alone(self) -> Candidate:
        """The only member where nothing judges members: a forest, or what is trained on another loss than its."""
        wanted = self._wanted()
        forest = next(one for one in wanted if one.name == "forest")
        return next((one for one in wanted if "loss" in one.parameters), forest)

    def _suited(self, wanted: list[Candidate], rows: Any) -> tuple[list[Candidate], list[LeftOut]]:
        """Those that the rows suit, and the others."""
        return suited_to_sparse_rows(wanted) if isinstance(rows.X, SparseMatrix) else (wanted, [])

    @abstractmethod
    def _losses(self, answers: F64, rows: Any, judged: Judged) -> F64:
        """Loss of each judged row, by answers ``(n, K)``."""

    @abstractmethod
    def _weights(self, answers: Sequence[F64], rows: Any, judged: Judged) -> F64:
        """Weights of members of least mean loss, by the answers of each."""

    @abstractmethod
    def _score(self, answers: F64, rows: Any, judged: Judged) -> float:
        """Accuracy or R2 of answers to the judged rows."""

    @abstractmethod
    def _vote(self, blended: Blended) -> Any:
        """Return the committee."""

    def _reserved(self, rows: Any, tasks: FitTasks) -> tuple[Any, Mask, Reserve | None]:
        """Return the rows of the fit, which of the user's rows they are, and those that it has no part of."""
        return rows, have_weight(tasks.sample_weight, len(rows)), None

    def _told_by(self, reserve: Reserve | None, committee: Any) -> dict[str, Any]:
        """Return the attributes of the reserve."""
        return {}

    # --- the fit -------------------------------------------------------------------------------------------------

    @property
    def _takes_sparse(self) -> bool:
        return True

    def _numbered(self, rows: R, of: str) -> R:
        return rows  # levels stay codes, of which each fit learns its own numbers

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.memory_limit is not None:
            bytes_of(self.memory_limit)

    def _most_tasks(self, X: Any) -> int:
        return len(self._wanted())

    def _blended(self, rows: Any, counted: Mask, groups: ArrayLike | None, tasks: FitTasks) -> dict[str, Any]:
        """Return the fitted attributes, by rows that are those of the user that are `counted`."""
        folds = self._folds(rows, counted, groups, tasks)
        wanted, unsuited = self._suited(self._wanted(len(rows)), rows)
        if self._has_splitter or not left_out_unseen(rows, self.table_, folds):
            wanted = [replace(one, out_of_bag=False) for one in wanted]
        categorical = np.flatnonzero(self.table_.n_levels).tolist() or None
        fits = FoldFits(rows, folds, categorical, int(tasks.random().randint(2**30)), self.n_jobs)
        limit = TimeLimit(self.time_limit, tasks.begun)
        training = Training(fits, Judged.of(folds), limit, tasks, self.number_loss, counted)
        if not folds:
            return self._unjudged(training)
        wanted, too_large = self._with_room(wanted, rows, folds)
        with fits_ahead(fits, wanted, in_time=self.time_limit is not None) as ahead:
            return self._run(replace(training, ahead=ahead), wanted, [*unsuited, *too_large])

    def _run(self, training: Training, wanted: list[Candidate], unsuited: list[LeftOut]) -> dict[str, Any]:
        """Train the candidates, and return the fitted attributes."""
        run = CandidateRun(
            training,
            wanted,
            unsuited,
            lambda members: self._weighed(members, training.rows, training.judged),
            lambda blended, left_out: {
                **self._described(blended, left_out, len(training.judged.folds)),
                **self._kept_answers(blended, training),
            },
        )
        try:
            run.train()
            return run.fitted()
        except KeyboardInterrupt:
            if self.on_interrupt == "raise" or not run.members:
                raise
            warnings.warn(
                f"the fit was interrupted: its members are of the {len(run.members)} candidates that were ready, out "
                f"of {len(wanted)}; left_out_ names the others.",
                stacklevel=5,
            )
            return run.fitted()

    def _with_room(
        self, wanted: list[Candidate], rows: Rows | TargetRows, folds: Sequence[Fold]
    ) -> tuple[list[Candidate], list[LeftOut]]:
        """Return the candidates that `memory_limit` leaves room for, and the others."""
        if self.memory_limit is None:
            return wanted, []
        from committee.learners.blend.memory import FitMemory

        n_scores = int(rows.labels.max()) + 1 if isinstance(rows, Rows) else 1
        memory = FitMemory.of(rows, n_scores, folds, n_threads(self.n_jobs))
        return memory.within(bytes_of(self.memory_limit), wanted)

    def _unjudged(self, training: Training) -> dict[str, Any]:
        """Return the attributes of a fit on rows that are too few to judge members by: there is only one."""
        alone = self._alone
        kind = "a forest" if alone.name == "forest" else "boosting"
        warnings.warn(
            f"n_samples = {len(training.rows)} rows are too few to judge members by: the only one is {kind}, and "
            "nothing tells how good it is (rows that hold the same count as one; the only one of a class judges none).",
            stacklevel=5,
        )
        nothing = np.full(1, np.nan)
        return self._described(Blended([training.unjudged(alone)], np.ones(1), nothing, nothing, np.nan, np.nan), [], 0)

    def _described(self, blended: Blended, left_out: Sequence[LeftOut], n_folds: int) -> dict[str, Any]:
        """Return the fitted attributes."""
        return {
            "committee_": self._vote(blended),
            "member_names_": [one.name for one in blended.members],
            "member_weights_": blended.weights,
            "member_losses_": blended.losses,
            "member_gains_": blended.gains,
            "member_seconds_": np.array([one.seconds for one in blended.members]),
            "member_sizes_": np.array([len(one.committees) for one in blended.members], dtype=np.int64),
            "left_out_": {one.name: one.reason for one in left_out},
            "left_out_losses_": np.array([one.loss for one in left_out], dtype=np.float64),
            "left_out_seconds_": np.array([one.seconds for one in left_out], dtype=np.float64),
            "oof_loss_": blended.loss,
            "oof_score_": blended.score,
            "n_folds_": n_folds,
        }

    def _kept_answers(self, blended: Blended, training: Training) -> dict[str, Any]:
        """Return what the vote says of the training rows by fits that have not seen them, where that is to be kept."""
        if not self.keep_oof or blended.answers is None or blended.row is None:
            return {}
        answers = answers_of_all(training.rows, blended.row, blended.answers, n_threads(self.n_jobs))
        every = among_all(answers, training.counted)
        return {KEPT[1]: every[:, 0]} if self._numbers else {KEPT[0]: every}

    def _folds(self, rows: Rows | TargetRows, counted: Mask, groups: ArrayLike | None, tasks: FitTasks) -> list[Fold]:
        """Return the folds by which members are judged; none if the rows are too few."""
        if not self._has_splitter:
            k = n_folds(len(rows), self.effort) if self.cv is None else int(self.cv)
            folds = list(Folds.of(rows, k, n_threads(self.n_jobs)))
            return folds if len(folds) > 1 else []
        return given_folds(self.cv, rows, tasks.y, groups, counted)

    @property
    def _has_splitter(self) -> bool:
        """Whether `cv` says itself which rows are judged by which."""
        return not (self.cv is None or isinstance(self.cv, Integral))

    def _weighed(self, members: Sequence[Member], rows: Any, judged: Judged) -> Blended:
        """Weigh members; those that add too little go, one after the other."""
        known = rows_of_all(members)
        judged = judged.some(known)
        weighing = Weighing(
            judged.weights,
            lambda answers: self._losses(answers, rows, judged),
            lambda answers: self._weights(answers, rows, judged),
            lambda answers: self._score(answers, rows, judged),
        )
        with one_blas_thread():  # how many there are would be in the last bits of sums over rows
            return replace(weighing.blended(members, known, self.min_gain), row=judged.row)

    # --- what it says of itself ----------------------------------------------------------------------------------

    @property
    def _fits(self) -> Iterator[tuple[float, Any]]:
        """Weight and committee of every fit."""
        check_is_fitted(self)
        voters = self.committee_.voters
        if not isinstance(voters, MemberCommittees):
            raise AttributeError("this model has no members: it was trained on rows of one class.")
        return zip(self.committee_.weights.tolist(), voters.members, strict=True)

    @property
    def members_(self) -> pl.DataFrame:
        """The candidates, members by weight and then the others: see `committee.learners.blend.members_table`."""
        check_is_fitted(self)
        return members_table(self)

    def member(self, name: str) -> Committee | RegressionCommittee:
        """Return the vote of a member without the others: the mean of its fits.

        Parameters
        ----------
        name : str
            One of `member_names_`.

        Returns
        -------
        Committee or RegressionCommittee

        Raises
        ------
        ValueError
            If no member has that name.

        Examples
        --------
        ``model.member("forest").predict_proba(X)`` is what the forest alone makes of rows.
        """
        check_is_fitted(self)
        names = getattr(self, "member_names_", [])  # one class has none
        if name not in names:
            hint = hint_of_names(name, names) if names else "rows of one class are left to none"
            raise ValueError(f"there is no member {name!r}; {hint}")
        k = names.index(name)
        first, size = int(self.member_sizes_[:k].sum()), int(self.member_sizes_[k])
        return self.committee_.select(slice(first, first + size), np.full(size, 1.0 / size))

    @property
    def feature_importances_(self) -> F64:
        """Share of each feature in what the members' trees and lines gain in training, weighted by the vote, ``(p,)``.

        Each fit of a member counts with its weight, its own shares adding up to 1: in the gain of splits, or in the
        decrease of the risk by leaves with lines and by lines for the whole table.
        """
        total = np.zeros(self.n_features_in_)
        for weight, one in self._fits:
            voters = one.voters
            if isinstance(voters, BoostedCommittees):
                total += weight * feature_importances(voters.members, voters.tree_shares(one.weights))
            elif isinstance(voters, LinearScores):
                total += weight * feature_importances(voters, one.weights)
            else:
                total += weight * one.feature_importances_
        return total / total.sum() if total.any() else total

    def _from_file(self) -> None:
        super()._from_file()
        if not isinstance(self.committee_.voters, MemberCommittees):  # there is one class
            if unasked := list(self.stored_values()):
                raise ValueError(f"{unasked[0]} is of members, and there are none")
            return
        held = vars(self)
        names, m = field(held, "member_names_", list), len(self.member_names_)
        for name in ("member_weights_", "member_losses_", "member_gains_", "member_seconds_"):
            check_array(name, field(held, name, np.ndarray), np.float64, (m,))
        for name in ("member_weights_", "member_seconds_", *(["member_gains_"] if m > 1 else [])):
            if not np.isfinite(held[name]).all():
                raise ValueError(f"{name} holds numbers that are not finite")
        sizes = field(held, "member_sizes_", np.ndarray)
        check_array("member_sizes_", sizes, np.int64, (m,))
        check_range("member_sizes_", sizes, 1, self.committee_.n_voters)
        if sizes.sum() != self.committee_.n_voters:
            raise ValueError(f"member_sizes_ do not count {self.committee_.n_voters} voters")
        left_out = field(held, "left_out_", dict)
        for name in ("left_out_losses_", "left_out_seconds_"):
            if name in held:  # earlier files have none
                check_array(name, field(held, name, np.ndarray), np.float64, (len(left_out),))
        if not all(isinstance(word, str) and is_unicode(word) for word in (*names, *left_out, *left_out.values())):
            raise ValueError("member_names_ or left_out_ hold what is no text")
        field(held, "oof_loss_", float)
        field(held, "oof_score_", float)
        field(held, "n_folds_", int)
