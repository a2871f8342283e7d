"""A benchmark's result: its figures beside their targets, its timings and the machine; as a table and as JSON."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks import machine
from benchmarks.code import code_of
from benchmarks.pairing import Clock, Spread, Trial
from committee.files.writing import write_file

RESULTS = Path(__file__).parent / "results"
QUICK_RESULTS = RESULTS / "quick"
OTHER_PROCESSORS = RESULTS / "processors"
"""Full runs of before on processors other than the last run's, a file for each."""


@dataclass(frozen=True)
class Figure:
    """One number that is reported, most of them against a target."""

    work: str
    """What was done, with its size."""
    against: str
    """The other side of the ratio or difference; "" where the number stands alone."""
    unit: str
    reached: Spread
    target: float | None = None
    """None: for information."""
    at_least: bool = True
    """The target is a floor; else a ceiling."""
    clock: Clock | None = None
    wall: Spread | None = None
    """The same by wall time, where `reached` is by processor time."""
    remark: str = ""
    quality: str = ""
    """How good both sides' answers are, beside a ratio of their times: "error 26.8 / 26.9 %", ours first."""

    @property
    def met(self) -> bool | None:
        """Does the median reach the target? None where there is none."""
        if self.target is None:
            return None
        return self.reached.median >= self.target if self.at_least else self.reached.median <= self.target

    @property
    def target_text(self) -> str:
        """Such as "≥ 50 x"."""
        return "" if self.target is None else f"{'≥' if self.at_least else '≤'} {self.target:g} {self.unit}".rstrip()


@dataclass
class Findings:
    """What a benchmark gathers while it runs."""

    figures: list[Figure] = field(default_factory=list)
    timings: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    caption: str = ""
    """What the rows share or lack, below the table: how alike the contenders were told to be."""

    def add(self, figure: Figure) -> None:
        """Report a figure."""
        self.figures.append(figure)

    def record(self, title: str, trial: Trial) -> None:
        """Keep the seconds behind a figure."""
        self.timings[title] = {
            name: {
                "wall_seconds": asdict(Spread.of(trial.wall[name])),
                "cpu_seconds": asdict(Spread.of(trial.cpu[name])),
                "calls_per_measurement": trial.calls[name],
            }
            for name in trial.wall
        }

    def add_ratio(
        self,
        work: str,
        against: str,
        trial: Trial,
        slower: str,
        faster: str,
        target: float | None = None,
        *,
        quality: str = "",
    ) -> None:
        """Report how many times faster single-threaded work is: by processor time, and by wall time beside it."""
        self.record(work, trial)
        self.add(
            Figure(
                work,
                against,
                "x",
                trial.ratio(slower, faster, "cpu"),
                target,
                clock="cpu",
                wall=trial.ratio(slower, faster, "wall"),
                quality=quality,
            )
        )


Measure = Callable[[Findings, bool], None]


def command(name: str, measure: Measure, *, one_thread: bool = True, arguments: Sequence[str] | None = None) -> None:
    """What ``python -m benchmarks.bench_<name> [--quick]`` does: measure, print, write the JSON file.

    `one_thread` keeps every thread pool in the process (OpenMP, BLAS) to one thread. `arguments` are those of the
    command line that a benchmark with options of its own has not used up; None: all.
    """
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.bench_{name}", description=measure.__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes and few rounds, to see that it runs")
    quick: bool = parser.parse_args(arguments).quick
    if not quick and (other := _kept_from_another(name)):
        print(
            f"The kept results of {name} were measured on another processor, {other['machine']['processor']}; this one "
            f"is {machine.processor()}. Ratios between them are no change of the code; both will be kept."
        )
    here = machine.describe()  # compiles the floor's kernel, which may fail: not after the hours of a run
    findings, neighbours = Findings(), machine.Neighbours()
    if one_thread:
        with threadpool_limits(limits=1):
            measure(findings, quick)
    else:
        measure(findings, quick)
    document = {
        "benchmark": name,
        "quick": quick,
        "code": code_of(measure.__module__),
        "machine": here,
        "used_by_others": neighbours.share(),
        "settings": findings.settings,
        "caption": findings.caption,
        "figures": [_figure_json(figure) for figure in findings.figures],
        "timings": findings.timings,
    }
    folder = QUICK_RESULTS if quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    if not quick:
        _keep_of_processors(name)
    write_file(folder / f"{name}.json", json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    show(name, document, findings.figures)


def load() -> list[dict[str, Any]]:
    """The documents of all last full runs, by name; results of another form, as those of `before_after`, are none."""
    return _documents(RESULTS)


def load_of_other_processors() -> list[dict[str, Any]]:
    """The documents of full runs on other processors than the last run's, by name."""
    return _documents(OTHER_PROCESSORS)


def _documents(folder: Path) -> list[dict[str, Any]]:
    documents = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.json"))]
    return [document for document in documents if "benchmark" in document]


def _kept_from_another(name: str) -> dict[str, Any] | None:
    """The kept results, if they are those of another processor."""
    file = RESULTS / f"{name}.json"
    if not file.exists():
        return None
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return None if document["machine"]["processor"] == machine.processor() else document


def _keep_of_processors(name: str) -> None:
    """Put aside what another processor reached; what this one did before is replaced."""
    _of_processor(name, machine.processor()).unlink(missing_ok=True)
    if (other := _kept_from_another(name)) is not None:
        OTHER_PROCESSORS.mkdir(exist_ok=True)
        file = _of_processor(name, other["machine"]["processor"])
        write_file(file, json.dumps(other, indent=1, ensure_ascii=False) + "\n")


def _of_processor(name: str, processor: str) -> Path:
    brand = re.sub(r"[^a-z0-9]+", "-", processor.split(", L1")[0].lower()).strip("-")
    return OTHER_PROCESSORS / f"{name}, {brand}.json"


def _figure_json(figure: Figure) -> dict[str, Any]:
    return {**asdict(figure), "met": figure.met, "target_text": figure.target_text}


def short(x: float) -> str:
    """Three digits that matter."""
    return f"{x:.0f}" if abs(x) >= 100 else f"{x:.3g}"


def quartiles(spread: dict[str, Any]) -> str:
    """Such as "51.2 .. 53"."""
    return f"{short(spread['lower_quartile'])} .. {short(spread['upper_quartile'])}"


def both(what: str, ours: float, theirs: float, digits: int = 3, unit: str = "") -> str:
    """How good both sides are, the less the better: "error 26.8 / 26.9 %"; what looks worse is called so."""
    said = [f"{value:.{digits}f}" for value in (ours, theirs)]
    return f"{what} {said[0]} / {said[1]}{unit}{': worse' if float(said[0]) > float(said[1]) else ''}"


def verdict(met: bool | None) -> str:
    """Word for it; nothing where there was no target."""
    return "" if met is None else "yes" if met else "NO"


def show(name: str, document: dict[str, Any], figures: list[Figure]) -> None:
    """Print the figures, and the seconds they come from."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = 150
    others = document["used_by_others"]
    busy = "" if others is None else f"; others used {others:.0%} of the processors"
    caption = document["caption"]
    title = f"{name}{' (quick)' if document['quick'] else ''}{busy}"
    table = Table(title=title, title_justify="left", caption=caption or None, caption_justify="left")
    for heading in ("work", "against", "target", "median", "quartiles", "by wall time", "quality", "met"):
        table.add_column(heading, justify="left" if heading in ("work", "against", "quality") else "right")
    for figure in figures:
        table.add_row(
            figure.work + (f" ({figure.remark})" if figure.remark else ""),
            figure.against,
            figure.target_text,
            f"{short(figure.reached.median)} {figure.unit}",
            quartiles(asdict(figure.reached)),
            f"{short(figure.wall.median)}" if figure.wall else "",
            figure.quality,
            verdict(figure.met),
        )
    console.print(table)
    seconds = Table(title="milliseconds", title_justify="left")
    for heading in ("work", "contender", "cpu", "quartiles", "wall", "quartiles"):
        seconds.add_column(heading, justify="left" if heading in ("work", "contender") else "right")
    for title, contenders in document["timings"].items():
        for contender, clocks in contenders.items():
            cells: list[str] = []
            for clock in ("cpu_seconds", "wall_seconds"):
                ms = {key: 1e3 * value for key, value in clocks[clock].items()}
                cells += [short(ms["median"]), quartiles(ms)]
            seconds.add_row(title, contender, *cells)
    if document["timings"]:
        console.print(seconds)
