"""One fit to a big table, in a process of its own, which prints seconds and peak memory: for `bench_scale`.

``python -m benchmarks.out_of_core NAME FOLDER ROWS COLUMNS ROUNDS THREADS`` with NAME one of `FITS`.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.big_table import write
from benchmarks.peak_memory import peak_bytes

SETTINGS: dict[str, Any] = {
    **{"learning_rate": 0.1, "max_leaf_nodes": 31},
    **{"subsample": 1.0, "max_features": None, "extra_trees": False},
}


def in_pieces(files: list[Path], rounds: int, threads: int) -> Any:
    """Our gradient boosting of a table in pieces."""
    import committee

    model = committee.GradientBoostingClassifier(n_estimators=rounds, random_state=0, n_jobs=threads, **SETTINGS)
    begun = time.perf_counter()
    model.fit(committee.scan(files[0].parent), "label")
    return time.perf_counter() - begun


def in_memory(files: list[Path], rounds: int, threads: int) -> Any:
    """The same of a table in memory, in double precision."""
    import pyarrow.parquet as pq

    import committee

    tables = [pq.read_table(path) for path in files]
    y = np.concatenate([table["label"].to_numpy() for table in tables])
    X = np.empty((len(y), tables[0].num_columns - 1))
    for j in range(X.shape[1]):
        X[:, j] = np.concatenate([table.column(j).to_numpy() for table in tables])
    del tables
    model = committee.GradientBoostingClassifier(n_estimators=rounds, random_state=0, n_jobs=threads, **SETTINGS)
    begun = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - begun


def xgboost(files: list[Path], rounds: int, threads: int) -> Any:
    """XGBoost's external memory: quantised pages in files, read in each pass over the rows."""
    import tempfile

    import pyarrow.parquet as pq
    import xgboost as xgb

    class Groups(xgb.DataIter):  # type: ignore[misc]
        """Row groups in turn."""

        def __init__(self, cache: str) -> None:
            self.at = 0
            self.groups = [(path, k) for path in files for k in range(pq.ParquetFile(path).num_row_groups)]
            super().__init__(cache_prefix=f"{cache}/pages")

        def next(self, input_data: Any) -> bool:
            """Hand over the next group."""
            if self.at == len(self.groups):
                return False
            path, k = self.groups[self.at]
            table = pq.ParquetFile(path).read_row_group(k)
            columns = [table.column(j).to_numpy() for j in range(table.num_columns - 1)]
            input_data(data=np.column_stack(columns), label=table["label"].to_numpy())
            self.at += 1
            return True

        def reset(self) -> None:
            """Begin anew."""
            self.at = 0

    parameters = {"objective": "binary:logistic", "tree_method": "hist", "max_leaves": 31, "max_depth": 0}
    parameters |= {"grow_policy": "lossguide", "eta": 0.1, "nthread": threads, "max_bin": 255}
    with tempfile.TemporaryDirectory() as cache:
        begun = time.perf_counter()
        xgb.train(parameters, xgb.ExtMemQuantileDMatrix(Groups(cache), max_bin=255, nthread=threads), rounds)
        return time.perf_counter() - begun


FITS = {"in_pieces": in_pieces, "in_memory": in_memory, "xgboost": xgboost}


def main() -> None:
    """Fit, and print."""
    name, folder, *numbers = sys.argv[1:]
    n_rows, n_columns, rounds, threads = (int(number) for number in numbers)
    files = write(Path(folder), n_rows, n_columns)
    seconds = FITS[name](files, rounds, threads)
    print(json.dumps({"seconds": seconds, "peak": peak_bytes()}))


if __name__ == "__main__":
    main()
