"""Cross-validation of the models of a comparison: parallel fits, and their checkpoint."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeAlias

import joblib
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from committee.data.parallel import completed_results, member_executor
from committee.data.table_schema import TableSchema
from committee.files.journal import Journal, pickle_digest
from committee.files.writing import scratch_folder
from committee.report.folds import Numbers, Split, Table
from committee.report.metrics import FittedFold, Reliability, metrics_of
from committee.report.models import ComparedModel, weight_argument

TIMED_ROWS = 4096
"""Least rows on which prediction is timed, so that a small fold does not time overhead."""

MARGIN_LEVELS = np.linspace(0.0, 1.0, 101)

FITS = "committee.comparison/2"
"""Name and version of the format of fits in a checkpoint."""


@dataclass(frozen=True, eq=False)
class FoldResult:
    figures: dict[str, float | None] = field(default_factory=dict)
    margin_quantiles: NDArray[np.float64] | None = None
    error: str | None = None
    warnings: tuple[str, ...] = ()
    reliability: Reliability | None = None

    def to_json(self) -> dict[str, Any]:
        # JSON has no infinity and no NaN
        finite = {name: value is None or np.isfinite(value) for name, value in self.figures.items()}
        return {
            "figures": {name: value if finite[name] else str(value) for name, value in self.figures.items()},
            "margin_quantiles": None if self.margin_quantiles is None else self.margin_quantiles.tolist(),
            "reliability": None
            if self.reliability is None
            else [each.tolist() for each in vars(self.reliability).values()],
            "error": self.error,
            "warnings": self.warnings,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> FoldResult:
        figures = {name: float(value) if isinstance(value, str) else value for name, value in values["figures"].items()}
        quantiles = None if values["margin_quantiles"] is None else np.array(values["margin_quantiles"])
        parts = values.get("reliability")  # journals of earlier versions have none
        reliability = None if parts is None else Reliability(*map(np.array, parts))
        return cls(figures, quantiles, values["error"], tuple(values["warnings"]), reliability)


Cells: TypeAlias = "dict[tuple[int, int], FoldResult]"


def run_folds(
    table: Table,
    models: list[ComparedModel],
    splits: list[Split],
    *,
    seed: int,
    jobs: int,
    progress: Callable[[int, int, str, FoldResult], None] | None,
    finished: Cells,
    finish: Callable[[int, int, FoldResult], None] | None,
    time_limit: float | None,
    keep_interrupted: bool,
) -> tuple[Cells, str | None]:
    cells = dict(finished)
    tasks = [(m, f) for f in range(len(splits)) for m in range(len(models)) if (m, f) not in cells]
    if not tasks:
        return cells, None
    n_known, n_tasks, start = len(cells), len(splits) * len(models), time.monotonic()
    with ExitStack() as stack:
        source: Table | Path = table
        if jobs > 1 and member_executor() is None:
            # each process reads the table from here once; otherwise every task would carry it
            source = stack.enter_context(scratch_folder()) / "table.joblib"
            joblib.dump(table, source)
        calls = [joblib.delayed(_task)(source, models[m], splits[f], seed, (m, f)) for m, f in tasks]
        outcome = stack.enter_context(completed_results(calls, jobs))
        stack.callback(_close, outcome)
        try:
            while len(cells) < n_tasks:
                if is_over(time_limit, time.monotonic() - start, len(cells) - n_known, len(models)):
                    return cells, "the time limit"
                (m, f), result = next(outcome)
                cells[m, f] = result
                if finish is not None:
                    finish(m, f, result)
                if progress is not None:
                    progress(len(cells), n_tasks, models[m].name, result)
        except KeyboardInterrupt:
            if not keep_interrupted:
                raise
            return cells, "an interrupt"
    return cells, None


def is_over(time_limit: float | None, seconds: float, n_done: int, n_models: int) -> bool:
    if time_limit is None:
        return False
    starts_fold = n_done > 0 and n_done % n_models == 0
    return seconds + (seconds / n_done * n_models if starts_fold else 0.0) >= time_limit


def _close(outcome: Iterator[Any]) -> None:
    close = getattr(outcome, "close", None)
    if close is not None:
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # of joblib, about cancelled fits
            close()


@lru_cache(maxsize=1)
def _read(path: Path) -> Table:
    table: Table = joblib.load(path)
    return table


def _task(
    source: Table | Path, model: ComparedModel, split: Split, seed: int, place: tuple[int, int]
) -> tuple[tuple[int, int], FoldResult]:
    return place, run_fold(source if isinstance(source, Table) else _read(source), model, split, seed)


def run_fold(table: Table, model: ComparedModel, split: Split, seed: int) -> FoldResult:
    metrics = metrics_of(isinstance(table.labels, Numbers))
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("default")
        try:
            fold = _fit_and_predict(table, model, split, seed)
            if not fold.classes.size:
                _check_squares(fold)
            p = fold.probabilities if fold.classes.size else None
            result = FoldResult(
                figures={name: metric.measure(fold) for name, metric in metrics.items()},
                margin_quantiles=None if fold.margins is None else np.quantile(fold.margins, MARGIN_LEVELS),
                reliability=None
                if p is None
                else Reliability.of(p, fold.classes[p.argmax(axis=1)] == fold.y_test, fold.weights),
            )
        except Exception as error:
            result = FoldResult(dict.fromkeys(metrics), error=f"{type(error).__name__}: {error}")
    texts = tuple(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught))
    return replace(result, warnings=texts)


def _fit_and_predict(table: Table, model: ComparedModel, split: Split, seed: int) -> FittedFold:
    labels, weights, (train, test) = table.labels, table.weights, split
    X_train, X_test = table.rows(train), table.rows(test)
    # learners of this library take the labels as they are; all others get codes, which every library accepts
    classes = labels.classes if model.own else np.arange(labels.classes.size)
    y = labels.values if isinstance(labels, Numbers) else classes[labels.codes]
    y_train, y_test = y[train], y[test]
    schema: TableSchema | None = None
    given_train = X_train
    start = time.perf_counter()
    if not model.own:
        schema = TableSchema.learn(X_train)
        given_train = schema.encode(X_train)
    fit_seconds = time.perf_counter() - start
    fitted = model.make(schema, seed)  # untimed: the first call imports the model's library
    start = time.perf_counter()
    fitted.fit(given_train, y_train, **weight_argument(fitted, None if weights is None else weights[train]))
    fit_seconds += time.perf_counter() - start

    def given(X: Any) -> Any:
        return X if schema is None else schema.encode(X)

    predicted = np.asarray(fitted.predict(given(X_test))).ravel()
    batch = table.rows(np.resize(test, max(test.size, TIMED_ROWS)))
    start = time.perf_counter()
    fitted.predict(given(batch))
    seconds = time.perf_counter() - start
    committee, rows = (None, None) if model.peer and model.numbers else model.committee(fitted, given_train)
    return FittedFold(
        model=fitted,
        X_test=given(X_test),
        y_test=y_test,
        classes=classes,
        predicted=predicted,
        fit_seconds=fit_seconds,
        predict_microseconds=1e6 * seconds / len(batch),
        size=model.size(fitted, committee),
        margins=None if committee is None or not classes.size else committee.margins(rows, y_train),
        weights=None if weights is None else weights[test],
    )


def _check_squares(fold: FittedFold) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.average(np.square(fold.errors), weights=fold.weights)
    if not np.isfinite(mean):
        worst = fold.predicted[np.abs(fold.errors).argmax()]  # NaN counts as the largest
        raise ValueError(f"the mean squared error is not finite: the prediction of a test row is {worst:g}")


@contextmanager
def checkpointed_fits(
    checkpoint: str | os.PathLike[str] | None,
    table: Table,
    models: list[ComparedModel],
    settings: dict[str, Any],
    versions: dict[str, str],
) -> Iterator[tuple[Cells, Callable[[int, int, FoldResult], None] | None]]:
    if checkpoint is None:
        yield {}, None
        return

    def described(model: ComparedModel) -> str:
        if model.estimator is None:
            return json.dumps(dict(model.parameters), default=repr, sort_keys=True) if model.parameters else ""
        return f"{model.estimator!r} {pickle_digest(model.name, model.estimator)}"  # repr abbreviates long parameters

    schema, matrix = table.encoded()
    rows = blake2b(json.dumps(schema.to_json(), default=repr).encode(), digest_size=16)
    labels = table.labels
    for array in (np.ascontiguousarray(matrix), labels.values if isinstance(labels, Numbers) else labels.codes):
        rows.update(array.data)
    if table.weights is not None:
        rows.update(table.weights.data)
    run = {
        "comparison": FITS,
        **settings,
        "models": {model.name: described(model) for model in models},
        "classes": [str(label) for label in table.labels.classes.tolist()],
        "rows": rows.hexdigest(),
        "versions": versions,
    }
    with Journal(Path(checkpoint), run) as journal:
        names = [model.name for model in models]
        figures = metrics_of(isinstance(labels, Numbers)).keys()
        known = _fits_of_journal(journal, names, figures, settings["folds"] * settings["repeats"])

        def finish(m: int, f: int, result: FoldResult) -> None:
            if result.error is None:
                journal.append({"model": models[m].name, "fold": f, "result": result.to_json()})

        yield known, finish


def _fits_of_journal(journal: Journal, names: list[str], figures: Set[str], n_folds: int) -> Cells:
    known = {}
    for cell in journal.cells:
        try:
            result = FoldResult.from_json(cell["result"])
            if result.figures.keys() != figures:
                raise ValueError("figures are missing")
            known[names.index(cell["model"]), range(n_folds).index(cell["fold"])] = result
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(
                f"{journal.path} holds a line that is not a fit of this comparison ({error}); remove this file"
            ) from error
    return known
