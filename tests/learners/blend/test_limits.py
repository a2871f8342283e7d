"""Time and memory limits of committees of ensembles: predicted times, estimated memory, and the candidates that fit."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier

from committee import CommitteeClassifier, CommitteeRegressor
from committee.data.matrices import as_sparse_matrix
from committee.data.rows import TargetRows
from committee.data.text import byte_text, parse_bytes
from committee.learners.base.row_sampling import Fold
from committee.learners.blend import time_plan
from committee.learners.blend.candidates import Candidate
from committee.learners.blend.out_of_fold import stratified_sample
from committee.learners.blend.portfolio import LEAST_DRAWN, MOST_DRAWN, FitMemory, candidates
from committee.learners.blend.time_plan import NO_TIME, Deadline, TimePlan, by_gain_per_second
from committee.learners.trees.probit_boost import LogitBoostClassifier
from tests.small_portfolio import BOTH, FAST, products, rows_for
from tests.subjects import assert_same_bits, numbers

# --- time -------------------------------------------------------------------------------------------------------------

N = 8000
QUICK = Candidate("lines", LogitBoostClassifier)
SLOW = Candidate("slow", LogitBoostClassifier)
OTHER = Candidate("other", object, estimator=KNeighborsClassifier())


class Costs:
    """A second for each 1,000 rows, five of a slow candidate."""

    n_scores = 0

    def seconds(self, candidate, n):
        return n / 1000 * (5 if candidate.name == "slow" else 1)


@pytest.fixture
def clock(monkeypatch):
    """The time, a list of one number; predicted times have no margin."""
    now = [0.0]
    monkeypatch.setattr(time_plan, "MARGIN", 1.0)
    monkeypatch.setattr(time_plan.time, "perf_counter", lambda: now[0])
    return now


def plan_of(seconds, n_folds=4):
    return TimePlan(seconds, 0.0, Costs(), N, N, n_folds)


def chosen(plan, clock, candidate, later=(), *, first=True, slower=1.0):
    def sample(one, n):
        clock[0] += slower * plan.costs.seconds(one, n)

    return plan.chosen(candidate, later, sample, first=first)


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


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_time_of_an_estimator_of_another_library_is_predicted_by_growing_samples(power, clock):
    plan, sizes = TimePlan(60.0, 0.0, Costs(), 100_000, 75_000, 4), []

    def sample(candidate, n):
        sizes.append(n)
        clock[0] += 1e-4 * n if power == 1.0 else 1e-7 * n**2

    found = plan.chosen(OTHER, [], sample, first=False)
    assert sizes == [200 * 2**k for k in range(len(sizes))] and clock[0] <= 3.0 + 1e-9
    most, seconds, growth = plan._measured["other"]
    assert_allclose(growth, power, rtol=1e-6)
    assert_allclose(plan._seconds(OTHER, 1), seconds * (75_000 / most) ** power)
    if power == 1.0:
        assert found.n_fits in (4, None) and found.max_rows is None
    else:
        assert found.max_rows is not None or isinstance(found, str)


def test_decisions_are_recorded(clock):
    forest = candidates(False, "fast")[1]
    for one in (QUICK, forest):
        for found in (chosen(plan_of(s), clock, one) for s in (0.05, 3.0, 20.0, 1e4)):
            assert TimePlan.from_json(one, TimePlan.to_json(one, found)) == found


def test_order_of_candidates():
    wanted = candidates(True, "best")
    names = [one.name for one in by_gain_per_second(wanted)]
    assert names[:2] == ["boosting", "boosted_lines"] and sorted(names) == sorted(one.name for one in wanted)


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


@pytest.mark.usefixtures("small_members")
def test_a_second_layer_reads_candidates_in_their_order():
    X, y = products()
    model = CommitteeClassifier(candidates=["lines", "boosting"], second_layer=True, cv=2, random_state=0)
    limited = clone(model).set_params(time_limit=1e5).fit(X, y)
    assert "second_layer" in limited.member_names_
    assert_same_bits(limited, model.fit(X, y), X)


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


# --- memory -----------------------------------------------------------------------------------------------------------


def memory_of(n, p=28, n_scores=2, n_folds=3, n_threads=1):
    return FitMemory(n, 8.0 * p, p, n_scores, n_folds, n * (1 - 1 / n_folds), n_threads)


@pytest.mark.parametrize(
    ("text", "amount"),
    [("3 GB", 3e9), ("3gb", 3e9), (" 1.5 GiB ", 1.5 * 2**30), ("250 MB", 2.5e8), ("7", 7), (".5 TB", 5e11), (12, 12)],
)
def test_amounts(text, amount):
    assert parse_bytes(text) == amount


NO_AMOUNT = r"memory_limit=.* is no number of bytes; give bytes, or text such as '3 GB'"


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        *((text, NO_AMOUNT) for text in ("", "GB", "3 giga", "-3 GB", "0 GB", "3 GB more", "1e9", "nan")),
        *((number, "'memory_limit' parameter") for number in (0, -1, float("nan"), [3])),
    ],
)
def test_what_is_no_amount_is_refused(limit, message):
    with pytest.raises(ValueError, match=message):
        CommitteeClassifier(memory_limit=limit).fit(*numbers(2))


@given(st.floats(1.0, 1e14))
def test_an_amount_as_text_is_no_less_and_hardly_more(amount):
    assert amount <= parse_bytes(byte_text(amount)) <= max(1000.0, 1.02 * amount)


@given(
    st.integers(50, 10**7),
    st.integers(1, 500),
    st.integers(1, 20),
    st.sampled_from([2, 3, 5, 8]),
    st.sampled_from(["n", "p", "n_scores", "n_threads"]),
    st.booleans(),
)
def test_more_of_anything_needs_more(n, p, n_scores, n_folds, name, of_numbers):
    given_sizes = {"n": n, "p": p, "n_scores": n_scores, "n_threads": 1}
    small, large = (memory_of(n_folds=n_folds, **given_sizes | {name: k * given_sizes[name]}) for k in (1, 2))
    every = candidates(of_numbers, "best", n)
    for one in every:
        assert 0.0 < small.needed(one).kept <= large.needed(one).kept
        assert 0.0 < small.needed(one).passing <= large.needed(one).passing
    assert small.peak(every) <= large.peak(every)
    assert small.peak(every[:1]) <= small.peak(every)


@given(st.integers(200, 10**6), st.floats(6.0, 10.5), st.booleans(), st.sampled_from(["fast", "default", "best"]))
def test_what_is_chosen_stays_below_the_limit_and_uses_it(n, power, of_numbers, effort):
    memory, limit, wanted = memory_of(n), 10.0**power, candidates(of_numbers, effort, n)
    try:
        chosen, left_out = memory.within(limit, wanted)
    except ValueError:
        assert all(memory.peak([one]) > limit for one in wanted)
        return
    assert memory.peak(chosen) <= limit
    assert [one.name for one in wanted if one.name in {each.name for each in chosen}] == [one.name for one in chosen]
    assert {one.name for one in chosen} | {one.name for one in left_out} == {one.name for one in wanted}
    assert all(one.reason == "memory" for one in left_out)
    if memory.peak(wanted) <= limit:
        assert chosen == wanted
        return
    smaller = [k for k, one in enumerate(chosen) if one not in wanted and "max_samples" in one.parameters]
    assert all(chosen[k].parameters["max_samples"] >= LEAST_DRAWN for k in smaller)
    for k in smaller[-1:]:  # its draws are as large as they can be
        more = {"max_samples": int(1.03 * chosen[k].parameters["max_samples"]) + 2}
        larger = replace(chosen[k], parameters=chosen[k].parameters | more)
        assert memory.peak([*chosen[:k], larger, *chosen[k + 1 :]]) > limit


@pytest.mark.parametrize("n", [100_000, 1_000_000])
def test_the_least_limit_that_is_told_is_enough(n):
    memory, wanted = memory_of(n), candidates(False, "default", n)
    with pytest.raises(ValueError, match=f"memory_limit leaves no candidate room on {n} rows of 28 cells") as error:
        memory.within(1e6, wanted)
    told = str(error.value).split("needs is ")[1].split(",")[0]
    chosen, left_out = memory.within(parse_bytes(told), wanted)
    assert len(chosen) == 1 and len(left_out) == len(wanted) - 1


def test_draws_shrink_before_candidates_go():
    memory, wanted = memory_of(300_000), candidates(False, "best", 300_000)
    drawn = []
    for limit in (4e9, 9e8, 6e8, 4e8):
        chosen, left_out = memory.within(limit, wanted)
        assert not left_out
        drawn.append(next(one.parameters["max_samples"] for one in chosen if one.name == "forest"))
    assert drawn[0] == MOST_DRAWN["best"]["forest"] and drawn == sorted(drawn, reverse=True) and len(set(drawn)) == 4
    assert memory.within(2.5e8, wanted)[1]


def test_memory_of_an_estimator_of_another_library_counts_its_rows():
    memory, lines = memory_of(10_000, p=10, n_folds=4), Candidate("lines", LogitBoostClassifier)
    assert memory.needed(OTHER).kept > 4 * 7500 * 80.0
    assert [one.name for one in memory.within(memory.peak([lines]), [OTHER, lines])[0]] == ["lines"]


def test_sparse_rows_count_by_their_stored_cells():
    X = csr_array((np.ones(50), (np.arange(50), np.arange(50))), shape=(50, 10**6))
    rows = TargetRows(as_sparse_matrix(X), np.zeros(50), np.ones(50), uniform=True)
    fold = Fold(np.arange(25), np.ones(25), np.arange(25, 50), np.ones(25), 25)
    memory = FitMemory.of(rows, 1, [fold], 1)
    assert memory.n == 50 and memory.peak([]) < 1e6


@pytest.mark.slow
@BOTH
def test_a_fit_follows_its_limit(kind):
    X, y = rows_for(kind, 3000)
    limit, little = ("60 MB", "3 MB") if kind is CommitteeClassifier else ("180 MB", "5 MB")
    plain, roomy = (kind(cv=2, random_state=0, memory_limit=much).fit(X, y) for much in (None, "1 TB"))
    assert_same_bits(plain, roomy, X)
    tight = kind(cv=2, random_state=0, memory_limit=limit).fit(X, y)
    assert tight.left_out_.keys() <= {*plain.member_names_, *plain.left_out_}
    assert "memory" not in tight.left_out_.values() and not np.array_equal(tight.predict(X), plain.predict(X))
    few = kind(cv=2, random_state=0, memory_limit=little).fit(X, y)
    assert "memory" in few.left_out_.values()
    gone = few.members_.filter(left_out="memory")
    assert gone["loss"].null_count() == gone["seconds"].null_count() == len(gone) > 0
    with pytest.raises(ValueError, match=r"leaves no candidate room on 3000 rows .* needs is [\d.]+ .B, by estimate"):
        kind(cv=2, memory_limit=100_000).fit(X, y)


def test_a_second_layer_without_memory_is_left_out():
    X, y = products()
    model = CommitteeClassifier(candidates=["lines"], second_layer=True, random_state=0, memory_limit=360_000)
    assert model.fit(X, y).left_out_ == {"second_layer": "memory"}
    assert model.set_params(memory_limit="1 MB").fit(X, y).member_names_ == ["lines", "second_layer"]


MEASURED = """
import json, sys
import numpy as np
from committee import CommitteeClassifier, CommitteeRegressor
from benchmarks.peak_memory import peak_bytes
kind = {"CommitteeClassifier": CommitteeClassifier, "CommitteeRegressor": CommitteeRegressor}[sys.argv[1]]
def rows(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 12))
    score = X[:, 0] * X[:, 1] + rng.normal(size=n)
    return X, score if kind is CommitteeRegressor else (score > 0).astype(int)
kind("fast", cv=2, random_state=0).fit(*rows(300))
before = peak_bytes()
X, y = rows(12_000)
model = kind("fast", cv=2, random_state=0, memory_limit=float(sys.argv[2])).fit(X, y)
print(json.dumps({"peak": peak_bytes() - before, "left_out": model.left_out_}))
"""


@pytest.mark.slow
@BOTH
def test_the_measured_peak_stays_below_the_limit(kind):
    limit, root = 60e6 if kind is CommitteeClassifier else 160e6, Path(__file__).parents[3]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    command = [sys.executable, "-c", MEASURED, kind.__name__, str(limit)]
    done = subprocess.run(command, check=True, capture_output=True, encoding="utf-8", env=environment)
    found = json.loads(done.stdout)
    assert 0.2 * limit < found["peak"] < limit
    assert "memory" not in found["left_out"].values()


def test_fast_boosting_of_many_rows_and_classes_has_one_fit_of_few_rounds():
    many, few = (next(one for one in candidates(False, "fast", n, 40) if one.name == "boosting") for n in (8000, 1500))
    assert (many.parameters, many.n_fits) == ({"tree": "shared", "n_estimators": 200}, 1)
    assert (few.parameters, few.n_fits) == ({"tree": "shared"}, None)
