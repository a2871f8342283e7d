import json

import numpy as np
import polars as pl
import pytest

from committee.papers.lectures.rebuild import rebuild


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A small table of four classes under the name of the lecture notes'."""
    place = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3)).round(3)
    kind = np.array(["bus", "opel", "saab", "van"])[2 * (X[:, 0] > 0) + (X[:, 1] + 0.5 * rng.normal(size=160) > 0)]
    frame = pl.DataFrame(X, schema=["a", "b", "c"], orient="row").with_columns(pl.Series("target", kind))
    frame.write_csv(place / "vehicle.csv")
    entry = {"name": "vehicle", "file": "vehicle.csv", "categorical": [], "rows": 160}
    (place / "catalogue.json").write_text(json.dumps([entry]), "utf-8")
    return place


@pytest.fixture(scope="session")
def rebuilt(folder, tmp_path_factory):
    """Everything, quickly: the tables printed and the folder written."""
    out = tmp_path_factory.mktemp("rebuilt")
    return rebuild(folder, out, quick=True), out
