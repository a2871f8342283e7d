"""Types of the parameters that several papers take, with their help texts on the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

from committee.data.text import check_names

DATA_VARIABLE = "COMMITTEE_DATA"  # environment variable of the folder of tables, used without ``--data``

Data = Annotated[Path | None, "Folder of tables with a catalogue.json."]
DataOrOpenML = Annotated[Path | None, "Folder of tables with a catalogue.json. Default: OpenML."]
Names: TypeAlias = Sequence[str] | None
Quick = Annotated[bool, "A small run of each part, in seconds; its results are meaningless."]
Small = Annotated[bool, "A small run of each part on bundled tables: no folder, no network."]
Jobs = Annotated[int, "Number of processes."]
Out = Annotated[Path, "Folder for CSV, PNG and finished cells."]
Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with the number of finished cells, of all cells, and the label of the last one."""


def check_at_least_one(**counts: int) -> None:
    if min(counts.values()) < 1:
        *others, last = counts
        names = f"{', '.join(others)} and {last}" if others else last
        raise ValueError(f"{names} must be at least 1; got {', '.join(f'{k}={v}' for k, v in counts.items())}")


def in_order(wanted: Names, known: Sequence[str], where: str = "tables") -> list[str]:
    chosen = check_names(known if wanted is None else wanted, known, where)
    return [name for name in known if name in chosen]
