import json

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_wine


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Two small tables under names of the document's, with as many rows as those have."""
    place = tmp_path_factory.mktemp("tables")
    X, y = load_wine(return_X_y=True)
    frame = pl.DataFrame(X[:, :4], schema=["a", "b", "c", "d"], orient="row")
    frame.with_columns(pl.Series("target", y + 1)).write_csv(place / "wine.csv")
    random = np.random.default_rng(0)
    kinds = np.array(["mammal", "bird", "fish"])[random.integers(0, 3, 101)]
    zoo = pl.DataFrame({"legs": random.integers(0, 5, 101) + 3 * (kinds == "mammal"), "milk": kinds == "mammal"})
    zoo = zoo.with_columns(
        pl.Series("milk", np.where(random.random(101) < 0.2, "?", np.where(zoo["milk"], "yes", "no"))),
        pl.Series("target", kinds),
    )
    zoo.write_csv(place / "zoo.csv")
    entries = [
        {"name": "wine", "file": "wine.csv", "categorical": []},
        {"name": "zoo", "file": "zoo.csv", "categorical": ["milk"]},
    ]
    (place / "catalogue.json").write_text(json.dumps(entries), "utf-8")
    return place
