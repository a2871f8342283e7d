"""The kernels built once more with a compiler's instruments, beside the installed ones, which stay as they are.

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
