"""What the rebuilt comparison of nested trees found: figures by setting and table, and settings against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee.bounds.nested_trees import normaliser_of_edge, tree_factor, two_matryoshka
from committee.papers.matryoshka.cells import EXPECTED, unpacked
from committee.papers.matryoshka.plan import BINARY, GREEDY, METHODS, REFERENCE, SOFTNESS, TREE, Plan, Setting
from committee.papers.shared.journal import Cell
from committee.report.across_tables import SignTest, poisson_binomial_test, sign_test
from committee.report.statistics import average_ranks

F64: TypeAlias = NDArray[np.float64]
Figure: TypeAlias = Callable[[Cell], float | None]
"""What is read off a cell; None where it has none."""


def key_of(cell: Cell) -> tuple[Any, ...]:
    """Table, repeat and setting of a cell."""
    names = ("table", "repeat", "method", "asked", "softness", "n_draws", "estimate")
    return tuple(cell[name] for name in names)


def wrong(walk: str = EXPECTED) -> Figure:
    """Share of the test rows that a walk gets wrong."""

    def of(cell: Cell) -> float | None:
        if walk not in cell["right"]:
            return None
        return 1.0 - float(unpacked(cell["right"][walk], cell["test_rows"]).mean())

    return of


def log_loss(walk: str = EXPECTED) -> Figure:
    """Log loss of a walk on the test rows."""
    return lambda cell: cell["log_loss"].get(walk)


def promised(cell: Cell) -> float | None:
    """The theory's bound for as many voters of the run's least edge; None for the greedy matryoshka, which has none."""
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


def figure(name: str) -> Figure:
    """A number of the cell."""
    return lambda cell: cell[name]


@dataclass(frozen=True, eq=False)
class Results:
    """Finished cells by setting.

    Attributes
    ----------
    cells : dict
        By `key_of`.
    tables : tuple of str
    repeats : int
    plan : Plan
    """

    cells: dict[tuple[Any, ...], Cell]
    tables: tuple[str, ...]
    repeats: int
    plan: Plan

    @classmethod
    def of(cls, cells: Sequence[Cell], tables: Sequence[str], repeats: int, plan: Plan) -> Results:
        """Those of the tables and repeats that are wanted, out of a journal's."""
        return cls({key_of(cell): cell for cell in cells}, tuple(tables), repeats, plan)

    def of_table(self, table: str, setting: Setting) -> list[Cell]:
        """The cells of a setting on a table, a repeat each; empty where it was left out."""
        keys = [(table, repeat, *setting.key) for repeat in range(self.repeats)]
        return [self.cells[key] for key in keys] if keys[0] in self.cells else []

    def has(self, setting: Setting, table: str) -> bool:
        """Whether a setting was run on a table."""
        return bool(self.of_table(table, setting))

    def shared(self, settings: Sequence[Setting]) -> list[str]:
        """The tables on which all of the settings were run."""
        return [table for table in self.tables if all(self.has(setting, table) for setting in settings)]

    def means(self, setting: Setting, what: Figure, tables: Sequence[str]) -> F64:
        """Mean over the repeats on each table, ``(tables,)``; NaN where the setting has no such figure."""
        found = [[what(cell) for cell in self.of_table(table, setting)] for table in tables]
        return np.array([np.nan if None in row else np.mean([v for v in row if v is not None]) for row in found])

    def mean(self, setting: Setting, what: Figure, tables: Sequence[str]) -> float:
        """Mean over the tables too; NaN of no table."""
        return float(self.means(setting, what, tables).mean()) if tables else np.nan

    def geometric_mean(self, setting: Setting, name: str, tables: Sequence[str]) -> float:
        """Geometric mean of a bound over tables and repeats, as a single run may have one of thousands; NaN of none."""
        cells = [cell for table in tables for cell in self.of_table(table, setting)]
        return float(np.exp(np.mean([np.log(cell[name]) for cell in cells]))) if cells else np.nan

    def median(self, setting: Setting, what: Figure, tables: Sequence[str]) -> float:
        """Median over the tables of the means over repeats; NaN of no table."""
        return float(np.median(self.means(setting, what, tables))) if tables else np.nan

    def of_size(self, T: int) -> list[Setting]:
        """The methods with so many voters."""
        return [setting for setting in self.plan.by_size() if setting.voters == T]

    def largest(self, method: str, table: str) -> Setting:
        """A method with the most voters that it was run with on a table."""
        return max(
            (setting_of(method, T) for T in self.plan.sizes if self.has(setting_of(method, T), table)),
            key=lambda setting: setting.voters,
        )

    def ranks(self, settings: Sequence[Setting], what: Figure, tables: Sequence[str]) -> F64:
        """Average ranks of settings over tables, by a figure of which less is better; NaN of no table."""
        if not tables:
            return np.full(len(settings), np.nan)
        scores = np.array([self.means(setting, what, tables) for setting in settings]).T
        return average_ranks(scores, higher_is_better=False)


def setting_of(method: str, T: int) -> Setting:
    """A method with T voters and nothing else varied."""
    assert method in METHODS
    return Setting(method, T, 0.0 if method == REFERENCE else SOFTNESS)


@dataclass(frozen=True)
class Duel:
    """One setting against another over the tables that have both.

    Attributes
    ----------
    tables : int
    probability : float
        That the first errs less on most tables, by the Poisson-binomial test of the mean counts over the repeats; NaN
        of no table.
    errors, bounds : SignTest
        Of the mean test errors and of the mean bounds.
    less : float
        Mean over the tables of the first one's error less the second's.
    """

    tables: int
    probability: float
    errors: SignTest
    bounds: SignTest
    less: float


def in_order(results: Results, settings: Sequence[Setting], what: Figure) -> tuple[int, int]:
    """On how many tables a figure rises from setting to setting, and of how many."""
    tables = results.shared(settings)
    found = np.array([results.means(setting, what, tables) for setting in settings])
    return int((np.diff(found, axis=0) > 0.0).all(axis=0).sum()), len(tables)


def duel(results: Results, a: Setting, b: Setting, walk_a: str = EXPECTED, walk_b: str = EXPECTED) -> Duel:
    """Compare two settings, or two walks of one.

    Parameters
    ----------
    results : Results
    a, b : Setting
    walk_a, walk_b : str
        What each goes by.
    """
    tables = results.shared([a, b])
    alone = [_alone(results.of_table(t, a), results.of_table(t, b), walk_a, walk_b) for t in tables]
    errors = [results.means(setting, wrong(walk), tables) for setting, walk in ((a, walk_a), (b, walk_b))]
    bounds = [results.means(setting, figure("bound"), tables) for setting in (a, b)]
    return Duel(
        len(tables),
        poisson_binomial_test(*np.array(alone).T).probability if tables else np.nan,
        # means of shares of whole numbers of rows, which are equal but for their rounding
        sign_test(*(error.round(12) for error in errors)),
        sign_test(*bounds),
        float((errors[0] - errors[1]).mean()) if tables else np.nan,
    )


def _alone(a: Sequence[Cell], b: Sequence[Cell], walk_a: str, walk_b: str) -> tuple[float, float]:
    """Mean numbers of test rows that only the first, and only the second, gets right."""
    pairs = [
        (unpacked(one["right"][walk_a], one["test_rows"]), unpacked(other["right"][walk_b], other["test_rows"]))
        for one, other in zip(a, b, strict=True)
    ]
    return float(np.mean([(x & ~y).sum() for x, y in pairs])), float(np.mean([(y & ~x).sum() for x, y in pairs]))
