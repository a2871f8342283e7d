"""`kernels/floor.cpp`, built with the system's compiler and run: what the processor can do at best."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "benchmarks" / "kernels" / "floor.cpp"
FLAGS = ("-O3", "-std=c++20", "-ffp-contract=off", "-Wno-psabi", "-pthread")


def floor_of() -> dict[str, float]:
    """Nanoseconds of one operation each, and gigabytes read a second; empty without a compiler."""
    return _told("--floor")


def ways_of(rows: int) -> dict[str, dict[str, float]]:
    """Nanoseconds a row and column of each way to count a histogram, by table and rows."""
    ways: dict[str, dict[str, float]] = {}
    for name, value in _told("--ways", str(rows)).items():
        table, way = name.split(": ", 1)
        ways.setdefault(table, {})[way] = value
    return ways


def _told(*arguments: str) -> dict[str, float]:
    program = _program()
    if program is None:
        return {}
    said = subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout
    return {name: float(value) for name, value in (line.rsplit("|", 1) for line in said.splitlines())}


def _program() -> Path | None:
    """Built once for the sources as they are."""
    compiler = os.environ.get("CXX") or shutil.which("g++")
    if compiler is None:
        return None
    units = [path for path in sorted((ROOT / "core").glob("*/*.cpp")) if path.parent.name != "bindings"]
    sources = [*sorted((ROOT / "core").rglob("*.hpp")), *units, SOURCE]
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()[:16]
    program = ROOT / "build" / "floor" / digest
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        line = [compiler, *FLAGS, f"-I{ROOT / 'core'}", str(SOURCE), *map(str, units), "-o", str(program)]
        subprocess.run(line, check=True)
    return program
