"""Parts that papers share: cells of a run, comparisons of methods, tables of a folder and of OpenML, and their splits.

A cell is computed once, kept when finished, and refused from another run or table.
"""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from threadpoolctl import threadpool_info

from committee.papers.shared import cells as shared_cells
from committee.papers.shared.cells import Task, finished_cells
from committee.papers.shared.options import check_at_least_one, in_order
from committee.papers.shared.pages import compared, signs_text, standard_error
from committee.papers.shared.tables import (
    SOURCE_TABLES,
    Bundled,
    Fold,
    NamedTable,
    SourceTable,
    draw_stratified,
    load_source_table,
    mease_wyner,
)
from committee.report.folds import Labels, Table
from tests.papers.conftest import write_folder


def square(number, runs):
    runs.append(number)
    return {"square": number**2}


def squares(path, numbers, runs, *, seed=0, table="t", digest="d", **options):
    tasks = [Task({"table": table, "digest": digest, "number": n}, partial(square, n, runs)) for n in numbers]
    return finished_cells(path, {"seed": seed}, tasks, **options)


def test_an_interrupted_run_goes_on(tmp_path):
    path, runs, seen = tmp_path / "cells.jsonl", [], []

    def breaks(*step):
        seen.append(step)
        if step[0] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        squares(path, [3, 1, 2], runs, progress=breaks)
    assert seen == [(1, 3, "t"), (2, 3, "t")] and path.read_text("utf-8").count("\n") == 3
    runs.clear()
    cells = squares(path, [3, 1, 2], runs, progress=lambda *step: seen.append(step))
    assert runs == [2] and seen[-1] == (3, 3, "t")
    assert [cell["square"] for cell in cells.values()] == [9, 1, 4], "in the order of the tasks"
    assert list(squares(path, [1], runs)) == [("t", 1)] and runs == [2], "fewer tasks are read off"


def test_processes_change_nothing(tmp_path):
    one, two = (squares(tmp_path / f"{jobs}.jsonl", range(5), [], jobs=jobs) for jobs in (1, 2))
    assert one == two


def test_other_runs_and_other_tables_are_refused(tmp_path):
    path = tmp_path / "cells.jsonl"
    squares(path, [1], [])
    with pytest.raises(ValueError, match="with seed 0 instead of 1"):
        squares(path, [1], [], seed=1)
    with pytest.raises(ValueError, match="holds cells of another table 't' than the one read now"):
        squares(path, [1], [], digest="e")
    assert squares(path, [1], [], table="u", digest="e")


def test_cells_of_other_code_run_again(tmp_path, monkeypatch):
    path, runs, code = tmp_path / "cells.jsonl", [], {square.__module__: "a"}
    monkeypatch.setattr(shared_cells, "code_digest", code.__getitem__)
    squares(path, [1, 2], runs)
    code[square.__module__] = "b"
    with pytest.warns(UserWarning, match=r"2 of the 3 cells in .*cells.jsonl were computed by other code"):
        cells = squares(path, [1, 2, 3], runs)
    assert runs == [1, 2, 1, 2, 3] and [cell["square"] for cell in cells.values()] == [1, 4, 9]
    assert "code" not in cells["t", 1]
    assert squares(path, [1, 2, 3], runs) == cells and len(runs) == 5, "cells of this code are there now"
    code[square.__module__] = "a"
    squares(path, [1, 2], runs)
    assert len(runs) == 5, "those of the code before are still in the file"


def test_a_task_has_one_thread(tmp_path):
    def threads():
        return {"threads": max(pool["num_threads"] for pool in threadpool_info())}

    seen = []
    task = Task({"number": 0}, threads, "one of its kind")
    cells = finished_cells(tmp_path / "cells.jsonl", {}, [task], progress=lambda *step: seen.append(step))
    assert cells[0,] == {"number": 0, "threads": 1} and seen == [(1, 1, "one of its kind")]


def test_names_and_counts_are_checked():
    assert in_order(None, ["b", "a"]) == in_order(["a", "b"], ["b", "a"]) == ["b", "a"]
    with pytest.raises(ValueError, match="parts names 'c', which is not there"):
        in_order(["c"], ["b", "a"], "parts")
    check_at_least_one(repeats=1)
    with pytest.raises(ValueError, match="repeats, jobs and rounds must be at least 1; got repeats=1, jobs=0, rounds="):
        check_at_least_one(repeats=1, jobs=0, rounds=2)
    with pytest.raises(ValueError, match=r"^jobs must be at least 1; got jobs=0"):
        check_at_least_one(jobs=0)


def test_a_comparison_counts_tables_and_rows():
    found = compared(np.array([[0.1, 0.2, 0.3], [0.2, 0.2 + 1e-16, 0.1]]), [(2, 0), (0, 0), (0, 3)])
    assert (found.signs.wins, found.signs.losses, found.signs.ties) == (1, 1, 1), "rounding decides nothing"
    assert found.less == pytest.approx(0.1 / 3)
    # better with chances 7/8, 1/2 and 1/16: on two tables at least with (105 + 7 + 1 + 7) / 256
    assert found.probability == pytest.approx(120 / 256) and signs_text(found.signs) == "1-1-1, 1.000"
    none = compared(np.zeros((2, 0)), [])
    assert np.isnan(none.probability) and np.isnan(none.less) and none.signs.pvalue == 1.0
    assert np.isnan(compared(np.zeros((2, 2))).probability), "without rows there is no such test"
    assert standard_error([0.5]) == 0.0 and standard_error([1.0, 3.0]) == pytest.approx(1.0)


# --- tables -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    """A table with a category of digits, under a name of the SBPMT paper's."""
    return write_folder(
        tmp_path, ("code",), iris=pl.DataFrame({"a": [0.5, 1.5, 2.5], "code": [0, 1, 1], "target": [0, 1, 2]})
    )


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


def test_tables_that_openml_or_scikit_learn_have_not_are_named():
    with pytest.raises(
        ValueError, match="no copy of the table 'bhp' is known at OpenML; make a folder with `committee papers fetch`"
    ):
        load_source_table(SOURCE_TABLES["bhp"], None)
    with pytest.raises(ValueError, match="no table 'sonar' is bundled; there are 'iris', 'wdbc', 'wine'"):
        load_source_table(SourceTable("sonar", 208), Bundled.TABLES)
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
