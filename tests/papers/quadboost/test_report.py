"""Findings of the rebuilt QuadBoost comparison: duels, tables that add up, verdicts."""

from types import SimpleNamespace

import numpy as np
import pytest

from committee.papers.quadboost import report
from committee.papers.quadboost.results import TableResult, duel
from committee.papers.quadboost.tables import GINI, L2, METHODS, VANILLA, published
from committee.report.statistics import sign_test

BY_TITLE = {row.title: row for row in published()}


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
    assert claims.rows[0][:2] == ("L2 beats vanilla", "not to be told")
    assert stumps.rows[0] == ("chosen", "7.81", "7.81", "+0.00", "0-0-2, 1.000")
    assert stumps.rows[1] == ("100", "12.50", "12.50", "+0.00", "0-0-2, 1.000") and len(stumps.rows) == 3
    assert choices.rows[0] == ("QuadBoost-L1", "-", "-", "-", "3", "3", "3")
    assert seconds.rows[3] == ("QuadBoost", "1.000", "1.0", "100.00", "1.0", "0.397", "1.0")


def test_verdicts():
    def says(wins, losses, probability):
        signs = sign_test([0] * wins + [1] * losses, [1] * wins + [0] * losses)
        return report.verdict(SimpleNamespace(ours=SimpleNamespace(signs=signs, probability=probability)))

    assert says(12, 1, 0.99) == "holds" and says(1, 12, 0.01) == "the reverse holds"
    assert says(8, 4, 0.97) == "likely, signs not significant" and says(4, 8, 0.03) == "the reverse is likely"
    assert says(8, 7, 0.6) == "not to be told"
