"""Early stopping by a scorer of scikit-learn's, in place of a learner's own loss."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer, make_scorer

from committee.data.number_types import F64
from committee.data.rows import Rows, TargetRows
from committee.learners.base.scikit_types import BaseEstimator, ClassifierMixin, RegressorMixin
from committee.vote.links.mean import MeanLink
from committee.vote.links.probability import Link
from committee.vote.scores import elected, signed

Scorer = Callable[..., float]


@dataclass(frozen=True, eq=False)
class HeldOutVotes:
    """Votes of the rounds of a fit on its held-out rows."""

    after: Callable[[int], F64]
    """Sum of the votes after t rounds, the intercept included, ``(n, D)``; called once for each t = 1, 2, ..."""
    total: Callable[[int], float]
    """Weight of the voters after t rounds."""
    link: Link | MeanLink
    names_classes: bool = False
    """Each voter names a class, so that a row's votes say themselves how much weight is behind them."""


class HeldOutModel(BaseEstimator, ABC):
    """A fit after some rounds, which answers for its held-out rows alone."""

    def __init__(self, votes: HeldOutVotes, X: Any) -> None:
        self.votes: HeldOutVotes = votes
        self.X = X

    def advance(self, t: int) -> None:
        """Answer from now on as after t rounds."""
        self._tally, self._total = self.votes.after(t), self.votes.total(t)

    def _check(self, X: Any) -> None:
        if X is not self.X:
            raise ValueError("a scorer of early stopping is asked for the held-out rows, and may look at no others")

    @abstractmethod
    def predict(self, X: Any) -> NDArray[Any]:
        """Elected classes, or predicted numbers."""


class HeldOutClassifier(ClassifierMixin, HeldOutModel):
    """A classifier after some rounds."""

    def __init__(self, votes: HeldOutVotes, X: Any, classes: NDArray[Any]) -> None:
        super().__init__(votes, X)
        self.classes_ = classes

    def advance(self, t: int) -> None:
        """Answer from now on as after t rounds."""
        super().advance(t)
        assert isinstance(self.votes.link, Link)
        if not self.votes.names_classes:
            self._tally = self.votes.link.settle(self._tally, self._total)

    def decision_function(self, X: Any) -> F64:
        """Scores, ``(n,)`` for two classes, else ``(n, K)``."""
        self._check(X)
        return signed(self._tally) if len(self.classes_) == 2 else self._tally

    def predict(self, X: Any) -> NDArray[Any]:
        """Elected classes."""
        labels: NDArray[Any] = self.classes_[elected(self.decision_function(X))]
        return labels

    def predict_proba(self, X: Any) -> F64:
        """Probabilities, ``(n, K)``."""
        self._check(X)
        assert isinstance(self.votes.link, Link)
        return self.votes.link.probability(self._tally, None if self.votes.names_classes else self._total)


class HeldOutRegressor(RegressorMixin, HeldOutModel):
    """A regressor after some rounds."""

    def predict(self, X: Any) -> F64:
        """Predicted numbers."""
        self._check(X)
        assert isinstance(self.votes.link, MeanLink)
        F = self._tally[:, 0] if self._tally.shape[1] == 1 else self._tally
        return self.votes.link.mean(F, self._total)


class HeldOutScore:
    """Score of held-out rows after each round, times -1: what `EarlyStopping` lowers.

    Parameters
    ----------
    scoring : str or callable
        As the parameter.
    rows : Rows or TargetRows
        The held-out rows, whose weights the scorer is given unless they are all equal.
    votes : HeldOutVotes
        What the rounds say of them.
    classes : array (K,) or None
        All labels; None of numbers.

    Raises
    ------
    ValueError
        If rows have weights and the scorer takes none.
    """

    def __init__(
        self, scoring: str | Scorer, rows: Rows | TargetRows, votes: HeldOutVotes, classes: NDArray[Any] | None
    ) -> None:
        self.scoring = scoring
        self.rows: Rows | TargetRows = rows
        self.model: HeldOutModel
        if isinstance(rows, Rows):
            assert classes is not None
            self.y, self.model = classes[rows.labels], HeldOutClassifier(votes, rows.cells, classes)
        else:
            self.y = rows.target
            self.model = HeldOutRegressor(votes, rows.cells)
        self.scorer = scorer_of(scoring)
        if classes is not None:
            self.scorer = _of_all_classes(self.scorer, classes)
        if not rows.uniform and not _takes_weights(self.scorer):
            raise ValueError(
                f"scoring={scoring!r} takes no sample_weight, but the held-out rows have weights (sample_weight or "
                "class_weight). Let it take them, as make_scorer's do, or leave them out of the fit."
            )

    def __call__(self, t: int) -> float:
        """Minus the score after t rounds.

        Raises
        ------
        ValueError
            If the scorer fails, or its score is no number.
        """
        self.model.advance(t)
        weights = {} if self.rows.uniform else {"sample_weight": self.rows.weights}
        with warnings.catch_warnings():  # early rounds may name no row of a class, which scorers count as 0
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            warnings.filterwarnings("ignore", "y_pred contains classes not in y_true")
            try:
                score = float(self.scorer(self.model, self.rows.cells, self.y, **weights))
            except (AttributeError, TypeError, ValueError) as error:
                raise ValueError(f"scoring={self.scoring!r} cannot judge the held-out rows: {error}") from error
        if np.isnan(score):
            missing = self._missing()
            raise ValueError(
                f"scoring={self.scoring!r} says nothing (NaN) of the held-out rows"
                f"{f', which hold no row of class {missing[0]!r}' if missing else ''}. Choose another scorer, or give "
                "other X_val and y_val."
            )
        return -score

    def _missing(self) -> list[Any]:
        """Return the classes that no held-out row has."""
        every: list[Any] = self.model.classes_.tolist() if isinstance(self.model, HeldOutClassifier) else []
        return sorted(set(every) - set(self.y.tolist()))


def scorer_of(scoring: str | Scorer) -> Scorer:
    """The scorer of that name, or the callable itself.

    Raises
    ------
    ValueError
        If there is none of that name.

    Examples
    --------
    >>> scorer_of("roc_auc")
    make_scorer(roc_auc_score, response_method=('decision_function', 'predict_proba'))
    """
    if callable(scoring):
        return scoring
    try:
        scorer: Scorer = get_scorer(scoring)
    except ValueError as error:
        raise ValueError(
            f"scoring={scoring!r} is the name of no scorer; sklearn.metrics.get_scorer_names() lists them."
        ) from error
    return scorer


def _takes_weights(scorer: Scorer) -> bool:
    """Whether a scorer can be given row weights."""
    parameters = signature(getattr(scorer, "_score_func", scorer)).parameters
    return "sample_weight" in parameters or any(each.kind is Parameter.VAR_KEYWORD for each in parameters.values())


def _of_all_classes(scorer: Scorer, classes: NDArray[Any]) -> Scorer:
    """A scorer of probabilities that knows all classes, though the held-out rows may lack some; others as they are."""
    score: Any = getattr(scorer, "_score_func", None)
    if score is None or getattr(scorer, "_response_method", None) != "predict_proba":
        return scorer
    made: Any = scorer
    if "labels" not in signature(score).parameters or "labels" in made._kwargs:
        return scorer
    sign = made._sign > 0
    known: Scorer = make_scorer(
        score, response_method="predict_proba", greater_is_better=sign, labels=classes, **made._kwargs
    )
    return known
