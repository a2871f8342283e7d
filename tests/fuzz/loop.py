"""The loop of a fuzzer: case after case, each from a seed of its own, so that any can be made again."""

from __future__ import annotations

import os
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.fuzz import Fuzzer, TooSlowError, time_limit

SLOWEST = 15.0 * (4.0 if "COMMITTEE_CORE" in os.environ else 1.0)
"""Seconds of a processor that a case may take; more on kernels that sanitizers slow down."""


@dataclass
class Findings:
    """Cases of one fuzzer, by how they ended, and the files of those that showed a fault."""

    name: str
    seed: int
    ended: Counter[str] = field(default_factory=Counter)
    faults: list[Path] = field(default_factory=list)
    seconds: float = 0.0
    slowest: float = 0.0

    def __str__(self) -> str:
        ways = ", ".join(f"{count:,} {way}" for way, count in self.ended.most_common())
        return (
            f"{self.name} with seed {self.seed}: {self.ended.total():,} cases in {self.seconds:.0f} s ({ways}; "
            f"the slowest took {self.slowest:.2f} s), {len(self.faults)} faults"
        )


def fuzz(
    name: str, tested: Fuzzer, seed: int, found: Path, *, seconds: float = float("inf"), cases: float = float("inf")
) -> Findings:
    """Run cases until the time or the number is reached; those that show a fault are left as files in `found`."""
    findings = Findings(name, seed)
    begun = time.monotonic()
    number = 0
    while number < cases and (findings.seconds < seconds or not number):
        case = tested.case(Random(f"{seed}/{name}/{number}"))
        # on the disk before it runs: a crash of the process leaves it there
        running = found / f"{name}-{seed}-{number}"
        running.write_bytes(case)
        before = time.process_time()
        try:
            with time_limit(SLOWEST):
                ended = tested.run(case)
            running.unlink()
        except (Exception, TooSlowError) as error:
            ended = type(error).__name__
            findings.faults.append(running)
            running.with_suffix(".txt").write_text(traceback.format_exc(), "utf-8")
        findings.slowest = max(findings.slowest, time.process_time() - before)
        findings.ended[ended] += 1
        number += 1
        findings.seconds = time.monotonic() - begun
    return findings
