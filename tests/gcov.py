"""Which lines and branches of the kernels the tests run, by gcov.

Run as ``python tests/gcov.py [pytest arguments]``. Needs gcovr besides what `tests.instrumented` needs.
"""

import os
import subprocess
import sys

from instrumented import JOBS, ROOT, build

TESTS = (
    "tests/core",
    "tests/voters",
    "tests/learners/gradient",
    "tests/learners/boosting",
    "tests/learners/trees",
    "tests/vote/test_committee.py",
)
LEAST = "95"
"""Percent of the lines."""


def main(arguments: list[str]) -> int:
    core = build("gcov", "COMMITTEE_COVERAGE", mark=b"__gcov_exit")
    for counts in core.parent.rglob("*.gcda"):  # of the run before
        counts.unlink()
    chosen = arguments or [*TESTS, "-n", JOBS]
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen]
    failed = subprocess.run(tests, cwd=ROOT, env=os.environ | {"COMMITTEE_CORE": str(core)}).returncode
    report = [sys.executable, "-m", "gcovr", "--root", str(ROOT), "--filter", "core/", str(core.parent)]
    report += ["--merge-lines"]  # the instances of a template are one piece of code
    # exceptions of the standard library make a branch of every call
    report += ["--exclude-throw-branches", "--exclude-unreachable-branches", "--fail-under-line", LEAST]
    return subprocess.run(report, cwd=ROOT).returncode or failed


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
