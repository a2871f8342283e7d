"""Every model on the same stratified folds, with the statistics that say which differences mean something."""

from __future__ import annotations

import os
import platform
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal, TypeAlias

import numpy as np

from committee.data.labels import Task
from committee.report.crossvalidation import Cells, FoldResult, Limits, Table, run_folds, stratified_folds
from committee.report.finished_fits import finished_fits
from committee.report.metric_choice import chosen_metrics
from committee.report.model_result import LEVEL, ModelResult, collected, placed
from committee.report.models import ComparedModel, compared_models
from committee.report.targets import Numbers, read_target

Progress: TypeAlias = Callable[[int, int, str, FoldResult], None]

SCHEMA = "committee.comparison/3"
"""Name and version of the layout that `Comparison.to_json` writes."""


@dataclass(frozen=True)
class TableSummary:
    """The table of a comparison: size, kinds of column, missing cells, and what is predicted."""

    name: str
    target: str
    rows: int
    columns: int
    categorical: int
    missing_cells: int
    classes: dict[str, int]
    """Rows of each; empty where numbers are predicted."""
    numbers: tuple[float, float, float] | None = None
    """Least, mean and greatest of the numbers to predict."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Outcome of `compare`: the models in the order of their places, failed ones last.

    Attributes
    ----------
    table : TableSummary
        The table.
    models : tuple of ModelResult
        Best first.
    folds, repeats, seed, jobs : int
        The settings.
    metrics : tuple of str
        Names out of `committee.report.metrics.METRICS`: that of the places and the tests, and others to show.
    versions : dict of str to str
        Versions of Python and of the libraries whose models took part.
    notes : tuple of str
        Remarks on the table or the run.
    task : {"classes", "numbers"}
        What is predicted.
    stopped : str or None
        Why it ended before all fits were done: "an interrupt" or "the time limit".
    folds_done : int or None
        Folds that every model has done, on which they are compared; None: all.
    parameters : dict of str to dict of str to str
        Parameters that were set of models, as text, by the name of the model.
    """

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
    stopped: str | None = None
    folds_done: int | None = None
    parameters: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def metric(self) -> str:
        """Name of the metric of the places and the tests."""
        return self.metrics[0]

    @property
    def ranked(self) -> tuple[ModelResult, ...]:
        """Models that have a place, best first: none that failed or was not run, and none without a whole fold."""
        return tuple(model for model in self.models if model.place is not None)

    def __getitem__(self, name: str) -> ModelResult:
        for model in self.models:
            if model.name == name:
                return model
        raise KeyError(name)

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values, for ``json.dumps(..., allow_nan=False)``."""
        return {
            "schema": SCHEMA,
            "table": asdict(self.table),
            "settings": {
                "folds": self.folds,
                "repeats": self.repeats,
                "seed": self.seed,
                "jobs": self.jobs,
                "metric": self.metric,
                "task": self.task,
                "level": LEVEL,
                "parameters": self.parameters,
            },
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
    name: str = "table",
    target: str | None = None,
    progress: Progress | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    time_limit: float | None = None,
    on_interrupt: Literal["raise", "keep"] = "raise",
) -> Comparison:
    r"""Compare models on one table, each on the same folds, which are stratified where classes are predicted.

    Every model learns on one thread, from the table to the fitted model. Learners of this library take the
    frame; all others take the matrix of a `committee.data.frames.TableSchema` learned on the training rows of
    the fold. So categories seen only in test rows are missing values for everyone, and encoding the table is
    in everyone's time.

    Parameters
    ----------
    frame : DataFrame or array-like of shape (n_samples, n_features)
        polars, pandas or Arrow table, or a NumPy array.
    y : Series or array-like of shape (n_samples,)
        Labels or numbers, none missing.
    models : iterable of str, mapping of str to estimator, "all" or None, default=None
        Names of `committee.MODELS` and `committee.report.peers.PEERS`, or unfitted estimators by the name to show.
        An estimator that has a ``random_state`` of None gets ``seed``. None takes `default_models`, a handful.
    task : {"classes", "numbers"}, default=None
        What is predicted; None: text and a few whole numbers are classes, other numbers are numbers.
    parameters : mapping of str to mapping, default=None
        Parameters to set, by the name of the model.
    folds : int, default=10
        Stratified folds; 10 is the field's custom.
    repeats : int, default=1
        Times that the folds are drawn anew.
    seed : int, default=0
        For the folds and every model.
    jobs : int, default=1
        Processes. Only times depend on it: more than one let the models disturb each other.
    metric : str or iterable of str, default=None
        Metric of the places, the tests and the pictures: "accuracy", "balanced_accuracy", "f1_macro", "mcc",
        "log_loss", "brier", "roc_auc" or "average_precision"; of numbers "rmse", "mae" or "r2". Of several the first;
        the others get columns. All of them are measured. None: "accuracy", of numbers "rmse".
    name : str, default="table"
        Name of the table.
    target : str, default=None
        Name of the labels; that of ``y`` by default.
    progress : callable ``(done, total, model, result)``, default=None
        Called after every fit (a model on a fold), with its `FoldResult`.
    checkpoint : path, default=None
        File of finished fits, each written as it ends. The same comparison, begun again, runs those that it has not;
        failed ones are run again. Remove it afterwards.
    time_limit : float, default=None
        Seconds after which no fit begins; nor does a fold that would not end in time. Fits under way are finished.
    on_interrupt : {"raise", "keep"}, default="raise"
        Whether an interrupt (Ctrl-C) is raised, or ends the comparison with what is done.

    Returns
    -------
    Comparison
        A model that raises in a fold is reported as failed; the others go on. One that was stopped compares the models
        on the folds that all have done; before there is one, no model has a place.

    Raises
    ------
    ValueError
        Labels missing, fewer than two classes, a class of one row, numbers that are all the same, folds more than any
        class has rows, unknown models, settings out of range, or a checkpoint
        that is damaged or of another comparison.

    Warns
    -----
    UserWarning
        A class has fewer rows than ``folds``: some folds test without it.

    Notes
    -----
    Each model is tested against the best with the corrected resampled t-test
    (`committee.report.statistics.corrected_paired_t_test`, test/train ratio :math:`1/(k-1)`), and the p-values are
    adjusted by Holm's rule. The best is chosen on the same folds, so its lead is a little flattered.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from committee.report.comparison import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> result = compare(X, y, {"bayes": GaussianNB(), "stump": DecisionTreeClassifier(max_depth=1)}, folds=5)
    >>> [(model.name, round(model.mean("accuracy"), 3)) for model in result.models]
    [('bayes', 0.96), ('stump', 0.667)]
    >>> result["stump"].against_best.significant
    True
    """
    from committee.data.columns import is_frame

    _check_settings(folds=folds, repeats=repeats, jobs=jobs)
    _check_limits(time_limit, on_interrupt)
    labels = read_target(y, target, task)
    numbers = isinstance(labels, Numbers)
    metrics = chosen_metrics(metric, numbers)
    chosen = compared_models(models, numbers=numbers, parameters=parameters)
    table = Table(frame if is_frame(frame) else np.asarray(frame), labels)
    notes = labels.check_folds(folds)
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    for model in chosen:
        if model.parameters:  # a mistyped one must not wait for its first fit
            made = model.make(table.encoded()[0], seed)
            if model.own:
                made._validate_params()
    splits = stratified_folds(labels.codes, folds, repeats, seed)
    settings = {"folds": folds, "repeats": repeats, "seed": seed}
    versions = _versions(chosen)
    with finished_fits(checkpoint, table, chosen, settings, versions) as (finished, finish):
        cells, stopped = run_folds(
            table,
            chosen,
            splits,
            seed=seed,
            jobs=jobs,
            progress=progress,
            finished=finished,
            finish=finish,
            limits=Limits(time_limit, on_interrupt == "keep"),
        )
    done = _common_folds(cells, len(chosen), len(splits))
    compared = done or _most_done(cells)
    results = [
        collected(model, {f: cells[m, f] for f in compared if (m, f) in cells}) for m, model in enumerate(chosen)
    ]
    if done or stopped is None:
        results = placed(results, metrics[0], test_train_ratio=1.0 / (folds - 1))
    else:  # those that ran are not better than those that did not
        results.sort(key=lambda result: not result.fold_results)
    return Comparison(
        table=_summarise(table, name),
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
    )


def _common_folds(cells: Cells, n_models: int, n_folds: int) -> list[int]:
    """Folds that every model has done."""
    return [f for f in range(n_folds) if all((m, f) in cells for m in range(n_models))]


def _most_done(cells: Cells) -> list[int]:
    """The fold that the most models have done, the first of several; none if there is none."""
    folds = [f for _, f in cells]
    return [max(sorted(set(folds)), key=folds.count)] if folds else []


def _check_settings(*, folds: int, repeats: int, jobs: int) -> None:
    for parameter, value, least in (("folds", folds, 2), ("repeats", repeats, 1), ("jobs", jobs, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{parameter} must be an integer of at least {least}; got {value!r}")


def _check_limits(time_limit: float | None, on_interrupt: str) -> None:
    if time_limit is not None and not time_limit > 0.0:
        raise ValueError(f"time_limit must be a number of seconds above 0; got {time_limit!r}")
    if on_interrupt not in ("raise", "keep"):
        raise ValueError(f"on_interrupt={on_interrupt!r} is neither 'raise' nor 'keep'")


def _summarise(table: Table, name: str) -> TableSummary:
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
