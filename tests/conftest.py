"""The same surroundings for every test, Hypothesis profiles, and the kernels to test if not the installed ones."""

import importlib.util
import os
import signal
import sys
from pathlib import Path
from random import Random
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

# BLAS and OpenMP read these when they are loaded: one thread, as workers of pytest share the processors
for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR"):
    os.environ[f"{name}_NUM_THREADS"] = "1"

# neither the settings of this user's pictures nor a home folder that can be written to
os.environ.setdefault("MPLCONFIGDIR", str(Path(__file__).resolve().parent.parent / "build" / "matplotlib"))

# processes of tests print in the encoding in which tests read their output, not in that of the locale
os.environ["PYTHONIOENCODING"] = "utf-8"

SIGNALS = ("SIGINT", "SIGTERM", "SIGALRM", "SIGPROF", "SIGCHLD")
"""Signals that tests use. Not SIGHUP: tests that `nohup` starts go on when their terminal is closed."""

OUTPUT = (
    *("FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS", "NO_COLOR", "CLICOLOR", "GITHUB_ACTIONS"),
    *("TTY_COMPATIBLE", "TTY_INTERACTIVE", "TERMINAL_WIDTH", "COLUMNS", "LINES", "JUPYTER_COLUMNS", "JUPYTER_LINES"),
)
"""Environment variables that change what rich and typer print."""


def restore_signals() -> None:
    """Restore the signals that the parent process has ignored or blocked, here and for the processes of tests."""
    numbers = [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
    for number in numbers:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)


restore_signals()


@pytest.hookimpl(trylast=True)  # after pytest has read them for its own output
def pytest_configure() -> None:
    for name in OUTPUT:
        os.environ.pop(name, None)


# the same examples in every run, so that a failure is of the change and not of the day; new ones if they are asked for
SAME = "COMMITTEE_NEW_EXAMPLES" not in os.environ
settings.register_profile("default", deadline=None, max_examples=12, derandomize=SAME)
settings.register_profile("all", deadline=None, max_examples=60, derandomize=SAME)
settings.register_profile(
    "sanitize",
    deadline=None,
    max_examples=15,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
    derandomize=SAME,
)
settings.load_profile("default")


def use_kernels(path: Path) -> None:
    """Makes the extension module at ``path`` the one that ``committee._core`` names.

    It must come before the first import of the package, which would load the installed one.
    """
    name = "committee._core"
    if "committee" in sys.modules:
        raise RuntimeError("COMMITTEE_CORE is set, but committee was imported before tests/conftest.py")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise RuntimeError(f"COMMITTEE_CORE={path} is not an extension module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    import committee

    committee._core = module


if "COMMITTEE_CORE" in os.environ:
    use_kernels(Path(os.environ["COMMITTEE_CORE"]))


def pytest_report_header() -> str:
    from committee import _core

    return f"kernels: {_core.__file__}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", metavar="K/N", help="run one of N parts of the tests, K from 0 to N - 1")
    parser.addoption("--shuffle", metavar="SEED", help="run the files, and the tests of each, in a random order")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the cases that `one_in` leaves out as slow; keep one part of the tests, or shuffle them, if asked for.

    All of it follows from the tests' names: a test belongs to the same part in every run.
    """
    for cases in cases_by_test(items).values():
        mark = cases[0].get_closest_marker("one_in")
        if mark is not None:
            first = crc32(cases[0].nodeid.partition("[")[0].encode()) % min(mark.args[0], len(cases))
            for place, case in enumerate(cases):
                if (place - first) % mark.args[0]:
                    case.add_marker(pytest.mark.slow)
    if (chosen := config.getoption("--part")) is not None:
        part, n_parts = part_of_tests(chosen)
        here = [crc32(item.nodeid.encode()) % n_parts == part for item in items]
        config.hook.pytest_deselected(items=[item for item, kept in zip(items, here, strict=True) if not kept])
        items[:] = [item for item, kept in zip(items, here, strict=True) if kept]
    if (seed := config.getoption("--shuffle")) is not None:

        def place_of(text: str) -> float:
            return Random(f"{seed} {text}").random()

        items.sort(key=lambda item: (place_of(item.nodeid.partition("::")[0]), place_of(item.nodeid)))


def part_of_tests(text: str) -> tuple[int, int]:
    part, slash, n_parts = text.partition("/")
    if not (slash and part.isdecimal() and n_parts.isdecimal() and int(part) < int(n_parts)):
        raise pytest.UsageError(f"--part={text}: give K/N with 0 <= K < N, such as 3/10")
    return int(part), int(n_parts)


def cases_by_test(items: list[pytest.Item]) -> dict[str, list[pytest.Item]]:
    """The cases of each parametrised test."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return cases
