"""Fits that are interrupted, refused or ended by a signal leave the learner as it was."""

import gc
import inspect
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone, is_regressor
from sklearn.tree import DecisionTreeClassifier

import committee
from committee.learners.trained_ensembles import certify
from committee.objectives.losses import Logistic
from committee.report.comparison import compare
from tests.learners.base.test_capabilities import FIRST
from tests.limits import PATIENCE
from tests.subjects import Callback, assert_same_bits, noisy_scores, numbers

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


GRADIENT: dict[str, Any] = {"n_estimators": 4, "min_samples_leaf": 1, "random_state": 0}
OF_ITS_OWN: list[Any] = [
    *(model for kind, model in FIRST.items() if not kind.__name__.startswith("Conformal")),
    committee.AdaBoostClassifier(4, vote="confidence", early_stopping=True, random_state=0),
    committee.SubaggingClassifier(committee.AdaBoostClassifier(2), 3, n_jobs=2, random_state=0),
    committee.GradientBoostingClassifier(**GRADIENT, learning_rate=0.1, warm_start=True),
]
STUMP = VoterOfUser(max_depth=1)
OF_USERS: list[Any] = [
    committee.GradientBoostingClassifier(loss=LogisticOfUser(), **GRADIENT),
    committee.AdaBoostClassifier(3, voter=STUMP),
    committee.SubaggingClassifier(STUMP, 3, random_state=0),
    committee.LPBoostClassifier(0.8, dictionary=STUMP),
    committee.ArcGVClassifier(3, voter=STUMP),
    committee.MDBoostClassifier(voter=STUMP),
    committee.DOOMBoostClassifier(n_estimators=3, n_start=2, voter=STUMP),
    committee.QuadBoostClassifier(None, n_estimators=3, dictionary=STUMP),
    committee.ProbabilisticAdaBoostClassifier(3, voter=STUMP),
    committee.BoostingTreeClassifier(3, voter=STUMP),
]
OF_TRAINED = [committee.MarginReweighter, committee.LeafReweighter, committee.LeafReweighterRegressor]
WITHOUT_CALLBACKS = [FIRST[committee.ConformalClassifier], FIRST[committee.ConformalRegressor]]


def unfitted(kind: Any) -> Any:
    if kind not in OF_TRAINED:
        return clone(kind)
    of = committee.RandomForestRegressor if is_regressor(kind(None)) else committee.RandomForestClassifier
    forest = of(5, max_leaf_nodes=6, random_state=0)
    return kind(forest.fit(*first_rows(forest)), on="train")


ALL = pytest.mark.parametrize("kind", [*OF_ITS_OWN, *OF_TRAINED, *WITHOUT_CALLBACKS], ids=str)


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
    """File of a model, which has no room for a loss or a voter of the user's."""
    if any(type(value) in (VoterOfUser, LogisticOfUser) for value in model.get_params(deep=False).values()):
        return b""
    with TemporaryDirectory() as folder:
        path = Path(folder, "model")
        model.save(path)
        X, _ = first_rows(model)
        assert_array_equal(committee.load(path).predict(X), model.predict(X))
        return path.read_bytes()


# --- at every callback --------------------------------------------------------------------------------------


class Interrupting(Callback):
    """A callback that raises at one of its calls."""

    def __init__(self, at: int, error: BaseException | None = None) -> None:
        self.at, self.error, self.calls = at, error, 0

    def setup(self, estimator: Any, context: Any) -> None:
        self.call()

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


@cache
def fitted_and_calls(kind: Any) -> tuple[Any, Any, int]:
    """A fitted learner, the rows of its next fit, and the functions that this enters."""
    model = unfitted(kind)
    model.fit(*first_rows(model))
    rows = first_rows(model) if getattr(kind, "warm_start", False) else other_rows(model)
    fresh = clone(model)
    with Interrupt() as counting:
        fresh.fit(*rows)
    return model, rows, counting.calls


@pytest.mark.one_in(5)
@ALL
@settings(max_examples=5)
@given(share=st.floats(0.0, 1.0))
def test_interrupted_anywhere_the_learner_is_as_before(kind, share):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, rows, calls = fitted_and_calls(kind)
        with unchanged(model), pytest.raises(KeyboardInterrupt), Interrupt(1 + int(share * (calls - 1))):
            model.fit(*rows)


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
    with unchanged(model):
        n_jobs = model.n_jobs
        with pytest.raises(ValueError, match="'n_jobs' parameter"):
            model.set_params(n_jobs=0).fit(X, y)
        model.set_params(n_jobs=n_jobs)


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
