"""Base class of the conformal learners: fit, calibration scores, and rows to predict."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags, get_tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    _num_samples,
    check_consistent_length,
    check_is_fitted,
)

from committee.data.columns import is_frame, open_frame, take_named, warn_of_other_order, without_named
from committee.data.matrices import is_out_of_core, reject_no_table
from committee.data.number_types import F64, Index, Mask
from committee.data.rows import checked_offset, row_weights
from committee.data.table_schema import TableSchema
from committee.data.text import brief_repr, warn_user
from committee.learners.base import shared_parameters as shared
from committee.learners.base.estimator import CommitteeEstimator, seeded
from committee.learners.base.parameters import FRACTION, fitted, parameter, with_parameters
from committee.learners.base.row_sampling import fit_generator
from committee.learners.base.stored_learner import MetaEstimatorMixin
from committee.learners.conformal.calibration_scores import (
    ROUNDING,
    CalibrationScores,
    Group,
    RowCategories,
    covering_rank,
    group_of_rows,
    group_words,
    indexable_rows,
    row_counts,
    sorted_groups,
)
from committee.learners.conformal.out_of_sample import (
    N_FOLDS,
    FoldModels,
    LeaveOut,
    OutOfBagVoters,
    OutOfSample,
    TrainingRows,
    as_committee,
    check_kind,
    check_takes_offset,
    fit_on_folds,
    fit_out_of_bag,
    folds_of_rows,
    has_out_of_bag_rows,
    out_of_bag,
    unfitted_copy,
)
from committee.vote.committee import Committee, RegressionCommittee


@with_parameters
class Conformal(MetaEstimatorMixin, CommitteeEstimator):
    stored_attributes: ClassVar[tuple[str, ...]] = (
        *("alpha_", "scores_", "score_weights_", "row_categories_", "groups_", "source_", "seed_", "fold_of_rows_"),
        "unseen_",
    )
    voter_kinds: ClassVar[tuple[str, ...] | None] = None
    trained_parameters: ClassVar[tuple[str, ...]] = ("estimator",)
    first_parameters: ClassVar[tuple[str, ...]] = ("method", "cv", "random_state", "n_jobs")
    _default_estimator: ClassVar[type]

    estimator_: Any = fitted("The estimator fitted to all rows, or the given trained model.", "estimator")
    table_: TableSchema = fitted(
        "Schema of the estimator's columns; None if the estimator has none.", "TableSchema or None"
    )
    alpha_: float = fitted("`alpha` of the fit, on which its warnings are based.", "float")
    scores_: F64 = fitted(
        "Score of each row of `fit` by voters that have not seen it; NaN without such voters, or of weight 0.",
        "float64 array (n,)",
    )
    score_weights_: F64 = fitted("Weights of the scores; absent without `sample_weight`.", "float64 array (n,)")
    row_categories_: NDArray[np.int64] = fitted(
        """Category of each row, within which scores are compared: its group's number g; with `per_class` of a
        classifier g times the number of classes plus the number of its class.""",
        "int64 array (n,)",
    )
    groups_: list[Group] | None = fitted("The groups, sorted; None without groups.", "list or None")
    source_: str = fitted("""Rows of the scores: "out of bag", "out of fold" or "held out".""", "str")
    seed_: int = fitted("Seed of a classifier's `randomised` sets; absent otherwise.", "int")
    fold_of_rows_: NDArray[np.int64] = fitted(
        'With ``method="plus"`` and folds: fold of each row, -1 for none.', "int64 array (n,)"
    )
    unseen_: NDArray[np.uint8] = fitted(
        'With ``method="plus"`` out of bag: voters that have not seen a row, packed as by `numpy.packbits`.',
        "uint8 array (n, ceil(n_voters / 8))",
    )
    fold_models_: list[Any] = fitted('With ``method="plus"`` and folds: the model of each fold.', "list")
    known_: CalibrationScores = fitted(
        "The sorted scores: ``known_.thresholds(alpha)`` and ``known_.count``.", "CalibrationScores"
    )

    estimator: Any = parameter(
        None,
        """Estimator to be fitted: a learner of this library or of scikit-learn; None: `CommitteeClassifier` or
        `CommitteeRegressor`. Or a trained model: a `Committee`, a `RegressionCommittee`, or any model in a
        ``FrozenEstimator``, together with `on`.""",
        "no_validation",
        type_words="estimator or None",
    )
    alpha: float = parameter(0.1, "Largest share of new rows that may be missed.", FRACTION)
    _: KW_ONLY
    method: Literal["base", "plus"] = parameter(
        "base",
        """"base": the estimator predicts new rows. "plus": models without each scored row predict new rows, by folds or
        out-of-bag voters (CV+, jackknife+ after bootstrap); a miss rate of at most about twice `alpha` is then proved
        for all rows together (docs/conformal.md), and predictions take longer.""",
    )
    group_by: str | int | None = parameter(
        None,
        """Column of `X`, by name or number, whose values are groups: at most a share `alpha` of the rows of each
        group may be missed. Groups that are no feature are given to `fit` as ``groups``.""",
        str,
        Interval(Integral, 0, None, closed="left"),
        None,
    )
    on: Literal["auto", "oob", "validation"] = parameter(
        "auto",
        """Rows that are scored. "auto": the rows that the fit itself leaves out, if any (forests, other bagging,
        `CommitteeClassifier`, `CommitteeRegressor`); otherwise, and with `cv`, all rows, by folds. "oob": the rows that
        the fit leaves out; for a trained ensemble, its training rows, in their order. "validation": rows that a trained
        model has not seen.""",
    )
    cv: Any = parameter(
        None,
        """Folds, each scored by a fit to the others: a number, a splitter of scikit-learn, or splits. None: 5, and only
        if the fit leaves no rows out itself.""",
        "cv_object",
        type_words="int, splitter, iterable of splits or None",
    )
    random_state: Any = shared.random_state("parts of the estimator that have no seed, and randomised sets")
    n_jobs: int | None = shared.n_jobs("Folds trained at the same time")

    # --- classification or regression ----------------------------------------------------------------------------

    @abstractmethod
    def _targets(self, y: ArrayLike | None) -> NDArray[Any]: ...

    @abstractmethod
    def _scores_of(self, found: OutOfSample, training: TrainingRows, random: np.random.RandomState) -> F64: ...

    # --- fit -----------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: ArrayLike | str | None = None,
        sample_weight: ArrayLike | str | None = None,
        *,
        groups: Any = None,
        offset: ArrayLike | str | None = None,
    ) -> Self:
        """Fit the estimator, unless it is trained, and score rows that it has not seen.

        Warns if all rows, a class or a group are too few for `alpha`: sets and intervals are then unbounded.

        Parameters
        ----------
        X : table or array-like (n, p)
            Training rows, or rows as `on` describes them for a trained model.
        y : array-like (n,) or str
            Class labels, or numbers to predict. A text names the column of `X` that holds them.
        sample_weight : array-like (n,) or str, default=None
            Row weights of the fit and of the scores, or the name of their column. Whole numbers with a mean of at most
            10 count repeated rows; of other weights only the ratios matter.
        groups : array-like (n,) or str, default=None
            Group of each row, or the name of their column; predictions then need those of their rows.
        offset : array-like (n,) or (n, D) or str, default=None
            Offset of each row, or the name of its column, for an estimator that takes one, such as
            `GradientBoostingRegressor`. Give it to predictions too; without it they add no offset.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If the estimator is no estimator, or one of the other kind.
        ValueError
            If parameters contradict each other, no row can be scored, the estimator takes no offset and one is given,
            or from the estimator. Nothing is changed then.
        """
        self._validate_params()
        reject_no_table(X)
        if is_out_of_core(X):
            raise ValueError(
                f"{type(self).__name__} needs rows in memory, but X is an out-of-core table; pass a sample of it."
            )
        warn_of_other_order(X, y=y, sample_weight=sample_weight, groups=groups, offset=offset)
        named = {"y": y, "sample_weight": sample_weight, "groups": groups, "offset": offset}
        X, y, sample_weight, groups, offset = take_named(X, **named)
        X = indexable_rows(X)
        X = X if hasattr(X, "__getitem__") else np.asarray(X)
        target = self._targets(y)
        check_consistent_length(X, target)
        weights = self.fit_weights(target, sample_weight)
        weights = None if weights is None else np.asarray(weights)
        given = None if sample_weight is None else row_weights(sample_weight, target, warn=False)
        group = group_of_rows(X, groups, self.group_by)
        offsets = None if offset is None else checked_offset(offset, len(target))
        training = TrainingRows(X, target, weights, offsets)
        # a trained ensemble's out-of-bag rows are numbered among all rows, also those of weight 0
        scored = np.ones(len(target), dtype=bool) if self._trained is not None else training.counted
        counts = np.ones(len(target)) if weights is None else weights
        random = fit_generator(self.random_state, target if self._is_classifier else None, counts)
        with self._as_before_if_it_fails():
            for name in [name for name in vars(self) if name.endswith("_")]:
                del self.__dict__[name]
            self._remember_named(named)
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                found = self._out_of_sample(training, scored, int(random.randint(2**31 - 1)))
            self._take_model(found.model)
            self.groups_ = None if group is None else sorted_groups(group)
            labels = self._class_numbers(training) if self._per_class else None
            category = self.row_categories.numbers(group, labels)
            self.row_categories_ = np.broadcast_to(category, len(target)).astype(np.int64)
            self.scores_ = np.full(len(target), np.nan)
            self.scores_[scored] = self._scores_of(found, training.masked(scored), random)
            self.scores_[~training.counted] = np.nan
            if given is not None:
                self.score_weights_ = given
            self.source_, self.alpha_ = found.source, float(self.alpha)
            self._keep_leave_out(found.leave_out, scored)
            self._sort_scores()
            for message, kind in dict.fromkeys((str(each.message), each.category) for each in warned):
                warn_user(message, kind)
            self._warn_of_few(self.alpha)
        return self

    def _out_of_sample(self, given: TrainingRows, scored: Mask, seed: int) -> OutOfSample:
        training, plus = given.masked(scored), self.method == "plus"
        if given.offset is not None:
            check_takes_offset(self.estimator if self._trained is None else self._trained)
        if (trained := self._trained) is not None:
            return self._of_trained(trained, training, plus)
        if self.on == "validation":
            raise ValueError(
                "on='validation' is for a trained model; put it in a sklearn.frozen.FrozenEstimator, or leave on at "
                "'auto'."
            )
        estimator = unfitted_copy(self._default_estimator() if self.estimator is None else self.estimator)
        check_kind(estimator, classifier=self._is_classifier)
        estimator = seeded(estimator, seed)
        if self.on == "oob" and self.cv is not None:
            raise ValueError(
                f"on='oob' has no folds, and cv={brief_repr(self.cv)} asks for them; leave one of them out."
            )
        if self.cv is None and has_out_of_bag_rows(estimator):
            found = fit_out_of_bag(estimator, training, leave_out=plus, required=self.on == "oob")
            if found is not None:
                return found
        if self.on == "oob":
            raise ValueError(
                f"on='oob' needs an estimator whose fit leaves known rows out, as that of {estimator!r} does not; give "
                "one with a bootstrap and no warm_start, or cv=5 with on='auto'."
            )
        # a splitter numbers all rows, those without weight too
        numbered = isinstance(self.cv, Integral | None)
        rows = training if numbered else given
        labels = np.unique(rows.y, return_inverse=True)[1] if self._is_classifier else None
        fold = folds_of_rows(N_FOLDS if self.cv is None else self.cv, rows.X, rows.y, labels)
        return fit_on_folds(estimator, training, fold if numbered else fold[scored], self.n_jobs, leave_out=plus)

    def _of_trained(self, model: Any, training: TrainingRows, plus: bool) -> OutOfSample:
        check_kind(model, classifier=self._is_classifier)
        if self.on == "auto" or self.cv is not None:
            raise ValueError(
                f"estimator is trained already, and on={self.on!r}, cv={brief_repr(self.cv)} do not define the rows; "
                "set cv=None and on='validation' for rows that it has not seen, or on='oob' for those that it was "
                "trained on."
            )
        if self.on == "oob":
            return out_of_bag(model, training, leave_out=plus, trained_before=True)
        if plus:
            raise ValueError(
                'method="plus" is for training rows; held-out rows need no more than "base", which proves more.'
            )
        return OutOfSample(model, training.predictions_of(model), "held out")

    @property
    def _trained(self) -> Any:
        if isinstance(self.estimator, FrozenEstimator):
            check_is_fitted(self.estimator.estimator)
            return self.estimator.estimator
        return self.estimator if isinstance(self.estimator, Committee | RegressionCommittee) else None

    @property
    def _is_classifier(self) -> bool:
        return hasattr(type(self), "predict_proba")

    @property
    def _per_class(self) -> bool:
        return getattr(self, "per_class", False)

    def _class_numbers(self, training: TrainingRows) -> Index:
        return training.class_numbers(self.classes_, all_known=self._trained is not None)

    def _take_model(self, model: Any) -> None:
        if hasattr(model, "predict_proba") != self._is_classifier:
            raise ValueError(f"the model is a {type(model).__name__}, which does not suit a {type(self).__name__}")
        self.estimator_ = model
        self.committee_: Any = as_committee(model)
        known: Any = getattr(model, "table_", getattr(model, "table", None))
        self.table_ = known
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        if not hasattr(self, "n_features_in_") and (width := self.committee_.voters.n_features) is not None:
            self.n_features_in_ = width
        if self._is_classifier:
            self.classes_: Any = getattr(model, "classes_", getattr(self.committee_, "classes", None))

    def _sort_scores(self) -> None:
        categories, counts = self.row_categories, self._score_counts
        self.known_ = CalibrationScores.of(self.scores_, self.row_categories_, len(categories), counts)

    @property
    def _score_counts(self) -> F64:
        return row_counts(getattr(self, "score_weights_", np.ones(len(self.scores_))))

    @property
    def row_categories(self) -> RowCategories:
        """Groups and classes in which scores are compared."""
        classes = self.classes_.tolist() if self._per_class else [None]
        return RowCategories([None] if self.groups_ is None else self.groups_, classes, self.groups_ is not None)

    # --- models without some rows --------------------------------------------------------------------------------

    def _keep_leave_out(self, leave_out: LeaveOut | None, scored: Mask) -> None:
        if isinstance(leave_out, FoldModels):
            self.fold_models_ = list(leave_out.models)
            self.fold_of_rows_ = np.full(len(scored), -1)
            self.fold_of_rows_[scored] = leave_out.fold
        elif isinstance(leave_out, OutOfBagVoters):
            unseen = np.zeros((len(scored), leave_out.unseen.shape[1]), dtype=bool)
            unseen[scored] = leave_out.unseen
            self.unseen_ = np.packbits(unseen, axis=1)

    @property
    def leave_out_(self) -> LeaveOut | None:
        """Fold models, or the rows' out-of-bag voters; None with ``method="base"``, or out of bag for one class."""
        if hasattr(self, "fold_models_"):
            return FoldModels(self.fold_models_, self.fold_of_rows_)
        if hasattr(self, "unseen_"):
            n_voters = self.committee_.n_voters
            return OutOfBagVoters(self.committee_, np.unpackbits(self.unseen_, axis=1, count=n_voters).astype(bool))
        return None

    # --- new rows ------------------------------------------------------------------------------------------------

    def _checked_alpha(self, alpha: float | None) -> float:
        check_is_fitted(self)
        alpha = self.alpha if alpha is None else alpha  # which may have been set since the fit
        if isinstance(alpha, bool) or not isinstance(alpha, Real) or not 0.0 < alpha < 1.0:
            raise ValueError(f"alpha={alpha!r} must be a number above 0 and below 1.")
        if alpha != self.alpha_:
            self._warn_of_few(float(alpha))
        return float(alpha)

    def _warn_of_few(self, alpha: float) -> None:
        count, categories = self.known_.count, self.row_categories
        few = np.flatnonzero(covering_rank(alpha, count) > count)
        if not len(few):
            return
        first = max(few.tolist(), key=lambda category: float(count[category]))
        more = f" and {len(few) - 1} more" * (len(few) > 1)
        which = "" if len(categories) == 1 else f"{categories.words(first)}{more}: {'at most ' * bool(more)}"
        # the smallest alphas of float64 need more rows than it can count
        needed = np.ceil((1.0 - alpha) / max(alpha, 1e-300) * (1.0 - ROUNDING))
        there = " there" if self.groups_ is not None else ""
        unbounded = f"sets{there} have every class" if self._is_classifier else f"intervals{there} are infinite"
        unbounded = f"sets{there} leave out no such class" if self._per_class else unbounded
        warn_user(
            f"{which}{count[first]:g} rows are scored, and an alpha of {alpha:g} needs {needed:.15g}; {unbounded}."
        )

    def _groups_of(self, X: Any, groups: Any) -> list[Group] | None:
        if self.groups_ is None:
            if groups is not None:
                raise ValueError("groups are given, and the fit had none; leave them out.")
            return None
        if groups is None and self.group_by is None:
            raise ValueError("the fit had groups; give those of these rows as groups.")
        found = group_of_rows(X, groups, self.group_by) or []
        new = sorted({group_words(group) for group in set(found).difference(self.groups_)})
        if new:
            more = f" and {len(new) - 1} more" if len(new) > 1 else ""
            unbounded = "sets of all classes" if self._is_classifier else "infinite intervals"
            warn_user(f"no row of fit is in {new[0]}{more}; the rows of such groups get {unbounded}.")
        return found

    def _rows_of(self, X: Any, groups: Any = None, offset: Any = None) -> tuple[Any, Any, F64 | None]:
        # rows with the columns of the estimator, their groups and offsets
        check_is_fitted(self)
        named: dict[str, str] = getattr(self, "named_columns_", {})
        if is_frame(X):
            if groups is None and named.get("groups") in open_frame(X).columns:
                groups = named["groups"]
            X, groups, offset = take_named(X, groups=groups, offset=offset)
            X = without_named(X, named, getattr(self, "feature_names_in_", ())) if named else X
        X = indexable_rows(X)
        if offset is None or is_out_of_core(X):  # the estimator refuses offsets of rows in pieces
            return X, groups, offset
        return X, groups, checked_offset(offset, _num_samples(X))

    def predict(self, X: Any, *, offset: ArrayLike | str | None = None) -> NDArray[Any]:
        """Return the predictions of the estimator, ``(n,)``, or of D quantiles ``(n, D)``, with `offset` if given."""
        X, _, offset = self._rows_of(X, offset=offset)
        return np.asarray(self.estimator_.predict(X, **({} if offset is None else {"offset": offset})))

    def contributions(self, X: Any, **options: Any) -> Any:
        """Return the contribution of each feature to the estimator's predictions; see its own `contributions`."""
        X, _, _ = self._rows_of(X)
        if not hasattr(self.estimator_, "contributions"):
            return super().contributions(X, **options)
        return self.estimator_.contributions(X, **options)

    @property
    def feature_importances_(self) -> F64:
        """Feature importances of the estimator."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.feature_importances_)

    def validate_rows(self, X: Any) -> Any:
        X, _, _ = self._rows_of(X)
        if hasattr(self.estimator_, "validate_rows"):
            return self.estimator_.validate_rows(X)
        if hasattr(self, "n_features_in_") and len(getattr(X, "shape", ())) == 2:
            _check_feature_names(self, X, reset=False)
            _check_n_features(self, X, reset=False)
        return X

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "known_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = self._default_estimator() if self.estimator is None else self.estimator
        if hasattr(inner, "__sklearn_tags__"):
            tags.input_tags = get_tags(inner).input_tags
        return tags
