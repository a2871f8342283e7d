"""``python -m committee_tabarena.offline --data FOLDER --out OUT``: run, rank, print the table.

The folder has `catalogue.json` and the tables that it names; `halves.json` says which half each belongs to. Results are
kept in OUT, and a run goes on where it was stopped. OUT gets `results.csv`, a row for each method, table and fold,
`leaderboard.csv`, and `run.json`, which says what was run on what machine.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import pandas as pd

from committee_tabarena.offline.methods import experiments
from committee_tabarena.offline.page import machine, table_of
from committee_tabarena.offline.ranking import complete, leaderboard
from committee_tabarena.offline.run import OfflineRun
from committee_tabarena.offline.tables import tables


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m committee_tabarena.offline", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of tables with a catalogue.json")
    parser.add_argument("--halves", type=Path, help="file of the halves (default: halves.json of the folder)")
    parser.add_argument("--out", type=Path, required=True, help="folder for results; a run goes on from it")
    parser.add_argument("--half", default="checking", help="which half of the tables (default: checking)")
    parser.add_argument("--max-rows", type=int, default=2500, help="larger tables are left out (default: 2500)")
    parser.add_argument("--folds", type=int, default=3, help="outer folds, 1 to 3 (default: 3)")
    parser.add_argument(
        "--protocol", choices=["holdout", "bag"], default="holdout", help="one fit, or TabArena's bag of eight folds"
    )
    parser.add_argument("--cpus", type=int, default=1, help="threads of a fit (default: 1)")
    parser.add_argument("--time-limit", type=float, default=3600, help="seconds of a fit (default: 3600, TabArena's)")
    parser.add_argument("--minutes", type=float, help="stop before the next job after this time")
    parser.add_argument("--rank-only", action="store_true", help="rank the results.csv of OUT, and run nothing")
    return parser.parse_args()


def main() -> None:
    """Run, rank, print."""
    asked = arguments()
    if not asked.rank_only:
        _run(asked)
    results = pd.read_csv(asked.out / "results.csv")
    judged = complete(results)
    board = leaderboard(judged).round(4)  # as the file has it, so that the table can be made of it again
    board.to_csv(asked.out / "leaderboard.csv")
    print(f"{judged['table'].nunique()} tables, {len(judged[['table', 'fold']].drop_duplicates())} of table and fold")
    print(table_of(board, judged))


def _run(asked: argparse.Namespace) -> None:
    if hasattr(os, "sched_setaffinity"):  # some models take all processors that they see, whatever they are told
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-asked.cpus :])
    chosen = list(tables(asked.data, asked.halves or asked.data / "halves.json", asked.half, asked.max_rows))
    methods = experiments(asked.protocol, asked.cpus, asked.time_limit, asked.out / "fits")
    run = OfflineRun(asked.out, chosen, asked.folds, methods)
    for line in run.work(asked.minutes):
        print(line, flush=True)
    run.results().to_csv(asked.out / "results.csv", index=False)
    given = {name: getattr(asked, name) for name in ("half", "max_rows", "folds", "protocol", "cpus", "time_limit")}
    said = {"run": given, "machine": machine()}
    (asked.out / "run.json").write_text(json.dumps(said, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
