"""The methods of the QuadBoost document, each with its grid and how it is searched on given folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.objectives.programs.named_penalties import penalty_class
from committee.papers.quadboost.adaboost import BestEdgeSearch, GrownSearch
from committee.papers.quadboost.plan import LabelledRows, Params, SearchedMethod, SearchPlan
from committee.papers.quadboost.tables import (
    ADABOOST,
    ANEW_L2,
    ANEW_LINF,
    GINI,
    L1,
    L2,
    LINF,
    LPBOOST,
    STUMPS_PER_COLUMN,
    VANILLA,
)
from committee.report.crossvalidation import Split

_MOST_ROUNDS = 100_000
"""Of the L1 version, which otherwise stops by itself: the end of the other versions' grids."""
_TOL = 1e-6
"""Rounds end where none lowers the penalised risk by more than 1e-12: with L1 no |mu - M| exceeds lambda by 1e-6. So it
is T that ends the others, unless there is nothing left to fit."""


@dataclass(frozen=True)
class QuadBoostSearch:
    """QuadBoost as section 3 of the document has it: one run per fold and strength gives all numbers of rounds."""

    penalty: Literal["l1", "l2", "linf"] | None
    alphas: tuple[float, float] | None
    """Decimal logarithms of the least and the largest lambda (alpha_max of "linf")."""
    rounds: tuple[float, float] | None
    """The same of the numbers of rounds; None: until no voter has |mu - M| > lambda."""
    reweight: Literal["none", "chosen"] = "none"
    """A voter that is chosen again is one voter more, as all of the document's section 3 takes each to be new, or has
    its weight set anew, as its section 3.1 allows."""
    quadratic: bool = True

    def choose(self, X: F64, y: NDArray[np.int64], folds: Sequence[Split], plan: SearchPlan) -> tuple[Params, float]:
        """See `SearchedMethod`."""
        from committee.learners.quadboost.quadboost_path import QuadBoostClassifierCV

        model = QuadBoostClassifierCV(
            self.penalty,
            alphas=None if self.alphas is None else plan.grid(*self.alphas),
            n_estimators=_MOST_ROUNDS if self.rounds is None else plan.rounds(*self.rounds),
            cv=folds,
            one_standard_error=False,
            **self._as_in_the_document(),
        ).fit(X, y)
        params: Params = {}
        if self.alphas is not None:
            params["alpha"] = float(model.alpha_)
        if self.rounds is not None:
            params["rounds"] = int(model.n_estimators_)
        return params, float(model.cv_errors_.mean(axis=2).min())

    def fit(self, X: F64, y: NDArray[np.int64], params: Params) -> Any:
        """See `SearchedMethod`."""
        from committee.learners.quadboost.quadboost import QuadBoostClassifier

        options = self._as_in_the_document()
        if "alpha" in params:
            options[penalty_class(self.penalty).parameter] = params["alpha"]
        return QuadBoostClassifier(self.penalty, n_estimators=int(params.get("rounds", _MOST_ROUNDS)), **options).fit(
            X, y
        )

    def test_errors(self, rows: LabelledRows, others: LabelledRows, plan: SearchPlan) -> dict[str, float]:
        """See `SearchedMethod`."""
        return {}

    def _as_in_the_document(self) -> dict[str, Any]:
        """Parameters of both choice and fit: its stumps, its rounds, and no intercept, which it does not have."""
        return {
            "n_thresholds": STUMPS_PER_COLUMN,
            "reweight": self.reweight,
            "fit_intercept": False,
            "tol": _TOL,
            "n_jobs": 1,
        }


@dataclass(frozen=True)
class LPBoostSearch:
    r"""LPBoost with the document's penalty C.

    The document does not say which program its C belongs to. Taken is the one whose L1 norm it speaks of,

    .. math:: \min_{\alpha \ge 0,\ \xi \ge 0} \|\alpha\|_1 + C \sum_i \xi_i, \quad y_i H_i \alpha \ge 1 - \xi_i.

    Ours is :math:`V(D) = \max \rho - D \sum_i \xi_i` with :math:`y_i H_i \alpha \ge \rho - \xi_i`,
    :math:`\|\alpha\|_1 = 1` and :math:`D = 1 / (\nu n)`. Dividing a solution of the first by its norm gives one of the
    second where

    .. math:: C\, V(D) = D.

    V is convex and falls, so that Newton's steps for D, from 1/n upwards, never pass the root; a few are enough.
    """

    penalties: tuple[float, float]
    """Decimal logarithms of the least and the largest C."""
    learner: Callable[..., Any] | None = None
    """Makes an unfitted classifier given ``nu``; None: `LPBoostClassifier`."""
    quadratic: bool = False

    def choose(self, X: F64, y: NDArray[np.int64], folds: Sequence[Split], plan: SearchPlan) -> tuple[Params, float]:
        """See `SearchedMethod`."""
        penalties = plan.grid(*self.penalties)
        wrong = np.zeros(len(penalties))
        for train, test in folds:
            models = self.path(X[train], y[train], penalties)
            wrong += [(model.predict(X[test]) != y[test]).sum() for _, model in models]
        best = int(wrong.argmin())
        [(nu, _)] = self.path(X, y, penalties[best : best + 1])
        return {"C": penalties[best], "nu": nu}, float(wrong[best] / sum(len(test) for _, test in folds))

    def fit(self, X: F64, y: NDArray[np.int64], params: Params) -> Any:
        """See `SearchedMethod`."""
        return self._fitted(X, y, params["nu"])

    def test_errors(self, rows: LabelledRows, others: LabelledRows, plan: SearchPlan) -> dict[str, float]:
        """See `SearchedMethod`."""
        return {}

    def path(self, X: F64, y: NDArray[np.int64], penalties: Sequence[float]) -> list[tuple[float, Any]]:
        """Nu and model of each C, ascending; nu = 1 where C is less than any nu stands for, 1/n where it is more."""
        n = len(y)
        D, model = 1.0 / n, self._fitted(X, y, 1.0)
        found = []
        for penalty in penalties:
            for _ in range(_MOST_STEPS):
                value, slack = worth(model.committee_.margins(X, y), D)
                if (1.0 - _CLOSE) * penalty * value <= D or D == 1.0:
                    break
                D = min((value + D * slack) / (slack + 1.0 / penalty), 1.0)
                model = self._fitted(X, y, min(1.0, 1.0 / (D * n)))
            found.append((min(1.0, 1.0 / (D * n)), model))
        return found

    def _fitted(self, X: F64, y: NDArray[np.int64], nu: float) -> Any:
        from committee.learners.margin_boosting.lpboost import LPBoostClassifier

        make = self.learner or partial(LPBoostClassifier, n_thresholds=STUMPS_PER_COLUMN, n_jobs=1)
        with warnings.catch_warnings():
            # the larger C, the nearer is the soft margin to 0 where the classes cannot be parted
            warnings.filterwarnings("ignore", message="nu=.* is too small for these rows")
            return make(nu=nu).fit(X, y)


_CLOSE = 0.02
"""C is met within 2 %; its values are a factor of 4.6 apart."""
_MOST_STEPS = 50


def worth(margins: F64, D: float) -> tuple[float, float]:
    r""":math:`\max_\rho \rho - D \sum_i \max(0, \rho - m_i)`: worth of a vote with these margins at D.

    Its weights sum to one, and D is at least 1/n. Returned are the maximum and the sum in it, which is minus the slope
    of the maximum in D.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.papers.quadboost.methods import worth
    >>> value, slack = worth(np.array([0.5, -0.1, 0.3]), 0.5)  # rho = 0.3
    >>> round(value, 12), round(slack, 12)
    (0.1, 0.4)
    """
    m = np.sort(margins)
    slack = np.arange(m.size) * m - np.append(0.0, np.cumsum(m)[:-1])
    best = int(np.argmax(m - D * slack))
    return float(m[best] - D * slack[best]), float(slack[best])


LEARNERS: dict[str, SearchedMethod] = {
    L1: QuadBoostSearch("l1", (-4, 0), None),
    L2: QuadBoostSearch("l2", (0, 3), (1, 5)),
    LINF: QuadBoostSearch("linf", (-4, -1), (0, 5)),
    VANILLA: QuadBoostSearch(None, None, (0, 3)),
    LPBOOST: LPBoostSearch((-3, 3)),
    ADABOOST: BestEdgeSearch((2, 6)),
    GINI: GrownSearch((2, 6)),
    ANEW_L2: QuadBoostSearch("l2", (0, 3), (1, 5), reweight="chosen"),
    ANEW_LINF: QuadBoostSearch("linf", (-4, -1), (0, 5), reweight="chosen"),
}
"""The document's methods with its grids, in the order of its Table 1; then AdaBoost with stumps of another kind, and
QuadBoost as another reading has it."""
