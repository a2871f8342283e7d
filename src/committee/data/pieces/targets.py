"""Labels and weights of a table in pieces, gathered while its pieces are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.coded_text import CodedText, Labels
from committee.data.number_types import Mask
from committee.data.pieces.piece import Piece


@dataclass(eq=False)
class TargetsSoFar:
    """Labels and weights of the pieces so far.

    Parameters
    ----------
    y, sample_weight : str, array-like (n,) or None
        The name of a column, one entry for each row of the table, or None: what the pieces bring.

    Examples
    --------
    >>> found = TargetsSoFar(None, [1.0, 0.0, 2.0])
    >>> found.take(Piece(np.zeros((2, 1)), "piece 0", y=np.array(["a", "b"]))).tolist()
    [True, False]
    >>> found.take(Piece(np.zeros((1, 1)), "piece 1", y=np.array(["a"])))
    >>> found.labels().tolist()
    ['a', 'b', 'a']
    """

    y: Any
    sample_weight: Any
    n_rows: int = 0
    _labels: list[Labels] = field(default_factory=list)
    _weights: list[NDArray[Any]] = field(default_factory=list)
    _counted: list[Mask] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.y, self.sample_weight = _computed(self.y), _computed(self.sample_weight)
        given = self.sample_weight
        self._given = None if given is None or isinstance(given, str) else np.asarray(given)

    @property
    def named(self) -> tuple[str, ...]:
        """Columns that are labels or weights."""
        return tuple(name for name in (self.y, self.sample_weight) if isinstance(name, str))

    def take(self, piece: Piece) -> Mask | None:
        """Add a piece, and return which of its rows have weight; None: all."""
        first, last = self.n_rows, self.n_rows + len(piece)
        self.n_rows = last
        labels = piece.column(self.y) if isinstance(self.y, str) else piece.y if self.y is None else None
        if labels is not None:
            self._add("labels", self._labels, _coded(labels), len(piece))
        if self._given is not None:
            weights: Any = self._given[first:last] if self._given.ndim else None
        else:
            weights = piece.weight if self.sample_weight is None else piece.column(self.sample_weight)
        if weights is None:
            return None
        numbers = np.asarray(weights)
        if self._given is None:
            self._refuse_text(numbers)
            self._add("weights", self._weights, numbers, len(piece))
        if len(numbers) != len(piece) or numbers.ndim != 1 or numbers.dtype.kind not in "biuf":
            return None  # refused once all are there
        counted = np.asarray(numbers > 0)
        self._counted.append(counted)
        return None if counted.all() else counted

    def _refuse_text(self, weights: NDArray[Any]) -> None:
        if len(weights) and _kind(weights) == "text" and isinstance(weights[0], str):
            of = "its weights hold" if self.sample_weight is None else f"sample_weight={self.sample_weight!r} holds"
            raise ValueError(f"{of} text, such as {str(weights[0])!r}; weights are numbers")

    @staticmethod
    def _add(what: str, before: list[Any], new: Labels, n: int) -> None:
        if len(new) != n:
            raise ValueError(f"it has {n} rows and {len(new)} {what}")
        if not n:
            return
        if before and (_kind(new) != _kind(before[0]) or new.ndim != before[0].ndim):
            raise ValueError(
                f"its {what} are of type {new.dtype}, and those of pieces before of {before[0].dtype}; make all of "
                "them text, or all of them numbers"
            )
        before.append(new)

    def labels(self) -> Any:
        """Labels of all rows, or what the user gave."""
        labels = self.coded_labels()
        return np.asarray(labels) if isinstance(labels, CodedText) else labels

    def coded_labels(self) -> Any:
        """As `labels`; `CodedText` where they are text of the pieces."""
        if self.y is None or isinstance(self.y, str):
            return _whole("y", self._labels, self.n_rows)
        return self.y

    def weights(self) -> Any:
        """Weights of all rows, or what the user gave; None: all are equal."""
        if self.sample_weight is None or isinstance(self.sample_weight, str):
            return _whole("weights", self._weights, self.n_rows)
        return self.sample_weight

    def counted_rows(self) -> Mask | None:
        """Rows of weight."""
        found = np.concatenate([np.empty(0, bool), *self._counted])
        return found if len(found) == self.n_rows else None


def _computed(values: Any) -> Any:
    """Compute what is lazy, as Dask's vectors are."""
    return values.compute() if hasattr(values, "compute") else values


def _coded(labels: Any) -> Labels:
    """Labels of a piece, coded where they are text."""
    if isinstance(labels, CodedText):
        return labels
    values = np.asarray(labels)
    return CodedText.of(values) if values.dtype.kind == "U" and values.ndim == 1 else values


def _whole(what: str, parts: Sequence[Labels], n: int) -> Labels | None:
    if not parts:
        return None
    if (found := sum(map(len, parts))) != n:
        raise ValueError(f"some pieces bring {what} and some do not: there are {found} for {n} rows")
    coded = [part for part in parts if isinstance(part, CodedText)]
    return (
        CodedText.of_parts(coded) if len(coded) == len(parts) else np.concatenate([np.asarray(part) for part in parts])
    )


def _kind(values: Labels) -> str:
    return {"U": "text", "O": "text", "T": "text", "b": "boolean"}.get(values.dtype.kind, "number")
