"""The rebuilt comparison of nested trees as tables: to print, as CSV and as Markdown."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import combinations
from math import isnan
from pathlib import Path

import numpy as np

from committee.papers.matryoshka.cells import EXPECTED, LIKELY, MAJORITY, WALKS
from committee.papers.matryoshka.curves import grid as bound_grid
from committee.papers.matryoshka.plan import ADABOOST, BINARY, GREEDY, METHODS, PROBABILISTIC, SOFTNESS, TREE, Setting
from committee.papers.matryoshka.results import (
    Duel,
    Results,
    duel,
    figure,
    in_order,
    log_loss,
    promised,
    setting_of,
    wrong,
)
from committee.papers.quadboost.report import markdown
from committee.papers.shared.journal import Cell
from committee.report.across_tables import SignTest
from committee.report.tables import Grid

LEVEL = 0.05
PAIRS = tuple(combinations(METHODS, 2))
PROMISED = ((BINARY, TREE), (ADABOOST, BINARY), (ADABOOST, TREE), (GREEDY, TREE), (GREEDY, BINARY), (ADABOOST, GREEDY))
"""Pairs of which the theory has, or lets one hope for, the lower bound with the first."""


def grids(results: Results) -> list[Grid]:
    """All tables of the experiments, in the order of the page."""
    of = (bounds_grid, promise_grid, edge_grid, error_grid, table_grid, pair_grid, walk_grid, cost_grid, softness_grid)
    return [*(grid(results) for grid in of), draws_grid(results)]


def _number(value: float, digits: int = 3) -> str:
    return "-" if isnan(value) else f"{value:.{digits}f}"


def _percent(value: float) -> str:
    return "-" if isnan(value) else f"{100 * value:.2f}"


def _signed(value: float) -> str:
    return "-" if isnan(value) else f"{100 * value:+.2f}"


def _by_size(results: Results) -> Iterator[tuple[int, list[Setting], list[str]]]:
    """Each T with the methods, and the tables that all of them were run on."""
    for T in results.plan.sizes:
        settings = results.of_size(T)
        yield T, settings, results.shared(settings)


def bounds_grid(results: Results) -> Grid:
    """Bounds and training errors, means over tables; edges, medians over tables."""
    body = []
    for T, settings, tables in _by_size(results):
        for setting in settings:
            edges = [results.median(setting, figure(f"edge_{which}"), tables) for which in ("first", "median", "least")]
            body.append(
                (
                    setting.method,
                    f"{T}",
                    f"{len(tables)}",
                    _number(results.mean(setting, figure("bound"), tables)),
                    _number(results.mean(setting, promised, tables)),
                    _percent(results.mean(setting, figure("train_error"), tables)),
                    *map(_number, edges),
                    _number(results.mean(setting, figure("voters"), tables), 1),
                )
            )
    columns = ("method", "T", "tables", "bound C", "theory", "train error", "first edge", "median", "least", "trained")
    title = (
        "Training: bound, what the theory has for as many voters of the least edge, expected error of one path in"
        " percent, means over tables; edges of a run, medians over tables; voters trained"
    )
    return Grid(title, columns, tuple(body), "lrrrrrrrrr")


def promise_grid(results: Results) -> Grid:
    """On how many tables the bounds, and the test errors, are ordered as the theory has them."""
    body = []
    for a, b in PROMISED:
        line = [f"{a} below {b}"]
        for T in results.plan.sizes:
            found = duel(results, setting_of(a, T), setting_of(b, T))
            line += [_signs(found.bounds), _signs(found.errors)]
        body.append(tuple(line))
    last = [f"{ADABOOST} below {BINARY} below {TREE}"]
    for T in results.plan.sizes:
        settings = [setting_of(method, T) for method in (ADABOOST, BINARY, TREE)]
        last += ["{} of {}".format(*in_order(results, settings, what)) for what in (figure("bound"), wrong())]
    body.append(tuple(last))
    columns = ("", *(f"{what}, T = {T}" for T in results.plan.sizes for what in ("bound", "error")))
    title = "Bound, and test error by E[H]: tables on which the first is lower, higher, even; p of the sign test"
    return Grid(title, columns, tuple(body), "l" + "r" * (len(columns) - 1))


def _signs(signs: SignTest) -> str:
    star = "*" if signs.pvalue <= LEVEL else ""
    return f"{signs.wins}-{signs.losses}-{signs.ties}, {signs.pvalue:.3f}{star}"


def edge_grid(results: Results) -> Grid:
    """How edges fall: medians of what is trained while T doubles."""
    most = max(results.plan.sizes)
    ends = [2**k for k in range(most.bit_length())]
    body = []
    for method in METHODS:
        setting = setting_of(method, most)
        cells = [cell for table in results.tables for cell in results.of_table(table, setting)]
        line = [method]
        for k in range(len(ends)):
            there = [cell["edges"][k] for cell in cells if len(cell["edges"]) > k]
            line.append(_number(float(np.median(there))) if there else "-")
        body.append(tuple(line))
    columns = ("voters", *(f"{end}" if end <= 2 else f"{end // 2 + 1}-{end}" for end in ends))
    title = f"Edges in the order of training, runs of T = {most}: median over tables and splits of the median in a run"
    return Grid(title, columns, tuple(body), "l" + "r" * len(ends))


def error_grid(results: Results) -> Grid:
    """Test errors and log losses of each walk, means over tables, and average ranks."""
    body = []
    for T, settings, tables in _by_size(results):
        ranks = results.ranks(settings, wrong(), tables)
        for setting, rank in zip(settings, ranks, strict=True):
            body.append(
                (
                    setting.method,
                    f"{T}",
                    _number(float(rank), 2),
                    *(_percent(results.mean(setting, wrong(walk), tables)) for walk in WALKS),
                    _percent(results.mean(setting, figure("path_error"), tables)),
                    *(_number(results.mean(setting, log_loss(walk), tables)) for walk in WALKS),
                )
            )
    columns = ("method", "T", "rank", "E[H]", "likely", "majority", "one path", "ln E[H]", "ln likely", "ln majority")
    title = (
        "Test: average rank of the error by E[H]; errors in percent by E[H], the likeliest path, the majority of paths,"
        " one path; log losses (ln); means over the tables of the table before"
    )
    return Grid(title, columns, tuple(body), "lr" + "r" * 8)


def table_grid(results: Results) -> Grid:
    """Errors and bounds of every table at the base T."""
    body = []
    settings = [setting_of(method, results.plan.base) for method in METHODS]
    for table in results.tables:
        line = [table, f"{results.of_table(table, settings[0])[0]['training_rows']:,}"]
        for setting in settings:
            if not results.has(setting, table):
                line.append("-")
                continue
            error = results.mean(setting, wrong(), [table])
            line.append(f"{100 * error:.1f} ({results.mean(setting, figure('bound'), [table]):.3f})")
        body.append(tuple(line))
    columns = ("table", "train", *METHODS)
    title = f"T = {results.plan.base}: test error by E[H] in percent (bound), mean of {results.repeats} split(s)"
    return Grid(title, columns, tuple(body), "lr" + "r" * len(METHODS))


def pair_grid(results: Results) -> Grid:
    """Every two methods at each T."""
    body = []
    for a, b in PAIRS:
        line = [f"{a} - {b}"]
        for T in results.plan.sizes:
            found = duel(results, setting_of(a, T), setting_of(b, T))
            line += [_number(found.probability, 2), _signed(found.less), _signs(found.errors)]
        body.append(tuple(line))
    columns = ("A - B", *(f"{what}{T}" for T in results.plan.sizes for what in ("P, T = ", "less, ", "signs, ")))
    title = (
        "Test error by E[H]: probability that A errs less on most tables (Poisson-binomial); error of A less that of B"
        " in points; tables won, lost, even, p of the sign test"
    )
    return Grid(title, columns, tuple(body), "l" + "r" * (len(columns) - 1))


def walk_grid(results: Results) -> Grid:
    """The likeliest path, and the majority of paths, against E[H]."""
    body = []
    for method in PROBABILISTIC:
        for T in results.plan.sizes:
            setting = setting_of(method, T)
            line = [method, f"{T}"]
            for walk in (LIKELY, MAJORITY):
                found = duel(results, setting, setting, EXPECTED, walk)
                line += [_number(found.probability, 2), _signed(found.less), _signs(found.errors)]
            body.append(tuple(line))
    columns = ("method", "T", "P, likely", "less", "signs", "P, majority", "less", "signs")
    title = "E[H] against the likeliest path and against the majority of paths: as in the table before, A is E[H]"
    return Grid(title, columns, tuple(body), "lrrrrrrr")


def cost_grid(results: Results) -> Grid:
    """What a prediction asks for, and what training takes."""
    body = []
    for T, settings, tables in _by_size(results):
        for setting in settings:
            values = [results.mean(setting, figure(name), tables) for name in ("needed", "met", "steps")]
            seconds = results.mean(setting, figure("fit_seconds"), tables)
            body.append((setting.method, f"{T}", *(_number(v, 1) for v in values), f"{1000 * seconds:.0f}"))
    columns = ("method", "T", "E[H]", "one path", "likely", "fit ms")
    title = (
        "Voters that a test row asks: those it meets on a path in a thousand, which E[H] needs; those on one path;"
        " those on the likeliest path; milliseconds of training; means over the tables"
    )
    return Grid(title, columns, tuple(body), "lrrrrr")


def softness_grid(results: Results) -> Grid:
    """The base T with each softness."""
    body = []
    for method in PROBABILISTIC:
        settings = [setting for setting in results.plan.by_softness() if setting.method == method]
        tables = results.shared(settings)
        ranks = results.ranks(settings, wrong(), tables)
        for setting, rank in zip(settings, ranks, strict=True):
            usual = setting_of(method, results.plan.base)
            body.append(
                (
                    method,
                    f"{setting.softness:g}",
                    _number(results.mean(setting, figure("bound"), tables)),
                    _percent(results.mean(setting, figure("train_error"), tables)),
                    _number(float(rank), 2),
                    *(_percent(results.mean(setting, wrong(walk), tables)) for walk in WALKS),
                    *(_number(results.mean(setting, log_loss(walk), tables)) for walk in (EXPECTED, MAJORITY)),
                    _number(results.mean(setting, figure("met"), tables), 1),
                    "-" if setting == usual else _signs(duel(results, setting, usual).errors),
                )
            )
    columns = (
        "method", "s", "bound C", "train error", "rank", "E[H]", "likely", "majority", "ln E[H]", "ln majority", "met",
        "signs",
    )  # fmt: skip
    title = (
        f"Softness s, T = {results.plan.base}: bound, expected training error; rank among the softnesses by the test"
        f" error of E[H]; test errors in percent; log losses; voters on one path; signs against s = {SOFTNESS:g}"
    )
    return Grid(title, columns, tuple(body), "lr" + "r" * 10)


def draws_grid(results: Results) -> Grid:
    """Probabilities known and estimated."""
    body = []
    for method in results.plan.drawn:
        settings = [setting for setting in results.plan.by_draws() if setting.method == method]
        tables = results.shared(settings)
        for setting in settings:
            known = setting.n_draws is None
            versus = duel(results, setting, settings[0])
            body.append(
                (
                    method,
                    "known" if known else f"{setting.n_draws}".replace("_", " "),
                    "-" if known else setting.estimate.upper(),
                    "-" if known else _number(results.mean(setting, figure("draws"), tables), 1),
                    *(_number(results.geometric_mean(setting, C, tables)) for C in ("bound", "true_bound")),
                    _percent(results.mean(setting, wrong(), tables)),
                    _number(results.mean(setting, log_loss(), tables)),
                    *(("-", "-") if known else (f"{versus.probability:.2f}", _signs(versus.errors))),
                )
            )
    columns = ("method", "draws", "", "mean", "told C", "true C", "error", "ln", "P, known", "signs")
    title = (
        f"Probabilities told from draws, T = {results.plan.base}: mean number of draws; the bound that the learner"
        " sees, and E exp(-H y) of its graph (geometric means); test error by E[H] in percent, log loss; against"
        " known probabilities"
    )
    return Grid(title, columns, tuple(body), "lr" + "l" + "r" * 7)


def write(results: Results, out: Path) -> None:
    """Write ``cells.csv`` (a line per cell), ``pairs.csv`` (a line per pair and T) and ``tables.md``."""
    _write_lines([_cell_line(cell) for cell in _wanted(results)], out / "cells.csv")
    pairs = [(T, a, b) for T in results.plan.sizes for a, b in PAIRS]
    _write_lines([_pair_line(results, T, a, b) for T, a, b in pairs], out / "pairs.csv")
    text = "\n\n".join(f"{grid.title}.\n\n{markdown(grid)}" for grid in [bound_grid(), *grids(results)])
    (out / "tables.md").write_text(text + "\n", "utf-8")


def _wanted(results: Results) -> Iterator[Cell]:
    for table in results.tables:
        for setting in results.plan.settings():
            yield from results.of_table(table, setting)


def _cell_line(cell: Cell) -> dict[str, object]:
    names = ("table", "repeat", "method", "asked", "softness", "n_draws", "estimate", "training_rows", "test_rows")
    measures = (
        "voters", "bound", "true_bound", "train_error", "path_error", "met", "steps", "needed", "draws", "edge_first",
        "edge_median", "edge_least", "fit_seconds",
    )  # fmt: skip
    line: dict[str, object] = {name: "" if cell[name] is None else cell[name] for name in names}
    line |= {f"error_{walk}": _blank(wrong(walk)(cell)) for walk in WALKS}
    line |= {f"log_loss_{walk}": _blank(log_loss(walk)(cell)) for walk in WALKS}
    return line | {name: _blank(cell[name]) for name in measures}


def _blank(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _pair_line(results: Results, T: int, a: str, b: str) -> dict[str, object]:
    found: Duel = duel(results, setting_of(a, T), setting_of(b, T))
    line: dict[str, object] = {"voters": T, "a": a, "b": b, "tables": found.tables}
    line |= {"a_better": f"{found.probability:.6f}", "less": f"{found.less:.6f}"}
    for name, signs in (("error", found.errors), ("bound", found.bounds)):
        line |= {f"{name}_wins": signs.wins, f"{name}_losses": signs.losses, f"{name}_ties": signs.ties}
        line[f"{name}_p"] = f"{signs.pvalue:.6f}"
    return line


def _write_lines(lines: Sequence[dict[str, object]], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
