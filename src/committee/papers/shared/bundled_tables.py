"""Tables for small runs: those of scikit-learn, which need no folder and no network."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from committee.data.text import suggest_names

if TYPE_CHECKING:
    import polars as pl


class Bundled(Enum):
    """In place of a folder."""

    TABLES = "tables that come with scikit-learn"


Folder: TypeAlias = Path | Bundled | None
"""Where tables come from: a folder, the bundled tables, or with None whatever there is without one."""

BUNDLED_TABLES: dict[str, tuple[str, dict[str, str]]] = {
    "iris": ("iris", {}),
    "wdbc": ("breast_cancer", {"benign": "B", "malignant": "M"}),
    "wine": ("wine", {"class_0": "1", "class_1": "2", "class_2": "3"}),
}
"""By the name of the public table: that of the example, and the labels that the public table has instead of its own."""


def bundled_table(name: str) -> pl.DataFrame:
    """Return a table that comes with scikit-learn; the label is the column ``target``.

    Raises
    ------
    ValueError
        If it does not come with it.

    Examples
    --------
    >>> from committee.papers.shared.bundled_tables import bundled_table
    >>> bundled_table("wine")["target"].unique().sort().to_list()
    ['1', '2', '3']
    """
    import polars as pl

    from committee.data.examples import load_example

    if name not in BUNDLED_TABLES:
        raise ValueError(f"no table {name!r} comes along; {suggest_names(name, list(BUNDLED_TABLES))}")
    example, labels = BUNDLED_TABLES[name]
    return load_example(example).with_columns(pl.col("target").replace(labels))
