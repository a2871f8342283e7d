"""The part of a document that every model has: the columns of its rows, and the classes that it chooses from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.frames import TableSchema
from committee.data.number_types import MAX_FEATURES
from committee.data.typed_json import decode_array, encode_array, field
from committee.files.tensors import Document

MAX_UNLISTED = 2**22
"""Columns of a model without a table: a file lists neither their names nor their kinds, so it may be short, and each
still costs memory wherever a model has one number a column."""


@dataclass(frozen=True, eq=False)
class Header:
    """Columns and classes of a model."""

    n_features: int
    """Width of the table."""
    names: NDArray[Any] | None
    """``(n_features,)``: column names, where the model knows any."""
    classes: NDArray[Any] | None
    """``(K,)``: labels; None for a model that predicts numbers."""
    table: TableSchema | None
    """How tables become matrices; None where voters read them on their own."""

    def to_document(self) -> Document:
        """Its entries of the document."""
        classes = {} if self.classes is None else {"classes": encode_array(np.asarray(self.classes), "classes_")}
        names = None if self.names is None else encode_array(np.asarray(self.names), "feature_names_in_")
        return {
            "n_features": int(self.n_features),
            "feature_names": names,
            **classes,
            "table": None if self.table is None else self.table.to_json(),
        }

    @classmethod
    def from_document(cls, document: Document, read: Callable[[Document], NDArray[Any]] | None) -> Header:
        """Undo `to_document`; `read` is `read_classes` or `read_sorted_classes`, None where there are no classes.

        Raises
        ------
        ValueError
            If an entry is none that a model can have, or they do not fit each other.
        """
        n_features = read_count(document, "n_features")
        classes = None if read is None else read(field(document, "classes", dict))
        given = field(document, "feature_names", dict, None)
        names = None if given is None else _read_names(given, n_features)
        table = _read_table(document, n_features, names)
        if table is None and names is None and n_features > MAX_UNLISTED:
            raise ValueError(f"n_features is {n_features} with no table; at most {MAX_UNLISTED} columns need none")
        return cls(n_features, names, classes, table)


def read_count(document: Document, name: str) -> int:
    """A number of columns or classes: at least one, and no more than a table can have."""
    number: int = field(document, name, int)
    if not 1 <= number <= MAX_FEATURES:
        raise ValueError(f"{name} is {number}; it must be within 1 and {MAX_FEATURES}")
    return number


def read_classes(document: Document) -> NDArray[Any]:
    """Labels to choose from: some, of one type, finite."""
    classes = decode_array(document)
    if not len(classes) or len(set(map(type, classes.tolist()))) > 1 or classes.tolist()[0] is None:
        raise ValueError("classes are none, or of several types")
    if classes.dtype.kind == "f" and not np.isfinite(classes).all():
        raise ValueError("classes hold a number that is not finite")
    return classes


def read_sorted_classes(document: Document) -> NDArray[Any]:
    """Classes as training makes them: as `read_classes`, and sorted, hence unique."""
    classes = read_classes(document)
    if not np.all(classes[:-1] < classes[1:]):
        raise ValueError("classes are not sorted and unique")
    return classes


def _read_names(document: Document, n_features: int) -> NDArray[Any]:
    names = decode_array(document)
    if names.dtype != object or not all(type(name) is str for name in names):
        raise ValueError("feature_names are not text")
    if len(names) != n_features or len(set(names)) != n_features:
        raise ValueError(f"feature_names are not {n_features} different names")
    return names


def _read_table(document: Document, n_features: int, names: NDArray[Any] | None) -> TableSchema | None:
    """The columns, which must be as many and of the names that the model has."""
    if field(document, "table", dict, None) is None:
        return None
    table = TableSchema.from_json(document["table"])
    if table.n_features != n_features:
        raise ValueError(f"the table has {table.n_features} columns; n_features is {n_features}")
    if table.names != (None if names is None else tuple(names)):
        raise ValueError("feature_names are not the names of the table's columns")
    return table
