"""What this processor can do at best, by a program of its own, and the histogram's ways beside the library's."""

from __future__ import annotations

from benchmarks.figures import Figure, Findings, command
from benchmarks.floor import floor_of, ways_of
from benchmarks.pairing import Spread


def measure(findings: Findings, quick: bool) -> None:
    """Additions to cells in cache, reading, the meeting of threads, scans; the best of the histogram's ways."""
    rows = 100_000 if quick else 1_000_000
    findings.settings = {"rows": rows, "columns": 28, "bins": 255}
    for name, value in floor_of().items():
        unit = "GB/s" if name.startswith("reading") else "ns"
        findings.add(Figure(name, "", unit, Spread.of(value)))
    for table, ways in ways_of(rows).items():
        ours = ways.pop("the library's")
        best = min(ways, key=lambda way: ways[way])
        for way, ns in {"the library's": ours, **ways}.items():
            findings.add(Figure(f"histogram, {table}: {way}, per row and column", "", "ns", Spread.of(ns)))
        findings.add(
            Figure(
                f"histogram, {table}: the library's over the best way's",
                best,
                "x",
                Spread.of(ours / ways[best]),
                1.15,
                at_least=False,
                clock="cpu",
            )
        )


if __name__ == "__main__":
    command("floor", measure)
