"""Commands of the papers on small tables, in a plain terminal, and tables that are changed under a run."""

import csv
import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import Result
from typer.testing import CliRunner

from committee.cli.main import app


def run(paper: str, *arguments: object) -> Result:
    return CliRunner().invoke(app, ["papers", paper, *map(str, arguments)])


def write_folder(place: Path, categorical: Collection[str] = (), **tables: pl.DataFrame) -> Path:
    """Write tables as CSV, and the catalogue, in which the columns of these names are categorical."""
    for name, table in tables.items():
        table.write_csv(place / f"{name}.csv")
    entries = [
        {"name": name, "file": f"{name}.csv", "categorical": [each for each in table.columns if each in categorical]}
        for name, table in tables.items()
    ]
    (place / "catalogue.json").write_text(json.dumps(entries), "utf-8")
    return place


def records(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text("utf-8").splitlines()))


def reverse_rows(folder: Path, table: str) -> None:
    path = folder / f"{table}.csv"
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n", "utf-8")


def assert_other_rows_are_refused(
    rebuild: Callable[..., Any], folder: Path, tmp_path: Path, table: str, **options: Any
) -> None:
    """Cells in ``tmp_path / "out"`` are not those of a copy of the folder in which the table's rows stand otherwise."""
    other = tmp_path / "other"
    other.mkdir()
    for path in folder.iterdir():
        (other / path.name).write_text(path.read_text("utf-8"), "utf-8")
    reverse_rows(other, table)
    with pytest.raises(ValueError, match=f"holds cells of another table '{table}' than the one read now"):
        rebuild(other, tmp_path / "out", tables=[table], repeats=1, **options)


@pytest.fixture(autouse=True)
def wide_plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder of tables from outside, and a terminal that breaks no line."""
    monkeypatch.delenv("COMMITTEE_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("TERM", "dumb")
