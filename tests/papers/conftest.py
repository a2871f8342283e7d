import pytest


@pytest.fixture(autouse=True)
def wide_plain_terminal(monkeypatch):
    """No folder of tables from outside, and a terminal that breaks no line."""
    monkeypatch.delenv("COMMITTEE_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("TERM", "dumb")
