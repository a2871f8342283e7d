"""The kernel tests once more, on kernels built under AddressSanitizer and UndefinedBehaviorSanitizer.

Run as ``python tests/sanitize.py [pytest arguments]``, or ``python tests/sanitize.py fuzz --minutes 10`` for the
fuzzers on these kernels. The instrumented extension is built in ``build/asan``
and handed to the tests by the environment variable COMMITTEE_CORE, which ``tests/conftest.py`` reads; the one
that is installed stays as it is. Needs cmake, ninja and GCC.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "asan"
TESTS = (
    "tests/core",
    *(f"tests/voters/test_{name}.py" for name in ("forest", "rounds", "model_forest")),
    "tests/files",
    "tests/fuzz",
)
JOBS = os.environ.get("JOBS", "2")


def tool(name: str) -> str:
    """A program of this Python's environment, or else of the PATH."""
    beside = shutil.which(name, path=sysconfig.get_path("scripts"))
    found = beside or shutil.which(name)
    if found is None:
        raise SystemExit(f"sanitize needs {name}: install it with the system's package manager or pip")
    return found


def build() -> Path:
    """The instrumented extension module."""
    cmake = tool("cmake")
    configure = [
        *(cmake, "-S", str(ROOT), "-B", str(BUILD), "-G", "Ninja", "--log-level=WARNING"),
        *("-DCOMMITTEE_SANITIZE=ON", "-DCMAKE_BUILD_TYPE=Debug", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"),
        *(f"-DCMAKE_CXX_COMPILER={tool('g++')}", f"-DPython_EXECUTABLE={sys.executable}"),
    ]
    subprocess.run(configure, check=True)
    subprocess.run([cmake, "--build", str(BUILD), "-j", JOBS], check=True)
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    core = BUILD / f"_core{suffix}"
    if b"__asan_init" not in core.read_bytes():
        raise SystemExit(f"{core} is not instrumented: is COMMITTEE_SANITIZE still an option of CMakeLists.txt?")
    return core


def runtime(library: str) -> str:
    """Where the compiler keeps a library."""
    answer = subprocess.run([tool("g++"), f"-print-file-name={library}"], check=True, capture_output=True, text=True)
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


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["fuzz"]:
        fuzz = [sys.executable, "-m", "tests.fuzz", *arguments[1:]]
        return subprocess.run(fuzz, cwd=ROOT, env=environment(build())).returncode
    chosen = arguments or [*(t for t in TESTS if (ROOT / t).exists()), "-n", JOBS, "-m", "not slow"]
    # --capture=sys leaves the true stderr alone: a sanitizer reports there, then ends the process
    command = [sys.executable, "-m", "pytest", "-q", "--capture=sys", "--hypothesis-profile=sanitize"]
    return subprocess.run([*command, *chosen], cwd=ROOT, env=environment(build())).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
