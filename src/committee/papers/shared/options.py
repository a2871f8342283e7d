"""Parameters that several rebuilt papers take, each with the words that `committee papers NAME --help` has for it.

A paper's `rebuild` names its parameters by these, or by an `Annotated` of its own; the command line asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

from committee.data.text import check_names

DATA_VARIABLE = "COMMITTEE_DATA"
"""Environment variable that names the folder of tables where ``--data`` does not."""

Data = Annotated[Path | None, "Folder of tables with a catalogue.json."]
DataOrOpenML = Annotated[Path | None, "Folder of tables with a catalogue.json; without, OpenML."]
Names: TypeAlias = Sequence[str] | None
Quick = Annotated[bool, "A little of each, in seconds; figures mean nothing."]
Small = Annotated[bool, "A little of each on tables that come along: no folder, no network."]
Jobs = Annotated[int, "Processes."]
Out = Annotated[Path, "Folder for CSV, PNG and finished cells."]
Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with cells done, cells in all and the name of what the last one belongs to."""


def check_at_least_one(**counts: int) -> None:
    """Refuse counts below one, naming all of them.

    Examples
    --------
    >>> from committee.papers.shared.options import check_at_least_one
    >>> check_at_least_one(repeats=1, jobs=0)
    Traceback (most recent call last):
    ValueError: repeats and jobs must be at least 1; got repeats=1, jobs=0
    """
    if min(counts.values()) < 1:
        *others, last = counts
        names = f"{', '.join(others)} and {last}" if others else last
        raise ValueError(f"{names} must be at least 1; got {', '.join(f'{k}={v}' for k, v in counts.items())}")


def in_order(wanted: Names, known: Sequence[str], where: str = "tables") -> list[str]:
    """Return the names that are wanted, all of them by default, in the order of those there are.

    Raises
    ------
    ValueError
        If a name is not known.
    """
    chosen = check_names(known if wanted is None else wanted, known, where)
    return [name for name in known if name in chosen]
