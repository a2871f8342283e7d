"""scikit-learn's callbacks: tasks, stops and failures of every ensemble."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.callback import FitCallback, ProgressBar, ScoringMonitor
from sklearn.metrics import log_loss, make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

import committee

ENSEMBLES = [
    committee.AdaBoostClassifier(6),
    committee.AdaBoostClassifier(6, vote="confidence", max_depth=2),
    committee.AdaBoostClassifier(6, vote="abstaining"),
    committee.AdaBoostClassifier(6, voter=GaussianNB()),
    committee.SubaggingClassifier(n_estimators=6, random_state=0),
    committee.SubaggingClassifier(GaussianNB(), 6, voting="soft", random_state=0),
    committee.SubaggingClassifier(committee.AdaBoostClassifier(3), 6, n_jobs=2, random_state=0),
    committee.SBPMTClassifier(6, 2, 4, random_state=0),
    committee.SBPMTClassifier(6, 2, 4, n_jobs=2, random_state=0),
    committee.GradientBoostingClassifier(n_estimators=6, random_state=0),
    committee.RandomForestClassifier(6, random_state=0),
    committee.QuadBoostClassifier(None, n_estimators=6, fit_intercept=False),
    committee.QuadBoostClassifier(None, n_estimators=6, dictionary="trees", fit_intercept=False),
    committee.ProbabilisticAdaBoostClassifier(6),
    committee.BoostingTreeClassifier(6),
    committee.BoostingTreeClassifier(6, voter=GaussianNB()),
    committee.MatryoshkaClassifier(levels=3),
    committee.MatryoshkaClassifier("greedy", max_voters=6),
]
each_ensemble = pytest.mark.parametrize("ensemble", ENSEMBLES, ids=str)
SINGLE = [committee.TreeVoter(max_depth=3), committee.AbstainingStump()]
IN_ROUNDS = committee.AdaBoostClassifier | committee.GradientBoostingClassifier | committee.QuadBoostClassifier


def part_of(ensemble: Any) -> str:
    """Name of the task that each voter of an ensemble is."""
    return "round" if isinstance(ensemble, IN_ROUNDS) else "voter"


def as_votes(ensemble: Any) -> Any:
    """The ensemble without calibration, the last step of a fit, which callbacks do not see."""
    return clone(ensemble).set_params(calibrate=None) if "calibrate" in ensemble.get_params() else ensemble


def noisy(n: int = 200) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=n) > 1).astype(np.int64)


@dataclass
class Diary:
    """Records the calls in order; stops or fails after some voters."""

    stop_after: int = 99
    fail_after: int = 99
    events: list[Any] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)

    def setup(self, estimator: Any, context: Any) -> None:
        self.events.append("setup")

    def teardown(self, estimator: Any, context: Any) -> None:
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator: Any, context: Any, *, X: Any = None, y: Any = None) -> None:
        assert len(X) == len(y)
        self.events.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, X: Any = None, y: Any = None, fitted_estimator: Any = None
    ) -> bool:
        self.events.append(("end", context.task_name, context.task_id))
        self.answers.append(fitted_estimator.predict_proba(X))
        if context.task_name != "fit" and len(self.answers) >= self.fail_after:
            raise ArithmeticError("as told")
        return len(self.answers) >= self.stop_after


@each_ensemble
def test_every_voter_is_a_task(ensemble):
    X, y = noisy()
    diary = Diary()
    assert isinstance(diary, FitCallback)
    model = clone(ensemble).set_callbacks(diary).fit(X, y)
    T, name = model.committee_.n_voters, part_of(ensemble)
    assert T > 3
    tasks = [(when, name, t) for t in range(T) for when in ("begin", "end")]
    assert diary.events == ["setup", ("begin", "fit", 0), *tasks, ("end", "fit", 0), "teardown"]
    ensemble, diary = as_votes(ensemble), Diary()
    model = clone(ensemble).set_callbacks(diary).fit(X, y)
    for said, stage in zip(diary.answers, model.staged_predict_proba(X), strict=False):
        assert_allclose(said, stage, atol=1e-12)
    assert_array_equal(diary.answers[-1], model.predict_proba(X))
    assert_array_equal(clone(ensemble).fit(X, y).predict_proba(X), model.predict_proba(X))


@each_ensemble
def test_a_fit_has_one_blas_thread(ensemble):
    def blas_threads() -> set[int]:
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    class Threads(Diary):
        def on_fit_task_end(self, *given: Any, **values: Any) -> bool:
            self.events.append(blas_threads())
            return False

    threads = Threads()
    with threadpool_limits(2, "blas"):
        before = blas_threads()
        clone(ensemble).set_callbacks(threads).fit(*noisy())
        assert blas_threads() == before
    assert {1} in threads.events and before not in threads.events


@pytest.mark.parametrize("single", SINGLE, ids=str)
def test_a_single_voter_is_one_task(single):
    X, y = noisy()
    diary = Diary()
    model = clone(single).set_callbacks(diary).fit(X, y)
    assert diary.events == ["setup", ("begin", "fit", 0), ("end", "fit", 0), "teardown"]
    assert_array_equal(diary.answers[0], model.predict_proba(X))


@each_ensemble
@pytest.mark.parametrize("k", [1, 3])
def test_a_callback_can_stop_the_run(ensemble, k):
    X, y = noisy()
    ensemble = as_votes(ensemble)
    model = clone(ensemble).set_callbacks(Diary(stop_after=k)).fit(X, y)
    whole = clone(ensemble).fit(X, y)
    assert model.committee_.n_voters == k
    assert_array_equal(model.committee_.weights, whole.committee_.weights[:k])
    assert_array_equal(model.predict_proba(X), whole.committee_.select(slice(k)).predict_proba(X))
    for name in ("estimator_errors_", "normalisers_", "draws_"):
        if hasattr(model, name):
            assert_array_equal(getattr(model, name), getattr(whole, name)[:k])


def test_stopped_early_the_trained_voters_give_the_out_of_bag_score():
    X, y = noisy()
    bag = committee.SubaggingClassifier(n_estimators=50, oob_score=True, random_state=0)
    model, same = clone(bag).set_callbacks(Diary(stop_after=30)).fit(X, y), bag.fit(X, y)
    assert model.committee_.n_voters == 30
    assert 0.5 < model.oob_score_ <= 1.0 and model.oob_score_ != same.oob_score_


@each_ensemble
def test_a_callback_that_fails_is_taken_down(ensemble):
    X, y = noisy()
    diary, other = Diary(fail_after=2), Diary()
    model = clone(ensemble).set_callbacks(diary, other)
    with pytest.raises(ArithmeticError, match="as told"):
        model.fit(X, y)
    assert diary.events[-1] == other.events[-1] == "teardown"
    assert not hasattr(model, "committee_") and not hasattr(model, "_callback_fit_ctx")
    fitted = model.set_callbacks(Diary()).fit(X, y)
    assert_array_equal(fitted.predict(X), clone(ensemble).fit(X, y).predict(X))


def test_bad_input_takes_callbacks_down_too():
    # of arc_gv and its kind the rounds are watched in test_arc_gv.py: their weights add up to one at every stage
    by_margins = (committee.ArcGVClassifier(), committee.MDBoostClassifier(), committee.DOOMBoostClassifier())
    for learner in (*ENSEMBLES, *SINGLE, *by_margins, committee.QuadBoostClassifierCV()):
        diary = Diary()
        with pytest.raises(ValueError, match="infinity"):
            clone(learner).set_callbacks(diary).fit(np.full((4, 1), np.inf), [0, 1, 0, 1])
        assert diary.events == ["setup", "teardown"]


def test_early_stopping_shows_every_round_and_keeps_the_best():
    X, y = noisy(400)
    diary = Diary()
    params = {"max_depth": 3, "early_stopping": True, "n_iter_no_change": 7, "calibrate": None, "random_state": 0}
    model = committee.AdaBoostClassifier(100, **params).set_callbacks(diary).fit(X, y)
    kept = model.committee_.n_voters
    assert sum(event[:2] == ("end", "round") for event in diary.events) == kept + 7
    for said in diary.answers[kept - 1 :]:  # as if the run had stopped there: the best so far
        assert_array_equal(said, model.predict_proba(X))


# --- scikit-learn's own -------------------------------------------------------------------------------------


def scores(monitor: ScoringMonitor, task: str, name: str = "accuracy") -> list[float]:
    return [row[name] for row in monitor.get_logs().data if row["task_name"] == task]


@pytest.mark.one_in(3)
@each_ensemble
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_of_the_monitor_are_those_of_the_stages(ensemble, weighted):
    X, y = noisy()
    w = np.random.default_rng(1).exponential(size=len(y)) if weighted else None
    monitor = ScoringMonitor(scoring=["accuracy", "neg_log_loss"])
    model = clone(as_votes(ensemble)).set_callbacks(monitor).fit(X, y, w)
    name = part_of(model)
    accuracy = [np.average(stage == y, weights=w) for stage in model.staged_predict(X)]
    assert_allclose(scores(monitor, name), accuracy)
    losses = [-log_loss(y, stage, sample_weight=w) for stage in model.staged_predict_proba(X)]
    assert_allclose(scores(monitor, name, "neg_log_loss"), losses)
    assert_allclose(scores(monitor, "fit"), [model.score(X, y, w)])


def test_a_score_that_takes_no_weights_can_be_watched():
    def right(y: Any, predicted: Any) -> float:
        return float((y == predicted).sum())

    X, y = noisy()
    for learner in (*ENSEMBLES, *SINGLE):
        monitor = ScoringMonitor(scoring=make_scorer(right))
        model = clone(learner).set_callbacks(monitor).fit(X, y)
        assert scores(monitor, "fit", "score") == [right(y, model.predict(X))]


def test_progress_bar_counts_the_voters_in_a_pipeline_and_in_a_search_too(capsys):
    X, y = noisy()
    for learner in (*ENSEMBLES, *SINGLE):
        pipeline = make_pipeline(StandardScaler(), clone(learner))
        for model in (clone(learner), pipeline):
            model.set_callbacks(ProgressBar()).fit(X, y)
            assert type(learner).__name__ in capsys.readouterr().out
        assert not hasattr(pipeline[-1], "_parent_callback_ctx")
    search = GridSearchCV(committee.AdaBoostClassifier(3), {"max_depth": [1, 2]}, cv=2).set_callbacks(ProgressBar())
    assert search.fit(X, y).score(X, y) > 0.6
    assert "AdaBoostClassifier" in capsys.readouterr().out
    model = committee.AdaBoostClassifier(200, max_depth=3).set_callbacks(ProgressBar()).fit(X[:20], y[:20])
    assert model.committee_.n_voters < 200  # a perfect voter: the bar ends early
    assert "100%" in capsys.readouterr().out
    committee.AdaBoostClassifier(3).fit(X, y)
    assert capsys.readouterr().out == ""  # nothing unless asked for
