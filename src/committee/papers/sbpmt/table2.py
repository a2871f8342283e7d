"""Table 2 of "On subbagging boosted probit model trees" (Qin and Huang), beside our own figures."""

from __future__ import annotations

import csv
import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.names import known_names
from committee.papers.shared.journal import Cell, Journal
from committee.papers.shared.tables import SOURCE_TABLES, check_known_at_openml, load_source_table
from committee.report.crossvalidation import Rows, Table, stratified_folds
from committee.report.tables import Grid

if TYPE_CHECKING:
    from committee.learners.bagging.sbpmt import SBPMTClassifier

SETTINGS: dict[str, dict[str, Any]] = {
    "paper": {
        "n_estimators": 21,
        "n_boosting_rounds": 5,
        "n_leaf_steps": 100,
        "max_samples": 0.7,
        "max_depth": 6,
        "min_samples_leaf": 20,
        "min_impurity_decrease": 0.0,
        "max_features": None,
        "emphasis": "half",
        "voting": "hard",
        "max_leaf_nodes": None,
        "min_weight_leaf": 0.0,
        "link": "probit",
        "tree": "shared",
        "selection": "error",
        "tol": 0.0,
    },
    "default": {},
}
"""Named parameters of `SBPMTClassifier`: those of the paper's section 6.2, and our defaults. The former name every
parameter that changes a fit, so that new defaults leave them as they are."""

FOLDS = 10
OURS, FOREST, XGBOOST = "SBPMT", "random forest", "XGBoost (100)"
"""The paper's columns that ours are shown beside."""

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class PublishedRow:
    """A table of the paper: what it says of it, and the accuracy it reports for each method.

    Attributes
    ----------
    title, name : str
        As the paper calls it; as `SOURCE_TABLES` does.
    rows, numeric, categorical, classes : int
        Its Table 1.
    accuracy : dict of str to (float, float)
        Its Table 2: mean and standard deviation over ten folds, in percent.
    """

    title: str
    name: str
    rows: int
    numeric: int
    categorical: int
    classes: int
    accuracy: dict[str, tuple[float, float]]


def published() -> list[PublishedRow]:
    """The paper's Tables 1 and 2, in its order.

    Examples
    --------
    >>> from committee.papers.sbpmt.table2 import published
    >>> published()[0].title, published()[0].accuracy["SBPMT"]
    ('Iris', (96.0, 5.62))
    """
    text = (files("committee.papers.sbpmt") / "table2.json").read_text("utf-8")
    return [
        PublishedRow(**{**row, "accuracy": {k: (mean, sd) for k, (mean, sd) in row["accuracy"].items()}})
        for row in json.loads(text)["tables"]
    ]


@dataclass(frozen=True)
class RebuiltRow:
    """Our accuracy on a table, beside the paper's.

    Attributes
    ----------
    published : PublishedRow
    accuracies : tuple of float
        In percent, one per fold of every repeat.
    fit_seconds : float
        Median wall time of a fit, on one thread: a disturbed cell counts little.
    """

    published: PublishedRow
    accuracies: tuple[float, ...]
    fit_seconds: float

    @property
    def mean(self) -> float:
        """Mean accuracy, in percent."""
        return float(np.mean(self.accuracies))

    @property
    def sd(self) -> float:
        """Standard deviation over the folds, in percent."""
        return float(np.std(self.accuracies, ddof=1)) if len(self.accuracies) > 1 else 0.0

    @property
    def difference(self) -> float:
        """Ours less the paper's, in percent."""
        return self.mean - self.published.accuracy[OURS][0]

    @property
    def difference_in_sds(self) -> float | None:
        """The difference in the paper's standard deviations; None where that is 0 and the means differ."""
        sd = self.published.accuracy[OURS][1]
        if sd > 0.0:
            return self.difference / sd
        return 0.0 if abs(self.difference) < 0.005 else None


def rebuild_table2(
    folder: Path | None,
    out: Path,
    *,
    settings: str = "default",
    tables: Sequence[str] | None = None,
    repeats: int = 1,
    seed: int = 0,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[RebuiltRow]:
    """Fit on ten stratified folds of every table, and set the accuracies beside the paper's.

    Parameters
    ----------
    folder : Path or None
        Folder of the tables; None for OpenML.
    out : Path
        Folder for ``cells-<settings>.jsonl``, which keeps every finished cell, and ``table2-<settings>.csv``.
        Cells that are there already are not run again.
    settings : {"paper", "default"}, default="default"
        Parameters of `SBPMTClassifier`.
    tables : sequence of str, default=None
        Names in `SOURCE_TABLES`; the paper's 22 by default.
    repeats : int, default=1
        Times that folds are drawn anew.
    seed : int, default=0
        Seed of the folds; repeat r of the classifier has the seed ``seed + r``.
    jobs : int, default=1
        Processes; a fit uses one thread.
    progress : callable, default=None
        Called with cells done, cells in all and the name of the table.

    Returns
    -------
    list of RebuiltRow
        One per table, in the paper's order.

    Raises
    ------
    ValueError
        If a name is unknown, the folder lacks a table or OpenML is not known to have it (before anything is run), or
        ``out`` holds cells of other settings or tables.
    """
    from joblib import Parallel, delayed

    if settings not in SETTINGS:
        raise ValueError(f"settings={settings!r} is not known; use one of {', '.join(SETTINGS)}")
    if repeats < 1 or jobs < 1:
        raise ValueError(f"repeats and jobs must be at least 1; got repeats={repeats}, jobs={jobs}")
    rows = published()
    chosen = known_names([row.name for row in rows] if tables is None else tables, [row.name for row in rows], "tables")
    rows = [row for row in rows if row.name in chosen]
    if folder is None:
        check_known_at_openml([row.name for row in rows])
    run = {"settings": settings, "folds": FOLDS, "seed": seed, "committee": version("committee")}
    with Journal(out / f"cells-{settings}.jsonl", {**run, **classifier(settings, None).get_params()}) as journal:
        done = {(cell["table"], cell["repeat"], cell["fold"]): cell for cell in journal.cells}
        count = 0
        for row in rows:
            table = load_source_table(SOURCE_TABLES[row.name], folder)
            digest = table_digest(table)
            finished = [done[k] for k in done if k[0] == row.name and k[1] < repeats]
            _same_table(finished, digest, row.name, journal.path)
            splits = stratified_folds(table.labels.codes, FOLDS, repeats, seed)
            open_ = [divmod(i, FOLDS) for i in range(len(splits)) if (row.name, *divmod(i, FOLDS)) not in done]
            count += len(splits) - len(open_)
            calls = (
                delayed(run_cell)(
                    table, classifier(settings, seed + repeat), *splits[repeat * FOLDS + fold], (repeat, fold)
                )
                for repeat, fold in open_
            )
            for cell in Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")(calls):
                journal.append({"table": row.name, "digest": digest, **cell})
                count += 1
                if progress is not None:
                    progress(count, len(rows) * len(splits), row.title)
        results = [_rebuilt(row, journal.cells, repeats) for row in rows]
    write_table2(results, settings, out / f"table2-{settings}.csv")
    return results


def classifier(settings: str, seed: int | None) -> SBPMTClassifier:
    """Unfitted classifier under named settings."""
    from committee.learners.bagging.sbpmt import SBPMTClassifier

    return SBPMTClassifier(**SETTINGS[settings], random_state=seed)


def run_cell(table: Table, model: SBPMTClassifier, train: Rows, test: Rows, place: tuple[int, int]) -> Cell:
    """Fit a model on the training rows and judge it on the test rows, on one thread."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    labels = table.labels.classes[table.labels.codes]
    with threadpool_limits(1):
        start = time.perf_counter()
        model.fit(table.rows(train), labels[train])
        seconds = time.perf_counter() - start
        right = int((model.predict(table.rows(test)) == labels[test]).sum())
    repeat, fold = place
    return {"repeat": repeat, "fold": fold, "right": right, "rows": len(test), "fit_seconds": round(seconds, 4)}


def table_digest(table: Table) -> str:
    """A few digits that differ where tables differ, whatever file they came from."""
    digest = hashlib.sha256(table.frame.write_csv().encode())
    digest.update("\n".join(map(str, table.labels.classes[table.labels.codes])).encode())
    return digest.hexdigest()[:16]


def _same_table(finished: list[Cell], digest: str, name: str, path: Path) -> None:
    if any(cell["digest"] != digest for cell in finished):
        raise ValueError(
            f"{path} holds cells of another table {name!r} than the one read now; give another folder with --out,"
            " or remove that file to begin anew"
        )


def _rebuilt(row: PublishedRow, cells: list[Cell], repeats: int) -> RebuiltRow:
    own = sorted(
        (cell for cell in cells if cell["table"] == row.name and cell["repeat"] < repeats),
        key=lambda cell: (cell["repeat"], cell["fold"]),
    )
    accuracies = tuple(100.0 * cell["right"] / cell["rows"] for cell in own)
    return RebuiltRow(row, accuracies, float(np.median([cell["fit_seconds"] for cell in own])))


def table2_grid(rows: Sequence[RebuiltRow], settings: str) -> Grid:
    """Ours beside the paper's, with the mean over the tables last."""
    body = []
    for row in rows:
        mean, sd = row.published.accuracy[OURS]
        in_sds = row.difference_in_sds
        body.append(
            (
                row.published.title,
                f"{row.mean:.2f} ±{row.sd:.2f}",
                f"{mean:.2f} ±{sd:.2f}",
                f"{row.difference:+.2f}",
                "-" if in_sds is None else f"{in_sds:+.2f}",
                f"{row.published.accuracy[FOREST][0]:.2f}",
                f"{row.published.accuracy[XGBOOST][0]:.2f}",
                f"{row.fit_seconds:.2f}",
            )
        )
    theirs = [np.mean([row.published.accuracy[column][0] for row in rows]) for column in (OURS, FOREST, XGBOOST)]
    ours = float(np.mean([row.mean for row in rows]))
    body.append(
        (
            f"mean of {len(rows)}",
            f"{ours:.2f}",
            f"{theirs[0]:.2f}",
            f"{ours - theirs[0]:+.2f}",
            "",
            f"{theirs[1]:.2f}",
            f"{theirs[2]:.2f}",
            f"{np.mean([row.fit_seconds for row in rows]):.2f}",
        )
    )
    columns = ("table", "ours", "paper", "less", "in sds", "forest", "XGBoost", "fit s")
    return Grid(f"Table 2: accuracy in percent, settings {settings}", columns, tuple(body), "lrrrrrrr")


def write_table2(rows: Sequence[RebuiltRow], settings: str, path: Path) -> None:
    """Write the table as CSV: a row per table, figures in percent; empty where there is none."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        methods = list(rows[0].published.accuracy)
        writer.writerow(
            ["table", "name", "settings", "accuracy", "sd", "cells", "paper", "paper_sd", "difference"]
            + ["difference_in_sds", "fit_seconds"]
            + [f"paper: {method}" for method in methods[1:]]
        )
        for row in rows:
            mean, sd = row.published.accuracy[OURS]
            in_sds = row.difference_in_sds
            writer.writerow(
                [row.published.title, row.published.name, settings, f"{row.mean:.4f}", f"{row.sd:.4f}"]
                + [len(row.accuracies), mean, sd, f"{row.difference:.4f}"]
                + ["" if in_sds is None else f"{in_sds:.4f}", f"{row.fit_seconds:.4f}"]
                + [row.published.accuracy[method][0] for method in methods[1:]]
            )
