"""What a figure was measured on: processor, memory, system, compiler, libraries - and how busy it was."""

from __future__ import annotations

import os
import platform
import re
import resource
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.floor import floor_of
from committee import _core

LIBRARIES = ("committee", "numpy", "scipy", "scikit-learn", "lightgbm", "xgboost", "xgboost-cpu", "pytabkit")


def describe() -> dict[str, object]:
    """The machine as JSON; no host name, no path, no user."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": _system(),
        "python": platform.python_version(),
        "compiler": _compiler(),
        "compiler_flags": _compiler_flags(),
        "libraries": {name: found for name in LIBRARIES if (found := _version(name))},
        "floor": floor_of(),
    }


class Neighbours:
    """How much of the machine others used between start and `share`: a noisy machine shows in the record.

    A virtual machine's neighbours that the hypervisor does not report stay unseen.
    """

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.busy, self.own = _busy_seconds(), _own_seconds()

    def share(self) -> float | None:
        """Processor time of other processes and of the hypervisor ("steal"), as a share of all there was."""
        busy = _busy_seconds()
        if busy is None or self.busy is None:
            return None
        others = busy - self.busy - (_own_seconds() - self.own)
        whole = (time.perf_counter() - self.start) * (os.cpu_count() or 1)
        return round(min(1.0, max(0.0, others / whole)), 3)


class Patience:
    """Called before a measurement: waits for others to leave the machine alone, up to `seconds` in all."""

    def __init__(self, seconds: float, *, quiet: float = 0.1) -> None:
        self.left, self.quiet = seconds, quiet

    def __call__(self) -> None:
        """Look for a tenth of a second at a time; an impatient or blind one does not wait."""
        while self.left > 0.0:
            neighbours = Neighbours()
            time.sleep(0.1)
            self.left -= 0.1
            share = neighbours.share()
            if share is None or share < self.quiet:
                return


def _busy_seconds() -> float | None:
    stat = Path("/proc/stat")
    if not stat.exists():
        return None
    user, nice, system, _, _, irq, softirq, steal = map(int, stat.read_text().split("\n")[0].split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def processor() -> str:
    """Model name, with family and model numbers where the name is a bare brand; vectors and caches.

    Of one model some machines show programs vectors of 64 bytes, and virtual ones at times only those of 32.
    """
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return platform.processor() or platform.machine()
    fields = dict(re.findall(r"^([\w ]+?)\s*: (.*)$", info.read_text().split("\n\n")[0], re.MULTILINE))
    name = fields.get("model name", platform.machine())
    family = f"family {fields['cpu family']} model {fields['model']}" if "cpu family" in fields else ""
    return ", ".join(filter(None, [name, family, f"vectors of {_core.lane_bytes()} bytes", *_caches()]))


def _caches() -> Iterator[str]:
    for level in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            kind = (level / "type").read_text().strip()
            depth, size = (level / "level").read_text().strip(), (level / "size").read_text().strip()
        except OSError:
            continue
        if kind != "Instruction":
            yield f"L{depth} {size}"


def _system() -> str:
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        name = platform.system()
    return f"{name}, {platform.machine()}"


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def _compiler() -> str:
    """As the kernels' own file says it."""
    found = re.search(rb"GCC: \([^)]*\) [\d.]+|clang version [\d.]+", Path(_core.__file__).read_bytes())
    return found.group().decode() if found else "unknown"


def _compiler_flags() -> str:
    """From the build tree of the installed module, not the sanitizers'; an installed wheel does not tell."""
    build = Path(__file__).resolve().parent.parent / "build"
    for ninja in sorted(build.glob("cp*/build.ninja"), key=lambda file: file.stat().st_mtime, reverse=True):
        rule = re.search(r"module\.cpp\.o: .*?FLAGS = ([^\n]*)", ninja.read_text(), re.DOTALL)
        if rule:
            return " ".join(flag for flag in rule.group(1).split() if "/" not in flag)
    return "unknown"
