"""Cells of the experiments on margins, against naive programs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from committee import AdaBoostClassifier, ArcGVClassifier
from committee.bounds import equilibrium_margin
from committee.objectives.margins.linear_objectives import Range
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.papers.margins import figures, report
from committee.papers.margins.cells import (
    ADABOOST,
    ARC_GV,
    DEEP_FOREST,
    DOOM,
    ENSEMBLES,
    FAILED,
    FOREST,
    LESS,
    MD_BOOST,
    METHODS,
    NO_ROOM,
    NO_SOLUTION,
    OBJECTIVES,
    SM2,
    SM2_SIMPLEX,
    SOLVED,
    UWS,
    Ensembles,
    depth_cell,
    gaussian_margins,
    measured,
    reweighted,
    reweighting_cell,
    solved,
    trained,
)
from committee.papers.margins.report import DepthResults
from committee.vote.signed_votes import SignedVotes


def test_trees_vote_for_the_class_of_most_rows_of_their_leaf(fold_of):
    from committee import RandomForestClassifier

    fold = fold_of(0)
    committee = trained(fold, FOREST, Ensembles(30))
    model = RandomForestClassifier(30, max_depth=2, random_state=0).fit(fold.rows[0], fold.positive[0])
    for t in range(30):
        alone = model.committee_.select([t]).predict_proba(fold.rows[1])
        assert ((committee.votes(fold.rows[1])[:, t] > 0) == (alone[:, 1] > alone[:, 0])).all()
    assert set(np.unique(committee.weights)) == {1.0}


def test_only_the_deep_forests_trees_have_no_limit(fold_of):
    fold = fold_of(0)
    nodes = {ensemble: trained(fold, ensemble, Ensembles(10)).voters.n_nodes for ensemble in ENSEMBLES}
    assert max(nodes[FOREST].max(), nodes[ADABOOST].max()) <= 7 and nodes[DEEP_FOREST].min() > 7
    assert (trained(fold, DEEP_FOREST, Ensembles(50)).margins(fold.rows[0], fold.positive[0]) > 0.0).all(), (
        "known by heart"
    )


@pytest.mark.parametrize("ensemble", ENSEMBLES)
def test_a_cell_says_what_a_naive_program_says(fold_of, ensemble):
    fold = fold_of(1)
    cell = reweighting_cell(fold, ensemble)
    committee = trained(fold, ensemble)
    (X, X_test), (y, y_test) = fold.rows, fold.positive
    own = committee.weights / committee.weights.sum()
    S, S_test = ((committee.votes(X) * np.where(y, 1, -1)[:, None]) for X, y in ((X, y), (X_test, y_test)))
    m = S @ own
    assert cell["wrong"] == int((committee.predict(X_test) != y_test).sum()) and cell["voters"] == committee.n_voters
    assert (cell["mean"], cell["minimum"]) == (pytest.approx(m.mean()), pytest.approx(m.min()))
    assert (cell["variance"], cell["range"]) == (pytest.approx(m.var()), pytest.approx(m.max() - m.min()))
    leaves = [(tree.left < 0).sum() for tree in (committee.select([t]).voters for t in range(committee.n_voters))]
    assert cell["full_trees"] == pytest.approx(np.mean(np.array(leaves) == 4))
    # the largest mean margin of which none falls, by one dense program
    dense = linprog(-S.mean(axis=0), A_ub=-S, b_ub=-m, A_eq=np.ones((1, len(own))), b_eq=[1.0], method="highs")
    found = cell["objectives"][UWS]
    assert found["mean"] == pytest.approx(-dense.fun, abs=1e-7) and found["least"] > -1e-7
    # least squares of the mean margin, divided by its sum
    w = np.linalg.lstsq(S.astype(float), np.full(len(m), m.mean()), rcond=None)[0]
    w /= w.sum()
    squeezed = cell["objectives"][SM2]
    assert squeezed["variance"] == pytest.approx((S @ w).var(), abs=1e-9)
    assert squeezed["least"] == pytest.approx((S @ w - m).min(), abs=1e-7)
    lead = S_test @ w
    assert squeezed["wrong"] == int((lead < 0).sum()) or np.abs(lead).min() < 1e-6
    assert cell["objectives"][SM2_SIMPLEX]["variance"] <= cell["variance"] + 1e-12
    assert set(cell["objectives"]) == set(OBJECTIVES)
    assert json.loads(json.dumps(cell)) == cell


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(5, 40), st.integers(2, 12))
def test_sm1_gets_as_far_as_it_can(seed, n, T):
    S = np.where(np.random.default_rng(seed).random((n, T)) < 0.7, 1, -1).astype(np.int8)
    lines = MarginMatrix.of_matrix(S)
    own = lines.margins(lines.own)
    mean = float(lines.row_weight @ own)  # to the last bit as the objective has it: a margin may equal it
    weights, state, objective = solved(Range(xi=0.5), lines)
    most = objective.xi if state == LESS else 1.0
    assert state != LESS or most < 0.5
    assert state in (SOLVED, LESS, NO_ROOM)
    theta = np.sort(own)[int(np.ceil(round(objective.xi * n, 9))) - 1]
    bound = np.where(own <= mean, theta, mean)
    assert (S @ weights >= bound - 1e-7).all()
    # the next higher margin is out of reach
    higher = own[own > np.sort(own)[round(most * n) - 1] + 1e-9]
    if len(higher) and higher.min() <= mean:
        bound = np.where(own <= mean, higher.min(), mean)
        ask = linprog(np.zeros(T), A_ub=-S, b_ub=-bound, A_eq=np.ones((1, T)), b_eq=[1.0], method="highs")
        assert ask.status == 2


def test_a_single_tree_keeps_its_weight():
    lines = MarginMatrix.of_matrix(np.array([[1], [1], [-1]], dtype=np.int8))
    for objective in OBJECTIVES.values():
        weights, state, _ = solved(objective, lines)
        assert weights.tolist() == [1.0] and state == NO_ROOM


class Broken:
    """An objective whose solver ends in an error."""

    def __init__(self, error):
        self.error = error

    def solve(self, lines):
        raise self.error


@pytest.mark.parametrize(("error", "state"), [(ValueError("no"), NO_SOLUTION), (RuntimeError("no"), FAILED)])
def test_an_objective_that_cannot_be_solved_leaves_the_ensembles_weights(error, state):
    S = np.where(np.random.default_rng(0).random((12, 3)) < 0.7, 1, -1).astype(np.int8)
    lines, rows = MarginMatrix.of_matrix(S), np.arange(12)
    test, positive = SignedVotes(S, rows, rows, 12, np.full(3, 1 / 3)), np.arange(12) % 2 == 0
    found = reweighted(Broken(error), lines, test, positive)
    own = S.mean(axis=1)
    assert (found["state"], found["least"], found["xi"], found["trees"]) == (state, 0.0, None, 3)
    assert (found["mean"], found["minimum"]) == (pytest.approx(own.mean()), pytest.approx(own.min()))
    assert found["wrong"] == int((own < 0).sum()), "of three votes none is a tie"


def test_figure_1_is_drawn_of_its_table(fold_of, tmp_path):
    table = fold_of(0, 60).table
    assert figures.write((1,), {figures.STAGED_DATA: table}, 0, tmp_path) == []
    assert [path.name for path in tmp_path.iterdir()] == ["figure1.png"]


def test_ties_elect_the_first_class_whatever_rounding_makes_of_them():
    S = np.array([[1, -1], [1, -1], [1, 1]], dtype=np.int8)
    rows = np.arange(3)
    test = SignedVotes(S, rows, rows, 3, np.full(2, 0.5))
    for weights in ([0.5, 0.5], [0.5 + 1e-16, 0.5 - 1e-13], [0.5 - 1e-13, 0.5]):
        assert measured(np.zeros(1), np.array(weights), test, np.array([True, False, True]))["wrong"] == 1


def test_margins_beyond_one_are_drawn_at_one(fold_of):
    """Negative weights may carry margins out of [-1, 1]; a picture of them must still be had."""
    change = next(change for change in figures.CHANGES if change.objective == OBJECTIVES[SM2])
    fold = fold_of(3, 60)
    picture, found = figures.drawn(change, fold)
    assert len(picture.axes) == 2 and found["variance decrease"] >= -1e-9
    assert len(figures.stages(fold).axes) == 1, "AdaBoost may end before 500 trees"


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
    theorem = dict.fromkeys(report._THEOREM, 0.25)
    return {"test_rows": 10, "methods": methods, "theorem": theorem}


def test_larger_smallest_margins_are_held_against_errors():
    cells = {
        ("a", 0, "1"): made_up((2, 3, 2, 1), (0.1, 0.2, 0.1, 0.0)),
        ("b", 0, "1"): made_up((2, 1, 2, 1), (0.1, 0.3, 0.2, 0.0)),
        ("c", 0, "1"): made_up((2, 4, 2, 1), (0.1, 0.0, 0.2, 0.0)),
    }
    figures, against, theorem = report.depth_grids(DepthResults(cells, ("a", "b", "c"), 1, ("1",)))
    rows = {row[1]: row[2:] for row in against.rows}
    assert rows[ARC_GV][:5] == ("2", "1-1-0", "1", "0-1-0", "-1.00") and rows[ARC_GV][5].startswith("1-2-0, 1.000")
    assert rows[MD_BOOST][:5] == ("2", "0-0-2", "0", "0-0-0", "-")
    assert rows[DOOM][:4] == ("0", "0-0-0", "3", "3-0-0")
    assert figures.rows[1][:5] == ("1", ARC_GV, "9", "2.0", "0.167") and figures.rows[1][8] == "0.2667"
    assert theorem.rows == (("1", "3", *["0.25"] * 10),)
