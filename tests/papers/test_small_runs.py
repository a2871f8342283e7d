"""Every paper runs small: without a folder of tables, without a network."""

import pytest
from typer.testing import CliRunner

from committee.cli.main import app
from committee.papers import PAPERS
from committee.papers.margins.rebuild import rebuild as margins
from committee.papers.shared.bundled_tables import Bundled
from committee.papers.shared.tables import SourceTable, load_source_table

RUNS = {
    "sbpmt": (["--tables", "iris"], ("Table 2: accuracy", "mean of 1"), "table2-default.csv"),
    "lectures": (["--parts", "margins,leaves"], ("Margins of AdaBoost on iris", "all classes"), "margins-trees.png"),
    "quadboost": (["--repeats", "1"], ("Table 1: test error", "wine"), "quadboost.png"),
    "matryoshka": (
        ["--repeats", "1"],
        ("M_2(T, rho)", "wdbc", "look ahead", "Growth of the boosting tree"),
        "cost.png",
    ),
    "margins": ([], ("Directions: in how many of 1 tables", "of 20 trees", "SM2, lts", "MD-Boost"), "depths.csv"),
}
"""By paper: options that make it smaller still, words of what is printed, a file."""


@pytest.mark.parametrize("paper", PAPERS)
def test_small(paper, monkeypatch, tmp_path):
    """The folder that the environment names is not looked at."""
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("the network"))
    monkeypatch.setenv("COMMITTEE_DATA", str(tmp_path / "none"))
    options, words, file = RUNS[paper]
    result = CliRunner().invoke(app, ["papers", paper, "--small", *options, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert all(word in " ".join(result.stdout.split()) for word in words), result.stdout
    found = {path.name for path in (tmp_path / "out").iterdir()}
    assert file in found and any(name.startswith("cells-small") for name in found)


def test_what_does_not_come_along_is_refused(tmp_path):
    with pytest.raises(ValueError, match="figure=4 is of table 'sonar', which does not come along; leave out --small"):
        margins(None, tmp_path, small=True, figure=4)
    with pytest.raises(ValueError, match="tables names 'sonar', which is not there; there are 'wdbc'"):
        margins(None, tmp_path, small=True, tables=["sonar"])
    with pytest.raises(ValueError, match="no table 'sonar' comes along; there are 'iris', 'wdbc', 'wine'"):
        load_source_table(SourceTable("sonar", 208), Bundled.TABLES)
    assert not list(tmp_path.iterdir())
