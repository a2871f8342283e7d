"""The settings of gradient boosting compared by log loss on real tables: how its defaults were chosen.

``python -m benchmarks.choose_defaults [--folds 5] [--models NAME ...]`` reads the tables of the SBPMT paper's Table 1
from the folder that COMMITTEE_DATA names, fits every setting and the other libraries' defaults on the same stratified
folds, and writes ``results/defaults/gradient_boosting.json``. With `--models` the others keep their numbers.
CatBoost takes part where it is installed.
"""

from __future__ import annotations

import argparse
import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from benchmarks import machine
from benchmarks.figures import RESULTS
from committee import GradientBoostingClassifier
from committee.data.frames import TableSchema
from committee.files.replacement import write_file
from committee.report.models import PEERS

FILE = RESULTS / "defaults" / "gradient_boosting.json"

SETTINGS: dict[str, dict[str, Any]] = {
    "the defaults": {},
    "31 leaves of 20 rows, L2 1": {"max_leaf_nodes": 31, "min_samples_leaf": 20, "leaf_l2": 1.0},
    "31 leaves": {"max_leaf_nodes": 31},
    "8 leaves": {"max_leaf_nodes": 8},
    "leaves of 5 rows": {"min_samples_leaf": 5},
    "leaves of 20 rows": {"min_samples_leaf": 20},
    "L2 1": {"leaf_l2": 1.0},
    "L2 10": {"leaf_l2": 10.0},
    "L0 0.5": {"leaf_l0": 0.5},
    "step 0.07": {"learning_rate": 0.07},
    "half the columns at a node": {"max_features": 0.5},
    "70 % of the rows": {"subsample": 0.7},
}
"""What is changed in the defaults, one thing at a time."""
PEER_NAMES = ("lightgbm", "xgboost", "scikit-learn:hist_gradient_boosting", "catboost")


def installed(name: str) -> bool:
    """Whether the peer can take part."""
    return find_spec("catboost") is not None if name == "catboost" else PEERS[name].installed


def tables(folder: Path) -> dict[str, tuple[Any, Any]]:
    """The tables of Table 1, smallest first: encoded columns and labels."""
    found: dict[str, tuple[Any, Any]] = {}
    entries = json.loads((folder / "catalogue.json").read_text(encoding="utf-8"))
    for entry in sorted((e for e in entries if "A" in e["tables"]), key=lambda e: e["rows"]):
        text = dict.fromkeys([*entry["categorical"], "target"], str)
        frame = pd.read_csv(folder / entry["file"], dtype=text, keep_default_na=False, na_values=[""])
        found[entry["name"]] = frame.drop(columns="target"), frame["target"].to_numpy()
    return found


def losses(X: Any, y: Any, models: dict[str, Any], n_folds: int) -> dict[str, list[float]]:
    """Log loss of every model in every fold; `models` hold settings of ours, or a peer's name."""
    schema = TableSchema.learn(X)
    matrix = schema.encode(X)
    classes = np.unique(y)
    told: dict[str, list[float]] = {name: [] for name in models}
    for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=0).split(matrix, y):
        for name, chosen in models.items():
            if isinstance(chosen, str):
                model, rows = peer(chosen, schema, matrix)
                numbers = np.searchsorted(classes, y[train])
                p = model.fit(rows[train], numbers).predict_proba(rows[test])
            else:
                settings = {"random_state": 0, "categorical_features": schema.categorical, **chosen}
                p = GradientBoostingClassifier(**settings).fit(matrix[train], y[train]).predict_proba(matrix[test])
            told[name].append(log_loss(y[test], p, labels=classes))
    return told


def peer(name: str, schema: TableSchema, matrix: Any) -> tuple[Any, Any]:
    """Another library's model as it comes, and the rows as it takes them."""
    if name != "catboost":
        return PEERS[name].make(schema, 0, 1), matrix
    from catboost import CatBoostClassifier

    columns = np.flatnonzero(schema.categorical).tolist()
    rows = matrix.astype(object)  # categories as text, the only kind that it takes beside whole numbers
    rows[:, columns] = matrix[:, columns].astype(str)
    return CatBoostClassifier(cat_features=columns, random_seed=0, thread_count=1, logging_level="Silent"), rows


def main() -> None:
    """Compare, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choose_defaults", description=__doc__)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--models", nargs="*", help="these alone; the others keep their numbers")
    parser.add_argument("--largest", type=int, default=100_000, help="leave out tables of more rows")
    options = parser.parse_args()
    models: dict[str, Any] = {**SETTINGS, **{name: name for name in PEER_NAMES if installed(name)}}
    models = {name: chosen for name, chosen in models.items() if not options.models or name in options.models}
    before = json.loads(FILE.read_text(encoding="utf-8"))["log loss"] if options.models else {}
    found: dict[str, dict[str, float]] = {}
    for name, (X, y) in tables(Path(os.environ["COMMITTEE_DATA"])).items():
        found[name] = before.get(name, {})
        if len(y) > options.largest:
            continue
        found[name] |= {model: float(np.mean(each)) for model, each in losses(X, y, models, options.folds).items()}
        print(f"{name:22}", " ".join(f"{loss:.4f}" for loss in found[name].values()), flush=True)
    rows = list(found.values())
    everywhere = [model for model in rows[0] if all(model in row for row in rows)]
    mean = {model: float(np.mean([row[model] for row in rows])) for model in everywhere}
    for model, loss in sorted(mean.items(), key=lambda item: item[1]):
        print(f"{loss:.4f}  {model}")
    document = {"machine": machine.describe(), "folds": options.folds, "mean log loss": mean, "log loss": found}
    write_file(FILE, json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
