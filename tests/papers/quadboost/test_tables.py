"""The QuadBoost document's numbers, and its tables as two classes, split and prepared."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from committee.papers.quadboost.report import PAIRS
from committee.papers.quadboost.tables import (
    ADABOOST,
    L1,
    L2,
    LINF,
    LPBOOST,
    METHODS,
    VANILLA,
    BinaryTable,
    draw_split,
    prepared,
    published,
    published_comparison,
    read_binary,
)
from committee.report.statistics import poisson_binomial_test, sign_test

BY_TITLE = {row.title: row for row in published()}


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


def test_the_documents_table_2_is_whole_and_does_not_follow_from_its_table_1():
    found = published_comparison()
    assert len(found.better) == 30 and {*PAIRS} <= set(found.better)
    for a, b in PAIRS:
        assert found.better[a, b] + found.better[b, a] == pytest.approx(1.0)
    assert found.significant == ((LINF, VANILLA), (L2, VANILLA), (L2, L1))
    # sixteen wins and four losses are called even, and stars stand where the sign test has none
    errors = {method: [row.error[method] for row in published()] for method in METHODS}
    test = sign_test(errors[LINF], errors[LPBOOST])
    assert (test.wins, test.losses) == (16, 4) and test.pvalue < 0.05 and found.better[LINF, LPBOOST] == 0.49
    assert sign_test(errors[L2], errors[VANILLA]).pvalue > 0.2


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
