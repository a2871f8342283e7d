"""Ways to disturb a paper's rebuild: tables that have changed, runs that break off, options that are wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def reverse_rows(folder: Path, table: str) -> None:
    """Write a table's rows in the other order."""
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


def assert_refused_before_the_run(
    rebuild: Callable[..., Any], folder: Path, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        rebuild(folder, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def broken_off_and_resumed(
    rebuild: Callable[..., Any], after: int, folder: Path, out: Path, **options: Any
) -> tuple[Any, list[Any]]:
    """The results of a run that was interrupted after some cells and started again, and the steps of the second run."""

    def interrupt(done: int, *_: Any) -> None:
        if done == after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rebuild(folder, out, **options, progress=interrupt)
    steps: list[Any] = []
    return rebuild(folder, out, **options, progress=lambda *step: steps.append(step)), steps
