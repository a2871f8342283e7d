import pytest


@pytest.fixture(autouse=True)
def wide_screen(monkeypatch):
    """What is printed is the same wherever the tests run."""
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setenv("TERM", "dumb")
