"""Every model of a comparison on every fold, in one process or several."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee.data.columns import open_frame
from committee.data.parallel import cells_of_grid, member_executor
from committee.report.metric_choice import metrics_of
from committee.report.metrics import FittedFold
from committee.report.models import ComparedModel
from committee.report.reliability import Reliability
from committee.report.targets import Labels, Numbers

if TYPE_CHECKING:
    from committee.data.frames import TableSchema

Rows: TypeAlias = NDArray[np.intp]
Split: TypeAlias = tuple[Rows, Rows]

TIMED_ROWS = 4096
"""Prediction is timed on at least this many rows (test rows, repeated), lest a small fold time overhead."""

MARGIN_LEVELS = np.linspace(0.0, 1.0, 101)
"""Shares of rows at which the distribution of the training margins is kept."""


@dataclass(frozen=True, eq=False)
class Table:
    """A frame and its labels."""

    frame: Any
    labels: Labels

    def __post_init__(self) -> None:
        if len(self.frame) != self.labels.codes.size:
            raise ValueError(f"the table has {len(self.frame)} rows but there are {self.labels.codes.size} labels")

    def rows(self, rows: Rows) -> Any:
        """Take rows, in the frame's own kind."""
        if isinstance(self.frame, np.ndarray):
            return self.frame[rows]
        return open_frame(self.frame)[rows.tolist()].to_native()

    def encoded(self) -> tuple[TableSchema, NDArray[np.float64]]:
        """Schema and matrix of all rows."""
        from committee.data.frames import TableSchema

        schema = TableSchema.learn(self.frame)
        return schema, schema.encode(self.frame)


@dataclass(frozen=True, eq=False)
class FoldResult:
    """Figures of one model on one fold.

    Attributes
    ----------
    figures : dict of str to float, int or None
        By the names of `metrics_of` the task; None where the model has no such figure or failed.
    margin_quantiles : ndarray of shape (101,) or None
        Distribution of the training margins.
    error : str or None
        Type and text of the exception that ended the fold.
    warnings : tuple of str
        Warnings raised on the fold.
    reliability : Reliability or None
        Test rows by the probability of their class; None for a model that gives none.
    """

    figures: dict[str, float | None] = field(default_factory=dict)
    margin_quantiles: NDArray[np.float64] | None = None
    error: str | None = None
    warnings: tuple[str, ...] = ()
    reliability: Reliability | None = None

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values; infinite figures, which JSON does not have, as text."""
        quantiles = None if self.margin_quantiles is None else self.margin_quantiles.tolist()
        figures = {name: value if _is_json(value) else str(value) for name, value in self.figures.items()}
        parts = None
        if self.reliability is not None:
            parts = [each.tolist() for each in vars(self.reliability).values()]
        return {
            "figures": figures,
            "margin_quantiles": quantiles,
            "reliability": parts,
            "error": self.error,
            "warnings": self.warnings,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> FoldResult:
        """Undo `to_json`."""
        figures = {name: float(value) if isinstance(value, str) else value for name, value in values["figures"].items()}
        quantiles = None if values["margin_quantiles"] is None else np.array(values["margin_quantiles"])
        parts = values.get("reliability")  # journals of earlier versions have none
        reliability = None if parts is None else Reliability(*map(np.array, parts))
        return cls(figures, quantiles, values["error"], tuple(values["warnings"]), reliability)


def _is_json(figure: float | None) -> bool:
    return figure is None or bool(np.isfinite(figure))


def stratified_folds(codes: NDArray[np.intp], folds: int, repeats: int, seed: int) -> list[Split]:
    """Training and test rows of every fold, as scikit-learn's RepeatedStratifiedKFold draws them."""
    from sklearn.model_selection import RepeatedStratifiedKFold

    with warnings.catch_warnings():
        # Classes too small for every fold have been named by Labels.check_folds.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        splitter = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
        return list(splitter.split(np.zeros((codes.size, 1)), codes))


@dataclass(frozen=True)
class Limits:
    """When a comparison stops before it is whole, with what is done.

    Attributes
    ----------
    seconds : float or None
        No fit begins later; nor does a fold that, going by those before, would not end in time.
    keep : bool
        Whether an interrupt ends the comparison with what is done; otherwise it is raised.
    """

    seconds: float | None = None
    keep: bool = False


Cells: TypeAlias = "dict[tuple[int, int], FoldResult]"


def run_folds(
    table: Table,
    models: list[ComparedModel],
    splits: list[Split],
    *,
    seed: int,
    jobs: int,
    progress: Callable[[int, int, str, FoldResult], None] | None = None,
    finished: Mapping[tuple[int, int], FoldResult] | None = None,
    finish: Callable[[int, int, FoldResult], None] | None = None,
    limits: Limits = Limits(),
) -> tuple[Cells, str | None]:
    """Run every model on every fold; results by the numbers of model and fold, and why it stopped if it did.

    The order in which they finish changes nothing. Those `finished` before are not run again; `finish` takes each new
    one.
    """
    from joblib import delayed, dump

    cells: Cells = dict(finished or {})
    tasks = [(m, f) for f in range(len(splits)) for m in range(len(models)) if (m, f) not in cells]
    if not tasks:
        return cells, None
    n_known, n_tasks, start = len(cells), len(splits) * len(models), time.monotonic()
    with ExitStack() as stack:
        source: Table | Path = table
        if jobs > 1 and member_executor() is None:
            from committee.files.writing import scratch_folder

            # Each process reads the table from here once; sent along with every task it would travel each time.
            source = stack.enter_context(scratch_folder()) / "table.joblib"
            dump(table, source)
        calls = [delayed(_task)(source, models[m], splits[f], seed, (m, f)) for m, f in tasks]
        outcome = stack.enter_context(cells_of_grid(calls, jobs))
        stack.callback(_end, outcome)
        try:
            while len(cells) < n_tasks:
                if is_over(limits, time.monotonic() - start, len(cells) - n_known, len(models)):
                    return cells, "the time limit"
                (m, f), result = next(outcome)
                cells[m, f] = result
                if finish is not None:
                    finish(m, f, result)
                if progress is not None:
                    progress(len(cells), n_tasks, models[m].name, result)
        except KeyboardInterrupt:
            if not limits.keep:
                raise
            return cells, "an interrupt"
    return cells, None


def is_over(limits: Limits, seconds: float, n_done: int, n_models: int) -> bool:
    """Whether the time is up, or will be before one more fold has ended."""
    if limits.seconds is None:
        return False
    begins = n_done > 0 and n_done % n_models == 0
    return seconds + (seconds / n_done * n_models if begins else 0.0) >= limits.seconds


def _end(outcome: Iterator[Any]) -> None:
    """Give up the fits that nobody waits for."""
    close = getattr(outcome, "close", None)
    if close is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # joblib warns of them
            close()


@lru_cache(maxsize=1)
def _read(path: Path) -> Table:
    from joblib import load

    table: Table = load(path)
    return table


def _task(
    source: Table | Path, model: ComparedModel, split: Split, seed: int, place: tuple[int, int]
) -> tuple[tuple[int, int], FoldResult]:
    table = source if isinstance(source, Table) else _read(source)
    return place, run_fold(table, model, split, seed)


def run_fold(table: Table, model: ComparedModel, split: Split, seed: int) -> FoldResult:
    """Fit, predict and measure one model on one fold, on one thread; an exception ends as its error."""
    from threadpoolctl import threadpool_limits

    metrics = metrics_of(isinstance(table.labels, Numbers))
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("default")
        try:
            fold = _fit_and_predict(table, model, split, seed)
            result = FoldResult(
                figures={name: metric.measure(fold) for name, metric in metrics.items()},
                margin_quantiles=None if fold.margins is None else np.quantile(fold.margins, MARGIN_LEVELS),
                reliability=_reliability(fold),
            )
        except Exception as error:
            result = FoldResult(dict.fromkeys(metrics), error=f"{type(error).__name__}: {error}")
    texts = tuple(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught))
    return replace(result, warnings=texts)


def _reliability(fold: FittedFold) -> Reliability | None:
    """Test rows by the probability of the class that it elects."""
    p = fold.probabilities if fold.classes.size else None
    return None if p is None else Reliability.of(p, fold.classes[p.argmax(axis=1)] == fold.y_test)


def _fit_and_predict(table: Table, model: ComparedModel, split: Split, seed: int) -> FittedFold:
    from committee.data.frames import TableSchema

    labels, (train, test) = table.labels, split
    X_train, X_test = table.rows(train), table.rows(test)
    # Our learners take the labels as they are; all others get codes, which every library accepts.
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
    fitted.fit(given_train, y_train)
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
    )
