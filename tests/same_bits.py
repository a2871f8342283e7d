"""The kernels for other processors: do they compute the same bits?

Run as ``python tests/same_bits.py``. `core/same_bits.cpp` is built with the flags of the kernels for this processor
with every set of instructions that it chooses from, for its oldest set alone, and for 64-bit ARM, which qemu runs; each
prints digests of losses, histograms, scans, sums over leaves, lines in leaves, codes, products of stumps and a path of
the LASSO, of made numbers. Needs GCC, and for ARM
Debian's g++-aarch64-linux-gnu and qemu-user-static; without these it says so and exits with 3.
"""

import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "tests" / "core" / "same_bits.cpp"
CORE = ROOT / "core"
UNITS = [path for path in sorted(CORE.glob("*/*.cpp")) if path.parent.name != "bindings"]
PLACE = ROOT / "build" / "same_bits"
NOT_RUN = 3


def flags() -> list[str]:
    """What the kernels are compiled with, as CMakeLists.txt has it."""
    options = re.findall(
        r"target_compile_options\(_core PRIVATE ([^)]*)\)", (ROOT / "CMakeLists.txt").read_text("utf-8")
    )
    found = re.findall(r"-f[\w-]+=off|-fno-math-errno|-O\d", options[0])
    if found != ["-ffp-contract=off", "-fno-math-errno", "-O3"]:
        raise SystemExit(f"CMakeLists.txt compiles the kernels with {options[0]!r}: is -ffp-contract=off still there?")
    return ["-std=c++20", *found, "-Wall", "-Wextra", "-Wno-psabi", "-pthread", f"-I{CORE}"]


def digests(name: str, compiler: str, more: list[str], runner: list[str]) -> str:
    """What the program prints, built in this way."""
    program = PLACE / name
    subprocess.run([compiler, *flags(), *more, "-o", str(program), str(SOURCE), *map(str, UNITS)], check=True)
    return subprocess.run([*runner, str(program)], check=True, capture_output=True, encoding="utf-8").stdout


def main() -> int:
    PLACE.mkdir(parents=True, exist_ok=True)
    builds: dict[str, tuple[str, str, list[str], list[str]]] = {
        "this processor": ("here", "g++", [], []),
        "the oldest instructions of this processor": ("oldest", "g++", ["-DCOMMITTEE_SANITIZE"], []),
    }
    cross, qemu = "aarch64-linux-gnu-g++", "qemu-aarch64-static"
    missing = [name for name in (cross, qemu) if shutil.which(name) is None]
    if not missing:
        builds["64-bit ARM"] = ("arm", cross, ["-static"], [qemu])
    with ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        ours, *others = pool.map(lambda build: digests(*build), builds.values())
    for what, theirs in zip([*builds][1:], others, strict=True):
        for line, other in zip(ours.splitlines(), theirs.splitlines(), strict=True):
            if line != other:
                print(f"{what}: {other}, and here {line}")
        if theirs != ours:
            return 1
        print(f"{what}: the same bits of {len(ours.splitlines())} results")
    if missing:
        print(f"NOT RUN: the kernels on 64-bit ARM. There is no {' and no '.join(missing)}.")
    return NOT_RUN if missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
