"""Early stopping: held-out rows, their losses or scores by round, and patience."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, signature
from math import ceil
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from committee.data.columns import take_named, warn_of_other_order
from committee.data.number_types import F64
from committee.data.rows import Rows, TargetRows
from committee.learners.base.row_sampling import GroupedUnits
from committee.learners.base.stored_learner import BaseEstimator, ClassifierMixin, RegressorMixin
from committee.vote.links.mean import MeanLink
from committee.vote.links.probability import Link
from committee.vote.weighted_votes import elected, signed

NO_GROUP = (
    "no group can be held out, as each has all rows of a class. Give X_val and y_val, leave groups out, or "
    "set early_stopping=False."
)

R = TypeVar("R", Rows, TargetRows)
Scorer = Callable[..., float]


@dataclass(eq=False)
class EarlyStopping:
    loss_after: Callable[[int], float]
    """Loss after t rounds; called once for each t, in order."""
    patience: int | None
    first: int = 1
    """Number of rounds at the first recorded loss."""
    tol: float = 0.0
    losses: list[float] = field(default_factory=list)
    _best: int = 0

    def follow(self, n_rounds: int) -> bool:
        for t in range(self.first + len(self.losses), n_rounds + 1):
            self.losses.append(self.loss_after(t))
            if self.losses[-1] < self.losses[self._best] - self.tol:
                self._best = len(self.losses) - 1
        return bool(self.losses) and self.patience is not None and n_rounds - self.best >= self.patience

    @property
    def curves(self) -> dict[str, list[float]]:
        scores = self.loss_after.scores if isinstance(self.loss_after, HeldOutScore) else None
        recorded = {"loss": self.losses[1 - self.first :]} if scores is None else scores
        return {name: list(values) for name, values in recorded.items()}

    @property
    def best(self) -> int:
        """Number of rounds up to the last improvement, at least 1."""
        return max(1, self._best + self.first)


@dataclass(eq=False)
class StagedLoss:
    votes: Callable[[int], F64]
    loss: Callable[[F64], float]
    F: F64 | float = 0.0

    def __call__(self, t: int) -> float:
        return self.loss(self.after(t))

    def after(self, t: int) -> F64:
        self.F += self.votes(t)
        assert isinstance(self.F, np.ndarray)
        return self.F


def weighted_error(F: F64, rows: Rows) -> float:
    return float(np.average(elected(F) != rows.labels, weights=rows.weights))


@dataclass(frozen=True)
class ValidationSet:
    X: Any
    y: Any
    weights: Any

    def __post_init__(self) -> None:
        for name, given in (("X_val", self.X), ("y_val", self.y)):
            if given is None and (self or self.weights is not None):
                which = "X_val and y_val go together" if self else "sample_weight_val goes with X_val and y_val"
                raise ValueError(f"{which}; {name} is missing.")

    def __bool__(self) -> bool:
        return self.X is not None or self.y is not None

    @property
    def columns(self) -> tuple[Any, Any, Any]:
        X, y, weights = take_named(self.X, y_val=self.y, sample_weight_val=self.weights)
        warn_of_other_order(X, "X_val", y_val=y, sample_weight_val=weights)
        return X, y, weights


# --- held-out rows ----------------------------------------------------------------------------------------------------


def train_validation_split(
    rows: R, fraction: float, random: np.random.RandomState, classes: NDArray[Any] | None
) -> tuple[R, R]:
    """Return training and held-out rows: whole groups, or a draw stratified by class."""
    if rows.group is not None:
        order = random.permutation(int(rows.group.max()) + 1)
        mask = GroupedUnits.of(rows.group, rows.class_numbers, order).held_out(fraction)
        if mask is None:
            raise ValueError(NO_GROUP)
        return rows.take(~mask), rows.take(mask)
    n = len(rows)
    n_held = ceil(fraction * n)
    if isinstance(rows, Rows):
        assert classes is not None
        count = np.bincount(rows.labels, minlength=len(classes))
        if count.min() < 2:
            raise ValueError(
                f"early_stopping needs two rows of each class, one of them to hold out; class "
                f"{classes.tolist()[count.argmin()]!r} has {count.min()}. Give X_val and y_val, or set "
                "early_stopping=False."
            )
        if not len(classes) <= n_held <= n - len(classes):
            raise ValueError(
                f"validation_fraction={fraction} holds out {n_held} of {n} rows; both parts need a row of each of the "
                f"{len(classes)} classes. Change it, or give X_val and y_val."
            )
    elif not 1 <= n_held < n:
        raise ValueError(
            f"validation_fraction={fraction} holds out {n_held} of {n} rows, and none is left to train on. Of two rows "
            "or more, lower it; else give X_val and y_val."
        )
    from sklearn.model_selection import train_test_split  # models that predict hold out no rows

    strata = rows.labels if isinstance(rows, Rows) else None
    train, held = train_test_split(np.arange(n), test_size=n_held, stratify=strata, random_state=random)
    if isinstance(rows, Rows) and classes is not None:
        lost = np.bincount(rows.labels[train], minlength=len(classes)) == 0
        if lost.any():
            raise ValueError(
                f"validation_fraction={fraction} leaves no row of class "
                f"{classes.tolist()[lost.argmax()]!r} to train on; lower it, or give X_val and y_val."
            )
    return rows.take(np.sort(train)), rows.take(np.sort(held))


# --- scorers ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class HeldOutVotes:
    after: Callable[[int], F64]
    """Sum of the votes after t rounds, the intercept included, ``(n, D)``."""
    total: Callable[[int], float]
    """Weight of the voters after t rounds, and of an intercept."""
    link: Link | MeanLink
    names_classes: bool = False


class HeldOutModel(BaseEstimator, ABC):
    """Model of the first t rounds of a fit, for scorers."""

    def __init__(self, votes: HeldOutVotes, X: Any) -> None:
        self.votes: HeldOutVotes = votes
        self.X = X

    def advance(self, t: int) -> None:
        self._F, self._total = self.votes.after(t), self.votes.total(t)

    def _tally(self, X: Any) -> F64:
        if X is not self.X:
            raise ValueError("a scorer may predict the rows X that it is given, and no others")
        return self._F

    @abstractmethod
    def predict(self, X: Any) -> NDArray[Any]: ...


class HeldOutClassifier(ClassifierMixin, HeldOutModel):
    def __init__(self, votes: HeldOutVotes, X: Any, classes: NDArray[Any]) -> None:
        super().__init__(votes, X)
        self.classes_ = classes

    def advance(self, t: int) -> None:
        super().advance(t)
        assert isinstance(self.votes.link, Link)
        if not self.votes.names_classes:
            self._F = self.votes.link.settle(self._F, self._total)

    def decision_function(self, X: Any) -> F64:
        F = self._tally(X)
        return signed(F) if len(self.classes_) == 2 else F

    def predict(self, X: Any) -> NDArray[Any]:
        labels: NDArray[Any] = self.classes_[elected(self.decision_function(X))]
        return labels

    def predict_proba(self, X: Any) -> F64:
        assert isinstance(self.votes.link, Link)
        return self.votes.link.probability(self._tally(X), None if self.votes.names_classes else self._total)


class HeldOutRegressor(RegressorMixin, HeldOutModel):
    def predict(self, X: Any) -> F64:
        F = self._tally(X)
        assert isinstance(self.votes.link, MeanLink)
        return self.votes.link.mean(F[:, 0] if F.shape[1] == 1 else F, self._total)


class HeldOutScore:
    """Minus the first score of the rows after t rounds, as a loss for `EarlyStopping`."""

    def __init__(
        self,
        scoring: str | Scorer | Sequence[str | Scorer],
        rows: Rows | TargetRows,
        votes: HeldOutVotes,
        classes: NDArray[Any] | None,
    ) -> None:
        self.rows: Rows | TargetRows = rows
        self.model: HeldOutModel
        if isinstance(rows, Rows):
            assert classes is not None
            self.y, self.model = classes[rows.labels], HeldOutClassifier(votes, rows.cells, classes)
        else:
            self.y = rows.target
            self.model = HeldOutRegressor(votes, rows.cells)
        self.scorers: list[tuple[str | Scorer, Scorer]] = []
        self.scores: dict[str, list[float]] = {}
        if not isinstance(scoring, str) and not callable(scoring) and not scoring:
            raise ValueError(f"scoring={scoring!r} names no scorer; give one, or None for the loss.")
        for each in [scoring] if isinstance(scoring, str) or callable(scoring) else scoring:
            scorer = resolve_scorer(each)
            name = each if isinstance(each, str) else getattr(each, "__name__", repr(each))
            if name in self.scores:
                raise ValueError(f"scoring={scoring!r} has two scorers named {name!r}; leave one out or rename it.")
            self.scorers.append((each, scorer if classes is None else _of_all_classes(scorer, classes)))
            self.scores[name] = []
            if rows.uniform:
                continue
            taken = signature(getattr(scorer, "_score_func", scorer)).parameters
            if "sample_weight" not in taken and all(one.kind is not Parameter.VAR_KEYWORD for one in taken.values()):
                raise ValueError(
                    f"scoring={each!r} takes no sample_weight, but the scored rows have weights, of rows "
                    "or classes. Choose a scorer that takes it, or fit without weights."
                )

    def __call__(self, t: int) -> float:
        self.model.advance(t)
        for values, (given, scorer) in zip(self.scores.values(), self.scorers, strict=True):
            values.append(self._score(given, scorer))
        return -next(iter(self.scores.values()))[-1]

    def _score(self, given: str | Scorer, scorer: Scorer) -> float:
        weights = {} if self.rows.uniform else {"sample_weight": self.rows.weights}
        with warnings.catch_warnings():  # early rounds may predict a class for no row, which scorers count as 0
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            warnings.filterwarnings("ignore", "y_pred contains classes not in y_true")
            try:
                score = float(scorer(self.model, self.rows.cells, self.y, **weights))
            except (AttributeError, TypeError, ValueError) as error:
                raise ValueError(f"scoring={given!r} cannot score the rows: {error}") from error
        if np.isnan(score):
            every = self.model.classes_.tolist() if isinstance(self.model, HeldOutClassifier) else []
            missing = sorted(set(every) - set(self.y.tolist()))
            raise ValueError(
                f"scoring={given!r} is NaN on the scored rows"
                f"{f', which hold no row of class {missing[0]!r}' if missing else ''}. Choose another scorer, or give "
                "other X_val and y_val."
            )
        return score


def resolve_scorer(scoring: str | Scorer) -> Scorer:
    if callable(scoring):
        return scoring
    from sklearn.metrics import get_scorer  # few fits are scored

    try:
        scorer: Scorer = get_scorer(scoring)
    except ValueError as error:
        raise ValueError(
            f"scoring={scoring!r} is not the name of a scorer; sklearn.metrics.get_scorer_names() lists them."
        ) from error
    return scorer


def _of_all_classes(scorer: Scorer, classes: NDArray[Any]) -> Scorer:
    # a scorer of probabilities is given all classes, as the held-out rows may lack some
    score: Any = getattr(scorer, "_score_func", None)
    if score is None or getattr(scorer, "_response_method", None) != "predict_proba":
        return scorer
    made: Any = scorer
    if "labels" not in signature(score).parameters or "labels" in made._kwargs:
        return scorer
    from sklearn.metrics import make_scorer

    sign = made._sign > 0
    known: Scorer = make_scorer(
        score, response_method="predict_proba", greater_is_better=sign, labels=classes, **made._kwargs
    )
    return known
