"""Base class of committees of ensembles: the fit of candidates, the weights of members, and the vote."""

from __future__ import annotations

import os
import time
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils.validation import check_is_fitted

from committee.data.matrices import Matrix, is_out_of_core
from committee.data.number_types import F64, Mask, check_array, check_range
from committee.data.parallel import n_threads
from committee.data.rows import GivenRows, Rows, TargetRows, nonzero_sample_weights
from committee.data.table_schema import TableSchema
from committee.data.text import is_unicode, parse_bytes, suggest_names, warn_user
from committee.data.typed_json import field
from committee.files.documents import header_bytes
from committee.files.journal import Checkpoint
from committee.learners.bagging.forest_trees import Reserve
from committee.learners.bagging.subsamples import scatter_rows
from committee.learners.base.estimator import R
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import with_parameters
from committee.learners.base.row_sampling import Fold, Folds, copied_rows, warn_of_copies
from committee.learners.blend.blend_parameters import BlendParameters
from committee.learners.blend.candidates import SECOND_LAYER, Candidate, CandidateChoice, LeftOut, named_estimators
from committee.learners.blend.model_size import ReducibleBlend, SizeLimit, default_limit
from committee.learners.blend.out_of_fold import (
    FoldTrainer,
    Member,
    ValidationRows,
    default_n_folds,
    folds_of_groups,
    oob_is_held_out,
    parallel_folds,
    predictions_of_all,
    splitter_folds,
)
from committee.learners.blend.time_plan import LEAST_ROWS, TimePlan, by_gain_per_second
from committee.learners.blend.training import CandidateRun
from committee.learners.blend.weights import WeightedVote, common_rows, select_members
from committee.objectives.losses import Loss
from committee.vote.committee import Committee, RegressionCommittee
from committee.vote.explain.importances import feature_importances
from committee.vote.members import MemberCommittees
from committee.voters.model_forest import BoostedCommittees, LinearScores

OOF_ATTRIBUTES = ("oof_decision_function_", "oof_prediction_")
RESERVE_ATTRIBUTES = ("reserved_rows_", "reserve_loss_", "reserve_score_")
TIMED_ROWS = 1000


@with_parameters
class Blend(ReducibleBlend, CandidateChoice, BlendParameters):
    voter_kinds: ClassVar[tuple[str, ...] | None] = ("members",)
    first_parameters: ClassVar[tuple[str, ...]] = ("loss", "time_limit", "cv", "class_weight", "random_state", "n_jobs")

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | str | None = None,
        *,
        groups: ArrayLike | str | None = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    ) -> Self:
        """Train the members, and weigh them. A fit that fails leaves the estimator unchanged.

        Parameters
        ----------
        X : table or array-like (n, p)
            Training rows; NaN is a value of its own.
        y : array-like (n,) or str
            Class labels, or numbers to predict; or the name of the column of `X` that holds them.
        sample_weight : array-like (n,) or str, default=None
            Row weights, or the name of their column; 0, or less than 1e-150 of their sum, means absent. Whole numbers
            with a mean of at most 10, zeros aside, count repeated rows; of others only the ratios matter.
        groups : array-like (n,) or str, default=None
            Groups of the rows, such as patients, or the name of their column: rows of a group are in one fold, unless a
            splitter `cv` has other folds.
        checkpoint : path or Checkpoint, default=None
            File from which the same fit resumes if it is killed; see `committee.Checkpoint`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If rows or targets are invalid, no member can be trained, `memory_limit` or `max_size` is too low, `groups`
            are fewer than two or cannot be divided so that every fit has all classes, the splits of `cv` share rows or
            lack a class, or `derived_columns` names a kind and rows are read in pieces.

        Warns
        -----
        UserWarning
            For example, if `y` holds one class only, rows are too few for folds, many rows are copies of others, a
            model file cannot hold some of `candidates`, or the fit is interrupted and `on_interrupt` is "keep".
        """
        if is_out_of_core(X) and self.derived_columns in ("dates", "text"):
            raise ValueError(
                f"derived_columns={self.derived_columns!r} needs a data frame, and X is read in pieces; encode each "
                "piece by a DateEncoder or TextEncoder fitted to some rows, and leave derived_columns at 'auto'."
            )
        with self._one_fit(X, y, sample_weight, checkpoint, groups=groups) as (tasks, rows):
            for name in (*OOF_ATTRIBUTES, *RESERVE_ATTRIBUTES):  # of an earlier fit
                self.__dict__.pop(name, None)
            tasks.begin()
            found = self._constant(rows)
            if not found:
                rows, counted, reserve = self._reserved(rows, tasks)
                self._check_foreign(tasks.table, rows)
                found = self._trained(rows, counted, tasks)
                voters, cells = found["committee_"].voters, rows.cells
                if voters.reads_tables:
                    cells = self._given(tasks.table, np.flatnonzero(counted), cells)
                found["member_predict_times_"] = predict_times(voters, found["member_sizes_"], cells)
                if reserve is not None:
                    cells = reserve.rows.cells
                    if voters.reads_tables:
                        cells = self._given(tasks.table, reserve.numbers, cells)
                    found |= self._reserve_attributes(reserve, found["committee_"], cells)
            tasks.end(found)
        return self

    @property
    def number_loss(self) -> Loss | None:
        """Loss of predicted numbers, by `loss` and `quantile`; None for classes."""
        return None

    def _of_library(self, n: float = 0.0, n_scores: int = 1, *, every: bool = False) -> list[Candidate]:
        from committee.learners.blend import portfolio  # with all their learners, which no prediction needs

        found, loss = portfolio.candidates(self._numbers, self.effort, n, n_scores, every), self.number_loss
        return found if loss is None else portfolio.of_loss(found, loss, "best" if every else self.effort)

    @abstractmethod
    def _losses(self, predictions: F64, rows: Any, validation: ValidationRows) -> F64: ...

    @abstractmethod
    def _weights(self, predictions: Sequence[F64], rows: Any, validation: ValidationRows) -> F64:
        """Weights ``(m,)`` of the m members whose weighted mean has the least mean loss."""

    def _sharpness(
        self, predictions: Sequence[F64], weights: F64, rows: Any, validation: ValidationRows
    ) -> float | None:
        """Number by which the members' temperatures are divided."""
        return None

    @abstractmethod
    def _score(self, predictions: F64, rows: Any, validation: ValidationRows) -> float: ...

    @abstractmethod
    def _vote(self, vote: WeightedVote) -> Any: ...

    def _wants_second_layer(self, rows: Any) -> bool:
        return False

    def _extended(self, run: CandidateRun, vote: WeightedVote) -> WeightedVote:
        """The vote with members that are trained on the other candidates' predictions."""
        return vote

    def _reserved(self, rows: Any, tasks: FitTasks) -> tuple[Any, Mask, Reserve | None]:
        """Rows of the fit, their mask among the user's rows, and the reserve."""
        return rows, nonzero_sample_weights(tasks.sample_weight, len(rows)), None

    def _reserve_attributes(self, reserve: Reserve, committee: Any, cells: Any) -> dict[str, Any]:
        return {}

    @property
    def _takes_sparse(self) -> bool:
        return True

    def _learned_table(self, X: Any, sample_weight: ArrayLike | None) -> TableSchema:
        from committee.data.derived_table import learn_table  # with scikit-learn's readers of text

        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return learn_table(X, self.categorical_features, self.derived_columns, weights, self.keep_identifiers)

    def _numbered(self, rows: R, of: str) -> R:
        return rows  # category codes stay, from which each fit learns its own target statistics

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.memory_limit is not None:
            parse_bytes(self.memory_limit)
        if self.max_size is not None and self.max_size != "auto":
            parse_bytes(self.max_size, "max_size")

    def _most_tasks(self, X: Any) -> int:
        return len(self._wanted()) + (self.time_limit is not None)  # with a candidate in haste after those without time

    def _trained(self, rows: Any, counted: Mask, tasks: FitTasks) -> dict[str, Any]:
        from committee.learners.blend.portfolio import FitMemory, suited

        self._size_limit(rows)  # an invalid one is refused before the fits
        folds, n_dealt = self._folds(rows, counted, tasks)
        by_user = self._has_splitter or tasks.groups is not None
        n_scores = int(rows.labels.max()) + 1 if isinstance(rows, Rows) else 1
        wanted, left_out = suited(self._wanted(len(rows), n_scores), rows, self.number_loss)
        copied = None if by_user or not folds else copied_rows(rows, n_threads(self.n_jobs))
        if copied is not None:
            warn_of_copies(copied)
        if by_user or self.cv is not None:
            wanted = [replace(one, n_fits=None) for one in wanted]
        if by_user or copied is not None or not oob_is_held_out(rows, self.table_, n_dealt):
            wanted = [replace(one, out_of_bag=False) for one in wanted]
        categorical = np.flatnonzero(self.table_.n_levels).tolist() or None
        seed = int(tasks.random(rows).randint(2**30))
        of_user = any(one.estimator is not None for one in wanted)
        given = self._given(tasks.table, np.flatnonzero(counted), rows.cells) if of_user else None
        fits = FoldTrainer(rows, folds, categorical, seed, self.n_jobs, given)
        if not folds:
            return self._without_folds(fits)
        if self.memory_limit is not None:
            memory = FitMemory.of(rows, n_scores, folds, n_threads(self.n_jobs))
            wanted, too_large = memory.within(parse_bytes(self.memory_limit), wanted)
            left_out = [*left_out, *too_large]
        order, plan = self._planned(wanted, rows, folds, tasks)
        validation = ValidationRows.of(folds)
        with parallel_folds(fits, order, in_time=self.time_limit is not None) as ahead:
            run = CandidateRun(
                fits,
                validation,
                wanted,
                order,
                left_out,
                plan,
                tasks,
                self.number_loss,
                weigh=lambda members: self._weighed(members, rows, validation),
                attributes=lambda vote, others: {
                    **self._described(vote, others, len(folds)),
                    **self._kept_oof(vote, rows, counted),
                },
                ahead=ahead,
            )
            return self._run(run)

    def _planned(
        self, wanted: list[Candidate], rows: Any, folds: Sequence[Fold], tasks: FitTasks
    ) -> tuple[list[Candidate], TimePlan | None]:
        # order of training, and the plan of a time limit
        if self.time_limit is None:
            return wanted, None
        from committee.learners.blend.portfolio import FitCosts

        costs, n_train = FitCosts.of(rows, self.table_), max(len(fold.train) for fold in folds)
        plan = TimePlan(self.time_limit, tasks.begun, costs, len(rows), n_train, len(folds))
        return by_gain_per_second(wanted), plan

    def _run(self, run: CandidateRun) -> dict[str, Any]:
        try:
            run.train()
            named = {name for name, _ in named_estimators(self.candidates)}
            for one in run.failed:
                if one.failed and one.name in named:
                    warn_user(f"the candidate {one.name!r} is left out: {one.reason}")
            if run.in_haste is not None:
                warn_user(
                    f"time_limit={self.time_limit:g} s leaves no candidate its time on {len(run.fits.rows)} rows: the "
                    f"only member is {run.in_haste.name!r}, on samples of at most {LEAST_ROWS}. Give more seconds, or "
                    "fewer rows."
                )
            if (limit := self._size_limit(run.fits.rows)) is not None:
                limit.check(run.members)
            run.extend(self._extended)
            return run.fitted()
        except KeyboardInterrupt:
            if self.on_interrupt == "raise" or not run.members:
                raise
            if not (run.not_trained or run.is_extended) and self._wants_second_layer(run.fits.rows):
                run.failed.append(LeftOut(SECOND_LAYER, "interrupted"))
                warn_user("the fit was interrupted: the second layer is left out, and the candidates are all trained.")
            else:
                warn_user(
                    f"the fit was interrupted: the members were chosen from {len(run.members)} finished candidates out "
                    f"of {len(run.candidates)}; left_out_ names the others.",
                )
            return run.fitted()

    def _without_folds(self, fits: FoldTrainer) -> dict[str, Any]:
        # one member without validation: a forest, or boosting on a loss that is not the forest's
        wanted = self._of_library()
        forest = next(one for one in wanted if one.name == "forest")
        alone = next((one for one in wanted if "loss" in one.parameters), forest)
        kind = "a forest" if alone is forest else "boosting"
        warn_user(
            f"n_samples = {len(fits.rows)} rows are too few to compare members on held-out rows: the only one is "
            f"{kind}, and its error is not estimated (equal rows may count as one; the only row of a class is never "
            "held out).",
        )
        begun = time.perf_counter()
        with warnings.catch_warnings(action="ignore"):  # such as of rows that are too few for a split
            model = fits.model(alone, alone.parameters, np.arange(len(fits.rows)), fits.rows.weights, 0)
        member = Member(alone.name, [model.committee_], np.empty((0, 1)), time.perf_counter() - begun)
        nothing = np.full(1, np.nan)
        vote = WeightedVote([member], np.ones(1), nothing, nothing, np.nan, np.nan)
        if (limit := self._size_limit(fits.rows)) is not None:
            limit.check(vote.members)
            vote = limit.within(vote)
        return self._described(vote, [], 0)

    def _described(self, vote: WeightedVote, left_out: Sequence[LeftOut], n_folds: int) -> dict[str, Any]:
        return {
            "committee_": self._vote(vote),
            "member_names_": [one.name for one in vote.members],
            "member_weights_": vote.weights,
            "member_losses_": vote.losses,
            "member_gains_": vote.gains,
            "member_seconds_": np.array([one.seconds for one in vote.members]),
            "member_sizes_": np.array([len(one.committees) for one in vote.members], dtype=np.int64),
            "member_predict_times_": np.full(len(vote.members), np.nan),
            "left_out_": {one.name: one.reason for one in left_out},
            "left_out_losses_": np.array([one.loss for one in left_out], dtype=np.float64),
            "left_out_seconds_": np.array([one.seconds for one in left_out], dtype=np.float64),
            "oof_loss_": vote.loss,
            "oof_score_": vote.score,
            "n_folds_": n_folds,
        }

    def _kept_oof(self, vote: WeightedVote, rows: Any, counted: Mask) -> dict[str, Any]:
        if not self.keep_oof or vote.predictions is None or vote.row is None:
            return {}
        every = scatter_rows(predictions_of_all(rows, vote.row, vote.predictions, n_threads(self.n_jobs)), counted)
        return {OOF_ATTRIBUTES[1]: every[:, 0]} if self._numbers else {OOF_ATTRIBUTES[0]: every}

    def _folds(self, rows: Rows | TargetRows, counted: Mask, tasks: FitTasks) -> tuple[list[Fold], int]:
        # folds that are trained on, none if the rows are too few, and the number of copies of rows that are dealt
        if self._has_splitter:
            return splitter_folds(self.cv, rows, tasks.y, tasks.groups, counted), len(rows)
        dealt, trained = default_n_folds(len(rows), self.effort) if self.cv is None else (int(self.cv),) * 2
        if (group := tasks.group_of(rows)) is not None:
            return folds_of_groups(group, rows, dealt, getattr(self, "classes_", None)), len(rows)
        whole = Folds.of(rows, dealt, n_threads(self.n_jobs))
        folds = list(islice(whole, trained))
        return folds if len(folds) > 1 else [], int(whole.copies[whole.first >= 0].sum())

    @property
    def _has_splitter(self) -> bool:
        return not (self.cv is None or isinstance(self.cv, Integral))

    def _weighed(self, members: Sequence[Member], rows: Any, validation: ValidationRows) -> WeightedVote:
        limit = self._size_limit(rows)
        suited = list(members) if limit is None else limit.fitting(members)
        known = common_rows(suited)
        validation = validation.take(known)
        vote = self._selected(
            suited,
            known,
            rows,
            validation,
            sharpness=lambda predictions, weights: self._sharpness(predictions, weights, rows, validation),
            **({} if limit is None else {"too_large": limit.too_large}),
        )
        too_large = [LeftOut(one.name, "size", seconds=one.seconds) for one in members if one not in suited]
        vote = replace(vote, row=validation.row, known=known, left_out=[*vote.left_out, *too_large])
        return vote if limit is None else limit.within(vote)

    def _selected(
        self, members: Sequence[Member], known: Mask, rows: Any, validation: ValidationRows, **settings: Any
    ) -> WeightedVote:
        """Select among members by the `known` validation rows, which are those of `validation`."""
        return select_members(
            members,
            known,
            self.min_gain,
            validation.weights,
            losses=lambda predictions: self._losses(predictions, rows, validation),
            weigh=lambda predictions: self._weights(predictions, rows, validation),
            score=lambda predictions: self._score(predictions, rows, validation),
            **settings,
        )

    def _size_limit(self, rows: Rows | TargetRows) -> SizeLimit | None:
        if self.max_size is None:
            return None
        if self.max_size != "auto":
            columns = header_bytes({"names": self.table_.names, "table": self.table_.to_json()})
            return SizeLimit(parse_bytes(self.max_size, "max_size"), columns=columns)
        n_classes = int(rows.labels.max()) + 1 if isinstance(rows, Rows) else 1
        return default_limit(self.effort, len(rows), n_classes)

    @property
    def _fits(self) -> Iterator[tuple[float, Any]]:
        check_is_fitted(self)
        voters = self.committee_.voters
        if not isinstance(voters, MemberCommittees):
            raise AttributeError("this model has no members: it was trained on rows of one class.")
        return zip(self.committee_.weights.tolist(), voters.members, strict=True)

    def member(self, name: str) -> Committee | RegressionCommittee:
        """Return the vote of a member without the others: the mean of its fits.

        Parameters
        ----------
        name : str
            One of `member_names_`; ``ValueError`` for another one.

        Returns
        -------
        Committee or RegressionCommittee
        """
        check_is_fitted(self)
        names = getattr(self, "member_names_", [])  # one class has none
        if name not in names:
            hint = suggest_names(name, names) if names else "rows of one class have none"
            raise ValueError(f"there is no member {name!r}; {hint}")
        k = names.index(name)
        first, size = int(self.member_sizes_[:k].sum()), int(self.member_sizes_[k])
        return self.committee_.select(slice(first, first + size), np.full(size, 1.0 / size))

    @property
    def feature_importances_(self) -> F64:
        """Share of each feature in the training gain of all members, weighted by the vote, ``(p,)``.

        Each fit of a member has shares that sum to 1, multiplied by its weight. The gain is the split gain of its
        trees, or the decrease of the risk by its linear leaves and linear models. ``AttributeError`` with members of
        other libraries, and with a second layer.
        """
        check_is_fitted(self)
        self._refuse_other_members(
            AttributeError, "feature_importances_ are those of committee's own members that read columns"
        )
        total = np.zeros(self.table_.n_features)
        for weight, one in self._fits:
            voters = one.voters
            if isinstance(voters, BoostedCommittees):
                total += weight * feature_importances(voters.members, voters.tree_shares(one.weights))
            elif isinstance(voters, LinearScores):
                total += weight * feature_importances(voters, one.weights)
            else:
                total += weight * one.feature_importances_
        return self.table_.by_source(total / total.sum() if total.any() else total)

    def _from_file(self) -> None:
        super()._from_file()
        if not isinstance(self.committee_.voters, MemberCommittees):  # there is one class
            if unexpected := list(self.stored_values()):
                raise ValueError(f"{unexpected[0]} is stored, but a model of one class has no members")
            return
        held = vars(self)
        names, m = field(held, "member_names_", list), len(self.member_names_)
        for name in ("member_weights_", "member_losses_", "member_gains_", "member_seconds_"):
            check_array(name, field(held, name, np.ndarray), np.float64, (m,))
        for name in ("member_weights_", "member_seconds_", *(["member_gains_"] if m > 1 else [])):
            if not np.isfinite(held[name]).all():
                raise ValueError(f"{name} holds numbers that are not finite")
        if "member_predict_times_" in held:  # earlier files have none
            check_array("member_predict_times_", field(held, "member_predict_times_", np.ndarray), np.float64, (m,))
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
            raise ValueError("member_names_ or left_out_ hold values that are not text")
        for name, kind in (("oof_loss_", float), ("oof_score_", float), ("n_folds_", int)):
            field(held, name, kind)


def predict_times(voters: MemberCommittees, sizes: NDArray[np.int64], X: Matrix | GivenRows) -> F64:
    """Processor time of each member's vote in microseconds per row, ``(m,)``, on one thread."""
    batch = X[np.resize(np.arange(min(len(X), TIMED_ROWS)), TIMED_ROWS)]
    times: list[float] = []
    for first, size in zip((np.cumsum(sizes) - sizes).tolist(), sizes.tolist(), strict=True):
        fits = voters[first : first + size]
        fits.tally(batch[np.arange(1)])  # makes the native trees
        begun = time.thread_time()
        fits.tally(batch)
        times.append(1e6 * (time.thread_time() - begun) / TIMED_ROWS)
    return np.array(times)
