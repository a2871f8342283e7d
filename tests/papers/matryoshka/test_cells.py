"""Cells of the comparison of nested trees: graphs measured, settings, tables."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from committee import MatryoshkaClassifier
from committee.papers.matryoshka.cells import (
    ADABOOST,
    BINARY,
    EXPECTED,
    FULL,
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
)
from committee.papers.matryoshka.results import setting_of, wrong
from committee.papers.shared.pages import unpacked
from committee.papers.shared.tables import Fold
from committee.voters.probabilistic_voters import SoftStumps
from committee.voters.vote_graph import PathMajority, VoteGraph


def test_tables_are_refused(folder):
    with pytest.raises(
        ValueError, match="are read from a folder; make a folder with `committee papers fetch` and give it with"
    ):
        read_named("sonar", None)
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
