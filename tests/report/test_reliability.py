"""Reliability curves against a count by hand, and their picture."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer

from committee import AdaBoostClassifier, RandomForestClassifier, RandomForestRegressor
from committee.report import ReliabilityDisplay
from committee.report.crossvalidation import FoldResult
from committee.report.reliability import Reliability

rows = st.lists(st.tuples(st.floats(0.5, 1.0), st.booleans(), st.integers(1, 3)), min_size=1, max_size=30)


def of(some, *, repeated=False):
    sure, right, weight = (np.array(part) for part in zip(*some, strict=True))
    if repeated:
        return Reliability.of(np.repeat(np.c_[1 - sure, sure], weight, axis=0), np.repeat(right, weight))
    return Reliability.of(np.c_[1 - sure, sure], right, weight)


@given(rows)
def test_bins_are_counted_by_hand(some):
    found = of(some)
    error = 0.0
    for k in range(10):
        inside = [(p, right, w) for p, right, w in some if min(int(p * 10), 9) == k]
        assert found.weight[k] == sum(w for _, _, w in inside)
        assert found.right[k] == sum(w for _, right, w in inside if right)
        error += abs(sum(w * (right - p) for p, right, w in inside))
    assert_allclose(found.calibration_error, error / found.weight.sum(), atol=1e-12)
    assert 0.0 <= found.calibration_error <= 1.0


@given(rows, rows)
def test_weights_are_repeated_rows_and_folds_add_up(some, others):
    for ours, theirs in (
        (of(some), of(some, repeated=True)),
        (Reliability.sum([of(some), of(others)]), of(some + others)),
    ):
        for name in ("weight", "expected", "right"):
            assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-9)


@pytest.mark.parametrize(
    ("p", "right"), [(np.empty((0, 2)), []), ([0.5], [True]), ([[0.5, 0.5]], [True, False]), ([[0.5, 1.5]], [True])]
)
def test_what_are_no_probabilities_is_refused(p, right):
    with pytest.raises(ValueError, match="probability"):
        Reliability.of(p, right)


def test_the_picture_has_a_curve_for_each_model_and_no_empty_bins():
    X, y = load_breast_cancer(return_X_y=True)
    models = {"forest": RandomForestClassifier(30, random_state=0), "boosted": AdaBoostClassifier(50)}
    display = ReliabilityDisplay.from_estimators(
        {k: m.fit(X[::2], y[::2]) for k, m in models.items()}, X[1::2], y[1::2]
    )
    *curves, diagonal = display.ax_.get_lines()
    assert diagonal.get_xdata().tolist() == diagonal.get_ydata().tolist() and len(curves) == 2
    for line, curve in zip(curves, display.curves.values(), strict=True):
        assert len(line.get_xdata()) == (curve.weight >= 0.005 * curve.weight.sum()).sum()
        assert (line.get_ydata() <= 1.0).all()
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts[0] == f"forest ({display.curves['forest'].calibration_error:.3f})"
    with pytest.raises(ValueError, match="curves is empty"):
        ReliabilityDisplay({})


def test_what_has_no_probabilities_is_refused_by_its_kind():
    X, y = load_breast_cancer(return_X_y=True)
    model = RandomForestRegressor(2, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="estimator is a RandomForestRegressor, which has no predict_proba"):
        ReliabilityDisplay.from_estimators({"forest": model}, X, y)


def test_a_journal_without_reliability_is_read():
    result = FoldResult(reliability=of([(0.75, True, 1)]))
    again = FoldResult.from_json(result.to_json())
    assert again.reliability.weight.tolist() == result.reliability.weight.tolist()
    old = result.to_json()
    del old["reliability"]
    assert FoldResult.from_json(old).reliability is None
