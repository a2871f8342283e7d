"""Table 2 of the SBPMT paper: its numbers, and ours on stratified folds."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from committee import SBPMTClassifier
from committee.papers.sbpmt import rivals, simulation, table2
from committee.papers.sbpmt.rebuild import rebuild
from committee.papers.shared.cells import finished_cells
from committee.papers.shared.pages import save
from committee.papers.shared.tables import SOURCE_TABLES, check_known_at_openml, load_source_table
from committee.report.folds import stratified_folds
from tests.papers.rebuilding import broken_off_and_resumed, reverse_rows, run


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


def results(folder, out, *names, repeats=1, seed=0, **options):
    rows = [row for row in table2.published() if row.name in names]
    tasks = table2.tasks(rows, folder, "default", repeats, seed)
    cells = finished_cells(out / "cells.jsonl", table2.settings_of("default", seed), tasks, **options)
    return table2.results_of(rows, cells)


def test_table2_is_the_mean_over_stratified_folds(quick, folder, tmp_path):
    seen = []
    rows = results(folder, tmp_path / "out", "glass", "iris", progress=lambda *a: seen.append(a))
    assert [row.published.title for row in rows] == ["Iris", "Glass"], "in the paper's order"
    assert [len(row.accuracies) for row in rows] == [10, 10] and all(row.mean > 60 for row in rows)
    assert seen[-1] == (20, 20, "Glass") and [done for done, _, _ in seen] == list(range(1, 21))
    rebuild(folder, tmp_path / "out", tables=["glass", "iris"])
    with (tmp_path / "out" / "table2-default.csv").open(encoding="utf-8") as file:
        written = list(csv.DictReader(file))
    assert [line["name"] for line in written] == ["iris", "glass"]
    assert float(written[0]["accuracy"]) == pytest.approx(rows[0].mean, abs=1e-4)
    assert float(written[1]["paper: random forest"]) == 77.09


def test_one_cell_is_what_scikit_learn_would_say(quick, folder):
    from sklearn.model_selection import StratifiedKFold

    table = load_source_table(SOURCE_TABLES["iris"], folder)
    y = table.labels.classes[table.labels.codes]
    train, test = next(StratifiedKFold(10, shuffle=True, random_state=0).split(y, y))
    split = stratified_folds(table.labels.codes, 10, 1, 0)[0]
    cell = table2.fold_cell(table, split, table2.classifier("default", 0))
    model = table2.classifier("default", 0).fit(table.frame[train.tolist()], y[train])
    assert cell["right"] == (model.predict(table.frame[test.tolist()]) == y[test]).sum() and cell["rows"] == 15


def test_an_interrupted_run_goes_on(quick, folder, tmp_path):
    def both(folder, out, **options):
        return results(folder, out, "iris", "glass", repeats=2, **options)

    whole = both(folder, tmp_path / "whole")
    resumed, seen = broken_off_and_resumed(both, 23, folder, tmp_path / "broken")
    assert len(seen) == 17 and [row.accuracies for row in resumed] == [row.accuracies for row in whole]
    one = results(folder, tmp_path / "broken", "iris", progress=lambda *_: pytest.fail("run again"))
    assert one[0].accuracies == whole[0].accuracies[:10], "fewer repeats are read off"


def test_processes_change_nothing(quick, folder, tmp_path):
    one, two = (results(folder, tmp_path / f"{jobs}", "iris", jobs=jobs) for jobs in (1, 2))
    assert one[0].accuracies == two[0].accuracies


def test_cells_of_other_rows_settings_or_seeds_are_refused(quick, folder, tmp_path, monkeypatch):
    results(folder, tmp_path, "iris")
    with pytest.raises(ValueError, match="with seed 0 instead of 1"):
        results(folder, tmp_path, "iris", seed=1)
    monkeypatch.setitem(table2.SETTINGS, "default", {**table2.SETTINGS["default"], "max_depth": 3})
    with pytest.raises(ValueError, match="with max_depth 'auto' instead of 3"):
        results(folder, tmp_path, "iris")
    monkeypatch.setitem(table2.SETTINGS, "default", {**table2.SETTINGS["default"], "max_depth": "auto"})
    reverse_rows(folder, "iris")
    with pytest.raises(ValueError, match="holds cells of another table 'iris' than the one read now"):
        results(folder, tmp_path, "iris")


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
    result = run("sbpmt", "--data", folder, "--tables", "iris,glass", "--settings", "paper", "--out", out)
    assert result.exit_code == 0, result.output
    assert "settings paper" in result.output and "mean of 2" in result.output
    made = {"cells-paper.jsonl", "table2-paper.csv", "figure3-paper.png", "figure4-paper.png", "tables-paper.md"}
    assert {path.name for path in out.iterdir()} == made
    (out / "figure3-paper.png").unlink()
    (out / "figure4-paper.png").unlink()
    result = run("sbpmt", "--data", folder, "--tables", "iris", "--settings", "paper", "--figure", 4, "--out", out)
    assert result.exit_code == 0 and not (out / "figure3-paper.png").exists()


def test_the_folder_may_come_from_the_environment(quick, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("COMMITTEE_DATA", str(folder))
    assert run("sbpmt", "--tables", "iris", "--out", tmp_path / "out").exit_code == 0


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
