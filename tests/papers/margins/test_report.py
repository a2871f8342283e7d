"""Findings of the experiments on margins: directions, associations, tables that add up."""

import numpy as np
import pytest
from scipy.stats import spearmanr, ttest_rel

from committee.papers.margins import cells, report
from committee.papers.margins.results import (
    EQUILIBRIUM,
    ERROR,
    LEAST,
    MEAN,
    MEDIAN,
    MINIMUM,
    RANGE,
    VARIANCE,
    MarginResults,
    association,
    directions,
    document_association,
    table_of,
)
from committee.papers.margins.tables import HELPS, HURTS, NEITHER


def made_up(name, ensemble, repeat, wrong, **changes):
    """A cell in which all objectives do the same."""
    own = {
        "wrong": 10, "mean": 0.5, "median": 0.6, "minimum": -0.2, "equilibrium": 0.4, "variance": 0.1, "range": 1.0,
    }  # fmt: skip
    new = {figure: own[figure] + changes.get(figure, 0.0) for figure in own if figure != "wrong"}
    found = {"state": cells.SOLVED, "xi": None, "wrong": wrong, **new, "least": changes.get("least", 0.0), "trees": 9}
    return {
        "table": name, "digest": "", "repeat": repeat, "ensemble": ensemble, "training_rows": 70, "test_rows": 30,
        "voters": 200, "full_trees": 1.0, "fit_seconds": 0.1, **own,
        "objectives": {objective: {**found, "seconds": 0.01} for objective in cells.OBJECTIVES},
    }  # fmt: skip


@pytest.fixture
def results():
    """Three tables, four splits: better and larger margins; worse and smaller ones; nothing."""
    wrong = {"sonar": (8, 9, 8, 7), "pima": (12, 11, 12, 13), "colon": (10, 10, 11, 9)}
    changes = {
        "sonar": {"mean": 0.1, "minimum": 0.05, "least": 0.01, "variance": -0.02, "range": 0.1, "equilibrium": 0.2},
        "pima": {"mean": -0.1, "minimum": -0.1, "least": -0.2, "variance": 0.02, "range": -0.1},
        "colon": {"mean": 0.00004, "variance": -0.00004},
    }
    made = {
        (name, repeat, ensemble): made_up(name, ensemble, repeat, count, **changes[name])
        for name, counts in wrong.items()
        for ensemble in cells.ENSEMBLES
        for repeat, count in enumerate(counts)
    }
    return MarginResults(made, ("sonar", "pima", "colon"), 4)


def test_directions_are_counted(results):
    found = directions(results, cells.FOREST, cells.UWS)
    assert found.tables == 3 and found.raised == {MEAN: 1, MEDIAN: 0, LEAST: 1, MINIMUM: 1, EQUILIBRIUM: 1}
    assert found.lowered == {VARIANCE: 1, RANGE: 1}, "what four digits do not show is no change"
    assert found.marks == HELPS + HURTS + NEITHER and found.tests == (1, 1, 1)
    # by hand: -2, -1, -2, -3 rows; t = 4.90 on 3 degrees of freedom, p = 0.016; the correction makes it 2.97 and 0.059
    assert ttest_rel([8, 9, 8, 7], [10] * 4).pvalue == pytest.approx(0.016, abs=1e-3)
    assert directions(results, cells.FOREST, cells.UWS, corrected=True).tests == (0, 0, 3)
    assert results.change("sonar", cells.FOREST, cells.UWS, ERROR) == pytest.approx(-2 / 30)
    single = MarginResults(results.cells, results.names, 1)
    assert single.mark("sonar", cells.FOREST, cells.UWS) == NEITHER, "one split says nothing"


def test_associations_are_rank_correlations(results):
    for objective in cells.MAXIMISE[1:]:
        for repeat in range(4):
            results.cells["sonar", repeat, cells.FOREST]["objectives"][objective]["mean"] = 0.55
            results.cells["sonar", repeat, cells.FOREST]["objectives"][objective]["wrong"] = 9
    x, y = (
        np.array([[results.change(n, cells.FOREST, o, f) for o in cells.MAXIMISE] for n in results.names])
        for f in (MEAN, ERROR)
    )
    found = association(results, cells.FOREST, cells.MAXIMISE, MEAN)
    assert found.points == 15 and found.rho == pytest.approx(
        spearmanr(x.round(9).ravel(), y.round(9).ravel()).statistic
    )
    assert (found.within, found.negative, found.positive) == (-1.0, 1, 0), "nothing varies on the other two tables"
    rows = [table_of(cells.ADABOOST, name).rows.values() for name in (cells.SM1, cells.SM2)]
    less, error = np.array([(r.changes[0], r.errors[1] - r.errors[0]) for some in rows for r in some]).T
    theirs = document_association(cells.ADABOOST, VARIANCE)
    assert theirs.points == 30 and theirs.rho == pytest.approx(spearmanr((-less).round(9), error.round(9)).statistic)
    assert document_association(cells.ADABOOST, MINIMUM) is None


def test_tables_add_up(results):
    grids = report.grids(results)
    kinds = {k: (cells.FOREST, cells.DEEP_FOREST) if k % 2 == 0 else (cells.ADABOOST,) for k in range(2, 12)}
    assert [g.title.split(":")[0] for g in grids[:15]] == [f"Table {k}, {kind}" for k in kinds for kind in kinds[k]]
    colon, diabetes, pima, sonar = grids[0].rows
    assert sonar == ("Sonar", "0.3333 (0.0773)", "0.2667+ (0.0847-)", "0.1000 (0.0802)", "0.0100 (0.0065)")
    assert diabetes[1:3] == ("0.3333 (0.1039)", "0.4000- (0.1039)") and pima[1] == "0.3333 (0.1014)"
    assert colon[2:] == ("0.3333 (0.1104-)", "0.0000 (0.2026)", "0.0000 (0.0186)")
    assert grids[6].rows[2] == ("Pima", "0.3333 (0.1012)", *["0.4000- (-)"] * 3)
    assert grids[9].rows[3][3:] == ("0.0200 (-0.0060)", "-0.1000 (0.1045)"), "less variance, more range"
    # the median of the document's errors on Sonar, and seven thirds of it
    assert grids[15].rows[3][:5] == ("Sonar", "0.0773", "0.180", "0.333", "0.333")
    assert grids[15].rows[3][5:] == ("0.0741", "0.173", "0.333", "0.080", "0.100", "0.100")
    counts = {row[0]: row[1:] for row in grids[16].rows}
    assert counts["forest, UWS"] == ("1 (10)", "0", "1", "1", "1 (3)", "1", "1", "1-1-1 (1-6-8)", "0-0-3")
    assert counts["AdaBoost, SM2"] == ("1", "0", "1", "1", "1", "1 (14)", "1 (11)", "1-1-1 (4-5-6)", "0-0-3")
    assert grids[-1].rows[-1][-2:] == ("1.62", "2.7"), "3 tables, 3 ensembles: 0.1 to fit, 8 objectives of 0.01"
