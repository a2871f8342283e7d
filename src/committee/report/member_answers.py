"""What the members of a committee of ensembles say of rows, each alone and together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d

from committee.data.number_types import F64, Index
from committee.learners.blend.blend import Blend
from committee.learners.blend.committees import MIN_PROBABILITY
from committee.learners.blend.losses import reported_loss, row_losses
from committee.objectives.losses import Loss, Squared
from committee.vote.committee import Committee


@dataclass(frozen=True, eq=False)
class MemberAnswers:
    """Answers of the members to rows, and those of the vote.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from committee import CommitteeClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> answers = MemberAnswers.of(CommitteeClassifier("fast", random_state=0).fit(X, y), X, y)
    >>> answers.answers.shape == (len(answers.names), 178, 3), answers.errors().shape == (len(answers.names) + 1,)
    (True, True)
    """

    names: tuple[str, ...]
    """Of the members, by weight."""
    weights: F64
    """Theirs, adding up to 1."""
    answers: F64
    """Class probabilities ``(m, n, K)``, or predicted numbers ``(m, n, 1)``."""
    vote: F64
    """Those of the vote, ``(n, K)`` or ``(n, 1)``."""
    classes: NDArray[Any] | None
    """Labels of the classes; None where numbers are predicted."""
    truth: NDArray[Any] | None
    """Number of each row's class, or the number to be predicted; None if not known."""
    loss: Loss = field(default_factory=Squared)
    """Of numbers the loss of the fit."""

    @classmethod
    def of(cls, model: Any, X: Any, y: ArrayLike | None = None) -> Self:
        """Ask the members of a fitted committee of ensembles.

        Parameters
        ----------
        model : CommitteeClassifier or CommitteeRegressor
            Fitted on more than one class.
        X : table or array-like (n, p)
            Rows, best such as training has not seen.
        y : array-like (n,), default=None
            Their labels or numbers.

        Raises
        ------
        TypeError
            If the model is no committee of ensembles.
        ValueError
            If it has no members, there is no row, or `y` has another number of rows, labels that are no classes or
            numbers that the loss of the fit does not take.
        """
        if not isinstance(model, Blend):
            raise TypeError(f"model is a {type(model).__name__}; give a CommitteeClassifier or a CommitteeRegressor")
        check_is_fitted(model)
        if not hasattr(model, "member_names_"):
            raise ValueError("the model has no members: it was trained on rows of one class")
        rows = model.validate_rows(X)
        order = np.argsort(-model.member_weights_, kind="stable")
        names = tuple(model.member_names_[k] for k in order.tolist())
        answers = [_answer(model.member(name), rows) for name in names]
        vote = _answer(model.committee_, rows)
        classes = model.classes_ if isinstance(model.committee_, Committee) else None
        loss: Loss = model.number_loss or Squared()
        truth = _truth(model, y, len(vote))
        if classes is None and truth is not None:
            loss.check_target(truth)
        return cls(names, model.member_weights_[order], np.stack(answers), vote, classes, truth, loss)

    @property
    def everyone(self) -> F64:
        """Answers of the members and last of the vote, ``(m + 1, n, K)``."""
        return np.concatenate([self.answers, self.vote[None]])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.vote)

    def elected(self) -> Index:
        """Class number that each member elects, and last the vote, ``(m + 1, n)``."""
        return np.asarray(self.everyone.argmax(axis=2))

    def errors(self) -> F64:
        """Share of rows of which each member, and last the vote, elects a wrong class.

        Of numbers the root mean squared error, or the mean of another loss that the fit was for.
        """
        truth = self._known()
        if self.classes is None:
            told = self.everyone[:, :, 0]
            return np.array(
                [reported_loss(self.loss, float(row_losses(self.loss, truth, each).mean())) for each in told]
            )
        return np.asarray((self.elected() != truth).mean(axis=1))

    def log_losses(self) -> F64:
        """Mean log loss of each member, and last of the vote."""
        p = self.everyone[:, np.arange(self.n_rows), self._known()]
        return np.asarray(-np.log(np.maximum(p, MIN_PROBABILITY)).mean(axis=1))

    def disagreement(self) -> F64:
        """How far each two of the members, and last the vote, are from each other, ``(m + 1, m + 1)``.

        Of classes the share of rows for which they elect another one, of numbers the root of the mean squared
        difference.
        """
        if self.classes is None:
            told = self.everyone[:, :, 0]
            return np.asarray(np.sqrt(((told[:, None] - told[None]) ** 2).mean(axis=2)))
        elected = self.elected()
        return np.asarray((elected[:, None] != elected[None]).mean(axis=2))

    def divergence(self) -> F64:
        """How far the members are apart on each row, ``(n,)``.

        Of classes the divergence of Jensen and Shannon [1]_ in the weights of the vote, in nats: the entropy of the
        vote less the mean entropy of the members. Of numbers the standard deviation in these weights.

        References
        ----------
        .. [1] J. Lin (1991). Divergence measures based on the Shannon entropy. IEEE Transactions on Information Theory
           37(1).
        """
        mean = np.einsum("m,mnk->nk", self.weights, self.answers)
        if self.classes is None:
            spread = np.einsum("m,mn->n", self.weights, (self.answers[:, :, 0] - mean[:, 0]) ** 2)
            return np.asarray(np.sqrt(spread))
        within = np.einsum("m,mn->n", self.weights, entr(self.answers).sum(axis=2))
        return np.asarray(np.maximum(entr(mean).sum(axis=1) - within, 0.0))

    def most_disputed(self, most: int) -> Index:
        """Numbers of the rows on which the members are furthest apart, those first; none on which they are at one."""
        apart = self.divergence()
        order = np.argsort(-apart, kind="stable")[:most]
        return order[apart[order] > 0.0]

    def _known(self) -> NDArray[Any]:
        if self.truth is None:
            raise ValueError("y is not known; give the rows' labels or numbers")
        return self.truth


def _answer(committee: Any, rows: Any) -> F64:
    if isinstance(committee, Committee):
        return committee.predict_proba(rows)
    return np.asarray(committee.predict(rows), dtype=np.float64).reshape(-1, 1)


def _truth(model: Any, y: ArrayLike | None, n: int) -> NDArray[Any] | None:
    """Class numbers or numbers, checked."""
    if y is None:
        return None
    truth: NDArray[Any]
    if isinstance(model.committee_, Committee):
        truth = model.committee_.class_indices(y)
    else:
        truth = check_array(column_or_1d(y), dtype=np.float64, ensure_2d=False, input_name="y")
    check_consistent_length(np.empty(n), truth)
    return truth
