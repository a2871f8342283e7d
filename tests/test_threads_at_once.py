"""Eight threads that fit and predict at once, as interpreters without a global lock let them: the bits of one alone."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import committee

N_THREADS = 8
LEARNERS = {
    "gradient_boosting": {"n_estimators": 12},
    "random_forest": {"n_estimators": 12, "oob_score": True},
    "adaboost": {"n_estimators": 12},
    "quadboost": {"n_estimators": 12},
    "sbpmt": {"n_estimators": 3},
    "probabilistic_adaboost": {"n_estimators": 6},
}


def table():
    random = np.random.default_rng(7)
    X = random.normal(size=(400, 6))
    X[random.random(X.shape) < 0.05] = np.nan
    y = (np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) + 0.3 * random.normal(size=400) > 0).astype(int)
    return X, y


def answers(name, X, y):
    """Probabilities of a learner of its own."""
    learner = committee.model(name).set_params(**LEARNERS[name])
    if "random_state" in learner.get_params():
        learner.set_params(random_state=3)
    return learner.fit(X, y).predict_proba(X)


def at_once(work, n=N_THREADS):
    """Results of `work(k)` for k of n threads, all of which begin together."""
    gate = threading.Barrier(n)

    def begin(k):
        gate.wait()
        return work(k)

    with ThreadPoolExecutor(n) as threads:
        return list(threads.map(begin, range(n)))


@pytest.mark.parametrize("name", LEARNERS)
def test_fits_at_once_are_those_of_one_alone(name):
    X, y = table()
    alone = answers(name, X, y)
    for found in at_once(lambda k: answers(name, X, y)):
        np.testing.assert_array_equal(found, alone)


def test_different_learners_at_once():
    X, y = table()
    alone = {name: answers(name, X, y) for name in LEARNERS}
    names = [list(LEARNERS)[k % len(LEARNERS)] for k in range(N_THREADS)]
    for name, found in zip(names, at_once(lambda k: answers(names[k], X, y)), strict=True):
        np.testing.assert_array_equal(found, alone[name])


def test_one_model_answers_several_threads():
    X, y = table()
    forest = committee.RandomForestClassifier(20, random_state=0).fit(X, y)
    alone = forest.predict_proba(X)
    for k, found in enumerate(at_once(lambda k: forest.predict_proba(X[k:]))):
        np.testing.assert_array_equal(found, alone[k:])


def test_the_kernels_need_no_global_lock():
    """An interpreter without one would switch it on at the import of a module that does not say so."""
    import committee._core  # noqa: F401

    has_one = getattr(sys, "_is_gil_enabled", lambda: True)()
    built_with_one = not hasattr(sys, "_is_gil_enabled") or "free-threading" not in sys.version
    assert has_one == built_with_one
