"""The run offline, on two tiny tables and few methods: it runs, goes on, and ranks."""

import doctest
import json
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tabarena.benchmark.experiment import TabArenaV0pt1ExperimentBundle

from committee_tabarena.offline import methods, ranking
from committee_tabarena.offline.page import machine, table_of
from committee_tabarena.offline.ranking import complete, leaderboard
from committee_tabarena.offline.run import COLUMNS, OfflineRun
from committee_tabarena.offline.tables import TARGET, tables
from committee_tabarena.search_spaces import gen_committee, gen_sbpmt


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A catalogue of four tables: two to run, one of the other half, one with a rare class."""
    folder = tmp_path_factory.mktemp("tables")
    random = np.random.default_rng(0)
    entries = []
    for name, n, rare in (("small", 90, False), ("large", 120, False), ("other", 90, False), ("rare", 90, True)):
        frame = pd.DataFrame({"number": random.normal(size=n), "letter": random.choice(list("ab"), n)})
        frame[TARGET] = np.where(frame["number"] + (frame["letter"] == "a") > 0.5, "2", "10")
        if rare:
            frame.loc[:2, TARGET] = "3"
        frame.loc[5:9, "letter"] = None
        frame.to_csv(folder / f"{name}.csv.gz", index=False)
        columns = {"numeric": ["number"], "categorical": ["letter"]}
        entries.append({"name": name, "file": f"{name}.csv.gz", "rows": n} | columns)
    (folder / "catalogue.json").write_text(json.dumps(entries[::-1]), "utf-8")
    halves = {"small": "checking", "large": "checking", "other": "choosing", "rare": "checking"}
    (folder / "halves.json").write_text(json.dumps(halves), "utf-8")
    return folder


def test_tables_are_read_with_their_kinds_of_columns(folder):
    found = list(tables(folder, folder / "halves.json", "checking", 1000))
    assert [table.name for table in found] == ["small", "large"]
    kinds = found[0].frame.dtypes.astype(str).tolist()
    assert kinds == ["float64", "category", "category"] and found[0].frame["letter"].isna().sum() == 5
    assert [table.name for table in tables(folder, folder / "halves.json", "checking", 100)] == ["small"]


def test_a_run_goes_on_where_it_was_stopped_and_is_ranked(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(methods, "OURS", {"Committee": gen_committee, "SBPMT": gen_sbpmt})
    monkeypatch.setattr(methods, "THEIRS", ("RandomForest",))

    def run() -> OfflineRun:
        chosen = list(tables(folder, folder / "halves.json", "checking", 1000))
        return OfflineRun(tmp_path, chosen, 1, methods.experiments("holdout", 1, 60.0, tmp_path / "fits"))

    stopped = list(run().work(minutes=0.0))
    assert "6 jobs are left" in stopped[-1]
    lines = list(run().work(minutes=None))
    assert len(lines) == 6 and all("failed" not in line for line in lines)
    again = run()
    assert list(again.work(minutes=None)) == []
    results = again.results()
    assert results.columns.tolist() == [*COLUMNS, "processor_s"] and len(results) == 6
    assert set(results["method"]) == {"Committee", "SBPMT", "RandomForest"} and set(results["metric"]) == {"roc_auc"}
    assert (results["metric_error"] < 0.3).all() and (results["processor_s"] > 0.0).all()
    board = leaderboard(complete(results))
    assert board.loc["RandomForest", "elo"] == 1000.0
    assert board["winrate"].mean() == pytest.approx(0.5) and board["improvability"].between(0.0, 1.0).all()
    text = table_of(board, results)
    assert len(text.splitlines()) == 5 and "committee, nothing tuned" in text


def test_errors_that_differ_by_rounding_tie():
    errors = {"Committee": [1.1e-16, 0.2], "RandomForest": [0.0, 0.2], "SBPMT": [0.1, 0.4]}
    rows = [
        {"method": method, "table": table, "fold": 0, "metric_error": error, "time_train_s": 1.0, "time_infer_s": 1.0}
        for method, both in errors.items()
        for table, error in zip(("first", "second"), both, strict=True)
    ]
    board = leaderboard(pd.DataFrame(rows))
    assert board.loc["Committee", "improvability"] == 0.0 == board.loc["RandomForest", "improvability"]
    assert board.loc["Committee", "rank"] == 1.5 == board.loc["RandomForest", "rank"]


def test_the_machine_is_described_without_names():
    said = machine()
    assert {"tabarena", "bencheval", "autogluon.tabular"} <= set(said["libraries"])


def test_the_official_run_has_experiments_of_different_names():
    path = Path(__file__).resolve().parents[1] / "official.py"
    models = runpy.run_path(str(path))["MODELS"]
    few = [(generator, 0 if n == 0 else 2) for generator, n in models]
    bundle = TabArenaV0pt1ExperimentBundle(models=few, verbosity=0)
    names = [each.name for each in bundle.build_experiments(time_limit=60, num_cpus=1, num_gpus=0, memory_limit=8)]
    assert len(set(names)) == len(names) == 8


def test_examples_of_docstrings_do_what_they_say():
    found = doctest.testmod(ranking)
    assert found.attempted and not found.failed
