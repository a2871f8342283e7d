"""What TabArena's runner asks of a fit, as parameters of committee's learners; needs neither TabArena nor AutoGluon."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from committee import (
    CommitteeClassifier,
    CommitteeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    SBPMTClassifier,
)
from committee_tabarena.deadline import Deadline

SHARE_OF_TIME = 0.9
"""Share of the time left that a fit may take; the rest is for the predictions after it and what no one stops."""
LEAST_SECONDS = 1e-3
"""Time of a fit that is late already; it trains what it always trains, its first part."""
EARLY_STOPPING: dict[str, Any] = {
    "early_stopping": True,
    "learning_rate": 0.03,
    "n_estimators": 5000,
    "n_iter_no_change": 80,
}
"""Gradient boosting with rows to validate on; chosen on the choosing half of the tables (docs/tabarena.md)."""


@dataclass(frozen=True)
class Asked:
    """What a runner asks of one fit.

    Parameters
    ----------
    parameters : dict
        Parameters of the learner that a configuration names; they come before all others.
    num_cpus : int
        Threads.
    time_limit : float or None
        Seconds that are left; None: any time.
    validated : bool
        There are rows to validate on. Without them the fit keeps what it says of rows that it has not seen.
    numbers : bool
        A number is predicted, and not a class.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    num_cpus: int = 1
    time_limit: float | None = None
    validated: bool = False
    numbers: bool = False

    @property
    def n_jobs(self) -> int:
        """Threads, at least one."""
        return max(1, int(self.num_cpus))

    @property
    def seconds(self) -> float | None:
        """Seconds that the fit itself may take.

        Examples
        --------
        >>> Asked(time_limit=100.0).seconds, Asked().seconds
        (90.0, None)
        """
        return None if self.time_limit is None else max(LEAST_SECONDS, SHARE_OF_TIME * self.time_limit)


def committee_of(asked: Asked) -> Any:
    """Return the zero-tuning committee, unfitted: it keeps to the time itself, and its members to rows of its own.

    Examples
    --------
    >>> committee_of(Asked({"effort": "fast", "random_state": 0}, 2, 60.0, validated=True))
    CommitteeClassifier(effort='fast', n_jobs=2, random_state=0, time_limit=54.0)
    """
    learner = CommitteeRegressor if asked.numbers else CommitteeClassifier
    budget = {"time_limit": asked.seconds, "n_jobs": asked.n_jobs, "keep_oof": not asked.validated}
    return learner(**budget | dict(asked.parameters))


def gradient_boosting_of(asked: Asked) -> Any:
    """Return gradient boosting, unfitted: with rows to validate on it takes small steps and stops early by these rows.

    Without them, or with ``learning_rate="auto"``, it is as it comes: the step that serves its number of rounds is
    found by training rows alone.

    Examples
    --------
    >>> gradient_boosting_of(Asked(numbers=True))
    GradientBoostingRegressor(n_jobs=1)
    >>> model = gradient_boosting_of(Asked({"max_leaf_nodes": 7}, validated=True))
    >>> model.early_stopping, model.learning_rate, model.max_leaf_nodes
    (True, 0.03, 7)
    """
    learner = GradientBoostingRegressor if asked.numbers else GradientBoostingClassifier
    stopping = EARLY_STOPPING if asked.validated and asked.parameters.get("learning_rate") != "auto" else {}
    return _limited(learner(**{"n_jobs": asked.n_jobs} | stopping | dict(asked.parameters)), asked)


def sbpmt_of(asked: Asked) -> Any:
    """Return SBPMT, unfitted; it is for classes only.

    Raises
    ------
    ValueError
        If a number is to be predicted.

    Examples
    --------
    >>> sbpmt_of(Asked({"n_boosting_rounds": 3}, validated=True))
    SBPMTClassifier(n_boosting_rounds=3, n_jobs=1)
    """
    if asked.numbers:
        raise ValueError(
            "SBPMT predicts classes, and the problem is one of numbers; leave it out there, or take the committee or "
            "gradient boosting."
        )
    budget = {"n_jobs": asked.n_jobs, "oob_score": not asked.validated}
    return _limited(SBPMTClassifier(**budget | dict(asked.parameters)), asked)


def held_out(learner: Any, X_val: Any, y_val: Any) -> dict[str, Any]:
    """Return the rows to validate on as arguments of the fit: none for a learner that does not stop early by them.

    Examples
    --------
    >>> held_out(gradient_boosting_of(Asked()), [[0.0]], [1])
    {}
    >>> held_out(gradient_boosting_of(Asked(validated=True)), [[0.0]], [1])
    {'X_val': [[0.0]], 'y_val': [1]}
    """
    stops = X_val is not None and getattr(learner, "early_stopping", False)
    return {"X_val": X_val, "y_val": y_val} if stops else {}


def refit(learner: Any) -> dict[str, Any]:
    """Return the parameters of the same fit on all rows: as many rounds with the same step, where it has stopped early.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> learner = gradient_boosting_of(Asked({"learning_rate": 0.3, "random_state": 0}, validated=True))
    >>> again = refit(learner.fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2]))
    >>> again["early_stopping"], again["learning_rate"], again["n_estimators"] == learner.best_iteration_
    (False, 0.3, True)
    """
    if getattr(learner, "best_iteration_", None) is None:
        return {}
    return {
        "early_stopping": False,
        "learning_rate": learner.learning_rate_,
        "n_estimators": learner.best_iteration_,
    }


def _limited(learner: Any, asked: Asked) -> Any:
    """Have a learner of rounds or subsamples stop in time, with what it has."""
    return learner if asked.seconds is None else learner.set_callbacks(Deadline(asked.seconds))
