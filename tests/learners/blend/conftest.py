"""Fixtures of the tests of committees of ensembles."""

import pytest

from committee.learners.blend.out_of_fold import FoldTrainer
from tests.small_portfolio import use_small_members


@pytest.fixture
def small_members(monkeypatch):
    use_small_members(monkeypatch)


@pytest.fixture
def fits(monkeypatch):
    """Name of the candidate and rows of every fit."""
    done, fit = [], FoldTrainer.model

    def noted(self, candidate, settings, index, *given):
        done.append((candidate.name, index))
        return fit(self, candidate, settings, index, *given)

    monkeypatch.setattr(FoldTrainer, "model", noted)
    return done
