"""Ctrl-C during the fit of a committee of ensembles."""

import signal
import time
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from committee import CommitteeClassifier, CommitteeRegressor, load
from committee.learners.blend.portfolio import candidates
from tests.callbacks import Callback
from tests.small_portfolio import BOTH, rows_for
from tests.subjects import assert_same_bits

pytestmark = pytest.mark.usefixtures("small_members")


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
