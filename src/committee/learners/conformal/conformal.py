"""Conformal prediction around an estimator: what classifiers and regressors do alike."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    _num_samples,
    check_consistent_length,
    check_is_fitted,
)

from committee.data.arrays import refuse_path
from committee.data.in_pieces import is_in_pieces
from committee.data.number_types import F64, Index, Mask
from committee.data.rows import row_weights
from committee.learners.base import shared_parameters as shared
from committee.learners.base.estimator import CommitteeEstimator
from committee.learners.base.parameters import FRACTION, fitted, parameter, with_parameters
from committee.learners.base.stored_learner import MetaEstimatorMixin
from committee.learners.base.user_voter import seeded
from committee.learners.conformal.dealt_folds import N_FOLDS, folds_of_rows
from committee.learners.conformal.estimator_inside import refuse_other_kind, unfitted_copy
from committee.learners.conformal.known_scores import ROUNDING, KnownScores
from committee.learners.conformal.row_content import by_row
from committee.learners.conformal.row_groups import Group, RowCategories, group_of_rows, group_words
from committee.learners.conformal.stored_conformal import StoredConformal
from committee.learners.conformal.unseen_answers import (
    Training,
    UnseenAnswers,
    held_out,
    judges_itself,
    out_of_bag,
    trained_on_folds,
    trained_out_of_bag,
)
from committee.vote.committee import Committee
from committee.vote.regression import RegressionCommittee

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from committee.data.frames import TableSchema


@with_parameters
class Conformal(MetaEstimatorMixin, StoredConformal, CommitteeEstimator):
    """Base of the conformal classifier and the conformal regressor."""

    stored_attributes: ClassVar[tuple[str, ...]] = (
        "alpha_",
        "scores_",
        "score_weights_",
        "row_categories_",
        "groups_",
        "source_",
        "seed_",
        "fold_of_rows_",
        "unseen_",
    )
    voter_kinds: ClassVar[tuple[str, ...] | None] = None
    trained_parameters: ClassVar[tuple[str, ...]] = ("estimator",)

    estimator_: Any = fitted(
        "The estimator, trained on all rows, by which `predict` answers; a committee if that is what was given.",
        "estimator",
    )
    table_: TableSchema = fitted(
        "Columns as the estimator has learned them; None where it reads rows in its own way.", "TableSchema or None"
    )
    alpha_: float = fitted("`alpha` of the fit, of which its warnings are.", "float")
    scores_: F64 = fitted(
        "Score of each training row by voters that have not seen it; NaN for rows that nothing judges.",
        "float64 array (n,)",
    )
    score_weights_: F64 = fitted("Weights of these; absent if all are equal.", "float64 array (n,)")
    row_categories_: NDArray[np.int64] = fitted(
        "Which rows each is compared with: number of its group, times the number of classes and its class's where "
        "classes are judged apart.",
        "int64 array (n,)",
    )
    groups_: list[Group] | None = fitted("The groups, in order; None if there are none.", "list or None")
    source_: str = fitted("""Rows that the scores are of: "out of bag", "out of fold" or "held out".""", "str")
    seed_: int = fitted("By which shares of `randomised` sets are drawn; absent else.", "int")
    fold_of_rows_: NDArray[np.int64] = fitted(
        'With ``method="plus"`` and folds: that of each row, -1 for none.', "int64 array (n,)"
    )
    unseen_: NDArray[np.uint8] = fitted(
        'With ``method="plus"`` out of bag: which voters have not seen a row, one bit each as in `numpy.packbits`.',
        "uint8 array (n, ceil(n_voters / 8))",
    )

    estimator: Any = parameter(
        None,
        """What is trained: a learner of this library or of scikit-learn; None: the committee with nothing to tune. Or
        what is trained already: a `Committee`, or any model in a ``FrozenEstimator``, together with `on`.""",
        "no_validation",
        type_words="estimator or None",
    )
    alpha: float = parameter(0.1, "Share of new rows that may be missed.", FRACTION)
    _: KW_ONLY
    method: Literal["base", "plus"] = parameter(
        "base",
        """"base": a new row is answered by the whole estimator. "plus": once without each row whose score is known, by
        the fold or the voters that have not seen it (CV+, jackknife+ after bootstrap), for which a share of misses
        of no more than twice `alpha` and a little is proved (how little: docs/conformal.md), of all rows and not of
        each class or group; predictions take longer.""",
    )
    group_by: str | int | None = parameter(
        None,
        """Column of `X`, by its name or place, whose values are groups: at most a share `alpha` of the rows of each may
        be missed. Other groups are given to `fit` as ``groups``.""",
        str,
        Interval(Integral, 0, None, closed="left"),
        None,
    )
    on: Literal["auto", "oob", "validation"] = parameter(
        "auto",
        """Rows whose scores are known. "auto": those that the fit itself leaves out, where it does (forests and other
        bags, the committee with nothing to tune), else folds. "oob": these, and no folds; of an ensemble that is
        trained already, its training rows, in their order. "validation": rows that a model, trained already, has not
        seen.""",
    )
    cv: Any = parameter(
        None,
        """Folds, each judged by a further fit on the others: a number, or one of scikit-learn's splitters, or splits.
        None: 5, and only where the fit leaves no rows out itself.""",
        "cv_object",
        type_words="int, splitter, iterable of splits or None",
    )
    random_state: Any = shared.random_state("parts of the estimator that have no seed, and randomised sets")
    n_jobs: int | None = shared.n_jobs("Folds trained at the same time")

    # --- one learner's own ---------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def _default(self) -> Any:
        """Estimator in the place of None."""

    @abstractmethod
    def _targets(self, y: ArrayLike | None) -> NDArray[Any]:
        """Labels or numbers of rows, checked."""

    @abstractmethod
    def _judged_apart(self, training: Training) -> tuple[Sequence[Any] | None, Index | None]:
        """Return the classes that are judged apart and the class of each row; None for none."""

    @abstractmethod
    def _scores_of(self, unseen: UnseenAnswers, training: Training, random: np.random.RandomState) -> F64:
        """Score of each training row; sets what else this fits."""

    # --- the fit -------------------------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None, *, groups: Any = None
    ) -> Self:
        """Train the estimator, unless it is, and score rows that it has not seen. A fit that fails changes nothing.

        Parameters
        ----------
        X : table or array-like (n, p)
            Training rows, or of a model that is trained already the rows that `on` says.
        y : array-like (n,)
            Class labels, or numbers to predict.
        sample_weight : array-like (n,), default=None
            Row weights, in training and among the scores; 0 means absent, k means repeated k times.
        groups : array-like (n,), default=None
            Group of each row; predictions are then given those of their rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If parameters contradict each other, no row can be judged, or what the estimator refuses.

        Warns
        -----
        UserWarning
            If the rows of a class or a group are too few for `alpha`: sets and intervals are then all there is.
        """
        self._validate_params()
        refuse_path(X)
        if is_in_pieces(X):
            raise ValueError(
                f"{type(self).__name__} scores rows in memory, and X comes in pieces; give it a part of them."
            )
        X = by_row(X)
        X = X if hasattr(X, "__getitem__") else np.asarray(X)
        target = self._targets(y)
        check_consistent_length(X, target)
        given = None if sample_weight is None else row_weights(sample_weight, target)
        weights = self.fit_weights(target, given)
        group = group_of_rows(X, groups, self.group_by, len(target))
        training = Training(X, target, None if weights is None else np.asarray(weights))
        # an ensemble that is trained already numbers all rows that it was given
        scored = np.ones(len(target), dtype=bool) if self._trained is not None else training.counted
        random = check_random_state(self.random_state)
        with self._as_before_if_it_fails():
            self._forget()
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                unseen = self._unseen(training, scored, int(random.randint(2**31 - 1)))
            self._take_model(unseen.model)
            classes, labels = self._judged_apart(training)
            apart = RowCategories.of(group, classes)
            self.groups_ = None if group is None else list(apart.groups)
            self.row_categories_ = np.broadcast_to(apart.numbers(group, labels), len(target)).astype(np.int64)
            self.scores_ = np.full(len(target), np.nan)
            self.scores_[scored] = self._scores_of(unseen, training.some(scored), random)
            self.scores_[~training.counted] = np.nan
            if given is not None:
                self.score_weights_ = given
            self.source_, self.alpha_ = unseen.source, float(self.alpha)
            self._keep_leave_out(unseen.leave_out, scored)
            self._ready()
            for message, kind in dict.fromkeys((str(each.message), each.category) for each in warned):
                warnings.warn(message, kind, stacklevel=2)
            self._warn_of_few(self.alpha, stacklevel=3)
        return self

    def _forget(self) -> None:
        """Drop what an earlier fit has found."""
        names = ("committee_", "classes_", "table_", "n_features_in_", "feature_names_in_", "estimator_", "provenance_")
        for name in (*names, *self.stored_attributes, "difficulty_", "fold_models_", "known_"):
            self.__dict__.pop(name, None)

    def _unseen(self, given: Training, scored: Mask, seed: int) -> UnseenAnswers:
        """Answers to the rows that count by voters that have not seen them, and the model that answers to new ones."""
        training, plus = given.some(scored), self.method == "plus"
        if (trained := self._trained) is not None:
            refuse_other_kind(trained, of_classes=self._of_classes)
            return self._of_trained(trained, training, plus)
        if self.on == "validation":
            raise ValueError(
                "on='validation' is about a model that is trained already; put it in a sklearn.frozen.FrozenEstimator, "
                "or leave on at 'auto'."
            )
        estimator = unfitted_copy(self._default if self.estimator is None else self.estimator)
        refuse_other_kind(estimator, of_classes=self._of_classes)
        estimator = seeded(estimator, seed)
        if self.on == "oob" and self.cv is not None:
            raise ValueError(f"on='oob' has no folds, and cv={self.cv!r} asks for them; leave one of them out.")
        if self.cv is None and judges_itself(estimator):
            found = trained_out_of_bag(estimator, training, leave_out=plus, levels=self.on == "oob")
            if found is not None:
                return found
        if self.on == "oob":
            raise ValueError(
                f"on='oob' needs an estimator that leaves rows out, and {estimator!r} leaves none; use cv=5, or one "
                "with a bootstrap."
            )
        fold = self._folds(given, scored)
        return trained_on_folds(estimator, training, fold, self.n_jobs, leave_out=plus)

    def _folds(self, given: Training, scored: Mask) -> NDArray[np.int64]:
        """Fold of each row that counts; a splitter parts all rows, as it numbers them."""
        numbered = isinstance(self.cv, Integral | None)
        rows = given.some(scored) if numbered else given
        labels = np.unique(rows.y, return_inverse=True)[1] if self._of_classes else None
        fold = folds_of_rows(N_FOLDS if self.cv is None else self.cv, rows.X, rows.y, labels)
        return fold if numbered else fold[scored]

    def _of_trained(self, model: Any, training: Training, plus: bool) -> UnseenAnswers:
        """Answers of a model that is trained already."""
        if self.on == "auto" or self.cv is not None:
            raise ValueError(
                f"estimator is trained already, and on={self.on!r}, cv={self.cv!r} do not say what the rows are; give "
                "on='validation' for rows that it has not seen, or on='oob' for those that it was trained on."
            )
        if self.on == "oob":
            return out_of_bag(model, training, leave_out=plus, trained_before=True)
        if plus:
            raise ValueError(
                'method="plus" is about training rows; held-out rows need no more than "base", which proves more.'
            )
        return held_out(model, training.X)

    @property
    def _trained(self) -> Any:
        """The model that is trained already; None if it is to be trained."""
        if isinstance(self.estimator, FrozenEstimator):
            check_is_fitted(self.estimator.estimator)
            return self.estimator.estimator
        return self.estimator if isinstance(self.estimator, Committee | RegressionCommittee) else None

    @property
    def _of_classes(self) -> bool:
        return hasattr(type(self), "predict_proba")

    def _ready(self) -> None:
        """Sort the scores."""
        weights = getattr(self, "score_weights_", None)
        self.known_ = KnownScores.of(self.scores_, self.row_categories_, len(self.row_categories), weights)

    @property
    def row_categories(self) -> RowCategories:
        """Groups and classes that are judged apart."""
        classes = self.classes_.tolist() if getattr(self, "per_class", False) else [None]
        return RowCategories([None] if self.groups_ is None else self.groups_, classes, self.groups_ is not None)

    # --- new rows ------------------------------------------------------------------------------------------------

    def _level(self, alpha: float | None) -> float:
        """Check the share that may be missed; another one than that of the fit may have too few rows."""
        check_is_fitted(self)
        alpha = self.alpha if alpha is None else alpha  # which may have been set since the fit
        if isinstance(alpha, bool) or not isinstance(alpha, Real) or not 0.0 < alpha < 1.0:
            raise ValueError(f"alpha={alpha!r} must be a number above 0 and below 1.")
        if alpha != self.alpha_:
            self._warn_of_few(float(alpha), stacklevel=4)
        return float(alpha)

    def _warn_of_few(self, alpha: float, stacklevel: int) -> None:
        """Warn of classes and groups that have too few rows for a share."""
        few = self.known_.too_few(alpha)
        if not len(few):
            return
        apart, count = self.row_categories, self.known_.count
        first = max(few.tolist(), key=lambda category: float(count[category]))
        words = "" if len(apart) == 1 else f"{apart.words(first)}{f' and {len(few) - 1} more' * (len(few) > 1)}: "
        # the least alphas of float64 need more rows than it can count
        needed = np.ceil((1.0 - alpha) / max(alpha, 1e-300) * (1.0 - ROUNDING))
        of_classes = "sets always have that class" if getattr(self, "per_class", False) else "sets have every class"
        warnings.warn(
            f"{words}{count[first]:g} rows are scored, and an alpha of {alpha:g} needs {needed:.15g}; "
            f"{of_classes if self._of_classes else 'intervals are infinite'}.",
            stacklevel=stacklevel,
        )

    def _groups_of(self, X: Any, groups: Any) -> list[Group] | None:
        """Return the groups of new rows, which are those of `fit` where it had some."""
        if self.groups_ is None:
            if groups is not None:
                raise ValueError("groups are given, and the fit had none; leave them out.")
            return None
        if groups is None and self.group_by is None:
            raise ValueError("the fit had groups; give those of these rows as groups.")
        found = group_of_rows(X, groups, self.group_by, _num_samples(X))
        known = set(self.groups_)
        unknown = sorted({group_words(group) for group in found or () if group not in known})
        if unknown:
            many = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
            what = "sets of all classes" if self._of_classes else "infinite intervals"
            warnings.warn(f"{unknown[0]}{many} has no training row; its rows get {what}.", stacklevel=3)
        return found

    def predict(self, X: Any) -> NDArray[Any]:
        """What the estimator predicts."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(by_row(X)))

    # --- what it says of itself ----------------------------------------------------------------------------------

    def contributions(self, X: Any, **options: Any) -> Any:
        """Share of each feature in what the estimator answers; see its own `contributions`."""
        check_is_fitted(self)
        if not hasattr(self.estimator_, "contributions"):
            return super().contributions(X, **options)
        return self.estimator_.contributions(X, **options)

    @property
    def feature_importances_(self) -> F64:
        """Share of each feature, as the estimator has it."""
        check_is_fitted(self)
        found: F64 = self.estimator_.feature_importances_
        return found

    def validate_rows(self, X: Any) -> Any:
        """Return X as the estimator's committee takes it."""
        check_is_fitted(self)
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
        inner = self._default if self.estimator is None else self.estimator
        if hasattr(inner, "__sklearn_tags__"):
            tags.input_tags = get_tags(inner).input_tags
        return tags
