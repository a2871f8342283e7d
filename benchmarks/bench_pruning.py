"""A forest of 500 trees cut to a share of its nodes, in five ways on 15 tables: test errors and log losses.

``python -m benchmarks.bench_pruning [--splits 10] [--large-splits 3] [--minutes M]`` measures; a run that was stopped
goes on where it was, from ``results/pruning/cells.jsonl``, which is to be deleted when a program has changed.
``--picture FILE`` draws the curves of the last full run.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, median, stdev

from benchmarks.bench_certify import TABLES
from benchmarks.code import kept_cells
from benchmarks.figures import QUICK_RESULTS, RESULTS, Figure, Findings, Measure, command
from benchmarks.global_refinement import STRENGTHS
from benchmarks.pairing import Spread
from benchmarks.pruning_cells import (
    ALL,
    DEPTHS,
    FIRST,
    LEAVES,
    REFINED,
    SHARES,
    TIMED,
    WHOLE,
    Cell,
    matrix,
    measured,
)
from benchmarks.pruning_picture import draw_curves
from committee import LeafReweighter

WAYS = (FIRST, WHOLE, DEPTHS, REFINED, LEAVES)
LARGE = 1_000
"""Rows from which on a table has fewer splits."""
ASKED = 0.3
"""Points of test error."""
CELLS = Path("pruning") / "cells.jsonl"

Curves = dict[str, Cell]
"""Table, way of pruning, share, measure: means over splits."""


def measuring(splits: int, large_splits: int, minutes: float) -> Measure:
    """The benchmark with so many splits, ended before all are done when the time is up."""

    def measure(findings: Findings, quick: bool) -> None:
        """A forest of 500 trees cut to a share of its nodes, in five ways on 15 tables."""
        folder, names, n_trees = os.environ.get("COMMITTEE_DATA"), TABLES, 500
        most, most_large = splits, large_splits
        if quick:
            names, n_trees, most = ["colon", "parkinsons"], 50, 2
        findings.settings = {"trees": n_trees, "share trained on": 0.7, "shares of the nodes": SHARES}
        findings.settings[LEAVES] = {name: list(getattr(LeafReweighter(None), name)) for name in ("growth", "C")}
        if folder is None:
            findings.settings["left out"] = "all: COMMITTEE_DATA names no folder of tables"
            return
        tables = {name: matrix(Path(folder), name) for name in names}
        splits_of = {name: most if len(y) < LARGE else most_large for name, (_, y) in tables.items()}
        end = time.monotonic() + 60.0 * minutes
        with kept_cells((QUICK_RESULTS if quick else RESULTS) / CELLS, dict(findings.settings), __name__) as journal:
            done = {(cell["table"], cell["split"]) for cell in journal.cells}
            for name, split in _in_turn(splits_of):
                if (name, split) not in done and time.monotonic() < end:
                    journal.append({"table": name, "split": split, "found": measured(*tables[name], n_trees, split)})
            cells = {(cell["table"], cell["split"]): cell["found"] for cell in journal.cells}
        report(findings, {key: cell for key, cell in cells.items() if key[0] in names})

    return measure


def _in_turn(splits: dict[str, int]) -> Iterator[tuple[str, int]]:
    """The first split of every table, then the second, so that a run that is cut short has them all."""
    for split in range(max(splits.values())):
        yield from ((name, split) for name, most in splits.items() if split < most)


def report(findings: Findings, cells: dict[tuple[str, int], Cell]) -> None:
    """Means, differences and costs; every table counts once."""
    by_table: dict[str, list[Cell]] = {}
    for (name, _), cell in sorted(cells.items()):
        by_table.setdefault(name, []).append(cell)
    curves = {name: _means(of) for name, of in by_table.items()}
    findings.settings["splits"] = {name: len(of) for name, of in by_table.items()}
    findings.settings["mean over splits"] = curves
    findings.settings["mean over tables"] = _means(list(curves.values()))
    _show({**curves, f"mean of {len(curves)} tables": findings.settings["mean over tables"]})
    for share in SHARES:
        small = share != "1/3"
        _difference(findings, curves, share, ALL, "error", ASKED if share == "1/10" else None)
        _difference(findings, curves, share, FIRST, "error", -ASKED if small else None)
        for way in (WHOLE, DEPTHS, REFINED, _in_hindsight(curves, share)):
            _difference(findings, curves, share, way, "error", None)
    for way in (ALL, *WAYS[:-1]):
        _difference(findings, curves, "1/10", way, "log_loss", None)
    _costs(findings, curves)


def _means(cells: list[Cell]) -> Cell:
    return {
        way: {
            share: {key: round(mean(cell[way][share][key] for cell in cells), 5) for key in of}
            for share, of in shares.items()
        }
        for way, shares in cells[0].items()
    }


def _of(curves: Curves, way: str, share: str, measure: str, scale: float) -> list[float]:
    return [scale * cell[way][share][measure] for cell in curves.values()]


def _in_hindsight(curves: Curves, share: str) -> str:
    """The strength of global refinement that has the least mean test error at this share, over all tables."""
    ways = [f"{REFINED}, C = {C:g}" for C in STRENGTHS]
    return min(ways, key=lambda way: mean(_of(curves, way, share, "error", 100.0)))


def _difference(findings: Findings, curves: Curves, share: str, way: str, measure: str, target: float | None) -> None:
    """How far the re-weighted leaves are above another way, table by table: in points of test error, or in log loss."""
    scale, name, unit = (100.0, "test error", "points") if measure == "error" else (1.0, "log loss", "")
    hindsight = ", the best of its strengths in hindsight" if way.startswith(f"{REFINED},") else ""
    ours, theirs = (_of(curves, one, share, measure, scale) for one in (LEAVES, way))
    more = [a - b for a, b in zip(ours, theirs, strict=True)]
    middle, off = mean(more), stdev(more) / len(more) ** 0.5
    findings.add(
        Figure(
            f"{LEAVES} at {share} of the nodes: {name} above theirs",
            f"{way}{hindsight}",
            unit,
            Spread(middle, middle - off, middle + off, min(more), max(more), len(more)),
            target if len(curves) == len(TABLES) else None,
            at_least=False,
            remark=f"{mean(ours):.4g} and {mean(theirs):.4g}; mean and a standard error over {len(more)} tables",
        )
    )


def _costs(findings: Findings, curves: Curves) -> None:
    """Seconds to fit; bytes and microseconds before and after."""
    for way in (WHOLE, DEPTHS, REFINED):
        seconds = _of(curves, way, TIMED, "seconds", 1.0)
        findings.add(Figure(f"{way}, all shares: fit", "", "s", Spread.of(seconds), clock="cpu", remark="over tables"))
    work = f"{LEAVES} at {TIMED} of the nodes"
    seconds = _of(curves, LEAVES, TIMED, "seconds", 1.0)
    findings.add(Figure(f"{work}: fit", "", "s", Spread.of(seconds), clock="cpu", remark="over tables"))
    for measure, name, scale, unit in (("us", "prediction", 1.0, "us a row"), ("bytes", "size", 1e-6, "MB")):
        before, after = (_of(curves, way, TIMED, measure, scale) for way in (ALL, LEAVES))
        ratio = Spread.of([a / b for a, b in zip(before, after, strict=True)])
        remark = f"over tables; medians {median(before):.3g} and {median(after):.3g} {unit}"
        findings.add(Figure(f"{work}: {name}", ALL, "x", ratio, remark=remark))


def _show(curves: Curves) -> None:
    """All curves, a table each."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = 150
    for name, cell in curves.items():
        table = Table(title=f"{name}: test error in %, log loss", title_justify="left")
        table.add_column("")
        for share in SHARES:
            table.add_column(share, justify="right")
        for way in (ALL, *WAYS):
            found = [cell[way][share] for share in SHARES]
            table.add_row(way, *(f"{100.0 * of['error']:.2f}  {of['log_loss']:.4f}" for of in found))
        console.print(table)


def main() -> None:
    """Measure, or draw what was measured."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--large-splits", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--picture", type=Path)
    options, rest = parser.parse_known_args()
    if options.picture is not None:
        draw_curves(RESULTS / "pruning.json", options.picture)
        return
    command("pruning", measuring(options.splits, options.large_splits, options.minutes), arguments=rest)


if __name__ == "__main__":
    main()
