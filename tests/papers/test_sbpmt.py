"""SBPMT: Table 2 and its figures, other libraries' methods on the same folds, and the paper's simulation."""

from __future__ import annotations

import json
import pickle
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.datasets import load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from committee import SBPMTClassifier
from committee.papers.sbpmt import rivals, simulation, table2
from committee.papers.sbpmt.rebuild import rebuild
from committee.papers.sbpmt.table2 import FOREST, OURS
from committee.papers.shared.cells import finished_cells
from committee.papers.shared.pages import save, unpacked
from committee.papers.shared.tables import SOURCE_TABLES, check_known_at_openml, load_source_table, mease_wyner
from committee.report.folds import Labels, Table, stratified_folds
from committee.report.statistics import poisson_binomial_test
from tests.papers.conftest import records, reverse_rows, run, write_folder


@pytest.fixture
def quick(monkeypatch):
    """Settings that fit in a moment."""
    small = {"n_estimators": 2, "n_boosting_rounds": 2, "n_leaf_steps": 5}
    monkeypatch.setitem(table2.SETTINGS, "default", small)
    monkeypatch.setitem(table2.SETTINGS, "paper", {**small, "max_depth": 2})


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


def test_the_papers_tables_are_whole():
    rows = table2.published()
    assert [row.name for row in rows] == list(SOURCE_TABLES)
    assert len({row.title for row in rows}) == 22
    assert all(list(row.accuracy) == list(rows[0].accuracy) and len(row.accuracy) == 6 for row in rows)
    means = [np.mean([row.accuracy[method][0] for row in rows]) for method in rows[0].accuracy]
    assert means == pytest.approx([88.77, 87.59, 82.98, 87.42, 86.66, 87.55], abs=0.006)
    by_name = {row.name: row for row in rows}
    assert by_name["vehicle"].accuracy["SBPMT"] == (82.97, 4.92)
    assert (by_name["german"].numeric, by_name["german"].categorical) == (6, 14)
    assert [row.rows for row in rows] == sorted(row.rows for row in rows)


def test_paper_settings_are_those_of_its_section_6():
    model = table2.classifier("paper", 3)
    M, T, B = model.n_estimators, model.n_boosting_rounds, model.n_leaf_steps
    assert (M, T, B, model.max_samples, model.max_depth, model.min_samples_leaf) == (21, 5, 100, 0.7, 6, 20)
    assert (model.emphasis, model.min_impurity_decrease, model.random_state) == ("half", 0.0, 3)
    unnamed = set(model.get_params()) - set(table2.SETTINGS["paper"])
    assert unnamed == {"oob_score", "max_bins", "categorical_features", "feature_weights", "random_state", "n_jobs"}
    assert simulation.BENCHMARK.keys() == table2.SETTINGS["paper"].keys()
    benchmark = simulation.BENCHMARK["max_features"], simulation.BENCHMARK["max_depth"]
    assert (model.max_features, *benchmark) == (None, None, 3)
    assert table2.classifier("default", None).get_params() == SBPMTClassifier().get_params()


def row_of(accuracies, name="iris"):
    published = next(row for row in table2.published() if row.name == name)
    return table2.RebuiltRow(published, tuple(accuracies), 0.1)


def test_difference_in_the_papers_standard_deviations():
    row = row_of([90.0, 92.0])
    assert row.mean == 91.0 and row.sd == pytest.approx(np.sqrt(2.0))
    assert row.difference == pytest.approx(-5.0) and row.difference_in_sds == pytest.approx(-5.0 / 5.62)
    assert row_of([100.0], "bhp").difference_in_sds == 0.0
    assert row_of([99.0], "bhp").difference_in_sds is None
    assert row_of([99.0]).sd == 0.0


def rebuilt_rows(folder, out, *names, repeats=1, seed=0, **options):
    rows = [row for row in table2.published() if row.name in names]
    tasks = table2.tasks(rows, folder, "default", repeats, seed)
    cells = finished_cells(out / "cells.jsonl", table2.settings_of("default", seed), tasks, **options)
    return table2.results_of(rows, cells)


def test_table2_is_the_mean_over_stratified_folds(quick, folder, tmp_path):
    seen = []
    rows = rebuilt_rows(folder, tmp_path / "out", "glass", "iris", progress=lambda *a: seen.append(a))
    assert [row.published.title for row in rows] == ["Iris", "Glass"], "in the paper's order"
    assert [len(row.accuracies) for row in rows] == [10, 10] and all(row.mean > 60 for row in rows)
    assert seen[-1] == (20, 20, "Glass") and [done for done, _, _ in seen] == list(range(1, 21))
    rebuild(folder, tmp_path / "out", tables=["glass", "iris"])
    written = records(tmp_path / "out" / "table2-default.csv")
    assert [line["name"] for line in written] == ["iris", "glass"]
    assert float(written[0]["accuracy"]) == pytest.approx(rows[0].mean, abs=1e-4)
    assert float(written[1]["paper: random forest"]) == 77.09


def test_one_cell_is_what_scikit_learn_would_say(quick, folder):
    table = load_source_table(SOURCE_TABLES["iris"], folder)
    y = table.labels.classes[table.labels.codes]
    train, test = next(StratifiedKFold(10, shuffle=True, random_state=0).split(y, y))
    split = stratified_folds(table.labels.codes, 10, 1, 0)[0]
    cell = table2.fold_cell(table, split, table2.classifier("default", 0))
    model = table2.classifier("default", 0).fit(table.frame[train.tolist()], y[train])
    assert cell["right"] == (model.predict(table.frame[test.tolist()]) == y[test]).sum() and cell["rows"] == 15


def test_cells_of_other_rows_settings_or_seeds_are_refused(quick, folder, tmp_path, monkeypatch):
    rebuilt_rows(folder, tmp_path, "iris")
    with pytest.raises(ValueError, match="with seed 0 instead of 1"):
        rebuilt_rows(folder, tmp_path, "iris", seed=1)
    monkeypatch.setitem(table2.SETTINGS, "default", {**table2.SETTINGS["default"], "max_depth": 3})
    with pytest.raises(ValueError, match="with max_depth 'auto' instead of 3"):
        rebuilt_rows(folder, tmp_path, "iris")
    monkeypatch.setitem(table2.SETTINGS, "default", {**table2.SETTINGS["default"], "max_depth": "auto"})
    reverse_rows(folder, "iris")
    with pytest.raises(ValueError, match="holds cells of another table 'iris' than the one read now"):
        rebuilt_rows(folder, tmp_path, "iris")


def test_the_printed_table_ends_with_means():
    grid = table2.grid([row_of([90.0, 92.0]), row_of([99.0], "bhp")], "default")
    assert grid.rows[0][:5] == ("Iris", "91.00 ±1.41", "96.00 ±5.62", "-5.00", "-0.89")
    assert grid.rows[1][4] == "-" and grid.rows[2][:4] == ("mean of 2", "95.00", "98.00", "-3.00")


def drawn(draw, rows):
    return draw([row.published for row in rows], rivals.beside_the_paper(rows), "less")


def test_figures_3_and_4_sort_as_the_paper_does():
    rows = [row_of([90.0], row.name) for row in table2.published()]
    titles = [text.get_text().split("\n")[0] for text in drawn(rivals.figure3, rows).axes[1].get_xticklabels()]
    assert titles == [row.title for row in table2.published()]
    by_share = [text.get_text() for text in drawn(rivals.figure4, rows).axes[1].get_xticklabels()]
    assert by_share[:2] == ["Diabetes\n0%", "Tic-tac-toe\n0%"] and by_share[-1] == "Letter\n100%"
    assert by_share[2].startswith("Obesity")


@pytest.mark.parametrize("draw", [rivals.figure3, rivals.figure4])
@pytest.mark.parametrize("n", [1, 22])
def test_pictures_of_any_number_of_tables_are_drawn_without_a_warning(draw, n, tmp_path):
    rows = [row_of([90.0], row.name) for row in table2.published()[:n]]
    figure = drawn(draw, rows)
    save(figure, tmp_path / "picture.png")
    accuracies, differences = figure.axes
    assert [len(line.get_xdata()) for line in accuracies.lines] == [n] * 4, "ours and three columns of the paper's"
    assert set(accuracies.lines[0].get_ydata()) == {90.0} and len(differences.get_xticks()) == n
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_the_command_prints_and_writes(quick, folder, tmp_path):
    out = tmp_path / "out"
    result = run("sbpmt", "--data", folder, "--tables", "iris,glass", "--settings", "paper", "--jobs", 2, "--out", out)
    assert result.exit_code == 0, result.output
    assert "settings paper" in result.output and "mean of 2" in result.output
    made = {"cells-paper.jsonl", "table2-paper.csv", "figure3-paper.png", "figure4-paper.png", "tables-paper.md"}
    assert {path.name for path in out.iterdir()} == made
    (out / "figure3-paper.png").unlink()
    (out / "figure4-paper.png").unlink()
    result = run("sbpmt", "--data", folder, "--tables", "iris", "--settings", "paper", "--figure", 4, "--out", out)
    assert result.exit_code == 0 and not (out / "figure3-paper.png").exists()


def test_tables_that_openml_has_not_are_named_before_anything_is_run(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **options: asked.append(options))
    result = run("sbpmt", "--out", tmp_path / "out")
    assert result.exit_code == 2 and not asked and not (tmp_path / "out").exists()
    for words in (
        "known of 'diabetes_early', 'raisin', 'bhp', 'messidor', 'obesity'",
        "leave them out with --tables iris,glass,",
        "with --data or COMMITTEE_DATA",
    ):
        assert words in result.output
    # what the message says to do passes the check
    asked_for = result.output.split("--tables ")[1].split(", or make")[0]
    check_known_at_openml(asked_for.split(","))
    result = run("sbpmt", "--tables", "bhp", "--out", tmp_path / "out")
    assert result.exit_code == 2 and "of 'bhp'; name other tables with --tables" in result.output


# --- other libraries' methods ----------------------------------------------------------------------------------------


def bayes(schema, seed):
    return GaussianNB()


def guess(schema, seed):
    return DummyClassifier()


@pytest.fixture
def two(monkeypatch):
    """Two methods that fit at once, and one that is not installed."""
    fast = {name: SimpleNamespace(module="sklearn", make=make) for name, make in (("GNB", bayes), ("guess", guess))}
    monkeypatch.setattr(rivals, "RIVALS", fast | {"none": rivals.Rival("no_such_library.Guess", {})})


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
    lines = {(line["name"], line["method"]): line for line in records(tmp_path / "table2-rivals-default.csv")}
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


def test_small_runs_need_no_folder(two, quick, tmp_path):
    with pytest.warns(UserWarning, match="left out: none"):
        assert "mean of 1" in rebuild(None, tmp_path, rivals=True, small=True)[0].rows[-1]
    assert {"table2-rivals-default.csv", "cells-small-rivals-default.jsonl"} <= {p.name for p in tmp_path.iterdir()}


def test_tasks_go_to_other_processes(quick, folder):
    rows = [row for row in table2.published() if row.name == "iris"]
    for task in rivals.tasks(rows, folder, "default", [OURS, rivals.GBM], 1, 0)[:2]:
        assert pickle.loads(pickle.dumps(task))()["right"] == task()["right"]


# --- the simulation --------------------------------------------------------------------------------------------------


SHORT = simulation.Simulation(300, 500, 4, (0.3, 1.0))
"""The simulation in miniature."""


def test_one_long_boosting_gives_the_errors_of_all_short_ones():
    X, y = mease_wyner(700, np.random.default_rng(1))
    X_test, y_test = mease_wyner(2000, np.random.default_rng(2))
    long = SBPMTClassifier(**{**simulation.BENCHMARK, "n_boosting_rounds": 8}, random_state=0).fit(X, y)
    errors = simulation.errors_by_round(long, X_test, y_test, 8)
    for T in (1, 2, 5, 8):
        own = SBPMTClassifier(**{**simulation.BENCHMARK, "n_boosting_rounds": T}, random_state=0).fit(X, y)
        assert errors[T - 1] == pytest.approx((own.predict(X_test) != y_test).mean(), abs=1e-12)


def test_the_simulation_resumes_and_averages(tmp_path):
    [grid] = rebuild(None, tmp_path, figure=2, simulation=SHORT)
    assert [row[0] for row in grid.rows] == ["1", "2"] and [row[4] for row in grid.rows] == ["0.3", "1"]
    made = {"cells-figure2.jsonl", "figure2.csv", "figure2.png", "tables-figure2.md"}
    assert {path.name for path in tmp_path.iterdir()} == made
    seen = []
    rebuild(None, tmp_path, figure=2, simulation=SHORT, repeats=2, progress=lambda *step: seen.append(step))
    assert seen == [(2, 2, "simulation")], "the first repeat is there"
    first, second = (
        [json.loads(line)] for line in (tmp_path / "cells-figure2.jsonl").read_text("utf-8").splitlines()[1:]
    )
    one, both = simulation.errors_of(first, SHORT), simulation.errors_of(first + second, SHORT)
    assert {name: errors.shape for name, errors in both.items()} == {
        "subagging times": (2, 4),
        "AdaBoost iterations": (2, 4),
        "ProbitBoost iterations": (2, 4),
        "subagging ratio": (2, 2),
    }
    for name, errors in both.items():
        np.testing.assert_array_equal(errors[:1], one[name])
        assert (errors[0] != errors[1]).any() and ((errors > 0.05) & (errors < 0.5)).all()
    lines = records(tmp_path / "figure2.csv")
    assert len(lines) == 14 and {line["runs"] for line in lines} == {"2"}
    assert float(lines[0]["test_error"]) == pytest.approx(both["subagging times"][:, 0].mean(), abs=1e-6)


def test_figure2_has_the_four_panels(tmp_path):
    errors = {name: np.full((3, len(values)), 0.2) for name, values in simulation.PAPER.curves.items()}
    picture = simulation.figure2(errors)
    assert [ax.get_xlabel() for ax in picture.axes] == list(simulation.PAPER.curves)
    save(picture, tmp_path / "a.png")
    save(simulation.figure2(errors), tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_figure2_as_a_table():
    errors = {name: np.full((2, len(values)), 0.25) for name, values in simulation.PAPER.curves.items()}
    errors["subagging ratio"][:, 0] = 0.5
    grid = simulation.grid(errors)
    assert grid.columns == ("at", *list(simulation.PAPER.curves)[:3], "at", "subagging ratio")
    assert grid.rows[0] == ("1", "25.00", "25.00", "25.00", "0.05", "50.00")
    assert len(grid.rows) == 7 and "mean of 2 run(s)" in grid.title


GROWTH = simulation.Growth((60, 150), (0.0, 0.25, 0.5), 400)


def test_each_exponent_has_the_error_of_a_fit_of_its_own():
    cell = simulation.error_cell(GROWTH, 150, 3, 1)
    random = np.random.default_rng([3, 1, 150])
    (X, y), (X_test, y_test) = mease_wyner(150, random), mease_wyner(400, random)
    for error, rounds in zip(cell["errors"], (1, 4, 13), strict=True):
        model = SBPMTClassifier(**{**simulation.BENCHMARK, "n_boosting_rounds": rounds}, random_state=1).fit(X, y)
        assert error == pytest.approx((model.predict(X_test) != y_test).mean(), abs=1e-12)


def test_growing_tables_are_rebuilt(tmp_path):
    options = {"study": "consistency", "growth": GROWTH, "repeats": 2}
    [grid] = rebuild(None, tmp_path, **options)
    assert rebuild(None, tmp_path, **options, progress=lambda *_: pytest.fail("run again")) == [grid]
    assert grid.columns == ("rows", "T = 1", "T = n^0.25", "T = n^0.5")
    assert [row[0] for row in grid.rows] == ["60", "150"]
    lines = records(tmp_path / "consistency.csv")
    assert [line["rounds"] for line in lines] == ["1", "3", "8", "1", "4", "13"] and lines[0]["runs"] == "2"
    own = [simulation.error_cell(GROWTH, 60, 0, repeat)["errors"][0] for repeat in range(2)]
    assert float(lines[0]["test_error"]) == pytest.approx(np.mean(own)) and grid.rows[0][1] == f"{50 * sum(own):.2f}"


def test_kinds_of_columns():
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0, None, 5.0], "b": list("xyxyxy"), "c": [7, 7, 7, 7, 7, 9]})
    labels = Labels.read(pl.Series(list("nnnyyy")))
    found = rivals.columns_of(Table(frame, labels))
    assert list(found) == ["all", "numeric alone", "numbers cut"]
    assert found["numeric alone"].frame.columns == ["a", "c"]
    cut = found["numbers cut"].frame
    assert cut["a"].to_list() == ["0", "1", "2", "3", None, "4"] and cut["b"].to_list() == list("xyxyxy")
    assert cut["c"].to_list() == ["0"] * 5 + ["1"], "equal numbers are one category"
    assert list(rivals.columns_of(Table(frame.select("b"), labels))) == ["all"]
    assert list(rivals.columns_of(Table(frame.select("a"), labels))) == ["all", "numbers cut"]


def test_columns_are_compared_on_the_same_tables(quick, folder, tmp_path, monkeypatch):
    fast = SimpleNamespace(module="sklearn", make=bayes)
    monkeypatch.setattr(rivals, "RIVALS", {rivals.FOREST: fast, "other": fast})
    [grid] = rebuild(folder, tmp_path, study="numeric", tables=["iris", "glass"])
    assert [row[0] for row in grid.rows] == ["all (2)", "numeric alone (2)", "all (2)", "numbers cut (2)"]
    assert grid.columns == ("columns", "SBPMT", "random forest", "minus random forest")
    lines = {
        (line["name"], line["columns"], line["method"]): line for line in records(tmp_path / "numeric-default.csv")
    }
    assert len(lines) == 12
    gains = [float(lines[name, "numbers cut", "random forest"]["less_than_sbpmt"]) for name in ("iris", "glass")]
    assert grid.rows[3][3].startswith(f"{np.mean(gains):+.2f} ±")
    mean = np.mean([float(lines[name, "all", "SBPMT"]["accuracy"]) for name in ("iris", "glass")])
    assert grid.rows[0][1] == grid.rows[2][1] == f"{mean:.2f}"
