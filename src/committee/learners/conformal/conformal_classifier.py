"""Sets of labels that hold the right one as often as asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from committee.data.number_types import F64, Index
from committee.data.rows import label_vector
from committee.learners.base.estimator import BaseClassifier
from committee.learners.base.parameters import parameter, with_parameters
from committee.learners.conformal.conformal import Conformal
from committee.learners.conformal.known_scores import KnownScores, covered, row_counts
from committee.learners.conformal.label_scores import LabelScore, label_scores, random_shares
from committee.learners.conformal.row_content import by_row, content_numbers
from committee.learners.conformal.unseen_answers import Training, UnseenAnswers, answer


@with_parameters
class ConformalClassifier(Conformal, BaseClassifier):
    """Sets of labels around any classifier, which hold the right one for a share 1 - alpha of new rows.

    A label's score says how strange it would be for a row. The scores of the training rows' own labels are known, each
    by voters that have not seen the row, and a label is in a new row's set if more than a share `alpha` of them, the
    row itself counted, are as strange. What is proved of that, and what is not, is in docs/conformal.md.

    `predict`, `predict_proba` and all else are those of the estimator.

    Attributes
    ----------
    committee_ : Committee
        That of the estimator; of one that is not known, the estimator as its only voter.
    classes_ : array (n_classes,)
        The estimator's.
    fold_models_ : list
        With ``method="plus"`` and folds, the fit for each.
    known_ : KnownScores
        The scores, sorted: ``known_.thresholds(alpha)`` and ``known_.count``.

    Notes
    -----
    `class_weight` is for the training of the estimator; scores count as `sample_weight` says, as coverage is of rows as
    they come.

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
        """Score of a label: one minus its probability ("lac", the smallest sets in the mean), or the probability of all
        labels that are likelier ("aps": larger sets where the classes are hard to tell apart, and never an empty one
        with ``method="base"``).""",
    )
    randomised: bool = parameter(
        False,
        """Of "aps": add a random share of the label's own probability, which follows from what the row
        holds and `random_state`: rows that are equal have the same one. Smaller sets, some of them empty, and a
        coverage that is met and not passed where rows differ.""",
    )
    per_class: bool = parameter(
        False,
        """Compare a label with rows of the same class alone, so that of each class a share of at most `alpha` may be
        missed, of rare ones too.""",
    )

    # --- the fit -------------------------------------------------------------------------------------------------

    @property
    def _default(self) -> Any:
        from committee.learners.blend.committees import CommitteeClassifier

        return CommitteeClassifier()

    def _targets(self, y: ArrayLike | None) -> NDArray[Any]:
        if self.randomised and self.nonconformity != "aps":
            raise ValueError(f"randomised=True is of nonconformity='aps', and it is {self.nonconformity!r}.")
        return np.asarray(label_vector(y))

    def _judged_apart(self, training: Training) -> tuple[Sequence[Any] | None, Index | None]:
        return (self.classes_.tolist(), self._numbers(training)) if self.per_class else (None, None)

    def _scores_of(self, unseen: UnseenAnswers, training: Training, random: np.random.RandomState) -> F64:
        if self.randomised:
            self.seed_ = int(random.randint(2**31 - 1))
        labels = self._numbers(training)
        return self._label_scores(unseen.answers, self._shares(training.X))[np.arange(len(labels)), labels]

    def _numbers(self, training: Training) -> Index:
        """Numbers of labels among the estimator's classes."""
        place = {label: k for k, label in enumerate(self.classes_.tolist())}
        unknown = [label for label in training.y[training.counted].tolist() if label not in place]
        if unknown and self._trained is not None:
            raise ValueError(
                f"y holds {unknown[0]!r}, which is no class of the estimator; its classes are {list(place)}."
            )
        return np.array([place.get(label, 0) for label in training.y.tolist()], dtype=np.intp)  # others have no weight

    def _shares(self, X: Any) -> F64 | None:
        """Random shares of rows; None where nothing is random."""
        return random_shares(content_numbers(X, self.table_), self.seed_) if self.randomised else None

    def _label_scores(self, p: F64, own: F64 | None) -> F64:
        return label_scores(p, self.nonconformity, own)

    # --- new rows ------------------------------------------------------------------------------------------------

    def predict_set(self, X: Any, alpha: float | None = None, *, groups: Any = None) -> NDArray[np.bool_]:
        """Say which labels are in each row's set.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows.
        alpha : float, default=None
            Share of rows that may be missed; None: the parameter.
        groups : array-like (n,), default=None
            Group of each row, where `fit` was given groups.

        Returns
        -------
        bool array (n, n_classes)
            In the order of ``classes_``. In the set of a row without a label no class is as likely as `alpha`
            asks; most often it is a row between classes.

        Raises
        ------
        ValueError
            If `alpha` is no number between 0 and 1, or groups are given that `fit` had not, or not given.

        Warns
        -----
        UserWarning
            If a group is new, or scored rows are too few for another `alpha` than that of the fit.
        """
        level, X = self._level(alpha), by_row(X)
        return covered(self._p_values(X, self._groups_of(X, groups)), level)

    def p_values(self, X: Any, *, groups: Any = None) -> F64:
        """Share of scored rows that are as strange as each row with each label, the row itself counted.

        Parameters
        ----------
        X, groups
            As of `predict_set`.

        Returns
        -------
        float64 array (n, n_classes)
            A label is in the set at alpha if its p-value is above it.
        """
        check_is_fitted(self)
        X = by_row(X)
        return self._p_values(X, self._groups_of(X, groups))

    def _p_values(self, X: Any, groups: Any) -> F64:
        p = answer(self.estimator_, X)
        apart, shape = self.row_categories, p.shape
        category = np.broadcast_to(_in_columns(apart.numbers(groups, np.arange(shape[1])[None, :])), shape)
        own = self._shares(X)
        if self.leave_out_ is None:
            known: KnownScores = self.known_
            return known.p_values(self._label_scores(p, own), category)
        weights = row_counts(getattr(self, "score_weights_", np.ones(len(self.scores_))))
        below = np.zeros(shape)
        for rows, without in self.leave_out_.answers(X):
            some = KnownScores.of(self.scores_[rows], self.row_categories_[rows], len(apart), weights[rows])
            below += some.weight_below(self._label_scores(without, own), category)
        total = np.append(self.known_.count, 0.0)[category]
        return np.asarray((total - below + 1.0) / (total + 1.0))

    def predict_proba(self, X: Any) -> F64:
        """Class probabilities of the estimator, ``(n, n_classes)``."""
        check_is_fitted(self)
        return answer(self.estimator_, by_row(X))


def _in_columns(category: Index) -> Index:
    """Categories of rows as a column, where they are not told apart by class."""
    return category[:, None] if category.ndim == 1 else category
