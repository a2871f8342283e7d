"""The command that rebuilds the SBPMT paper."""

from typer.testing import CliRunner

from committee.cli.main import app
from committee.papers.shared.tables import check_known_at_openml


def run(*arguments):
    return CliRunner().invoke(app, ["papers", "sbpmt", *map(str, arguments)])


def test_the_command_prints_and_writes(quick, folder, tmp_path):
    out = tmp_path / "out"
    result = run("--data", folder, "--tables", "iris,glass", "--settings", "paper", "--out", out)
    assert result.exit_code == 0, result.output
    assert "settings paper" in result.output and "mean of 2" in result.output
    made = {"cells-paper.jsonl", "table2-paper.csv", "figure3-paper.png", "figure4-paper.png", "tables-paper.md"}
    assert {path.name for path in out.iterdir()} == made
    (out / "figure3-paper.png").unlink()
    (out / "figure4-paper.png").unlink()
    result = run("--data", folder, "--tables", "iris", "--settings", "paper", "--figure", 4, "--out", out)
    assert result.exit_code == 0 and not (out / "figure3-paper.png").exists()


def test_the_folder_may_come_from_the_environment(quick, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("COMMITTEE_DATA", str(folder))
    assert run("--tables", "iris", "--out", tmp_path / "out").exit_code == 0


def test_tables_that_openml_has_not_are_named_before_anything_is_run(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **options: asked.append(options))
    result = run("--out", tmp_path / "out")
    assert result.exit_code == 2 and not asked and not (tmp_path / "out").exists()
    for words in (
        "known of 'diabetes_early', 'raisin', 'bhp', 'messidor', 'obesity'",
        "leave them out with --tables iris,glass,",
        "with --data or COMMITTEE_DATA",
    ):
        assert words in result.output
    # what the message says to do passes the check
    asked_for = result.output.split("--tables ")[1].split(", or make")[0]
    check_known_at_openml(asked_for.split(","))
    result = run("--tables", "bhp", "--out", tmp_path / "out")
    assert result.exit_code == 2 and "of 'bhp'; name other tables with --tables" in result.output


def test_errors_of_the_command_are_one_line(folder, tmp_path):
    result = run("--data", tmp_path)
    assert result.exit_code == 2 and "holds no catalogue.json" in result.output
    result = run("--data", folder, "--figure", 5)
    assert result.exit_code == 2 and "figure=5 cannot be rebuilt; use 2, 3 or 4" in result.output
    result = run("--figure", 2, "--tables", "iris")
    assert result.exit_code == 2 and "is given with Figure 2, which simulates its rows" in result.output
