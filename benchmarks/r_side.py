"""Programs in R beside ours: `Rscript` runs a script of this folder, which times its own work and prints numbers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
_TEXT: dict[str, Any] = {"capture_output": True, "text": True}


def r_has(package: str) -> bool:
    """Tell whether R is installed, with a package; `R_LIBS` names further folders of packages, as R has it."""
    if shutil.which("Rscript") is None:
        return False
    found = subprocess.run(["Rscript", "-e", f'cat(nzchar(system.file(package = "{package}")))'], **_TEXT, check=False)
    return found.stdout.strip() == "TRUE"


def r_numbers(script: str, *arguments: object) -> list[list[float]]:
    """Run a script of this folder, and return the numbers of each line that it prints.

    Raises
    ------
    RuntimeError
        If it fails, with the last of what it said.
    """
    line = ["Rscript", "--vanilla", str(HERE / script), *map(str, arguments)]
    ran = subprocess.run(line, **_TEXT, check=False)
    if ran.returncode:
        raise RuntimeError(f"{script} failed: {ran.stderr.strip()[-400:]}")
    return [[float(word) for word in said.split()] for said in ran.stdout.splitlines() if said.strip()]
