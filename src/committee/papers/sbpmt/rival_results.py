"""SBPMT against other methods over the tables: accuracies, and the tests of their differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.papers.sbpmt.rivals import ADABOOST, CATBOOST, GBM, LIGHTGBM, XGBOOST_10
from committee.papers.sbpmt.table2 import FOLDS, FOREST, OURS, XGBOOST, PublishedAccuracies
from committee.papers.shared.cells import Key
from committee.papers.shared.pages import grid_of, number
from committee.papers.shared.paired import LEVEL, PairedComparison, compared, signs_text, unpacked
from committee.report.grid import Grid
from committee.report.statistics import corrected_paired_t_test, holm

_SHORT = {FOREST: "forest", GBM: "gbm", ADABOOST: "AdaBoost", XGBOOST_10: "XGB 10", XGBOOST: "XGB 100"}
_SHORT |= {LIGHTGBM: "LightGBM", CATBOOST: "CatBoost"}


@dataclass(frozen=True, eq=False)
class TableOfMethods:
    """All methods on one table."""

    published: PublishedAccuracies
    right: dict[str, tuple[NDArray[np.bool_], ...]]
    """By method: for each fold of each repeat, which test rows were predicted right."""

    def accuracies(self, method: str) -> F64:
        """Accuracy in percent, one for each fold of each repeat."""
        return np.array([100.0 * right.mean() for right in self.right[method]])

    def alone(self, a: str, b: str) -> float:
        """Test rows that a alone predicts right, in a repeat: each row is tested once in it."""
        both = zip(self.right[a], self.right[b], strict=True)
        return sum(int((mine & ~other).sum()) for mine, other in both) * FOLDS / len(self.right[a])


@dataclass(frozen=True)
class Contest:
    """SBPMT against another method."""

    method: str
    over_tables: PairedComparison
    """Sign and Poisson-binomial test, of the mean errors of the tables and of the test rows."""
    pvalues: tuple[float, ...]
    """Of the corrected paired t-test on each table, by Holm's rule over the tables."""
    differences: tuple[float, ...]
    """Accuracy of SBPMT less the method's on each table, in percent."""

    @property
    def significant(self) -> tuple[int, int]:
        """On how many tables SBPMT is better, and worse, by that test."""
        small = np.array(self.pvalues) <= LEVEL
        sign = np.sign(self.differences)
        return int((small & (sign > 0)).sum()), int((small & (sign < 0)).sum())


def results_of(
    rows: Sequence[PublishedAccuracies], methods: Sequence[str], cells: Mapping[Key, Cell]
) -> list[TableOfMethods]:
    """The cells of each table and method."""
    found = []
    for row in rows:
        own = [cell for cell in cells.values() if cell["table"] == row.name]
        right = {
            m: tuple(unpacked(cell["right"], cell["rows"]) for cell in own if cell["method"] == m) for m in methods
        }
        found.append(TableOfMethods(row, right))
    return found


def contest(results: Sequence[TableOfMethods], method: str) -> Contest:
    """Compare SBPMT with a method over the tables and on each."""
    differences = [result.accuracies(OURS) - result.accuracies(method) for result in results]
    errors = np.array([[100.0 - result.accuracies(m).mean() for result in results] for m in (OURS, method)])
    alone = [(result.alone(OURS, method), result.alone(method, OURS)) for result in results]
    pvalues = holm([corrected_paired_t_test(each, 1.0 / (FOLDS - 1)).pvalue for each in differences])
    means = tuple(float(each.mean()) for each in differences)
    return Contest(method, compared(errors / 100.0, alone), tuple(pvalues.tolist()), means)


def accuracy_grid(results: Sequence[TableOfMethods], settings: str) -> Grid:
    """Mean accuracy of every method on every table, as in the paper's Table 2, with the means last."""
    methods = list(results[0].right)
    means = np.array([[result.accuracies(method).mean() for method in methods] for result in results])
    body = [
        (result.published.title, *(f"{mean:.2f}" for mean in line)) for result, line in zip(results, means, strict=True)
    ]
    body.append((f"mean of {len(results)}", *(f"{mean:.2f}" for mean in means.mean(axis=0))))
    title = f"Table 2 on the same folds: accuracy in percent, SBPMT with settings {settings}"
    return grid_of(title, ("table", *(_SHORT.get(method, method) for method in methods)), body)


def contest_grid(results: Sequence[TableOfMethods]) -> Grid:
    """SBPMT against every other method: the tests."""
    _, *methods = results[0].right
    body = []
    for method in methods:
        found = contest(results, method)
        better, worse = found.significant
        line = (f"{np.mean(found.differences):+.2f}", signs_text(found.over_tables.signs))
        body.append((method, *line, number(found.over_tables.probability), f"{better} / {worse}"))
    columns = ("SBPMT against", "accuracy more", "won-lost-level, p", "Poisson-binomial", "tables by paired t")
    title = f"SBPMT against the others on {len(results)} table(s)"
    return grid_of(title, columns, body)


def records(results: Sequence[TableOfMethods]) -> Iterator[dict[str, object]]:
    """Lines of CSV: table and method, accuracy, and SBPMT's difference with its p-value."""
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
