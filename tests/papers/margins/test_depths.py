"""Boosting over tree depths: every figure of a cell by itself, and the tables that are made of cells."""

import numpy as np
import pytest
from scipy.optimize import minimize

from committee import AdaBoostClassifier, ArcGVClassifier
from committee.bounds import equilibrium_margin
from committee.papers.margins import depth_report
from committee.papers.margins.cells import ADABOOST
from committee.papers.margins.depth_report import DepthResults
from committee.papers.margins.depths import ARC_GV, DOOM, MD_BOOST, METHODS, depth_cell, gaussian_margins


def test_a_cell_is_what_the_learners_say(fold_of):
    fold = fold_of(2, 60)
    cell = depth_cell(fold, 1, 10)
    (X, X_test), (y, y_test) = fold.rows, fold.positive
    for name, model in (
        (ARC_GV, ArcGVClassifier(10, max_depth=1).fit(X, y)),
        (ADABOOST, AdaBoostClassifier(10, max_depth=1, criterion="error").fit(X, y)),
    ):
        found, margins = cell["methods"][name], model.committee_.margins(X, y)
        assert found["minimum"] == margins.min() and found["median"] == np.sort(margins)[(len(y) - 1) // 2]
        assert found["wrong"] == (model.predict(X_test) != y_test).sum() and found["voters"] == 10
        assert found["equilibrium"] == equilibrium_margin(margins, np.log(20)).terms["equilibrium_margin"]
        assert found["leaves"] == 2.0
    # the loss is the product of all rounds' normalisers, 2 sqrt(e (1 - e))
    e = model.estimator_errors_
    assert cell["theorem"]["loss"] == pytest.approx(np.log(2.0 * np.sqrt(e * (1.0 - e))).sum(), abs=1e-6)
    assert depth_cell(fold, None, 10)["theorem"] is None, "a perfect tree has no finite weight"


def test_theorem_3_is_measured_round_by_round():
    random = np.random.default_rng(0)
    S = np.where(random.random((200, 6)) < 0.65, 1, -1)
    errors = np.sort(random.uniform(0.2, 0.45, size=6))
    alpha = 0.5 * np.log((1.0 - errors) / errors)
    found = gaussian_margins(S, errors)
    rho = [S[:, : t + 1] @ alpha[: t + 1] for t in range(6)]
    assert found["mean"] == pytest.approx(rho[-1].mean()) and found["variance"] == pytest.approx(rho[-1].var())
    assert found["gaussian"] == pytest.approx(rho[-1].var() / 2 - rho[-1].mean())
    assert found["variance_falls"] == np.mean([rho[t + 1].var() < rho[t].var() for t in range(5)])
    divided = [r.var() / alpha[: t + 1].sum() ** 2 for t, r in enumerate(rho)]
    assert found["share_variance_falls"] == np.mean([divided[t + 1] < divided[t] for t in range(5)])
    # the best ratio by another way: straight ahead, from many starts
    starts = [
        minimize(lambda w: -(S @ w).mean() / (S @ w).std(), s, bounds=[(0, 1)] * 6) for s in random.random((9, 6))
    ]
    assert found["best_ratio"] == pytest.approx(-min(end.fun for end in starts), abs=1e-4)
    assert found["best_ratio"] >= found["ratio"] == pytest.approx(rho[-1].mean() / rho[-1].std())


def test_gaussian_margins_make_the_loss_what_the_theorem_says():
    """The sum of very many small independent votes is nearly Gaussian, the logarithm of its loss -mu + v / 2."""
    S = np.where(np.random.default_rng(0).random((5_000, 200)) < 0.55, 1, -1)
    found = gaussian_margins(S, np.full(200, 0.475))
    assert found["loss"] == pytest.approx(found["gaussian"], abs=0.02) and found["distance"] < 0.06
    assert found["mean_rises"] == 1.0 and found["variance_falls"] < 0.02


def made_up(wrong, minimum):
    figures = {"voters": 9, "leaves": 2.0, "mean": 0.4, "median": 0.3, "equilibrium": 0.2, "seconds": 0.5}
    methods = {name: {**figures, "wrong": w, "minimum": m} for name, w, m in zip(METHODS, wrong, minimum, strict=True)}
    theorem = dict.fromkeys(depth_report._THEOREM, 0.25)
    return {"test_rows": 10, "methods": methods, "theorem": theorem}


def test_larger_smallest_margins_are_held_against_errors():
    cells = {
        ("a", 0, "1"): made_up((2, 3, 2, 1), (0.1, 0.2, 0.1, 0.0)),
        ("b", 0, "1"): made_up((2, 1, 2, 1), (0.1, 0.3, 0.2, 0.0)),
        ("c", 0, "1"): made_up((2, 4, 2, 1), (0.1, 0.0, 0.2, 0.0)),
    }
    figures, against, theorem = depth_report.grids(DepthResults(cells, ("a", "b", "c"), 1, ("1",)))
    rows = {row[1]: row[2:] for row in against.rows}
    assert rows[ARC_GV][:5] == ("2", "1-1-0", "1", "0-1-0", "-1.00") and rows[ARC_GV][5].startswith("1-2-0, 1.000")
    assert rows[MD_BOOST][:5] == ("2", "0-0-2", "0", "0-0-0", "-")
    assert rows[DOOM][:4] == ("0", "0-0-0", "3", "3-0-0")
    assert figures.rows[1][:5] == ("1", ARC_GV, "9", "2.0", "0.167") and figures.rows[1][8] == "0.2667"
    assert theorem.rows == (("1", "3", *["0.25"] * 10),)
