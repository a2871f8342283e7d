import io

import pytest
from rich.console import Console

from committee.cli import progress


@pytest.fixture(autouse=True)
def wide_screen(monkeypatch):
    """What is printed is the same wherever the tests run."""
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setenv("TERM", "dumb")


@pytest.fixture
def shown(monkeypatch):
    """What progress shows on a terminal."""
    monkeypatch.setenv("TERM", "xterm")
    terminal = Console(file=io.StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr(progress, "console", lambda *, stderr: terminal)
    return terminal.file
