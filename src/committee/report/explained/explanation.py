"""A fitted model, and the rows that it is looked at on: what every picture of its pages is drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.number_types import F64, Index
from committee.data.row_sketch import KnownRows
from committee.report.covered_rows import CoveredRows
from committee.report.evaluation import Evaluation, evaluate
from committee.report.explained.columns import TableRows, spread_rows
from committee.report.explained.curves import RankedClass, ranked_classes
from committee.report.explained.effects import MOST_ROWS, Effect, effects, remembered_effects
from committee.report.explained.importances import Importances
from committee.report.known_rows import known_rows
from committee.report.number_figures import quantile_levels
from committee.report.prediction_sets import model_inside
from committee.report.row_explanation import RowExplanation
from committee.vote.margin_distribution import MarginDistribution
from committee.vote.scores import lead

MOST_EFFECTS, MOST_CURVES = 6, 6
"""Columns whose effects are shown, and classes that have a curve."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """What is known of a fitted model, by itself and by rows, each part when it is first asked for.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import RandomForestClassifier
    >>> from committee.report.explained.explanation import Explanation
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> found = Explanation.of(RandomForestClassifier(10, random_state=0).fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> found.evaluation["accuracy"] > 0.9, len(found.effects), len(found.wrong_rows(3)) <= 3
    (True, 4, True)
    """

    model: Any
    X: Any = None
    y: NDArray[Any] | None = None
    """Labels or numbers of the rows; None if they are not known."""
    around: Any = None
    """Conformal model that the model is inside of; None if there is none."""

    @classmethod
    def of(cls, model: Any, X: Any = None, y: ArrayLike | None = None) -> Self:
        """Explain a fitted learner, on rows if there are any.

        Raises
        ------
        NotFittedError
            If the model is not fitted.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model)
        inside = model_inside(model)
        return cls(inside, X, None if y is None else np.asarray(y), None if inside is model else model)

    # --- what it is ----------------------------------------------------------------------------------------------

    @property
    def of_classes(self) -> bool:
        """Whether it predicts classes, and no numbers."""
        return hasattr(self.model, "classes_")

    @cached_property
    def importances(self) -> Importances | None:
        """Shares of the columns."""
        return Importances.of(self.model)

    # --- what it answers -----------------------------------------------------------------------------------------

    def answer(self, rows: Any) -> F64:
        """Probabilities of its classes ``(n, K)``, or numbers ``(n, q)``."""
        told = self.model.predict_proba(rows) if self.of_classes else self.model.predict(rows)
        return np.asarray(told, dtype=np.float64).reshape(len(told), -1)

    @cached_property
    def answers(self) -> F64:
        """Answers to the rows."""
        return self.answer(self.X)

    @cached_property
    def some_rows(self) -> Any:
        """Some of the rows, which stand for all; of a sparse table as a dense one."""
        every = TableRows(self.X)
        return every.taken(spread_rows(len(every), MOST_ROWS))

    @cached_property
    def shown_outputs(self) -> list[tuple[int, str]]:
        """Columns of the answers that have a curve, and what each is: of two classes the second."""
        if self.of_classes:
            classes = [str(label) for label in self.model.classes_.tolist()]
            if len(classes) == 2:
                return [(1, classes[1])]
            most = np.argsort(-self.answers.mean(axis=0), kind="stable")[:MOST_CURVES] if self.X is not None else None
            shown = range(min(len(classes), MOST_CURVES)) if most is None else sorted(most.tolist())
            return [(k, classes[k]) for k in shown]
        n = self.model.committee_.voters.n_outputs
        levels = quantile_levels(self.model, n)
        names = [f"quantile {level:g}" for level in levels] or [f"target {k}" for k in range(n)]
        return [(k, name if n > 1 else "") for k, name in enumerate(names[:MOST_CURVES])]

    @cached_property
    def effects(self) -> list[Effect]:
        """Effects of the most used columns on the rows; without rows as the trees remember those of their training."""
        if self.model.table_ is None:
            return []
        order = self.importances.order if self.importances is not None else range(self.model.n_features_in_)
        columns = np.array(order[:MOST_EFFECTS], dtype=np.intp)
        if self.X is None:
            return remembered_effects(self.model, columns)
        return effects(self.model, self.some_rows, columns, self.answer)

    # --- how good it is ------------------------------------------------------------------------------------------

    @cached_property
    def evaluation(self) -> Evaluation | None:
        """Every figure; None if the rows' labels or numbers are not known, or there is but one class."""
        if self.y is None or (self.of_classes and len(np.union1d(self.model.classes_, self.y)) < 2):
            return None
        return evaluate(self.model if self.around is None else self.around, self.X, self.y)

    @cached_property
    def covered(self) -> CoveredRows | None:
        """Sets or intervals of a conformal model around it; None if there is none, or no answers are known."""
        return None if self.around is None or self.y is None else CoveredRows.of(self.around, self.X, self.y)

    @cached_property
    def known_rows(self) -> KnownRows | None:
        """How many of the rows the model learned from; None if there are none, or its file does not tell."""
        return None if self.X is None else known_rows(self.model, self.X)

    @cached_property
    def predicted(self) -> NDArray[Any]:
        """Classes, or numbers ``(n,)`` - of quantiles the one nearest to the median."""
        told: NDArray[Any] = np.asarray(self.model.predict(self.X))
        if told.ndim == 1:
            return told
        levels = quantile_levels(self.model, told.shape[1])
        return told[:, int(np.argmin(np.abs(np.array(levels) - 0.5)))] if levels else told[:, 0]

    @cached_property
    def rankings(self) -> list[RankedClass]:
        """How well scores rank the rows of each class."""
        if self.y is None or not self.of_classes:
            return []
        return ranked_classes(self.y, self.model.classes_, self.answers, MOST_CURVES)

    @cached_property
    def margins(self) -> MarginDistribution | None:
        """Of rows of known classes how far the probability of their own is ahead of the largest other one."""
        if self.y is None or not self.of_classes or len(self.model.classes_) < 2:
            return None
        known = np.isin(self.y, self.model.classes_)
        if not known.any():
            return None
        place = np.searchsorted(self.model.classes_, self.y[known])
        return MarginDistribution(lead(self.answers[known], place))

    @cached_property
    def wrongness(self) -> F64:
        """How wrong each row is: the probability that its own class lacks, or the size of its error."""
        assert self.y is not None
        if not self.of_classes:
            error: F64 = np.abs(np.asarray(self.y, dtype=np.float64) - self.predicted)
            return error
        own = np.zeros(len(self.y))
        for k, label in enumerate(self.model.classes_.tolist()):
            own[self.y == label] = self.answers[self.y == label, k]
        return np.where(self.predicted == self.y, 0.0, 1.0 - own)

    def wrong_rows(self, most: int) -> Index:
        """Numbers of the rows that are most wrong, those first; none that is right."""
        order = np.argsort(-self.wrongness, kind="stable")[:most]
        return np.asarray(order[self.wrongness[order] > 0.0])

    def row(self, number: int, label: Any = None) -> RowExplanation | None:
        """What columns add to the answer for a row; None of models whose answers are no such sums."""
        one = TableRows(self.X).taken(np.array([number]))
        try:
            return RowExplanation.of(self.model, one, label=label)
        except (TypeError, ValueError):  # voters without trees, several quantiles, a loss with a log link
            return None
