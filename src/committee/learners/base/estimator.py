"""Base of the learners that train a committee, and estimators of the user as its voters."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.base import _fit_context, clone, is_classifier, is_regressor
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    _num_samples,
    check_consistent_length,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from committee.data.bins import check_category_counts, most_bins
from committee.data.categories import MAX_SUBSET_CATEGORIES
from committee.data.columns import (
    check_frame,
    is_frame,
    refuse_ambiguous,
    take_named,
    warn_of_other_order,
    without_named,
)
from committee.data.labels import Labels
from committee.data.matrices import (
    Matrix,
    SparseMatrix,
    as_sparse_matrix,
    is_matrix,
    is_out_of_core,
    is_sparse,
    numeric_matrix,
    reject_no_table,
    reject_sparse,
)
from committee.data.number_types import Mask
from committee.data.out_of_core.scan import as_pieces
from committee.data.out_of_core.training_pieces import (
    OutOfCoreMatrix,
    Storage,
    TargetCollector,
    TrainingPieces,
    scan_training_pieces,
)
from committee.data.parallel import one_blas_thread
from committee.data.rows import Offsets, Rows, TargetRows, nonzero_weights, row_weights
from committee.data.table_schema import TableSchema
from committee.data.target_statistics import HighCardinality
from committee.files.journal import Checkpoint
from committee.files.writing import scratch_folder
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.fitted_learner import FittedLearner
from committee.learners.base.parameters import Parameter
from committee.learners.base.shared_parameters import with_fit_parameters
from committee.learners.base.stored_learner import BaseEstimator, CallbackSupportMixin, StoredLearner

R = TypeVar("R", Rows, TargetRows)


class CommitteeEstimator(CallbackSupportMixin, FittedLearner, StoredLearner):
    declared_parameters: ClassVar[dict[str, Parameter]]
    """Parameters by name, in the signature's order."""
    _voter_parameter: ClassVar[str | None] = None
    """Name of the parameter that takes a user's estimator as voter."""
    categorical_features: Any = "from_dtype"
    n_jobs: int | None = None

    @property
    def _takes_sparse(self) -> bool:
        return False

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @with_fit_parameters("X", "y", "sample_weight", "checkpoint")
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | str | None = None,
        *,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    ) -> Self:
        """Train on rows. A fit that fails leaves the estimator unchanged."""
        with self._one_fit(X, y, sample_weight, checkpoint) as (tasks, rows):
            tasks.begin()
            tasks.end(self._constant(rows) or self._train(rows, tasks))
        return self

    @contextmanager
    def _one_fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        checkpoint: Checkpoint | str | os.PathLike[str] | None,
        offsets: Offsets | None = None,
        groups: Any = None,
    ) -> Iterator[tuple[FitTasks, Any]]:
        # prepares callbacks, rows and checkpoint; a failed fit leaves the estimator unchanged
        reject_no_table(X)
        offset = None if offsets is None else offsets.training
        given = {"y": y, "sample_weight": sample_weight, "groups": groups, "offset": offset}
        X, y, sample_weight, groups, offset = take_named(X, **given)
        warn_of_other_order(X, y=y, sample_weight=sample_weight, groups=groups, offset=offset)
        if checkpoint is not None and (reason := self._no_checkpoint(X)):
            raise ValueError(f"checkpoint={checkpoint!r} is of no use: {reason}. Leave checkpoint out.")
        context = self._init_callback_context(max_subtasks=self._most_tasks(X))
        # underflow to 0 is harmless here, even if the caller has NumPy raise on it; the number of BLAS threads would
        # change the last bits of sums over rows, and idle ones spin
        with (
            np.errstate(under="ignore"),
            one_blas_thread(),
            self._as_before_if_it_fails(),
            ExitStack() as scratch,
        ):
            self.__dict__.pop("provenance_", None)  # of an earlier fit
            self._remember_named(given)
            if not getattr(self, "warm_start", False):
                for name in ("committee_", *self.stored_attributes):  # of an earlier fit, on other rows
                    self.__dict__.pop(name, None)
            with FitTasks(self, context, X, y, sample_weight, groups) as tasks:
                self._check_parameters()
                tasks.offsets = None if offsets is None else replace(offsets, training=offset)
                if is_out_of_core(X):
                    max_bins = most_bins(getattr(self, "max_bins", "auto"))
                    X = _training_pieces(X, y, sample_weight, scratch, self.categorical_features, max_bins)
                    tasks.y, tasks.given_weight = y, sample_weight = X.y, X.weights
                opened = [self._opened(tasks, X, y, sample_weight, checkpoint)]
                X = y = sample_weight = None  # labels and weights of pieces are referenced by the fit alone
                yield tasks, opened.pop()  # and the rows by no name of this function

    def _opened(self, tasks: FitTasks, X: Any, y: Any, sample_weight: Any, checkpoint: Any) -> Any:
        if isinstance(columns := getattr(self, "feature_weights", None), Mapping):
            refuse_ambiguous(columns, X, "feature_weights")
        tasks.sample_weight = self.fit_weights(y, sample_weight)
        rows = self.training_rows(X, y, tasks.sample_weight)
        if tasks.offsets is not None:
            rows = tasks.offsets.of_training(rows, tasks.sample_weight)
        if checkpoint is not None:
            tasks.open_checkpoint(checkpoint, rows)
        return rows

    @contextmanager
    def _as_before_if_it_fails(self) -> Iterator[None]:
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__ = before  # at once: a second interrupt finds no half of it
            raise

    def _most_tasks(self, X: Any) -> int | None:
        """Most rounds, voters or candidates of a fit; 0 for a fit of one task, None if unknown."""
        return 0

    def _no_checkpoint(self, X: Any) -> str | None:
        """Reason why a fit cannot be resumed from a checkpoint."""
        if self._most_tasks(X) == 0:
            return f"{type(self).__name__} is trained as a whole"
        if (voter := self._user_voter) is None:
            return None
        return f"{self._voter_parameter}={voter!r} is trained by a fit of its own, which a checkpoint cannot hold"

    def _constant(self, rows: Any) -> dict[str, Any]:
        """Fitted attributes of a model that needs no training, as with one class; else empty."""
        return {}

    def _check_parameters(self) -> None:
        if (voter := self._user_voter) is not None and weight_argument(voter) is None:
            raise ValueError(
                f"{self._voter_parameter}={voter!r} cannot be boosted: its fit takes no sample_weight. Choose another "
                f"estimator, or leave {self._voter_parameter} at its default."
            )

    @property
    def _calibrates(self) -> bool:
        return False

    def _finished(
        self, fitted: dict[str, Any], rows: Any, held_out: Any, random: np.random.RandomState, tasks: FitTasks
    ) -> dict[str, Any]:
        """Complete the fitted attributes, by a calibration for example."""
        return fitted

    def _train(self, rows: Any, tasks: FitTasks) -> dict[str, Any]:
        """Train on encoded rows, and return the fitted attributes."""
        raise NotImplementedError

    def fit_weights(self, y: ArrayLike, sample_weight: ArrayLike | None) -> ArrayLike | None:
        """Checked row weights ``(n,)``, of classifiers times class weights; None if the fit has neither."""
        return None if sample_weight is None or y is None else row_weights(sample_weight, y)

    @abstractmethod
    def training_rows(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Any:
        """Check and encode training rows with the weights of `fit_weights`; set ``table_``, names and classes."""

    def _encoded(
        self, X: Any, target: Labels, sample_weight: ArrayLike | None
    ) -> tuple[Matrix | OutOfCoreMatrix, Labels, NDArray[np.float64], bool]:
        # matrix, target and weights of the rows with weight, and whether no weights were given
        encoded: Any
        if is_out_of_core(X):
            if not isinstance(X, TrainingPieces):
                raise TypeError(f"X is read in chunks ({type(X).__name__}), not supported here; give rows in memory")
            if is_frame(X.example):
                _check_columns(self, X.example, reset=True)
            else:
                validate_data(self, numeric_matrix(X.example, None), ensure_all_finite=False)
            check_consistent_length(X, target)
            encoded = X
        elif is_sparse(X):
            X = self._sparse(X, reset=True)
            check_consistent_length(X, target)
            self.table_ = TableSchema.of_sparse(X, self.categorical_features)
            encoded = self.table_.encode_sparse(X)
        else:
            if is_frame(X):
                _check_columns(self, X, reset=True)
                check_consistent_length(X, target)
            else:
                checks: dict[str, Any] = {"ensure_all_finite": False, "multi_output": target.ndim == 2}
                X, target = validate_data(self, numeric_matrix(X, None), target, **checks)
            self.table_ = self._learned_table(X, sample_weight)
            self.table_.check_texts()
            encoded = self.table_.encode(X)
        uniform = sample_weight is None
        weights = np.ones(len(encoded)) if uniform else np.asarray(sample_weight, dtype=np.float64)
        check_consistent_length(encoded, weights)
        keep = nonzero_weights(weights)
        every = bool(keep.all())
        if isinstance(X, TrainingPieces):
            encoded = _encode_pieces(X, None if every else keep, self._draws_rows)
            self.table_ = encoded.table
            self.table_.check_texts()
        elif not every:
            encoded = encoded[keep]
        return encoded, target if every else target[keep], weights if every else weights[keep], uniform

    def _learned_table(self, X: Any, sample_weight: ArrayLike | None) -> TableSchema:
        return TableSchema.learn(X, self.categorical_features)

    @property
    def _draws_rows(self) -> bool:
        return False

    def _sparse(self, X: Any, *, reset: bool) -> SparseMatrix:
        if not self._takes_sparse:
            reject_sparse(X, type(self).__name__)
        matrix = as_sparse_matrix(X)
        _check_feature_names(self, matrix, reset=reset)
        _check_n_features(self, matrix, reset=reset)
        return matrix

    def _numbered(self, rows: R, of: str) -> R:
        """Replace high-cardinality categories by target statistics, which printed rules call `of`."""
        max_bins = most_bins(getattr(self, "max_bins", MAX_SUBSET_CATEGORIES))
        if self.table_.n_categories.max() <= min(MAX_SUBSET_CATEGORIES, max_bins):
            return rows
        assert not isinstance(rows.X, SparseMatrix)  # which has no categories
        levels = HighCardinality.of_table(rows.X, self.table_, max_bins, of)
        numbered, table = replace(rows, levels=levels).with_numbers(self.table_)
        self.table_ = table
        return numbered

    def _validation_matrix(self, X_val: Any) -> Matrix:
        rows = self.validate_rows(X_val)
        return self.table_.encode_sparse(rows) if isinstance(rows, SparseMatrix) else self.table_.encode(rows)

    @abstractmethod
    def _validation_rows(
        self,
        X_val: Any,
        y_val: Any,
        weights: ArrayLike | None,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        name: str = "y_val",
    ) -> Rows | TargetRows:
        """Encode a validation set; class weights are those of the training rows' `y` and `sample_weight`."""

    def validate_rows(self, X: Any) -> Any:
        if "committee_" not in self.__dict__:
            check_is_fitted(self, "table_")
        if is_matrix(X) and len(X) and X.shape[1] == self.n_features_in_ and not hasattr(self, "feature_names_in_"):
            return X  # the checks below would pass, and take four times as long as the vote on one row
        if is_sparse(X):
            return self._sparse(X, reset=False)
        if not is_frame(X):
            # the first check refuses values that must not become numbers, the second another width
            matrix = numeric_matrix(X, self.table_.source.names)
            return validate_data(self, matrix, reset=False, ensure_all_finite=False)
        if named := getattr(self, "named_columns_", {}):
            X = without_named(X, named, getattr(self, "feature_names_in_", ()))
        _check_columns(self, X, reset=False)
        return X

    def _remember_named(self, given: Mapping[str, Any]) -> None:
        self.__dict__.pop("named_columns_", None)
        if named := {key: value for key, value in given.items() if isinstance(value, str)}:
            self.named_columns_ = named

    def _metric(self, X: Any, y: Any, sample_weight: Any, metric: str, offset: Any = None) -> float:
        from sklearn import metrics

        if is_out_of_core(X):
            targets = TargetCollector(y, sample_weight)
            predicted = self._answers(X, "predict", targets, offset)
            if (y := targets.labels()) is None:
                raise ValueError("score needs y: give an array, the name of a column, or pieces that hold it.")
            sample_weight = targets.weights()
        else:
            if y is None and is_frame(X):  # the column that the fit took as its target
                y = getattr(self, "named_columns_", {}).get("y")
            given = {"y": y, "sample_weight": sample_weight, "offset": offset}
            warn_of_other_order(X, **given)
            X, y, sample_weight, offset = take_named(X, **given)
            predicted = self.predict(X) if offset is None else self.predict(X, offset=offset)
        return float(getattr(metrics, metric)(y, predicted, sample_weight=sample_weight))

    @property
    def _user_voter(self) -> Any:
        # the user's estimator as voter, or None
        voter = None if self._voter_parameter is None else getattr(self, self._voter_parameter)
        return None if isinstance(voter, str) else voter

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        voter = self._user_voter
        own = voter is None or not hasattr(voter, "__sklearn_tags__")
        tags.input_tags.allow_nan = own or get_tags(voter).input_tags.allow_nan
        tags.input_tags.categorical = True
        tags.input_tags.sparse = self._takes_sparse
        return tags


def _check_columns(estimator: CommitteeEstimator, frame: Any, *, reset: bool) -> None:
    check_frame(frame)
    _check_feature_names(estimator, frame, reset=reset)
    _check_n_features(estimator, frame, reset=reset)
    if not _num_samples(frame):
        raise ValueError("X has 0 rows; at least one is needed.")


def _training_pieces(
    X: Any, y: Any, sample_weight: Any, scratch: ExitStack, categorical_features: Any, max_bins: int
) -> TrainingPieces:
    if isinstance(X, TrainingPieces):
        return X
    pieces = as_pieces(X)

    @cache
    def folder() -> Path:
        return scratch.enter_context(scratch_folder(pieces.scratch))

    storage = Storage(pieces.memory_limit, folder)
    return scan_training_pieces(pieces, y, sample_weight, storage, categorical_features, max_bins)


def _encode_pieces(X: Any, keep: Mask | None, digests: bool) -> OutOfCoreMatrix:
    scanned = X.rescan(keep, X.summary.max_bins)
    if not getattr(X.pieces.source, "decides_text", False):
        scanned.summary.check_texts()
    table = scanned.summary.schema
    return scanned.matrix(table, digests) if scanned.is_remote else OutOfCoreMatrix(scanned, table, digests)


# --- estimators of the user as voters ---------------------------------------------------------------------------------


def voter_template(
    parameter: str, voter: Any, table: TableSchema, *, numbers: bool = False, calibrated: bool = False
) -> BaseEstimator:
    """Clone a user's classifier, or regressor for `numbers`, for fits to the encoded matrix."""
    copy: BaseEstimator = clone(voter)
    if numbers and not is_regressor(copy):
        raise ValueError(f"{parameter}={voter!r} is not a regressor; give one that predicts numbers.")
    if not numbers and not is_classifier(copy):
        raise ValueError(f"{parameter}={voter!r} is not a classifier; give one, as voters must name classes.")
    params = copy.get_params(deep=False)
    # a tree's shrunk leaves would no longer be the shares of the weighted rows
    if not numbers and "calibrate" in params and not (calibrated and getattr(copy, "_has_temperature", False)):
        copy.set_params(calibrate=None)
    categorical = np.flatnonzero(table.categorical)
    if len(categorical) and "categorical_features" in params:
        # voters see a matrix without names, so a column is refused here, where it has one
        if "max_bins" in params:
            check_category_counts(table, most_bins(params["max_bins"]))
        copy.set_params(categorical_features=categorical.tolist())
    return copy


def seeded(member: BaseEstimator, seed: int) -> BaseEstimator:
    """Set every ``random_state`` that is None, also of nested estimators."""
    free = [
        name
        for name, value in sorted(member.get_params().items())
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    random = np.random.RandomState(seed)
    return member.set_params(**{name: int(random.randint(2**31 - 1)) for name in free})


def weight_argument(voter: Any) -> str | None:
    if has_fit_parameter(voter, "sample_weight"):
        return "sample_weight"
    from sklearn.pipeline import Pipeline  # few voters are the user's

    if not isinstance(voter, Pipeline):
        return None
    name, last = voter.steps[-1]
    of_last = weight_argument(last)
    return None if of_last is None else f"{name}__{of_last}"


def fit_weighted(member: Any, X: Any, y: NDArray[Any], weights: NDArray[np.float64] | None, **given: Any) -> Any:
    if weights is None:
        return member.fit(X, y, **given)
    argument = weight_argument(member)
    if argument is None:
        raise ValueError(f"{member!r} takes no row weights; leave them out, or choose another estimator.")
    with config_context(enable_metadata_routing=False):  # routed or not, these weights are for the fit
        return member.fit(X, y, **{argument: weights}, **given)
