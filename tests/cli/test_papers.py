"""``committee papers``: the parameters of a paper's `rebuild` become the options of its command."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated

import pytest
from typer.testing import CliRunner

from committee.cli.papers import app, papers_app
from committee.papers import PAPERS
from committee.papers.shared.options import DataOrOpenML, Jobs, Names, Out, Progress, Quick
from committee.report.page import Grid


@pytest.fixture
def toy(monkeypatch):
    """A paper from outside the package; what its `rebuild` was called with."""
    calls = []

    def rebuild(
        data: DataOrOpenML,
        out: Out,
        *,
        tables: Annotated[Names, "Tables of the toy."] = None,
        most_rounds: Annotated[int, "Rounds."] = 7,
        quick: Quick = False,
        jobs: Jobs = 1,
        progress: Progress | None = None,
        inside: int = 3,
    ) -> list[Grid]:
        """A toy (Nobody): nothing.

        Not for the help.
        """
        calls.append({"data": data, "out": out, "tables": tables, "rounds": most_rounds, "quick": quick, "jobs": jobs})
        if jobs < 1:
            raise ValueError("jobs must\nbe at least 1")
        return [Grid("Toys", ("name",), (("ball",),), "l")]

    module = ModuleType("toy_paper")
    module.rebuild = rebuild
    monkeypatch.setitem(sys.modules, "toy_paper", module)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("COMMITTEE_DATA", raising=False)
    return papers_app({**PAPERS, "toy": "toy_paper"}), calls


def test_a_paper_from_outside_has_its_command(toy, monkeypatch, tmp_path):
    with_toy, calls = toy
    result = CliRunner().invoke(with_toy, ["toy"])
    assert result.exit_code == 0 and "Toys" in result.stdout and "ball" in result.stdout
    assert "written to papers-toy" in result.stderr
    assert calls[0] == {"data": None, "out": Path("papers-toy"), "tables": None, "rounds": 7, "quick": False, "jobs": 1}
    monkeypatch.setenv("COMMITTEE_DATA", str(tmp_path))
    CliRunner().invoke(with_toy, ["toy", "--tables", "a,b", "--tables", "c", "--most-rounds", "9", "--quick"])
    assert calls[1]["data"] == tmp_path and calls[1]["tables"] == ["a", "b", "c"] and calls[1]["rounds"] == 9
    assert calls[1]["quick"] is True
    result = CliRunner().invoke(with_toy, ["toy", "--jobs", "0"])
    assert result.exit_code == 2 and result.stderr == "error: jobs must be at least 1\n"


def test_help_has_the_words_of_the_parameters(toy):
    help_ = " ".join(CliRunner().invoke(toy[0], ["toy", "--help"]).stdout.split())
    for words in ("A toy (Nobody): nothing.", "resumes where it stopped", "Tables of the toy.", "COMMITTEE_DATA"):
        assert words in help_
    assert "--no-quick" not in help_ and "inside" not in help_ and "Not for the help" not in help_


def test_every_paper_has_its_command():
    shown = CliRunner().invoke(app, ["--help"]).stdout
    assert [name for name in PAPERS if name not in shown] == [] and "completion" not in shown
    for name in PAPERS:
        result = CliRunner().invoke(app, [name, "--help"])
        assert result.exit_code == 0 and all(f"--{option}" in result.stdout for option in ("data", "jobs", "out"))
