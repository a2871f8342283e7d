"""AutoGluon's half of `benchmarks.bench_autogluon`, which its own environment's Python runs as a script.

``python autogluon_side.py FOLD.npz ANSWERS.npz SECONDS MODELS`` fits the best quality, "whole" or with ensembles of
"trees" alone, on the training rows of a fold, and writes the probabilities of its test rows, the classes in the order
of their columns, and the seconds that the fit took, by the clock on the wall and of the processors. It imports nothing
of this library.
"""

from __future__ import annotations

import sys
import tempfile
import time

import numpy as np
import pandas as pd
from autogluon.tabular import TabularPredictor

TREES = ["GBM", "CAT", "XGB", "RF", "XT"]
TARGET = "target"


def main(fold: str, answers: str, seconds: float, models: str) -> None:
    """Fit, answer, write."""
    given = np.load(fold)
    names = [f"x{j}" for j in range(given["train"].shape[1])]
    train, test = (pd.DataFrame(given[which], columns=names) for which in ("train", "test"))
    for j in np.flatnonzero(given["categorical"]):
        levels = pd.CategoricalDtype(np.unique(given["train"][:, j][~np.isnan(given["train"][:, j])]))
        train[names[j]], test[names[j]] = train[names[j]].astype(levels), test[names[j]].astype(levels)
    train[TARGET] = given["classes"]
    kind = "binary" if len(np.unique(given["classes"])) == 2 else "multiclass"
    with tempfile.TemporaryDirectory() as folder:
        predictor = TabularPredictor(
            TARGET, problem_type=kind, eval_metric="log_loss", path=f"{folder}/model", verbosity=1
        )
        begun, processor = time.perf_counter(), time.process_time()
        predictor.fit(
            train,
            presets="best_quality",
            time_limit=seconds,
            included_model_types=TREES if models == "trees" else None,
            dynamic_stacking=False,  # without ray its trial fit spoils the fit proper if no model is ready in time
            num_cpus=2,
            num_gpus=0,
        )
        taken, processor = time.perf_counter() - begun, time.process_time() - processor
        said = predictor.predict_proba(test)
        names_of_models = "; ".join(predictor.model_names())
    clocks = {"seconds": taken, "processor": processor}
    np.savez(answers, p=said.to_numpy(), classes=said.columns.to_numpy(), models=names_of_models, **clocks)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4])
