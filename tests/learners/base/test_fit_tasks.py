"""scikit-learn's callbacks, and fits that are interrupted, refused or stopped by a signal."""

import gc
import inspect
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor
from sklearn.callback import FitCallback, ProgressBar, ScoringMonitor
from sklearn.metrics import log_loss, make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import committee
from committee.learners.trained_ensembles import certify
from committee.objectives.losses import Logistic
from committee.report.comparison import compare
from tests.patience import PATIENCE
from tests.subjects import assert_same_bits, noisy_scores, numbers

ENSEMBLES = [
    committee.AdaBoostClassifier(6),
    committee.AdaBoostClassifier(6, vote="confidence", max_depth=2),
    committee.AdaBoostClassifier(6, vote="abstaining"),
    committee.AdaBoostClassifier(6, voter=GaussianNB()),
    committee.SubaggingClassifier(n_estimators=6, random_state=0),
    committee.SubaggingClassifier(GaussianNB(), 6, voting="soft", random_state=0),
    committee.SubaggingClassifier(committee.AdaBoostClassifier(3), 6, n_jobs=2, random_state=0),
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
    """Writes down what it is told, in order; stops or fails after some voters."""

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


def test_the_diary_is_a_callback():
    assert isinstance(Diary(), FitCallback)


@pytest.mark.parametrize("ensemble", ENSEMBLES, ids=str)
def test_every_voter_is_a_task(ensemble):
    X, y = noisy()
    diary = Diary()
    model = clone(ensemble).set_callbacks(diary).fit(X, y)
    T = model.committee_.n_voters
    name = part_of(model)
    tasks = [(when, name, t) for t in range(T) for when in ("begin", "end")]
    assert T > 3
    assert diary.events == ["setup", ("begin", "fit", 0), *tasks, ("end", "fit", 0), "teardown"]
    ensemble, diary = as_votes(ensemble), Diary()
    model = clone(ensemble).set_callbacks(diary).fit(X, y)
    for said, stage in zip(diary.answers, model.staged_predict_proba(X), strict=False):
        assert_allclose(said, stage, atol=1e-12)
    assert_array_equal(diary.answers[-1], model.predict_proba(X))
    plain = clone(ensemble).fit(X, y)
    assert_array_equal(plain.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("single", SINGLE, ids=str)
def test_a_single_voter_is_one_task(single):
    X, y = noisy()
    diary = Diary()
    model = clone(single).set_callbacks(diary).fit(X, y)
    assert diary.events == ["setup", ("begin", "fit", 0), ("end", "fit", 0), "teardown"]
    assert_array_equal(diary.answers[0], model.predict_proba(X))


@pytest.mark.parametrize("ensemble", ENSEMBLES, ids=str)
@pytest.mark.parametrize("k", [1, 3])
def test_a_callback_can_stop_the_run(ensemble, k):
    X, y = noisy()
    ensemble = as_votes(ensemble)
    model = clone(ensemble).set_callbacks(Diary(stop_after=k)).fit(X, y)
    whole = clone(ensemble).fit(X, y)
    assert model.committee_.n_voters == k
    assert_array_equal(model.committee_.weights, whole.committee_.weights[:k])
    assert_array_equal(model.predict_proba(X), whole.committee_.select(slice(k)).predict_proba(X))
    for name in ("estimator_errors_", "normalisers_"):
        if hasattr(model, name):
            assert_array_equal(getattr(model, name), getattr(whole, name)[:k])


def test_stopped_early_the_voters_there_are_judge():
    X, y = noisy()
    model = committee.SubaggingClassifier(n_estimators=50, oob_score=True, random_state=0).set_callbacks(
        Diary(stop_after=30)
    )
    model.fit(X, y)
    same = committee.SubaggingClassifier(n_estimators=50, oob_score=True, random_state=0).fit(X, y)
    assert model.committee_.n_voters == 30
    assert 0.5 < model.oob_score_ <= 1.0 and model.oob_score_ != same.oob_score_


@pytest.mark.parametrize("ensemble", ENSEMBLES, ids=str)
def test_a_callback_that_fails_is_taken_down(ensemble):
    X, y = noisy()
    diary, other = Diary(fail_after=2), Diary()
    model = clone(ensemble).set_callbacks(diary, other)
    with pytest.raises(ArithmeticError, match="as told"):
        model.fit(X, y)
    assert diary.events[-1] == other.events[-1] == "teardown"
    assert not hasattr(model, "committee_")
    assert not hasattr(model, "_callback_fit_ctx")
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
    model = committee.AdaBoostClassifier(100, **params)
    model.set_callbacks(diary).fit(X, y)
    rounds = sum(event[:2] == ("end", "round") for event in diary.events)
    kept = model.committee_.n_voters
    assert rounds == kept + 7
    for said in diary.answers[kept - 1 :]:  # as if the run had stopped there: the best so far
        assert_array_equal(said, model.predict_proba(X))


# --- scikit-learn's own -------------------------------------------------------------------------------------


def scores(monitor: ScoringMonitor, task: str, name: str = "accuracy") -> list[float]:
    return [row[name] for row in monitor.get_logs().data if row["task_name"] == task]


@pytest.mark.parametrize("ensemble", ENSEMBLES, ids=str)
def test_scores_of_the_monitor_are_those_of_the_stages(ensemble):
    X, y = noisy()
    monitor = ScoringMonitor(scoring="accuracy")
    model = clone(ensemble).set_callbacks(monitor).fit(X, y)
    name = part_of(model)
    assert_allclose(scores(monitor, name), [(stage == y).mean() for stage in model.staged_predict(X)])
    assert_allclose(scores(monitor, "fit"), [model.score(X, y)])


def test_scores_are_weighted_as_the_rows_are():
    X, y = noisy()
    w = np.random.default_rng(1).exponential(size=len(y))
    for ensemble in (committee.AdaBoostClassifier(6), committee.SubaggingClassifier(n_estimators=6, random_state=0)):
        monitor = ScoringMonitor(scoring=["accuracy", "neg_log_loss"])
        model = as_votes(ensemble).set_callbacks(monitor).fit(X, y, w)
        name = part_of(model)
        accuracy = [np.average(stage == y, weights=w) for stage in model.staged_predict(X)]
        assert_allclose(scores(monitor, name, "accuracy"), accuracy)
        losses = [-log_loss(y, stage, sample_weight=w) for stage in model.staged_predict_proba(X)]
        assert_allclose(scores(monitor, name, "neg_log_loss"), losses)


def test_a_score_that_takes_no_weights_can_be_watched():
    def right(y: Any, predicted: Any) -> float:
        return float((y == predicted).sum())

    X, y = noisy()
    for learner in (*ENSEMBLES, *SINGLE):
        monitor = ScoringMonitor(scoring=make_scorer(right))
        model = clone(learner).set_callbacks(monitor).fit(X, y)
        assert scores(monitor, "fit", "score") == [right(y, model.predict(X))]


def test_progress_bar_counts_the_voters(capsys):
    X, y = noisy()
    for learner in (*ENSEMBLES, *SINGLE):
        model = clone(learner).set_callbacks(ProgressBar()).fit(X, y)
        assert type(model).__name__ in capsys.readouterr().out
    model = committee.AdaBoostClassifier(200, max_depth=3).set_callbacks(ProgressBar()).fit(X[:20], y[:20])
    assert model.committee_.n_voters < 200  # a perfect voter: the bar ends early
    assert "100%" in capsys.readouterr().out
    committee.AdaBoostClassifier(3).fit(X, y)
    assert capsys.readouterr().out == ""  # nothing unless asked for


def test_in_a_pipeline_and_in_a_search(capsys):
    X, y = noisy()
    for learner in (*ENSEMBLES, *SINGLE):
        pipeline = make_pipeline(StandardScaler(), clone(learner)).set_callbacks(ProgressBar()).fit(X, y)
        assert type(learner).__name__ in capsys.readouterr().out
        assert not hasattr(pipeline[-1], "_parent_callback_ctx")
    search = GridSearchCV(committee.AdaBoostClassifier(3), {"max_depth": [1, 2]}, cv=2).set_callbacks(ProgressBar())
    assert search.fit(X, y).score(X, y) > 0.6
    assert "AdaBoostClassifier" in capsys.readouterr().out


NAMES = np.array(["benign", "malign"])


def first_rows(model: Any) -> tuple[Any, Any]:
    X, y = noisy_scores(60) if is_regressor(model) else numbers(2, 60)
    return X, y if is_regressor(model) else NAMES[y]


def other_rows(model: Any) -> tuple[Any, Any]:
    """Rows of other labels, another width for those that may see one, and other values."""
    X, y = noisy_scores(50, seed=1) if is_regressor(model) else numbers(2, 50, seed=1)
    X = X if model.trained_parameters else np.column_stack([X[:, 1:], X[:, :1], X])
    same = is_regressor(model) or model.trained_parameters
    return X, (NAMES[y] if not is_regressor(model) else y) if same else np.array(["x", "y"])[y]


class LogisticOfUser(Logistic):
    """A loss that fails when it is wanted to."""

    fails: ClassVar[bool] = False

    def best_constant(self, y: Any, w: Any, n_scores: int) -> Any:
        if LogisticOfUser.fails:
            raise ArithmeticError("the user's loss")
        return super().best_constant(y, w, n_scores)


class VoterOfUser(DecisionTreeClassifier):
    """A voter whose training fails when it is wanted to."""

    fails: ClassVar[bool] = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Any:
        if VoterOfUser.fails:
            raise ArithmeticError("the user's voter")
        return super().fit(X, y, sample_weight, check_input)


def trained(kind: Any) -> Any:
    numbers = is_regressor(kind(None))
    of = committee.RandomForestRegressor if numbers else committee.RandomForestClassifier
    forest = of(5, max_leaf_nodes=6, random_state=0)
    return forest.fit(*first_rows(forest))


OF_ITS_OWN: list[Any] = [
    committee.AdaBoostClassifier(4),
    committee.AdaBoostClassifier(4, vote="confidence", early_stopping=True, random_state=0),
    committee.SubaggingClassifier(n_estimators=3, random_state=0),
    committee.SubaggingClassifier(committee.AdaBoostClassifier(2), 3, n_jobs=2, random_state=0),
    committee.TreeVoter(max_depth=3),
    committee.AbstainingStump(),
    committee.TreeRegressor(max_depth=3),
    committee.ProbitModelTreeClassifier(4),
    committee.SBPMTClassifier(2, 2, 4, random_state=0),
    committee.ProbitBoostClassifier(4),
    committee.LogitBoostClassifier(4),
    committee.LPBoostClassifier(0.8, random_state=0),
    committee.ArcGVClassifier(4),
    committee.MDBoostClassifier(max_depth=1),
    committee.DOOMBoostClassifier(n_estimators=4, n_start=3),
    committee.QuadBoostClassifier(n_estimators=6),
    committee.QuadBoostClassifierCV(n_alphas=3, cv=2),
    committee.QuadBoostRegressor(n_estimators=6),
    committee.ProbabilisticAdaBoostClassifier(4),
    committee.BoostingTreeClassifier(6),
    committee.MatryoshkaClassifier(levels=2),
    committee.GradientBoostingClassifier(n_estimators=4, min_samples_leaf=1, random_state=0),
    committee.GradientBoostingClassifier(
        n_estimators=4, learning_rate=0.1, min_samples_leaf=1, warm_start=True, random_state=0
    ),
    committee.GradientBoostingRegressor(n_estimators=4, min_samples_leaf=1, random_state=0),
    committee.FunctionalGradientBoostingClassifier(n_estimators=3),
    committee.FunctionalGradientBoostingRegressor(n_estimators=3),
    committee.RandomForestClassifier(4, random_state=0),
    committee.RandomForestRegressor(4, random_state=0),
    committee.CommitteeClassifier("fast", cv=2, random_state=0),
    committee.CommitteeRegressor("fast", cv=2, random_state=0),
]
OF_USERS: list[Any] = [
    committee.GradientBoostingClassifier(LogisticOfUser(), n_estimators=3, min_samples_leaf=1, random_state=0),
    committee.AdaBoostClassifier(3, voter=VoterOfUser(max_depth=1)),
    committee.SubaggingClassifier(VoterOfUser(max_depth=1), 3, random_state=0),
    committee.LPBoostClassifier(0.8, dictionary=VoterOfUser(max_depth=1)),
    committee.ArcGVClassifier(3, voter=VoterOfUser(max_depth=1)),
    committee.MDBoostClassifier(voter=VoterOfUser(max_depth=1)),
    committee.DOOMBoostClassifier(n_estimators=3, n_start=2, voter=VoterOfUser(max_depth=1)),
    committee.QuadBoostClassifier(None, n_estimators=3, dictionary=VoterOfUser(max_depth=1)),
    committee.ProbabilisticAdaBoostClassifier(3, voter=VoterOfUser(max_depth=1)),
    committee.BoostingTreeClassifier(3, voter=VoterOfUser(max_depth=1)),
]
OF_TRAINED = [committee.MarginReweighter, committee.LeafReweighter, committee.LeafReweighterRegressor]
WITHOUT_CALLBACKS: list[Any] = [
    committee.ConformalClassifier(committee.RandomForestClassifier(8, max_samples=0.3), random_state=0),
    committee.ConformalRegressor(committee.TreeRegressor(max_depth=3), cv=2, random_state=0),
]


def unfitted(kind: Any) -> Any:
    return kind(trained(kind), on="train") if kind in OF_TRAINED else clone(kind)


ALL = pytest.mark.parametrize("kind", [*OF_ITS_OWN, *OF_TRAINED, *WITHOUT_CALLBACKS], ids=str)


def test_every_learner_is_interrupted():
    assert {type(kind).__name__ for kind in [*OF_ITS_OWN, *WITHOUT_CALLBACKS]} | {
        kind.__name__ for kind in OF_TRAINED
    } == set(committee.LEARNERS)


@contextmanager
def unchanged(model: Any) -> Iterator[None]:
    """The block changes no attribute, no prediction and no byte of the file."""
    X, _ = first_rows(model)
    attributes, predicted, file = dict(vars(model)), model.predict(X), saved(model)
    yield
    assert list(vars(model)) == list(attributes)
    assert all(vars(model)[name] is value for name, value in attributes.items())
    assert_array_equal(model.predict(X), predicted)
    assert saved(model) == file


def saved(model: Any) -> bytes:
    if any(kind.__name__ == type(model).__name__ for kind in OF_TRAINED) or not any(
        type(value) in (VoterOfUser, LogisticOfUser) for value in model.get_params(deep=False).values()
    ):
        with TemporaryDirectory() as folder:
            path = Path(folder, "model")
            model.save(path)
            loaded = committee.load(path)
            assert_array_equal(loaded.predict(first_rows(model)[0]), model.predict(first_rows(model)[0]))
            return path.read_bytes()
    return b""  # a file has no room for what is the user's


# --- at every callback --------------------------------------------------------------------------------------


class Interrupting:
    """A callback that raises at one of its calls; all attempts to save the learner under way are refused."""

    def __init__(self, at: int, error: BaseException | None = None) -> None:
        self.at, self.error, self.calls = at, error, 0

    def setup(self, estimator: Any, context: Any) -> None:
        self.call()

    def teardown(self, estimator: Any, context: Any) -> None:
        pass  # scikit-learn's, when the fit is over

    def on_fit_task_begin(self, estimator: Any, context: Any, *, X: Any = None, y: Any = None) -> None:
        if not getattr(estimator, "warm_start", False):
            assert not hasattr(estimator, "committee_")
        self.call()

    def on_fit_task_end(self, estimator: Any, context: Any, *, fitted_estimator: Any = None) -> bool:
        self.call()
        return False

    def call(self) -> None:
        self.calls += 1
        if self.error is not None and self.calls > self.at:
            raise self.error


@pytest.mark.one_in(5)
@pytest.mark.parametrize("kind", OF_ITS_OWN, ids=str)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_interrupted_at_a_callback_the_learner_is_as_before(kind):
    model = unfitted(kind).fit(*first_rows(kind))
    rows = first_rows(kind) if getattr(kind, "warm_start", False) else other_rows(kind)
    counting = Interrupting(0)
    unfitted(kind).set_callbacks(counting).fit(*rows)
    assert counting.calls >= 3
    for at in range(counting.calls):
        error = (KeyboardInterrupt, ArithmeticError, SystemExit)[at % 3]("at a callback")
        model.set_callbacks(Interrupting(at, error))
        if getattr(kind, "warm_start", False):
            model.set_params(n_estimators=8)
        with unchanged(model), pytest.raises(type(error), match="at a callback"):
            model.fit(*rows)
    model.set_callbacks()
    assert_same_bits(unfitted(kind).fit(*rows), clone(model).set_params(**kind.get_params()).fit(*rows), rows[0])


# --- anywhere -----------------------------------------------------------------------------------------------

PACKAGE = str(Path(committee.__file__).parent)


class Interrupt:
    """Raises KeyboardInterrupt as one of the package's functions is entered; counts them.

    Generators are not: one that is closed is entered too, and Python swallows what is raised there.
    """

    def __init__(self, at: int | None = None) -> None:
        self.at, self.calls = at, 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and not code.co_flags & inspect.CO_GENERATOR:
            self.calls += 1
            if self.calls == self.at:
                sys.setprofile(None)
                raise KeyboardInterrupt

    def __enter__(self) -> "Interrupt":
        sys.setprofile(self)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)


@pytest.mark.one_in(5)
@ALL
@settings(max_examples=5)
@given(share=st.floats(0.0, 1.0))
def test_interrupted_anywhere_the_learner_is_as_before(kind, share):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = FITTED.get(id(kind)) or FITTED.setdefault(id(kind), unfitted(kind).fit(*first_rows(unfitted(kind))))
        rows = first_rows(model) if getattr(kind, "warm_start", False) else other_rows(model)
        if id(kind) not in CALLS:
            fresh = clone(model)
            with Interrupt() as counting:
                fresh.fit(*rows)
            CALLS[id(kind)] = counting.calls
        with unchanged(model), pytest.raises(KeyboardInterrupt), Interrupt(1 + int(share * (CALLS[id(kind)] - 1))):
            model.fit(*rows)


FITTED: dict[int, Any] = {}
CALLS: dict[int, int] = {}


# --- refused ------------------------------------------------------------------------------------------------


@pytest.mark.one_in(5)
@ALL
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_refused_fit_leaves_the_learner_as_before(kind):
    model = unfitted(kind)
    model.fit(*first_rows(model))
    X, y = other_rows(model)
    infinite = X.copy()
    infinite[3, 1] = np.inf
    refused: list[tuple[Any, ...]] = [
        (X[:-1], y),
        (X, y, np.full(len(y), -1.0)),
        (X, y, np.zeros(len(y))),
        (X, np.full(len(y), np.nan)),
        (X[:0], y[:0]),
    ]
    if not model.trained_parameters:
        refused.append((infinite, y))
    for rows in refused:
        with unchanged(model), pytest.raises((ValueError, TypeError)):
            model.fit(*rows)


@pytest.mark.parametrize("kind", OF_USERS, ids=str)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_loss_or_a_voter_that_raises_leaves_the_learner_as_before(kind, monkeypatch):
    model = clone(kind).fit(*first_rows(kind))
    with unchanged(model):
        for of_user in (LogisticOfUser, VoterOfUser):
            monkeypatch.setattr(of_user, "fails", True)
        with pytest.raises(ArithmeticError, match="the user's"):
            model.fit(*other_rows(kind))
        monkeypatch.undo()


# --- by a signal in threads of a pool -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "learner",
    [
        committee.RandomForestClassifier(1000, n_jobs=2),
        committee.SubaggingClassifier(committee.AdaBoostClassifier(10_000, max_depth=3), n_estimators=9, n_jobs=2),
        committee.SBPMTClassifier(900, 9, 1000, n_jobs=2),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_a_signal_ends_the_threads_of_a_pool(learner):
    X, y = noisy_scores(20_000)
    with interrupted_after(0.3):
        learner.fit(X, y > np.median(y))
    assert not hasattr(learner, "committee_")
    given_up = time.monotonic() + PATIENCE
    while any(in_package(frame) for frame in sys._current_frames().values()):
        assert time.monotonic() < given_up
        time.sleep(0.01)


def test_a_signal_ends_a_certificate():
    X, y = noisy_scores(20_000)
    y = y > np.median(y)
    forest = committee.RandomForestClassifier(500, max_depth=2, oob_score=True, random_state=0).fit(X, y)
    with interrupted_after(0.2):
        certify(forest, X, y, on="oob")


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_signal_ends_a_comparison(jobs):
    X, y = noisy_scores(20_000)
    models = {name: committee.AdaBoostClassifier(10_000, max_depth=3) for name in ("one", "other")}
    with interrupted_after(1.0):
        compare(X, y > np.median(y), models, folds=2, jobs=jobs)


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """The block is ended by Ctrl-C then, and within half a second of each of two processors."""
    rung: list[float] = []

    def ring(number: int, frame: FrameType | None) -> None:
        rung.append(time.process_time())  # not the clock's, which goes on while others have the processors
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ring)
    gc.disable()  # hypothesis has a callback of the collector's, in which an interrupt would be lost
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, seconds)
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)  # a block that is quicker must not leave it to ring in another test
        signal.signal(signal.SIGALRM, before)
        gc.enable()
    assert time.process_time() - rung[0] < 2 * 0.5


def in_package(frame: FrameType | None) -> bool:
    """True if a thread stands in a function of the package."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(PACKAGE):
            return True
        frame = frame.f_back
    return False
