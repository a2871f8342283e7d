"""Fixtures of the tests of committees of ensembles."""

import pytest

from tests.small_portfolio import use_small_members


@pytest.fixture
def small_members(monkeypatch):
    use_small_members(monkeypatch)
