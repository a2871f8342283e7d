"""The SBPMT paper rebuilt: its numbers, tables in, cells kept over interruptions, the simulation, the pictures."""

import csv
import json
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris, load_wine
from typer.testing import CliRunner

from committee import SBPMTClassifier
from committee.cli.main import app
from committee.papers.sbpmt import figures as sbpmt_figures
from committee.papers.sbpmt import mease_wyner
from committee.papers.sbpmt import table2 as sbpmt
from committee.papers.shared.journal import Journal
from committee.papers.shared.rebuild import rebuild_sbpmt
from committee.papers.shared.tables import (
    SOURCE_TABLES,
    SourceTable,
    check_known_at_openml,
    data_folder,
    load_source_table,
)


@pytest.fixture(autouse=True)
def no_folder(monkeypatch):
    monkeypatch.delenv("COMMITTEE_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "dumb")


@pytest.fixture
def quick(monkeypatch):
    """Settings that fit in a moment."""
    small = {"n_estimators": 2, "n_boosting_rounds": 2, "n_leaf_steps": 5}
    monkeypatch.setitem(sbpmt.SETTINGS, "default", small)
    monkeypatch.setitem(sbpmt.SETTINGS, "paper", {**small, "max_depth": 2})


@pytest.fixture
def folder(tmp_path):
    """Two small tables under names of the paper's, one of them with a category of digits."""
    place = tmp_path / "tables"
    place.mkdir()
    for name, load in (("iris", load_iris), ("glass", load_wine)):
        X, y = load(return_X_y=True)
        frame = pl.DataFrame(X[:, :4], schema=["a", "b", "c", "d"], orient="row")
        frame = frame.with_columns(pl.Series("code", (np.arange(len(y)) % 3)), pl.Series("target", y))
        frame.write_csv(place / f"{name}.csv")
    entries = [{"name": n, "file": f"{n}.csv", "categorical": ["code"], "rows": 0} for n in ("iris", "glass")]
    (place / "catalogue.json").write_text(json.dumps(entries))
    return place


# --- the paper's numbers --------------------------------------------------------------------------------------


def test_the_papers_tables_are_whole():
    rows = sbpmt.published()
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
    model = sbpmt.classifier("paper", 3)
    M, T, B = model.n_estimators, model.n_boosting_rounds, model.n_leaf_steps
    assert (M, T, B, model.max_samples, model.max_depth, model.min_samples_leaf) == (21, 5, 100, 0.7, 6, 20)
    assert (model.emphasis, model.min_impurity_decrease, model.random_state) == ("half", 0.0, 3)
    unnamed = set(model.get_params()) - set(sbpmt.SETTINGS["paper"])
    assert unnamed == {"oob_score", "max_bins", "categorical_features", "random_state", "n_jobs"}
    assert mease_wyner.BENCHMARK.keys() == sbpmt.SETTINGS["paper"].keys()
    assert (model.max_features, mease_wyner.BENCHMARK["max_features"], mease_wyner.BENCHMARK["max_depth"]) == (
        None,
        None,
        3,
    )
    assert sbpmt.classifier("default", None).get_params() == SBPMTClassifier().get_params()


def row_of(accuracies, name="iris"):
    published = next(row for row in sbpmt.published() if row.name == name)
    return sbpmt.RebuiltRow(published, tuple(accuracies), 0.1)


def test_difference_in_the_papers_standard_deviations():
    row = row_of([90.0, 92.0])
    assert row.mean == 91.0 and row.sd == pytest.approx(np.sqrt(2.0))
    assert row.difference == pytest.approx(-5.0) and row.difference_in_sds == pytest.approx(-5.0 / 5.62)
    assert row_of([100.0], "bhp").difference_in_sds == 0.0
    assert row_of([99.0], "bhp").difference_in_sds is None
    assert row_of([99.0]).sd == 0.0


# --- tables ------------------------------------------------------------------------------------------------------


def test_a_folder_gives_categories_and_labels_as_text(folder):
    table = load_source_table(SOURCE_TABLES["iris"], folder)
    assert table.frame.schema["code"] == pl.String and table.frame.schema["a"] == pl.Float64
    assert table.labels.classes.tolist() == ["0", "1", "2"] and "target" not in table.frame.columns


def test_a_folder_is_found_or_refused(folder, monkeypatch, tmp_path):
    assert data_folder(None) is None
    monkeypatch.setenv("COMMITTEE_DATA", str(folder))
    assert data_folder(None) == folder
    with pytest.raises(ValueError, match=r"holds no catalogue\.json; give another with --data"):
        data_folder(tmp_path)
    with pytest.raises(ValueError, match="does not name the table 'letter'"):
        load_source_table(SOURCE_TABLES["letter"], folder)
    (folder / "catalogue.json").write_text('{"iris": 1}')
    with pytest.raises(ValueError, match="must be a list of objects with name, file, categorical"):
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
    with pytest.raises(ValueError, match="no copy of the table 'bhp' is known at OpenML; give a folder that has it"):
        load_source_table(SOURCE_TABLES["bhp"], None)
    assert sum(table.openml is not None for table in SOURCE_TABLES.values()) == 17


def test_tables_that_openml_has_not_are_named_before_anything_is_run(monkeypatch, tmp_path):
    asked = stub_openml(monkeypatch)
    result = run("--out", tmp_path / "out")
    assert result.exit_code == 2 and not asked and not (tmp_path / "out").exists()
    for words in (
        "known of 'diabetes_early', 'raisin', 'bhp', 'messidor', 'obesity'",
        "leave them out with --tables iris,glass,",
        "with --data or COMMITTEE_DATA",
    ):
        assert words in result.output
    # what the message says to do passes the check
    asked_for = result.output.split("--tables ")[1].split(", or give")[0]
    check_known_at_openml(asked_for.split(","))
    result = run("--tables", "bhp", "--out", tmp_path / "out")
    assert result.exit_code == 2 and "of 'bhp'; name other tables with --tables" in result.output


# --- finished cells ----------------------------------------------------------------------------------------------


def test_a_journal_keeps_what_was_appended(tmp_path):
    path = tmp_path / "new" / "cells.jsonl"
    with Journal(path, {"seed": 0, "ratio": (1, 2)}) as journal:
        journal.append({"fold": 0})
        assert path.read_text().endswith('{"fold": 0}\n'), "on the disk before the next cell starts"
    with Journal(path, {"seed": 0, "ratio": (1, 2)}) as journal:
        journal.append({"fold": 1})
    with Journal(path, {"seed": 0, "ratio": (1, 2)}) as journal:
        assert journal.cells == [{"fold": 0}, {"fold": 1}]


@pytest.mark.parametrize("rest", ['{"fold": 1', '{"fold": 1}', "\x00\x00"])
def test_a_line_cut_short_is_dropped(tmp_path, rest):
    path = tmp_path / "cells.jsonl"
    with Journal(path, {"seed": 0}) as journal:
        journal.append({"fold": 0})
    with path.open("a") as file:
        file.write(rest)
    with Journal(path, {"seed": 0}) as journal:
        assert journal.cells == [{"fold": 0}]
        journal.append({"fold": 2})
    with Journal(path, {"seed": 0}) as journal:
        assert journal.cells == [{"fold": 0}, {"fold": 2}]


@pytest.mark.parametrize("start", ["", '{"run": {"se'])
def test_a_journal_cut_short_in_its_first_line_begins_anew(tmp_path, start):
    path = tmp_path / "cells.jsonl"
    path.write_text(start)
    with Journal(path, {"seed": 0}) as journal:
        journal.append({"fold": 0})
    with Journal(path, {"seed": 0}) as journal:
        assert journal.cells == [{"fold": 0}]


def test_cells_of_another_run_are_not_mixed(tmp_path):
    path = tmp_path / "cells.jsonl"
    with Journal(path, {"seed": 0, "depth": 6}) as journal:
        journal.append({"fold": 0})
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"another run, with depth=6 instead of None; give another folder with --out"):
        Journal(path, {"seed": 0})
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "text", ["no cells\n", '{"fold": 1}\n', "[1]\n", '{"run": {"seed": 0}}\nbroken\n{"fold": 1}\n']
)
def test_a_file_that_is_no_journal_is_left_alone(tmp_path, text):
    path = tmp_path / "cells.jsonl"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"line \d of .* is no finished cell"):
        Journal(path, {"seed": 0})
    assert path.read_text() == text


# --- Table 2 -----------------------------------------------------------------------------------------------------


def test_table2_is_the_mean_over_stratified_folds(quick, folder, tmp_path):
    seen = []
    rows = sbpmt.rebuild_table2(folder, tmp_path / "out", tables=["glass", "iris"], progress=lambda *a: seen.append(a))
    assert [row.published.title for row in rows] == ["Iris", "Glass"], "in the paper's order"
    assert [len(row.accuracies) for row in rows] == [10, 10] and all(row.mean > 60 for row in rows)
    assert seen[-1] == (20, 20, "Glass") and [done for done, _, _ in seen] == list(range(1, 21))
    with (tmp_path / "out" / "table2-default.csv").open() as file:
        written = list(csv.DictReader(file))
    assert [line["name"] for line in written] == ["iris", "glass"]
    assert float(written[0]["accuracy"]) == pytest.approx(rows[0].mean, abs=1e-4)
    assert float(written[1]["paper: random forest"]) == 77.09


def test_one_cell_is_what_scikit_learn_would_say(quick, folder):
    from sklearn.model_selection import StratifiedKFold

    table = load_source_table(SOURCE_TABLES["iris"], folder)
    y = table.labels.classes[table.labels.codes]
    train, test = next(StratifiedKFold(10, shuffle=True, random_state=0).split(y, y))
    cell = sbpmt.run_cell(table, sbpmt.classifier("default", 0), train, test, (0, 0))
    model = sbpmt.classifier("default", 0).fit(table.frame[train.tolist()], y[train])
    assert cell["right"] == (model.predict(table.frame[test.tolist()]) == y[test]).sum() and cell["rows"] == 15


def test_an_interrupted_run_goes_on(quick, folder, tmp_path, monkeypatch):
    options = {"tables": ["iris", "glass"], "repeats": 2}
    whole = sbpmt.rebuild_table2(folder, tmp_path / "whole", **options)
    run_cell, calls = sbpmt.run_cell, []

    def breaks(*arguments):
        calls.append(arguments[-1])
        if len(calls) == 24:
            raise KeyboardInterrupt
        return run_cell(*arguments)

    monkeypatch.setattr(sbpmt, "run_cell", breaks)
    with pytest.raises(KeyboardInterrupt):
        sbpmt.rebuild_table2(folder, tmp_path / "broken", **options)
    kept = (tmp_path / "broken" / "cells-default.jsonl").read_text().count("\n") - 1
    assert 20 <= kept <= 23
    calls.clear()
    monkeypatch.setattr(sbpmt, "run_cell", lambda *a: (calls.append(a[-1]), run_cell(*a))[1])
    resumed = sbpmt.rebuild_table2(folder, tmp_path / "broken", **options)
    assert len(calls) == 40 - kept
    assert [row.accuracies for row in resumed] == [row.accuracies for row in whole]


def test_fewer_repeats_than_there_are_cells_are_read_off(quick, folder, tmp_path, monkeypatch):
    two = sbpmt.rebuild_table2(folder, tmp_path, tables=["iris"], repeats=2)
    monkeypatch.setattr(sbpmt, "run_cell", None)
    one = sbpmt.rebuild_table2(folder, tmp_path, tables=["iris"], repeats=1)
    assert one[0].accuracies == two[0].accuracies[:10]


def test_processes_change_nothing(quick, folder, tmp_path):
    one = sbpmt.rebuild_table2(folder, tmp_path / "1", tables=["iris"])
    two = sbpmt.rebuild_table2(folder, tmp_path / "2", tables=["iris"], jobs=2)
    assert one[0].accuracies == two[0].accuracies


def test_cells_of_other_rows_settings_or_seeds_are_refused(quick, folder, tmp_path, monkeypatch):
    sbpmt.rebuild_table2(folder, tmp_path, tables=["iris"])
    with pytest.raises(ValueError, match="with seed=0 instead of 1"):
        sbpmt.rebuild_table2(folder, tmp_path, tables=["iris"], seed=1)
    monkeypatch.setitem(sbpmt.SETTINGS, "default", {**sbpmt.SETTINGS["default"], "max_depth": 3})
    with pytest.raises(ValueError, match="with max_depth=6 instead of 3"):
        sbpmt.rebuild_table2(folder, tmp_path, tables=["iris"])
    monkeypatch.setitem(sbpmt.SETTINGS, "default", {**sbpmt.SETTINGS["default"], "max_depth": 6})
    lines = (folder / "iris.csv").read_text().splitlines()
    (folder / "iris.csv").write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    with pytest.raises(ValueError, match="holds cells of another table 'iris' than the one read now"):
        sbpmt.rebuild_table2(folder, tmp_path, tables=["iris"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"settings": "best"}, "settings='best' is not known; use one of paper, default"),
        ({"repeats": 0}, "repeats and jobs must be at least 1; got repeats=0, jobs=1"),
        ({"tables": ["irs"]}, "tables names 'irs', which is not there; did you mean 'iris'"),
    ],
)
def test_wrong_options_of_table2(folder, tmp_path, options, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        sbpmt.rebuild_table2(folder, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_the_printed_table_ends_with_means():
    grid = sbpmt.table2_grid([row_of([90.0, 92.0]), row_of([99.0], "bhp")], "default")
    assert grid.rows[0][:5] == ("Iris", "91.00 ±1.41", "96.00 ±5.62", "-5.00", "-0.89")
    assert grid.rows[1][4] == "-" and grid.rows[2][:4] == ("mean of 2", "95.00", "98.00", "-3.00")


# --- the simulation ----------------------------------------------------------------------------------------------


def test_mease_wyner_has_the_papers_probabilities():
    X, y = mease_wyner.mease_wyner(40000, np.random.default_rng(0))
    above = X[:, :5].sum(axis=1) > 2.5
    assert X.shape == (40000, 10) and X.min() >= 0.0 and X.max() <= 1.0
    assert (y[above] == 1).mean() == pytest.approx(0.9, abs=0.01)
    assert (y[~above] == 1).mean() == pytest.approx(0.1, abs=0.01)
    assert (X[:, 5:].sum(axis=1) > 2.5).mean() == pytest.approx(0.5, abs=0.01)


@pytest.fixture
def short(monkeypatch):
    """The simulation in miniature: 300 rows, three values of each parameter."""
    monkeypatch.setattr(mease_wyner, "TRAINING_ROWS", 300)
    monkeypatch.setattr(mease_wyner, "TEST_ROWS", 500)
    monkeypatch.setattr(mease_wyner, "MOST", 4)
    monkeypatch.setattr(mease_wyner, "RATIOS", (0.3, 1.0))
    curves = {name: (1, 2, 3, 4) if name != "subagging ratio" else (0.3, 1.0) for name in mease_wyner.CURVES}
    monkeypatch.setattr(mease_wyner, "CURVES", curves)
    monkeypatch.setattr(sbpmt_figures, "CURVES", curves)


def test_one_long_boosting_gives_the_errors_of_all_short_ones():
    X, y = mease_wyner.mease_wyner(700, np.random.default_rng(1))
    X_test, y_test = mease_wyner.mease_wyner(2000, np.random.default_rng(2))
    long = SBPMTClassifier(**{**mease_wyner.BENCHMARK, "n_boosting_rounds": 8}, random_state=0).fit(X, y)
    errors = mease_wyner.errors_by_round(long, X_test, y_test, 8)
    for T in (1, 2, 5, 8):
        own = SBPMTClassifier(**{**mease_wyner.BENCHMARK, "n_boosting_rounds": T}, random_state=0).fit(X, y)
        assert errors[T - 1] == pytest.approx((own.predict(X_test) != y_test).mean(), abs=1e-12)


def test_figure2_resumes_and_averages(short, tmp_path, monkeypatch):
    first = mease_wyner.rebuild_figure2(tmp_path, repeats=1)
    both = mease_wyner.rebuild_figure2(tmp_path, repeats=2)
    assert {name: errors.shape for name, errors in both.items()} == {
        "subagging times": (2, 4),
        "AdaBoost iterations": (2, 4),
        "ProbitBoost iterations": (2, 4),
        "subagging ratio": (2, 2),
    }
    for name, errors in both.items():
        np.testing.assert_array_equal(errors[:1], first[name])
        assert (errors[0] != errors[1]).any() and ((errors > 0.05) & (errors < 0.5)).all()
    # Every curve passes the benchmark setting, up to the seed: here only that the model is the same one.
    monkeypatch.setattr(mease_wyner, "run_repeat", None)
    mease_wyner.rebuild_figure2(tmp_path, repeats=2)
    with (tmp_path / "figure2.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 14 and {line["runs"] for line in lines} == {"2"}
    assert float(lines[0]["test_error"]) == pytest.approx(both["subagging times"][:, 0].mean(), abs=1e-6)
    with pytest.raises(ValueError, match="repeats and jobs must be at least 1"):
        mease_wyner.rebuild_figure2(tmp_path, repeats=0)


def test_standard_error():
    assert mease_wyner.standard_error([1.0, 3.0]) == pytest.approx(1.0)
    assert mease_wyner.standard_error([1.0]) == 0.0


# --- pictures and the command ------------------------------------------------------------------------------------


def test_figure2_has_the_four_panels(tmp_path):
    errors = {name: np.full((3, len(values)), 0.2) for name, values in mease_wyner.CURVES.items()}
    figure = sbpmt_figures.figure2(errors)
    assert [ax.get_xlabel() for ax in figure.axes] == list(mease_wyner.CURVES)
    sbpmt_figures.save(figure, tmp_path / "a.png")
    sbpmt_figures.save(sbpmt_figures.figure2(errors), tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_figures_3_and_4_sort_as_the_paper_does():
    rows = [row_of([90.0], row.name) for row in sbpmt.published()]
    titles = [text.get_text().split("\n")[0] for text in sbpmt_figures.figure3(rows).axes[1].get_xticklabels()]
    assert titles == [row.title for row in sbpmt.published()]
    by_share = [text.get_text() for text in sbpmt_figures.figure4(rows).axes[1].get_xticklabels()]
    assert by_share[:2] == ["Diabetes\n0%", "Tic-tac-toe\n0%"] and by_share[-1] == "Letter\n100%"
    assert by_share[2].startswith("Obesity")


@pytest.mark.parametrize("draw", [sbpmt_figures.figure3, sbpmt_figures.figure4])
@pytest.mark.parametrize("n", [1, 22])
def test_pictures_of_any_number_of_tables_are_drawn_without_a_warning(draw, n, tmp_path):
    rows = [row_of([90.0], row.name) for row in sbpmt.published()[:n]]
    sbpmt_figures.save(draw(rows), tmp_path / "picture.png")


def run(*arguments):
    return CliRunner().invoke(app, ["papers", "sbpmt", *map(str, arguments)])


def test_the_command_prints_and_writes(quick, folder, tmp_path):
    out = tmp_path / "out"
    result = run("--data", folder, "--tables", "iris,glass", "--settings", "paper", "--out", out)
    assert result.exit_code == 0, result.output
    assert "settings paper" in result.output and "mean of 2" in result.output
    made = {"cells-paper.jsonl", "table2-paper.csv", "figure3-paper.png", "figure4-paper.png"}
    assert {path.name for path in out.iterdir()} == made
    (out / "figure3-paper.png").unlink()
    (out / "figure4-paper.png").unlink()
    result = run("--data", folder, "--tables", "iris", "--settings", "paper", "--figure", 4, "--out", out)
    assert result.exit_code == 0 and not (out / "figure3-paper.png").exists()


def test_the_folder_may_come_from_the_environment(quick, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("COMMITTEE_DATA", str(folder))
    assert run("--tables", "iris", "--out", tmp_path / "out").exit_code == 0


def test_the_simulation_by_command(short, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "committee.papers.shared.rebuild.figure2_grid", lambda errors: sbpmt.table2_grid([row_of([1.0])], "x")
    )
    result = run("--figure", 2, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"cells-figure2.jsonl", "figure2.csv", "figure2.png"}


def test_figure2_as_a_table():
    errors = {name: np.full((2, len(values)), 0.25) for name, values in mease_wyner.CURVES.items()}
    errors["subagging ratio"][:, 0] = 0.5
    grid = mease_wyner.figure2_grid(errors)
    assert grid.columns == ("at", *list(mease_wyner.CURVES)[:3], "at", "subagging ratio")
    assert grid.rows[0] == ("1", "25.00", "25.00", "25.00", "0.05", "50.00")
    assert len(grid.rows) == 7 and "mean of 2 run(s)" in grid.title


def test_errors_of_the_command_are_one_line(folder, tmp_path):
    result = run("--data", tmp_path)
    assert result.exit_code == 2 and "holds no catalogue.json" in result.output
    result = run("--data", folder, "--figure", 5)
    assert result.exit_code == 2 and "figure=5 cannot be rebuilt; use 2, 3 or 4" in result.output
    with pytest.raises(ValueError, match="figure=1"):
        rebuild_sbpmt(folder, tmp_path, figure=1)
