"""Train CatBoost's models that the tests read, and keep what they predict.

``python -m tests.vote.adapters.catboost_models.write`` writes the files anew.

CatBoost is a large package, which the tests do without. `rows` are what it was trained on, and what it predicts of.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

FOLDER = Path(__file__).parent
MODELS = {
    "two_classes": {"loss_function": "Logloss"},
    "three_classes": {"loss_function": "MultiClass", "nan_mode": "Max"},
    "one_against_rest": {"loss_function": "MultiClassOneVsAll", "grow_policy": "Depthwise"},
    "numbers": {"loss_function": "RMSE", "grow_policy": "Lossguide"},
    "counts": {"loss_function": "Poisson"},
    "counted_targets": {"loss_function": "Logloss", "one_hot_max_size": 2},
    "text": {"loss_function": "Logloss"},
}


def rows(n: int, seed: int, *, n_kinds: int = 7) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers that often meet borders, with gaps; categories that are whole numbers; a number to predict."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 2)).round(1)
    kind, step = random.integers(0, n_kinds, n), random.integers(-3, 60, n)
    y = X[:, 0] * X[:, 1] + 3.0 * (kind % 3 == 1) + 2.0 * (step > 30) + 0.1 * random.normal(size=n)
    X[random.random(X.shape) < 0.1] = np.nan
    return pd.DataFrame({"size": X[:, 0], "kind": kind, "depth": X[:, 1], "step": step}), y


def answers(name: str, y: np.ndarray) -> np.ndarray:
    """What each model was trained to answer."""
    if name in ("numbers", "counts"):
        return np.exp(y)
    if name in ("three_classes", "one_against_rest"):
        return np.digitize(y, [0.0, 1.5])
    return np.where(y > np.median(y), "yes", "no")


def shorten(path: Path) -> None:
    """Leave out how the model was trained, and what counted targets were."""
    document = json.loads(path.read_text("utf-8"))
    info = document["model_info"]
    document["model_info"] = {
        "class_params": info.get("class_params", {}),
        "params": {"loss_function": info["params"]["loss_function"]},
    }
    document.pop("ctr_data", None)
    path.write_text(json.dumps(document), "utf-8")


def main() -> None:
    import catboost

    table, y = rows(1000, 0)
    new, _ = rows(2000, 1, n_kinds=10)
    predicted = {}
    for name, options in MODELS.items():
        kind = catboost.CatBoostRegressor if name in ("numbers", "counts") else catboost.CatBoostClassifier
        model = kind(
            **{"one_hot_max_size": 255, **options},
            iterations=6,
            learning_rate=0.3,
            depth=3,
            cat_features=["kind", "step"],
            allow_writing_files=False,
            verbose=False,
            random_seed=0,
        )
        train = table.assign(kind=table["kind"].map("kind {}".format)) if name == "text" else table
        model.fit(train, answers(name, y))
        pool = catboost.Pool(train, answers(name, y), cat_features=["kind", "step"])
        model.save_model(str(FOLDER / f"{name}.json"), format="json", pool=pool if name == "text" else None)
        shorten(FOLDER / f"{name}.json")
        if name not in ("counted_targets", "text"):
            raw = model.predict(new, prediction_type="RawFormulaVal")
            predicted[name] = raw if kind is catboost.CatBoostClassifier else model.predict(new)
    np.savez_compressed(FOLDER / "predicted.npz", **predicted)


if __name__ == "__main__":
    main()
