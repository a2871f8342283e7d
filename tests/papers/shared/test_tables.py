"""Tables from a folder and from OpenML."""

import json
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from committee.papers.shared.tables import SOURCE_TABLES, SourceTable, load_source_table


@pytest.fixture
def folder(tmp_path):
    """A table with a category of digits, under a name of the SBPMT paper's."""
    frame = pl.DataFrame({"a": [0.5, 1.5, 2.5], "code": [0, 1, 1], "target": [0, 1, 2]})
    frame.write_csv(tmp_path / "iris.csv")
    entry = {"name": "iris", "file": "iris.csv", "categorical": ["code"]}
    (tmp_path / "catalogue.json").write_text(json.dumps([entry]), "utf-8")
    return tmp_path


def test_a_folder_gives_categories_and_labels_as_text(folder):
    table = load_source_table(SOURCE_TABLES["iris"], folder)
    assert table.frame.schema["code"] == pl.String and table.frame.schema["a"] == pl.Float64
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
