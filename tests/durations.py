"""Processor time of the tests, by kind and by file.

``python -m tests.durations [pytest's arguments]`` runs the tests of ``make test`` and prints the table. As a pytest
plugin (``-p tests.durations``) the module adds the processor time of each phase to its report, that of children that
have ended included.
"""

import os
import sys
from collections import defaultdict
from collections.abc import Generator
from typing import Any

import pytest

KINDS = {
    "scikit-learn's checks": (
        "tests/learners/base/test_estimator_checks.py",
        "tests/learners/reweighting/test_reweighter_checks.py",
    ),
    "capabilities": ("tests/learners/base/test_capabilities.py",),
    "learners, in common": ("tests/learners/base/",),
    "committee of ensembles": ("tests/learners/blend/",),
    "trained ensembles": ("tests/learners/reweighting/", "tests/learners/pruning/", "tests/learners/certificates/"),
    "learners, each": ("tests/learners/",),
    "documents": ("tests/test_docs.py", "tests/test_extending.py"),
    "architecture": ("tests/test_architecture.py", "tests/test_project_files.py"),
    "golden files": ("tests/test_golden_files.py",),
    "kernels": ("tests/core/",),
    "clusters": ("tests/dask/",),
    "fuzzers": ("tests/fuzz/",),
    "papers": ("tests/papers/",),
    "command line": ("tests/cli/",),
    "reports": ("tests/report/",),
    "other runtimes": ("tests/onnx/", "tests/mlflow/", "tests/vote/exports/", "tests/vote/adapters/"),
    "data": ("tests/data/",),
    "voters and votes": ("tests/vote/", "tests/voters/"),
}
"""Kind of test -> where the tests of this kind are; the first that fits counts."""


def cpu_seconds() -> tuple[float, float]:
    """Processor time of this process, and of its children that have ended."""
    times = os.times()
    return times.user + times.system, times.children_user + times.children_system


def kind_of(nodeid: str) -> str:
    return next((kind for kind, places in KINDS.items() if nodeid.startswith(places)), "others")


class Durations:
    """Processor seconds of each test, collected from the reports of all processes."""

    def __init__(self) -> None:
        self._mark = cpu_seconds()
        self.own: dict[str, float] = defaultdict(float)
        self.children: dict[str, float] = defaultdict(float)
        self.collection = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, Any, Any]:
        self._mark = cpu_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        report = yield
        now = cpu_seconds()
        report.cpu_seconds = [after - before for before, after in zip(self._mark, now, strict=True)]
        self._mark = now
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        own, children = getattr(report, "cpu_seconds", (0.0, 0.0))  # a process that crashed reports none
        self.own[report.nodeid] += own
        self.children[report.nodeid] += children

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is None:
            self.collection += sum(cpu_seconds())
        else:
            output["collection_seconds"] = sum(cpu_seconds())

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.collection += getattr(node, "workeroutput", {}).get("collection_seconds", 0.0)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.section("processor time")
        for line in self.table():
            terminalreporter.write_line(line)

    def table(self, longest: int = 40) -> list[str]:
        """Rows of kinds, then of the longest files, each with its tests, its seconds and those of its children."""
        lines = [f"collection, of all processes: {self.collection:.0f} s", ""]
        for heading, group in (("kind", kind_of), ("file", lambda nodeid: nodeid.partition("::")[0])):
            rows: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
            for nodeid, seconds in self.own.items():
                row = rows[group(nodeid)]
                row[0] += 1
                row[1] += seconds + self.children[nodeid]
                row[2] += self.children[nodeid]
            lines.append(f"{heading:60} {'tests':>7} {'s':>8} {'of it children':>15} {'ms a test':>10}")
            for name, (count, total, children) in sorted(rows.items(), key=lambda row: -row[1][1])[:longest]:
                lines.append(f"{name:60} {count:7.0f} {total:8.1f} {children:15.1f} {1000 * total / count:10.1f}")
            total, children = (sum(row[k] for row in rows.values()) for k in (1, 2))
            lines += [f"{'all':60} {len(self.own):7} {total:8.1f} {children:15.1f}", ""]
        return lines


def pytest_configure(config: pytest.Config) -> None:
    if not config.pluginmanager.has_plugin("durations of tests"):
        config.pluginmanager.register(Durations(), "durations of tests")


if __name__ == "__main__":
    sys.exit(pytest.main(["-p", "tests.durations", *(sys.argv[1:] or ["-n", "2", "--dist", "worksteal"])]))
