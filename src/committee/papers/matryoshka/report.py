"""Results of the comparison of nested trees, and their tables, as text, CSV and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TypeAlias

import numpy as np

from committee.bounds.nested_trees import normaliser_of_edge, tree_factor, two_matryoshka
from committee.data.number_types import F64
from committee.files.journal import Cell
from committee.papers.matryoshka.cells import (
    ADABOOST,
    BINARY,
    EXPECTED,
    GREEDY,
    LIKELY,
    MAJORITY,
    METHODS,
    PROBABILISTIC,
    SOFTNESS,
    TREE,
    WALKS,
    NestingPlan,
    Setting,
    setting_of,
)
from committee.papers.shared.cells import Key
from committee.papers.shared.pages import (
    PairedComparison,
    compared,
    grid_of,
    number,
    percent,
    signs_text,
    unpacked,
    write_csv,
    write_page,
)
from committee.report.page import BLANK, Grid
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
    """Return the theoretical bound at the run's number of voters and least edge."""
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


# --- tables -----------------------------------------------------------------------------------------------------------


PAIRS = tuple(combinations(METHODS, 2))
PROMISED = ((BINARY, TREE), (ADABOOST, BINARY), (ADABOOST, TREE), (GREEDY, TREE), (GREEDY, BINARY), (ADABOOST, GREEDY))
"""Pairs of methods in which the theory proves or suggests a lower bound for the first."""


def grids(results: NestingResults) -> list[Grid]:
    of_bounds = (bounds_grid, bound_order_grid, edge_grid)
    of_errors = (error_grid, table_grid, pair_grid, path_grid, cost_grid, softness_grid, draws_grid)
    return [grid(results) for grid in (*of_bounds, *of_errors)]


def _by_size(results: NestingResults) -> Iterator[tuple[int, list[Setting], list[str]]]:
    for T in results.plan.sizes:
        settings = results.of_size(T)
        yield T, settings, results.shared(settings)


def bounds_grid(results: NestingResults) -> Grid:
    body = []
    for T, settings, tables in _by_size(results):
        for setting in settings:
            edges = (results.median(setting, measure(f"edge_{name}"), tables) for name in ("first", "median", "least"))
            bounds = (results.mean(setting, what, tables) for what in (measure("bound"), promised))
            error, trained = (results.mean(setting, measure(name), tables) for name in ("train_error", "voters"))
            first = (setting.method, f"{T}", f"{len(tables)}", *map(number, bounds))
            body.append((*first, percent(error), *map(number, edges), number(trained, 1)))
    columns = (
        *("method", "T", "tables", "bound C", "theory", "train error"),
        *("first edge", "median edge", "least edge", "trained"),
    )
    title = (
        "Training: bound C, the theory's bound for T voters of the least edge, expected training error of a random"
        " path (%) and voters trained, means over tables; first, median and least edge of a run, medians over tables"
    )
    return grid_of(title, columns, body)


def bound_order_grid(results: NestingResults) -> Grid:
    body = []
    for a, b in PROMISED:
        line = [f"{a} below {b}"]
        for T in results.plan.sizes:
            pair = setting_of(a, T), setting_of(b, T)
            line += [signs_text(bound_signs(results, *pair)), signs_text(duel(results, *pair).signs)]
        body.append(line)
    last = [f"{ADABOOST} below {BINARY} below {TREE}"]
    for T in results.plan.sizes:
        settings = [setting_of(method, T) for method in (ADABOOST, BINARY, TREE)]
        last += ["{} of {}".format(*in_order(results, settings, what)) for what in (measure("bound"), wrong())]
    columns = ("order", *(f"{what}, T = {T}" for T in results.plan.sizes for what in ("bound", "error")))
    title = "Order of bounds and of test errors by E[H]: tables on which the first is lower-higher-equal, sign test's p"
    return grid_of(title, columns, [*body, last])


def edge_grid(results: NestingResults) -> Grid:
    most = max(results.plan.sizes)
    body = [(method, *map(number, _medians(_cells(results, method, most), "edges", most))) for method in METHODS]
    title = f"Edge of voter 1, 2, 3-4, ... of T = {most}: median over the voters, then over tables and splits"
    return grid_of(title, ("method", *_octaves(most)), body)


def _cells(results: NestingResults, method: str, T: int) -> list[Cell]:
    return [cell for table in results.tables for cell in results.of_table(table, setting_of(method, T))]


def _octaves(most: int) -> list[str]:
    # headings of the voters 1, 2, 3-4, 5-8, ... that a cell has a value of
    return [f"{end}" if end <= 2 else f"{end // 2 + 1}-{end}" for end in (2**k for k in range(most.bit_length()))]


def _medians(cells: Sequence[Cell], name: str, most: int) -> Iterator[float | None]:
    for k in range(most.bit_length()):
        values = [cell[name][k] for cell in cells if len(cell[name]) > k]
        yield float(np.median(values)) if values else None


def error_grid(results: NestingResults) -> Grid:
    body = []
    for T, settings, tables in _by_size(results):
        for setting, rank in zip(settings, results.ranks(settings, wrong(), tables).tolist(), strict=True):
            errors = [results.mean(setting, wrong(walk), tables) for walk in WALKS]
            errors.append(results.mean(setting, measure("path_error"), tables))
            losses = (results.mean(setting, log_loss(walk), tables) for walk in WALKS)
            body.append((setting.method, f"{T}", number(rank, 2), *map(percent, errors), *map(number, losses)))
    columns = (
        *("method", "T", "rank", "E[H]", "likely", "majority", "random"),
        *("loss E[H]", "loss likely", "loss majority"),
    )
    title = (
        "Test: average rank of the error by E[H]; errors (%) by E[H], the likeliest path, the majority of paths, a"
        " random path; log losses; means over tables"
    )
    return grid_of(title, columns, body)


def table_grid(results: NestingResults) -> Grid:
    settings = [setting_of(method, results.plan.base) for method in METHODS]

    def shown(setting: Setting, table: str) -> str:
        if not results.has(setting, table):
            return BLANK
        error, bound = (results.mean(setting, what, [table]) for what in (wrong(), measure("bound")))
        return f"{100 * error:.1f} ({bound:.3f})"

    body = []
    for table in results.tables:
        rows = results.of_table(table, settings[0])[0]["training_rows"]
        body.append((table, f"{rows:,}", *(shown(setting, table) for setting in settings)))
    title = f"Test error by E[H] (%) and bound C, T = {results.plan.base}, mean of {results.repeats} split(s)"
    return grid_of(title, ("table", "training rows", *METHODS), body)


def _duel_text(found: PairedComparison) -> tuple[str, str, str]:
    return number(found.probability, 2), percent(found.less, "+"), signs_text(found.signs)


def pair_grid(results: NestingResults) -> Grid:
    body = []
    for a, b in PAIRS:
        found = (duel(results, setting_of(a, T), setting_of(b, T)) for T in results.plan.sizes)
        body.append((f"{a} - {b}", *(text for one in found for text in _duel_text(one))))
    columns = (
        "A - B",
        *(f"{what}{T}" for T in results.plan.sizes for what in ("P, T = ", "difference, ", "won-lost-tied, ")),
    )
    title = (
        "Test error by E[H]: probability that A has the lower error on most tables (Poisson-binomial test); error of"
        " A minus error of B (points); tables won-lost-tied by A, sign test's p"
    )
    return grid_of(title, columns, body)


def path_grid(results: NestingResults) -> Grid:
    body = []
    for method in PROBABILISTIC:
        for T in results.plan.sizes:
            setting = setting_of(method, T)
            found = (duel(results, setting, setting, EXPECTED, walk) for walk in (LIKELY, MAJORITY))
            body.append((method, f"{T}", *(text for one in found for text in _duel_text(one))))
    versus = ("difference", "won-lost-tied")
    columns = ("method", "T", "P, likely", *versus, "P, majority", *versus)
    title = "E[H] (A) against the likeliest path and against the majority of paths (B): columns as in the table before"
    return grid_of(title, columns, body)


def cost_grid(results: NestingResults) -> Grid:
    body = []
    for T, settings, tables in _by_size(results):
        for setting in settings:
            values = (results.mean(setting, measure(name), tables) for name in ("needed", "met", "steps"))
            seconds = results.mean(setting, measure("fit_seconds"), tables)
            body.append((setting.method, f"{T}", *(number(v, 1) for v in values), f"{1000 * seconds:.0f}"))
    columns = ("method", "T", "E[H]", "random", "likely", "fit ms")
    title = (
        "Voters evaluated per test row: for E[H] (those met with probability 0.001 or more), on a random path, on the"
        " likeliest path; training time (ms); means over tables"
    )
    return grid_of(title, columns, body)


def softness_grid(results: NestingResults) -> Grid:
    body = []
    for method in PROBABILISTIC:
        settings = [setting for setting in results.plan.by_softness() if setting.method == method]
        tables = results.shared(settings)
        usual = setting_of(method, results.plan.base)
        for setting, rank in zip(settings, results.ranks(settings, wrong(), tables).tolist(), strict=True):
            bound, error, met = (results.mean(setting, measure(n), tables) for n in ("bound", "train_error", "met"))
            errors = (results.mean(setting, wrong(walk), tables) for walk in WALKS)
            losses = (results.mean(setting, log_loss(walk), tables) for walk in (EXPECTED, MAJORITY))
            signs = BLANK if setting == usual else signs_text(duel(results, setting, usual).signs)
            first = (method, f"{setting.softness:g}", number(bound), percent(error), number(rank, 2))
            body.append((*first, *map(percent, errors), *map(number, losses), number(met, 1), signs))
    columns = (
        *("method", "softness", "bound C", "train error", "rank", "E[H]", "likely", "majority"),
        *("loss E[H]", "loss majority", "voters", "won-lost-tied"),
    )
    title = (
        f"Softness, T = {results.plan.base}: bound C, expected training error (%); rank among the softnesses by the"
        " test error of E[H]; test errors (%); log losses; voters on a random path; tables won-lost-tied against"
        f" softness {SOFTNESS:g}, sign test's p"
    )
    return grid_of(title, columns, body)


def draws_grid(results: NestingResults) -> Grid:
    body = []
    for method in results.plan.drawn:
        settings = [setting for setting in results.plan.by_draws() if setting.method == method]
        tables = results.shared(settings)
        for setting in settings:
            way, versus = ("known", BLANK, BLANK), (BLANK, BLANK)
            if setting.n_draws is not None:
                mean = number(results.mean(setting, measure("draws"), tables), 1)
                way = f"{setting.n_draws}".replace("_", " "), setting.estimate.upper(), mean
                found = duel(results, setting, settings[0])
                versus = f"{found.probability:.2f}", signs_text(found.signs)
            bounds = (number(results.geometric_mean(setting, C, tables)) for C in ("bound", "true_bound"))
            error, loss = (results.mean(setting, what, tables) for what in (wrong(), log_loss()))
            body.append((method, *way, *bounds, percent(error), number(loss), *versus))
    columns = (
        *("method", "draws", "estimate", "mean draws", "estimated C", "true C", "error", "log loss"),
        *("P, known", "won-lost-tied"),
    )
    title = (
        f"Probabilities estimated from draws, T = {results.plan.base}: mean number of draws; C by the estimates and by"
        " the true q (geometric means); test error by E[H] (%), log loss; against known probabilities: probability of"
        " the lower error on most tables, tables won-lost-tied, sign test's p"
    )
    return Grid(title, columns, tuple(body), "lrl" + "r" * 7)


def write(results: NestingResults, tables: Sequence[Grid], out: Path) -> None:
    write_cells(results, results.plan.settings(), out / "cells.csv")
    pairs = ((T, a, b) for T in results.plan.sizes for a, b in PAIRS)
    write_csv((_pair_line(results, *pair) for pair in pairs), out / "pairs.csv")
    write_page(tables, out / "tables.md")


def write_cells(results: NestingResults, settings: Sequence[Setting], path: Path) -> None:
    cells = (cell for table in results.tables for one in settings for cell in results.of_table(table, one))
    write_csv(map(_cell_line, cells), path)


def _cell_line(cell: Cell) -> dict[str, object]:
    measures = (
        *("voters", "bound", "true_bound", "train_error", "path_error", "met", "steps", "needed", "draws"),
        *("edge_first", "edge_median", "edge_least", "fit_seconds"),
    )
    setting = ("method", "asked", "softness", "n_draws", "estimate", "choose")
    names = ("table", "repeat", *setting, "training_rows", "test_rows")
    line: dict[str, object] = {name: "" if cell[name] is None else cell[name] for name in names}
    line |= {f"error_{walk}": _blank(wrong(walk)(cell)) for walk in WALKS}
    line |= {f"log_loss_{walk}": _blank(log_loss(walk)(cell)) for walk in WALKS}
    return line | {name: _blank(cell[name]) for name in measures}


def _blank(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _pair_line(results: NestingResults, T: int, a: str, b: str) -> dict[str, object]:
    pair = setting_of(a, T), setting_of(b, T)
    found, tables = duel(results, *pair), len(results.shared(pair))
    line: dict[str, object] = {"voters": T, "a": a, "b": b, "tables": tables}
    line |= {"a_better": f"{found.probability:.6f}", "less": f"{found.less:.6f}"}
    for name, signs in (("error", found.signs), ("bound", bound_signs(results, *pair))):
        line |= {f"{name}_wins": signs.wins, f"{name}_losses": signs.losses, f"{name}_ties": signs.ties}
        line[f"{name}_p"] = f"{signs.pvalue:.6f}"
    return line


def growth_grids(results: NestingResults) -> list[Grid]:
    return [entropy_grid(results), growth_grid(results), clock_grid(results)]


def entropy_grid(results: NestingResults) -> Grid:
    most = results.plan.base
    body = []
    for method in PROBABILISTIC:
        cells = _cells(results, method, most)
        medians = _medians(cells, "entropies", most)
        shares = (BLANK if median is None else percent(float(np.exp(median))) for median in medians)
        rho = [cell["edge_by_entropy"] for cell in cells if cell["edge_by_entropy"] is not None]
        signs = f"{sum(r < 0.0 for r in rho)}-{sum(r > 0.0 for r in rho)}"
        body.append((method, *shares, number(float(np.median(rho)) if rho else None, 2), signs))
    columns = ("method", *_octaves(most), "rho", "rho < 0, > 0")
    title = (
        f"Effective share of rows (exp of the weights' entropy, %) of voter 1, 2, 3-4, ... of T = {most}: median over"
        " the voters, then over tables and splits; rho: Spearman's correlation of entropy and edge over the voters of"
        " a run, its median, and the numbers of runs in which it is negative and positive"
    )
    return grid_of(title, columns, body)


def growth_grid(results: NestingResults) -> Grid:
    settings = results.plan.by_choice()
    tables = results.shared(settings)
    body = []
    for setting in settings:
        bound, error, path, seconds = (
            results.mean(setting, measure(name), tables)
            for name in ("bound", "train_error", "path_error", "fit_seconds")
        )
        test, loss = (results.mean(setting, what, tables) for what in (wrong(), log_loss()))
        versus = (BLANK, BLANK)
        if setting != settings[0]:
            signs = bound_signs(results, setting, settings[0]), duel(results, setting, settings[0]).signs
            versus = signs_text(signs[0]), signs_text(signs[1])
        figures = number(bound), percent(error), percent(test), percent(path), number(loss), f"{1000 * seconds:.0f}"
        body.append((setting.choose, *figures, *versus))
    columns = (
        *("grown by", "bound C", "train error", "E[H]", "random", "loss E[H]"),
        *("fit ms", "bound signs", "error signs"),
    )
    title = (
        f"Growth of the boosting tree, T = {results.plan.base}: bound C, expected training error (%), test errors by"
        f" E[H] and by a random path (%), log loss, training time (ms), means over {len(tables)} table(s) and"
        f" {results.repeats} split(s); tables with lower-higher-equal bound, and test error by E[H], than growth by"
        " mass, sign test's p"
    )
    return grid_of(title, columns, body)


def clock_grid(results: NestingResults) -> Grid:
    settings = results.plan.by_clock()
    tables = results.shared(settings)
    body = []
    for setting in settings:
        drawn, seconds = (results.mean(setting, measure(name), tables) for name in ("draws", "fit_seconds"))
        bounds = (results.geometric_mean(setting, name, tables) for name in ("bound", "true_bound"))
        error, loss = (results.mean(setting, what, tables) for what in (wrong(), log_loss()))
        signs = BLANK if setting == settings[0] else signs_text(duel(results, setting, settings[0]).signs)
        way = "known" if setting.n_draws is None else str(setting.n_draws).replace("_", " ")
        figures = number(drawn, 1), *map(number, bounds), percent(error), number(loss), f"{1000 * seconds:.0f}"
        body.append((way, *figures, signs))
    columns = ("draws", "mean draws", "estimated C", "true C", "error", "log loss", "fit ms", "won-lost-tied")
    title = (
        f"Rules that end the draws, AdaBoost, MAP, T = {results.plan.base}: mean number of draws, C by the estimates"
        " and by the true q (geometric means), test error by E[H] (%), log loss, training time (ms); tables"
        " won-lost-tied against known probabilities, sign test's p"
    )
    return grid_of(title, columns, body)
