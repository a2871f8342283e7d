import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris, load_wine

from committee.papers.sbpmt.table2 import SETTINGS
from tests.papers.rebuilding import write_folder


@pytest.fixture
def quick(monkeypatch):
    """Settings that fit in a moment."""
    small = {"n_estimators": 2, "n_boosting_rounds": 2, "n_leaf_steps": 5}
    monkeypatch.setitem(SETTINGS, "default", small)
    monkeypatch.setitem(SETTINGS, "paper", {**small, "max_depth": 2})


@pytest.fixture
def folder(tmp_path):
    """Two small tables under names of the paper's, one of them with a category of digits."""
    tables = {}
    for name, load in (("iris", load_iris), ("glass", load_wine)):
        X, y = load(return_X_y=True)
        frame = pl.DataFrame(X[:, :4], schema=["a", "b", "c", "d"], orient="row")
        tables[name] = frame.with_columns(pl.Series("code", (np.arange(len(y)) % 3)), pl.Series("target", y))
    (tmp_path / "tables").mkdir()
    return write_folder(tmp_path / "tables", ("code",), **tables)
