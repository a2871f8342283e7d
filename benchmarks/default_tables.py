"""Tables on which defaults are chosen, and those on which they are reported, of classes and of numbers.

The folder that ``COMMITTEE_DATA`` names holds the tables and ``halves.json``, which says what half each belongs to.
Numbers to predict are named columns of the same tables that a forest of scikit-learn predicts with an R2 of at least
.2 and less than .98, in the half of their table, beside those that scikit-learn makes or has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3
from sklearn.model_selection import KFold, StratifiedKFold

from committee.data.table_schema import TableSchema

NUMBERS = {
    "choosing": (
        ("diabetes_early", "Age"),
        ("wdbc", "texture_mean"),
        ("pima", "BMI"),
        ("biodeg", "SdssC"),
        ("obesity", "Age"),
        ("obesity", "Height"),
        ("bupa", "sgpt"),
        ("waveform_noise", "x6"),
        ("waveform_noise", "x4"),
    ),
    "checking": (
        ("ionosphere", "V5"),
        ("australian", "A2"),
        ("vehicle", "COMPACTNESS"),
        ("raisin", "Eccentricity"),
        ("german", "credit_amount"),
        ("banknote", "skewness"),
        ("banknote", "entropy"),
        ("segment", "hedge-mean"),
        ("segment", "region-centroid-row"),
        ("pendigits", "p1"),
        ("ecoli", "alm2"),
    ),
}
"""Table and column, by half."""
MOST_ROWS = {"letter": 6000}
"""Rows that are taken of a table that takes others' defaults minutes to fit; the first, which stand in no order."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A table as an encoded matrix, and what is to be predicted."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[Any]
    """Class numbers from 0, or numbers."""
    categorical: NDArray[np.bool_]
    numbers: bool

    def splits(self, n_folds: int, seed: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Training and test rows; folds of classes have the classes in equal shares, as far as they go."""
        if self.numbers:
            yield from KFold(n_folds, shuffle=True, random_state=seed).split(self.X)
            return
        count = np.bincount(self.y)
        rare = np.flatnonzero(count < n_folds)
        together = np.where(np.isin(self.y, rare), -1, self.y)  # classes of few rows share a stratum
        yield from StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(self.X, together)


def frame_of(folder: Path, entry: dict[str, Any]) -> pd.DataFrame:
    """Read a table, with categories as text; its last column is the target."""
    text = dict.fromkeys([*entry["categorical"], "target"], str)
    frame = pd.read_csv(folder / entry["file"], dtype=text, keep_default_na=False, na_values=[""])
    return frame.head(MOST_ROWS.get(entry["name"], len(frame)))


def problems(folder: Path, half: str) -> Iterator[Problem]:
    """Tables of classes, smallest first, then those of numbers."""
    halves = json.loads((folder / "halves.json").read_text(encoding="utf-8"))
    entries = json.loads((folder / "catalogue.json").read_text(encoding="utf-8"))
    chosen = {e["name"]: e for e in sorted(entries, key=lambda e: int(e["rows"])) if halves[e["name"]] == half}
    for name, entry in chosen.items():
        frame = frame_of(folder, entry)
        labels = np.unique(frame["target"], return_inverse=True)[1]
        yield _problem(name, frame.drop(columns="target"), labels, numbers=False)
    for name, column in NUMBERS[half]:
        frame = frame_of(folder, chosen[name])
        target = frame[column].to_numpy(dtype=np.float64)
        yield _problem(f"{name}: {column}", frame.drop(columns=["target", column]), target, numbers=True)
    if half == "checking":
        for name, X, y in _made():
            yield Problem(name, X, y, np.zeros(X.shape[1], dtype=bool), numbers=True)


def _problem(name: str, columns: pd.DataFrame, y: NDArray[Any], *, numbers: bool) -> Problem:
    schema = TableSchema.learn(columns)
    return Problem(name, schema.encode(columns), y, schema.categorical, numbers)


def _made() -> Iterator[tuple[str, NDArray[np.float64], NDArray[np.float64]]]:
    yield "friedman1", *make_friedman1(1000, noise=1.0, random_state=0)
    yield "friedman2", *make_friedman2(1000, noise=100.0, random_state=0)
    yield "friedman3", *make_friedman3(1000, noise=0.1, random_state=0)
    yield "diabetes", *load_diabetes(return_X_y=True)
