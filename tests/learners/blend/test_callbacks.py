"""Callbacks of a fit: time left, candidates and their folds as tasks, and Ctrl-C at the beginning of a task."""

import signal
import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import committee
from committee import CommitteeClassifier, CommitteeRegressor, MemberLines, load
from committee.learners.blend import training
from committee.learners.blend.portfolio import candidates
from committee.learners.blend.second_layer import SecondLayer
from committee.learners.blend.training import TimeLeft, time_left_text
from tests.small_portfolio import BOTH, FAST, products, rows_for
from tests.subjects import Callback, assert_same_bits, numbers

pytestmark = pytest.mark.usefixtures("small_members")

# --- time ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    """The time, a list of one number."""
    now = [100.0]
    monkeypatch.setattr(training.time, "perf_counter", lambda: now[0])
    return now


def test_candidates_last_as_long_as_those_before(clock):
    left = TimeLeft(4, None)
    assert left.seconds() is None and left.share == 0.0
    for seconds, guess in ((2.0, 6.0), (4.0, 6.0)):
        left.begin(1)
        clock[0] += seconds
        left.end()
        assert left.seconds() == pytest.approx(guess)
    assert (left.n_ended, left.share, left.passed) == (2, 0.5, 6.0)
    left.begin(1)
    clock[0] += 1.0
    assert left.seconds() == pytest.approx(2.0 + 3.0)  # of 3 each
    clock[0] += 9.0
    assert left.seconds() == pytest.approx(3.0)


def test_the_one_under_way_by_its_own_fits(clock):
    left = TimeLeft(3, None)
    left.begin(4)
    assert left.seconds() is None
    clock[0] += 2.0
    left.fit_ended()
    assert left.seconds() == pytest.approx(6.0 + 2 * 8.0) and left.share == pytest.approx(1 / 12)
    clock[0] += 6.0
    for _ in range(3):
        left.fit_ended()
    left.end()
    assert left.seconds() == pytest.approx(16.0)
    left.begin(4)
    clock[0] += 1.0
    left.fit_ended()
    assert left.seconds() == pytest.approx(3.0 + (8.0 + 4.0) / 2)


def test_no_more_than_the_limit_leaves(clock):
    left = TimeLeft(2, 10.0)
    assert time_left_text(left) == "at most 10 s"
    left.begin(1)
    clock[0] += 4.0
    left.end()
    assert time_left_text(left) == "about 4 s"
    clock[0] += 3.0
    assert time_left_text(left) == "at most 3 s"
    clock[0] += 30.0
    assert left.by_limit == 0.0 and time_left_text(left) == "under 1 s"


# --- callbacks -------------------------------------------------------------------------------------------------------


@dataclass
class Diary(Callback):
    """Records the tasks that ended, and what the model predicted then; ends the fit after so many."""

    stop_after: int = 99
    told: list[Any] = field(default_factory=list)

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        told = None if fitted_estimator is None else fitted_estimator.predict(X)
        self.told.append((context.task_name, context.task_id, told))
        return len(self.told) == self.stop_after


@BOTH
def test_members_and_their_folds_are_tasks_for_callbacks(kind):
    X, y = rows_for(kind)
    diary = Diary()
    model = kind(**FAST).set_callbacks(diary).fit(X, y)
    wanted = candidates(kind is CommitteeRegressor, "fast")
    expected = []
    for k, one in enumerate(wanted):
        expected += [] if one.out_of_bag else [("fold", number) for number in range(model.n_folds_)]
        expected.append((one.name, k))
    assert [each[:2] for each in diary.told] == [*expected, ("fit", 0)]
    assert_array_equal(diary.told[-1][2], model.predict(X))
    assert_same_bits(model, kind(**FAST).fit(X, y), X)
    for stop_after in (1, 3, len(expected)):
        stopped = kind(**FAST).set_callbacks(Diary(stop_after)).fit(X, y)
        ended = {name for name, _ in expected[:stop_after]}
        assert set(stopped.member_names_) <= ended
        assert {name for name, why in stopped.left_out_.items() if why == "stopped"} == {
            one.name for one in wanted if one.name not in ended
        }


def test_without_a_member_callbacks_see_no_model_and_do_not_stop(monkeypatch):
    folds = [one for one in candidates(False, "best") if one.name in ("lines", "boosting")]
    monkeypatch.setattr("committee.learners.blend.portfolio.candidates", lambda *_: folds)
    X, y = numbers(2)
    diary = Diary(stop_after=1)
    model = CommitteeClassifier(**FAST).set_callbacks(diary).fit(X, y)
    assert [told is None for _, _, told in diary.told[: model.n_folds_ + 1]] == [True] * model.n_folds_ + [False]
    assert len(diary.told) == 2 * (model.n_folds_ + 1) + 1 and "stopped" not in model.left_out_.values()


@BOTH
def test_a_callback_that_fails_fails_the_fit(kind):
    class Failing(Diary):
        def on_fit_task_end(self, estimator, context):
            if context.task_name == "fold":
                raise ValueError("of the callback")

    X, y = rows_for(kind)
    with pytest.raises(ValueError, match="of the callback"):
        kind(**FAST).set_callbacks(Failing()).fit(X, y)


@BOTH
def test_a_progress_bar_and_a_monitor_of_scores(kind, capsys):
    X, y = rows_for(kind)
    monitor = ScoringMonitor(scoring="neg_log_loss" if kind is CommitteeClassifier else "r2")
    model = kind(**FAST).set_callbacks(ProgressBar(), monitor).fit(X, y)
    shown = capsys.readouterr().out
    fold_wise = [one.name for one in candidates(kind is CommitteeRegressor, "fast") if not one.out_of_bag]
    assert all(name in shown for name in fold_wise) and "100%" in shown
    n_scores = 2 + model.n_folds_ * len(fold_wise) + len(fold_wise) + (kind is CommitteeClassifier)
    assert len(monitor.get_logs().data) == n_scores
    kind(**FAST).fit(X, y)
    assert capsys.readouterr().out == ""


@BOTH
def test_a_line_for_every_candidate(kind, capsys):
    X, y = rows_for(kind)
    lines = []
    model = kind(**FAST | {"min_gain": 0.0}).set_callbacks(MemberLines(lines.append)).fit(X, y)
    wanted = [one.name for one in candidates(kind is CommitteeRegressor, "fast")]
    assert [line.split(":")[0] for line in lines] == wanted
    losses = dict(model.members_.select("member", "loss").iter_rows())
    root = 1.0 if kind is CommitteeClassifier else 0.5
    for name, line in zip(wanted, lines, strict=True):
        assert f" {losses[name] ** root:#.4g} alone" in line
    assert f" {model.oof_loss_**root:#.4g} by the vote of {len(model.member_names_)}; " in lines[-1]
    assert "left" in lines[0] and "left" not in lines[-1]
    assert capsys.readouterr() == ("", "")
    make_pipeline(StandardScaler(), kind(**FAST).set_callbacks(MemberLines())).fit(X, y)
    assert len(capsys.readouterr().err.splitlines()) == len(wanted)


def test_a_line_for_a_candidate_that_fails(monkeypatch):
    sbpmt, *others = candidates(False, "fast")
    failing = replace(sbpmt, parameters={"n_estimators": 0})
    monkeypatch.setattr("committee.learners.blend.portfolio.candidates", lambda *_: [failing, *others, failing])
    lines = []
    CommitteeClassifier(**FAST).set_callbacks(MemberLines(lines.append)).fit(*numbers(2))
    assert lines[0].startswith("sbpmt: left out; 1 of 5 candidates")
    assert lines[-1].startswith("sbpmt: left out (The 'n_estimators' parameter")
    with pytest.raises(ValueError, match="there is no learner 'MemberLines'"):
        committee.learner("MemberLines")


# --- Ctrl-C -----------------------------------------------------------------------------------------------------------


@dataclass
class CtrlC(Callback):
    """Raises SIGINT, as Ctrl-C does, when a task of that name begins."""

    at: str
    times: int = 1

    def on_fit_task_begin(self, estimator, context):
        if self.times and context.task_name == self.at:
            self.times -= 1
            signal.raise_signal(signal.SIGINT)


@BOTH
@pytest.mark.parametrize("at", ["large_trees", "fold"])
def test_what_is_ready_is_kept(kind, at, tmp_path):
    X, y = rows_for(kind)
    names = [one.name for one in candidates(kind is CommitteeRegressor, "default")]
    model = kind(cv=3, on_interrupt="keep", random_state=0).set_callbacks(CtrlC(at))
    ready = (
        names[: names.index("large_trees")] if at == "large_trees" else [n for n in names if n in ("sbpmt", "forest")]
    )
    with pytest.warns(UserWarning, match=f"interrupted: the members were chosen from {len(ready)} finished") as w:
        model.fit(X, y)
    assert [each.filename for each in w] == [__file__]
    assert set(model.member_names_) <= set(ready)
    rest = names[len(ready) :]
    assert [name for name, why in model.left_out_.items() if why == "interrupted"] == rest
    assert model.members_.filter(left_out="interrupted")["loss"].null_count() == len(rest)
    model.set_callbacks().save(tmp_path / "model")
    assert_same_bits(load(tmp_path / "model"), model, X)


@BOTH
def test_with_the_same_members_it_is_the_same_committee(kind, monkeypatch):
    X, y = rows_for(kind)
    with pytest.warns(UserWarning, match="interrupted"):
        kept = kind(cv=3, on_interrupt="keep", random_state=0).set_callbacks(CtrlC("large_trees")).fit(X, y)
    few = candidates(kind is CommitteeRegressor, "default")
    few = few[: [one.name for one in few].index("large_trees")]
    monkeypatch.setattr("committee.learners.blend.portfolio.candidates", lambda *_: few)
    assert_same_bits(kept, kind(cv=3, random_state=0).fit(X, y), X)


@BOTH
@pytest.mark.parametrize(("on_interrupt", "at"), [("raise", "fold"), ("keep", "fit"), ("keep", "first")])
def test_without_leave_or_without_a_member_it_is_raised(kind, on_interrupt, at):
    X, y = rows_for(kind)
    at = candidates(kind is CommitteeRegressor, "fast")[0].name if at == "first" else at
    model = kind("fast", cv=3, on_interrupt=on_interrupt, random_state=0).set_callbacks(CtrlC(at))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "committee_") and not hasattr(model, "left_out_")


def test_a_second_layer_and_a_candidate_in_haste_have_a_line():
    lines: list[str] = []
    model = CommitteeClassifier(candidates=["lines"], second_layer=True, random_state=0)
    model.set_callbacks(MemberLines(lines.append)).fit(*products())
    losses = f"log loss {model.member_losses_[1]:#.4g} alone, {model.oof_loss_:#.4g} by the vote of 2"
    assert len(lines) == 2 and lines[1].startswith(f"second_layer: {losses}; ")
    lines.clear()
    with pytest.warns(UserWarning, match="leaves no candidate its time"):
        model.set_params(time_limit=1e-6).fit(*products())
    assert [line.split(": ")[0] for line in lines] == ["lines", "lines", "second_layer"]
    assert "1 of 1 candidates" in lines[1] and lines[2].startswith("second_layer: left out (no time); ")


@pytest.mark.parametrize(
    ("part", "name"), [(SecondLayer, "_trained"), (CommitteeClassifier, "_extended"), (CommitteeClassifier, "_weighed")]
)
def test_an_interrupted_second_layer_is_left_out(part, name, monkeypatch):
    whole, calls = getattr(part, name), []

    def interrupted_once(*given):
        calls.append(given)
        if len(calls) == 1:
            signal.raise_signal(signal.SIGINT)
        return whole(*given)

    monkeypatch.setattr(part, name, interrupted_once)
    model = CommitteeClassifier(candidates=["lines"], second_layer=True, on_interrupt="keep", random_state=0)
    with pytest.warns(UserWarning, match="interrupted: the second layer is left out"):
        model.fit(*products())
    assert model.member_names_ == ["lines"] and model.left_out_ == {"second_layer": "interrupted"}


@BOTH
def test_a_second_interrupt_is_raised(kind, monkeypatch):
    X, y = rows_for(kind)
    model = kind("fast", cv=3, on_interrupt="keep", random_state=0).set_callbacks(CtrlC("fold"))
    monkeypatch.setattr(kind, "_weights", lambda *_: signal.raise_signal(signal.SIGINT))
    monkeypatch.setattr(kind, "_losses", lambda *_: signal.raise_signal(signal.SIGINT))
    with pytest.warns(UserWarning, match="interrupted"), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "committee_")


@BOTH
def test_an_interrupt_while_members_are_weighed_costs_none(kind, monkeypatch):
    X, y = rows_for(kind)
    model, weigh = kind("fast", cv=3, on_interrupt="keep", random_state=0), kind._weighed
    whole, calls = kind("fast", cv=3, random_state=0).fit(X, y), []

    def interrupted_once(self, *given):
        calls.append(given)
        if len(calls) == 1:
            signal.raise_signal(signal.SIGINT)
        return weigh(self, *given)

    monkeypatch.setattr(kind, "_weighed", interrupted_once)
    with pytest.warns(UserWarning, match="interrupted"):
        model.fit(X, y)
    assert_same_bits(model, whole, X)
    assert "interrupted" not in model.left_out_.values()


@BOTH
def test_from_its_checkpoint_an_interrupted_fit_goes_on_to_the_same_bits(kind, tmp_path):
    X, y = rows_for(kind)
    whole = kind("fast", cv=3, random_state=0).fit(X, y)
    watched = CtrlC("boosting" if kind is CommitteeClassifier else "small_trees")
    part = kind("fast", cv=3, on_interrupt="keep", random_state=0).set_callbacks(watched)
    with pytest.warns(UserWarning, match="interrupted"):
        part.fit(X, y, checkpoint=tmp_path / "c")
    assert watched.at in part.left_out_
    for on_interrupt in ("keep", "raise"):
        again = kind("fast", cv=3, on_interrupt=on_interrupt, random_state=0).fit(X, y, checkpoint=tmp_path / "c")
        assert_same_bits(again, whole, X)
        assert again.left_out_ == whole.left_out_


def test_a_signal_ends_a_member_and_the_fit_soon_after(monkeypatch):
    """In the middle of a kernel; by processor time, as others may have the processors."""
    _, forest, slow, _ = candidates(False, "fast")
    slow = replace(slow, parameters={"n_estimators": 10**6, "learner": "stump"})
    monkeypatch.setattr("committee.learners.blend.portfolio.candidates", lambda *_: [forest, slow])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 20))
    y = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)
    rung = []

    def ring(number, frame):
        rung.append(time.process_time())
        raise KeyboardInterrupt

    class Alarm(CtrlC):
        def on_fit_task_begin(self, estimator, context):
            if context.task_name == self.at:
                signal.setitimer(signal.ITIMER_REAL, 0.3)

    before = signal.signal(signal.SIGALRM, ring)
    try:
        with pytest.warns(UserWarning, match="from 1 finished candidates"):
            model = CommitteeClassifier("fast", on_interrupt="keep", random_state=0).set_callbacks(Alarm("lines"))
            model.fit(X, y)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert time.process_time() - rung[0] < 2 * 0.5
    assert model.member_names_ == ["forest"] and model.left_out_ == {"lines": "interrupted"}
    assert_array_equal(np.sort(np.unique(model.predict(X))), [0, 1])
