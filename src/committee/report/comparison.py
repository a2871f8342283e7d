"""Every model on the same stratified folds, with the statistics that say which differences mean something."""

from __future__ import annotations

import json
import os
import platform
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee.report.crossvalidation import FoldResult, Labels, Table, run_folds, stratified_folds
from committee.report.metrics import METRICS, chosen_metrics
from committee.report.models import ComparedModel, compared_models
from committee.report.reliability import Reliability
from committee.report.statistics import average_ranks, corrected_paired_t_test, holm

if TYPE_CHECKING:
    from committee.files.journal import Journal

Progress: TypeAlias = Callable[[int, int, str], None]

SCHEMA = "committee.comparison/2"
"""Name and version of the layout that `Comparison.to_json` writes."""

LEVEL = 0.05
"""Level of the tests: the accepted chance of any false alarm among a comparison's differences."""


@dataclass(frozen=True)
class TableSummary:
    """The table of a comparison: size, kinds of column, missing cells, rows of each class."""

    name: str
    target: str
    rows: int
    columns: int
    categorical: int
    missing_cells: int
    classes: dict[str, int]


@dataclass(frozen=True)
class AgainstBest:
    """Paired test of one model against the best: positive ``difference`` means worse by that much."""

    difference: float
    standard_error: float
    pvalue: float
    adjusted_pvalue: float

    @property
    def significant(self) -> bool:
        """Whether the difference stands at level 0.05 after Holm's correction."""
        return self.adjusted_pvalue <= LEVEL


@dataclass(frozen=True, eq=False)
class ModelResult:
    """One model's folds, its place and its test against the best.

    Attributes
    ----------
    name : str
        Name in the comparison.
    own : bool
        Whether it is a learner of this library.
    fold_results : tuple of FoldResult
        In the order of the folds.
    place : int or None
        1 for the best mean; None when the model failed in a fold.
    average_rank : float or None
        Mean over folds of its rank within the fold; ties share the mean of their ranks.
    against_best : AgainstBest or None
        None for the best model itself and for one that failed.
    error : str or None
        The first error, with its fold; such a model has no place.
    warnings : tuple of str
        Distinct warnings it raised while it learned and predicted.
    margin_quantiles : tuple of float or None
        101 evenly spaced quantiles of the training margins, averaged over folds.
    reliability : Reliability or None
        Test rows of all folds by the probability of their class; None for a model that gives none.
    """

    name: str
    own: bool
    fold_results: tuple[FoldResult, ...]
    place: int | None = None
    average_rank: float | None = None
    against_best: AgainstBest | None = None
    error: str | None = None
    warnings: tuple[str, ...] = ()
    margin_quantiles: tuple[float, ...] | None = None
    reliability: Reliability | None = None

    def values(self, metric: str) -> NDArray[np.float64]:
        """Values of a metric in the folds that have it, ``(at most n_folds,)``."""
        values = [fold.figures[metric] for fold in self.fold_results]
        return np.array([value for value in values if value is not None], dtype=np.float64)

    def mean(self, metric: str) -> float | None:
        """Mean over folds; None where the model has no such figure."""
        values = self.values(metric)
        return float(values.mean()) if values.size else None

    def sd(self, metric: str) -> float | None:
        """Standard deviation over folds (n - 1); None with fewer than two values."""
        values = self.values(metric)
        return float(values.std(ddof=1)) if values.size > 1 else None

    def median(self, metric: str) -> float | None:
        """Median over folds: the figure quoted for times, which a busy machine disturbs now and then."""
        values = self.values(metric)
        return float(np.median(values)) if values.size else None

    def to_json(self) -> dict[str, Any]:
        """Summaries and every fold's figures as plain values."""
        summary = {m: {"mean": self.mean(m), "sd": self.sd(m), "median": self.median(m)} for m in METRICS}
        test = self.against_best
        return {
            "name": self.name,
            "own": self.own,
            "place": self.place,
            "average_rank": self.average_rank,
            "against_best": None if test is None else asdict(test) | {"significant": test.significant},
            "error": self.error,
            "warnings": list(self.warnings),
            "summary": summary,
            "folds": [fold.figures | {"error": fold.error} for fold in self.fold_results],
            "margin_quantiles": None if self.margin_quantiles is None else list(self.margin_quantiles),
        }


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

    @property
    def metric(self) -> str:
        """Name of the metric of the places and the tests."""
        return self.metrics[0]

    @property
    def ranked(self) -> tuple[ModelResult, ...]:
        """Models that did not fail, best first."""
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
                "level": LEVEL,
            },
            "versions": self.versions,
            "notes": list(self.notes),
            "models": [model.to_json() for model in self.models],
        }


def compare(
    frame: Any,
    y: Any,
    models: Iterable[str] | Mapping[str, Any] | None = None,
    *,
    folds: int = 10,
    repeats: int = 1,
    seed: int = 0,
    jobs: int = 1,
    metric: str | Iterable[str] = "accuracy",
    name: str = "table",
    target: str | None = None,
    progress: Progress | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Comparison:
    r"""Compare classifiers on one table: every model on the same stratified folds.

    Every model learns on one thread, from the table to the fitted model. Learners of this library take the
    frame; all others take the matrix of a `committee.data.frames.TableSchema` learned on the training rows of
    the fold. So categories seen only in test rows are missing values for everyone, and encoding the table is
    in everyone's time.

    Parameters
    ----------
    frame : DataFrame or array-like of shape (n_samples, n_features)
        polars, pandas or Arrow table, or a NumPy array.
    y : Series or array-like of shape (n_samples,)
        Labels, none missing.
    models : iterable of str, mapping of str to estimator, or None, default=None
        Names of `committee.MODELS` and `committee.report.models.PEERS`, or unfitted classifiers by the name to show.
        An estimator that has a ``random_state`` of None gets ``seed``. None takes `default_models`.
    folds : int, default=10
        Stratified folds; 10 is the field's custom.
    repeats : int, default=1
        Times that the folds are drawn anew.
    seed : int, default=0
        For the folds and every model.
    jobs : int, default=1
        Processes. Only times depend on it: more than one let the models disturb each other.
    metric : str or iterable of str, default="accuracy"
        Metric of the places, the tests and the pictures: "accuracy", "balanced_accuracy", "f1_macro", "mcc",
        "log_loss", "brier", "roc_auc" or "average_precision". Of several the first; the others get columns. All of them
        are measured.
    name : str, default="table"
        Name of the table.
    target : str, default=None
        Name of the labels; that of ``y`` by default.
    progress : callable ``(done, total, model)``, default=None
        Called after every fit (a model on a fold).
    checkpoint : path, default=None
        File of finished fits, each written as it ends. The same comparison, begun again, runs those that it has not;
        failed ones are run again. Remove it afterwards.

    Returns
    -------
    Comparison
        A model that raises in a fold is reported as failed; the others go on.

    Raises
    ------
    ValueError
        Labels missing, fewer than two classes, a class of one row, a numeric target with more than 50
        distinct values, folds more than any class has rows, unknown models, settings out of range, or a checkpoint
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
    from committee.data.frame_columns import is_frame

    _check_settings(folds=folds, repeats=repeats, jobs=jobs)
    metrics = chosen_metrics(metric)
    chosen = compared_models(models)
    labels = Labels.read(y, target)
    table = Table(frame if is_frame(frame) else np.asarray(frame), labels)
    notes = labels.check_folds(folds)
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    splits = stratified_folds(labels.codes, folds, repeats, seed)
    settings = {"folds": folds, "repeats": repeats, "seed": seed}
    with _finished(checkpoint, table, chosen, settings) as (finished, finish):
        grid = run_folds(
            table, chosen, splits, seed=seed, jobs=jobs, progress=progress, finished=finished, finish=finish
        )
    results = [_collect(model, results) for model, results in zip(chosen, grid, strict=True)]
    return Comparison(
        table=_summarise(table, name),
        models=tuple(_place(results, metrics[0], test_train_ratio=1.0 / (folds - 1))),
        folds=folds,
        repeats=repeats,
        seed=seed,
        jobs=jobs,
        metrics=metrics,
        versions=_versions(chosen),
        notes=tuple(notes),
    )


@contextmanager
def _finished(
    checkpoint: str | os.PathLike[str] | None, table: Table, models: list[ComparedModel], settings: dict[str, int]
) -> Iterator[tuple[dict[tuple[int, int], FoldResult], Callable[[int, int, FoldResult], None] | None]]:
    """Fits that a checkpoint holds, by the numbers of model and fold, and how one more is written."""
    if checkpoint is None:
        yield {}, None
        return
    from committee.files.checkpoint import digest_of  # few comparisons have one
    from committee.files.journal import Journal

    def described(model: ComparedModel) -> str:
        if model.estimator is None:
            return ""
        return f"{model.estimator!r} {digest_of(model.name, model.estimator)}"  # the first leaves out what is long

    schema, matrix = table.encoded()
    rows = blake2b(json.dumps(schema.to_json(), default=repr).encode(), digest_size=16)
    for array in (np.ascontiguousarray(matrix), table.labels.codes):
        rows.update(array.data)
    run = {
        "comparison": SCHEMA,
        **settings,
        "models": {model.name: described(model) for model in models},
        "classes": [str(label) for label in table.labels.classes.tolist()],
        "rows": rows.hexdigest(),
        "versions": _versions(models),
    }
    with Journal(Path(checkpoint), run) as journal:
        known = _known_fits(journal, [model.name for model in models], settings["folds"] * settings["repeats"])

        def finish(m: int, f: int, result: FoldResult) -> None:
            if result.error is None:
                journal.append({"model": models[m].name, "fold": f, "result": result.to_json()})

        yield known, finish


def _known_fits(journal: Journal, names: list[str], n_folds: int) -> dict[tuple[int, int], FoldResult]:
    """Take the fits of a journal, by the numbers of model and fold; ``ValueError`` for what are none."""
    known = {}
    for cell in journal.cells:
        try:
            result = FoldResult.from_json(cell["result"])
            if result.figures.keys() != METRICS.keys():
                raise ValueError("figures are missing")
            known[names.index(cell["model"]), range(n_folds).index(cell["fold"])] = result
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(
                f"{journal.path} holds a line that no comparison has written ({error}); remove that file to begin anew"
            ) from error
    return known


def _check_settings(*, folds: int, repeats: int, jobs: int) -> None:
    for parameter, value, least in (("folds", folds, 2), ("repeats", repeats, 1), ("jobs", jobs, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{parameter} must be an integer of at least {least}; got {value!r}")


def _summarise(table: Table, name: str) -> TableSummary:
    schema, matrix = table.encoded()
    counts = np.bincount(table.labels.codes, minlength=table.labels.classes.size)
    return TableSummary(
        name=name,
        target=table.labels.name,
        rows=matrix.shape[0],
        columns=matrix.shape[1],
        categorical=int(np.count_nonzero(schema.categorical)),
        missing_cells=int(np.count_nonzero(np.isnan(matrix))),
        classes={str(c): int(k) for c, k in zip(table.labels.classes, counts, strict=True)},
    )


def _collect(model: ComparedModel, folds: list[FoldResult]) -> ModelResult:
    failures = [f"fold {i + 1}: {fold.error}" for i, fold in enumerate(folds) if fold.error is not None]
    raised = dict.fromkeys(text for fold in folds for text in fold.warnings)
    reliable = [fold.reliability for fold in folds if fold.reliability is not None]
    curves = [fold.margin_quantiles for fold in folds if fold.margin_quantiles is not None]
    return ModelResult(
        name=model.name,
        own=model.own,
        fold_results=tuple(folds),
        error=failures[0] if failures else None,
        warnings=tuple(raised),
        margin_quantiles=tuple(np.mean(curves, axis=0).tolist()) if curves else None,
        reliability=Reliability.sum(reliable) if reliable else None,
    )


def _place(results: list[ModelResult], metric: str, test_train_ratio: float) -> list[ModelResult]:
    """Order the models by their mean, and test each against the best."""
    # A model without probabilities has no log loss: it keeps its figures but takes no place by log loss.
    able = [r for r in results if r.error is None and r.values(metric).size == len(r.fold_results)]
    rest = [r for r in results if r not in able]
    if not able:
        return rest
    sign = -1.0 if METRICS[metric].best == "highest" else 1.0
    scores = np.column_stack([sign * r.values(metric) for r in able])
    ranks = average_ranks(scores, higher_is_better=False)
    # Rounding: two models that are right equally often must differ by zero, not by 1e-17.
    order = np.lexsort((ranks, np.round(scores.mean(axis=0), 12)))
    worse = np.round(scores - scores[:, order[:1]], 12)
    tests = [corrected_paired_t_test(worse[:, j], test_train_ratio) for j in order[1:]]
    adjusted = holm([test.pvalue for test in tests])
    against: list[AgainstBest | None] = [None]
    for test, p in zip(tests, adjusted, strict=True):
        against.append(AgainstBest(test.difference, test.standard_error, test.pvalue, float(p)))
    return [
        replace(able[j], place=i + 1, average_rank=float(ranks[j]), against_best=against[i])
        for i, j in enumerate(order)
    ] + rest


def _versions(models: list[ComparedModel]) -> dict[str, str]:
    packages = ["committee", "numpy", "scikit-learn"]
    packages += sorted({model.package for model in models} - set(packages))
    versions = {"python": platform.python_version()}
    for package in packages:
        with suppress(PackageNotFoundError):  # a class of the user's own comes from no distribution
            versions[package] = version(package)
    return versions
