"""The kernels built once more with a compiler's instruments, and the tests run on them.

The installed kernels stay as they are. Run as ``python tests/instrumented.py sanitize [pytest arguments]`` for the
kernel tests under AddressSanitizer and UndefinedBehaviorSanitizer, ``sanitize fuzz --minutes 10`` for the fuzzers under
these, and ``gcov [pytest arguments]`` for the lines and branches of the kernels that the tests run (needs gcovr).
The build is handed to the tests by the environment variable COMMITTEE_CORE, which ``tests/conftest.py`` reads. Needs
cmake, ninja and GCC.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
JOBS = os.environ.get("JOBS", "2")
SANITIZED = (
    "tests/core",
    "tests/voters/test_forest.py",
    "tests/voters/test_model_forest.py",
    "tests/files",
    "tests/fuzz",
)
COUNTED = (
    "tests/core",
    "tests/voters",
    "tests/learners/gradient",
    "tests/learners/boosting",
    "tests/learners/trees",
    "tests/vote/test_committee.py",
)
LEAST = "95"
"""Percent of the lines."""


def tool(name: str) -> str:
    """A program of this Python's environment, or else of the PATH."""
    beside = shutil.which(name, path=sysconfig.get_path("scripts"))
    found = beside or shutil.which(name)
    if found is None:
        raise SystemExit(f"{name} is needed: install it with the system's package manager or pip")
    return found


def build(folder: str, option: str, mark: bytes) -> Path:
    """The extension module built in a folder of ``build`` with an option of CMakeLists.txt, which leaves a mark."""
    place = ROOT / "build" / folder
    cmake = tool("cmake")
    configure = [
        *(cmake, "-S", str(ROOT), "-B", str(place), "-G", "Ninja", "--log-level=WARNING"),
        *(f"-D{option}=ON", "-DCMAKE_BUILD_TYPE=Debug", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"),
        *(f"-DCMAKE_CXX_COMPILER={tool('g++')}", f"-DPython_EXECUTABLE={sys.executable}"),
    ]
    subprocess.run(configure, check=True)
    subprocess.run([cmake, "--build", str(place), "-j", JOBS], check=True)
    core = place / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    if mark not in core.read_bytes():
        raise SystemExit(f"{core} is not instrumented: is {option} still an option of CMakeLists.txt?")
    return core


def runtime(library: str) -> str:
    """Where the compiler keeps a library."""
    answer = subprocess.run(
        [tool("g++"), f"-print-file-name={library}"], check=True, capture_output=True, encoding="utf-8"
    )
    path = Path(answer.stdout.strip())
    if not path.is_absolute():
        raise SystemExit(f"sanitize needs {library}, which {tool('g++')} does not have")
    return str(path.resolve())


def environment(core: Path) -> dict[str, str]:
    """The interpreter is not instrumented, so the sanitizers' runtimes must be loaded before it starts.

    libstdc++ comes along: AddressSanitizer looks for ``__cxa_throw`` at once, and Python does not link to it.
    Leaks are not looked for: the interpreter itself never frees everything.
    """
    libraries = [runtime("libasan.so"), runtime("libubsan.so"), runtime("libstdc++.so.6")]
    return os.environ | {
        "COMMITTEE_CORE": str(core),
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    }


def sanitize(arguments: list[str]) -> int:
    if arguments[:1] == ["fuzz"]:
        command = [sys.executable, "-m", "tests.fuzz", *arguments[1:]]
    else:
        chosen = arguments or [*SANITIZED, "-n", JOBS]
        # --capture=sys leaves the true stderr alone: a sanitizer reports there, then ends the process
        command = [sys.executable, "-m", "pytest", "-q", "--capture=sys", "--hypothesis-profile=sanitize", *chosen]
    core = build("asan", "COMMITTEE_SANITIZE", mark=b"__asan_init")
    return subprocess.run(command, cwd=ROOT, env=environment(core)).returncode


def gcov(arguments: list[str]) -> int:
    core = build("gcov", "COMMITTEE_COVERAGE", mark=b"__gcov_exit")
    for counts in core.parent.rglob("*.gcda"):  # of the run before
        counts.unlink()
    chosen = arguments or [*COUNTED, "-n", JOBS]
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen]
    failed = subprocess.run(tests, cwd=ROOT, env=os.environ | {"COMMITTEE_CORE": str(core)}).returncode
    report = [sys.executable, "-m", "gcovr", "--root", str(ROOT), "--filter", "core/", str(core.parent)]
    report += ["--merge-lines"]  # the instances of a template are one piece of code
    # exceptions of the standard library make a branch of every call
    report += ["--exclude-throw-branches", "--exclude-unreachable-branches", "--fail-under-line", LEAST]
    return subprocess.run(report, cwd=ROOT).returncode or failed


if __name__ == "__main__":
    raise SystemExit({"sanitize": sanitize, "gcov": gcov}[sys.argv[1]](sys.argv[2:]))
