"""Worked examples, agreement with scipy, and the level of the tests by simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from committee.report.statistics import average_ranks, corrected_paired_t_test, holm


def test_worked_example():
    d = np.array([0.02, 0.01, 0.03, 0.02, 0.02])
    test = corrected_paired_t_test(d, test_train_ratio=1 / 4)
    # mean 0.02, s^2 = 2e-4 / 4 = 5e-5, (1/5 + 1/4) s^2 = 2.25e-5
    assert test.difference == pytest.approx(0.02)
    assert test.standard_error == pytest.approx(np.sqrt(2.25e-5))
    assert test.statistic == pytest.approx(0.02 / np.sqrt(2.25e-5))
    assert test.degrees_of_freedom == 4
    assert test.pvalue == pytest.approx(2 * stats.t(4).sf(0.02 / np.sqrt(2.25e-5)))


@given(hnp.arrays(np.float64, st.integers(2, 30), elements=st.floats(-1, 1, width=32)))
def test_uncorrected_is_scipys_paired_test(d):
    test = corrected_paired_t_test(d, test_train_ratio=0.0)
    if np.ptp(d) < 1e-9:
        return
    reference = stats.ttest_rel(d, np.zeros_like(d))
    assert test.statistic == pytest.approx(reference.statistic, abs=1e-12)
    assert test.pvalue == pytest.approx(reference.pvalue, abs=1e-12)


def test_constant_differences():
    assert corrected_paired_t_test([0.0] * 5, 0.25).pvalue == 1.0
    test = corrected_paired_t_test([-0.1] * 5, 0.25)
    assert test.pvalue == 0.0
    assert test.statistic == -np.inf
    assert test.standard_error == 0.0


@pytest.mark.parametrize(
    ("differences", "ratio", "match"),
    [
        ([0.1], 0.1, "at least 2"),
        ([[0.1, 0.2]], 0.1, "one-dimensional"),
        ([0.1, np.nan], 0.1, "finite"),
        ([0.1, 0.2], -0.1, "test_train_ratio"),
        ([0.1, 0.2], np.nan, "test_train_ratio"),
    ],
)
def test_refused_input(differences, ratio, match):
    with pytest.raises(ValueError, match=match):
        corrected_paired_t_test(differences, ratio)


def test_level_when_folds_share_training_rows():
    """Differences with correlation n_test/n: the corrected test keeps 5 %, the plain one does not."""
    rng = np.random.default_rng(0)
    folds, repeats, runs = 10, 3, 3000
    J, rho = folds * repeats, 1 / folds
    common = rng.standard_normal((runs, 1)) * np.sqrt(rho)
    d = common + rng.standard_normal((runs, J)) * np.sqrt(1 - rho)
    corrected = np.mean([corrected_paired_t_test(row, 1 / (folds - 1)).pvalue <= 0.05 for row in d])
    plain = np.mean([corrected_paired_t_test(row, 0.0).pvalue <= 0.05 for row in d])
    assert corrected == pytest.approx(0.05, abs=3 * np.sqrt(0.05 * 0.95 / runs))
    assert plain > 0.2


def test_holm_worked_example():
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.5, 0.6]), [1.0, 1.0])
    assert holm([]).shape == (0,)


@given(hnp.arrays(np.float64, st.integers(1, 12), elements=st.floats(0, 1)))
def test_holm_against_the_sequential_definition(p):
    """Rejecting adjusted p <= a must be Holm's own step-down procedure at level a."""
    adjusted = holm(p)
    for level in (0.01, 0.05, 0.2):
        rejected = np.zeros(p.size, dtype=bool)
        for step, j in enumerate(np.argsort(p, kind="stable")):
            if p[j] * (p.size - step) > level:
                break
            rejected[j] = True
        np.testing.assert_array_equal(adjusted <= level, rejected)
    assert (adjusted >= p).all()


def test_holm_keeps_the_familywise_level():
    rng = np.random.default_rng(1)
    p = rng.uniform(size=(4000, 5))
    alarms = np.mean([(holm(row) <= 0.05).any() for row in p])
    assert alarms == pytest.approx(0.05, abs=0.012)


@pytest.mark.parametrize("p", [[1.2], [-0.1], [np.nan], [[0.1]]])
def test_holm_refuses(p):
    with pytest.raises(ValueError, match="pvalues"):
        holm(p)


def test_average_ranks():
    np.testing.assert_allclose(average_ranks([[0.9, 0.8, 0.8], [0.7, 0.9, 0.8]]), [2.0, 1.75, 2.25])
    np.testing.assert_allclose(average_ranks([[0.1, 0.2], [0.3, 0.4]], higher_is_better=False), [1.0, 2.0])


@given(hnp.arrays(np.int64, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.integers(0, 3)))
def test_average_ranks_sum(scores):
    k = scores.shape[1]
    assert average_ranks(scores).sum() == pytest.approx(k * (k + 1) / 2)


def test_average_ranks_refuses():
    with pytest.raises(ValueError, match="shape"):
        average_ranks([0.1, 0.2])
    with pytest.raises(ValueError, match="finite"):
        average_ranks([[0.1, np.nan]])
