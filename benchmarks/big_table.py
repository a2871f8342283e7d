"""A table larger than memory, in Parquet, made by ``python -m benchmarks.big_table FOLDER ROWS COLUMNS``.

Normal columns in single precision, without compression, and labels by three of them under noise; each file of 5,000,000
rows has a seed of its own, so that the same rows come whatever has been made before.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

ROWS_OF_FILE = 5_000_000
ROWS_OF_GROUP = 500_000


def write(folder: Path, n_rows: int, n_columns: int) -> list[Path]:
    """Write the files that are not there yet, to a folder of their own."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = folder / f"{n_rows}-rows-of-{n_columns}"
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for number, first in enumerate(range(0, n_rows, ROWS_OF_FILE)):
        n = min(ROWS_OF_FILE, n_rows - first)
        path = folder / f"part-{number:03d}.parquet"
        found.append(path)
        if path.exists():
            continue
        random, beside = np.random.default_rng(number), path.with_suffix(".part")
        names = [f"x{j}" for j in range(n_columns)]
        schema = pa.schema([*((name, pa.float32()) for name in names), ("label", pa.int8())])
        with pq.ParquetWriter(beside, schema, compression="none", use_dictionary=False) as writer:
            for begin in range(0, n, ROWS_OF_GROUP):
                X = random.standard_normal((n_columns, min(ROWS_OF_GROUP, n - begin)), dtype=np.float32)
                score = X[0] * X[1] + X[2] + random.standard_normal(X.shape[1], dtype=np.float32)
                writer.write_table(pa.table([*X, (score > 0).astype(np.int8)], schema=schema))
        beside.rename(path)
    return found


if __name__ == "__main__":
    for path in write(Path(sys.argv[1]), int(float(sys.argv[2])), int(sys.argv[3])):
        print(path)
