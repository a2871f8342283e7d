"""Fuzzers: cases made at random, from a seed that is printed, until one shows a fault."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from random import Random
from typing import Protocol

FUZZERS = {
    "checkpoint_files": ("tests.fuzz.checkpoint_files:CheckpointFiles", 50),
    "commands": ("tests.fuzz.commands:Commands", 40),
    "dialects": ("tests.fuzz.dialects:Dialects", 15),
    "frames": ("tests.fuzz.frames:Frames", 8),
    "inputs": ("tests.fuzz.inputs:Inputs", 40),
    "kills": ("tests.fuzz.checkpoint_files:Kills", 6),
    "model_files": ("tests.fuzz.model_files:ModelFiles", 800),
    "storms": ("tests.fuzz.inputs:Storms", 100),
}
"""Fuzzers by name, and the cases of each in a round, some three seconds: unlike a time, the same anywhere.

A further one is a class as `Fuzzer` describes it, and a line here.
"""

SLOWEST = 15.0 * (4.0 if "COMMITTEE_CORE" in os.environ else 1.0)
"""Seconds of a processor that a case may take; more on kernels that sanitizers slow down."""

CORPUS = Path(__file__).parent / "corpus"
"""Cases that once showed a fault, a folder for each fuzzer: ``test_corpus`` runs each."""


class Fuzzer(Protocol):
    """Makes cases and runs them; a case is all bytes, so that it can be kept as a file."""

    def __init__(self, folder: Path) -> None:
        """`folder` is empty and the fuzzer's own."""

    def case(self, random: Random) -> bytes:
        """Make the next case."""

    def run(self, case: bytes) -> str:
        """Run a case, and say in a word how it ended; any exception is a fault."""


def fuzzer(name: str, folder: Path) -> Fuzzer:
    """The fuzzer of that name, with a folder to work in."""
    made: Fuzzer = resolve_name(FUZZERS[name][0])(folder)
    return made


class TooSlowError(BaseException):
    """A case took longer than it may; no ``except Exception`` of what is tested stops it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Interrupt what takes more processor time, by `TooSlowError`; and end the process if that does not help.

    A busy machine makes nothing slow. What waits without an end is stopped by the second limit, of the clock's time.
    """

    def stop(*_: object) -> None:
        raise TooSlowError(f"it takes more than {seconds:g} s of a processor")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    faulthandler.dump_traceback_later(20 * seconds, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGPROF, before)


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
