"""Fits and predictions of this checkout against those of another: ``python -m benchmarks.before_after OTHER/src``.

Two processes, one for each checkout, do the same work in turn, first one of them, then the other; the ratio is that of
the processor's time, so that neighbours count little. For changes that should cost nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.machine import describe

RESULTS = Path(__file__).parent / "results" / "before_after.json"
WORK = ("adaboost", "small adaboosts", "gradient boosting", "forest", "sbpmt", "quadboost", "predict", "predict, large")


def work() -> dict[str, Callable[[], object]]:
    """The fits and predictions, by their names in `WORK`."""
    import numpy as np

    import committee as c

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 20))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=len(X)) > 0).astype(int)
    few, few_y = X[:3000], y[:3000]
    stumps = c.AdaBoostClassifier(200, max_depth=2).fit(few, few_y)
    trees = c.GradientBoostingClassifier().fit(few, few_y)
    jobs: tuple[Callable[[], object], ...] = (
        lambda: c.AdaBoostClassifier(300).fit(X, y),
        lambda: [c.AdaBoostClassifier(50).fit(few[:500], few_y[:500]) for _ in range(10)],
        lambda: c.GradientBoostingClassifier(n_estimators=300).fit(X, y),
        lambda: c.RandomForestClassifier(60, random_state=0).fit(X, y),
        lambda: c.SBPMTClassifier(random_state=0, n_estimators=7).fit(few, few_y),
        lambda: c.QuadBoostClassifier(n_estimators=1000).fit(X, y),
        lambda: [stumps.predict_proba(X) for _ in range(10)],
        lambda: [trees.predict(X) for _ in range(5)],
    )
    return dict(zip(WORK, jobs, strict=True))


def serve() -> None:
    """Do the work that each line of standard input names, and print the processor's seconds."""
    warnings.simplefilter("ignore")
    jobs = work()
    for line in sys.stdin:
        start = time.process_time()
        jobs[line.strip()]()
        print(time.process_time() - start, flush=True)


def compare(before: Path, after: Path, pairs: int) -> list[dict[str, object]]:
    """One record for each kind of work: median seconds, and the ratios' median, least and largest."""

    def started(source: Path) -> Callable[[str], float]:
        code = f"import sys; sys.path.insert(0, {str(source)!r}); from benchmarks.before_after import serve; serve()"
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

        def seconds(name: str) -> float:
            assert process.stdin is not None and process.stdout is not None
            print(name, file=process.stdin, flush=True)
            return float(process.stdout.readline())

        return seconds

    old, new = started(before), started(after)
    found: list[dict[str, object]] = []
    for name in WORK:
        old(name), new(name)
        both = []
        for k in range(pairs):
            first = old(name) if k % 2 else None
            later = new(name)
            both.append((old(name) if first is None else first, later))
        ratios = [b / a for a, b in both]
        found.append(
            {
                "work": name,
                "before_s": round(median(a for a, _ in both), 4),
                "after_s": round(median(b for _, b in both), 4),
                "ratio": round(median(ratios), 3),
                "least": round(min(ratios), 3),
                "largest": round(max(ratios), 3),
            }
        )
        print(f"{name}: {found[-1]['ratio']} ({found[-1]['least']} to {found[-1]['largest']})", flush=True)
    return found


def main() -> None:
    """Compare, and write the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.before_after", description=__doc__)
    parser.add_argument("before", type=Path, help="folder of the other checkout that holds its built package, src")
    parser.add_argument("--pairs", type=int, default=21)
    options = parser.parse_args()
    after = Path(__file__).parent.parent / "src"
    found = compare(options.before.resolve(), after.resolve(), options.pairs)
    RESULTS.write_text(json.dumps({"pairs": options.pairs, "machine": describe(), "figures": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
