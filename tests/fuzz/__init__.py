"""Fuzzers: cases made at random, from a seed that is printed, until one shows a fault."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name
from random import Random
from typing import Protocol

FUZZERS = {
    "checkpoint_files": "tests.fuzz.checkpoint_files:CheckpointFiles",
    "commands": "tests.fuzz.commands:Commands",
    "dialects": "tests.fuzz.dialects:Dialects",
    "frames": "tests.fuzz.frames:Frames",
    "inputs": "tests.fuzz.inputs:Inputs",
    "kills": "tests.fuzz.checkpoint_files:Kills",
    "model_files": "tests.fuzz.model_files:ModelFiles",
    "storms": "tests.fuzz.inputs:Storms",
}
"""Fuzzers by name; a further one is a class as `Fuzzer` describes it, and a line here."""

ROUND = {
    "checkpoint_files": 50,
    "commands": 40,
    "dialects": 15,
    "frames": 8,
    "inputs": 40,
    "kills": 6,
    "model_files": 800,
    "storms": 100,
}
"""Cases of each fuzzer in a round, some three seconds of each; unlike a time, the same anywhere."""

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
    made: Fuzzer = resolve_name(FUZZERS[name])(folder)
    return made


class TooSlowError(BaseException):
    """A case took longer than it may; no ``except Exception`` of what is tested stops it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Interrupt what takes more processor time, by `TooSlowError`; and end the process if that does not help.

    A busy machine makes nothing slow. What waits without an end is stopped by the second limit, of the clock's time.
    """
    import faulthandler
    import signal
    import sys

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
