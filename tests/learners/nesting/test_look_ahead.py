"""The stopwatch as the document writes it: the next voter is trained, one more answer drawn, the better one kept."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from committee import BoostingTreeClassifier, MatryoshkaClassifier, ProbabilisticAdaBoostClassifier
from committee.learners.nesting import look_ahead
from committee.learners.nesting.draws import Sampling
from committee.learners.nesting.weak_learners import SampledLearner
from tests.learners.nesting.nested_learners import table
from tests.probabilistic_voters import StumpOracle


def timed_by(monkeypatch: pytest.MonkeyPatch, training: float, draw: float) -> dict[str, int]:
    """Let a clock go on by what is done, and count that."""
    now, done = [0.0], {"trained": 0, "drawn": 0}
    once, again = SampledLearner.asked_once, Sampling.again

    def train(self: SampledLearner, weights: Any) -> Any:
        now[0] += training + draw
        done["trained"] += 1
        return once(self, weights)

    def one_more(self: Sampling) -> None:
        now[0] += draw
        done["drawn"] += 1
        again(self)

    monkeypatch.setattr(SampledLearner, "asked_once", train)
    monkeypatch.setattr(Sampling, "again", one_more)
    monkeypatch.setattr(look_ahead, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    return done


@pytest.mark.parametrize("voter", [None, StumpOracle(0.2)], ids=["known", "oracle"])
def test_dear_voters_are_asked_more_often(monkeypatch: pytest.MonkeyPatch, voter: Any) -> None:
    X, y = table()
    asked = {}
    for training in (0.0, 1e3):
        with monkeypatch.context() as patch:
            done = timed_by(patch, training, 1.0)
            model = ProbabilisticAdaBoostClassifier(6, n_draws="look_ahead", voter=voter, random_state=0).fit(X, y)
        asked[training] = model.n_draws_
        # every choice trained a voter and drew an answer; the one of a voter's end was forgotten
        assert done["drawn"] == model.n_draws_.sum()
        assert done["trained"] == 1 + done["drawn"]
    assert asked[1e3].mean() > 2 * asked[0.0].mean() and (asked[0.0] >= 1).all()


@pytest.mark.parametrize("training", [0.0, 0.3, 3.0, 30.0, 300.0])
def test_the_first_choice_is_the_documents_comparison(monkeypatch: pytest.MonkeyPatch, training: float) -> None:
    """ln(Z_2) / S_A against ln(Z_1' / Z_1) / S_B, by hand."""
    X, y = table()
    timed_by(monkeypatch, training, 1.0)
    values: list[float] = []
    real = look_ahead._ln_z

    def noted(found: Any) -> float:
        values.append(real(found))
        return values[-1]

    monkeypatch.setattr(look_ahead, "_ln_z", noted)
    model = ProbabilisticAdaBoostClassifier(1, n_draws="look_ahead", voter=StumpOracle(0.2), random_state=3).fit(X, y)
    # of each choice three: the next voter's, that of one more answer, that of the answers before
    rates = [(a / (training + 1.0), b - c) for a, b, c in zip(values[::3], values[1::3], values[2::3], strict=True)]
    ends = next(k for k, (by_voter, by_draw) in enumerate(rates, start=1) if by_voter <= by_draw)
    assert ends == model.n_draws_[0] == len(rates)
    assert model.normalisers_[0] == pytest.approx(np.exp(values[-1])), "the last answer is forgotten"


@pytest.mark.parametrize("model", [BoostingTreeClassifier(4), MatryoshkaClassifier(levels=2)], ids=["tree", "nest"])
def test_only_sums_have_a_next_voter(model: Any) -> None:
    with pytest.raises(ValueError, match=r"n_draws='look_ahead' is for sums.*use 'stopwatch', its forecast"):
        model.set_params(n_draws="look_ahead").fit(*table())


def test_rows_that_nothing_tells_apart_end_it() -> None:
    X, y = np.zeros((20, 1)), np.arange(20) % 2
    with pytest.warns(UserWarning, match="No voter beats chance"):
        model = ProbabilisticAdaBoostClassifier(4, n_draws="look_ahead").fit(X, y)
    assert len(model.bounds_) == 1 and np.isfinite(model.predict_proba(X)).all()
