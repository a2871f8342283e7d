"""Results of the comparison of nested trees: figures by setting and table, and comparisons of settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from committee.bounds.nested_trees import normaliser_of_edge, tree_factor, two_matryoshka
from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.papers.matryoshka.cells import (
    BINARY,
    EXPECTED,
    GREEDY,
    METHODS,
    REFERENCE,
    SOFTNESS,
    TREE,
    NestingPlan,
    Setting,
)
from committee.papers.shared.cells import Key
from committee.papers.shared.pages import PairedComparison, compared, unpacked
from committee.report.statistics import SignTest, average_ranks, sign_test

Measure: TypeAlias = Callable[[Cell], float | None]  # reads a number from a cell, or None if the cell has none


def wrong(walk: str = EXPECTED) -> Measure:
    def of(cell: Cell) -> float | None:
        if walk not in cell["right"]:
            return None
        return 1.0 - float(unpacked(cell["right"][walk], cell["test_rows"]).mean())

    return of


def log_loss(walk: str = EXPECTED) -> Measure:
    return lambda cell: cell["log_loss"].get(walk)


def promised(cell: Cell) -> float | None:
    """Return the theoretical bound at the run's number of voters and least edge; `None` for the greedy matryoshka."""
    rho, T = normaliser_of_edge(min(max(cell["edge_least"], 0.0), 0.5)), cell["voters"]
    if cell["method"] == GREEDY:
        return None
    if rho == 0.0:
        return 0.0
    if cell["method"] == TREE:
        return float(tree_factor(T, rho))
    if cell["method"] == BINARY:
        return two_matryoshka(2 ** (T.bit_length() - 1), rho)
    return float(rho**T)


def measure(name: str) -> Measure:
    return lambda cell: cell[name]


@dataclass(frozen=True, eq=False)
class NestingResults:
    cells: Mapping[Key, Cell]  # by table, repeat and setting
    tables: tuple[str, ...]
    repeats: int
    plan: NestingPlan

    def of_table(self, table: str, setting: Setting) -> list[Cell]:
        keys = [(table, repeat, *setting.key) for repeat in range(self.repeats)]
        return [self.cells[key] for key in keys] if keys[0] in self.cells else []

    def has(self, setting: Setting, table: str) -> bool:
        return bool(self.of_table(table, setting))

    def shared(self, settings: Sequence[Setting]) -> list[str]:
        return [table for table in self.tables if all(self.has(setting, table) for setting in settings)]

    def means(self, setting: Setting, what: Measure, tables: Sequence[str]) -> F64:
        found = [[what(cell) for cell in self.of_table(table, setting)] for table in tables]
        return np.array([np.nan if None in row else np.mean([v for v in row if v is not None]) for row in found])

    def mean(self, setting: Setting, what: Measure, tables: Sequence[str]) -> float:
        return float(self.means(setting, what, tables).mean()) if tables else np.nan

    def geometric_mean(self, setting: Setting, name: str, tables: Sequence[str]) -> float:
        cells = [cell for table in tables for cell in self.of_table(table, setting)]
        return float(np.exp(np.mean([np.log(cell[name]) for cell in cells]))) if cells else np.nan

    def median(self, setting: Setting, what: Measure, tables: Sequence[str]) -> float:
        return float(np.median(self.means(setting, what, tables))) if tables else np.nan

    def of_size(self, T: int) -> list[Setting]:
        return [setting for setting in self.plan.by_size() if setting.voters == T]

    def largest(self, method: str, table: str) -> Setting:
        return max(
            (setting_of(method, T) for T in self.plan.sizes if self.has(setting_of(method, T), table)),
            key=lambda setting: setting.voters,
        )

    def ranks(self, settings: Sequence[Setting], what: Measure, tables: Sequence[str]) -> F64:
        if not tables:
            return np.full(len(settings), np.nan)
        scores = np.array([self.means(setting, what, tables) for setting in settings]).T
        return average_ranks(scores, higher_is_better=False)


def setting_of(method: str, T: int) -> Setting:
    assert method in METHODS
    return Setting(method, T, 0.0 if method == REFERENCE else SOFTNESS)


def in_order(results: NestingResults, settings: Sequence[Setting], what: Measure) -> tuple[int, int]:
    """Count the tables on which a figure rises from setting to setting, and those with all settings."""
    tables = results.shared(settings)
    found = np.array([results.means(setting, what, tables) for setting in settings])
    return int((np.diff(found, axis=0) > 0.0).all(axis=0).sum()), len(tables)


def duel(
    results: NestingResults, a: Setting, b: Setting, walk_a: str = EXPECTED, walk_b: str = EXPECTED
) -> PairedComparison:
    tables = results.shared([a, b])
    alone = [_alone(results.of_table(t, a), results.of_table(t, b), walk_a, walk_b) for t in tables]
    errors = [results.means(setting, wrong(walk), tables) for setting, walk in ((a, walk_a), (b, walk_b))]
    return compared(np.array(errors), alone)


def bound_signs(results: NestingResults, a: Setting, b: Setting) -> SignTest:
    tables = results.shared([a, b])
    return sign_test(*(results.means(setting, measure("bound"), tables) for setting in (a, b)))


def _alone(a: Sequence[Cell], b: Sequence[Cell], walk_a: str, walk_b: str) -> tuple[float, float]:
    pairs = [
        (unpacked(one["right"][walk_a], one["test_rows"]), unpacked(other["right"][walk_b], other["test_rows"]))
        for one, other in zip(a, b, strict=True)
    ]
    return float(np.mean([(x & ~y).sum() for x, y in pairs])), float(np.mean([(y & ~x).sum() for x, y in pairs]))
