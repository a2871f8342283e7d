"""The kernel tests once more, on kernels built under AddressSanitizer and UndefinedBehaviorSanitizer.

Run as ``python tests/sanitize.py [pytest arguments]``, or ``python tests/sanitize.py fuzz --minutes 10`` for the
fuzzers on these kernels; `tests.instrumented` says how and with what they are built.
"""

import os
import subprocess
import sys
from pathlib import Path

from instrumented import JOBS, ROOT, build, tool

TESTS = (
    "tests/core",
    *(f"tests/voters/test_{name}.py" for name in ("forest", "rounds", "model_forest")),
    "tests/files",
    "tests/fuzz",
)


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


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["fuzz"]:
        command = [sys.executable, "-m", "tests.fuzz", *arguments[1:]]
    else:
        chosen = arguments or [*(t for t in TESTS if (ROOT / t).exists()), "-n", JOBS]
        # --capture=sys leaves the true stderr alone: a sanitizer reports there, then ends the process
        command = [sys.executable, "-m", "pytest", "-q", "--capture=sys", "--hypothesis-profile=sanitize", *chosen]
    core = build("asan", "COMMITTEE_SANITIZE", mark=b"__asan_init")
    return subprocess.run(command, cwd=ROOT, env=environment(core)).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
