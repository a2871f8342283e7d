"""The committee of ensembles beside our boosting and other libraries, on tables that its members were not chosen on.

``python -m benchmarks.bench_committee`` does for `CommitteeClassifier` and `CommitteeRegressor` what
`benchmarks.bench_defaults` does for gradient boosting: the same tables, folds and peers, and rows of our own beside
them: boosting as it comes, a forest of 500 trees, and of the committee's candidates the one that alone is best on rows
that it has not seen, of the same fit. Cells are kept in `results/committee/`; ranks are of the folds that all have.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import bench_defaults
from benchmarks.bench_defaults import Models, beside_earlier, cells, report
from benchmarks.code import kept_cells
from benchmarks.figures import RESULTS, Findings, command
from committee import (
    Committee,
    CommitteeClassifier,
    CommitteeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RegressionCommittee,
)
from committee.data.number_types import F64
from committee.learners.base.parameters import with_parameters
from committee.learners.blend.blend import Blend
from committee.learners.blend.candidates import Effort
from committee.learners.blend.out_of_fold import Member, ValidationRows
from committee.learners.blend.weights import WeightedVote
from committee.vote.members import MemberCommittees


@dataclass(frozen=True, eq=False)
class BestMember:
    """One member of a committee of ensembles, voting alone."""

    model: Blend
    fits: Sequence[Committee | RegressionCommittee]

    def predict_proba(self, X: Any) -> F64:
        """Mean of its fits' probabilities."""
        return MemberCommittees(self.fits).tally(self.model.table_.encode(X)) / len(self.fits)

    predict = predict_proba
    """Mean of what its fits predict."""


class Watched(Blend):
    """Keeps the candidate of least mean loss alone, by rows that it has not seen, as `held`."""

    def _weighed(self, members: Sequence[Member], rows: Any, judged: ValidationRows) -> WeightedVote:
        losses = []
        for one in members:
            known = np.isfinite(one.predictions[:, 0])
            losses.append(self._losses(one.predictions[known], rows, judged.take(known)).mean())
        self.held = BestMember(self, members[int(np.argmin(losses))].committees)
        return super()._weighed(members, rows, judged)


@with_parameters
class _Classifier(Watched, CommitteeClassifier):
    pass


@with_parameters
class _Regressor(Watched, CommitteeRegressor):
    pass


def _committee(effort: Effort) -> Any:
    def make(numbers: bool, categorical: NDArray[np.bool_], seed: int) -> Any:
        kind = _Regressor if numbers else _Classifier
        return kind(effort, categorical_features=categorical if categorical.any() else None, random_state=seed)

    return make


HELD = {"committee": "committee, its best member"}
"""Rows of models that a fit of another one holds."""


def _forest(numbers: bool, categorical: NDArray[np.bool_], seed: int) -> Any:
    kind = RandomForestRegressor if numbers else RandomForestClassifier
    return kind(500, categorical_features=categorical if categorical.any() else None, random_state=seed)


def models() -> Models:
    """The committee by two efforts, what it is beside, and the peers that are installed."""
    own = {"committee": _committee("default"), "committee, fast": _committee("fast"), "forest of 500": _forest}
    boosting = bench_defaults.models()
    return own | {"gradient boosting": boosting.pop(bench_defaults.OURS)} | boosting


def report_by_folds(findings: Findings, found: list[dict[str, Any]]) -> None:
    """Report the models that were fitted on all folds, then with them those of fewer, by the folds that they have."""
    count = Counter(c["model"] for c in found)
    for least in sorted(set(count.values()), reverse=True):
        names = [name for name in count if count[name] >= least]
        among = "" if least == max(count.values()) else f"{len(names)} models, "
        report(findings, [c for c in found if c["model"] in names], among)


def main() -> None:
    """Measure what is missing, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_committee", description=__doc__)
    parser.add_argument("--half", choices=("choosing", "checking"), default="checking")
    parser.add_argument("--splits", type=int, default=5, help="folds that are fitted, at most five")
    parser.add_argument("--anew", nargs="+", metavar="MODEL", help="models to fit; losses of the others are kept")
    options, rest = parser.parse_known_args()
    name = "committee" if options.half == "checking" else f"committee_{options.half}"

    def measure(findings: Findings, quick: bool) -> None:
        """Committees of ensembles beside other libraries."""
        folder = os.environ.get("COMMITTEE_DATA")
        findings.settings = {"half": options.half, "splits": options.splits}
        if folder is None or quick:
            findings.settings["left out"] = "all: for --quick, or as COMMITTEE_DATA names no folder of tables"
            return
        chosen = {name: make for name, make in models().items() if name in (options.anew or models())}
        with (
            warnings.catch_warnings(),
            kept_cells(RESULTS / "committee" / f"{options.half}.jsonl", {}, __name__) as journal,
        ):
            warnings.simplefilter("ignore")
            held = {} if options.anew else HELD
            found = list(cells(Path(folder), options.half, 1, options.splits, journal, chosen, held))
        if options.anew:
            report(findings, beside_earlier(findings, found, options.anew, RESULTS / f"{name}.json"))
        else:
            report_by_folds(findings, found)

    command(name, measure, arguments=rest)


if __name__ == "__main__":
    main()
