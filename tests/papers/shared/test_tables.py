"""Tables from a folder and from OpenML, their splits, and the simulated table."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from committee.papers.shared.tables import (
    SOURCE_TABLES,
    Fold,
    NamedTable,
    SourceTable,
    draw_stratified,
    load_source_table,
    mease_wyner,
)
from committee.report.compared_rows import Labels, Table


@pytest.fixture
def folder(tmp_path):
    """A table with a category of digits, under a name of the SBPMT paper's."""
    frame = pl.DataFrame({"a": [0.5, 1.5, 2.5], "code": [0, 1, 1], "target": [0, 1, 2]})
    frame.write_csv(tmp_path / "iris.csv")
    entry = {"name": "iris", "file": "iris.csv", "categorical": ["code"]}
    (tmp_path / "catalogue.json").write_text(json.dumps([entry]), "utf-8")
    return tmp_path


def test_a_folder_gives_categories_and_labels_of_text(folder):
    table = load_source_table(SOURCE_TABLES["iris"], folder)
    assert table.frame.schema["code"] == pl.Categorical and table.frame.schema["a"] == pl.Float64
    assert table.labels.classes.tolist() == ["0", "1", "2"] and "target" not in table.frame.columns


def test_a_folder_that_cannot_be_read_is_refused(folder, tmp_path):
    with pytest.raises(ValueError, match="does not name the table 'letter'"):
        load_source_table(SOURCE_TABLES["letter"], folder)
    (folder / "catalogue.json").write_text('{"iris": 1}', "utf-8")
    with pytest.raises(ValueError, match="must be a list of objects with name, file, categorical"):
        load_source_table(SOURCE_TABLES["iris"], folder)
    (folder / "catalogue.json").unlink()
    with pytest.raises(ValueError, match=r"holds no catalogue\.json; make a folder with `committee papers fetch`"):
        load_source_table(SOURCE_TABLES["iris"], folder)


def stub_openml(monkeypatch, rows=4):
    """What scikit-learn gives for arrays: categories coded, missing values NaN, labels as objects."""
    asked = []

    def fetch_openml(**options):
        asked.append(options)
        data = np.array([[1.5, 0.0], [2.5, 1.0], [np.nan, np.nan], [3.5, 1.0]])[:rows]
        return SimpleNamespace(
            data=data,
            target=np.array(["g", "b", "g", "b"], dtype=object)[:rows],
            feature_names=["size", "color"],
            categories={"color": ["red", "blue"]},
        )

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    return asked


def test_openml_is_asked_by_name_and_version(monkeypatch):
    asked = stub_openml(monkeypatch)
    table = load_source_table(SourceTable("t", 4, ("T-at-openml", 2)), None)
    assert asked == [{"name": "T-at-openml", "version": 2, "as_frame": False, "parser": "liac-arff"}]
    assert table.frame.rows() == [(1.5, "red"), (2.5, "blue"), (None, None), (3.5, "blue")]
    assert table.labels.classes.tolist() == ["b", "g"]


def test_another_table_at_openml_is_refused(monkeypatch):
    stub_openml(monkeypatch, rows=3)
    with pytest.raises(ValueError, match="has 3 rows, but 't' should have 4: it is another table now"):
        load_source_table(SourceTable("t", 4, ("T-at-openml", 2)), None)


def test_tables_that_openml_is_not_known_to_have_are_named():
    with pytest.raises(
        ValueError, match="no copy of the table 'bhp' is known at OpenML; make a folder with `committee papers fetch`"
    ):
        load_source_table(SOURCE_TABLES["bhp"], None)
    assert sum(table.openml is not None for table in SOURCE_TABLES.values()) == 17


def test_splits_are_stratified_and_one_does_not_depend_on_the_others():
    codes = np.array([0] * 37 + [1] * 60)
    train, test = draw_stratified(codes, 3, 1)
    assert (
        sorted([*train, *test]) == list(range(97)) and (codes[test] == 0).sum() == 11 and (codes[test] == 1).sum() == 18
    )
    assert (draw_stratified(codes, 3, 1)[1] == test).all() and (draw_stratified(codes, 3, 2)[1] != test).any()
    assert (draw_stratified(codes, 4, 1)[1] != test).any()


def test_a_fold_is_coded_by_its_training_rows():
    random = np.random.default_rng(0)
    colour = random.choice(["red", "blue", "green", ""], 80)
    size = np.where(random.random(80) < 0.1, None, random.integers(0, 9, 80).astype(object))
    frame = pl.DataFrame({"colour": np.where(colour == "", None, colour).tolist(), "size": size.tolist()})
    fold = Fold(NamedTable("t", Table(frame, Labels.read(random.random(80) < 0.5))), 0, 0)
    train, test = fold.rows
    assert fold.categorical.tolist() == [True, False] and train.shape == (56, 2) and test.shape == (24, 2)
    assert np.isnan(train[:, 0]).any() and np.isnan(train[:, 1]).any()
    assert len(fold.positive[0]) == 56 and fold.positive[0].dtype == bool
    colours = frame["colour"].to_numpy()[fold.split[0]]
    for code in (0.0, 1.0, 2.0):
        assert len(set(colours[train[:, 0] == code])) == 1


def test_mease_wyner_has_the_papers_probabilities():
    X, y = mease_wyner(40000, np.random.default_rng(0))
    above = X[:, :5].sum(axis=1) > 2.5
    assert X.shape == (40000, 10) and X.min() >= 0.0 and X.max() <= 1.0
    assert (y[above] == 1).mean() == pytest.approx(0.9, abs=0.01)
    assert (y[~above] == 1).mean() == pytest.approx(0.1, abs=0.01)
    assert (X[:, 5:].sum(axis=1) > 2.5).mean() == pytest.approx(0.5, abs=0.01)
