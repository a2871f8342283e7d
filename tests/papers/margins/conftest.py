import numpy as np
import polars as pl
import pytest

from committee.papers.shared.tables import Fold, NamedTable
from committee.report.folds import Labels, Table
from tests.papers.rebuilding import write_folder


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Small tables under names of the document's, with as many rows as those have."""
    random = np.random.default_rng(0)
    tables = {}
    for name, n, positive, negative in (("sonar", 208, "M", "R"), ("ionosphere", 351, "g", "b")):
        X = random.normal(size=(n, 4)).round(2)
        right = X[:, 0] + X[:, 1] * X[:, 2] + random.normal(size=n) > 0.0
        frame = pl.DataFrame(X, schema=["a", "b", "c", "d"], orient="row")
        tables[name] = frame.with_columns(pl.Series("target", np.where(right, positive, negative)))
    return write_folder(tmp_path_factory.mktemp("tables"), **tables)


@pytest.fixture
def fold_of():
    """Makes a fold of a table of two classes that no straight line parts."""

    def made(seed, n=80):
        random = np.random.default_rng(seed)
        X = random.normal(size=(n, 4)).round(2)
        y = X[:, 0] + X[:, 1] * X[:, 2] + random.normal(size=n) > 0.0
        return Fold(NamedTable("made up", Table(X, Labels.read(y.astype(int)))), 0, seed)

    return made
