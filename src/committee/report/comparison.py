"""Comparison of models on the same cross-validation folds, with tests of their differences."""

from __future__ import annotations

import os
import platform
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from committee.data.labels import Task
from committee.data.number_types import is_whole
from committee.report.crossvalidation import Cells, FoldResult, checkpointed_fits, run_folds
from committee.report.folds import ComparedRows, Folds, Numbers, Split, Table
from committee.report.metrics import Reliability, chosen_metrics, default_metrics, known_metric, metric_words
from committee.report.models import BASELINE, ComparedModel, compared_models, weight_argument
from committee.report.statistics import average_ranks, corrected_paired_t_test, holm

Progress: TypeAlias = Callable[[int, int, str, FoldResult], None]

LEVEL = 0.05

SCHEMA = "committee.comparison/3"


@dataclass(frozen=True)
class AgainstBest:
    """Paired test of one model against the best; a positive difference means worse."""

    difference: float
    standard_error: float
    interval: tuple[float, float]  # 95 %, for this pair alone
    least_shown: float  # least significant difference at this standard error
    in_every_fold: bool
    pvalue: float
    adjusted_pvalue: float

    @property
    def significant(self) -> bool:
        return self.adjusted_pvalue <= LEVEL


@dataclass(frozen=True, eq=False)
class ModelResult:
    name: str
    own: bool
    fold_results: tuple[FoldResult, ...]
    place: int | None = None  # 1: the best mean; None: not ranked
    average_rank: float | None = None  # mean of the ranks within folds
    against_best: AgainstBest | None = None
    error: str | None = None
    warnings: tuple[str, ...] = ()
    margin_quantiles: tuple[float, ...] | None = None  # (101,) of training margins, means over folds
    reliability: Reliability | None = None

    def values(self, metric: str) -> NDArray[np.float64]:
        values = [fold.figures.get(metric) for fold in self.fold_results]
        return np.array([value for value in values if value is not None], dtype=np.float64)

    def mean(self, metric: str) -> float | None:
        values = self.values(metric)
        return float(values.mean()) if values.size else None

    def sd(self, metric: str) -> float | None:
        values = self.values(metric)
        return float(values.std(ddof=1)) if values.size > 1 else None

    def median(self, metric: str) -> float | None:
        values = self.values(metric)
        return float(np.median(values)) if values.size else None

    def to_json(self) -> dict[str, Any]:
        metrics = list(self.fold_results[0].figures) if self.fold_results else []
        test = self.against_best
        return {
            "name": self.name,
            "own": self.own,
            "place": self.place,
            "average_rank": self.average_rank,
            "against_best": None if test is None else asdict(test) | {"significant": test.significant},
            "error": self.error,
            "warnings": list(self.warnings),
            "summary": {m: {"mean": self.mean(m), "sd": self.sd(m), "median": self.median(m)} for m in metrics},
            "folds": [fold.figures | {"error": fold.error} for fold in self.fold_results],
            "margin_quantiles": None if self.margin_quantiles is None else list(self.margin_quantiles),
        }


@dataclass(frozen=True)
class TableSummary:
    name: str
    target: str
    rows: int
    columns: int
    categorical: int
    missing_cells: int
    classes: dict[str, int]
    numbers: tuple[float, float, float] | None = None  # minimum, mean and maximum of the target


@dataclass(frozen=True, eq=False)
class Comparison:
    """Compared models, ranked by the first of `metrics`."""

    table: TableSummary
    models: tuple[ModelResult, ...]
    folds: int
    repeats: int
    seed: int
    jobs: int
    metrics: tuple[str, ...]
    versions: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    task: Task = "classes"
    stopped: str | None = None  # "an interrupt" or "the time limit"
    folds_done: int | None = None  # by all models, if stopped
    parameters: dict[str, dict[str, str]] = field(default_factory=dict)
    assignment: str = ""  # of rows to folds; empty: at random
    weighted: bool = False

    @property
    def metric(self) -> str:
        return self.metrics[0]

    @property
    def metric_words(self) -> str:
        return metric_words(self.metric, self.table.classes)

    @property
    def ranked(self) -> tuple[ModelResult, ...]:
        return tuple(model for model in self.models if model.place is not None)

    def __getitem__(self, name: str) -> ModelResult:
        for model in self.models:
            if model.name == name:
                return model
        raise KeyError(name)

    def to_json(self) -> dict[str, Any]:
        settings = {name: getattr(self, name) for name in ("folds", "repeats", "seed", "jobs", "metric", "task")}
        return {
            "schema": SCHEMA,
            "table": asdict(self.table),
            "settings": settings
            | {"level": LEVEL, "parameters": self.parameters, "assignment": self.assignment, "weighted": self.weighted},
            "stopped": self.stopped,
            "folds_done": self.folds * self.repeats if self.folds_done is None else self.folds_done,
            "versions": self.versions,
            "notes": list(self.notes),
            "models": [model.to_json() for model in self.models],
        }


def compare(
    frame: Any,
    y: Any,
    models: Iterable[str] | Mapping[str, Any] | str | None = None,
    *,
    task: Task | None = None,
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    folds: int = 10,
    repeats: int = 1,
    seed: int = 0,
    jobs: int = 1,
    metric: str | Iterable[str] | None = None,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    name: str = "table",
    target: str | None = None,
    progress: Progress | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    time_limit: float | None = None,
    on_interrupt: Literal["raise", "keep"] = "raise",
) -> Comparison:
    """Compare models on the same cross-validation folds, by default at random and stratified by class.

    Models are fitted on one thread, unless their own ``n_jobs`` is another number. Learners of this library take the
    frame; all others take the matrix of a `committee.data.table_schema.TableSchema` learned on the training rows of the
    fold, in which categories that occur only in test rows are missing values. The time to encode the training rows is
    part of every fit time.

    Parameters
    ----------
    frame : DataFrame or array-like of shape (n_samples, n_features)
        polars, pandas or Arrow table, or a NumPy array.
    y : Series or array-like of shape (n_samples,)
        Labels or numbers, none missing.
    models : str, iterable of str, mapping of str to estimator, or None, default=None
        "all", names of `committee.MODELS` and `committee.report.models.PEERS`, or unfitted estimators by name.
        An estimator that has a ``random_state`` of `None` gets ``seed``. `None`: `default_models`.
    task : {"classes", "numbers"}, default=None
        `None`: text, booleans and integers of few values are classes, other numbers are numbers.
    parameters : mapping of str to mapping, default=None
        Parameters to set, by the name of the model.
    folds, repeats : int, default=10 and 1
        Cross-validation folds, and repeats with other folds.
    seed : int, default=0
        Seed of the folds, and of the models without a ``random_state`` of their own.
    jobs : int, default=1
        Number of processes. Metrics do not depend on it; measured times are less exact with more than one.
    metric : str or iterable of str, default=None
        Scores of `committee.report.metrics.METRICS` or `METRICS_OF_NUMBERS`. The first ranks and tests the models, the
        others get columns; all are measured. `None`: "rmse" for numbers, "accuracy" for classes; if a class is rare,
        "roc_auc" or "log_loss" comes first (`committee.report.metrics.default_metrics`).
    groups : array-like of shape (n_samples,) or str, default=None
        Groups, such as patients, whose rows are in one fold: StratifiedGroupKFold of classes, GroupKFold of numbers. A
        name is that of a column, which is then no feature.
    time : array-like of shape (n_samples,) or str, default=None
        Numbers or dates. Fold k of ``folds`` tests part k + 1 of the rows in this order by fits on parts 1 to k. A name
        is that of a column, which stays a feature.
    sample_weight : array-like of shape (n_samples,) or str, default=None
        Row weights in fits and metrics. Rows of weight 0 are left out. A name is that of a column, which is then no
        feature.
    name, target : str, default="table" and None
        Names of the table and of the target. `None`: the name of ``y``, or "target".
    progress : callable ``(done, total, model, result)``, default=None
        Called after every fit with its `FoldResult`.
    checkpoint : path, default=None
        File of finished fits. The same comparison, started again, runs only fits that are missing or failed.
    time_limit : float, default=None
        Seconds after which no fit starts, nor a fold that would not end in time. With several ``jobs``
        running fits are cancelled.
    on_interrupt : {"raise", "keep"}, default="raise"
        Whether Ctrl-C is raised, or ends the comparison with the finished fits.

    Returns
    -------
    Comparison
        A model that raises in a fold, or predicts numbers that are not finite, is reported as failed. A comparison that
        was stopped uses the folds that all models have finished; if there is none, no model has a place.

    Warns
    -----
    UserWarning
        With folds at random: if a class has fewer rows than ``folds``, so that some folds test without it, or the frame
        has columns of dates.

    Notes
    -----
    Each model is tested against the best by the corrected resampled t-test
    (`committee.report.statistics.corrected_paired_t_test`, mean test/train ratio of the folds), with p-values adjusted
    by Holm's rule. The best is selected on the same folds, so its lead is slightly optimistic.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from committee.report.comparison import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> round(compare(X, y, {"bayes": GaussianNB()}, folds=5)["bayes"].mean("accuracy"), 3)
    0.96
    """
    for setting, value, least in (("folds", folds, 2), ("repeats", repeats, 1), ("jobs", jobs, 1)):
        if not is_whole(value) or value < least:
            raise ValueError(f"{setting} must be an integer of at least {least}; got {value!r}")
    folds, repeats, jobs = int(folds), int(repeats), int(jobs)
    if time_limit is not None and not time_limit > 0.0:
        raise ValueError(f"time_limit must be a number of seconds above 0; got {time_limit!r}")
    if on_interrupt not in ("raise", "keep"):
        raise ValueError(f"on_interrupt={on_interrupt!r} is neither 'raise' nor 'keep'")
    rows = ComparedRows.of(frame, y, task, target, groups=groups, time=time, sample_weight=sample_weight)
    table, numbers = rows.table, isinstance(rows.table.labels, Numbers)
    plan = Folds.of(folds, repeats, seed, groups=rows.groups, time=rows.time, names=rows.names)
    labels = table.labels
    if metric is None and not numbers:
        metric = default_metrics(np.bincount(labels.codes).tolist(), folds, at_random=not plan.words)
    metrics = chosen_metrics(metric, numbers, labels.classes.size)
    chosen = compared_models(models, numbers=numbers, parameters=_of_baseline(parameters, models, metrics))
    notes = rows.notes(plan)
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    _check_models(chosen, table, seed)
    splits = plan.splits(labels.codes, of_classes=not numbers)
    settings = {"folds": folds, "repeats": repeats, "seed": seed, **({"order": plan.digest} if plan.digest else {})}
    versions = _versions(chosen)
    with checkpointed_fits(checkpoint, table, chosen, settings, versions) as (finished, finish):
        cells, stopped = run_folds(
            table,
            chosen,
            splits,
            seed=seed,
            jobs=jobs,
            progress=progress,
            finished=finished,
            finish=finish,
            time_limit=time_limit,
            keep_interrupted=on_interrupt == "keep",
        )
    done = [f for f in range(len(splits)) if all((m, f) in cells for m in range(len(chosen)))]
    used = done or _fold_of_most_models(cells)
    results = [
        summarise_folds(model, {f: cells[m, f] for f in used if (m, f) in cells}) for m, model in enumerate(chosen)
    ]
    if done or stopped is None:
        results = rank_models(results, metrics[0], test_train_ratio=_test_train_ratio(plan, splits))
    else:  # models that ran are not better than those that did not
        results.sort(key=lambda result: not result.fold_results)
    return Comparison(
        table=_table_summary(table, name),
        models=tuple(results),
        folds=folds,
        repeats=repeats,
        seed=seed,
        jobs=jobs,
        metrics=metrics,
        versions=versions,
        notes=tuple(notes),
        task="numbers" if numbers else "classes",
        stopped=stopped,
        folds_done=None if stopped is None else len(done),
        parameters={
            model.name: {name: str(value) for name, value in model.parameters.items()}
            for model in chosen
            if model.parameters
        },
        assignment=plan.words,
        weighted=table.weights is not None,
    )


def _of_baseline(
    parameters: Mapping[str, Mapping[str, Any]] | None, models: Any, metrics: tuple[str, ...]
) -> Mapping[str, Mapping[str, Any]] | None:
    # the median has the least absolute error
    compared = models is None or (not isinstance(models, Mapping) and BASELINE in models)
    if metrics[0] != "mae" or not compared or BASELINE in (parameters or {}):
        return parameters
    return {**(parameters or {}), BASELINE: {"strategy": "median"}}


def _check_models(chosen: list[ComparedModel], table: Table, seed: int) -> None:
    # invalid parameters and unknown weights are refused before the first fit
    for model in chosen:
        if not model.parameters and table.weights is None:
            continue
        made = model.make(table.encoded()[0], seed)
        weight_argument(made, table.weights)
        if model.own and model.parameters:
            made._validate_params()


def _test_train_ratio(plan: Folds, splits: list[Split]) -> float:
    if not plan.words:
        return 1.0 / (plan.folds - 1)
    return float(np.mean([len(test) / len(train) for train, test in splits]))


def _fold_of_most_models(cells: Cells) -> list[int]:
    folds = [f for _, f in cells]
    return [max(sorted(set(folds)), key=folds.count)] if folds else []


def _table_summary(table: Table, name: str) -> TableSummary:
    schema, matrix = table.encoded()
    labels = table.labels
    counts = np.bincount(labels.codes, minlength=labels.classes.size)[: labels.classes.size]
    values = labels.values if isinstance(labels, Numbers) else None
    return TableSummary(
        name=name,
        target=table.labels.name,
        rows=matrix.shape[0],
        columns=matrix.shape[1],
        categorical=int(np.count_nonzero(schema.categorical)),
        missing_cells=int(np.count_nonzero(np.isnan(matrix))),
        classes={str(c): int(k) for c, k in zip(labels.classes, counts, strict=True)},
        numbers=None if values is None else (float(values.min()), float(values.mean()), float(values.max())),
    )


def _versions(models: list[ComparedModel]) -> dict[str, str]:
    packages = ["committee", "numpy", "scikit-learn"]
    packages += sorted({model.package for model in models} - set(packages))
    versions = {"python": platform.python_version()}
    for package in packages:
        with suppress(PackageNotFoundError):  # a class of the user's own comes from no distribution
            versions[package] = version(package)
    return versions


def summarise_folds(model: ComparedModel, results: Mapping[int, FoldResult]) -> ModelResult:
    failures = [f"fold {i + 1}: {fold.error}" for i, fold in sorted(results.items()) if fold.error is not None]
    folds = [results[i] for i in sorted(results)]
    reliabilities = [fold.reliability for fold in folds if fold.reliability is not None]
    curves = [fold.margin_quantiles for fold in folds if fold.margin_quantiles is not None]
    return ModelResult(
        name=model.name,
        own=model.own,
        fold_results=tuple(folds),
        error=failures[0] if failures else None,
        warnings=tuple(dict.fromkeys(text for fold in folds for text in fold.warnings)),
        margin_quantiles=tuple(np.mean(curves, axis=0).tolist()) if curves else None,
        reliability=Reliability.sum(reliabilities) if reliabilities else None,
    )


def rank_models(results: list[ModelResult], metric: str, test_train_ratio: float) -> list[ModelResult]:
    # a model without probabilities has no log loss: it keeps its figures but has no place by log loss
    able = [r for r in results if r.error is None and r.fold_results and r.values(metric).size == len(r.fold_results)]
    rest = [r for r in results if r not in able]
    if not able:
        return rest
    sign = -1.0 if known_metric(metric).best == "highest" else 1.0
    scores = np.column_stack([sign * r.values(metric) for r in able])
    ranks = average_ranks(scores, higher_is_better=False)
    # rounded, so that two models that are right equally often differ by zero, not by 1e-17
    order = np.lexsort((ranks, np.round(scores.mean(axis=0), 12)))
    worse = np.round(scores - scores[:, order[:1]], 12)
    against: list[AgainstBest | None] = [None] * len(order)
    if len(scores) > 1:
        against[1:] = _tests(worse[:, order[1:]], test_train_ratio)
    return [
        replace(able[j], place=i + 1, average_rank=float(ranks[j]), against_best=against[i])
        for i, j in enumerate(order)
    ] + rest


def _tests(worse: NDArray[np.float64], test_train_ratio: float) -> list[AgainstBest]:
    # `worse` (n_folds, n_models): by how much each model is worse than the best in each fold
    tests = [corrected_paired_t_test(column, test_train_ratio) for column in worse.T]
    found = []
    for test, column, adjusted in zip(tests, worse.T, holm([test.pvalue for test in tests]), strict=True):
        half = float(stats.t.isf(LEVEL / 2.0, test.degrees_of_freedom)) * test.standard_error
        least = float(stats.t.isf(LEVEL / 2.0 / len(tests), test.degrees_of_freedom)) * test.standard_error
        found.append(
            AgainstBest(
                difference=test.difference,
                standard_error=test.standard_error,
                interval=(test.difference - half, test.difference + half),
                least_shown=least,
                in_every_fold=bool((column > 0.0).all()),
                pvalue=test.pvalue,
                adjusted_pvalue=float(adjusted),
            )
        )
    return found
