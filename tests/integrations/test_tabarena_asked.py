"""What TabArena asks of a fit reaches the learners; neither TabArena nor AutoGluon is needed here."""

import doctest
import re
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes

from committee_tabarena import answers, asked, deadline
from committee_tabarena.answers import in_all_classes, of_rows_not_seen
from committee_tabarena.asked import Asked, committee_of, gradient_boosting_of, held_out, refit, sbpmt_of
from committee_tabarena.deadline import Deadline
from committee_tabarena.offline.page import table_of

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"committee": {"effort": "fast", "cv": 2}, "boosting": {"n_estimators": 30}, "sbpmt": {"n_estimators": 4}}
MAKERS = {"committee": committee_of, "boosting": gradient_boosting_of, "sbpmt": sbpmt_of}


def made(kind: str, **more: Any) -> Any:
    """A learner of few rounds with an integer seed."""
    parameters = SMALL[kind] | {"random_state": 0} | more.pop("parameters", {})
    return MAKERS[kind](Asked(parameters, **more))


@pytest.fixture(scope="module")
def rows():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, :8], y


def mixed(n: int = 240) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, categories in no useful order, missing values; the class follows from both."""
    random = np.random.default_rng(0)
    letters = random.choice(list("abcdef"), n)
    X = pd.DataFrame({"number": random.normal(size=n), "letter": pd.Categorical(letters)})
    y = (np.isin(letters, list("ace")) ^ (X["number"].to_numpy() > 1.0)).astype(int)
    X.loc[:20, "number"] = np.nan
    X.loc[15:30, "letter"] = np.nan
    return X, y


@pytest.mark.parametrize("module", [asked, answers, deadline])
def test_examples_of_docstrings_do_what_they_say(module):
    found = doctest.testmod(module)
    assert found.attempted and not found.failed


@pytest.mark.parametrize("kind", MAKERS)
def test_threads_are_those_that_are_asked_for(kind):
    assert [made(kind, num_cpus=n).n_jobs for n in (3, 1, 0)] == [3, 1, 1]


@pytest.mark.parametrize("kind", MAKERS)
def test_a_configuration_comes_before_what_follows_from_the_rest(kind):
    model = made(kind, num_cpus=3, validated=True, time_limit=10.0, parameters={"n_jobs": 2})
    assert model.n_jobs == 2 and model.random_state == 0
    early = gradient_boosting_of(Asked({"n_iter_no_change": 7}, validated=True))
    assert (early.n_iter_no_change, early.learning_rate) == (7, 0.03)


@pytest.mark.parametrize("other", [{"num_cpus": 2}, {"time_limit": 3600.0}], ids=str)
@pytest.mark.parametrize("kind", MAKERS)
def test_threads_and_enough_time_change_no_answer(kind, other, rows):
    X, y = rows
    one, two = (made(kind, validated=True, **options).fit(X[::3], y[::3]).predict_proba(X) for options in ({}, other))
    assert (one == two).all()


@pytest.mark.parametrize("kind", MAKERS)
def test_a_fit_that_is_late_has_its_first_part(kind, rows):
    X, y = rows
    whole = made(kind, validated=True).fit(X, y)
    warned = pytest.warns(UserWarning, match="leaves no candidate its time") if kind == "committee" else nullcontext()
    with warned:
        late = made(kind, time_limit=-1.0, validated=True).fit(X, y)
    if kind == "committee":
        assert len(late.member_names_) == 1 < len(whole.member_names_) + len(whole.left_out_)
    else:
        assert late.committee_.n_voters == 1 < whole.committee_.n_voters
    assert np.isfinite(late.predict_proba(X)).all()


def test_the_committee_is_told_nine_tenths_of_the_time():
    assert committee_of(Asked(time_limit=100.0)).time_limit == pytest.approx(90.0)
    assert committee_of(Asked()).time_limit is None


def test_a_fit_is_stopped_before_the_part_that_would_end_too_late(monkeypatch):
    clock = iter([0.0, 1.0, 3.0, 4.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    limit = Deadline(5.5)
    limit.setup(None, None)
    stops = [limit.on_fit_task_end(None, None) for _ in range(3)]
    assert stops == [False, False, True]  # the longest part took 2, and 4 + 2 > 5.5


def test_boosting_stops_early_by_the_rows_that_are_given(rows):
    X, y = rows
    model = gradient_boosting_of(Asked({"random_state": 0, "learning_rate": 0.3}, validated=True))
    right = model.fit(X[::2], y[::2], **held_out(model, X[1::2], y[1::2]))
    best = right.best_iteration_
    assert right.committee_.n_voters == best == 1 + np.argmin(right.validation_losses_)
    turned = model.fit(X[::2], y[::2], **held_out(model, X[1::2], 1 - y[1::2]))
    assert turned.best_iteration_ < best  # by wrong labels the first rounds are the best


def test_boosting_without_rows_to_validate_on_is_the_library_s_own(rows):
    X, y = rows
    assert gradient_boosting_of(Asked()).early_stopping is False
    as_it_comes = gradient_boosting_of(Asked({"learning_rate": "auto"}, validated=True))
    assert held_out(as_it_comes, X, y) == {}


@pytest.mark.parametrize("kind", ["committee", "sbpmt"])
def test_the_others_do_not_look_at_rows_to_validate_on(kind, rows):
    assert held_out(made(kind, validated=True), *rows) == {}


def test_a_fit_on_all_rows_has_the_rounds_that_were_best(rows):
    X, y = rows
    found = Asked({"random_state": 0, "learning_rate": 0.3}, validated=True)
    first = gradient_boosting_of(found)
    first.fit(X[::2], y[::2], **held_out(first, X[1::2], y[1::2]))
    again = gradient_boosting_of(Asked({"random_state": 0} | refit(first))).fit(X, y)
    assert again.committee_.n_voters == first.best_iteration_ and again.learning_rate_ == 0.3
    assert refit(made("sbpmt", validated=True).fit(X, y)) == {}


@pytest.mark.parametrize("kind", ["committee", "sbpmt"])
def test_a_fit_on_all_rows_says_what_it_knows_without_them(kind, rows):
    X, y = rows
    model = made(kind, parameters={"n_estimators": 21} if kind == "sbpmt" else {}).fit(X, y)
    unseen = of_rows_not_seen(model)
    assert unseen.shape == (len(X), 2) and np.isfinite(unseen).all()
    accuracy = (unseen.argmax(axis=1) == y).mean()
    assert 0.85 < accuracy <= model.score(X, y)
    validated = made(kind, validated=True).fit(X, y)
    with pytest.raises(ValueError, match="has kept no answers"):
        of_rows_not_seen(validated)


def test_rows_without_an_answer_get_the_mean_of_the_others():
    class Fitted:
        oob_decision_function_ = np.array([[0.2, 0.8], [np.nan, np.nan], [0.6, 0.4]])

    assert of_rows_not_seen(Fitted())[1] == pytest.approx([0.4, 0.6])


@pytest.mark.parametrize("kind", MAKERS)
def test_categories_and_missing_values_go_in_as_they_are(kind):
    X, y = mixed()
    model = made(kind, validated=True).fit(X, y)
    assert model.table_.categorical.tolist() == [False, True]
    assert model.score(X, y) > 0.9  # a number for each letter in its order would not tell a, c, e from b, d, f
    strange = X[:3].assign(letter=pd.Categorical(["?", None, "a"]), number=[np.nan, 0.0, np.nan])
    assert np.allclose(model.predict_proba(strange).sum(axis=1), 1.0)


@pytest.mark.parametrize("kind", ["committee", "boosting"])
def test_numbers_are_predicted_by_the_regressors(kind):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = made(kind, numbers=True).fit(X, y)
    assert np.isfinite(model.predict(X)).all() and model.score(X, y) > 0.3


def test_sbpmt_refuses_numbers():
    with pytest.raises(ValueError, match="SBPMT predicts classes"):
        sbpmt_of(Asked(numbers=True))


@given(st.data())
def test_each_class_has_its_column(data):
    n_classes = data.draw(st.integers(2, 6))
    known = np.array(sorted(data.draw(st.sets(st.integers(0, n_classes - 1), min_size=1))))
    shares = np.array(data.draw(st.lists(st.lists(st.floats(0, 1), min_size=len(known), max_size=len(known)))))
    shares = shares.reshape(-1, len(known))
    whole = in_all_classes(shares, known, n_classes)
    assert whole.shape == (len(shares), n_classes) and (whole[:, known] == shares).all()
    assert not np.delete(whole, known, axis=1).any()


def test_the_page_has_the_table_of_the_results():
    kept = ROOT / "integrations" / "tabarena" / "results"
    board = pd.read_csv(kept / "leaderboard.csv", index_col="method")
    page = (ROOT / "docs" / "tabarena.md").read_text("utf-8")
    assert table_of(board, pd.read_csv(kept / "results.csv")) in page


def test_versions_of_the_small_package_are_those_of_the_library():
    import tomllib

    ours, theirs = (
        tomllib.loads((ROOT / folder / "pyproject.toml").read_text("utf-8"))["project"]
        for folder in ("integrations/tabarena", ".")
    )
    assert ours["license"] == theirs["license"] and ours["version"] == theirs["version"]
    assert re.search(r">=3\.11", ours["requires-python"])
