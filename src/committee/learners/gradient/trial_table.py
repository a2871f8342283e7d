"""Table of the trials of a gradient booster, with the trial whose settings the fit took."""

from __future__ import annotations

from typing import Any, Literal

from sklearn.utils.validation import check_is_fitted

from committee.data.columns import Backend, data_frame
from committee.learners.base.estimator import CommitteeEstimator
from committee.learners.gradient.trials import FINER, TRIAL_RATE

_SETTINGS = ("max_leaf_nodes", "subsample", "max_features")


class TrialTable(CommitteeEstimator):
    learning_rate: float | Literal["auto"]
    line_search: bool
    early_stopping: bool

    trials_: dict[str, list[float]] | None

    def trials_frame(self, backend: Backend = "pandas") -> Any:
        """Table of `trials_`: a row for each trial of settings, in the order tried.

        Columns are those of `trials_`: ``max_leaf_nodes``, ``subsample`` and ``max_features`` (0: no limit, or all
        columns); ``rounds`` of learning rate 0.4 up to the least held-out ``loss``, or minus the score by `scoring`;
        ``gain``, by which that loss is lower than the first trial's, and ``standard_error`` of the gain. By a scorer
        the gain is that of jackknife estimates of the score, the means of pseudo-values over ten blocks of held-out
        rows, and differs from the difference of the losses. A trial that was behind ended early, and has the least loss
        of its rounds. Two more columns are ``trial_learning_rate``, 0.4, or 0.1 of a trial of smaller steps, and
        ``chosen``, true for the trial whose settings and total step (0.4 times its rounds) the fit used. No trial is
        chosen if a warm start changed the settings.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"
            Library of the data frame, as for `evals_frame`.

        Returns
        -------
        DataFrame or Table of shape (n_trials, 9)

        Raises
        ------
        NotFittedError
            If the learner is not fitted.
        ValueError
            If the fit made no trials, or `backend` is another one.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from committee import GradientBoostingClassifier
        >>> model = GradientBoostingClassifier(random_state=0).fit(*load_breast_cancer(return_X_y=True))
        >>> model.trials_frame("polars").select("max_leaf_nodes", "subsample", "chosen").rows()
        [(15, 0.7, True), (15, 1.0, False), (31, 0.7, False)]
        """
        return data_frame(trial_columns(self), backend)


def trial_columns(learner: Any) -> dict[str, list[Any]]:
    check_is_fitted(learner)
    trials: dict[str, list[float]] | None = getattr(learner, "trials_", None)  # absent after a fit to one class
    if trials is None:
        raise ValueError(_missing_trials(learner))
    settings = list(zip(*(trials[name] for name in _SETTINGS), strict=True))
    taken = tuple(getattr(learner, f"{name}_", None) for name in _SETTINGS)  # files of earlier versions have none
    same = [i for i, each in enumerate(settings) if each == taken]
    best = min(same, key=lambda i: trials["loss"][i], default=None)
    # settings are tried again with smaller steps alone
    rates = [TRIAL_RATE / FINER if each in settings[:i] else TRIAL_RATE for i, each in enumerate(settings)]
    return {**trials, "trial_learning_rate": rates, "chosen": [i == best for i in range(len(settings))]}


def _missing_trials(learner: Any) -> str:
    if learner.learning_rate != "auto":
        return f"learning_rate={learner.learning_rate!r} makes no trials; fit with learning_rate='auto'."
    if learner.line_search:
        return "line_search=True makes no trials; fit with line_search=False."
    if learner.early_stopping:
        return (
            "early_stopping=True makes no trials where it holds out rows of X; fit with X_val and y_val, or with "
            "early_stopping=False."
        )
    return (
        "the fit made no trials; fit with a loss that has a value, and with more rows, of two classes or more, without "
        "an earlier warm start."
    )
