"""The tests that processes, signals, files, terminals, dates and caches could disturb, in unusual surroundings.

Run as ``python tests/anywhere.py [pytest arguments]``; arguments replace the chosen tests, and ``--only WORD`` selects
the surroundings whose name has the word. As many as JOBS, 2 by default, are tried at the same time, so that runs that
share a machine and a clone are tried too. The output of each is in ``build/anywhere``.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
JOBS = int(os.environ.get("JOBS", "2"))
LOGS = ROOT / "build" / "anywhere"

INTERRUPTS = (
    "tests/core/test_threads.py",
    "tests/learners/base/test_interrupts.py::test_a_signal_ends_the_threads_of_a_pool",
    "tests/learners/base/test_interrupts.py::test_a_signal_ends_a_certificate",
    "tests/learners/base/test_interrupts.py::test_a_signal_ends_a_comparison",
    "tests/learners/blend/test_callbacks.py",
    "tests/objectives/programs/test_programs.py",
    "tests/dask/test_failures.py::test_an_interrupt_cancels_what_is_left",
    "tests/cli/test_fit.py::test_ctrl_c_ends_the_training_and_the_model_is_written",
    "tests/cli/test_fit.py::test_ctrl_c_before_a_member_is_ready_ends_the_command",
    "tests/cli/test_pieces.py::test_a_command_that_is_ended_leaves_no_scratch_folder",
    "tests/cli/test_terminal.py::test_an_interrupt_says_what_is_written",
)
PROCESSES = (
    "tests/cli/test_terminal.py",
    "tests/cli/test_cli.py::test_a_terminal_has_a_bar_of_progress",
    "tests/cli/test_cli.py::test_as_a_process",
    "tests/cli/test_cli.py::test_a_closed_pipe_is_no_error",
    "tests/core/test_threads.py::test_a_forked_child_can_use_threads_too",
    "tests/dask/test_failures.py::test_workers_are_killed",
    "tests/dask/test_failures.py::test_two_fits_at_once",
    "tests/files/test_writing.py",
    "tests/test_extras.py",
    "tests/test_docs.py::test_example_runs[small_ensemble.py]",
)
COMMANDS = (
    "tests/cli/test_fit.py",
    "tests/cli/test_reports.py",
    "tests/cli/test_tables.py",
    "tests/cli/test_terminal.py",
)
FILES = (
    "tests/data/out_of_core/test_sources.py",
    "tests/data/readers/test_tables.py",
    "tests/files/test_journal.py",
    "tests/files/test_store.py",
)
DATES = ("tests/data/test_dates.py", "tests/data/test_table_schema.py", "tests/cli/test_tables.py")
CACHES = ("tests/report/displays", "tests/mlflow", "tests/vote/explain/test_contributions.py")


@dataclass(frozen=True)
class Surrounding:
    """Environment variables (`None`: unset), options of pytest, and code that its process runs before it."""

    name: str
    tests: tuple[str, ...]
    environment: dict[str, str | None]
    before: str = ""
    options: tuple[str, ...] = ()


def surroundings(temporary: Path, seed: int) -> Iterator[Surrounding]:
    """Yield the surroundings, those that take longest first."""
    signals = "(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)"
    yield Surrounding(
        "one busy processor",
        INTERRUPTS,
        {"JOBS": "1"},
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "tests = os.getpid()\n"
        "if any(not os.fork() for _ in range(2)):\n"
        "    while os.getppid() == tests: pass\n"
        "    os._exit(0)",
    )
    yield Surrounding(
        "signals ignored",
        (*INTERRUPTS, *PROCESSES),
        {},
        f"for each in {signals}: signal.signal(each, signal.SIG_IGN)",
    )
    yield Surrounding("signals blocked", INTERRUPTS, {}, f"signal.pthread_sigmask(signal.SIG_BLOCK, {signals})")
    yield Surrounding(
        "no terminal, no stdin", (*PROCESSES, *COMMANDS), {"TERM": None, "NO_COLOR": "1"}, "os.setsid(); os.close(0)"
    )
    yield Surrounding(
        "colours, 40 columns",
        (*PROCESSES, *COMMANDS),
        {"FORCE_COLOR": "1", "CI": "true", "GITHUB_ACTIONS": "true", "COLUMNS": "40", "TERM": "xterm-256color"},
    )
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": None}
    yield Surrounding("C locale", (*PROCESSES, *COMMANDS, *FILES), locale)
    yield Surrounding("temporary folder", (*PROCESSES, *FILES), {"TMPDIR": str(temporary)})
    no_home = {"HOME": os.devnull, "XDG_CACHE_HOME": None, "XDG_CONFIG_HOME": None, "MPLCONFIGDIR": None}
    yield Surrounding("no home folder", (*PROCESSES, *CACHES), no_home)
    yield Surrounding("HOME unset", CACHES, no_home | {"HOME": None})
    for zone in ("Asia/Kolkata", "America/St_Johns"):
        yield Surrounding(zone, DATES, {"TZ": zone})
    yield Surrounding(f"random order {seed}", (*COMMANDS, *FILES, *DATES, *CACHES), {}, options=(f"--shuffle={seed}",))


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a folder with a space and umlauts in its name."""
    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder) / os.fsdecode("ä ö".encode())  # in any locale
        inner.mkdir()
        yield inner


def run(surrounding: Surrounding, arguments: list[str]) -> bool:
    """Run tests in a surrounding and print a line; return True if they pass."""
    environment = {**os.environ, **surrounding.environment}
    pytest = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--color=no",
        "-m",
        "not hours and not browser",
    ]
    tests = arguments or list(dict.fromkeys(surrounding.tests))
    before = f"import os, signal, sys\n{surrounding.before}\nos.execv(sys.argv[1], sys.argv[1:])"
    log = LOGS / (re.sub(r"\W+", "_", surrounding.name) + ".txt")
    begun = time.monotonic()
    with log.open("wb") as file:
        done = subprocess.run(
            [sys.executable, "-c", before, *pytest, *surrounding.options, *tests],
            cwd=ROOT,
            env={name: value for name, value in environment.items() if value is not None},
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    output = log.read_text("utf-8", "replace").splitlines()
    passed, failed = (
        sum(int(n) for n in re.findall(rf"(\d+) (?:{words})", output[-1] if output else ""))
        for words in ("passed", "failed|error")
    )
    print(f"{surrounding.name:<24} {passed:>7} {failed:>7} {time.monotonic() - begun:>9.0f}", flush=True)
    if done.returncode:
        print(*(line for line in output if line.startswith(("FAILED", "ERROR"))), f"see {log}", sep="\n", flush=True)
    return done.returncode == 0


def main(arguments: list[str]) -> int:
    options = argparse.ArgumentParser(allow_abbrev=False)
    options.add_argument("--only", default="", metavar="WORD", help="part of the name of a surrounding")
    given, arguments = options.parse_known_args(arguments)
    LOGS.mkdir(parents=True, exist_ok=True)
    with temporary_folder() as temporary, ThreadPoolExecutor(JOBS) as pool:
        tried = [each for each in surroundings(temporary, random.randrange(10_000)) if given.only in each.name]
        if not tried:
            options.error(f"no surrounding has {given.only!r} in its name")
        print(f"{'surrounding':<24} {'passed':>7} {'failed':>7} {'time (s)':>9}", flush=True)
        return 0 if all(list(pool.map(lambda each: run(each, arguments), tried))) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
