"""Every paper runs small, without a folder of tables or a network, and prints the kinds of tables that its page has."""

import pytest
from typer.testing import CliRunner

from committee.cli.main import app
from committee.papers import PAPERS
from committee.papers.margins.rebuild import rebuild as margins
from committee.papers.shared.tables import Bundled, SourceTable, load_source_table
from tests.papers.paper_pages import published_tables, tables_of

RUNS = {
    "sbpmt": (["--tables", "iris"], ("Table 2: accuracy", "mean of 1"), "table2-default.csv"),
    "lectures": ([], ("Margins of AdaBoost on iris", "all classes"), "margins-trees.png"),
    "quadboost": (["--repeats", "1", "--anew"], ("Table 1: test error", "wine"), "quadboost.png"),
    "matryoshka": (
        ["--repeats", "1"],
        ("M_2(T, rho)", "wdbc", "look ahead", "Growth of the boosting tree"),
        "cost.png",
    ),
    "margins": (
        [],
        ("Directions: in how many of 1 tables", "where SM1", "SM2, lts", "MD-Boost"),
        "depths.csv",
    ),
}
"""By paper: options that make it smaller still, words of what is printed, a file."""

OTHER_TABLES = {
    "sbpmt": {
        "table | paper | paper's settings | in sds | defaults | in sds | forest | XGBoost": "two runs",
        "at | subagging times | AdaBoost iterations | ProbitBoost iterations | at | subagging ratio": "--figure 2",
        "table | SBPMT | forest | gbm | AdaBoost | XGB 10 | XGB 100 | LightGBM | CatBoost": "--rivals",
        "SBPMT against | difference | won-lost-tied, p | Poisson-binomial | better / worse, paired t": "--rivals",
        "columns | SBPMT | random forest | XGBoost (100) | minus random forest | minus XGBoost (100)": (
            "--study numeric"
        ),
        "rows | T = 1 | T = n^0.25 | T = n^0.5 | T = n^0.75": "--study consistency",
    },
    "quadboost": {
        "method | grid": "what was set",
        "voters, penalty | chosen | error, % | log loss | seconds a fit": "bench_voter_sets",
    },
    "margins": {
        **{
            f"table | forest | {weights} | deep forest | {weights} | AdaBoost | {weights}": "the document's own tables"
            for weights in (
                "UWS | mean gain | least gain",
                "EWS | mean gain | least gain",
                "PWS.05 | PWS.20 | PWS.50",
                "SM1 | variance decrease | range decrease",
                "SM2 | variance decrease | range decrease",
            )
        },
        "table | doc. forest | rescaled | forest | deep | doc. AdaBoost | rescaled | AdaBoost"
        " | doc. gain | forest | deep": "the document's own tables",
        "figure | error | error after | mean gain | least gain | least after | variance decrease | range decrease": (
            "the document's own tables"
        ),
        "depth | method | trees | leaves | min | median | mean | equ. | test error": "--depth-splits",
    },
}
"""What prints the pages' tables that this run does not print, by their headings."""


@pytest.mark.one_in(4)
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
    made = {table.kind for page in (tmp_path / "out").glob("tables*.md") for table in tables_of(page)}
    other = {" | ".join(t.heading) for t in published_tables(paper) if t.kind not in made}
    assert other == OTHER_TABLES.get(paper, {}).keys()


def test_tables_that_are_not_bundled_are_refused(tmp_path):
    with pytest.raises(ValueError, match="figure=4 needs table 'sonar', which is not bundled; leave out --small"):
        margins(None, tmp_path, small=True, figure=4)
    with pytest.raises(ValueError, match="tables names 'sonar', which is not there; there are 'wdbc'"):
        margins(None, tmp_path, small=True, tables=["sonar"])
    with pytest.raises(ValueError, match="no table 'sonar' is bundled; there are 'iris', 'wdbc', 'wine'"):
        load_source_table(SourceTable("sonar", 208), Bundled.TABLES)
    assert not list(tmp_path.iterdir())
