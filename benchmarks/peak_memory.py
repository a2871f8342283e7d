"""Peak memory of fits above their input, each in a process of its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.pairing import Spread

MB = 1e6
FIT_IN = "--fit-in"
"""Before a folder and the name of a program: the benchmark is to read the table there, fit, and print the peak."""


def peak_bytes() -> int:
    """The most memory that this process ever held."""
    status = Path("/proc/self/status")
    if status.exists():
        # Linux lets ru_maxrss inherit from the process that started this one; this counter begins anew
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        return int(fields["VmHWM"].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def print_peak(model: Any, X: Any, y: Any, first: int = 1_000) -> None:
    """Fit, and print the peak above the input and a fit of the first rows."""
    model.fit(X[:first], y[:first])  # what libraries load when they are first used
    before = peak_bytes()
    model.fit(X, y)
    print(json.dumps({"above": peak_bytes() - before}))


def memory_figure(work: str, benchmark: str, folder: str, ours: str, peers: Sequence[str]) -> Figure:
    """Peaks of programs that a benchmark fits to the table of a folder; ours is to be at most the leanest peer's."""
    above: dict[str, float] = {}
    for name in (ours, *peers):
        here = [sys.executable, "-m", f"benchmarks.bench_{benchmark}", FIT_IN, folder, name]
        done = subprocess.run(here, check=True, capture_output=True, text=True)
        above[name] = json.loads(done.stdout)["above"] / MB
    leanest = min(peers, key=lambda name: above[name])
    return Figure(
        f"{work}: peak memory above the input",
        leanest,
        "MB",
        Spread.of(above[ours]),
        target=round(above[leanest], 1),
        at_least=False,
        remark=", ".join(f"{name} {mb:.0f}" for name, mb in above.items()),
    )
