"""Tables of the source papers: from a folder, from scikit-learn or OpenML; their splits; and a simulated table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, Mask
from committee.data.table_schema import TableSchema
from committee.data.text import quoted, suggest_names
from committee.papers.shared.options import DATA_VARIABLE
from committee.report.folds import Labels, Split, Table

if TYPE_CHECKING:
    import polars as pl


class Bundled(Enum):
    """Marker in place of a folder."""

    TABLES = "tables that come with scikit-learn"


Folder: TypeAlias = Path | Bundled | None  # source of tables: a folder, the bundled tables, or None for OpenML

BUNDLED_TABLES: dict[str, tuple[str, dict[str, str]]] = {
    "iris": ("iris", {}),
    "wdbc": ("breast_cancer", {"benign": "B", "malignant": "M"}),
    "wine": ("wine", {"class_0": "1", "class_1": "2", "class_2": "3"}),
}
"""By name of the public table: name of the scikit-learn table, and replacements of its labels."""


def bundled_table(name: str) -> pl.DataFrame:
    import polars as pl

    from committee.data.examples import load_example

    if name not in BUNDLED_TABLES:
        raise ValueError(f"no table {name!r} is bundled; {suggest_names(name, list(BUNDLED_TABLES))}")
    example, labels = BUNDLED_TABLES[name]
    return load_example(example).with_columns(pl.col("target").replace(labels))


CATALOGUE = "catalogue.json"  # in a folder of tables: name, file and categorical columns of every table

FOLDER_REMEDY = f"make a folder with `committee papers fetch` and give it with --data or {DATA_VARIABLE}"


@dataclass(frozen=True)
class SourceTable:
    name: str  # its name in the catalogue
    rows: int  # number of rows; a download with other rows is refused
    openml: tuple[str, int] | None = None  # name and version at OpenML; None if no identical copy is known


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
    without = [name for name in names if SOURCE_TABLES[name].openml is None]
    if without:
        others = [name for name in names if name not in without]
        remedy = f"leave them out with --tables {','.join(others)}" if others else "name other tables with --tables"
        raise ValueError(f"no copy at OpenML is known of {quoted(without)}; {remedy}, or {FOLDER_REMEDY}")


def load_source_table(source: SourceTable, folder: Folder) -> Table:
    if isinstance(folder, Bundled):
        frame = bundled_table(source.name)
    else:
        frame = _from_openml(source) if folder is None else _from_folder(source, folder)
    return Table(frame.drop("target"), Labels.read(frame["target"]))


def read_from_folder(name: str, folder: Folder, labels: Iterable[str] = ()) -> Table:
    if folder is None:
        raise ValueError(f"the tables of this document are read from a folder; {FOLDER_REMEDY}")
    table = load_source_table(SourceTable(name, 0), folder)
    unknown = sorted(set(labels) - set(table.labels.classes.tolist()))
    if unknown:
        raise ValueError(f"table {name!r} has no row labelled {quoted(unknown)}; give another folder with --data")
    return table


def check_rows(name: str, found: int, rows: int) -> None:
    if found != rows:
        raise ValueError(
            f"table {name!r} has {found} rows to be used, but the document's has {rows}; give another folder with"
            " --data"
        )


def labels_of(table: Table) -> NDArray[Any]:
    return table.labels.classes[table.labels.codes]


@cache
def document_numbers(file: str) -> Any:
    return json.loads((files("committee.papers") / file).read_text("utf-8"))


def digest_of(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def _from_folder(source: SourceTable, folder: Path) -> pl.DataFrame:
    from committee.data.readers.table_reader import read_table

    if not (folder / CATALOGUE).is_file():
        raise ValueError(
            f"the folder of tables {str(folder)!r} holds no {CATALOGUE}; {FOLDER_REMEDY}. Without a folder, sbpmt and"
            " lectures use OpenML"
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
    import polars as pl
    from sklearn.datasets import fetch_openml

    if source.openml is None:
        raise ValueError(f"no copy of the table {source.name!r} is known at OpenML; {FOLDER_REMEDY}")
    name, version = source.openml
    bunch = fetch_openml(name=name, version=version, as_frame=False, parser="liac-arff")
    labels = np.asarray(bunch.target).astype(str)
    columns: dict[str, list[Any]] = {}
    for j, feature in enumerate(bunch.feature_names):
        cells = [None if x != x else x for x in np.asarray(bunch.data[:, j], dtype=np.float64).tolist()]
        if feature in bunch.categories:
            cells = [None if code is None else str(bunch.categories[feature][int(code)]) for code in cells]
        columns[str(feature)] = cells
    frame = pl.DataFrame(columns).with_columns(pl.col(pl.String).cast(pl.Categorical), pl.Series("target", labels))
    if frame.height != source.rows:
        raise ValueError(
            f"{name!r} version {version} at OpenML has {frame.height} rows, but {source.name!r} should have"
            f" {source.rows}: it is another table now; {FOLDER_REMEDY}"
        )
    return frame


TEST_SHARE = 0.3  # of the rows of each class


@dataclass(frozen=True, eq=False)
class NamedTable:
    name: str
    table: Table

    @property
    def positive(self) -> Mask:
        return np.asarray(self.table.labels.codes == 1)

    @cached_property
    def digest(self) -> str:
        return digest_of(self.table.encoded()[1].tobytes(), self.positive.tobytes())


def draw_stratified(codes: NDArray[np.intp], seed: int, repeat: int) -> Split:
    random = np.random.default_rng([seed, repeat])
    tested = np.zeros(len(codes), dtype=bool)
    for code in np.unique(codes).tolist():
        own = random.permutation(np.flatnonzero(codes == code))
        tested[own[: round(TEST_SHARE * len(own))]] = True
    return np.flatnonzero(~tested), np.flatnonzero(tested)


@dataclass(frozen=True, eq=False)
class Fold:
    table: NamedTable
    repeat: int
    seed: int

    @cached_property
    def split(self) -> Split:
        return draw_stratified(self.table.table.labels.codes, self.seed, self.repeat)

    @cached_property
    def _schema(self) -> TableSchema:
        return TableSchema.learn(self.table.table.rows(self.split[0]))

    @cached_property
    def rows(self) -> tuple[F64, F64]:
        train, test = (self._schema.encode(self.table.table.rows(rows)) for rows in self.split)
        return train, test

    @property
    def positive(self) -> tuple[Mask, Mask]:
        train, test = (self.table.positive[rows] for rows in self.split)
        return train, test

    @property
    def categorical(self) -> Mask:
        return self._schema.categorical


DIMENSION, EFFECTIVE, NOISE = 10, 5, 0.1
"""Number of columns and E of the SBPMT paper, and q of Mease and Wyner."""


def mease_wyner(n: int, random: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw Mease and Wyner's simulation: P(y = 1 | x) = q + (1 - 2q) [x_1 + ... + x_E > E/2], x uniform on the cube.

    Source: D. Mease, A. Wyner (2008). Evidence contrary to the statistical view of boosting.
    """
    X = random.random((n, DIMENSION))
    above = X[:, :EFFECTIVE].sum(axis=1) > EFFECTIVE / 2
    y = np.where(random.random(n) < NOISE + (1.0 - 2.0 * NOISE) * above, 1, -1)
    return X, y
