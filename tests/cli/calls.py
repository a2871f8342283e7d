"""Calls of the command line, and tables for it."""

import gzip
import subprocess
import sys

import numpy as np
import polars as pl
from typer.testing import CliRunner

from committee import load
from committee.cli.main import app

COMMITTEE = [sys.executable, "-c", "from committee.cli.entry import main; main()"]
"""The command line as a process of its own."""

READ_PREDICTIONS = {
    "csv": pl.read_csv,
    "csv.gz": lambda path: pl.read_csv(gzip.decompress(path.read_bytes())),
    "parquet": pl.read_parquet,
    "feather": pl.read_ipc,
}
"""Readers of written predictions, by ending."""


def run(*arguments, input=None):
    return CliRunner().invoke(app, [str(a) for a in arguments], input=input)


def succeed(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def fail(*arguments):
    """Return the error, which is one line, without a traceback, and exit code 2."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1 and "Traceback" not in result.output, result.output
    return lines[0]


def fails(command, cases):
    """Check that the command with each of the options fails with the message before them."""
    for message, *options in cases:
        assert message in fail(*command, *options)


def run_process(*arguments, code=None, **options):
    """Run the command line, or other code, in a process of its own."""
    words = [*COMMITTEE[:2], code or COMMITTEE[2], *map(str, arguments)]
    return subprocess.run(words, **({"capture_output": True, "encoding": "utf-8"} | options))


def without_provenance(path):
    """Return a model as a file holds it, without the name of its data, and the digests of its training rows."""
    model = load(path)
    rows = model.__dict__.pop("provenance_").rows
    again = path.with_suffix(".again")
    model.save(again)
    content = again.read_bytes()
    again.unlink()
    return content, rows.digests.tolist(), rows.complete


def sample_table(n, seed=0):
    """An identifier, numbers, a category with gaps, a category of digits, a label and a number to predict."""
    rng = np.random.default_rng(seed)
    size, color = rng.normal(size=n), rng.choice(["red", "green", "blue"], size=n)
    return pl.DataFrame(
        {
            "id": np.arange(1, n + 1),
            "size": size.round(4),
            "color": [None if i % 17 == 0 else c for i, c in enumerate(color)],
            "code": rng.choice([1, 2, 3], size=n),
            "label": np.where((size > 0) ^ (color == "red"), "yes", "no"),
            "price": (3 * size + (color == "red") + rng.normal(size=n) / 5).round(4),
        }
    )
