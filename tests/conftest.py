"""Hypothesis profiles, and the kernels to test when they are not the installed ones."""

import importlib.util
import os
import sys
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

# the same examples in every run, so that a failure is of the change and not of the day; new ones if they are asked for
SAME = "COMMITTEE_NEW_EXAMPLES" not in os.environ
settings.register_profile("default", deadline=None, max_examples=20, derandomize=SAME)
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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the cases that `one_in` leaves out as slow, and keep the part of all tests that is asked for.

    Both follow from the tests' names: a test belongs to the same part in every run.
    """
    for cases in cases_by_test(items).values():
        mark = cases[0].get_closest_marker("one_in")
        if mark is not None:
            first = crc32(cases[0].nodeid.partition("[")[0].encode()) % min(mark.args[0], len(cases))
            for place, case in enumerate(cases):
                if (place - first) % mark.args[0]:
                    case.add_marker(pytest.mark.slow)
    if config.option.part is not None:
        part, n_parts = map(int, config.option.part.split("/"))
        here = [crc32(item.nodeid.encode()) % n_parts == part for item in items]
        config.hook.pytest_deselected(items=[item for item, kept in zip(items, here, strict=True) if not kept])
        items[:] = [item for item, kept in zip(items, here, strict=True) if kept]


def cases_by_test(items: list[pytest.Item]) -> dict[str, list[pytest.Item]]:
    """The cases of each parametrised test."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return cases
