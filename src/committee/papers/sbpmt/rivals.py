"""Other libraries' methods on the folds of Table 2, compared with SBPMT; the study of numeric columns; Figures 3, 4."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from committee.data.number_types import F64
from committee.data.table_schema import TableSchema
from committee.files.journal import Cell
from committee.papers.sbpmt.table2 import (
    FOLDS,
    FOREST,
    OURS,
    XGBOOST,
    PublishedAccuracies,
    RebuiltRow,
    classifier,
    folds_of,
    tables_of,
)
from committee.papers.shared.cells import Task, timed
from committee.papers.shared.pages import (
    BLUE,
    GREEN,
    GREY,
    LEVEL,
    ORANGE,
    PairedComparison,
    compared,
    grid_of,
    number,
    packed,
    plain,
    signs_text,
    standard_error,
    unpacked,
)
from committee.papers.shared.tables import Folder
from committee.report.displays.base import INK, new_figure
from committee.report.folds import Split, Table
from committee.report.models import on_one_hot, xgboost_categories
from committee.report.page import BLANK, Grid
from committee.report.statistics import corrected_paired_t_test, holm

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


GBM, ADABOOST, XGBOOST_10 = "gradient boosting (100)", "AdaBoost.M1 (100)", "XGBoost (10)"
CATBOOST, LIGHTGBM = "CatBoost (100)", "LightGBM (100)"
SHARE = 0.7  # of the rows, drawn for a tree of gradient boosting, XGBoost (as in the paper) and LightGBM


@dataclass(frozen=True)
class Rival:
    kind: str  # module and class, whose package must be installed
    options: dict[str, Any]
    imputes: bool = False  # whether missing numbers are replaced by medians

    @property
    def module(self) -> str:
        return self.kind.partition(".")[0]

    def make(self, schema: TableSchema, seed: int) -> Any:
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline

        module, _, name = self.kind.rpartition(".")
        model = getattr(import_module(module), name)(**self.options, random_state=seed)
        if self.module == "xgboost":
            return model.set_params(**xgboost_categories(schema))
        if self.imputes:
            model = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), model)
        return on_one_hot(schema, model)


_BOOSTED: dict[str, Any] = {"n_estimators": 100, "subsample": SHARE}
_XGBOOST = {"subsample": SHARE, "n_jobs": 1, "verbosity": 0}
RIVALS: dict[str, Rival] = {
    FOREST: Rival("sklearn.ensemble.RandomForestClassifier", {"n_estimators": 500}),
    GBM: Rival(
        "sklearn.ensemble.GradientBoostingClassifier",
        {**_BOOSTED, "learning_rate": 0.1, "max_depth": 1, "min_samples_leaf": 10},
        imputes=True,
    ),
    ADABOOST: Rival(
        "sklearn.ensemble.AdaBoostClassifier",
        {"estimator": DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2), "n_estimators": 100},
        imputes=True,
    ),
    XGBOOST_10: Rival("xgboost.XGBClassifier", {"n_estimators": 10, **_XGBOOST}),
    XGBOOST: Rival("xgboost.XGBClassifier", {"n_estimators": 100, **_XGBOOST}),
    LIGHTGBM: Rival("lightgbm.LGBMClassifier", {**_BOOSTED, "subsample_freq": 1, "n_jobs": 1, "verbose": -1}),
    CATBOOST: Rival(
        "catboost.CatBoostClassifier",
        {"iterations": 100, "thread_count": 1, "verbose": False, "allow_writing_files": False},
    ),
}
"""Methods by name, those of the paper first."""


def installed_rivals() -> list[str]:
    return [name for name, rival in RIVALS.items() if find_spec(rival.module)]


def warn_of_missing() -> None:
    missing = {name: rival.module for name, rival in RIVALS.items() if not find_spec(rival.module)}
    if missing:
        warnings.warn(
            f"left out: {', '.join(missing)}; not installed: {', '.join(dict.fromkeys(missing.values()))}; "
            'pip install "committee[peers]" installs the libraries of all methods',
            stacklevel=2,
        )


def tasks(
    rows: Sequence[PublishedAccuracies],
    folder: Folder,
    settings: str,
    methods: Sequence[str],
    repeats: int,
    seed: int,
    *,
    by_columns: bool = False,
) -> list[Task]:
    found = []
    for row, whole, digest in tables_of(rows, folder):
        for columns, table in (columns_of(whole) if by_columns else {ALL: whole}).items():
            choice = {"columns": columns} if by_columns else {}
            for place, split, own_seed in folds_of(table, repeats, seed):
                for method in methods:
                    own = {"table": row.name, "digest": digest, **choice, "method": method, **place}
                    run = partial(method_cell, table, split, method, settings, own_seed)
                    found.append(Task(own, run, f"{row.title}, {columns if by_columns else method}"))
    return found


def method_cell(table: Table, split: Split, method: str, settings: str, seed: int) -> Cell:
    train, test = split
    codes = table.labels.codes
    if method == OURS:
        model, X, X_test = classifier(settings, seed), table.rows(train), table.rows(test)
    else:
        schema = TableSchema.learn(table.rows(train))
        model = RIVALS[method].make(schema, seed)
        X, X_test = schema.encode(table.rows(train)), schema.encode(table.rows(test))
    fitted, seconds = timed(lambda: model.fit(X, codes[train]))
    right = fitted.predict(X_test).ravel() == codes[test]
    return {"right": packed(right), "rows": len(test), "fit_seconds": round(seconds, 4)}


_SHORT = {FOREST: "forest", GBM: "gbm", ADABOOST: "AdaBoost", XGBOOST_10: "XGB 10", XGBOOST: "XGB 100"}
_SHORT |= {LIGHTGBM: "LightGBM", CATBOOST: "CatBoost"}


@dataclass(frozen=True, eq=False)
class TableOfMethods:
    published: PublishedAccuracies
    right: dict[str, tuple[NDArray[np.bool_], ...]]
    """By method: the test rows predicted right, for each fold of each repeat."""

    def accuracies(self, method: str) -> F64:
        return np.array([100.0 * right.mean() for right in self.right[method]])

    def alone(self, a: str, b: str) -> float:
        """Return the number of test rows that only a predicts right, per repeat."""
        both = zip(self.right[a], self.right[b], strict=True)
        return sum(int((mine & ~other).sum()) for mine, other in both) * FOLDS / len(self.right[a])


@dataclass(frozen=True)
class Contest:
    over_tables: PairedComparison
    pvalues: tuple[float, ...]  # of the corrected paired t-test on each table, adjusted by Holm's rule over the tables
    differences: tuple[float, ...]  # accuracy of SBPMT minus the method's on each table, in percent

    @property
    def significant(self) -> tuple[int, int]:
        small = np.array(self.pvalues) <= LEVEL
        sign = np.sign(self.differences)
        return int((small & (sign > 0)).sum()), int((small & (sign < 0)).sum())


def results_of(
    rows: Sequence[PublishedAccuracies], methods: Sequence[str], cells: Iterable[Cell]
) -> list[TableOfMethods]:
    right: dict[tuple[str, str], list[NDArray[np.bool_]]] = defaultdict(list)
    for cell in cells:
        right[cell["table"], cell["method"]].append(unpacked(cell["right"], cell["rows"]))
    return [TableOfMethods(row, {m: tuple(right[row.name, m]) for m in methods}) for row in rows]


def contest(results: Sequence[TableOfMethods], method: str) -> Contest:
    differences = [result.accuracies(OURS) - result.accuracies(method) for result in results]
    errors = np.array([[100.0 - result.accuracies(m).mean() for result in results] for m in (OURS, method)])
    alone = [(result.alone(OURS, method), result.alone(method, OURS)) for result in results]
    pvalues = holm([corrected_paired_t_test(each, 1.0 / (FOLDS - 1)).pvalue for each in differences])
    means = tuple(float(each.mean()) for each in differences)
    return Contest(compared(errors / 100.0, alone), tuple(pvalues.tolist()), means)


def accuracy_grid(results: Sequence[TableOfMethods], settings: str) -> Grid:
    methods = list(results[0].right)
    means = np.array([[result.accuracies(method).mean() for method in methods] for result in results])
    body = [
        (result.published.title, *(f"{mean:.2f}" for mean in line)) for result, line in zip(results, means, strict=True)
    ]
    body.append((f"mean of {len(results)}", *(f"{mean:.2f}" for mean in means.mean(axis=0))))
    title = f"Table 2 on the same folds: accuracy in percent, SBPMT with settings {settings}"
    return grid_of(title, ("table", *(_SHORT.get(method, method) for method in methods)), body)


def contest_grid(results: Sequence[TableOfMethods]) -> Grid:
    _, *methods = results[0].right
    body = []
    for method in methods:
        found = contest(results, method)
        better, worse = found.significant
        line = (f"{np.mean(found.differences):+.2f}", signs_text(found.over_tables.signs))
        body.append((method, *line, number(found.over_tables.probability), f"{better} / {worse}"))
    columns = ("SBPMT against", "difference", "won-lost-tied, p", "Poisson-binomial", "better / worse, paired t")
    title = f"SBPMT against the others on {len(results)} table(s), accuracy in points"
    return grid_of(title, columns, body)


def records(results: Sequence[TableOfMethods]) -> Iterator[dict[str, object]]:
    _, *methods = results[0].right
    contests = {method: contest(results, method) for method in methods}
    for t, result in enumerate(results):
        for method in result.right:
            accuracies = result.accuracies(method)
            found = contests.get(method)
            yield {
                "table": result.published.title,
                "name": result.published.name,
                "method": method,
                "accuracy": f"{accuracies.mean():.4f}",
                "sd": f"{accuracies.std(ddof=1):.4f}",
                "cells": len(accuracies),
                "paper": result.published.accuracy.get(method, ("",))[0],
                "difference": "" if found is None else f"{found.differences[t]:.4f}",
                "holm_pvalue": "" if found is None else f"{found.pvalues[t]:.4f}",
            }


ALL, NUMERIC, CUT = "all", "numeric alone", "numbers cut"
PARTS = 5  # categories that a numeric column is cut into, of as many rows each


def columns_of(table: Table) -> dict[str, Table]:
    frame = table.frame
    numeric = [name for name, kind in frame.schema.items() if kind.is_numeric()]
    found = {ALL: table}
    if 0 < len(numeric) < frame.width:
        found[NUMERIC] = replace(table, frame=frame.select(numeric))
    if numeric:
        found[CUT] = replace(table, frame=frame.with_columns(_cut(frame[name]) for name in numeric))
    return found


def _cut(column: pl.Series) -> pl.Series:
    import polars as pl

    edges = np.unique(np.nanquantile(column.to_numpy(), np.arange(1, PARTS) / PARTS))
    part = np.searchsorted(edges, column.to_numpy(), side="left").astype(str)
    missing = column.is_null() | column.cast(pl.Float64).is_nan()
    return pl.Series(column.name, part).to_frame().select(pl.when(~missing).then(pl.first())).to_series()


ByColumns: TypeAlias = dict[str, TableOfMethods]
"""Results on one table by the choice of its columns: `ALL`, `NUMERIC` or `CUT`."""


def column_results(
    rows: Sequence[PublishedAccuracies], methods: Sequence[str], cells: Collection[Cell]
) -> list[ByColumns]:
    found = []
    for row in rows:
        own = [cell for cell in cells if cell["table"] == row.name]
        by_columns = {columns: [cell for cell in own if cell["columns"] == columns] for columns in (ALL, NUMERIC, CUT)}
        found.append({columns: results_of([row], methods, of)[0] for columns, of in by_columns.items() if of})
    return found


def column_grid(results: Sequence[ByColumns]) -> Grid:
    _, *others = methods = list(results[0][ALL].right)
    body = []
    for columns in (NUMERIC, CUT):
        having = [result for result in results if columns in result]
        for shown in (ALL, columns) if having else ():
            means = {m: np.array([result[shown].accuracies(m).mean() for result in having]) for m in methods}
            gains = (_gain(means[OURS] - means[method]) for method in others)
            body.append((f"{shown} ({len(having)})", *(f"{of.mean():.2f}" for of in means.values()), *gains))
    title = "Accuracy in percent by the kind of columns, and SBPMT's minus the others'"
    return grid_of(title, ("columns", *methods, *(f"minus {method}" for method in others)), body)


def _gain(gains: F64) -> str:
    return f"{gains.mean():+.2f} ±{standard_error(gains):.2f}" if len(gains) > 1 else number(float(gains[0]), 2)


def column_records(results: Sequence[ByColumns]) -> Iterator[dict[str, object]]:
    for result in results:
        for columns, of in result.items():
            for method in of.right:
                accuracy = of.accuracies(method).mean()
                yield {
                    "table": of.published.title,
                    "name": of.published.name,
                    "columns": columns,
                    "method": method,
                    "accuracy": f"{accuracy:.4f}",
                    "less_than_sbpmt": BLANK if method == OURS else f"{of.accuracies(OURS).mean() - accuracy:.4f}",
                }


_STYLES = ((ORANGE, "o", "-"), (BLUE, "D", "-"), (GREEN, "s", "--"), (GREY, "^", ":"))


def beside_the_paper(rows: Sequence[RebuiltRow]) -> dict[str, F64]:
    theirs = {
        f"paper: {method}": np.array([row.published.accuracy[method][0] for row in rows])
        for method in (OURS, FOREST, XGBOOST)
    }
    return {"ours": np.array([row.mean for row in rows]), **theirs}


def own_runs(results: Sequence[TableOfMethods]) -> dict[str, F64]:
    methods = [method for method in (OURS, FOREST, XGBOOST) if method in results[0].right]
    return {method: np.array([result.accuracies(method).mean() for result in results]) for method in methods}


def figure3(tables: Sequence[PublishedAccuracies], lines: Mapping[str, F64], less: str) -> Figure:
    order = sorted(range(len(tables)), key=lambda t: tables[t].rows)
    labels = [f"{tables[t].title}\n{tables[t].rows:,}" for t in order]
    return _accuracies(order, lines, labels, "tables, by number of rows", less)


def figure4(tables: Sequence[PublishedAccuracies], lines: Mapping[str, F64], less: str) -> Figure:
    order = sorted(range(len(tables)), key=lambda t: (tables[t].numeric_share, tables[t].rows))
    labels = [f"{tables[t].title}\n{100 * tables[t].numeric_share:.0f}%" for t in order]
    title = "tables, by share of numeric columns, then by number of rows"
    return _accuracies(order, lines, labels, title, less)


def _accuracies(order: list[int], lines: Mapping[str, F64], labels: list[str], title: str, less: str) -> Figure:
    lines = {name: line[order] for name, line in lines.items()}
    figure = new_figure(max(7.5, 1.5 + 0.42 * len(labels)), 5.6)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    place = np.arange(len(labels))
    ours, *others = lines
    for name, (color, marker, line) in zip(lines, _STYLES, strict=False):
        above.plot(
            place, lines[name], color=color, marker=marker, linestyle=line, linewidth=1.0, markersize=5, alpha=0.9,
            label=name, zorder=3 if name == ours else 2,
        )  # fmt: skip
    above.set_ylabel("accuracy, %")
    above.legend(frameon=False, fontsize="small", ncols=4, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    for name, (color, marker, _) in zip(others, _STYLES[1:], strict=False):
        below.plot(place, lines[ours] - lines[name], color=color, marker=marker, linestyle="", markersize=5, label=name)
    below.axhline(0.0, color=INK, linewidth=0.8)
    below.set_ylabel(less)
    below.set_xlabel(title)
    below.set_xticks(place, labels, rotation=90, fontsize="small")
    for ax in (above, below):
        ax.margins(x=0.02)
        plain(ax)
    return figure
