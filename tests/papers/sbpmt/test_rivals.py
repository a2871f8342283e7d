"""SBPMT beside other libraries' methods: each on the same folds, and the tests of the differences."""

import csv
import pickle

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB

from committee.papers.sbpmt import rivals, table2
from committee.papers.sbpmt.rebuild import rebuild
from committee.papers.sbpmt.table2 import FOREST, OURS
from committee.papers.shared.pages import packed, unpacked
from committee.papers.shared.tables import SOURCE_TABLES, load_source_table
from committee.report.compared_rows import Labels, Table
from committee.report.folds import stratified_folds
from committee.report.statistics import poisson_binomial_test


def bayes(schema, seed):
    return GaussianNB()


def guess(schema, seed):
    return DummyClassifier()


@pytest.fixture
def two(monkeypatch):
    """Two methods that fit at once, and one that is not installed."""
    fast = {"GNB": rivals.Rival("sklearn", bayes), "guess": rivals.Rival("sklearn", guess)}
    monkeypatch.setattr(rivals, "RIVALS", fast | {"none": rivals.Rival("no_such_library", guess)})


@pytest.mark.one_in(3)
@pytest.mark.parametrize("method", rivals.installed_rivals())
def test_every_method_takes_numbers_and_categories(method, folder, quick):
    table = load_source_table(SOURCE_TABLES["glass"], folder)
    split = stratified_folds(table.labels.codes, 10, 1, 0)[0]
    cell = rivals.method_cell(table, split, method, "default", 0)
    right = unpacked(cell["right"], cell["rows"])
    assert cell["rows"] == len(split[1]) == len(right) and right.mean() > 0.7
    assert cell["right"] == rivals.method_cell(table, split, method, "default", 0)["right"]


@pytest.mark.parametrize("method", rivals.installed_rivals())
def test_every_method_takes_missing_values(method, quick):
    generator = np.random.default_rng(0)
    values = generator.normal(size=(120, 3))
    y = (values[:, 0] > 0).astype(int)
    values[generator.random(values.shape) < 0.1] = np.nan
    text = np.where(generator.random(120) < 0.1, None, generator.choice(["p", "q"], 120).astype(object))
    X = pl.DataFrame(values, schema=["a", "b", "empty"], orient="row").with_columns(
        pl.lit(None, dtype=pl.Float64).alias("empty"), pl.Series("text", text, dtype=pl.String)
    )
    table = Table(X, Labels.read(pl.Series(y.astype(str))))
    cell = rivals.method_cell(table, (np.arange(100), np.arange(100, 120)), method, "default", 0)
    assert unpacked(cell["right"], cell["rows"]).mean() >= 0.7


def test_all_methods_stand_on_the_same_folds(two, quick, folder, tmp_path):
    seen = []
    with pytest.warns(UserWarning, match=r'left out: none; not installed: no_such_library; pip .*"committee\[peers\]'):
        first, second = rebuild(
            folder, tmp_path, rivals=True, tables=["iris", "glass"], progress=lambda *s: seen.append(s)
        )
    assert seen[-1] == (60, 60, "Glass, guess") and first.columns == ("table", OURS, "GNB", "guess")
    assert [row[0] for row in first.rows] == ["Iris", "Glass", "mean of 2"]
    assert [row[0] for row in second.rows] == ["GNB", "guess"]
    plain = rebuild(folder, tmp_path, tables=["iris", "glass"])[0]
    assert [row[1] for row in first.rows[:2]] == [row[1].split()[0] for row in plain.rows[:2]], "as without rivals"
    assert (tmp_path / "tables-rivals-default.md").read_text("utf-8").count("| GNB |") == 2
    names = {path.name for path in tmp_path.iterdir()}
    assert {"table2-rivals-default.csv", "figure3-rivals-default.png", "figure4-rivals-default.png"} <= names
    with (tmp_path / "table2-rivals-default.csv").open(encoding="utf-8") as file:
        lines = {(line["name"], line["method"]): line for line in csv.DictReader(file)}
    table = load_source_table(SOURCE_TABLES["iris"], folder)
    X, y = table.encoded()[1], table.labels.codes
    accuracies = [
        100 * (GaussianNB().fit(X[a], y[a]).predict(X[b]) == y[b]).mean() for a, b in stratified_folds(y, 10, 1, 0)
    ]
    assert float(lines["iris", "GNB"]["accuracy"]) == pytest.approx(np.mean(accuracies), abs=1e-4)
    assert float(lines["iris", "guess"]["accuracy"]) == pytest.approx(100 / 3, abs=1e-4)
    assert float(lines["iris", "guess"]["holm_pvalue"]) < 0.001 and lines["iris", OURS]["paper"] == "96.0"
    seen.clear()
    with pytest.warns(UserWarning, match="left out: none"):
        rebuild(folder, tmp_path, rivals=True, figure=3, tables=["iris"], progress=lambda *s: seen.append(s))
    assert not seen, "all cells are there"


def results(right, n_tables=3):
    rows = table2.published()[:n_tables]
    return [rivals.TableOfMethods(row, {m: tuple(r[t]) for m, r in right.items()}) for t, row in enumerate(rows)]


def test_the_tests_are_those_of_their_definitions():
    rng = np.random.default_rng(0)
    right = {OURS: rng.random((3, 10, 30)) < 0.85, FOREST: rng.random((3, 10, 30)) < [[[0.7]], [[0.84]], [[0.9]]]}
    found = rivals.contest(results(right), FOREST)
    a, b = (100 * right[m].mean(axis=2) for m in (OURS, FOREST))
    assert found.differences == pytest.approx((a - b).mean(axis=1))
    t = (a - b).mean(axis=1) / np.sqrt((1 / 10 + 1 / 9) * (a - b).var(axis=1, ddof=1))
    p = 2 * stats.t.sf(np.abs(t), 9)
    order = np.argsort(p)
    expected = np.empty(3)
    expected[order] = np.minimum(1, np.maximum.accumulate(p[order] * [3, 2, 1]))
    assert found.pvalues == pytest.approx(expected)
    assert found.significant == (int(((expected <= 0.05) & (t > 0)).sum()), int(((expected <= 0.05) & (t < 0)).sum()))
    assert (found.over_tables.signs.wins, found.over_tables.signs.losses) == ((t > 0).sum(), (t < 0).sum())
    only = [((right[x] & ~right[y]).sum(axis=(1, 2))) for x, y in ((OURS, FOREST), (FOREST, OURS))]
    assert found.over_tables.probability == pytest.approx(poisson_binomial_test(*only))
    twice = {m: np.concatenate([r, r], axis=1) for m, r in right.items()}
    again = rivals.contest(results(twice), FOREST)
    assert again.over_tables.probability == pytest.approx(found.over_tables.probability), "no row counts twice"


def test_a_row_of_methods_is_read_from_its_cells():
    marks = np.array([True, False, True])
    own = {"table": "iris", "right": packed(marks), "rows": 3}
    cells = [{**own, "method": method} for method in (OURS, FOREST) for _ in range(10)]
    [found] = rivals.results_of(table2.published()[:1], [OURS, FOREST], cells)
    assert len(found.right[FOREST]) == 10 and found.accuracies(OURS) == pytest.approx(np.full(10, 200 / 3))
    assert found.alone(OURS, FOREST) == 0


def test_small_runs_need_no_folder(two, quick, tmp_path):
    with pytest.warns(UserWarning, match="left out: none"):
        assert "mean of 1" in rebuild(None, tmp_path, rivals=True, small=True)[0].rows[-1]
    assert {"table2-rivals-default.csv", "cells-small-rivals-default.jsonl"} <= {p.name for p in tmp_path.iterdir()}


def test_tasks_go_to_other_processes(quick, folder):
    rows = [row for row in table2.published() if row.name == "iris"]
    for task in rivals.tasks(rows, folder, "default", [OURS, rivals.GBM], 1, 0)[:2]:
        assert pickle.loads(pickle.dumps(task))()["right"] == task()["right"]
