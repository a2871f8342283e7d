import json

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris, load_wine

from committee.papers.sbpmt.table2 import SETTINGS


@pytest.fixture
def quick(monkeypatch):
    """Settings that fit in a moment."""
    small = {"n_estimators": 2, "n_boosting_rounds": 2, "n_leaf_steps": 5}
    monkeypatch.setitem(SETTINGS, "default", small)
    monkeypatch.setitem(SETTINGS, "paper", {**small, "max_depth": 2})


@pytest.fixture
def folder(tmp_path):
    """Two small tables under names of the paper's, one of them with a category of digits."""
    place = tmp_path / "tables"
    place.mkdir()
    for name, load in (("iris", load_iris), ("glass", load_wine)):
        X, y = load(return_X_y=True)
        frame = pl.DataFrame(X[:, :4], schema=["a", "b", "c", "d"], orient="row")
        frame = frame.with_columns(pl.Series("code", (np.arange(len(y)) % 3)), pl.Series("target", y))
        frame.write_csv(place / f"{name}.csv")
    entries = [{"name": n, "file": f"{n}.csv", "categorical": ["code"], "rows": 0} for n in ("iris", "glass")]
    (place / "catalogue.json").write_text(json.dumps(entries), "utf-8")
    return place
