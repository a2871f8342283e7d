"""All benchmarks in turn: ``python -m benchmarks [names] [--quick]``; ``--summary`` for the README's table."""

from __future__ import annotations

import argparse
import subprocess
import sys

from benchmarks.summary import write_summary

NAMES = (
    "floor",
    "import",
    "binning",
    "histogram",
    "adaboost",
    "gradient_boosting",
    "sparse",
    "forest",
    "forest_tables",
    "several_targets",
    "defaults",
    "trials",
    "scoring",
    "committee",
    "candidates",
    "second_layer",
    "committee_losses",
    "committee_time",
    "committee_predict",
    "honesty",
    "autogluon",
    "distil",
    "replay",
    "wide",
    "noise_categories",
    "rare_classes",
    "probabilities",
    "predict",
    "predict_grid",
    "onnx",
    "shap",
    "growth",
    "threads",
    "sbpmt",
    "sbpmt_sizes",
    "several_classes",
    "quadboost",
    "voter_sets",
    "lpboost",
    "nesting",
    "paths",
    "margins",
    "bounds",
    "certify",
    "conformal",
    "pruning",
    "pruning_tables",
    "pruning_bytes",
    "pruning_speed",
    "pruning_numbers",
    "lossless",
    "settings",
    "scale",
)


def main() -> int:
    """Run the benchmarks, each in a process of its own; or rewrite the summary."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"some of {', '.join(NAMES)}; default: all")
    parser.add_argument("--quick", action="store_true", help="small sizes and few rounds, to see that all runs")
    parser.add_argument("--summary", action="store_true", help="rewrite the table in benchmarks/README.md instead")
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - set(NAMES)):
        parser.error(f"there is no benchmark {unknown[0]!r}; choose from {', '.join(NAMES)}")
    if options.summary:
        write_summary()
        return 0
    failed = 0
    for name in options.names or NAMES:
        line = [sys.executable, "-m", f"benchmarks.bench_{name}", *(["--quick"] if options.quick else [])]
        failed += subprocess.run(line, check=False).returncode != 0
    return min(1, failed)


if __name__ == "__main__":
    sys.exit(main())
