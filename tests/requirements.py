"""Packages that extras of pyproject.toml stand for, one requirement a line, without the package itself.

Run as ``python tests/requirements.py NAME...``, for ``pip install --requirement``. A name is an extra,
``project`` (the dependencies) or ``build`` (the build requirements, with CMake and Ninja where the system has none).
Extras that refer to others of the package, ``committee[cli]``, are expanded: pip would build the package once more for
them.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

TABLE = tomllib.loads((Path(__file__).resolve().parent.parent / "pyproject.toml").read_text("utf-8"))
OLDEST_CMAKE = (3, 22)


def requirements(name: str) -> list[str]:
    """Return the requirements of one name."""
    project = TABLE["project"]
    if name == "project":
        return list(project["dependencies"])
    if name == "build":
        return [*TABLE["build-system"]["requires"], *missing_tools()]
    found = []
    for line in project["optional-dependencies"][name]:
        own = re.fullmatch(rf"{project['name']}\[([^\]]+)\]", line)
        found += [part for extra in own[1].split(",") for part in requirements(extra.strip())] if own else [line]
    return found


def missing_tools() -> list[str]:
    """Return CMake and Ninja as packages, unless they are on the path and new enough."""
    missing = [] if shutil.which("ninja") else ["ninja>=1.11"]
    cmake = shutil.which("cmake")
    printed = subprocess.run([cmake, "--version"], capture_output=True, encoding="utf-8").stdout if cmake else ""
    version = re.search(r"(\d+)\.(\d+)", printed)
    if version is None or (int(version[1]), int(version[2])) < OLDEST_CMAKE:
        missing.append(f"cmake>={OLDEST_CMAKE[0]}.{OLDEST_CMAKE[1]}")
    return missing


if __name__ == "__main__":
    print(*dict.fromkeys(line for name in sys.argv[1:] for line in requirements(name)), sep="\n")
