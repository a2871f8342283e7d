"""The regularisation path of QuadBoost as a picture: weights, errors, and the choice of cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.number_types import F64
from committee.report.arguments import check_most
from committee.report.displays.base import new_figure, open_axes
from committee.report.displays.quadboost_panels import MOST_NAMED, ErrorPanel, StrengthAxis, WeightPanel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from committee.learners.quadboost.quadboost_cv import QuadBoostClassifierCV
    from committee.learners.quadboost.quadboost_path import QuadBoostPath


class QuadBoostPathDisplay:
    """Weights and errors of QuadBoost against the strength of its penalty, weaker to the right.

    There are up to two panels, one below the other: the weights of the voters, coloured by their column, if there
    are weights; and the errors with one standard error either side, if there are errors. Errors of several strengths
    and several numbers of rounds are a map.

    Parameters
    ----------
    alphas : array-like (S,)
        Strengths, strongest first; bounds of "linf" rise.
    penalty : {"l1", "l2", "linf"} or None, default="l1"
        The penalty.
    weights : array-like (S, N), default=None
        Weights of the voters at each strength. A stump of positive weight votes for the second class (the larger
        number) where its column is above the threshold, or is another category than the stump's.
    columns : sequence of str (N,), default=None
        The column that each voter looks at; needed with `weights`.
    errors : array-like (S,) or (S, R), default=None
        Mean errors, of R numbers of rounds.
    standard_errors : array-like of the same shape, default=None
        Standard errors of these means.
    rounds : array-like (R,), default=None
        Numbers of rounds; needed if R is above 1.
    chosen : int or pair of int, default=None
        Position of the chosen strength, or of strength and rounds.
    subject : str, default="error"
        Name of the errors, for their axis.
    max_columns : int, default=6
        At most so many columns get a colour and a name, those with the largest weights; at most 6.
    max_voters : int, default=150
        At most so many voters are drawn, those with the largest weights.

    Attributes
    ----------
    axes_, figure_
        List of panels from the top, and figure drawn on.

    Raises
    ------
    ValueError
        If there is nothing to draw, or what is given does not fit together.

    Examples
    --------
    >>> from committee.report import QuadBoostPathDisplay
    >>> display = QuadBoostPathDisplay([1.0, 0.1], weights=[[0.0], [0.5]], columns=["age"], errors=[0.5, 0.2]).plot()
    >>> [ax.get_ylabel() for ax in display.axes_]
    ['weight', 'error']
    """

    def __init__(
        self,
        alphas: ArrayLike,
        *,
        penalty: str | None = "l1",
        weights: ArrayLike | None = None,
        columns: Sequence[str] | None = None,
        errors: ArrayLike | None = None,
        standard_errors: ArrayLike | None = None,
        rounds: ArrayLike | None = None,
        chosen: int | tuple[int, int] | None = None,
        subject: str = "error",
        max_columns: int = MOST_NAMED,
        max_voters: int = 150,
    ) -> None:
        self.alphas: F64 = np.asarray(alphas, dtype=np.float64)
        S = len(self.alphas)
        if weights is None and errors is None:
            raise ValueError("there is nothing to draw: give weights, errors, or both")
        self.weights: F64 | None = None if weights is None else np.asarray(weights, dtype=np.float64)
        self.columns: list[str] = [] if columns is None else list(columns)
        if self.weights is not None and self.weights.shape != (S, len(self.columns)):
            raise ValueError(
                f"weights has shape {self.weights.shape}; {S} alphas and {len(self.columns)} columns need "
                f"({S}, {len(self.columns)})"
            )
        self.rounds: NDArray[Any] | None = None if rounds is None else np.asarray(rounds)
        shape = (S, 1 if self.rounds is None else len(self.rounds))
        self.errors: F64 | None = _shaped("errors", errors, shape)
        self.standard_errors: F64 | None = _shaped("standard_errors", standard_errors, shape)
        self.chosen = (int(chosen), 0) if isinstance(chosen, int | np.integer) else chosen
        if self.chosen is not None and not all(0 <= at < most for at, most in zip(self.chosen, shape, strict=True)):
            raise ValueError(
                f"chosen={chosen} is no position; there are {shape[0]} alphas and {shape[1]} rounds, counted from 0"
            )
        self.penalty: str | None = penalty
        self.subject: str = subject
        check_most("max_columns", max_columns)
        check_most("max_voters", max_voters)
        self.max_columns: int = min(max_columns, MOST_NAMED)
        self.max_voters: int = max_voters

    @classmethod
    def from_path(
        cls,
        path: QuadBoostPath,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        max_columns: int = MOST_NAMED,
        max_voters: int = 150,
        axes: Axes | Sequence[Axes] | None = None,
    ) -> QuadBoostPathDisplay:
        """Draw the weights of a path and its risk, or its errors on given rows.

        Parameters
        ----------
        path : QuadBoostPath
            Result of `quadboost_path`.
        X : frame or array (n, p), default=None
            Rows to judge the committees by, best those that the path has not seen. None: the risk of the training
            rows is drawn, which always decreases.
        y : array-like (n,), default=None
            Their labels or numbers; needed with `X`.
        max_columns, max_voters : int, default=6 and 150
            At most so many are named, and drawn.
        axes : two matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        QuadBoostPathDisplay
            Already drawn.

        Raises
        ------
        ValueError
            If a label is none of the path's, or only one of `X` and `y` is given.
        """
        if (X is None) != (y is None):
            raise ValueError("X and y belong together; give both, or none for the risk of the training rows")
        errors, standard_errors, subject = path.risks, None, "training risk"
        if y is not None:
            losses, subject = _losses(path, X, np.asarray(y))
            errors, standard_errors = losses.mean(axis=0), _standard_error(losses, 0)
        display = cls(
            path.alphas,
            penalty=path.penalty,
            weights=path.weights,
            columns=_columns(path),
            errors=errors,
            standard_errors=standard_errors,
            subject=subject,
            max_columns=max_columns,
            max_voters=max_voters,
        )
        return display.plot(axes)

    @classmethod
    def from_cv(
        cls,
        model: QuadBoostClassifierCV,
        path: QuadBoostPath | None = None,
        *,
        max_columns: int = MOST_NAMED,
        max_voters: int = 150,
        axes: Axes | Sequence[Axes] | None = None,
    ) -> QuadBoostPathDisplay:
        """Draw the errors and the choice of a cross-validation.

        Parameters
        ----------
        model : QuadBoostClassifierCV
            Fitted.
        path : QuadBoostPath, default=None
            The same strengths on all rows, ``quadboost_path(X, y, penalty=model.penalty, alphas=model.alphas_)``, for a
            panel of weights.
        max_columns, max_voters, axes
            As for `from_path`; one of `axes` for each panel.

        Returns
        -------
        QuadBoostPathDisplay
            Already drawn.

        Raises
        ------
        ValueError
            If the path is one of other strengths.
        """
        weights, columns = None, None
        if path is not None:
            if path.penalty != model.penalty or not np.array_equal(path.alphas, model.alphas_):
                raise ValueError(
                    "path has other strengths than the model; make it by quadboost_path(X, y, penalty=model.penalty, "
                    "alphas=model.alphas_)"
                )
            weights, columns = path.weights, _columns(path)
        t = 0 if model.rounds_ is None else int(np.flatnonzero(model.rounds_ == model.n_estimators_)[0])
        display = cls(
            model.alphas_,
            penalty=model.penalty,
            weights=weights,
            columns=columns,
            errors=model.cv_errors_.mean(axis=2),
            standard_errors=_standard_error(model.cv_errors_, 2),
            rounds=model.rounds_,
            chosen=(int(np.flatnonzero(model.alphas_ == model.alpha_)[0]), t),
            subject=f"error, mean of {model.cv_errors_.shape[2]} folds",
            max_columns=max_columns,
            max_voters=max_voters,
        )
        return display.plot(axes)

    def plot(self, axes: Axes | Sequence[Axes] | None = None) -> QuadBoostPathDisplay:
        """Draw the panels.

        Parameters
        ----------
        axes : matplotlib Axes, default=None
            Where to draw, one for each panel; a new figure by default.

        Returns
        -------
        QuadBoostPathDisplay
            Itself.

        Raises
        ------
        ValueError
            If there is not one of `axes` for each panel.
        """
        strengths = StrengthAxis(self.alphas, self.penalty, self.chosen and self.chosen[0])
        panels: list[WeightPanel | ErrorPanel] = []
        if self.weights is not None:
            panels.append(WeightPanel(strengths, self.weights, self.columns, self.max_columns, self.max_voters))
        is_map = False
        if self.errors is not None:
            panel = ErrorPanel(strengths, self.errors, self.standard_errors, self.rounds, self.chosen, self.subject)
            panels.append(panel)
            is_map = panel.is_map
        if axes is None:
            figure = new_figure(7.6, 0.5 + 2.9 * len(panels))
            given = figure.subplots(len(panels), squeeze=False, sharex=not is_map)[:, 0].tolist()
        else:
            given = np.asarray(axes, dtype=object).ravel().tolist()
        if len(given) != len(panels):
            raise ValueError(f"axes has {len(given)} axes; there are {len(panels)} panels to draw")
        self.axes_ = given
        for ax, each in zip(given, panels, strict=True):
            self.figure_ = open_axes(ax)
            each.draw(ax)
        if not is_map and axes is None:
            for ax in given[:-1]:
                ax.set_xlabel("")
        return self


def _shaped(name: str, given: ArrayLike | None, shape: tuple[int, int]) -> F64 | None:
    """Numbers by strength and rounds; those of one number of rounds may come without it."""
    if given is None:
        return None
    values = np.asarray(given, dtype=np.float64)
    if values.shape != shape and (shape[1] > 1 or values.shape != shape[:1]):
        raise ValueError(f"{name} has shape {values.shape}; {shape[0]} alphas and {shape[1]} rounds need {shape}")
    return values.reshape(shape)


def _standard_error(values: F64, axis: int) -> F64 | None:
    """Standard errors of means along an axis; of a single value nothing is known."""
    n = values.shape[axis]
    return np.asarray(values.std(axis=axis, ddof=1) / np.sqrt(n)) if n > 1 else None


def _columns(path: QuadBoostPath) -> list[str]:
    """The column of each voter."""
    return [path.table.column(j) for j in path.dictionary.stumps.feature.tolist()]


def _losses(path: QuadBoostPath, X: Any, y: NDArray[Any]) -> tuple[F64, str]:
    """Errors of all committees of a path on each row, ``(n, S)``, and their name."""
    scores, classes = path.decision_function(X), path.classes
    if classes is None:
        return (scores - y[:, None]) ** 2, "mean squared error"
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(
            f"y holds {y[unknown].tolist()[0]!r}, which is no class of the path; its classes are {classes.tolist()!r}"
        )
    second = scores > 1e-12  # a tie goes to the first class, and rounding makes no winner
    return (second != (y == classes[1])[:, None]).astype(np.float64), "error"
