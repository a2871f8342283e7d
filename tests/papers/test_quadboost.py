"""QuadBoost: the document's numbers and tables, the methods and their searches, and the rebuilt cells and files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.datasets import load_wine

from committee.papers.quadboost import report
from committee.papers.quadboost.methods import (
    ADABOOST,
    ANEW_L2,
    ANEW_LINF,
    FULL,
    GINI,
    L1,
    L2,
    LEARNERS,
    LINF,
    LPBOOST,
    METHODS,
    QUICK,
    VANILLA,
    BestEdgeSearch,
    BinaryTable,
    GrownSearch,
    LPBoostSearch,
    draw_split,
    prepared,
    published,
    published_comparison,
    read_binary,
    worth,
)
from committee.papers.quadboost.rebuild import rebuild
from committee.papers.quadboost.report import PAIRS, TableResult, duel
from committee.report.folds import stratified_folds
from committee.report.statistics import poisson_binomial_test, sign_test
from tests.papers.conftest import assert_other_rows_are_refused, records, run, write_folder

BY_TITLE = {row.title: row for row in published()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two small tables under names of the document's, with as many rows as those have."""
    X, y = load_wine(return_X_y=True)
    wine = pl.DataFrame(X[:, :4], schema=["a", "b", "c", "d"], orient="row").with_columns(pl.Series("target", y + 1))
    random = np.random.default_rng(0)
    kinds = np.array(["mammal", "bird", "fish"])[random.integers(0, 3, 101)]
    legs = random.integers(0, 5, 101) + 3 * (kinds == "mammal")
    milk = np.where(random.random(101) < 0.2, "?", np.where(kinds == "mammal", "yes", "no"))
    zoo = pl.DataFrame({"legs": legs, "milk": milk, "target": kinds})
    return write_folder(tmp_path_factory.mktemp("tables"), ("milk",), wine=wine, zoo=zoo)


def test_the_documents_table_1_is_whole():
    rows = published()
    assert len(rows) == len({row.name for row in rows}) == 25
    assert all(tuple(row.error) == METHODS for row in rows)
    assert BY_TITLE["optdigits"].error[LINF] == 0.074 and BY_TITLE["zoo"].error[L2] == 0.1
    seconds = published_comparison().seconds
    assert (seconds[L2], seconds[ADABOOST]) == (74.04, 8.096) and tuple(seconds) == METHODS
    # what its text says of the table
    assert sum(row.error[VANILLA] <= row.error[ADABOOST] for row in rows) == 17
    assert sum(row.error[L1] <= row.error[LPBOOST] for row in rows) == 16


def possible(a, b):
    """Least and largest Poisson-binomial probability, whatever rows the document's errors fell on."""
    ends = []
    for for_a in (False, True):
        counts = []
        for row in published():
            d, both = row.wrong(b) - row.wrong(a), row.wrong(a) + row.wrong(b)
            apart = min(both, 2 * row.test_rows - both)  # rows that one of them gets wrong, at most; |d| at least
            alone = abs(d) if (d > 0) == for_a else apart
            counts.append(((alone + d) / 2, (alone - d) / 2))
        ends.append(poisson_binomial_test(*np.array(counts).T))
    return tuple(ends)


def test_the_documents_table_2_is_not_that_of_its_table_1():
    assert possible(LINF, LPBOOST) == (pytest.approx(0.911, abs=1e-3), pytest.approx(1.0, abs=1e-3))
    better = published_comparison().better
    outside = [(a, b) for a, b in PAIRS if not possible(a, b)[0] - 0.005 <= better[a, b] <= possible(a, b)[1] + 0.005]
    assert outside == [
        (LINF, LPBOOST), (LINF, ADABOOST), (L2, LPBOOST), (L2, ADABOOST), (LPBOOST, VANILLA), (LPBOOST, L1),
        (ADABOOST, VANILLA),
    ]  # fmt: skip


def test_the_documents_errors_are_whole_numbers_of_the_test_rows():
    """So the counts of rows, half of them and at most 500 for training, are the document's, and monks is monks1."""
    for row in published():
        for method, error in row.error.items():
            assert row.wrong(method) / row.test_rows == pytest.approx(error, abs=5.1e-4), (row.title, method)
    assert (BY_TITLE["zoo"].training_rows, BY_TITLE["zoo"].test_rows) == (51, 50)
    assert (BY_TITLE["letter_ab"].training_rows, BY_TITLE["letter_ab"].test_rows) == (500, 1055)
    assert BY_TITLE["monks"].name == "monks1" and BY_TITLE["monks"].wrong(L1) == 50


def test_the_documents_table_2_is_whole():
    found = published_comparison()
    assert len(found.better) == 30 and {*PAIRS} <= set(found.better)
    for a, b in PAIRS:
        assert found.better[a, b] + found.better[b, a] == pytest.approx(1.0)
    assert found.significant == ((LINF, VANILLA), (L2, VANILLA), (L2, L1))
    errors = {method: [row.error[method] for row in published()] for method in METHODS}
    assert sign_test(errors[L2], errors[VANILLA]).pvalue > 0.2, "starred, though the sign test has no star"


def test_a_table_becomes_two_classes(folder):
    table = read_binary(BY_TITLE["wine"], folder)
    assert table.X.shape == (178, 4) and (table.y == 1).sum() == 71 and (table.y == -1).sum() == 107
    assert read_binary(BY_TITLE["zoo"], folder).categorical.tolist() == [False, True]


def test_other_tables_than_the_documents_are_refused(folder):
    with pytest.raises(
        ValueError, match="are read from a folder; make a folder with `committee papers fetch` and give it with"
    ):
        read_binary(BY_TITLE["wine"], None)
    with pytest.raises(ValueError, match="'wine' has 178 rows to be used, but the document's has 177"):
        read_binary(replace(BY_TITLE["wine"], rows=177), folder)
    with pytest.raises(ValueError, match="'wine' has no row labelled 'red'"):
        read_binary(replace(BY_TITLE["wine"], positive=("red",)), folder)
    only = read_binary(replace(BY_TITLE["wine"], keep=("1", "2"), rows=130), folder)
    assert len(only.y) == 130 and (only.y == 1).sum() == 71


def test_splits_share_out_the_rows():
    for row in published():
        train, test = draw_split(row, 0, 0)
        assert len(train) == row.training_rows and sorted([*train, *test]) == list(range(row.rows))
    assert (draw_split(row, 0, 1)[0] != train).any() and (draw_split(row, 0, 0)[0] == train).all()


def table_of(X, categorical):
    X = np.asarray(X, dtype=np.float64)
    return BinaryTable(BY_TITLE["zoo"], X, np.array(categorical), np.ones(len(X), dtype=np.int64))


def test_numbers_become_counts_of_thresholds_even_on_the_scale_of_tanh():
    x = np.array([-3.0, 0.1, 0.2, 4.0, 1.5, np.nan, 90.0, -90.0])
    train = np.arange(6)
    [column] = prepared(table_of(x[:, None], [False]), train).T
    z = np.tanh((x - np.nanmean(x[:6])) / np.nanstd(x[:6]))
    low, high = np.nanmin(z[:6]), np.nanmax(z[:6])
    thresholds = [low + k * (high - low) / 11 for k in range(1, 11)]
    expected = [np.nan if np.isnan(value) else sum(value > t for t in thresholds) for value in z]
    np.testing.assert_array_equal(column, expected)
    assert column[0] == 0 and column[3] == 10 and column[6] == 10 and column[7] == 0


def test_categories_become_columns_of_zeros_and_ones():
    codes = np.array([0.0, 1, 2, np.nan, 1, 3])
    found = prepared(table_of(codes[:, None], [True]), np.arange(5))
    # missing, 0, 1, 2; the last row's category is in no training row
    np.testing.assert_array_equal(
        found.T, [[0, 0, 0, 1, 0, 0], [1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 1, 0], [0, 0, 1, 0, 0, 0]]
    )
    two = prepared(table_of(codes[:, None], [True]), np.array([0, 1, 4]))
    assert two.shape == (6, 1) and two[:, 0].tolist() == [1, 0, 0, 0, 0, 0]


def test_constant_columns_are_left_out():
    X = np.array([[1.0, 5, 0], [1, 6, 0], [1, 7, 0], [2, 8, 1]])
    assert prepared(table_of(X, [False, False, True]), np.arange(3)).shape == (4, 1)
    with pytest.raises(ValueError, match="every column of table 'zoo' is constant on the training rows"):
        prepared(table_of(X[:, [0, 2]], [False, True]), np.arange(3))


@given(st.integers(0, 100))
@settings(max_examples=20)
def test_preparation_looks_at_training_rows_only(seed):
    random = np.random.default_rng(seed)
    X = np.column_stack([random.normal(size=30), random.integers(0, 4, 30)])
    train = random.permutation(30)[:15]
    before = prepared(table_of(X, [False, True]), train)
    changed = X.copy()
    rest = np.setdiff1d(np.arange(30), train)
    changed[rest] = np.column_stack([random.normal(size=15) * 50, random.integers(0, 9, 15)])
    np.testing.assert_array_equal(prepared(table_of(changed, [False, True]), train)[train], before[train])


# --- the rebuilt files ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Threshold:
    """A stand-in: one column cut at its median of the training rows, the better way round."""

    column: int
    quadratic: bool = False

    def choose(self, X, y, folds, plan):
        return {"alpha": float(self.column)}, 0.25

    def test_errors(self, rows, others, plan):
        return {"100": 0.25} if self.column >= 5 else {}

    def fit(self, X, y, params):
        column = self.column % X.shape[1]
        at = np.nanmedian(X[:, column])
        sign = 1 if np.mean(np.where(X[:, column] > at, 1, -1) == y) >= 0.5 else -1

        def vote(rows):
            return sign * np.where(rows[:, column] > at, 1, -1)

        return SimpleNamespace(predict=vote, decision_function=vote, committee_=SimpleNamespace(n_voters=1))


@pytest.fixture
def stand_ins(monkeypatch):
    for k, method in enumerate(LEARNERS):
        monkeypatch.setitem(LEARNERS, method, Threshold(k, quadratic=k < 4))


def test_cells_hold_what_was_predicted(stand_ins, folder, tmp_path):
    seen = []
    grids = rebuild(folder, tmp_path, tables=["zoo", "wine"], repeats=2, progress=lambda *step: seen.append(step))
    assert len(grids) == 7 and seen[-1] == (28, 28, "zoo") and seen[0] == (1, 28, "wine"), "in the document's order"
    assert {path.name for path in tmp_path.iterdir()} == {
        "cells.jsonl", "quadboost.png", "table1.csv", "table2.csv", "tables.md",
    }  # fmt: skip
    table = read_binary(BY_TITLE["wine"], folder)
    train, test = draw_split(BY_TITLE["wine"], 0, 1)
    X = prepared(table, train)
    model = Threshold(2).fit(X[train], table.y[train], {})
    lines = records(tmp_path / "table1.csv")
    own = next(line for line in lines if (line["name"], line["method"], line["repeat"]) == ("wine", LINF, "1"))
    assert float(own["error"]) == pytest.approx((model.predict(X[test]) != table.y[test]).mean(), abs=1e-6)
    assert float(own["risk"]) == pytest.approx(4 * float(own["error"]), abs=1e-5)
    assert len(lines) == 2 * 7 * 2 and [line["risk"] for line in lines if line["method"] == LPBOOST] == [""] * 4
    page = (tmp_path / "tables.md").read_text("utf-8")
    assert page.count("|---|") == 7 and "| zoo | 51 | 50 |" in page


def test_finished_cells_are_read_off_and_those_of_other_seeds_grids_or_rows_refused(stand_ins, folder, tmp_path):
    whole, out = rebuild(folder, tmp_path / "out", tables=["wine"], repeats=2), tmp_path / "out"
    assert rebuild(folder, out, tables=["wine"], repeats=2, progress=lambda *_: pytest.fail("run again")) == whole
    for options, message in (
        ({"seed": 1}, "seed 0 instead of 1"),
        ({"max_rounds": 9}, "max_rounds 1000000 instead of 9"),
    ):
        with pytest.raises(ValueError, match=message):
            rebuild(folder, tmp_path / "out", tables=["wine"], repeats=1, **options)
    assert_other_rows_are_refused(rebuild, folder, tmp_path, "wine")


def test_the_learners_themselves(folder, tmp_path):
    """A little of everything by the seven methods, in two processes."""
    result = run(
        "quadboost", "--data", folder, "--tables", "wine,zoo", "--quick", "--repeats", 1, "--jobs", 2, "--out", tmp_path
    )
    assert result.exit_code == 0, result.output
    lines = records(tmp_path / "table1.csv")
    assert len(lines) == 14 and all(float(line["error"]) < 0.45 for line in lines)
    by_method = {line["method"]: line for line in lines if line["name"] == "wine"}
    assert by_method[L1]["alpha"] and not by_method[L1]["rounds"]
    assert by_method[L2]["alpha"] and by_method[L2]["rounds"] and by_method[VANILLA]["rounds"]
    assert by_method[LPBOOST]["C"] and by_method[LPBOOST]["nu"] and by_method[ADABOOST]["rounds"]


def result_of(title, right):
    """Rows predicted right by each method, `right[method]` of shape (repeats, test rows)."""
    row = BY_TITLE[title]
    cell = {
        "risk": None, "voters": 1, "choose_seconds": 1.0, "fit_seconds": 0.1, "repeat": 0, "cv_error": 0.1,
        "params": {"rounds": 3}, "test_errors": {"100": 0.125, "278": 0.25},
    }  # fmt: skip
    return TableResult(row, right, {method: tuple(cell for _ in right[method]) for method in right})


@pytest.fixture
def two_tables():
    """L2 wins zoo by two rows of each split, and is even with vanilla on wine; the others are level with vanilla."""
    found = []
    for title in ("zoo", "wine"):
        base = np.ones((3, BY_TITLE[title].test_rows), dtype=bool)
        base[:, :5] = False
        right = {method: base.copy() for method in (*METHODS, GINI)}
        if title == "zoo":
            right[L2][:, 1:3] = True
        found.append(result_of(title, right))
    return found


def test_duels_count_rows_once_however_many_splits(two_tables):
    found = duel(two_tables, L2, VANILLA)
    assert found.ours.probability == found.splits.mean() == pytest.approx(0.5 * (0.875 + 0.5))
    assert (found.ours.signs.wins, found.ours.signs.losses, found.ours.signs.ties) == (1, 0, 1)
    assert found.ours.less == pytest.approx(-0.5 * 2 / 50)
    # the document: 0.1 against 0.04 on zoo, 0.056 against 0.09 on wine
    assert (found.document.signs.wins, found.document.signs.losses) == (1, 1)
    other = duel(two_tables, VANILLA, L2)
    assert found.ours.probability + other.ours.probability == pytest.approx(1.0)


def test_tables_add_up(two_tables):
    errors, ranks, pairs, claims, stumps, choices, seconds = report.grids(two_tables)
    assert errors.rows[0] == ("zoo", "51", "50", "10.0 (4.0)", "6.0 (10.0)", *["10.0 (4.0)"] * 2, *["10.0 (12.0)"] * 2)
    assert errors.rows[2][0] == "mean of 2" and errors.rows[2][4] == "5.8 (7.8)"
    assert ranks.rows[0][:4] == ("QuadBoost-L2", "2.25", "2.25", "2.25 - 2.25")
    assert sum(float(row[1]) for row in ranks.rows) == pytest.approx(21.0, abs=0.05)
    assert sum(float(row[4]) for row in ranks.rows) == pytest.approx(21.0, abs=0.05)
    assert [row[0] for row in pairs.rows][:2] == ["Linf - L2", "Linf - LPBoost"] and len(pairs.rows) == 15
    assert pairs.rows[0][1] == "0.31" and pairs.rows[0][4] == "0-1-1, 1.000"
    starred = [row[0] for row in pairs.rows if row[5].endswith("*")]
    assert starred == ["Linf - vanilla", "L2 - vanilla", "L2 - L1"]
    assert claims.rows[0][:2] == ("L2 beats vanilla", "undecided")
    assert stumps.rows[0] == ("chosen", "7.81", "7.81", "+0.00", "0-0-2, 1.000")
    assert stumps.rows[1] == ("100", "12.50", "12.50", "+0.00", "0-0-2, 1.000") and len(stumps.rows) == 3
    assert choices.rows[0] == ("QuadBoost-L1", "-", "-", "-", "3", "3", "3")
    assert seconds.rows[3] == ("QuadBoost", "1.000", "1.0", "100.00", "1.0", "0.397", "1.0")


def test_verdicts():
    def says(wins, losses, probability):
        signs = sign_test([0] * wins + [1] * losses, [1] * wins + [0] * losses)
        return report.verdict(SimpleNamespace(ours=SimpleNamespace(signs=signs, probability=probability)))

    assert says(12, 1, 0.99) == "holds" and says(1, 12, 0.01) == "the reverse holds"
    assert says(8, 4, 0.97) == "likely, sign test not significant" and says(4, 8, 0.03) == "the reverse is likely"
    assert says(8, 7, 0.6) == "undecided"


def test_grids_are_the_documents():
    assert FULL.grid(-4, 0) == pytest.approx(10 ** np.linspace(-4, 0, 10))
    assert FULL.rounds(2, 6)[0] == 100 and FULL.rounds(2, 6)[-1] == 10**6
    assert len(FULL.rounds(0, 3)) == 10
    assert LEARNERS[ADABOOST].tried(FULL) == FULL.rounds(2, 6)
    assert LEARNERS[GINI].tried(FULL) == [100, 278, 774, 2154, 5995]
    assert LEARNERS[ADABOOST].tried(replace(FULL, max_rounds=50)) == [50]
    assert tuple(LEARNERS) == (*METHODS, GINI, ANEW_L2, ANEW_LINF)
    assert [m for m in LEARNERS if not LEARNERS[m].quadratic] == [LPBOOST, ADABOOST, GINI]


def greedy(H, y, rounds, weight, fall):
    """The document's rounds as they are written: the voter, its weight, on to the residual of the sum."""
    F = np.zeros(len(y))
    for _ in range(rounds):
        c, eta = H.T @ (y - F) / len(y), (H * H).mean(axis=0)
        gain = fall(c, eta)
        j = int(np.argmax(gain >= gain.max() * (1 - 1e-10)))
        F += weight(c[j], eta[j]) * H[:, j]
    return F


@pytest.mark.parametrize(
    ("method", "params", "weight", "fall"),
    [
        (VANILLA, {}, lambda c, eta: c / eta, lambda c, eta: c**2 / eta),
        (L2, {"alpha": 10.0}, lambda c, eta: c / (eta + 10), lambda c, eta: c**2 / (eta + 10)),
        (
            LINF,
            {"alpha": 0.02},
            lambda c, eta: np.clip(c / eta, -0.02, 0.02),
            lambda c, eta: c**2 / eta - np.maximum(np.abs(c) - 0.02 * eta, 0) ** 2 / eta,
        ),
    ],
)
def test_a_voter_that_is_chosen_again_is_one_voter_more(method, params, weight, fall):
    X, y = load_wine(return_X_y=True)
    X, y = np.round(X[:, :3] * 2), np.where(y == 1, 1, -1)
    X = np.minimum(X - X.min(axis=0), 10)
    H = np.column_stack([np.where(x > k, 1.0, -1.0) for x in X.T for k in np.unique(x)[:-1]])
    model = LEARNERS[method].fit(X, y, {**params, "rounds": 60})
    assert model.committee_.intercept is None and model.committee_.n_voters < 60
    np.testing.assert_allclose(model.decision_function(X), greedy(H, y, 60, weight, fall), atol=1e-9)


def test_l1_goes_on_until_no_voter_is_left():
    X, y = load_wine(return_X_y=True)
    X, y = np.minimum(np.round(X[:, :3]), 16) % 11, np.where(y == 1, 1, -1)
    method = LEARNERS[L1]
    H = np.column_stack([np.where(x > k, 1.0, -1.0) for x in X.T for k in np.unique(x)[:-1]])
    for alpha in (0.3, 0.05, 0.004):
        model = method.fit(X, y, {"alpha": alpha})
        assert np.abs(H.T @ (y - model.decision_function(X))).max() / len(y) <= alpha + 1.01e-6
    folds = stratified_folds((y > 0).astype(np.intp), 3, 1, 0)
    plan = replace(FULL, values=4)
    params, error = method.choose(X, y, folds, plan)
    wrong = {}
    for alpha in plan.grid(-4, 0)[:-1]:
        fits = [(method.fit(X[train], y[train], {"alpha": alpha}), test) for train, test in folds]
        wrong[alpha] = sum((model.predict(X[test]) != y[test]).sum() for model, test in fits)
    best = min(sorted(wrong, reverse=True), key=wrong.get)
    assert params == {"alpha": pytest.approx(best)} and error == pytest.approx(wrong[best] / len(y), abs=0.01)


@pytest.mark.parametrize("search", [BestEdgeSearch, GrownSearch])
def test_adaboost_is_read_off_one_run_per_fold(search):
    X, y = load_wine(return_X_y=True)
    X, y = np.minimum(np.round(X[:, :3]), 16) % 11, np.where(y == 1, 1, -1)
    folds = stratified_folds((y > 0).astype(np.intp), 3, 1, 0)
    method, plan = search((0, 2)), replace(FULL, values=4)
    params, error = method.choose(X, y, folds, plan)
    wrong = {}
    for T in plan.rounds(0, 2):
        fits = [(method.fit(X[train], y[train], {"rounds": T}), test) for train, test in folds]
        wrong[T] = sum((model.predict(X[test]) != y[test]).sum() for model, test in fits)
    assert params == {"rounds": min(wrong, key=wrong.get)}
    assert error == min(wrong.values()) / len(y)
    train, test = folds[0]
    errors = method.test_errors((X[train], y[train]), (X[test], y[test]), plan)
    model = method.fit(X[train], y[train], {"rounds": 100})
    assert list(errors) == [str(T) for T in plan.rounds(0, 2)]
    assert errors["100"] == pytest.approx((model.predict(X[test]) != y[test]).mean(), abs=1e-6)


def test_adaboost_takes_the_listed_stump_of_the_best_edge():
    """Columns of few values, one with missing numbers: every stump written out, with both sides for what is missing."""
    X, y = load_wine(return_X_y=True)
    X, y = np.minimum(np.round(X[:, :4]), 9), np.where(y == 1, 1, -1)
    X[::7, 2] = np.nan
    cuts = [(j, k) for j in range(4) for k in np.unique(X[~np.isnan(X[:, j]), j])[:-1]]
    H = [np.where(np.isnan(X[:, j]), gap, np.where(X[:, j] > k, 1, -1)) for j, k in cuts for gap in (-1, 1)]
    H = np.column_stack([*H, np.where(np.isnan(X[:, 2]), -1, 1)])
    F = np.zeros(len(y))
    for _ in range(40):
        D = np.exp(-y * F)
        edges = (D * y) @ H / D.sum()
        best = int(np.argmax(np.abs(edges)))
        F += 0.5 * np.log((1 + edges[best]) / (1 - edges[best])) * H[:, best]
    model = BestEdgeSearch((2, 6)).fit(X, y, {"rounds": 40})
    np.testing.assert_allclose(model.decision_function(X), F, atol=1e-8)
    assert (model.predict(X) == np.where(F > 0, 1, -1)).all() and model.committee_.n_voters <= 40


def solved(H, y, D):
    """max rho - D sum xi by linear programming: the value and the weights."""
    n, T = H.shape
    cost = np.concatenate([np.zeros(T), [-1.0], np.full(n, D)])
    signed = y[:, None] * H
    rows = np.hstack([-signed, np.ones((n, 1)), -np.eye(n)])
    equal = np.concatenate([np.ones(T), np.zeros(n + 1)])[None, :]
    bounds = [(0, None)] * T + [(None, None)] + [(0, None)] * n
    found = linprog(cost, rows, np.zeros(n), equal, [1.0], bounds)
    return -found.fun, found.x[:T]


def hinge(H, y, C):
    """min |a|_1 + C sum xi with margins of at least 1 - xi: the value."""
    n, T = H.shape
    rows = np.hstack([-y[:, None] * H, -np.eye(n)])
    return linprog(np.concatenate([np.ones(T), np.full(n, C)]), rows, -np.ones(n)).fun


class LinearProgram:
    """A stand-in for LPBoost: the columns and their complements are the voters."""

    def __init__(self, nu):
        self.nu = nu

    def fit(self, X, y):
        H = np.hstack([X, -X])
        self.value, weights = solved(H, y, 1.0 / (self.nu * len(y)))
        self.weights = weights[: X.shape[1]] - weights[X.shape[1] :]
        self.committee_ = SimpleNamespace(margins=lambda X, y: y * (X @ self.weights), n_voters=H.shape[1])
        return self

    def predict(self, X):
        return np.where(X @ self.weights > 0, 1, -1)


def noisy_votes(n=24, T=5, seed=0):
    random = np.random.default_rng(seed)
    y = random.choice([-1, 1], n)
    return np.where(random.random((n, T)) < 0.3, -y[:, None], y[:, None]).astype(float), y


@pytest.mark.parametrize("D", [1 / 24, 0.07, 0.2, 0.9])
def test_the_two_linear_programs_have_the_same_solutions(D):
    X, y = noisy_votes()
    H = np.hstack([X, -X])
    value, weights = solved(H, y, D)
    margins = y * (H @ weights)
    assert worth(margins, D)[0] == pytest.approx(value, abs=1e-9)
    assert worth(margins, D)[1] == pytest.approx(np.maximum(0, value + D * worth(margins, D)[1] - margins).sum())
    if value > 1e-6:
        assert hinge(H, y, D / value) == pytest.approx(1.0 / value, rel=1e-6)


def test_penalties_of_lpboost_are_found():
    X, y = noisy_votes()
    method = LPBoostSearch((-3, 3), LinearProgram)
    n = len(y)
    penalties = [1e-3, 0.1, 0.15, 0.3, 1e3]
    found = method.path(X, y, penalties)
    assert [nu for nu, _ in found] == sorted((nu for nu, _ in found), reverse=True)
    assert found[0][0] == 1.0, "less than any nu stands for: the vote of a single voter"
    for C, (nu, model) in zip(penalties[1:4], found[1:4], strict=True):
        value, _ = worth(model.committee_.margins(X, y), 1 / (nu * n))
        assert 1 / (nu * n) / value == pytest.approx(C, rel=0.03)
        assert hinge(np.hstack([X, -X]), y, C) == pytest.approx(1 / value, rel=0.03)


def test_lpboost_chooses_on_the_folds():
    X, y = noisy_votes(60, 6, seed=1)
    method = LPBoostSearch((-2, 1), LinearProgram)
    folds = stratified_folds((y > 0).astype(np.intp), 3, 1, 0)
    params, error = method.choose(X, y, folds, replace(QUICK, values=3))
    assert params["C"] in (pytest.approx(0.01), pytest.approx(10**-0.5), pytest.approx(10.0))
    wrong = 0
    for train, test in folds:
        [(_, model)] = method.path(X[train], y[train], [params["C"]])
        wrong += (model.predict(X[test]) != y[test]).sum()
    assert error == pytest.approx(wrong / 60, abs=2.1 / 60)
    assert method.fit(X, y, params).nu == params["nu"]
