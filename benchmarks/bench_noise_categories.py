"""The noise test of categories: what a column of random levels costs learners on real tables; no clock.

Up to 5,000 rows of the larger tables of the folder that ``COMMITTEE_DATA`` names, by their half, get a column of text
of k random levels that knows nothing of the target. Reported is by how much accuracy falls, and log loss rises, on a
third of the rows, of the library's learners and of LightGBM's and scikit-learn's boosting of histograms, each told that
the column is one of categories; of regressors, by how much R2 falls. The learners whose defaults are meant for such
tables have two splits of both halves, all others one split of the checking half. Each cell is kept in
``results/noise_categories/`` at once, and a run goes on where it was stopped; remove the file when a program has
changed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import committee
from benchmarks.code import kept_cells
from benchmarks.default_tables import NUMBERS
from benchmarks.figures import QUICK_RESULTS, RESULTS, Figure, Findings, command
from benchmarks.pairing import Spread
from committee.files.journal import Journal

MOST_ROWS, LEAST_ROWS, MOST_COLUMNS = 5000, 1500, 200
LEVELS, SHOWN = (10, 50, 250, 1000, 4000), 250
FLOOR = 1e-3  # probabilities of 0 are not forgiven by the log loss
MAIN = ("GradientBoostingClassifier", "RandomForestClassifier", "AdaBoostClassifier", "SBPMTClassifier")
"""Classifiers that are measured on both halves, in two splits."""
REGRESSORS = ("GradientBoostingRegressor", "RandomForestRegressor", "QuadBoostRegressor", "TreeRegressor")
OTHERS = (
    *("SubaggingClassifier", "ArcGVClassifier", "LPBoostClassifier", "MDBoostClassifier", "BoostingTreeClassifier"),
    *("MatryoshkaClassifier", "ProbabilisticAdaBoostClassifier", "QuadBoostClassifier", "LogitBoostClassifier"),
    *("ProbitBoostClassifier", "ProbitModelTreeClassifier", "TreeVoter"),
)
"""Classifiers that are measured on the checking half, in one split."""

Table = tuple[pd.DataFrame, NDArray[Any]]


@dataclass(frozen=True)
class Test:
    """Some learners on the tables of a half."""

    half: str
    names: tuple[str, ...]
    n_splits: int
    peers: bool = True

    @property
    def numbers(self) -> bool:
        """The learners are regressors."""
        return self.names == REGRESSORS


def learners(test: Test) -> dict[str, Any]:
    """Learners of the library at their defaults, and the peers."""
    found: dict[str, Any] = {}
    for name in test.names:
        model = committee.learner(name)()
        found[name] = model.set_params(**{each: int(each == "n_jobs") for each in ONE if each in model.get_params()})
    if not test.peers:
        return found
    peer = HistGradientBoostingRegressor if test.numbers else HistGradientBoostingClassifier
    found["scikit-learn"] = peer(categorical_features="from_dtype", random_state=0)
    try:
        from lightgbm import LGBMClassifier, LGBMRegressor
    except ImportError:
        return found
    found["LightGBM"] = (LGBMRegressor if test.numbers else LGBMClassifier)(n_jobs=1, verbose=-1, random_state=0)
    return found


ONE = ("n_jobs", "random_state")
"""Parameters that are set: one thread, and the seed 0."""


def tables(folder: Path, test: Test) -> dict[str, Table]:
    """Tables of one half with at least `LEAST_ROWS` rows, at most `MOST_ROWS` of which are drawn."""
    halves = json.loads((folder / "halves.json").read_text())
    found: dict[str, Table] = {}
    for entry in json.loads((folder / "catalogue.json").read_text()):
        width = len(entry["numeric"]) + len(entry["categorical"])
        if halves.get(entry["name"]) != test.half or entry["rows"] < LEAST_ROWS or width > MOST_COLUMNS:
            continue
        frame = pd.read_csv(folder / entry["file"], dtype={"target": str, **dict.fromkeys(entry["categorical"], str)})
        frame = frame.astype(dict.fromkeys(entry["categorical"], "category"))
        frame = frame.sample(min(len(frame), MOST_ROWS), random_state=0).reset_index(drop=True)
        labels = np.unique(frame.pop("target"), return_inverse=True)[1]
        if not test.numbers:
            found[entry["name"]] = (_plainly_named(frame), labels)
            continue
        for column in (column for table, column in NUMBERS[test.half] if table == entry["name"]):
            found[f"{entry['name']}: {column}"] = (_plainly_named(frame.drop(columns=column)), frame[column].to_numpy())
    return found


def _plainly_named(frame: pd.DataFrame) -> pd.DataFrame:
    """LightGBM takes no punctuation in names."""
    return frame.set_axis([f"x{j}" for j in range(frame.shape[1])], axis=1)


def judged(model: Any, X: pd.DataFrame, y: NDArray[Any], split: int) -> dict[str, float]:
    """Accuracy and log loss, or R2, on a third of the rows."""
    numbers = is_regressor(model)
    train, test = train_test_split(
        np.arange(len(y)), test_size=1 / 3, random_state=split, stratify=None if numbers else y
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(model).fit(X.iloc[train], y[train])
        if numbers:
            return {"R2": float(fitted.score(X.iloc[test], y[test]))}
        shares = np.maximum(fitted.predict_proba(X.iloc[test]), FLOOR)
    right = float(np.mean(fitted.classes_[shares.argmax(axis=1)] == y[test]))
    loss = float(log_loss(y[test], shares / shares.sum(axis=1, keepdims=True), labels=fitted.classes_))
    return {"accuracy": right, "log loss": loss}


def with_noise(X: pd.DataFrame, k: int, split: int) -> pd.DataFrame:
    """The table with a last column of k random levels; without one for k = 0."""
    if not k:
        return X
    level = np.random.default_rng([split, k]).integers(k, size=len(X))
    noise = pd.Series(pd.Categorical([f"level {each}" for each in level]), name="noise")
    return pd.concat([X, noise], axis=1)


def cells(test: Test, found: dict[str, Table], levels: Sequence[int], journal: Journal) -> Iterator[dict[str, Any]]:
    """Every learner on every table and split, without the column and with it; refusals have no measures."""
    done = {(c["learner"], c["table"], c["split"], c["levels"]): c for c in journal.cells}
    models = learners(test)
    for table, (X, y) in found.items():
        for split in range(test.n_splits):
            for k in (0, *levels):
                noisy = with_noise(X, k, split)
                for name, model in models.items():
                    where = (name, table, split, k)
                    if where not in done:
                        try:
                            measures = judged(model, noisy, y, split)
                        except ValueError as error:
                            print(f"{name} refuses {k} levels: {str(error)[:80]}", file=sys.stderr)
                            measures = {}
                        names = ("learner", "table", "split", "levels")
                        journal.append({**dict(zip(names, where, strict=True)), "measures": measures})
                        done[where] = journal.cells[-1]
                    yield done[where]
        print(f"{test.half}: {table} is done", flush=True)


def measure_of(tests: Sequence[Test]) -> Callable[..., None]:
    """Make the measurement of some tests."""

    def measure(findings: Findings, quick: bool) -> None:
        """Falls of accuracy or R2 and rises of log loss by k random levels."""
        folder, levels = os.environ.get("COMMITTEE_DATA"), (50,) if quick else LEVELS
        findings.settings = {"levels": list(levels)}
        if folder is None:
            findings.settings["left out"] = "all: COMMITTEE_DATA names no folder of tables"
            return
        kept = (QUICK_RESULTS if quick else RESULTS) / "noise_categories"
        for test in tests:
            found = tables(Path(folder), test)
            found = {name: found[name] for name in list(found)[: 1 if quick else None]}
            with kept_cells(kept / f"{test.half}.jsonl", {"quick": quick}, __name__) as journal:
                _report(findings, test, levels, list(cells(test, found, levels, journal)))

    return measure


def _report(findings: Findings, test: Test, levels: Sequence[int], found: list[dict[str, Any]]) -> None:
    """How the learners fare: tables and splits with `SHOWN` levels, and means with every number of them."""
    measures = {(c["learner"], c["table"], c["split"], c["levels"]): c["measures"] for c in found}
    shown = SHOWN if SHOWN in levels else levels[0]
    for name in dict.fromkeys(c["learner"] for c in found):
        for what in ("R2",) if test.numbers else ("accuracy", "log loss"):
            gained = {
                k: np.array(
                    [
                        of[what] - measures[name, table, split, 0][what]
                        for (learner, table, split, n_levels), of in measures.items()
                        if (learner, n_levels) == (name, k) and of
                    ]
                )
                for k in levels
            }
            work = f"{test.half} tables: {what} of {name} with {shown} random levels, less without"
            remark = "means " + ", ".join(f"{k:,}: {_with_error(each)}" for k, each in gained.items())
            spread = Spread.of(gained[shown])
            findings.add(Figure(work, "", "", spread, at_least=what != "log loss", remark=remark))


def _with_error(gained: NDArray[np.float64]) -> str:
    if not len(gained):
        return "refused"
    error = gained.std(ddof=1) / np.sqrt(len(gained)) if len(gained) > 1 else 0.0
    return f"{gained.mean():+.4f} ± {error:.4f}"


def main() -> None:
    """Read the options of this benchmark; the others are those of all."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--halves", nargs="+", default=("checking", "choosing"))
    given, rest = parser.parse_known_args()
    tests = [Test(half, names, 2) for half in given.halves for names in (MAIN, REGRESSORS)]
    if "checking" in given.halves:
        tests.append(Test("checking", OTHERS, 1, peers=False))
    command("noise_categories", measure_of(tests), arguments=rest)


if __name__ == "__main__":
    main()
