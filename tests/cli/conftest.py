import io

import pytest
from rich.console import Console

from committee.cli import terminal


@pytest.fixture(autouse=True)
def wide_screen(monkeypatch):
    """What is printed is the same wherever the tests run."""
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setenv("TERM", "dumb")


@pytest.fixture
def shown(monkeypatch):
    """What progress shows on a terminal."""
    monkeypatch.setenv("TERM", "xterm")
    ours, console = Console(file=io.StringIO(), force_terminal=True, width=100), terminal.console
    monkeypatch.setattr(terminal, "console", lambda *, stderr=False: ours if stderr else console())
    return ours.file
