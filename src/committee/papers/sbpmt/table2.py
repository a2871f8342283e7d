"""Table 2 of "On subbagging boosted probit model trees" (Qin and Huang), beside our own figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from committee.files.journal import Cell
from committee.learners.bagging.sbpmt import SBPMTClassifier
from committee.papers.shared.cells import Key, Task, timed
from committee.papers.shared.pages import grid_of
from committee.papers.shared.tables import (
    SOURCE_TABLES,
    Folder,
    check_known_at_openml,
    digest_of,
    document_numbers,
    labels_of,
    load_source_table,
)
from committee.report.folds import Split, Table, stratified_folds
from committee.report.page import BLANK, Grid

SETTINGS: dict[str, dict[str, Any]] = {
    "paper": {
        "n_estimators": 21,
        "n_boosting_rounds": 5,
        "n_leaf_steps": 100,
        "leaf_steps": "newton",
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
        "class_weight": None,
        "calibrate": None,
    },
    "default": {},
}
"""Parameters of `SBPMTClassifier`: those of the paper's section 6.2, and our defaults."""

FOLDS = 10
SMALL_TABLES = ("iris", "wdbc")  # bundled; scikit-learn's iris differs in three numbers
OURS, FOREST, XGBOOST = "SBPMT", "random forest", "XGBoost (100)"  # the paper's columns that ours are shown beside


@dataclass(frozen=True)
class PublishedAccuracies:
    title: str  # the paper's name of the table
    name: str  # its name in `SOURCE_TABLES`
    rows: int
    numeric: int
    categorical: int
    classes: int  # its Table 1
    accuracy: dict[str, tuple[float, float]]  # its Table 2: mean and standard deviation over ten folds, in percent

    @property
    def numeric_share(self) -> float:
        return self.numeric / (self.numeric + self.categorical)


def published() -> list[PublishedAccuracies]:
    return [
        PublishedAccuracies(**{**row, "accuracy": {k: (mean, sd) for k, (mean, sd) in row["accuracy"].items()}})
        for row in document_numbers("sbpmt/table2.json")["tables"]
    ]


@dataclass(frozen=True)
class RebuiltRow:
    published: PublishedAccuracies
    accuracies: tuple[float, ...]  # in percent, one per fold of every repeat
    fit_seconds: float  # median wall time of a fit on one thread, robust to disturbed cells

    @property
    def mean(self) -> float:
        return float(np.mean(self.accuracies))

    @property
    def sd(self) -> float:
        return float(np.std(self.accuracies, ddof=1)) if len(self.accuracies) > 1 else 0.0

    @property
    def difference(self) -> float:
        return self.mean - self.published.accuracy[OURS][0]

    @property
    def difference_in_sds(self) -> float | None:
        sd = self.published.accuracy[OURS][1]
        if sd > 0.0:
            return self.difference / sd
        return 0.0 if abs(self.difference) < 0.005 else None


def tasks(rows: Sequence[PublishedAccuracies], folder: Folder, settings: str, repeats: int, seed: int) -> list[Task]:
    found = []
    for row, table, digest in tables_of(rows, folder):
        for place, split, own_seed in folds_of(table, repeats, seed):
            run = partial(fold_cell, table, split, classifier(settings, own_seed))
            found.append(Task({"table": row.name, "digest": digest, **place}, run, row.title))
    return found


def tables_of(rows: Sequence[PublishedAccuracies], folder: Folder) -> list[tuple[PublishedAccuracies, Table, str]]:
    if folder is None:
        check_known_at_openml([row.name for row in rows])
    found = []
    for row in rows:
        table = load_source_table(SOURCE_TABLES[row.name], folder)
        labels = "\n".join(map(str, labels_of(table)))
        found.append((row, table, digest_of(table.frame.write_csv().encode(), labels.encode())))
    return found


def folds_of(table: Table, repeats: int, seed: int) -> Iterator[tuple[dict[str, int], Split, int]]:
    for i, split in enumerate(stratified_folds(table.labels.codes, FOLDS, repeats, seed)):
        repeat, fold = divmod(i, FOLDS)
        yield {"repeat": repeat, "fold": fold}, split, seed + repeat


def classifier(settings: str, seed: int | None) -> SBPMTClassifier:
    return SBPMTClassifier(**SETTINGS[settings], random_state=seed)


def settings_of(settings: str, seed: int) -> dict[str, Any]:
    return {"settings": settings, "folds": FOLDS, "seed": seed, **classifier(settings, None).get_params()}


def fold_cell(table: Table, split: Split, model: SBPMTClassifier) -> Cell:
    X, labels, (train, test) = table.rows, labels_of(table), split
    fitted, seconds = timed(lambda: clone(model).fit(X(train), labels[train]))
    right = int((fitted.predict(X(test)) == labels[test]).sum())
    return {"right": right, "rows": len(test), "fit_seconds": round(seconds, 4)}


def results_of(rows: Sequence[PublishedAccuracies], cells: Mapping[Key, Cell]) -> list[RebuiltRow]:
    found = []
    for row in rows:
        own = [cell for cell in cells.values() if cell["table"] == row.name]
        accuracies = tuple(100.0 * cell["right"] / cell["rows"] for cell in own)
        found.append(RebuiltRow(row, accuracies, float(np.median([cell["fit_seconds"] for cell in own]))))
    return found


def grid(rows: Sequence[RebuiltRow], settings: str) -> Grid:
    body = []
    for row in rows:
        mean, sd = row.published.accuracy[OURS]
        in_sds = row.difference_in_sds
        first = (f"{row.mean:.2f} ±{row.sd:.2f}", f"{mean:.2f} ±{sd:.2f}", f"{row.difference:+.2f}")
        others = (f"{row.published.accuracy[method][0]:.2f}" for method in (FOREST, XGBOOST))
        relative = BLANK if in_sds is None else f"{in_sds:+.2f}"
        body.append((row.published.title, *first, relative, *others, f"{row.fit_seconds:.2f}"))
    theirs = [np.mean([row.published.accuracy[column][0] for row in rows]) for column in (OURS, FOREST, XGBOOST)]
    ours, seconds = np.mean([(row.mean, row.fit_seconds) for row in rows], axis=0).tolist()
    means = [f"{value:.2f}" for value in (ours, *theirs, seconds)]
    body.append((f"mean of {len(rows)}", *means[:2], f"{ours - theirs[0]:+.2f}", "", *means[2:]))
    columns = ("table", "ours", "paper", "difference", "in sds", "forest", "XGBoost", "fit s")
    return grid_of(f"Table 2: accuracy in percent, settings {settings}", columns, body)


def record(row: RebuiltRow, settings: str) -> dict[str, object]:
    (mean, sd), in_sds = row.published.accuracy[OURS], row.difference_in_sds
    _, *others = row.published.accuracy
    return {
        "table": row.published.title,
        "name": row.published.name,
        "settings": settings,
        "accuracy": f"{row.mean:.4f}",
        "sd": f"{row.sd:.4f}",
        "cells": len(row.accuracies),
        "paper": mean,
        "paper_sd": sd,
        "difference": f"{row.difference:.4f}",
        "difference_in_sds": "" if in_sds is None else f"{in_sds:.4f}",
        "fit_seconds": f"{row.fit_seconds:.4f}",
        **{f"paper: {method}": row.published.accuracy[method][0] for method in others},
    }
