"""Findings of the comparison of nested trees: settings against each other, tables that add up."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from committee.papers.matryoshka import figures, growth_report, report
from committee.papers.matryoshka.cells import EXPECTED, LIKELY, MAJORITY
from committee.papers.matryoshka.plan import ADABOOST, BINARY, GREEDY, METHODS, QUICK, REFERENCE, TREE
from committee.papers.matryoshka.results import NestingResults, bound_signs, duel, promised, setting_of, wrong
from committee.papers.shared.paired import packed


@pytest.fixture
def made_up():
    """Three tables of ten test rows; on the smallest one the 2-matryoshka of 8 voters is left out."""
    cells, plan = {}, replace(QUICK, draws=(2,))
    for number, table in enumerate(("sonar", "credit", "german")):
        for repeat in range(2):
            for setting in plan.settings():
                if table == "sonar" and setting.method == BINARY and setting.voters == 8:
                    continue
                k = METHODS.index(setting.method)
                right = np.ones(10, dtype=bool)
                right[: 1 + (k if table == "credit" else number)] = False
                walks = (EXPECTED,) if setting.method == REFERENCE else (EXPECTED, LIKELY, MAJORITY)
                cells[table, repeat, *setting.key] = {
                    "table": table, "repeat": repeat, "method": setting.method, "asked": setting.voters,
                    "softness": setting.softness, "n_draws": setting.n_draws, "estimate": setting.estimate,
                    "choose": setting.choose, "entropies": [0.0, np.log(0.5)], "edge_by_entropy": 0.1 * k - 0.05,
                    "training_rows": 20, "test_rows": 10, "fit_seconds": 0.002, "voters": setting.voters,
                    "bound": 0.1 * (k + 1), "true_bound": 0.1, "train_error": 0.05, "path_error": 0.2,
                    "right": {walk: packed(right) for walk in walks}, "log_loss": dict.fromkeys(walks, 0.5),
                    "met": 2.0, "steps": 2.0, "needed": 3.0, "draws": 0.0, "bounds": [0.9, 0.5, 0.3],
                    "edges": [0.3, 0.2, 0.1], "edge_first": 0.3, "edge_median": 0.2, "edge_least": 0.1,
                }  # fmt: skip
    return NestingResults(cells, ("sonar", "credit", "german"), 2, plan)


def test_settings_are_compared_where_both_were_run(made_up):
    pair = setting_of(ADABOOST, 8), setting_of(BINARY, 8)
    found, bounds = duel(made_up, *pair), bound_signs(made_up, *pair)
    assert (found.signs.wins, found.signs.losses, found.signs.ties) == (1, 0, 1), "two of the three tables"
    assert (bounds.wins, bounds.losses) == (2, 0) and found.less == pytest.approx(-0.1)
    # two rows more on one table of two: 0.875 there, 1/2 on the other
    assert found.probability == pytest.approx(0.5 * (0.875 + 0.5))
    other = duel(made_up, *reversed(pair))
    assert other.probability + found.probability == pytest.approx(1.0)
    none = duel(replace(made_up, tables=("sonar",)), *pair)
    assert np.isnan(none.probability) and none.signs.pvalue == 1.0


def test_means_and_ranks_are_over_tables_that_all_were_run_on(made_up):
    assert made_up.shared(made_up.of_size(4)) == ["sonar", "credit", "german"]
    assert made_up.shared(made_up.of_size(8)) == ["credit", "german"]
    assert_allclose(made_up.means(setting_of(TREE, 4), wrong(), made_up.tables), [0.1, 0.2, 0.3])
    ranks = made_up.ranks(made_up.of_size(8), wrong(), ["credit", "german"])
    assert ranks.tolist() == [2.0, 2.5, 3.0, 3.5, 4.0]
    assert np.isnan(made_up.mean(setting_of(REFERENCE, 4), wrong(LIKELY), ["german"]))
    assert made_up.largest(BINARY, "sonar") == setting_of(BINARY, 4) and made_up.largest(TREE, "sonar").voters == 8


def test_tables_add_up(made_up):
    bounds, promised, edges, errors, tables, pairs, walks, cost, soft, drawn = report.grids(made_up)
    assert bounds.rows[5] == (ADABOOST, "8", "2", "0.100", "0.849", "5.00", "0.300", "0.200", "0.100", "8.0")
    assert promised.rows[1][:3] == ("AdaBoost below 2-matryoshka", "3-0-0, 0.250", "1-0-2, 1.000")
    # the tree's bound is below the 2-matryoshka's in these cells; errors are level but on credit
    assert promised.rows[-1][1:3] == ("0 of 3", "0 of 3")
    assert edges.columns == ("voters", "1", "2", "3-4", "5-8") and edges.rows[0][1:] == ("0.300", "0.200", "0.100", "-")
    assert errors.rows[5][:5] == (ADABOOST, "8", "2.00", "20.00", "20.00")
    assert errors.rows[9][4] == "-" and errors.rows[9][0] == REFERENCE
    assert tables.rows[0][:4] == ("sonar", "20", "10.0 (0.100)", "10.0 (0.200)") and tables.rows[0][4] == "-"
    assert len(pairs.rows) == 10 and pairs.rows[1][4:] == ("0.69", "-10.00", "1-0-1, 1.000")
    assert len(walks.rows) == 8 and walks.rows[0][2:5] == ("0.50", "+0.00", "0-0-3, 1.000")
    assert cost.rows[0] == (ADABOOST, "4", "3.0", "2.0", "2.0", "2")
    assert [row[1] for row in soft.rows[:2]] == ["0", "0.25"] and len(soft.rows) == 8
    assert [row[1:3] for row in drawn.rows[:3]] == [("known", "-"), ("2", "MAP"), ("2", "ML")]


@pytest.mark.parametrize("method", [ADABOOST, TREE, BINARY])
def test_voters_that_are_never_wrong_promise_no_error(method):
    cell = {"method": method, "voters": 8, "edge_least": 0.5}
    assert promised(cell) == 0.0
    assert promised(cell | {"edge_least": -0.1}) == pytest.approx(1.0), "no edge, no promise"
    assert promised(cell | {"method": GREEDY}) is None


@pytest.mark.parametrize("n_tables", [1, 3, 5, 8])
def test_every_column_of_panels_has_its_label_below(made_up, n_tables):
    names = [f"table {number}" for number in range(n_tables)]
    cells = {(name, *key[1:]): cell for key, cell in made_up.cells.items() if key[0] == "german" for name in names}
    picture = figures.bounds(replace(made_up, cells=cells, tables=tuple(names)))
    shown = [ax for ax in picture.axes if ax.get_visible()]
    assert [ax.get_title("left") for ax in shown] == names
    picture.canvas.draw()
    lowest = shown[-min(4, n_tables) :]
    for ax in shown:
        ticks = [label.get_text() for label in ax.get_xticklabels() if label.get_visible()]
        assert (ax.get_xlabel() == "voters") == bool(ticks) == (ax in lowest)


def test_tables_of_nothing_shared_are_dashes(made_up):
    bounds, *_ = report.grids(replace(made_up, tables=("sonar",)))
    assert bounds.rows[5][2:5] == ("0", "-", "-")


def test_growth_and_clocks_are_told(made_up):
    entropies, growth, clocks = growth_report.grids(made_up)
    assert entropies.rows[0] == (ADABOOST, "100.00", "50.00", "-", "-", "-0.05", "6-0")
    assert entropies.rows[1][-2:] == ("0.05", "0-6")
    assert [row[0] for row in growth.rows] == ["mass", "drop", "entropy"] and growth.rows[0][-2:] == ("-", "-")
    assert growth.rows[1][1:] == (
        "0.200", "5.00", "20.00", "20.00", "0.500", "2", "0-0-3, 1.000", "0-0-3, 1.000",
    )  # fmt: skip
    assert [row[0] for row in clocks.rows] == ["known", "first rise", "stopwatch", "look ahead"]
    assert clocks.rows[3][1:5] == ("0.0", "0.100", "0.100", "16.67") and clocks.rows[3][-1] == "0-0-3, 1.000"
