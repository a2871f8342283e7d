"""The theory of matryoshki: cells of nested trees, values of Figures 2 and 3, tables, and the rebuilt files."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from committee import MatryoshkaClassifier
from committee.bounds.nested_trees import tree_factor
from committee.papers.matryoshka import figures, report
from committee.papers.matryoshka.cells import (
    ADABOOST,
    BINARY,
    EXPECTED,
    FULL,
    GREEDY,
    LIKELY,
    MAJORITY,
    METHODS,
    NAMES,
    PROBABILISTIC,
    QUICK,
    REFERENCE,
    TREE,
    Setting,
    course,
    exponential_loss,
    mean_log_loss,
    nesting_cell,
    read_named,
    setting_of,
)
from committee.papers.matryoshka.figures import RHOS, by_inner_size, by_level, by_voters, whole_sizes
from committee.papers.matryoshka.rebuild import rebuild
from committee.papers.matryoshka.report import NestingResults, bound_signs, duel, promised, wrong
from committee.papers.shared.cells import key_of
from committee.papers.shared.pages import packed, unpacked
from committee.papers.shared.tables import Fold
from committee.voters.probabilistic_voters import SoftStumps
from committee.voters.vote_graph import PathMajority, VoteGraph
from tests.papers.conftest import assert_other_rows_are_refused, records, write_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two small tables under names of the twelve: numbers alone; numbers, categories and gaps. A third of one class."""
    random = np.random.default_rng(0)
    X = random.normal(size=(90, 3)).round(1)
    sonar = pl.DataFrame(X, schema=["a", "b", "c"], orient="row").with_columns(
        pl.Series("target", np.where(X[:, 0] + X[:, 1] + random.normal(size=90) > 0, "R", "M"))
    )
    colour = random.choice(["red", "blue", "green", ""], 80)
    size = np.where(random.random(80) < 0.1, None, random.integers(0, 9, 80).astype(object))
    credit = pl.DataFrame({"colour": colour, "size": size.tolist()}).with_columns(
        pl.Series("target", np.where((colour == "red") ^ (random.random(80) < 0.2), "yes", "no"))
    )
    pima = pl.DataFrame({"x": [1, 2, 3], "target": ["a", "b", "c"]})
    return write_folder(tmp_path_factory.mktemp("tables"), ("colour",), sonar=sonar, credit=credit, pima=pima)


def test_tables_are_refused(folder):
    with pytest.raises(ValueError, match="'pima' has 3 classes, but must have two; name other tables with --tables"):
        read_named("pima", folder)
    assert len(NAMES) == 12


@st.composite
def graphs(draw):
    """Stumps on one column whose answers lead anywhere later."""
    T = draw(st.integers(1, 5))
    numbers = st.floats(-2.0, 2.0)
    stumps = [(0, draw(numbers), draw(st.sampled_from([0.0, 0.7])), draw(st.booleans()), 0.3, None) for _ in range(T)]
    following = [[draw(st.sampled_from([-1, *range(t + 1, T)])) for _ in range(2)] for t in range(T)]
    vote = [[draw(numbers), draw(numbers)] for _ in range(T)]
    start = np.array([0, T], dtype=np.int64)
    return VoteGraph(SoftStumps.of(stumps, 1), np.array(following, np.int32), np.array(vote), start, 2)


@given(graphs(), st.integers(0, 9))
@settings(max_examples=60)
def test_the_loss_of_a_graph_is_that_of_all_its_paths(graph, seed):
    random = np.random.default_rng(seed)
    X, positive = random.normal(size=(6, 1)), random.random(6) < 0.5
    q = graph.voters.probabilities(X)
    total = np.zeros(6)
    # every joint answer of all voters, met or not
    for answers in product((0, 1), repeat=len(graph.next)):
        P, H, t = np.ones(6), 0.0, 0
        for k, answer in enumerate(answers):
            P = P * (q[:, k] if answer == 0 else 1 - q[:, k])
        while t >= 0:
            H, t = H + graph.vote[t, answers[t]], graph.next[t, answers[t]]
        total += P * np.exp(-H * np.where(positive, 1, -1))
    assert exponential_loss(graph, X, positive) == pytest.approx(total.mean(), rel=1e-10)


@pytest.mark.parametrize("method", PROBABILISTIC)
@pytest.mark.parametrize("softness", [0.0, 0.25])
def test_a_cell_says_what_the_learner_does(folder, method, softness):
    fold = Fold(read_named("credit", folder), 1, 0)
    setting = Setting(method, 8, softness)
    cell = nesting_cell(fold, setting, 400)
    (X, X_test), (y, y_test) = fold.rows, fold.positive
    model = setting.make(1).set_params(categorical_features=fold.categorical).fit(X, y)
    assert cell["bound"] == model.bound_
    # leaves' weights are float32 where many are kept
    assert cell["true_bound"] == pytest.approx(model.bound_, rel=1e-5)
    assert cell["train_error"] <= cell["bound"] + 0.03
    likely = setting.make(1).set_params(categorical_features=fold.categorical, method=LIKELY).fit(X, y)
    for walk, one in ((EXPECTED, model), (LIKELY, likely)):
        assert (unpacked(cell["right"][walk], len(y_test)) == (one.predict(X_test) == y_test)).all()
        own = one.predict_proba(X_test)[np.arange(len(y_test)), y_test.astype(int)]
        assert cell["log_loss"][walk] == pytest.approx(-np.log(own).mean())
    assert cell["steps"] == likely.cost(X_test).mean() and cell["met"] == model.cost(X_test).mean()
    assert cell["met"] <= cell["needed"] + 0.01 * cell["voters"] and cell["needed"] <= cell["voters"] == len(
        model.graph_
    )
    P, error = PathMajority(model.graph_, 400).probability(model.table_.encode(X_test))
    if not error.any():
        assert cell["path_error"] == pytest.approx(np.abs(P[:, 0] - y_test).mean())
        assert (unpacked(cell["right"][MAJORITY], len(y_test)) == ((P[:, 0] > 0.5) == y_test)).all()
    if softness == 0.0:
        assert len({*cell["right"].values()}) == 1, "there is one path"
        assert cell["path_error"] == pytest.approx(wrong()(cell))


def test_the_reference_is_adaboost_on_hard_stumps(folder):
    fold = Fold(read_named("sonar", folder), 0, 0)
    cell = nesting_cell(fold, setting_of(REFERENCE, 8), 10)
    assert cell["true_bound"] == pytest.approx(cell["bound"], rel=1e-9)
    assert cell["train_error"] <= cell["bound"] and set(cell["right"]) == {EXPECTED}
    hard = nesting_cell(fold, Setting(ADABOOST, 8, 0.0), 10)
    # the two smooth their weights a little differently
    assert hard["bound"] == pytest.approx(cell["bound"], rel=0.1) and hard["met"] == cell["met"]


def test_what_is_told_from_draws_is_not_what_is(folder):
    fold = Fold(read_named("sonar", folder), 0, 0)
    known = nesting_cell(fold, Setting(TREE, 8), None)
    told = {how: nesting_cell(fold, Setting(TREE, 8, 0.25, 2, how), None) for how in ("map", "ml")}
    assert known["draws"] == 0.0 and told["map"]["draws"] == told["ml"]["draws"] == 2.0
    assert told["map"]["bound"] > told["map"]["true_bound"] > known["true_bound"], "MAP is told from above"
    assert told["ml"]["bound"] < told["ml"]["true_bound"], "ML from below"
    assert set(told["map"]["right"]) == {EXPECTED, LIKELY} and told["map"]["train_error"] is None


def test_a_2_matryoshka_of_more_voters_than_rows_is_left_out():
    assert not Setting(BINARY, 64).fits(63) and Setting(BINARY, 64).fits(64)
    assert all(Setting(method, 256).fits(63) for method in METHODS if method != BINARY)
    with pytest.raises(ValueError, match="more than the 20 rows"):
        MatryoshkaClassifier(levels=5).fit(np.arange(20.0)[:, None], np.arange(20) % 2)


def test_the_course_of_a_run_that_ends_early():
    found = course(np.array([0.9, 0.8, 0.7]), np.array([0.3, 0.1, 0.2]))
    assert found["bounds"] == [0.9, 0.8] and found["edges"] == [0.3, 0.1] and found["edge_least"] == 0.1


def test_probabilities_of_nothing_cost_no_more_than_the_floor():
    assert mean_log_loss(np.array([0.0, 0.5]), np.array([True, False]), 0.01) == pytest.approx(
        -(np.log(0.01) + np.log(0.5)) / 2
    )
    assert np.isfinite(mean_log_loss(np.array([1.0]), np.array([False]), 0.0))


def test_the_plan_runs_each_setting_once():
    found = FULL.settings()
    assert len(found) == len(set(found)) == 15 + 16 + 30 + 4
    assert {s.voters for s in FULL.by_size()} == {16, 64, 256} and FULL.base in FULL.sizes
    assert all(T & (T - 1) == 0 for T in (*FULL.sizes, *QUICK.sizes))
    assert setting_of(TREE, 64) in FULL.by_softness() and setting_of(TREE, 64) in FULL.by_draws()


def test_entropies_go_with_the_course(folder):
    fold = Fold(read_named("credit", folder), 1, 0)
    cell = nesting_cell(fold, Setting(TREE, 8, choose="entropy"), None)
    assert cell["entropies"][0] == 0.0 and len(cell["entropies"]) == len(cell["edges"]) == 4
    assert all(entropy < 0.0 for entropy in cell["entropies"][1:]) and -1.0 <= cell["edge_by_entropy"] <= 1.0
    assert nesting_cell(fold, Setting(TREE, 1), None)["edge_by_entropy"] is None


def value(curves, name, rho, x, T=None):
    [curve] = [c for c in curves if (c.name, c.rho, c.T) == (name, rho, T)]
    return float(curve.y[np.flatnonzero(np.isclose(curve.x, x))[0]])


def test_figure_2_left_has_the_documents_values():
    curves = by_voters()
    assert {c.rho for c in curves} == set(RHOS) and len(curves) == 15
    assert value(curves, "2-matryoshka", "31/32", 16) == pytest.approx(0.8544262, abs=1e-7)
    assert value(curves, "2-matryoshka", "31/32", 1024) == pytest.approx(0.2471858, abs=1e-7)
    assert value(curves, "2-matryoshka", "31/32", 65536) == pytest.approx(0.0065931, abs=1e-7)
    for name, rho in RHOS.items():
        for T in (1, 8, 4096):
            t = np.arange(T)
            assert value(curves, "tree", name, T) == pytest.approx(np.prod((t + rho) / (t + 1)), rel=1e-10)
            assert value(curves, "AdaBoost", name, T) == pytest.approx(rho**T, rel=1e-9)
            trio = [value(curves, kind, name, T) for kind in ("tree", "2-matryoshka", "AdaBoost")]
            # one voter is all three
            in_order = trio == sorted(trio, reverse=True) if T > 1 else trio == pytest.approx([rho] * 3)
            assert in_order, "highest, middle, lowest, as its caption says"


def test_figure_2_right_begins_and_ends_at_the_plain_tree():
    for curve in by_inner_size():
        plain = float(tree_factor(curve.T, RHOS[curve.rho]))
        assert curve.y[[0, -1]] == pytest.approx([plain, plain], rel=1e-12)
        assert (curve.y <= plain * (1 + 1e-12)).all()
        best = minimize_scalar(
            lambda log, T=curve.T, rho=RHOS[curve.rho]: float(tree_factor(T / 2**log, tree_factor(2**log, rho))),
            bounds=(0.0, np.log2(curve.T)), method="bounded",
        )  # fmt: skip
        assert np.log2(curve.x[np.argmin(curve.y)]) == pytest.approx(best.x, abs=0.05)
        # "always near sqrt T" on the scale of the figure: within one of log2 T / 2, and not above it
        assert -1.0 < best.x - np.log2(curve.T) / 2 < 0.05


def test_figure_3_nests_ever_deeper():
    curves = by_level()
    for T, end in ((1024, 0.2471858), (65536, 0.0065931)):
        own = {c.name: c for c in curves if c.T == T}
        real, levels = own["real sizes"], round(np.log2(T))
        assert (np.diff(real.y) < 0).all() and real.x[-1] > levels, "falls past log2 T too"
        assert real.y[levels - 1] == pytest.approx(end, abs=1e-7)
        assert real.y[0] == pytest.approx(own["not nested"].y[0]) == pytest.approx(float(tree_factor(T, 31 / 32)))
        for name in ("whole sizes, larger inside", "whole sizes, larger outside"):
            assert own[name].y[-1] == pytest.approx(end, abs=1e-7) and len(own[name].y) == levels
            assert (own[name].y >= real.y[:levels] - 1e-12).all(), "never more voters than T"


@given(st.integers(4, 5000), st.integers(1, 11))
def test_whole_sizes_are_neighbours_and_use_up_the_voters(T, levels):
    if 2**levels > T:
        return
    sizes = whole_sizes(T, levels)
    assert len(sizes) == levels and sizes == sorted(sizes, reverse=True)
    assert sizes[-1] <= T ** (1 / levels) + 1e-6 < sizes[-1] + 1.001 and sizes[0] - sizes[-1] <= 1
    assert np.prod(sizes) <= T
    if sizes[0] == sizes[-1]:
        assert np.prod([sizes[0] + 1, *sizes[1:]]) > T


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
    assert edges.columns == ("method", "1", "2", "3-4", "5-8") and edges.rows[0][1:] == ("0.300", "0.200", "0.100", "-")
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
    entropies, growth, clocks = report.growth_grids(made_up)
    assert entropies.rows[0] == (ADABOOST, "100.00", "50.00", "-", "-", "-0.05", "6-0")
    assert entropies.rows[1][-2:] == ("0.05", "0-6")
    assert [row[0] for row in growth.rows] == ["mass", "drop", "entropy"] and growth.rows[0][-2:] == ("-", "-")
    assert growth.rows[1][1:] == (
        "0.200", "5.00", "20.00", "20.00", "0.500", "2", "0-0-3, 1.000", "0-0-3, 1.000",
    )  # fmt: skip
    assert [row[0] for row in clocks.rows] == ["known", "first rise", "stopwatch", "look ahead"]
    assert clocks.rows[3][1:5] == ("0.0", "0.100", "0.100", "16.67") and clocks.rows[3][-1] == "0-0-3, 1.000"


# --- the rebuilt files ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_quick_run_writes_everything_and_is_not_run_again(folder, tmp_path):
    seen = []
    options = {"tables": ["sonar", "credit"], "repeats": 5, "quick": True}
    grids = rebuild(folder, tmp_path, **options, progress=lambda *step: seen.append(step))
    assert len(grids) == 14 and seen[-1] == (120, 120, "credit") and seen[0] == (1, 120, "sonar")
    assert {path.name for path in tmp_path.iterdir()} == {
        "cells-quick.jsonl", "cells.csv", "pairs.csv", "tables.md", "bounds.png", "cost.png", "softness.png",
        "draws.png", "figure2.png", "figure3.png", "figure2-left.csv", "figure2-right.csv", "figure3.csv",
    }  # fmt: skip
    lines = records(tmp_path / "cells.csv")
    assert len(lines) == 120 and {line["repeat"] for line in lines} == {"0", "1"}, "two are enough"
    points = {(p["curve"], p["rho"], float(p["x"])): float(p["bound"]) for p in records(tmp_path / "figure2-left.csv")}
    assert points["2-matryoshka", "31/32", 1024.0] == pytest.approx(0.2471858, abs=1e-7)
    assert (tmp_path / "tables.md").read_text("utf-8").count("\n|---|") == 14
    assert rebuild(folder, tmp_path, **options, progress=lambda *_: pytest.fail("run again")) == grids
    cells = [json.loads(line) for line in (tmp_path / "cells-quick.jsonl").read_text("utf-8").splitlines()[1:]]
    place = {"table": "", "repeat": 0, **Setting("", 0).place}
    assert len({key_of(cell, place) for cell in cells}) == len(cells) == 120
    assert {cell["method"] for cell in cells} == {*METHODS}


@pytest.mark.slow
def test_growth_alone(folder, tmp_path):
    options = {"tables": ["sonar"], "repeats": 1, "quick": True}
    grids = rebuild(folder, tmp_path, **options, growth=True, jobs=2)
    assert [len(grid.rows) for grid in grids] == [4, 3, 4]
    assert {path.name for path in tmp_path.iterdir()} == {"cells-quick.jsonl", "cells-growth.csv", "tables-growth.md"}
    seen = []
    rebuild(folder, tmp_path, **options, progress=lambda *step: seen.append(step))
    assert seen[0] == (10, 30, "sonar"), "a whole run goes on from its nine cells"


@pytest.mark.slow
def test_other_runs_and_tables_are_refused(folder, tmp_path):
    options = {"tables": ["sonar"], "repeats": 1, "quick": True}
    rebuild(folder, tmp_path / "out", **options)
    with pytest.raises(ValueError, match="seed 0 instead of 1"):
        rebuild(folder, tmp_path / "out", **options, seed=1)
    assert_other_rows_are_refused(rebuild, folder, tmp_path, "sonar", quick=True)
