"""How long an import takes in a fresh interpreter, beside ``import sklearn.ensemble``."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable

from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import collect

STATEMENTS = {
    "nothing": "pass",
    "scikit-learn": "import sklearn.ensemble",
    "committee": "import committee",
    "all names": "from committee import *",
}


def fresh(statement: str) -> Callable[[], tuple[float, float]]:
    """Wall and processor seconds of a new interpreter that does this and ends."""

    def once() -> tuple[float, float]:
        start = time.perf_counter()
        child = subprocess.Popen([sys.executable, "-c", statement])
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise RuntimeError(f"a fresh interpreter could not run {statement!r}: exit code {child.returncode}")
        return wall, usage.ru_utime + usage.ru_stime

    return once


def measure(findings: Findings, quick: bool) -> None:
    """Import time in fresh interpreters: committee minus sklearn.ensemble."""
    rounds = 3 if quick else 25
    findings.settings = {"rounds": rounds}
    measures = {name: fresh(statement) for name, statement in STATEMENTS.items()}
    collect(measures, 1)  # byte code compiled, files in the page cache
    trial = collect(measures, rounds)
    findings.record("a fresh interpreter", trial)
    for name in ("committee", "all names"):
        findings.add(
            Figure(
                f"{STATEMENTS[name]}: seconds more",
                STATEMENTS["scikit-learn"],
                "s",
                trial.difference(name, "scikit-learn", "cpu"),
                target=0.25,
                at_least=False,
                clock="cpu",
                wall=trial.difference(name, "scikit-learn", "wall"),
            )
        )


if __name__ == "__main__":
    command("import", measure, one_thread=False)
