"""Tables of a folder that a catalogue describes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

TARGET = "target"
LEAST_ROWS_OF_A_CLASS = 10
"""Tables with a rarer class are left out: some folds would have none of its rows to train on."""


@dataclass(frozen=True, eq=False)
class Table:
    """A table of classes."""

    name: str
    frame: pd.DataFrame
    """Numbers as float64, categories and the target as categories; NaN for what is missing."""


def tables(folder: Path, halves: Path, half: str, most_rows: int) -> Iterator[Table]:
    """Tables of a half, smallest first.

    Parameters
    ----------
    folder : Path
        Holds `catalogue.json` - a list with the name, file, rows, and the numeric and categorical columns of each
        table, whose last column is `target`.
    halves : Path
        A file that says what half each belongs to.
    half : str
        The half.
    most_rows : int
        Larger tables are left out.
    """
    half_of = json.loads(halves.read_text(encoding="utf-8"))
    entries = json.loads((folder / "catalogue.json").read_text(encoding="utf-8"))
    for entry in sorted(entries, key=lambda each: int(each["rows"])):
        if half_of.get(entry["name"]) != half or entry["rows"] > most_rows:
            continue
        table = Table(entry["name"], frame_of(folder, entry))
        if table.frame[TARGET].value_counts().min() >= LEAST_ROWS_OF_A_CLASS:
            yield table


def frame_of(folder: Path, entry: dict[str, Any]) -> pd.DataFrame:
    """Read one table."""
    text = [*entry["categorical"], TARGET]
    frame = pd.read_csv(folder / entry["file"], dtype=dict.fromkeys(text, str), keep_default_na=False, na_values=[""])
    return frame.astype(dict.fromkeys(text, "category") | dict.fromkeys(entry["numeric"], "float64"))
