"""One cell of a comparison - a model on a fold - and the grid of them, in one process or several."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.data.names import listing

if TYPE_CHECKING:
    from committee.data.frames import TableSchema
    from committee.vote.committee import Committee

Metric: TypeAlias = Literal[
    "accuracy",
    "log_loss",
    "roc_auc",
    "fit_seconds",
    "predict_microseconds",
    "n_voters",
    "n_nodes",
    "mean_margin",
    "minimum_margin",
]
METRICS: tuple[Metric, ...] = get_args(Metric)
"""Figures of a cell, by their names in `Cell` and in the JSON file."""

Rows: TypeAlias = NDArray[np.intp]
Split: TypeAlias = tuple[Rows, Rows]

MOST_NUMERIC_CLASSES = 50
"""A numeric target with more distinct values than this is taken for a regression."""

TIMED_ROWS = 4096
"""Prediction is timed on at least this many rows (test rows, repeated), lest a small fold time overhead."""

MARGIN_LEVELS = np.linspace(0.0, 1.0, 101)
"""Shares of rows at which the distribution of the training margins is kept."""


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels as class codes.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Distinct labels, sorted.
    codes : ndarray of shape (n,)
        Index of each row's class.
    name : str
        Name of the column.
    """

    classes: NDArray[Any]
    codes: NDArray[np.intp]
    name: str

    @classmethod
    def read(cls, y: Any, name: str | None = None) -> Labels:
        """Read labels from a series or an array, and refuse what is no classification target."""
        import narwhals as nw

        series = nw.from_native(y, series_only=True, pass_through=True)
        name = name or str(getattr(y, "name", None) or "target")
        if isinstance(series, nw.Series):
            missing = int(series.is_null().sum())
            values = np.asarray(series.to_list()) if missing == 0 else np.empty(len(series), dtype=object)
        else:
            values = np.asarray(y)
            missing = 0
        if values.ndim != 1:
            raise ValueError(f"labels must be one column; got an array of shape {values.shape}")
        if missing == 0 and values.dtype.kind in "fO":
            missing = sum(value is None or value != value for value in values.tolist())
        if missing:
            raise ValueError(
                f"column {name!r} has {missing} missing label(s) in {len(values)} rows; drop those rows first"
            )
        if values.dtype.kind == "O" and len({type(value) for value in values}) > 1:
            raise ValueError(f"column {name!r} mixes types of label; make them all text or all numbers")
        classes, codes = np.unique(values, return_inverse=True)
        if classes.size < 2:
            raise ValueError(f"column {name!r} has {classes.size} class(es); a comparison needs two at least")
        if values.dtype.kind in "iuf" and classes.size > MOST_NUMERIC_CLASSES:
            raise ValueError(
                f"column {name!r} is numeric with {classes.size} distinct values; only classification is"
                f" compared (at most {MOST_NUMERIC_CLASSES} numeric classes): bin it, or name another target"
            )
        return cls(classes, codes.astype(np.intp), name)

    def check_folds(self, folds: int) -> list[str]:
        """Refuse folds that cannot be stratified; name the classes too small for every fold to have them."""
        counts = np.bincount(self.codes)
        rare = {str(c): int(k) for c, k in zip(self.classes, counts, strict=True) if k < folds}
        single = [c for c, k in rare.items() if k == 1]
        if single:
            raise ValueError(
                f"class(es) {listing(single)} of column {self.name!r} have 1 row each, which cannot be both"
                " learned and tested; drop those rows or merge the classes"
            )
        if counts.max() < folds:
            raise ValueError(
                f"folds={folds} is more than any class of column {self.name!r} has rows;"
                f" use at most {counts.max()} folds"
            )
        if not rare:
            return []
        named = ", ".join(f"{c!r} ({k} rows)" for c, k in list(rare.items())[:5]) + (", ..." if len(rare) > 5 else "")
        return [
            f"column {self.name!r} has classes with fewer rows than folds={folds}, so some folds test without"
            f" them: {named}; folds={min(rare.values())} or merging classes would avoid that"
        ]


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
        import narwhals as nw

        return nw.from_native(self.frame, eager_only=True)[rows.tolist()].to_native()

    def encoded(self) -> tuple[TableSchema, NDArray[np.float64]]:
        """Schema and matrix of all rows."""
        from committee.data.frames import TableSchema

        schema = TableSchema.learn(self.frame)
        return schema, schema.encode(self.frame)


@dataclass(frozen=True)
class Candidate:
    """A model to compare: a name of this library or of a peer, or an unfitted estimator under any name."""

    name: str
    estimator: Any = None

    @property
    def own(self) -> bool:
        """Whether it is a learner of this library, which takes frames."""
        from committee import MODELS
        from committee.learners.base.estimator import CommitteeClassifier

        if self.estimator is not None:
            return isinstance(self.estimator, CommitteeClassifier)
        return self.name in MODELS

    @property
    def package(self) -> str:
        """Distribution that the model comes from."""
        from committee.report.peers import PEERS

        if self.own:
            return "committee"
        if self.estimator is None:
            module = PEERS[self.name].module
        else:
            module = type(self.estimator).__module__.partition(".")[0]
        return {"sklearn": "scikit-learn"}.get(module, module)

    def make(self, schema: TableSchema | None, seed: int) -> Any:
        """Unfitted estimator with the seed set; ``schema`` describes the matrix that a peer will see."""
        from sklearn.base import clone

        from committee import MODELS
        from committee import model as new_model
        from committee.report.peers import PEERS

        if self.estimator is not None:
            model = clone(self.estimator)
        elif self.name in MODELS:
            model = new_model(self.name)
        else:
            assert schema is not None
            return PEERS[self.name].make(schema, seed, 1)
        if model.get_params().get("random_state", seed) is None:
            model.set_params(random_state=seed)
        return model


@dataclass(frozen=True, eq=False)
class Cell:
    """Figures of one model on one fold; None where the model has no such figure or failed.

    Attributes
    ----------
    accuracy, log_loss, roc_auc : float or None
        On the test rows. Log loss clips probabilities as scikit-learn does; ROC AUC is of two classes only.
    fit_seconds : float or None
        Wall time from the training rows of the table to the fitted model, on one thread.
    predict_microseconds : float or None
        Wall time of ``predict`` per row, in one batch of at least 4,096 rows.
    n_voters, n_nodes : int or None
        Trees (or other voters), and nodes in all of them.
    mean_margin, minimum_margin : float or None
        Of the training rows.
    margin_quantiles : ndarray of shape (101,) or None
        Distribution of the training margins.
    error : str or None
        Type and text of the exception that ended the cell.
    warnings : tuple of str
        Warnings raised in the cell.
    """

    accuracy: float | None = None
    log_loss: float | None = None
    roc_auc: float | None = None
    fit_seconds: float | None = None
    predict_microseconds: float | None = None
    n_voters: int | None = None
    n_nodes: int | None = None
    mean_margin: float | None = None
    minimum_margin: float | None = None
    margin_quantiles: NDArray[np.float64] | None = None
    error: str | None = None
    warnings: tuple[str, ...] = ()


def stratified_folds(codes: NDArray[np.intp], folds: int, repeats: int, seed: int) -> list[Split]:
    """Training and test rows of every fold, as scikit-learn's RepeatedStratifiedKFold draws them."""
    from sklearn.model_selection import RepeatedStratifiedKFold

    with warnings.catch_warnings():
        # Classes too small for every fold have been named by Labels.check_folds.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        splitter = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
        return list(splitter.split(np.zeros((codes.size, 1)), codes))


def run_cells(
    table: Table,
    candidates: list[Candidate],
    splits: list[Split],
    *,
    seed: int,
    jobs: int,
    progress: Callable[[int, int, str], None] | None = None,
) -> list[list[Cell]]:
    """Run every model on every fold; ``[model][fold]``. The order in which cells finish changes nothing."""
    from joblib import Parallel, delayed, dump

    grid: list[list[Cell]] = [[Cell()] * len(splits) for _ in candidates]
    tasks = [(m, f) for f in range(len(splits)) for m in range(len(candidates))]
    with tempfile.TemporaryDirectory(prefix="committee-") as folder:
        source: Table | Path = table
        if jobs > 1:
            # Each process reads the table from here once; sent along with cells it would travel each time.
            source = Path(folder) / "table.joblib"
            dump(table, source)
        calls = (delayed(_task)(source, candidates[m], *splits[f], seed, (m, f)) for m, f in tasks)
        outcome = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")(calls)
        for done, ((m, f), cell) in enumerate(outcome, start=1):
            grid[m][f] = cell
            if progress is not None:
                progress(done, len(tasks), candidates[m].name)
    return grid


@lru_cache(maxsize=1)
def _read(path: Path) -> Table:
    from joblib import load

    table: Table = load(path)
    return table


def _task(
    source: Table | Path, candidate: Candidate, train: Rows, test: Rows, seed: int, place: tuple[int, int]
) -> tuple[tuple[int, int], Cell]:
    table = source if isinstance(source, Table) else _read(source)
    return place, run_cell(table, candidate, train, test, seed)


def run_cell(table: Table, candidate: Candidate, train: Rows, test: Rows, seed: int) -> Cell:
    """Fit, predict and measure one model on one fold, on one thread; an exception ends as its error."""
    from dataclasses import replace

    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("default")
        try:
            cell = _measure(table, candidate, train, test, seed)
        except Exception as error:
            cell = Cell(error=f"{type(error).__name__}: {error}")
    texts = tuple(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught))
    return replace(cell, warnings=texts)


def _measure(table: Table, candidate: Candidate, train: Rows, test: Rows, seed: int) -> Cell:
    from committee.data.frames import TableSchema

    own, labels = candidate.own, table.labels
    X_train, X_test = table.rows(train), table.rows(test)
    # Our learners take the labels as they are; all others get codes, which every library accepts.
    classes = labels.classes if own else np.arange(labels.classes.size)
    y_train, y_test = classes[labels.codes[train]], classes[labels.codes[test]]
    schema: TableSchema | None = None
    given_train = X_train
    start = time.perf_counter()
    if not own:
        schema = TableSchema.learn(X_train)
        given_train = schema.encode(X_train)
    fit_seconds = time.perf_counter() - start
    model = candidate.make(schema, seed)  # untimed: the first call imports the model's library
    start = time.perf_counter()
    model.fit(given_train, y_train)
    fit_seconds += time.perf_counter() - start

    def given(X: Any) -> Any:
        return X if schema is None else schema.encode(X)

    predicted = np.asarray(model.predict(given(X_test))).ravel()
    batch = table.rows(np.resize(test, max(test.size, TIMED_ROWS)))
    start = time.perf_counter()
    model.predict(given(batch))
    seconds = time.perf_counter() - start
    committee, rows = _vote_of(candidate, model, given_train)
    margins = None if committee is None else committee.margins(rows, y_train)
    voters, nodes = _size(candidate, model, committee)
    log_loss, roc_auc = _probability_scores(model, given(X_test), y_test, classes)
    return Cell(
        accuracy=float(np.mean(predicted == y_test)),
        log_loss=log_loss,
        roc_auc=roc_auc,
        fit_seconds=fit_seconds,
        predict_microseconds=1e6 * seconds / len(batch),
        n_voters=voters,
        n_nodes=nodes,
        mean_margin=None if margins is None else float(margins.mean()),
        minimum_margin=None if margins is None else float(margins.min()),
        margin_quantiles=None if margins is None else np.quantile(margins, MARGIN_LEVELS),
    )


def _probability_scores(
    model: Any, X_test: Any, y_test: NDArray[Any], classes: NDArray[Any]
) -> tuple[float | None, float | None]:
    """Log loss, and ROC AUC of two classes; None for what the model or the fold does not give."""
    from sklearn import metrics

    log_loss = roc_auc = None
    score: ArrayLike | None = None
    if hasattr(model, "predict_proba"):
        given = np.asarray(model.predict_proba(X_test))
        if given.dtype != np.float64:
            # Single precision sums to one within 1e-7 only; scikit-learn's log loss wants it closer.
            given = given.astype(np.float64)
            given /= given.sum(axis=1, keepdims=True)
        probability = np.zeros((given.shape[0], classes.size))
        # A class that the training rows lack has probability zero.
        probability[:, np.searchsorted(classes, model.classes_)] = given
        log_loss = float(metrics.log_loss(y_test, probability, labels=classes))
        score = probability[:, -1]
    if hasattr(model, "decision_function"):
        score = model.decision_function(X_test)
    if classes.size == 2 and score is not None and np.unique(y_test).size == 2:
        roc_auc = float(metrics.roc_auc_score(y_test == classes[1], score))
    return log_loss, roc_auc


def _vote_of(candidate: Candidate, model: Any, X: Any) -> tuple[Committee | None, Any]:
    """Take the committee of a fitted model and the rows it votes on; None for a model that is no vote we read."""
    from committee.report.peers import PEERS
    from committee.vote.committee import Committee

    if candidate.own:
        return model.committee_, X
    peer = PEERS.get(candidate.name) if candidate.estimator is None else None
    voting, seen = (model, X) if peer is None else peer.voting_part(model, X)
    try:
        return Committee.from_estimator(voting), seen
    except (TypeError, ValueError):
        return None, seen


def _size(candidate: Candidate, model: Any, committee: Committee | None) -> tuple[int | None, int | None]:
    """Voters and nodes; None where nobody counts them."""
    from committee.report.peers import PEERS

    if candidate.estimator is None and candidate.name in PEERS:
        return PEERS[candidate.name].size(model)
    return (None, None) if committee is None else (committee.n_voters, committee.n_nodes)
