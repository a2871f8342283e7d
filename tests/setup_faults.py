"""Faults of a first installation: each must end with one sentence that names the fault and the remedy.

Run as ``python tests/setup_faults.py``. Copies of the sources in a temporary folder are set up with tools that are
missing, too old or interrupted: `make` up to the environment, CMake up to its configuration. Nothing is compiled but a
few lines, and nothing is downloaded. Needs make, CMake, Ninja, a C++ compiler and the build requirements.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = (
    "CMakeLists.txt",
    "LICENSE",
    "Makefile",
    "README.md",
    "core",
    "pyproject.toml",
    "src",
    "tests/requirements.py",
)


class FaultError(Exception):
    """A run that did not end as it must."""


def copy(folder: Path) -> Path:
    """Copy what a set-up needs into a folder."""
    for name in SOURCES:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy2(source, target)
    return folder


def program(folder: Path, name: str, script: str) -> Path:
    """Write a shell script as an executable program."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    path.chmod(0o755)
    return path


def run(command: list[str], place: Path, *, fails: bool = False, **variables: str) -> str:
    """Output of a command that has to succeed, or to fail."""
    environment = {name: value for name, value in os.environ.items() if name not in ("CXX", "MAKEFLAGS", "PYTHON")}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(command, cwd=place, env=environment | variables, encoding="utf-8", **pipes)
    if (done.returncode != 0) != fails:
        raise FaultError(f"{' '.join(command)} {'succeeded' if fails else 'failed'}:\n{done.stdout}")
    return done.stdout


failing = partial(run, fails=True)


def require(output: str, *parts: str) -> None:
    """Check that the output, its line breaks aside, contains all parts."""
    words = " ".join(output.split())
    for part in parts:
        if part not in words:
            raise FaultError(f"{part!r} is missing in:\n{output}")


def configure(*more: str) -> list[str]:
    return ["cmake", "-S", ".", "-B", "build/fault", "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}", *more]


def no_compiler(place: Path) -> None:
    output = failing(configure(), place, CXX=str(place / "no-such-compiler"))
    require(output, "needs a C++20 compiler, and none was found", "apt install g++", "dnf install gcc-c++")
    require(output, "xcode-select --install", "Build Tools for Visual Studio")
    run(configure(), place)  # once there is one, the next build finds it


def old_compiler(place: Path) -> None:
    """Compile as C++17 whatever is asked for, as an old compiler would."""
    real = shutil.which("c++") or "c++"
    as_old = 'for word; do shift; case "$word" in -std=*) word=-std=c++17;; esac; set -- "$@" "$word"; done'
    script = f'{as_old}\nexec {real} "$@"'
    output = failing(configure(), place, CXX=str(program(place, "bin/old-c++", script)))
    require(output, "needs a C++20 compiler such as GCC 11", "old-c++", "apt install g++")
    run(configure(), place)


def no_python(place: Path) -> None:
    require(
        failing(["make", "demo", "PYTHON=no-such-python"], place), "There is no no-such-python: install Python 3.11"
    )


def old_python(place: Path) -> None:
    old = program(place, "bin/old-python", "exit 1")
    require(failing(["make", "demo", f"PYTHON={old}"], place), "is older than Python 3.11: install a later one")


def no_venv(place: Path) -> None:
    script = f'case "$2" in *ensurepip*) exit 1;; esac\nexec {sys.executable} "$@"'
    python = program(place, "bin/bare-python", script)
    require(failing(["make", "demo", f"PYTHON={python}"], place), "install its module venv", "apt install python3-venv")


def half_made_environment(place: Path) -> None:
    """A Python without pip: an environment that make has begun is made anew, another one is refused."""
    run([sys.executable, "-m", "venv", "--without-pip", ".venv"], place)
    require(failing(["make", ".venv/made", f"PYTHON={sys.executable}"], place), ".venv has no Python 3.11 with pip")
    for name in ("begun", "made", "left-over"):
        (place / ".venv" / name).touch()
    run(["make", ".venv/made", f"PYTHON={sys.executable}"], place)
    if (place / ".venv" / "left-over").exists():
        raise FaultError("a half-made .venv was kept")
    run([".venv/bin/python", "-m", "pip", "--version"], place)
    (place / ".venv" / "kept").touch()
    run(["make", ".venv/made", f"PYTHON={sys.executable}"], place)
    if not (place / ".venv" / "kept").exists():
        raise FaultError("a complete .venv was made anew")


def no_network(place: Path) -> None:
    unreachable = {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_RETRIES": "0",
        "PIP_NO_CACHE_DIR": "1",
    }
    output = failing(["make", ".venv/packages", f"PYTHON={sys.executable}"], place, **unreachable)
    require(output, "Packages could not be installed: check the network")
    if (place / ".venv" / "packages").exists():
        raise FaultError("the packages count as installed")


def interrupted_build(place: Path) -> None:
    """A compiler that is killed once, in its place in a small build: the next build goes on."""
    real = shutil.which("c++") or "c++"
    mark = place / "again"
    once = f'case "$*" in *core/*) [ -e {mark} ] || {{ touch {mark}; exit 130; }};; esac'
    script = f'{once}\nexec {real} "$@"'
    compiler = program(place, "bin/c++", script)
    run(configure("-DCMAKE_BUILD_TYPE=Debug"), place, CXX=str(compiler))
    unit = "CMakeFiles/_core.dir/core/module.cpp.o"
    failing(["ninja", "-C", "build/fault", unit], place)
    run(["ninja", "-C", "build/fault", unit], place)


CASES: tuple[Callable[[Path], None], ...] = (
    no_compiler,
    old_compiler,
    no_python,
    old_python,
    no_venv,
    half_made_environment,
    no_network,
    interrupted_build,
)


def main() -> int:
    chosen = sys.argv[1:]
    failed = 0
    for case in CASES:
        if chosen and case.__name__ not in chosen:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(copy(Path(folder)))
                print(f"{case.__name__}: ok", flush=True)
            except FaultError as fault:
                failed += 1
                print(f"{case.__name__}: FAILED: {fault}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
