"""Display of the trials by which gradient boosting chooses its settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from committee.report.displays.base import Display, draw_dot_rows
from committee.report.drawing.rows import DotRow, DotRows
from committee.report.drawing.scale import Scale, format_number
from committee.report.metrics import metric_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class TrialsDisplay(Display):
    """Held-out loss of each trial of settings, in the order tried from the top.

    Bars are one standard error of the change from the first trial either side, so the first trial has none. The dotted
    line is the loss of the first trial. The chosen trial has another colour.

    Parameters
    ----------
    settings : sequence of str (n_trials,)
        Settings of each trial.
    losses : array-like (n_trials,)
        Held-out losses, or values of another metric.
    standard_errors : array-like (n_trials,), default=None
        Standard errors, drawn as bars; `None` draws none.
    chosen : int, default=None
        Position of the chosen trial, counted from 0; `None` marks none.
    metric : str, default="loss"
        Name of the metric, for the axis.

    Raises
    ------
    ValueError
        If there are no trials, lengths differ, or `chosen` is not a position.

    Examples
    --------
    >>> from committee.report import TrialsDisplay
    >>> display = TrialsDisplay(["15 leaves", "31 leaves"], [0.31, 0.28], [0.0, 0.01], chosen=1).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['15 leaves', 'chosen: 31 leaves']
    """

    def __init__(
        self,
        settings: Sequence[str],
        losses: ArrayLike,
        standard_errors: ArrayLike | None = None,
        *,
        chosen: int | None = None,
        metric: str = "loss",
    ) -> None:
        self.settings: list[str] = list(settings)
        n = len(self.settings)
        self.losses = np.asarray(losses, dtype=np.float64)
        self.standard_errors = np.zeros(n) if standard_errors is None else np.asarray(standard_errors, dtype=np.float64)
        shapes = self.losses.shape, self.standard_errors.shape
        if not n or set(shapes) != {(n,)}:
            raise ValueError(
                f"losses and standard_errors have shapes {shapes[0]} and {shapes[1]} for {n} settings; give one of "
                "each for each trial, and one trial at least"
            )
        if chosen is not None and not 0 <= chosen < n:
            raise ValueError(f"chosen={chosen} is not a position; there are {n} trials, counted from 0")
        self.chosen: int | None = chosen
        self.metric: str = metric

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> TrialsDisplay:
        """Draw the trials of a fitted gradient booster.

        Parameters
        ----------
        estimator : GradientBoostingClassifier or GradientBoostingRegressor
            Fitted with ``learning_rate="auto"``. Trials by a scorer (`scoring`) show its scores.
        ax : matplotlib Axes, default=None
            Axes to draw on; `None` makes a new figure.

        Returns
        -------
        TrialsDisplay

        Raises
        ------
        ValueError
            If the estimator is another one, or its fit made no trials.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from committee import GradientBoostingRegressor
        >>> from committee.report import TrialsDisplay
        >>> model = GradientBoostingRegressor(random_state=0).fit(*load_diabetes(return_X_y=True))
        >>> TrialsDisplay.from_estimator(model).chosen
        0
        """
        return cls.of(estimator).plot(ax)

    @classmethod
    def of(cls, estimator: Any) -> TrialsDisplay:
        """Make the display, not yet drawn."""
        from committee.learners.gradient.trial_table import TrialTable, trial_columns  # few pages have trials

        if not isinstance(estimator, TrialTable):
            raise ValueError(
                f"{type(estimator).__name__} has no trials_ to draw; give a fitted "
                "committee.GradientBoostingClassifier or committee.GradientBoostingRegressor."
            )
        columns = trial_columns(estimator)
        metric = _metric(getattr(estimator, "scoring", None))
        is_loss = metric == "loss" or metric.startswith("neg_")
        return cls(
            _settings_in_words(columns),
            columns["loss"] if is_loss else np.negative(columns["loss"]),
            columns["standard_error"],
            chosen=columns["chosen"].index(True) if any(columns["chosen"]) else None,
            metric=metric.removeprefix("neg_"),
        )

    def dot_rows(self) -> DotRows:
        """Return the rows of dots to draw, one for each trial."""
        rows = []
        each_trial = zip(self.settings, self.losses.tolist(), self.standard_errors.tolist(), strict=True)
        for i, (settings, loss, error) in enumerate(each_trial):
            name = f"chosen: {settings}" if i == self.chosen else settings
            text = format_number(loss) + (f" ± {format_number(error, 2)}" if error else "")
            rows.append(DotRow(name, [loss], text, int(i == self.chosen), (loss - error, loss + error)))
        label = f"held-out {metric_words(self.metric)}"
        if self.standard_errors.any():
            label += "\n±1 standard error of the change from the first trial"
        scale = Scale.over([end for row in rows for end in row.ends], margin=0.06)
        return DotRows(rows, label, float(self.losses[0]), scale=scale)

    def _draw(self, ax: Axes | None) -> None:
        found = self.dot_rows()
        # in two lines, which leave more room for the axis
        lines = [replace(row, name=row.name.replace(", ", ",\n", 1)) for row in found.rows]
        draw_dot_rows(replace(found, rows=lines), self._axes(ax, 7.2, 1.2 + 0.5 * len(lines)))


def _metric(scoring: Any) -> str:
    first = scoring[0] if isinstance(scoring, list | tuple) else scoring
    return "loss" if first is None else first if isinstance(first, str) else getattr(first, "__name__", "score")


def _settings_in_words(columns: dict[str, list[Any]]) -> list[str]:
    largest = max(columns["trial_learning_rate"])
    names = ("max_leaf_nodes", "subsample", "max_features", "trial_learning_rate")
    return [
        ", ".join(
            [
                f"{leaves} leaves" if leaves else "no limit of leaves",
                f"{share:.0%} of rows" if share < 1.0 else "all rows",
                f"{features} columns per node" if features else "all columns",
                *(["smaller steps"] if rate < largest else []),
            ]
        )
        for leaves, share, features, rate in zip(*(columns[name] for name in names), strict=True)
    ]
