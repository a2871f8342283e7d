"""Run fuzzers in turn: ``python -m tests.fuzz [NAME ...] --minutes N | --rounds N [--seed S] [--again F]``."""

import argparse
import secrets
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.conftest import pytest_report_header  # sets the kernels to test, before anything imports them
from tests.fuzz import FUZZERS, fuzz, fuzzer

MEMORY_DISK = Path("/dev/shm")
"""Where there is one, files that only a case needs lie in memory."""

FOUND = Path(__file__).resolve().parents[2] / "build" / "fuzz"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    names = ", ".join(FUZZERS)
    parser.add_argument("names", nargs="*", default=list(FUZZERS), help=f"fuzzers (default: {names})")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float, default=1.0, help="shared out to the fuzzers (default: 1)")
    length.add_argument("--rounds", type=int, help="as often a fixed number of cases, some 20 seconds of all fuzzers")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="default: a new one")
    parser.add_argument("--again", type=Path, help="run the case of this file once, and nothing else")
    options = parser.parse_args()
    if unknown := set(options.names).difference(FUZZERS):
        parser.error(f"there is no fuzzer {min(unknown)}; choose from {names}")
    warnings.simplefilter("ignore")
    print(pytest_report_header())
    FOUND.mkdir(parents=True, exist_ok=True)
    n_faults = 0
    for name in options.names:
        with TemporaryDirectory(dir=MEMORY_DISK if MEMORY_DISK.is_dir() else None) as folder:
            tested = fuzzer(name, Path(folder))
            if options.again is not None:
                print(name, tested.run(options.again.read_bytes()))
                continue
            print(f"{name}: seed {options.seed}", flush=True)
            if options.rounds is None:
                limits = {"seconds": 60.0 * options.minutes / len(options.names)}
            else:
                limits = {"cases": options.rounds * FUZZERS[name][1]}
            findings = fuzz(name, tested, options.seed, FOUND, **limits)
        print(findings, flush=True)
        for path in findings.faults:
            print(f"  {path}: {path.with_suffix('.txt').read_text('utf-8').strip().splitlines()[-1]}")
        n_faults += len(findings.faults)
    return min(n_faults, 1)


if __name__ == "__main__":
    sys.exit(main())
