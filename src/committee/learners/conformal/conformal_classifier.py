"""Conformal prediction sets of class labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from committee.data.labels import label_vector
from committee.data.number_types import F64, Index
from committee.data.row_digests import U64
from committee.learners.base.estimator import BaseClassifier
from committee.learners.base.parameters import parameter, with_parameters
from committee.learners.conformal.calibration_scores import (
    CalibrationScores,
    covered,
    indexable_rows,
    row_counts,
    row_hashes,
)
from committee.learners.conformal.conformal import Conformal
from committee.learners.conformal.out_of_sample import OutOfSample, TrainingRows, predictions_of

LabelScore: TypeAlias = Literal["lac", "aps"]


@with_parameters
class ConformalClassifier(Conformal, BaseClassifier):
    """Prediction sets around any classifier, which contain the true label of a share 1 - alpha of new rows.

    A label's score is its nonconformity with a row. The true labels of the training rows are scored by voters that have
    not seen the row, and a label is in a new row's set if more than a share `alpha` of these scores, the row itself
    counted, are at least as large. docs/conformal.md has what is proved.

    `predict`, `predict_proba` and all else are those of the estimator.

    Attributes
    ----------
    committee_ : Committee
        The estimator's; of an unknown kind, one whose only voter is the estimator.
    classes_ : array (n_classes,)
        The estimator's.

    Notes
    -----
    `class_weight` is for the fit of the estimator; scores count by `sample_weight` alone.

    References
    ----------
    M. Sadinle, J. Lei, L. Wasserman (2019). Least ambiguous set-valued classifiers with bounded error levels. JASA
    114(525). Y. Romano, M. Sesia, E. J. Candès (2020). Classification with valid and adaptive coverage. NeurIPS.
    V. Vovk (2015). Cross-conformal predictors. Annals of Mathematics and Artificial Intelligence 74.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from committee import ConformalClassifier, RandomForestClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = ConformalClassifier(RandomForestClassifier(random_state=0), alpha=0.05).fit(X[::2], y[::2])
    >>> inside = model.predict_set(X[1::2])
    >>> inside.shape, bool(inside[range(89), y[1::2]].mean() > 0.9)
    ((89, 3), True)
    """

    _: KW_ONLY
    nonconformity: LabelScore = parameter(
        "lac",
        """Score of a label: one minus its probability ("lac", the smallest sets on average), or the total probability
        of all more probable labels ("aps": larger sets where classes overlap, and never an empty one with
        ``method="base"``).""",
    )
    randomised: bool = parameter(
        False,
        """With "aps", add a random share of the label's own probability, equal for equal rows, from the row's content
        and `random_state`. Sets are smaller, some are empty, and the coverage is exact where rows differ.""",
    )
    per_class: bool = parameter(
        False,
        """Compare a label with rows of the same class alone, so that at most a share `alpha` of each class may be
        missed.""",
    )

    # --- fit -----------------------------------------------------------------------------------------------------

    @property
    def _default(self) -> Any:
        from committee.learners.blend.committees import CommitteeClassifier

        return CommitteeClassifier()

    def _targets(self, y: ArrayLike | None) -> NDArray[Any]:
        if self.randomised and self.nonconformity != "aps":
            raise ValueError(f"randomised=True is for nonconformity='aps', and it is {self.nonconformity!r}.")
        return np.asarray(label_vector(y))

    def _class_categories(self, training: TrainingRows) -> tuple[Sequence[Any] | None, Index | None]:
        return (self.classes_.tolist(), self._class_numbers(training)) if self.per_class else (None, None)

    def _scores_of(self, found: OutOfSample, training: TrainingRows, random: np.random.RandomState) -> F64:
        if self.randomised:
            self.seed_ = int(random.randint(2**31 - 1))
        labels = self._class_numbers(training)
        scores = label_scores(found.predicted, self.nonconformity, self._random_shares(training.X))
        return scores[np.arange(len(labels)), labels]

    def _class_numbers(self, training: TrainingRows) -> Index:
        place = {label: k for k, label in enumerate(self.classes_.tolist())}
        unknown = [label for label in training.y[training.counted].tolist() if label not in place]
        if unknown and self._trained is not None:
            raise ValueError(
                f"y holds {unknown[0]!r}, which is no class of the estimator; its classes are {list(place)}."
            )
        return np.array([place.get(label, 0) for label in training.y.tolist()], dtype=np.intp)  # others have no weight

    def _random_shares(self, X: Any) -> F64 | None:
        return random_shares(row_hashes(X, self.table_), self.seed_) if self.randomised else None

    # --- new rows ------------------------------------------------------------------------------------------------

    def predict_set(self, X: Any, alpha: float | None = None, *, groups: Any = None) -> NDArray[np.bool_]:
        """Return the prediction set of each row.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows.
        alpha : float, default=None
            Share of rows that may be missed; None: the parameter.
        groups : array-like (n,), default=None
            Group of each row, if `fit` was given groups.

        Returns
        -------
        bool array (n, n_classes)
            Labels in the set, in the order of ``classes_``. Empty sets mostly belong to rows between classes.

        Raises
        ------
        ValueError
            If `alpha` is not between 0 and 1, or groups are missing or unexpected.

        Warns
        -----
        UserWarning
            If a group is new, or there are too few scored rows for another `alpha` than that of the fit.
        """
        level, X = self._checked_alpha(alpha), indexable_rows(X)
        return covered(self._p_values(X, self._groups_of(X, groups)), level)

    def p_values(self, X: Any, *, groups: Any = None) -> F64:
        """Return the p-value of each label, the share of scored rows, the row itself counted, with no smaller score.

        Parameters
        ----------
        X, groups
            As of `predict_set`.

        Returns
        -------
        float64 array (n, n_classes)
            A label is in the set at alpha if its p-value is larger.
        """
        check_is_fitted(self)
        X = indexable_rows(X)
        return self._p_values(X, self._groups_of(X, groups))

    def _p_values(self, X: Any, groups: Any) -> F64:
        p = predictions_of(self.estimator_, X)
        categories, shape = self.row_categories, p.shape
        category = categories.numbers(groups, np.arange(shape[1])[None, :])
        category = np.broadcast_to(category[:, None] if category.ndim == 1 else category, shape)
        own = self._random_shares(X)
        if self.leave_out_ is None:
            known: CalibrationScores = self.known_
            return known.p_values(label_scores(p, self.nonconformity, own), category)
        weights = row_counts(getattr(self, "score_weights_", np.ones(len(self.scores_))))
        below = np.zeros(shape)
        for rows, without in self.leave_out_.predictions(X):
            some = CalibrationScores.of(self.scores_[rows], self.row_categories_[rows], len(categories), weights[rows])
            below += some.weight_below(label_scores(without, self.nonconformity, own), category)
        total = np.append(self.known_.count, 0.0)[category]
        return np.asarray((total - below + 1.0) / (total + 1.0))

    def predict_proba(self, X: Any) -> F64:
        """Return the class probabilities of the estimator, ``(n, n_classes)``."""
        check_is_fitted(self)
        return predictions_of(self.estimator_, indexable_rows(X))


# --- scores of labels ------------------------------------------------------------------------------------------------


def label_scores(p: F64, kind: LabelScore, own: F64 | None) -> F64:
    """Return the scores ``(n, K)`` of all labels; `own` are random shares ``(n,)`` of the label's own probability.

    "lac" is M. Sadinle et al. (2019), "aps" Y. Romano et al. (2020).

    >>> label_scores(np.array([[0.5, 0.25, 0.25]]), "lac", None).tolist()
    [[0.5, 0.75, 0.75]]
    >>> label_scores(np.array([[0.25, 0.5, 0.25]]), "aps", None).tolist()
    [[0.5, 0.0, 0.5]]
    >>> label_scores(np.array([[0.25, 0.5, 0.25]]), "aps", np.array([0.5])).tolist()
    [[0.625, 0.25, 0.625]]
    """
    if kind == "lac":
        return np.asarray(1.0 - p)
    order = np.argsort(-p, axis=1, kind="stable")
    sorted_p = np.take_along_axis(p, order, axis=1)
    before = np.zeros_like(p)
    np.cumsum(sorted_p[:, :-1], axis=1, out=before[:, 1:])
    # equally probable labels have the same score, whichever comes first
    new = np.ones(p.shape, dtype=bool)
    new[:, 1:] = sorted_p[:, 1:] < sorted_p[:, :-1]
    first = np.maximum.accumulate(np.where(new, np.arange(p.shape[1]), 0), axis=1)
    score = np.empty_like(p)
    np.put_along_axis(score, order, np.take_along_axis(before, first, axis=1), axis=1)
    return score if own is None else score + own[:, None] * p


def random_shares(hashes: U64, seed: int) -> F64:
    """Return uniform numbers in [0, 1) from a seed and the hashes of rows, ``(n,)``; equal for equal rows."""
    mixed = hashes + np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return np.asarray((mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53)
