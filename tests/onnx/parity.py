"""Exported models beside the library's own answers, on rows that are awkward: ``python -m tests.onnx.parity [n]``.

Every model of the golden files is asked about rows whose numbers are the thresholds of its trees, their neighbours,
infinitely rare or missing, and whose categories are known, unknown or missing. Labels are equal, and probabilities and
numbers within 1e-12.
"""

import sys
import time
import warnings
from typing import Any

import numpy as np
import onnxruntime
import polars as pl
from numpy.typing import NDArray

import committee
from committee.data.table_schema import TableSchema
from committee.voters.forest import Forest
from tests.golden.write import FOLDER, MODELS

CLOSE = 1e-12
REFUSED = {
    "boosting_tree_sampled",
    "committee_stacked",
    "conformal_sets",
    "conformal_bag",
    "conformal_folds",
    "conformal_normalised",
}
"""Golden files whose models have no nodes in ONNX."""


def session(exported: Any) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(exported.SerializeToString(), options, providers=["CPUExecutionProvider"])


def feeds(running: onnxruntime.InferenceSession, X: Any) -> dict[str, NDArray[Any]]:
    """A table as a model's inputs."""
    made: dict[str, NDArray[Any]] = {}
    for entry in running.get_inputs():
        width = np.float32 if "float" in entry.type else np.float64
        if entry.name == "X" and not isinstance(X, pl.DataFrame):
            made["X"] = np.asarray(X, dtype=width)
        elif entry.name == "X" and "X" not in X.columns:
            made["X"] = X.select(pl.all().cast(pl.Float64)).to_numpy().astype(width)
        elif "string" in entry.type:
            made[entry.name] = np.array([[cell or ""] for cell in X[entry.name].to_list()], dtype=object)
        else:
            made[entry.name] = X[entry.name].cast(pl.Float64).to_numpy().reshape(-1, 1).astype(width)
    return made


def asked(exported: Any, X: Any) -> dict[str, NDArray[Any]]:
    """What a runtime answers, by the name of the output."""
    running = session(exported)
    names = [output.name for output in running.get_outputs()]
    return dict(zip(names, running.run(None, feeds(running, X)), strict=True))


def assert_same(answers: dict[str, NDArray[Any]], model: Any, X: Any, close: float = CLOSE) -> None:
    if "prediction" in answers:
        expected = model.predict(X)
        assert answers["prediction"].shape == expected.shape
        assert (np.abs(answers["prediction"] - expected) <= close * (1.0 + np.abs(expected))).all()
        return
    assert answers["label"].tolist() == model.predict(X).tolist()
    assert np.abs(answers["probabilities"] - model.predict_proba(X)).max() <= close


def thresholds(part: Any, p: int, depth: int = 0) -> list[list[float]]:
    """Thresholds of every tree inside of a model, by column."""
    found: list[list[float]] = [[] for _ in range(p)]
    if isinstance(part, Forest):
        split = (part.feature >= 0) & (np.diff(part.category_offset) == 0) & np.isfinite(part.threshold)
        for column, threshold in zip(part.feature[split].tolist(), part.threshold[split].tolist(), strict=True):
            if column < p:  # a second layer has columns of its own
                found[column].append(threshold)
    elif depth < 8:
        inner = list(part) if isinstance(part, list | tuple) else list(getattr(part, "__dict__", {}).values())
        named = [each for each in inner if "committee." in type(each).__module__ or isinstance(each, list | tuple)]
        for each in named:
            for column, more in zip(found, thresholds(each, p, depth + 1), strict=True):
                column += more
    return found


def awkward_rows(fitted: Any, n: int, rng: np.random.Generator) -> Any:
    """Rows that a model answers, of the kind that it was fitted on."""
    voting = getattr(fitted, "committee_", fitted)
    table: TableSchema | None = voting.table
    p = voting.voters.n_features if table is None else table.n_features
    at = thresholds(voting, p)
    columns: dict[str, NDArray[Any]] = {}
    for j in range(p):
        levels = None if table is None else table.categories[j]
        if levels:
            text = isinstance(levels[0], str)
            if not text:
                numbers = [float(level) for level in levels]
            pool = [*levels, "unseen", None] if text else [*numbers, max(numbers) + 1.0, 0.5, np.nan]
            cells = np.array(pool, dtype=object if text else np.float64)
            if not text and set(levels) == {False, True}:
                cells = np.array([0.0, 1.0, np.nan])
        else:
            some = np.array(at[j][:4000] or [0.0])
            near = [some, np.nextafter(some, np.inf), np.nextafter(some, -np.inf), rng.normal(size=100) * 3.0]
            cells = np.concatenate([*near, np.full(20, np.nan), [0.0, -0.0, 1e300, -1e300]])
        columns["" if table is None else table.column(j)] = cells[rng.integers(len(cells), size=n)]
        if table is None:
            columns[f"x{j}"] = columns.pop("")
    if table is None or table.names is None:
        return np.column_stack([column.astype(np.float64) for column in columns.values()])
    return frame_of(columns, table)


def frame_of(columns: dict[str, NDArray[Any]], table: TableSchema) -> pl.DataFrame:
    made = {}
    for name, cells, levels in zip(columns, columns.values(), table.categories, strict=True):
        series = pl.Series(name, cells.tolist(), strict=False)
        made[name] = series.cast(pl.Boolean) if levels and isinstance(levels[0], bool) else series
    return pl.DataFrame(made)


def main(n: int) -> None:
    """Print a line for each model; rows go through in blocks."""
    warnings.simplefilter("error")
    rng = np.random.default_rng(0)
    for name in MODELS:
        model: Any = committee.load(FOLDER / f"{name}.safetensors")
        if name in REFUSED:
            print(f"{name}: refused")
            continue
        start = time.perf_counter()
        running = session(committee.to_onnx(model))
        names = [output.name for output in running.get_outputs()]
        for begin in range(0, n, 10_000):
            X = awkward_rows(model, min(10_000, n - begin), rng)
            assert_same(dict(zip(names, running.run(None, feeds(running, X)), strict=True)), model, X)
        print(f"{name}: {n} rows, {time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
