"""Time limits of committees of ensembles: order, folds, rows and voters by predicted times."""

import time
from dataclasses import replace
from itertools import count, pairwise

import numpy as np
import pytest

from committee import CommitteeClassifier, CommitteeRegressor
from committee.learners.blend import time_plan
from committee.learners.blend.members import Candidate
from committee.learners.blend.out_of_fold import stratified_sample
from committee.learners.blend.portfolio import candidates
from committee.learners.blend.time_plan import NO_TIME, Deadline, TimeLimit, TimePlan, by_gain_per_second
from committee.learners.trees.probit_boost import LogitBoostClassifier
from tests.small_portfolio import BOTH, FAST, rows_for
from tests.subjects import assert_same_bits

N = 8000
QUICK = Candidate("lines", LogitBoostClassifier)
SLOW = Candidate("slow", LogitBoostClassifier)


class Costs:
    """A second for each 1,000 rows, five of a slow candidate."""

    n_scores = 0

    def seconds(self, candidate, n):
        return n / 1000 * (5 if candidate.name == "slow" else 1)


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time_plan.time, "perf_counter", lambda: now[0])
    return now


def plan_of(seconds, n_folds=4):
    return TimePlan(TimeLimit(seconds, 0.0), Costs(), N, N, n_folds)


def chosen(plan, clock, candidate, later=(), *, first=True, slower=1.0):
    def sample(one, n):
        clock[0] += slower * plan.costs.seconds(one, n)

    return plan.chosen(candidate, later, sample, first=first)


@pytest.fixture(autouse=True)
def exact(monkeypatch):
    monkeypatch.setattr(time_plan, "MARGIN", 1.0)


# --- plans -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "slower", "n_fits"), [(1000.0, 1.0, None), (70.0, 1.0, 4), (60.0, 1.0, 3), (62.0, 2.0, 1)]
)
def test_as_many_folds_as_half_of_the_time_allows(seconds, slower, n_fits, clock):
    one = chosen(plan_of(seconds), clock, QUICK, [SLOW], slower=slower)
    assert one.n_fits in (n_fits, None if n_fits == 4 else n_fits)
    assert one.max_rows is None


def test_later_candidates_have_time_for_a_fold_each(clock):
    plan = plan_of(100.0)  # of which a fold of each takes 8 + 8 + 40
    both = [replace(QUICK, name="second"), SLOW]
    assert chosen(plan, clock, QUICK, both, first=False).n_fits == 1
    assert chosen(plan, clock, QUICK, both[:1], first=False).n_fits is None


def test_without_time_for_a_fold_there_are_fewer_rows(clock):
    one = chosen(plan_of(4.2), clock, QUICK)
    assert one.n_fits == 1 and 3600 <= one.max_rows <= 4000
    assert chosen(plan_of(4.2), clock, SLOW, first=False) == f"{NO_TIME}: a fit takes about 40 s, and 3 s were left"
    assert chosen(plan_of(4.2), clock, SLOW, first=True).max_rows >= 200
    assert chosen(plan_of(0.1), clock, QUICK).startswith(NO_TIME)


def test_a_forest_has_fewer_trees(clock):
    forest = candidates(False, "default")[1]
    plan = plan_of(26.0)
    plan.costs.seconds = lambda one, n: n / 1000 * one.parameters["n_estimators"] / 50
    assert chosen(plan, clock, forest).parameters["n_estimators"] == 150


def test_the_measured_time_of_fits_predicts_later_ones(clock):
    plan = plan_of(1000.0)
    plan.took(QUICK, 4, 4 * 8.0 * 10.0)
    clock[0] = 900.0
    assert chosen(plan, clock, replace(QUICK, name="next"), slower=10.0).n_fits == 1


def test_decisions_are_recorded(clock):
    forest = candidates(False, "fast")[1]
    for one in (QUICK, forest):
        for found in (chosen(plan_of(s), clock, one) for s in (0.05, 3.0, 20.0, 1e4)):
            assert TimePlan.from_json(one, TimePlan.to_json(one, found)) == found


def test_order_of_candidates():
    names = [one.name for one in by_gain_per_second(candidates(True, "best"))]
    assert names[:2] == ["boosting", "boosted_lines"] and sorted(names) == sorted(
        c.name for c in candidates(True, "best")
    )


def test_a_deadline_ends_before_a_round_that_would_end_late(clock):
    callback, rounds = Deadline(10.0), count()
    clock[0] = 3.0  # with the preparations
    while not callback.on_fit_task_end(None, None):
        clock[0] += 2.0
        next(rounds)
    assert clock[0] == 9.0 and next(rounds) == 3


# --- samples ---------------------------------------------------------------------------------------------------------


def test_samples_are_nested_and_have_every_class():
    labels = np.random.default_rng(0).choice(5, 300, p=[0.6, 0.3, 0.08, 0.015, 0.005]).astype(np.uint16)
    labels[:5] = np.arange(5)
    samples = [stratified_sample(labels, m, 1) for m in (1, 20, 100, 300)]
    for small, large in pairwise(samples):
        assert np.isin(small, large).all() and len(np.unique(labels[small])) == 5
    assert samples[-1].tolist() == list(range(300)) and len(samples[2]) == 100
    shares = np.bincount(labels[samples[2]]) - np.bincount(labels) / 3
    assert np.abs(shares).max() < 2.0


# --- fits ------------------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.usefixtures("small_members")
def test_without_time_the_quickest_is_trained_on_a_sample_with_a_warning(kind, tmp_path):
    X, y = rows_for(kind, n=400)
    model = kind(**FAST | {"time_limit": 1e-9})
    with pytest.warns(UserWarning, match=r"time_limit=1e-09 s leaves no candidate its time on 400 rows: the only") as w:
        model.fit(X, y, checkpoint=tmp_path / "fit")
    assert [each.filename for each in w] == [__file__]
    (name,) = model.member_names_
    others = {one.name for one in candidates(kind is CommitteeRegressor, "fast")} - {name}
    assert model.left_out_.keys() == others
    assert all(reason.startswith(NO_TIME) for reason in model.left_out_.values())
    assert np.isfinite(model.oof_loss_) and model.member_sizes_.tolist() == [1]
    with pytest.warns(UserWarning, match="leaves no candidate its time"):
        again = kind(**FAST | {"time_limit": 1e-9}).fit(X, y, checkpoint=tmp_path / "fit")
    assert_same_bits(again, model, X)


@BOTH
@pytest.mark.usefixtures("small_members")
def test_with_time_enough_it_is_the_fit_without_limit(kind):
    X, y = rows_for(kind)
    assert_same_bits(kind(**FAST | {"time_limit": 1e5}).fit(X, y), kind(**FAST).fit(X, y), X)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [1.0, 5.0])
def test_a_table_of_36_000_rows_ends_in_time(seconds, monkeypatch):
    """By processor time, as others may have the processors."""
    monkeypatch.setattr(time, "perf_counter", time.process_time)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(36_000, 14))
    y = (X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + rng.normal(size=len(X)) > 0.5).astype(int)
    begun = time.process_time()
    model = CommitteeClassifier("fast", time_limit=seconds, random_state=0).fit(X, y)
    assert time.process_time() - begun <= max(1.1 * seconds, seconds + 0.5)
    assert "boosting" in model.member_names_
