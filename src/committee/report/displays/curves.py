"""Displays of reliability, of losses by round, of training risk, and of pruning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from committee.report.displays.base import (
    AGAINST,
    FOR,
    GREY,
    ChartDisplay,
    CurvesDisplay,
    Display,
    PanelsDisplay,
    grid,
    legend_above,
    log_axis,
)
from committee.report.drawing.chart import Chart, Curve, Guide, Mark, reliability_chart
from committee.report.drawing.scale import Scale
from committee.report.metrics import Reliability, metric_words
from committee.vote.explain.rules import model_trees

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_CURVES = 7


class ReliabilityDisplay(CurvesDisplay):
    """Reliability curves: share of rows whose most probable class is right, against its probability.

    Calibrated probabilities lie on the diagonal [1]_; below it they are too high. Bins of less than half a per cent of
    the rows are left out. A marker's area grows with the rows of its bin.

    Parameters
    ----------
    curves : mapping of str to Reliability
        Rows by the probability of their most probable class, for each model.
    colors : mapping of str to int, default=None
        Place of each name in the palette; `None` uses the order of ``curves``.

    References
    ----------
    .. [1] A. Niculescu-Mizil, R. Caruana (2005). Predicting good probabilities with supervised learning. ICML.

    Examples
    --------
    >>> from committee.report import ReliabilityDisplay
    >>> from committee.report.metrics import Reliability
    >>> display = ReliabilityDisplay({"a": Reliability.of([[0.1, 0.9], [0.6, 0.4]], [True, False])}).plot()
    >>> display.ax_.get_xlabel()
    'probability of the most probable class'
    """

    def __init__(self, curves: Mapping[str, Reliability], *, colors: Mapping[str, int] | None = None) -> None:
        if not curves:
            raise ValueError("curves is empty: give the reliability of one model at least")
        self.curves: dict[str, Reliability] = dict(curves)
        super().__init__(curves, colors=colors)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the reliability curve of one fitted classifier.

        Parameters
        ----------
        estimator : classifier
            Fitted, with ``predict_proba``, of this library or another, for two or more classes.
        X, y, sample_weight, ax
            As for `from_estimators`.
        name : str, default=None
            Name for the legend; `None` uses the class name.
        """
        return cls.from_estimators({name or type(estimator).__name__: estimator}, X, y, sample_weight, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
        name: str = "predictions",
        ax: Axes | None = None,
    ) -> Self:
        """Draw the reliability curve of probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels.
        y_prob : array-like of shape (n_samples, n_classes) or (n_samples,)
            Probabilities of all classes, or of the second of two.
        sample_weight, ax
            As for `from_estimators`.
        classes : array-like of shape (n_classes,), default=None
            Labels of the columns of `y_prob`; `None` uses the sorted labels of `y_true`.
        name : str, default="predictions"
            Name for the legend.

        Examples
        --------
        >>> from committee.report import ReliabilityDisplay
        >>> display = ReliabilityDisplay.from_predictions(["no", "yes", "yes"], [0.2, 0.4, 0.9], name="mine")
        >>> round(display.curves["mine"].calibration_error, 3)
        0.3
        """
        truth, p = np.ravel(np.asarray(y_true)), np.asarray(y_prob, dtype=np.float64)
        p = np.column_stack([1.0 - p, p]) if p.ndim == 1 else p
        labels = np.unique(truth) if classes is None else np.ravel(np.asarray(classes))
        if len(p) != len(truth) or p.shape[1:] != (len(labels),):
            raise ValueError(
                f"y_prob has shape {np.shape(y_prob)} for {len(truth)} labels of {len(labels)} classes; give a row of "
                "probabilities for each label, and classes if y_true does not have all of them"
            )
        return cls({name: Reliability.of(p, labels[p.argmax(axis=1)] == truth, sample_weight)}).plot(ax)

    @classmethod
    def _curve(cls, estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Reliability:
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(
                f"estimator is a {type(estimator).__name__}, which has no predict_proba; give classifiers that have one"
            )
        p = np.asarray(estimator.predict_proba(X))
        return Reliability.of(p, estimator.classes_[p.argmax(axis=1)] == np.ravel(y), sample_weight)

    def chart(self) -> Chart:
        return reliability_chart(self.curves, self.colors)


class EvaluationDisplay(PanelsDisplay):
    """Learning curves: losses or scores of training and held-out rows after each boosting round, by metric.

    Parameters
    ----------
    curves : mapping of str to mapping of str to array-like (rounds,)
        Values after each round, by the name of their rows and of the metric, as in ``evals_result_``. A metric
        ``neg_...`` of scikit-learn is drawn without its sign.
    best : int, default=None
        Number of rounds that are kept, drawn as a line.

    Examples
    --------
    >>> from committee.report import EvaluationDisplay
    >>> curves = {"training": {"loss": [0.6, 0.4, 0.3]}, "validation": {"loss": [0.6, 0.5, 0.55]}}
    >>> display = EvaluationDisplay(curves, best=2).plot()
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('boosting round (best: 2)', 'loss')
    """

    def __init__(self, curves: Mapping[str, Mapping[str, ArrayLike]], *, best: int | None = None) -> None:
        self.curves = {
            rows: {metric: np.asarray(values, dtype=np.float64) for metric, values in of_rows.items()}
            for rows, of_rows in curves.items()
        }
        for rows, of_rows in self.curves.items():
            for metric, values in of_rows.items():
                if values.ndim != 1 or not values.size:
                    shape = f"curves[{rows!r}][{metric!r}] has shape {values.shape}"
                    raise ValueError(f"{shape}; give one number for each round")
        if not self.metrics:
            raise ValueError("curves is empty: give the values of one metric on some rows at least")
        self.best = best

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics, each drawn in a chart of its own."""
        return list(dict.fromkeys(metric for of_rows in self.curves.values() for metric in of_rows))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        metric: str | Sequence[str] | None = None,
        *,
        ax: Axes | Sequence[Axes] | None = None,
    ) -> EvaluationDisplay:
        """Draw the curves of a fitted booster.

        Parameters
        ----------
        estimator : booster
            With ``evals_result_``: a learner that was fitted with held-out rows or ``return_train_score=True``; or a
            model of LightGBM or XGBoost that was fitted with ``eval_set``.
        metric : str or sequence of str, default=None
            Metrics to draw, such as those of `scoring`. `None` draws all that were recorded.
        ax : matplotlib Axes or sequence of Axes, default=None
            Axes to draw on, one for each metric.

        Raises
        ------
        ValueError
            If the model has no curves, or none of this metric.
        """
        return cls.of(estimator, metric).plot(ax)

    @classmethod
    def of(cls, estimator: Any, metric: str | Sequence[str] | None = None) -> EvaluationDisplay:
        """Make the display, not yet drawn."""
        found: Any = getattr(estimator, "evals_result_", None)
        if found is None and callable(getattr(estimator, "evals_result", None)):
            found = estimator.evals_result()  # of XGBoost
        name = type(estimator).__name__
        if not found and not hasattr(estimator, "evals_result_"):
            raise ValueError(f"{name} has no evals_result_ to draw; give a fitted learner that records it.")
        if not found:
            raise ValueError(
                f"{name} has no evals_result_ to draw; fit it with held-out rows, or with return_train_score=True."
            )
        known = list(dict.fromkeys(each for values in found.values() for each in values))
        shown = known if metric is None else [metric] if isinstance(metric, str) else list(metric)
        for each in shown:
            if each not in known:
                raise ValueError(f"metric={each!r} was not recorded; there are {', '.join(map(repr, known))}.")
        curves = {rows: {each: of_rows[each] for each in shown if each in of_rows} for rows, of_rows in found.items()}
        best = getattr(estimator, "best_iteration_", None)
        if best is None and hasattr(estimator, "best_iteration"):
            best = estimator.best_iteration + 1  # XGBoost counts from 0
        return cls(curves, best=best if best is not None and best > 0 else None)

    def panels(self) -> list[tuple[str, Chart]]:
        metrics = self.metrics
        return [("", self._chart(metric, has_legend=len(metrics) == 1)) for metric in metrics]

    def _chart(self, metric: str, *, has_legend: bool) -> Chart:
        sign = -1.0 if metric.startswith("neg_") else 1.0
        curves = {rows: sign * values[metric] for rows, values in self.curves.items() if metric in values}
        y = Scale.over(np.concatenate(list(curves.values())), margin=0.05)
        marks: list[Mark] = [
            Curve(np.arange(1, len(curves[rows]) + 1), curves[rows], color=i, label=rows)
            for i, rows in enumerate(self.curves)
            if rows in curves
        ]
        if self.best:
            marks.insert(0, Guide([self.best, self.best], [y.low, y.high]))
        x = Scale(1.0, max(2.0, *map(len, curves.values())), whole=True)
        label = "boosting round" + (f" (best: {self.best:,})" if self.best else "")
        return Chart(x, y, label, metric_words(metric.removeprefix("neg_")), marks, has_legend=has_legend)


class RiskPathDisplay(ChartDisplay):
    """Mean training risk after every boosting step.

    Parameters
    ----------
    risk : array-like (B + 1,) or (curves, B + 1)
        Risk before the first and after every step.
    names : sequence of str, default=None
        Names of the curves; `None` numbers them.
    weights : array-like (curves,), default=None
        Weights in the mean, which is drawn if there are more than 7 curves; `None` weights all the same.

    Examples
    --------
    >>> from committee.report import RiskPathDisplay
    >>> RiskPathDisplay([0.69, 0.5, 0.4]).plot().ax_.get_xlabel()
    'boosting step'
    """

    def __init__(
        self, risk: ArrayLike, *, names: Sequence[str] | None = None, weights: ArrayLike | None = None
    ) -> None:
        self.risk = np.atleast_2d(np.asarray(risk, dtype=np.float64))
        if self.risk.ndim != 2 or not self.risk.size:
            raise ValueError(f"risk has shape {self.risk.shape}; it must be (curves, steps + 1), one curve at least")
        n = len(self.risk)
        self.names: list[str] = [str(i) for i in range(n)] if names is None else list(names)
        self.weights = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        if len(self.names) != n or self.weights.shape != (n,):
            raise ValueError(f"names ({len(self.names)}) and weights {self.weights.shape} must be for {n} curves")

    @classmethod
    def of(cls, estimator: Any) -> RiskPathDisplay:
        """Make the display, not yet drawn."""
        path = getattr(estimator, "risk_path_", None)
        if path is None:
            raise ValueError(
                f"{type(estimator).__name__} has no risk_path_ to draw; give a fitted ProbitBoostClassifier, "
                "LogitBoostClassifier or model tree."
            )
        path = np.asarray(path)
        if path.ndim < 3:
            path = np.atleast_2d(path)
            return cls(path, names=_scored_classes(estimator, len(path)))
        trees = model_trees(estimator)
        nodes = np.flatnonzero(trees.model >= 0)
        nodes = nodes[np.argsort(trees.model[nodes], kind="stable")]
        tree = np.searchsorted(trees.forest.offset, nodes, side="right") - 1
        leaf = (nodes - trees.forest.offset[tree]).tolist()
        labels = _scored_classes(estimator, max(path.shape[1], trees.trees_per_voter))
        scored = [[labels[t]] for t in tree.tolist()] if trees.trees_per_voter > 1 else [labels] * len(leaf)
        names = [f"leaf {node}, {label}" for node, mine in zip(leaf, scored, strict=True) for label in mine]
        mass = np.ones(len(leaf)) if trees.record is None else trees.record.mass
        return cls(path.reshape(-1, path.shape[2]), names=names, weights=np.repeat(mass, path.shape[1]))

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> RiskPathDisplay:
        """Draw the risk path of a fitted classifier.

        Parameters
        ----------
        estimator : classifier
            With ``risk_path_``: a boosted score, or a model tree, with a curve for each leaf and class.
        ax : matplotlib Axes, default=None
            Axes to draw on.
        """
        return cls.of(estimator).plot(ax)

    def chart(self) -> Chart:
        steps = np.arange(self.risk.shape[1])
        n = len(self.risk)
        marks: list[Mark]
        if n > _MOST_CURVES:
            label = f"{n} curves, one for each leaf and class"
            marks = [
                Curve(steps, curve, color="pale", width=1.0, faint=True, label="" if i else label)
                for i, curve in enumerate(self.risk)
            ]
            mean = self.weights @ self.risk / self.weights.sum()
            marks.append(Curve(steps, mean, width=3.0, label="mean, weighted by rows"))
        else:
            names = self.names if n > 1 else [""]
            marks = [
                Curve(steps, curve, color=i, label=name)
                for i, (curve, name) in enumerate(zip(self.risk, names, strict=True))
            ]
        y = Scale(0.0, 1.05 * max(float(self.risk.max()), 1e-12))
        x = Scale(0.0, max(float(steps[-1]), 1.0), whole=True)
        return Chart(x, y, "boosting step", "mean risk of the training rows", marks)


def _scored_classes(estimator: Any, n_outputs: int) -> list[str]:
    labels = [str(label) for label in estimator.classes_.tolist()]
    return labels if len(labels) == n_outputs else labels[1:2]


class PruningPathDisplay(Display):
    """Loss of pruned ensembles minus that of the whole ensemble, against the number of nodes that are left.

    Parameters
    ----------
    n_nodes : array-like (steps,)
        Nodes of each pruned ensemble.
    lost : array-like (steps,)
        Its held-out loss minus that of the whole ensemble.
    lost_error : array-like (steps,), default=None
        Standard errors, drawn as bars.
    metric : str, default="accuracy"
        Name of the metric, for the axis.
    max_loss : float, default=None
        Accepted loss, drawn as a line.
    chosen : int, default=None
        Nodes of the chosen ensemble, which gets a ring.

    Examples
    --------
    >>> from committee.report import PruningPathDisplay
    >>> PruningPathDisplay([300, 100, 30], [-0.002, 0.001, 0.02]).plot().ax_.get_xlabel()
    'nodes'
    """

    def __init__(
        self,
        n_nodes: ArrayLike,
        lost: ArrayLike,
        lost_error: ArrayLike | None = None,
        *,
        metric: str = "accuracy",
        max_loss: float | None = None,
        chosen: int | None = None,
    ) -> None:
        self.n_nodes = np.asarray(n_nodes, dtype=np.float64)
        self.lost = np.asarray(lost, dtype=np.float64)
        self.lost_error = None if lost_error is None else np.asarray(lost_error, dtype=np.float64)
        shapes = [each.shape for each in (self.n_nodes, self.lost, self.lost_error) if each is not None]
        if len(set(shapes)) > 1 or self.n_nodes.ndim != 1 or not self.n_nodes.size:
            raise ValueError(f"n_nodes, lost and lost_error have shapes {shapes}; they must be of one length, not 0")
        self.metric: str = metric
        self.max_loss: float | None = max_loss
        self.chosen: int | None = chosen
        self.unit = "nodes"

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> PruningPathDisplay:
        """Draw the path of a pruned ensemble.

        Parameters
        ----------
        estimator : LeafReweighter, LeafReweighterRegressor or MarginReweighter
            A leaf reweighter fitted with ``on="oob"`` or ``"validation"``; with `min_gain` or `max_loss` its path has
            several steps. A MarginReweighter is one that `committee.prune` returns with `max_loss`: whole voters are
            removed, and the path is drawn against their number.
        ax : matplotlib Axes, default=None
            Axes to draw on.
        """
        path: Any = getattr(estimator, "path_", None)
        of_voters: Any = getattr(estimator, "pruning_path_", None)
        if path is None and of_voters is None:
            raise ValueError(
                f"{type(estimator).__name__} has no path_ to draw; give a fitted LeafReweighter, or a result of "
                "committee.prune with max_loss, that was not loaded from a file or unpickled."
            )
        steps = (of_voters if path is None else path).steps
        lost = [step.lost for step in steps]
        if not np.isfinite(lost).all():
            on = "'oob' or 'validation'" if getattr(estimator, "on", "") == "train" else "'validation'"
            remedy = "prune with max_loss" if path is None else f"fit with on={on}"
            raise ValueError(f"the path has no losses on held-out rows; {remedy}.")
        errors = [step.lost_error for step in steps]
        if path is None:  # of whole voters, of which not all have nodes
            sizes, chosen = [len(step.voters) for step in steps], estimator.committee_.n_voters
            metric, max_loss = of_voters.metric, of_voters.max_loss
        else:
            sizes, chosen = [step.cut.n_nodes for step in steps], estimator.committee_.n_nodes
            metric, max_loss = estimator.metric_name, estimator.max_loss
        words = ("share of " if path is not None and path.criterion.metric.in_shares else "") + metric.replace("_", " ")
        display = cls(sizes, lost, errors, metric=words, max_loss=max_loss, chosen=chosen)
        display.unit = "voters" if path is None else "nodes"
        return display.plot(ax)

    def _draw(self, ax: Axes | None) -> None:
        ax = self._axes(ax, 5.2, 3.4)
        ax.axhline(0.0, color=GREY, linewidth=1.0, label="the whole ensemble")
        if self.max_loss is not None:
            label = f"accepted loss: {self.max_loss:g}"
            ax.axhline(self.max_loss, color=AGAINST, linestyle="--", linewidth=1.0, label=label)
        ax.errorbar(self.n_nodes, self.lost, yerr=self.lost_error, color=FOR, marker="o", markersize=4, capsize=2)
        ring = self.n_nodes == self.chosen
        if ring.any():
            style: dict[str, Any] = {"markersize": 10, "markerfacecolor": "none", "color": AGAINST}
            ax.plot(self.n_nodes[ring], self.lost[ring], "o", linestyle="none", label="chosen", **style)
        log_axis(ax.xaxis)
        ax.set(xlabel=self.unit, ylabel=f"{self.metric} lost")
        grid(ax)
        legend_above(ax)
