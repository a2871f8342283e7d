"""Forests and boosters cut to a share of their nodes in seven ways: test errors, log losses, bytes and seconds.

``python -m benchmarks.bench_pruning [--half checking] [--minutes M] [--ways "A;B"] [--ensembles "A;B"]`` measures; a
run that was stopped goes on where it was, from ``results/pruning/HALF.jsonl``. A way's cells are measured again when
its program has changed. ``--picture FILE`` draws the curves of the last run.

The tables of the choosing half shaped the design of `LeafReweighter`; those of the checking half, which judge, did not.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from statistics import geometric_mean, mean, median, stdev
from typing import Any

from benchmarks.figures import QUICK_RESULTS, RESULTS, Figure, Findings, Measure, command
from benchmarks.pairing import Spread
from benchmarks.pruned_ensembles import ENSEMBLES, MOST_ROWS, tables, trained
from benchmarks.pruning_picture import draw_curves
from benchmarks.pruning_ways import ALL, LEAVES, LEVELS, WAYS, Measures
from committee import LeafReweighter
from committee.files.journal import Cell, Journal, code_digest

SHARES = {"1/3": 1 / 3, "1/10": 0.1, "1/30": 1 / 30, "1/100": 0.01}
"""Of the ensemble's nodes, falling."""
QUICK_ENSEMBLES = ("RF(50), depth 10", "XGBoost(10)")
QUICK_TABLES = ("heart_statlog", "iris")
FORESTS, BOOSTERS = ("RF(500)", "RF(100)"), ("XGBoost(100)", "LightGBM(100)")
"""Those that have goals."""
ASKED = 0.3
"""Points of test error."""

Curves = dict[str, dict[str, dict[str, Measures]]]
"""Table, way, share: means over splits."""


def measuring(half: str, ensembles: Sequence[str], ways: Sequence[str], minutes: float) -> Measure:
    """The benchmark on a half of the tables, ended before all is done when the time is up."""

    def measure(findings: Findings, quick: bool) -> None:
        """Forests and boosters cut to a share of their nodes, in seven ways."""
        folder = os.environ.get("COMMITTEE_DATA")
        chosen = QUICK_ENSEMBLES if quick else ensembles
        findings.settings = {"half": half, "share trained on": 0.7, "most rows": MOST_ROWS, "shares": SHARES}
        findings.settings[LEAVES] = {name: list(getattr(LeafReweighter(None), name)) for name in ("growth", "C")}
        if folder is None:
            findings.settings["left out"] = "all: COMMITTEE_DATA names no folder of tables"
            return
        rows = {name: (X, y) for name, X, y in tables(Path(folder), half) if not quick or name in QUICK_TABLES}
        path = (QUICK_RESULTS if quick else RESULTS) / "pruning" / f"{half}.jsonl"
        end = time.monotonic() + 60.0 * minutes
        with Journal(path, dict(findings.settings), code=lambda cell: _code(cell["way"])) as journal:
            _fill(journal, rows, chosen, ways, end)
            cells = [cell for cell in journal.cells if cell["ensemble"] in chosen and cell["table"] in rows]
        report(findings, cells, {name: len(set(y.tolist())) for name, (_, y) in rows.items()})

    return measure


@cache
def _code(way: str) -> str:
    """Digest of the code that a way's cells depend on."""
    return code_digest(WAYS[way].module) if way in WAYS else ""


def _fill(journal: Journal, rows: dict[str, Any], ensembles: Sequence[str], ways: Sequence[str], end: float) -> None:
    """Measure what is not in the journal, the first split of all first."""
    done = {(cell["ensemble"], cell["table"], cell["split"], cell["way"]) for cell in journal.cells}
    for split in range(max(kind.splits for kind in ENSEMBLES.values())):
        for ensemble in (name for name in ensembles if split < ENSEMBLES[name].splits):
            for table, (X, y) in rows.items():
                left = [way for way in _suited(ensemble, ways) if (ensemble, table, split, way) not in done]
                if not left or time.monotonic() > end:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)
                    fitted = trained(ensemble, X, y, split)
                    limits = [max(3, int(share * fitted.committee.n_nodes)) for share in SHARES.values()]
                    for way in left:
                        found = WAYS[way].run(fitted, limits)
                        place: Cell = {"ensemble": ensemble, "table": table, "split": split, "way": way}
                        journal.append({**place, "found": dict(zip(SHARES, found, strict=True))})


def _suited(ensemble: str, ways: Sequence[str]) -> Iterator[str]:
    return (way for way in ways if ENSEMBLES[ensemble].drawn or WAYS[way].of_boosters)


def report(findings: Findings, cells: list[Cell], n_classes: dict[str, int]) -> None:
    """Means, differences and costs of each ensemble; every table counts once."""
    findings.settings["classes"] = n_classes
    found: dict[str, Any] = {}
    for ensemble in dict.fromkeys(cell["ensemble"] for cell in cells):
        curves = _curves([cell for cell in cells if cell["ensemble"] == ensemble])
        found[ensemble] = curves
        _show(ensemble, curves)
        if LEAVES in _common(curves):
            _figures(findings, ensemble, curves)
    findings.settings["mean over splits"] = found


def _curves(cells: list[Cell]) -> Curves:
    """Means over the splits that all ways of a table have; ways are left out that have none of a table."""
    curves: Curves = {}
    tables = list(dict.fromkeys(cell["table"] for cell in cells))
    common = [way for way in WAYS if all((table, way) in {(c["table"], c["way"]) for c in cells} for table in tables)]
    for table in tables:
        own = [cell for cell in cells if cell["table"] == table]
        splits = set.intersection(*({c["split"] for c in own if c["way"] == way} for way in common))
        curves[table] = {
            way: {
                share: _mean([c["found"][share] for c in own if c["way"] == way and c["split"] in splits])
                for share in SHARES
            }
            for way in common
        }
    return curves


def _mean(cells: list[Measures]) -> Measures:
    return {key: round(mean(cell[key] for cell in cells), 5) for key in cells[0]}


def _common(curves: Curves) -> list[str]:
    """Ways that all tables have."""
    return [way for way in WAYS if all(way in of for of in curves.values())]


def _of(curves: Curves, way: str, share: str, measure: str) -> list[float]:
    return [of[way][share][measure] for of in curves.values()]


def _figures(findings: Findings, ensemble: str, curves: Curves) -> None:
    common = _common(curves)
    judging = findings.settings["half"] == "checking"
    for share in SHARES:
        goal = ASKED if (ensemble in FORESTS and share == "1/10") or (ensemble in BOOSTERS and share == "1/3") else None
        for way in (way for way in common if way != LEAVES):
            for measure in ("error", "log_loss") if way in (ALL, LEVELS) else ("error",):
                asked = goal if judging and way == ALL and measure == "error" else None
                _difference(findings, ensemble, curves, share, way, measure, asked)
    if LEVELS in common:
        _wins(findings, ensemble, curves)
    if "bytes" in curves[next(iter(curves))][ALL]["1/10"]:
        _costs(findings, ensemble, curves)


def _difference(
    findings: Findings, ensemble: str, curves: Curves, share: str, way: str, measure: str, target: float | None
) -> None:
    """How far the re-weighted leaves are above another way, table by table: in points of test error, or in log loss."""
    scale, name, unit = (100.0, "test error", "points") if measure == "error" else (1.0, "log loss", "")
    ours, theirs = ([scale * value for value in _of(curves, one, share, measure)] for one in (LEAVES, way))
    more = [a - b for a, b in zip(ours, theirs, strict=True)]
    middle, off = mean(more), stdev(more) / len(more) ** 0.5 if len(more) > 1 else 0.0
    lower = sum(value < 0.0 for value in more)
    findings.add(
        Figure(
            f"{ensemble}, {LEAVES} at {share} of the nodes: {name} above theirs",
            way,
            unit,
            Spread(middle, middle - off, middle + off, min(more), max(more), len(more)),
            target,
            at_least=False,
            remark=f"{mean(ours):.4g} and {mean(theirs):.4g}; mean and a standard error over {len(more)} tables, "
            f"lower on {lower}",
        )
    )


def _wins(findings: Findings, ensemble: str, curves: Curves) -> None:
    """Share of tables and sizes on which we are better than LOP; a tie is half a win."""
    for measure, name in (("error", "test error"), ("log_loss", "log loss")):
        won = []
        for share in ("1/3", "1/10", "1/30"):
            pairs = zip(_of(curves, LEAVES, share, measure), _of(curves, LEVELS, share, measure), strict=True)
            won += [0.5 * ((a < b) + (a <= b)) for a, b in pairs]
        share_won = 100.0 * mean(won)
        findings.add(
            Figure(
                f"{ensemble}, {LEAVES}: tables and sizes (1/3, 1/10, 1/30) won by {name}",
                LEVELS,
                "%",
                Spread(share_won, share_won, share_won, 0.0, 100.0, len(won)),
                60.0 if findings.settings["half"] == "checking" else None,
                remark="a tie is half a win",
            )
        )


def _costs(findings: Findings, ensemble: str, curves: Curves) -> None:
    """Seconds to fit; bytes and microseconds before and after."""
    work = f"{ensemble}, {LEAVES} at 1/10 of the nodes"
    seconds = Spread.of(_of(curves, LEAVES, "1/10", "seconds"))
    findings.add(Figure(f"{work}: fit", "", "s", seconds, clock="cpu", remark="over tables"))
    for way in _common(curves):
        if way != LEAVES and "seconds" in curves[next(iter(curves))][way]["1/10"]:
            spread = Spread.of(_of(curves, way, "1/10", "seconds"))
            findings.add(
                Figure(f"{ensemble}, {way}, all sizes: fit", "", "s", spread, clock="cpu", remark="over tables")
            )
    for measure, name, unit in (
        ("us", "prediction", "us a row"),
        ("bytes", "size", "bytes"),
        ("packed", "packed size", "bytes"),
    ):
        before, after = (_of(curves, way, "1/10", measure) for way in (ALL, LEAVES))
        ratios = [a / max(b, 1e-9) for a, b in zip(before, after, strict=True)]
        remark = f"over tables, geometric mean {geometric_mean(ratios):.3g}; medians {median(before):.3g} and "
        findings.add(
            Figure(f"{work}: {name}", ALL, "x", Spread.of(ratios), remark=f"{remark}{median(after):.3g} {unit}")
        )


def _show(ensemble: str, curves: Curves) -> None:
    """The means over the tables that all ways have."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = 150
    shown = Table(
        title=f"{ensemble}, {len(curves)} tables: test error in %, log loss, packed bytes", title_justify="left"
    )
    shown.add_column("")
    for share in SHARES:
        shown.add_column(share, justify="right")
    for way in _common(curves):
        cells = []
        for share in SHARES:
            error, loss = (mean(_of(curves, way, share, measure)) for measure in ("error", "log_loss"))
            packed = [of[way][share].get("packed", 0.0) for of in curves.values()]
            size = f"  {mean(packed):,.0f}" if all(packed) else ""
            cells.append(f"{100.0 * error:.2f}  {loss:.4f}{size}")
        shown.add_row(way, *cells)
    console.print(shown)


def _named(known: Sequence[str], text: str | None) -> list[str]:
    """Names out of a list, in its order; None: all."""
    return [name for name in known if text is None or name in text.split(";")]


def main() -> None:
    """Measure, or draw what was measured."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--half", choices=["choosing", "checking"], default="checking")
    parser.add_argument("--ensembles", help="names, with semicolons between them")
    parser.add_argument("--ways", help="names, with semicolons between them")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--picture", type=Path)
    options, rest = parser.parse_known_args()
    if options.picture is not None:
        draw_curves(RESULTS / "pruning.json", options.picture)
        return
    ensembles, ways = _named(list(ENSEMBLES), options.ensembles), _named(list(WAYS), options.ways)
    name = "pruning" if options.half == "checking" else "pruning_choosing"
    command(name, measuring(options.half, ensembles, ways, options.minutes), arguments=rest)


if __name__ == "__main__":
    main()
