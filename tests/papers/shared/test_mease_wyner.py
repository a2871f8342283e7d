"""Mease and Wyner's simulation."""

import numpy as np
import pytest

from committee.papers.shared.mease_wyner import mease_wyner


def test_mease_wyner_has_the_papers_probabilities():
    X, y = mease_wyner(40000, np.random.default_rng(0))
    above = X[:, :5].sum(axis=1) > 2.5
    assert X.shape == (40000, 10) and X.min() >= 0.0 and X.max() <= 1.0
    assert (y[above] == 1).mean() == pytest.approx(0.9, abs=0.01)
    assert (y[~above] == 1).mean() == pytest.approx(0.1, abs=0.01)
    assert (X[:, 5:].sum(axis=1) > 2.5).mean() == pytest.approx(0.5, abs=0.01)
