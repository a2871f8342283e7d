"""How good a committee of ensembles is at telling how good it is: its own estimate beside the figure of test rows.

``python -m benchmarks.bench_honesty`` fits `CommitteeClassifier` and `CommitteeRegressor` on folds of the tables that
chose nothing, and compares what `oof_score_` and `oof_loss_` say with the same measures of the fold's test rows:
accuracy and log loss, or squared error. A difference is counted in standard errors of a difference of two means,

    z = (mean of the test rows - mean of the rows not seen) / (s sqrt(1 / n_test + 1 / n_unseen)),

with s the standard deviation over the rows of both, so that both means have their share of the error. It takes rows for
independent, which those of overlapping folds are not quite. Cells are kept in `results/honesty/`.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench_defaults import LEAST_PROBABILITY
from benchmarks.code import kept_cells
from benchmarks.default_tables import Problem, problems
from benchmarks.figures import RESULTS, Figure, Findings, command
from benchmarks.pairing import Spread
from committee import CommitteeClassifier, CommitteeRegressor
from committee.data.number_types import F64
from committee.files.journal import Journal
from committee.learners.base.parameters import with_parameters
from committee.learners.blend.candidates import Effort
from committee.learners.blend.out_of_fold import ValidationRows

MOST_ERRORS = 2.0
"""Standard errors within which an estimate is taken to be right; of exact ones 95 % are."""
EFFORTS: tuple[Effort, ...] = ("fast", "default")


@with_parameters
class _Classifier(CommitteeClassifier):
    """Keeps what its estimates are the means of: the loss of every row not seen, and whether it was right."""

    def _score(self, answers: F64, rows: Any, judged: ValidationRows) -> float:
        right = answers.argmax(axis=1) == rows.labels[judged.row]
        self.unseen = {"log loss": self._losses(answers, rows, judged), "accuracy": right.astype(np.float64)}
        return super()._score(answers, rows, judged)


@with_parameters
class _Regressor(CommitteeRegressor):
    """Keeps what its estimate is the mean of: the loss of every row not seen."""

    def _score(self, answers: F64, rows: Any, judged: ValidationRows) -> float:
        self.unseen = {"squared error": self._losses(answers, rows, judged)}
        return super()._score(answers, rows, judged)


def errors_between(test: F64, unseen: F64) -> float:
    """Difference of two means in its standard errors, by the deviation of all values; 0 where they do not differ."""
    difference = float(test.mean() - unseen.mean())
    deviation = float(np.concatenate([test, unseen]).std(ddof=1))
    return difference / (deviation * float(np.sqrt(1 / len(test) + 1 / len(unseen)))) if difference else 0.0


def compared(problem: Problem, effort: Effort, train: NDArray[np.intp], test: NDArray[np.intp]) -> list[dict[str, Any]]:
    """Fit on the training rows; each measure of the rows not seen, and of the test rows."""
    flags = problem.categorical if problem.categorical.any() else None
    X, y = problem.X[test], problem.y[test]
    measured: dict[str, F64]
    if problem.numbers:
        regressor = _Regressor(effort, categorical_features=flags, random_state=0)
        regressor.fit(problem.X[train], problem.y[train])
        unseen = regressor.unseen
        measured = {"squared error": (y - regressor.predict(X)) ** 2}
    else:
        classifier = _Classifier(effort, categorical_features=flags, random_state=0)
        classifier.fit(problem.X[train], problem.y[train])
        unseen = classifier.unseen
        met = np.isin(y, classifier.classes_)  # a class that no training row has says nothing about an estimate
        said, column = classifier.predict_proba(X[met]), np.searchsorted(classifier.classes_, y[met])
        of_class = np.maximum(said[np.arange(len(said)), column], LEAST_PROBABILITY)
        right = (said.argmax(axis=1) == column).astype(np.float64)
        measured = {"log loss": -np.log(of_class), "accuracy": right}
    return [
        {
            "measure": name,
            "estimate": float(unseen[name].mean()),
            "test": float(values.mean()),
            "errors": errors_between(values, unseen[name]),
        }
        for name, values in measured.items()
    ]


def measure_cells(folder: Path, n_splits: int, journal: Journal) -> None:
    """Fit what the journal has not: the quick effort first, all tables of a fold before the next fold."""
    done = {(c["table"], c["effort"], c["fold"]) for c in journal.cells}
    for fold in range(n_splits):
        for effort in EFFORTS:
            for problem in problems(folder, "checking"):
                if (problem.name, effort, fold) in done:
                    continue
                train, test = list(problem.splits(5, 0))[fold]
                for found in compared(problem, effort, train, test):
                    journal.append({"table": problem.name, "effort": effort, "fold": fold, **found})


def report(findings: Findings, found: list[dict[str, Any]]) -> None:
    """Share of table-folds whose estimate is right, for every effort and measure."""
    for effort in EFFORTS:
        for name in dict.fromkeys(c["measure"] for c in found):
            z = np.array([c["errors"] for c in found if c["effort"] == effort and c["measure"] == name])
            if not len(z):
                continue
            tables = len({c["table"] for c in found if c["effort"] == effort and c["measure"] == name})
            words = f"{effort}, {name}: {len(z)} folds of {tables} tables"
            right = Spread.of([100 * np.mean(np.abs(z) <= MOST_ERRORS)])
            findings.add(Figure(f"{words}, estimates within {MOST_ERRORS:g} standard errors", "test", "%", right, 90.0))
            deviation = (
                f"{words}, test less estimate in standard errors (mean {z.mean():+.2f}, deviation {z.std():.2f})"
            )
            findings.add(Figure(deviation, "test", "", Spread.of(z)))


def main() -> None:
    """Measure what is missing, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_honesty", description=__doc__)
    parser.add_argument("--splits", type=int, default=5, help="folds that are fitted, at most five")
    options, rest = parser.parse_known_args()

    def measure(findings: Findings, quick: bool) -> None:
        """A committee's own estimates beside the figures of test rows."""
        folder = os.environ.get("COMMITTEE_DATA")
        findings.settings = {"half": "checking", "splits": options.splits}
        if folder is None or quick:
            findings.settings["left out"] = "all: for --quick, or as COMMITTEE_DATA names no folder of tables"
            return
        with warnings.catch_warnings(), kept_cells(RESULTS / "honesty" / "checking.jsonl", {}, __name__) as journal:
            warnings.simplefilter("ignore")
            measure_cells(Path(folder), options.splits, journal)
            report(findings, journal.cells)

    command("honesty", measure, arguments=rest)


if __name__ == "__main__":
    main()
