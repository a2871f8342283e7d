"""Estimated memory of a fit, and the candidates that fit into a limit."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from committee import CommitteeClassifier
from committee.data.matrices import as_sparse_matrix
from committee.data.rows import TargetRows
from committee.data.text import byte_text, parse_bytes
from committee.learners.base.row_sampling import Fold
from committee.learners.blend.portfolio import LEAST_DRAWN, MOST_DRAWN, FitMemory, candidates
from tests.small_portfolio import BOTH, rows_for
from tests.subjects import assert_same_bits, numbers


def sizes(n, p=28, n_scores=2, n_folds=3, n_threads=1):
    return FitMemory(n, 8.0 * p, p, n_scores, n_folds, n * (1 - 1 / n_folds), n_threads)


# --- amounts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "amount"),
    [("3 GB", 3e9), ("3gb", 3e9), (" 1.5 GiB ", 1.5 * 2**30), ("250 MB", 2.5e8), ("7", 7), (".5 TB", 5e11), (12, 12)],
)
def test_amounts(text, amount):
    assert parse_bytes(text) == amount


NO_AMOUNT = r"memory_limit=.* is no amount of memory; give bytes, or text such as '3 GB'"


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


# --- estimates -------------------------------------------------------------------------------------------------------


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
    small, large = (
        sizes(n_folds=n_folds, **given_sizes),
        sizes(n_folds=n_folds, **given_sizes | {name: 2 * given_sizes[name]}),
    )
    every = candidates(of_numbers, "best", n)
    for one in every:
        assert 0.0 < small.needed(one).kept <= large.needed(one).kept
        assert 0.0 < small.needed(one).passing <= large.needed(one).passing
    assert small.peak(every) <= large.peak(every)
    assert small.peak(every[:1]) <= small.peak(every)


@given(st.integers(200, 10**6), st.floats(6.0, 10.5), st.booleans(), st.sampled_from(["fast", "default", "best"]))
def test_what_is_chosen_stays_below_the_limit_and_uses_it(n, power, of_numbers, effort):
    memory, limit, wanted = sizes(n), 10.0**power, candidates(of_numbers, effort, n)
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
    memory, wanted = sizes(n), candidates(False, "default", n)
    with pytest.raises(ValueError, match=f"memory_limit leaves no candidate room on {n} rows of 28 columns") as error:
        memory.within(1e6, wanted)
    told = str(error.value).split("needs is ")[1].split(",")[0]
    chosen, left_out = memory.within(parse_bytes(told), wanted)
    assert len(chosen) == 1 and len(left_out) == len(wanted) - 1


def test_draws_shrink_before_candidates_go():
    memory, wanted = sizes(300_000), candidates(False, "best", 300_000)
    drawn = []
    for limit in (4e9, 9e8, 6e8, 4e8):
        chosen, left_out = memory.within(limit, wanted)
        assert not left_out
        drawn.append(next(one.parameters["max_samples"] for one in chosen if one.name == "forest"))
    assert drawn[0] == MOST_DRAWN["best"]["forest"] and drawn == sorted(drawn, reverse=True) and len(set(drawn)) == 4
    assert memory.within(2.5e8, wanted)[1]


def test_sparse_rows_count_by_their_stored_cells():
    X = csr_array((np.ones(50), (np.arange(50), np.arange(50))), shape=(50, 10**6))
    rows = TargetRows(as_sparse_matrix(X), np.zeros(50), np.ones(50), uniform=True)
    fold = Fold(np.arange(25), np.ones(25), np.arange(25, 50), np.ones(25), 25)
    memory = FitMemory.of(rows, 1, [fold], 1)
    assert memory.n == 50 and memory.peak([]) < 1e6


# --- in a fit --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@BOTH
def test_a_fit_follows_its_limit(kind):
    X, y = rows_for(kind, 3000)
    effort, limit, little = "default", *(("60 MB", "3 MB") if kind is CommitteeClassifier else ("180 MB", "5 MB"))
    plain, roomy = (kind(effort, cv=2, random_state=0, memory_limit=much).fit(X, y) for much in (None, "1 TB"))
    assert_same_bits(plain, roomy, X)
    tight = kind(effort, cv=2, random_state=0, memory_limit=limit).fit(X, y)
    assert tight.left_out_.keys() <= {*plain.member_names_, *plain.left_out_}
    assert "memory" not in tight.left_out_.values() and not np.array_equal(tight.predict(X), plain.predict(X))
    few = kind(effort, cv=2, random_state=0, memory_limit=little).fit(X, y)
    assert "memory" in few.left_out_.values()
    gone = few.members_.filter(left_out="memory")
    assert gone["loss"].null_count() == gone["seconds"].null_count() == len(gone) > 0
    with pytest.raises(ValueError, match=r"leaves no candidate room on 3000 rows .* needs is [\d.]+ .B, by estimate"):
        kind(effort, cv=2, memory_limit=100_000).fit(X, y)


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
