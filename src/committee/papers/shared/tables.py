"""The tables that the source papers tried their methods on: from a folder, or from OpenML."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.data.text import quoted
from committee.papers.shared.bundled_tables import Bundled, Folder, bundled_table
from committee.papers.shared.options import DATA_VARIABLE
from committee.report.crossvalidation import Table
from committee.report.targets import Labels

if TYPE_CHECKING:
    import polars as pl

CATALOGUE = "catalogue.json"
"""In that folder: for every table its name, file, and which columns are categorical."""

FOLDER_REMEDY = f"make a folder with `committee papers fetch` and give it with --data or {DATA_VARIABLE}"
"""What to do without a folder of tables."""


@dataclass(frozen=True)
class SourceTable:
    """A public table: its size, and its copy at OpenML."""

    name: str
    """Its name in the catalogue."""
    rows: int
    """Number of rows; a download with other rows is refused."""
    openml: tuple[str, int] | None = None
    """Name and version at OpenML; None where no copy there is known to be the same table."""


SOURCE_TABLES: dict[str, SourceTable] = {
    table.name: table
    for table in (
        SourceTable("iris", 150, ("iris", 1)),
        SourceTable("glass", 214, ("glass", 1)),
        SourceTable("ionosphere", 351, ("ionosphere", 1)),
        SourceTable("diabetes_early", 520),
        SourceTable("wdbc", 569, ("wdbc", 1)),
        SourceTable("balance_scale", 625, ("balance-scale", 1)),
        SourceTable("australian", 690, ("Australian", 4)),
        SourceTable("pima", 768, ("diabetes", 1)),
        SourceTable("vehicle", 846, ("vehicle", 1)),
        SourceTable("raisin", 900),
        SourceTable("tic_tac_toe", 958, ("tic-tac-toe", 1)),
        SourceTable("german", 1000, ("credit-g", 1)),
        SourceTable("biodeg", 1055, ("qsar-biodeg", 1)),
        SourceTable("bhp", 1075),
        SourceTable("messidor", 1151),
        SourceTable("banknote", 1372, ("banknote-authentication", 1)),
        SourceTable("cmc", 1473, ("cmc", 1)),
        SourceTable("obesity", 2111),
        SourceTable("segment", 2310, ("segment", 1)),
        SourceTable("waveform_noise", 5000, ("waveform-5000", 1)),
        SourceTable("pendigits", 10992, ("pendigits", 1)),
        SourceTable("letter", 20000, ("letter", 1)),
    )
}


def check_known_at_openml(names: Sequence[str]) -> None:
    """Refuse, before the first download, tables of which no copy at OpenML is known; name all, and what remains."""
    without = [name for name in names if SOURCE_TABLES[name].openml is None]
    if without:
        others = [name for name in names if name not in without]
        remedy = f"leave them out with --tables {','.join(others)}" if others else "name other tables with --tables"
        raise ValueError(f"no copy at OpenML is known of {quoted(without)}; {remedy}, or {FOLDER_REMEDY}")


def load_source_table(source: SourceTable, folder: Folder) -> Table:
    """Read a table, with labels as text, from the folder, from the bundled tables, or without either from OpenML.

    The folder has a catalogue.json, a list of objects with ``name``, ``file`` and ``categorical`` (the columns to read
    as text; the label, last, is the column ``target``). From OpenML it comes through scikit-learn, which keeps a copy.

    Raises
    ------
    ValueError
        If the folder has no catalogue or that does not name the table, or OpenML is not known to have it or has one of
        another size.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> from committee.papers.shared.tables import SourceTable, load_source_table
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "t.csv").write_text("size,code,target\\n1.5,1,a\\n2.5,2,b\\n")
    >>> entry = {"name": "t", "file": "t.csv", "categorical": ["code"]}
    >>> _ = (folder / "catalogue.json").write_text(json.dumps([entry]))
    >>> load_source_table(SourceTable("t", 2), folder).frame.rows()
    [(1.5, '1'), (2.5, '2')]
    """
    if isinstance(folder, Bundled):
        frame = bundled_table(source.name)
    else:
        frame = _from_openml(source) if folder is None else _from_folder(source, folder)
    return Table(frame.drop("target"), Labels.read(frame["target"]))


def read_from_folder(name: str, folder: Folder, labels: Iterable[str] = ()) -> Table:
    """Read a table of a document whose tables are not known at OpenML, and see that it has these labels."""
    if folder is None:
        raise ValueError(f"the tables of this document are read from a folder; {FOLDER_REMEDY}")
    table = load_source_table(SourceTable(name, 0), folder)
    unknown = sorted(set(labels) - set(table.labels.classes.tolist()))
    if unknown:
        raise ValueError(f"table {name!r} has no row labelled {quoted(unknown)}; give another folder with --data")
    return table


def check_rows(name: str, found: int, rows: int) -> None:
    """Refuse a table with another number of rows to be used than the document's."""
    if found != rows:
        raise ValueError(
            f"table {name!r} has {found} rows to be used, but the document's has {rows}; give another folder with"
            " --data"
        )


def labels_of(table: Table) -> NDArray[Any]:
    """Label of each row."""
    return table.labels.classes[table.labels.codes]


@cache
def document_numbers(file: str) -> Any:
    """Numbers of a document, as they stand in a file of `committee.papers`."""
    return json.loads((files("committee.papers") / file).read_text("utf-8"))


def digest_of(*parts: bytes) -> str:
    """A few digits that differ where contents differ."""
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def _from_folder(source: SourceTable, folder: Path) -> pl.DataFrame:
    from committee.data.readers.tables import read_table
    from committee.data.text import suggest_names

    if not (folder / CATALOGUE).is_file():
        raise ValueError(
            f"the folder of tables {str(folder)!r} holds no {CATALOGUE}; {FOLDER_REMEDY}, or give none to get tables"
            " from OpenML"
        )
    try:
        entries = {entry["name"]: entry for entry in json.loads((folder / CATALOGUE).read_text("utf-8"))}
        entry = entries.get(source.name)
        file, categorical = ("", []) if entry is None else (str(entry["file"]), list(entry["categorical"]))
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{folder / CATALOGUE} must be a list of objects with name, file, categorical") from error
    if entry is None:
        raise ValueError(
            f"{folder / CATALOGUE} does not name the table {source.name!r};"
            f" {suggest_names(source.name, list(entries))}; `committee papers fetch` makes a folder of all"
        )
    return read_table(folder / file, categorical=[*categorical, "target"])


def _from_openml(source: SourceTable) -> pl.DataFrame:
    """Through scikit-learn, as arrays: that needs no pandas, and names the categories."""
    import polars as pl
    from sklearn.datasets import fetch_openml

    if source.openml is None:
        raise ValueError(f"no copy of the table {source.name!r} is known at OpenML; {FOLDER_REMEDY}")
    name, version = source.openml
    bunch = fetch_openml(name=name, version=version, as_frame=False, parser="liac-arff")
    labels = np.asarray(bunch.target).astype(str)
    columns = {
        str(feature): _decoded(bunch.data[:, j], bunch.categories.get(feature))
        for j, feature in enumerate(bunch.feature_names)
    }
    frame = pl.DataFrame(columns).with_columns(pl.Series("target", labels))
    if frame.height != source.rows:
        raise ValueError(
            f"{name!r} version {version} at OpenML has {frame.height} rows, but {source.name!r} should have"
            f" {source.rows}: it is another table now; {FOLDER_REMEDY}"
        )
    return frame


def _decoded(values: Any, categories: list[Any] | None) -> list[Any]:
    """A column as it was: numbers, or the categories that its codes stand for; None where missing."""
    if categories is None:
        return [None if value != value else value for value in np.asarray(values, dtype=np.float64).tolist()]
    codes = np.asarray(values, dtype=np.float64).tolist()
    return [None if code != code else str(categories[int(code)]) for code in codes]
