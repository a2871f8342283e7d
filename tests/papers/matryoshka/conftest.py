import json

import numpy as np
import polars as pl
import pytest


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Two small tables under names of the twelve: numbers alone; numbers, categories and gaps. A third of one class."""
    place = tmp_path_factory.mktemp("tables")
    random = np.random.default_rng(0)
    X = random.normal(size=(90, 3)).round(1)
    noise = random.normal(size=90)
    pl.DataFrame(X, schema=["a", "b", "c"], orient="row").with_columns(
        pl.Series("target", np.where(X[:, 0] + X[:, 1] + noise > 0, "R", "M"))
    ).write_csv(place / "sonar.csv")
    colour = random.choice(["red", "blue", "green", ""], 80)
    size = np.where(random.random(80) < 0.1, None, random.integers(0, 9, 80).astype(object))
    pl.DataFrame({"colour": colour, "size": size.tolist()}).with_columns(
        pl.Series("target", np.where((colour == "red") ^ (random.random(80) < 0.2), "yes", "no"))
    ).write_csv(place / "credit.csv")
    pl.DataFrame({"x": [1, 2, 3], "target": ["a", "b", "c"]}).write_csv(place / "pima.csv")
    entries = [
        {"name": "sonar", "file": "sonar.csv", "categorical": []},
        {"name": "credit", "file": "credit.csv", "categorical": ["colour"]},
        {"name": "pima", "file": "pima.csv", "categorical": []},
    ]
    (place / "catalogue.json").write_text(json.dumps(entries), "utf-8")
    return place
