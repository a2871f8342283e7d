"""Every method on every table and fold, by TabArena's runner; what is done already is not done again."""

from __future__ import annotations

import contextlib
import json
import logging
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from loguru import logger
from tabarena.benchmark.task.metadata import TaskMetadataCollection
from tabarena.caching import CacheConfig
from tabarena.contexts import AbstractArenaContext

from committee_tabarena.offline.tables import Table
from committee_tabarena.offline.tasks import user_task

PLACE = ["method", "table", "fold"]
COLUMNS = [*PLACE, "metric", "metric_error", "metric_error_val", "time_train_s", "time_infer_s"]


class OfflineRun:
    """Jobs of a benchmark without a network, and their results, in one folder.

    Parameters
    ----------
    out : Path
        Folder for tasks, results and the log; a later run with the same folder goes on from it.
    tables : sequence of Table
        Rows.
    n_folds : int
        Outer folds, 1 to 3.
    experiments : list
        TabArena's experiments.
    """

    def __init__(self, out: Path, tables: Sequence[Table], n_folds: int, experiments: list[Any]) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self._out = out
        logger.remove()
        logger.add(out / "log.txt", level="WARNING")
        tasks = {table.name: user_task(table, n_folds, out / "tasks") for table in tables}
        self._names = {task.tabarena_task_name: name for name, task in tasks.items()}
        self._context = AbstractArenaContext(
            methods=[],
            task_metadata=TaskMetadataCollection.from_user_tasks(tasks.values()),
            backend="native",
            cache_config=CacheConfig.from_root(out / "cache"),
        )
        order = {slug: place for place, slug in enumerate(self._names)}
        jobs = self._context.build_jobs(experiments)
        self.jobs = sorted(jobs, key=lambda job: (job.task.fold, order[job.task.dataset], job.experiment.name))

    def work(self, minutes: float | None) -> Iterator[str]:
        """Do what is not done, the first fold of all tables first, and say what was done; stop after some minutes."""
        end = None if minutes is None else time.monotonic() + 60.0 * minutes
        done = self._seconds()
        for place, job in enumerate(self.jobs):
            if self._key(job) in done:
                continue
            if end is not None and time.monotonic() > end:
                yield f"stopped after {minutes:g} minutes; {len(self.jobs) - place} jobs are left"
                return
            begun = time.process_time()
            with self._quiet():
                found = self._context.run_jobs([job], register=False, raise_on_failure=False, **self._runs)
            seconds = time.process_time() - begun
            if found:
                with (self._out / "processor_seconds.jsonl").open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"job": self._key(job), "seconds": round(seconds, 2)}) + "\n")
            said = f"error {found[0]['metric_error']:.4f}" if found else "failed, see log.txt"
            yield f"{place + 1} of {len(self.jobs)}: {self._key(job)}, {said}, {seconds:.1f} s"

    def results(self) -> pd.DataFrame:
        """Return a row for each result: method, table, fold, TabArena's error, and seconds."""
        with self._quiet():
            self._context.run_jobs(self.jobs, cache_mode="only", **self._runs)
            found = self._context.load_results()
        frame = found.assign(table=found["dataset"].map(self._names), method=found["ta_name"])[COLUMNS].copy()
        seconds = self._seconds()
        taken = {self._place(job): seconds.get(self._key(job)) for job in self.jobs}
        frame["processor_s"] = [taken[place] for place in zip(*(frame[name] for name in PLACE), strict=True)]
        ordered: pd.DataFrame = frame.sort_values(["table", "fold", "method"]).reset_index(drop=True)
        return ordered

    @property
    def _runs(self) -> dict[str, Any]:
        return {"expname": self._out / "runs", "debug_mode": True}

    def _place(self, job: Any) -> tuple[str, str, int]:
        return job.experiment.name.partition("_c1")[0], self._names[job.task.dataset], job.task.fold

    def _key(self, job: Any) -> str:
        return f"{self._names[job.task.dataset]}, fold {job.task.fold}, {job.experiment.name}"

    def _seconds(self) -> dict[str, float]:
        """Processor time of each job that is done."""
        file = self._out / "processor_seconds.jsonl"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return {each["job"]: each["seconds"] for each in map(json.loads, lines)}

    @contextlib.contextmanager
    def _quiet(self) -> Iterator[None]:
        """Write what runner and models print to a file."""
        logging.disable(logging.ERROR)  # such as that there is no torch, which no method here needs
        try:
            with (self._out / "log.txt").open("a", encoding="utf-8") as log, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
                    yield
        finally:
            logging.disable(logging.NOTSET)
