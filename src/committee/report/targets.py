"""The target of a comparison: labels of classes, or numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.labels import MOST_NUMERIC_CLASSES, Task, infer_task
from committee.data.number_types import F64
from committee.data.text import pluralize, quoted


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels as class codes.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Distinct labels, sorted.
    codes : ndarray of shape (n,)
        Index of each row's class.
    name : str
        Name of the column.
    """

    classes: NDArray[Any]
    codes: NDArray[np.intp]
    name: str

    @classmethod
    def read(cls, y: Any, name: str | None = None) -> Labels:
        """Read labels from a series or an array, and refuse what is no classification target."""
        values, name = _one_column(y, name)
        return cls._of(values, name)

    @classmethod
    def _of(cls, values: NDArray[Any], name: str) -> Labels:
        if values.dtype.kind == "O" and len({type(value) for value in values}) > 1:
            raise ValueError(f"column {name!r} mixes types of label; make them all text or all numbers")
        classes, codes = np.unique(values, return_inverse=True)
        if classes.size < 2:
            raise ValueError(f"column {name!r} has {classes.size} class(es); a comparison needs two at least")
        if values.dtype.kind in "iuf" and classes.size > MOST_NUMERIC_CLASSES:
            raise ValueError(
                f"column {name!r} is numeric with {classes.size} distinct values, too many for classes (at most"
                f" {MOST_NUMERIC_CLASSES}): take them for numbers, bin them, or name another target"
            )
        return cls(classes, codes.astype(np.intp), name)

    def check_folds(self, folds: int) -> list[str]:
        """Refuse folds that cannot be stratified; name the classes too small for every fold to have them."""
        counts = np.bincount(self.codes)
        rare = {str(c): int(k) for c, k in zip(self.classes, counts, strict=True) if k < folds}
        single = [c for c, k in rare.items() if k == 1]
        if single:
            raise ValueError(
                f"class(es) {quoted(single)} of column {self.name!r} have 1 row each, which cannot be both"
                " learned and tested; drop those rows or merge the classes"
            )
        if counts.max() < folds:
            raise ValueError(
                f"folds={folds} is more than any class of column {self.name!r} has rows;"
                f" use at most {counts.max()} folds"
            )
        if not rare:
            return []
        named = ", ".join(f"{c!r} ({k} rows)" for c, k in list(rare.items())[:5]) + (", ..." if len(rare) > 5 else "")
        return [
            f"column {self.name!r} has classes with fewer rows than folds={folds}, so some folds test without"
            f" them: {named}; folds={min(rare.values())} or merging classes would avoid that"
        ]


@dataclass(frozen=True, eq=False)
class Numbers(Labels):
    """Numbers to predict: no classes, and folds that are drawn without regard to them.

    Attributes
    ----------
    values : ndarray of shape (n,)
        The numbers.
    """

    values: F64

    @classmethod
    def _of(cls, values: NDArray[Any], name: str) -> Numbers:
        if values.dtype.kind not in "biuf":
            raise ValueError(f"column {name!r} holds text, which is no number to predict; take it for classes")
        numbers = values.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise ValueError(f"column {name!r} holds infinite numbers; drop those rows first")
        if np.ptp(numbers) == 0.0:
            raise ValueError(f"column {name!r} holds {numbers[0]:g} in all rows; there is nothing to predict")
        return cls(np.empty(0), np.zeros(numbers.size, dtype=np.intp), name, numbers)

    def check_folds(self, folds: int) -> list[str]:
        """Refuse more folds than rows; numbers have no classes that could be too small."""
        if folds > self.values.size:
            raise ValueError(f"folds={folds} is more than the {self.values.size} rows; use fewer")
        return []


def read_target(y: Any, name: str | None = None, task: Task | None = None) -> Labels:
    """Labels or numbers of a series or an array; which, is inferred as in `task_of` where it is not said.

    Raises
    ------
    ValueError
        Values missing, or none that the task can do with.

    Examples
    --------
    >>> from committee.report.targets import read_target
    >>> read_target([1.5, 2.5, 1.0]).values.tolist(), read_target(["a", "b"]).classes.tolist()
    ([1.5, 2.5, 1.0], ['a', 'b'])
    """
    if task not in (None, "classes", "numbers"):
        raise ValueError(f"task={task!r} is neither 'classes' nor 'numbers'")
    values, name = _one_column(y, name)
    kind = Numbers if (task or infer_task(values)) == "numbers" else Labels
    return kind._of(values, name)


def _one_column(y: Any, name: str | None) -> tuple[NDArray[Any], str]:
    """Values of a target without gaps, and its name."""
    import narwhals as nw

    series = nw.from_native(y, series_only=True, pass_through=True)
    name = name or str(getattr(y, "name", None) or "target")
    if isinstance(series, nw.Series):
        missing = int(series.is_null().sum())
        values = np.asarray(series.to_list()) if missing == 0 else np.empty(len(series), dtype=object)
    else:
        values = np.asarray(y)
        missing = 0
    if values.ndim != 1:
        raise ValueError(f"labels must be one column; got an array of shape {values.shape}")
    if missing == 0 and values.dtype.kind in "fO":
        missing = sum(value is None or value != value for value in values.tolist())
    if missing:
        labels = pluralize(missing, "missing label")
        raise ValueError(f"column {name!r} has {labels} in {len(values)} rows; drop those rows first")
    return values, name
