"""The costly results of a fit, in the order in which it needs them; a fit that begins again finds them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import field as made_by
from typing import Any, Generic, TypeAlias, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from committee.data.typed_json import field
from committee.files.tensors import Arrays, Document, Tensors

T = TypeVar("T")
Parts: TypeAlias = Sequence[NDArray[Any]]
"""The arrays of one result."""

LOOKED_AT = 4096
"""Most numbers of an array that its checksum looks at."""


@dataclass(frozen=True)
class Form(Generic[T]):
    """How results of one kind become arrays, always as many and of the same types, and arrays such results again."""

    parts_of: Callable[[T], Parts]
    value_of: Callable[..., T]
    """Takes the arrays as its arguments."""


class _Column:
    """One part of all known results of a kind, end to end as in the file: single arrays are cut out when asked for."""

    def __init__(self, shapes: NDArray[np.int64], values: NDArray[Any], name: str) -> None:
        self.shapes, self.values = shapes, values
        asked = float(len(shapes))
        if shapes.shape[1]:  # else each is one number, and its place is known
            sizes = shapes.astype(np.float64).prod(axis=1)  # no product overflows
            asked = sizes.sum()
            self._ends = np.cumsum(sizes).astype(np.int64)
        if asked != len(values):
            raise ValueError(f"{name} has {len(values)} numbers; its shapes ask for {asked:.0f}")

    def __getitem__(self, i: int) -> NDArray[Any]:
        if not self.shapes.shape[1]:
            return self.values[i : i + 1].reshape(())
        return self.values[self._ends[i] - self.shapes[i].prod() : self._ends[i]].reshape(self.shapes[i])


@dataclass(eq=False)
class _Results:
    """The results of one kind, those known from an earlier attempt first; `used` of all are needed again so far."""

    known_checks: NDArray[np.uint64] = made_by(default_factory=lambda: np.empty(0, np.uint64))
    known: list[_Column] = made_by(default_factory=list)
    checks: list[int] = made_by(default_factory=list)
    parts: list[Parts] = made_by(default_factory=list)
    used: int = 0

    def columns(self) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
        """Yield shapes and values of each part of all results."""
        new = list(zip(*self.parts, strict=True)) or [() for _ in self.known]
        for i, arrays in enumerate(new):
            if not arrays:  # no new ones of this kind
                yield self.known[i].shapes, self.known[i].values
                continue
            shapes = np.array([array.shape for array in arrays], dtype=np.int64).reshape(len(arrays), -1)
            values = [array.ravel() for array in arrays]
            if self.known:
                shapes = np.concatenate([self.known[i].shapes, shapes])
                values = [self.known[i].values, *values]
            yield shapes, np.concatenate(values)


class FitRecord:
    """Results by kind, each with a checksum of what it was computed from.

    A fit at a given seed is deterministic: from the same rows and results it asks for the same results in the same
    order. So a record of the results is all that a fit needs to go on where an earlier attempt ended: it runs through
    the same rounds, and whatever is known already is not computed again.

    Parameters
    ----------
    added : callable, default=None
        Called after each new result.
    refusal : callable, default=ValueError
        Makes the error of a record that is of another fit, from the reason.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.learners.base.fit_record import FitRecord, Form
    >>> number = Form(lambda x: [np.array(x)], float)
    >>> first = FitRecord()
    >>> first.result("root", [2.0], lambda: 2.0**0.5, number) == 2.0**0.5
    True
    >>> second = FitRecord()
    >>> second.take(*first.contents())
    >>> second.result("root", [2.0], lambda: 1 / 0, number)
    1.4142135623730951
    """

    def __init__(
        self, added: Callable[[], None] | None = None, refusal: Callable[[str], ValueError] = ValueError
    ) -> None:
        self._results: dict[str, _Results] = {}
        self._added, self._refusal = added, refusal

    def result(self, kind: str, given: Iterable[Any], compute: Callable[[], T], form: Form[T]) -> T:
        """Return the next result of a kind: the known one, or else a new one, which is kept.

        Parameters
        ----------
        kind : str
            Name of the results of one form.
        given : iterable of arrays, numbers, text or None
            What the result is computed from and changes during a fit; checked against what a known one was.
        compute : callable
            Makes a result that is not known.
        form : Form
            Of this kind of results.

        Raises
        ------
        ValueError
            If the known result was computed from something else.
        """
        check = checksum(given)
        known = self._known(kind, check, form)
        if known is not None:
            return known[0]
        value = compute()
        self._add(kind, check, form.parts_of(value))
        return value

    def array(self, kind: str, given: Iterable[Any], compute: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """As `result`, of results that are a single array each."""
        return self.result(kind, given, compute, Form(lambda array: [array], np.copy))

    def each(self, kind: str, form: Form[T], computed: Callable[[int], Iterator[T]]) -> Iterator[T]:
        """Yield results of a fixed order: the known ones, and then those of `computed(number of known ones)`."""
        n_known = 0
        while (known := self._known(kind, n_known, form)) is not None:
            n_known += 1
            yield known[0]
        for number, value in enumerate(computed(n_known), start=n_known):
            self._add(kind, number, form.parts_of(value))
            yield value

    def _known(self, kind: str, check: int, form: Form[T]) -> tuple[T] | None:
        results = self._results.setdefault(kind, _Results())
        if results.used >= len(results.known_checks):
            return None
        if results.known_checks[results.used] != check:
            raise self._refusal("its rounds are not those of this fit")
        results.used += 1
        try:
            return (form.value_of(*(column[results.used - 1] for column in results.known)),)
        except (ValueError, TypeError, IndexError, KeyError, OverflowError) as error:
            raise self._refusal(f"it holds what no fit has written ({error})") from error

    def _add(self, kind: str, check: int, parts: Parts) -> None:
        results = self._results.setdefault(kind, _Results())
        results.checks.append(check)
        results.parts.append([np.asarray(part) for part in parts])
        results.used += 1
        if self._added is not None:
            self._added()

    # --- in a file ---------------------------------------------------------------------------------------------

    def contents(self) -> tuple[Document, Arrays]:
        """The kinds with the number of their parts, and the arrays: all first parts end to end, all second parts..."""
        kinds: Document = {}
        arrays: Arrays = {}
        for number, (kind, results) in enumerate(self._results.items()):
            columns = list(results.columns())
            if not columns:
                continue
            tensors = Tensors(arrays).part(str(number))
            new_checks = np.array(results.checks, dtype=np.uint64)
            tensors.put(check=np.concatenate([results.known_checks, new_checks]))
            kinds[kind] = {"part": str(number), "n_parts": len(columns)}
            for i, (shapes, values) in enumerate(columns):
                tensors.put(**{f"shape{i}": shapes, f"value{i}": values})
        return kinds, arrays

    def take(self, kinds: Document, arrays: Arrays) -> None:
        """Take over the `contents` of a record, trusting no value.

        Raises
        ------
        ValueError
            Saying what is wrong.
        """
        for kind in kinds:
            described: Document = field(kinds, kind, dict)
            tensors = Tensors(arrays).part(field(described, "part", str))
            checks = tensors.take("check", np.uint64, 1)
            columns = [_column(tensors, i, len(checks)) for i in range(field(described, "n_parts", int))]
            if not columns or not len(checks):
                raise ValueError(f"{kind} has no results")
            self._results[kind] = _Results(checks, columns)
        if arrays:
            raise ValueError(f"the array {min(arrays)!r} belongs to nothing")


def _column(tensors: Tensors, i: int, n: int) -> _Column:
    """Part i of all n results of a kind."""
    shapes, values = tensors.take(f"shape{i}", np.int64, 2), tensors.take(f"value{i}")
    if len(shapes) != n or values.ndim != 1 or (shapes < 0).any() or shapes.shape[1] > 3:
        raise ValueError(f"{tensors.prefix}shape{i} are not the shapes of {n} arrays")
    return _Column(shapes, values, f"{tensors.prefix}value{i}")


def checksum(given: Iterable[Any]) -> int:
    """CRC-32 of arrays, numbers and texts, one after the other; of long arrays every so many-th number.

    Row weights sum to one, so that two rounds that differ do so in nearly all of them.
    """
    check = 0
    for one in given:
        if isinstance(one, np.ndarray):
            flat = one.ravel()
            content = np.ascontiguousarray(flat[:: 1 + len(flat) // LOOKED_AT]).data
            check = crc32(repr((one.dtype.str, one.shape)).encode(), check)
            check = crc32(content, check)
        else:
            check = crc32(repr(one).encode(), check)
    return check
