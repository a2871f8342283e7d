"""Record of the costly results of a fit, which a resumed fit reuses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import field as made_by
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.bins import Binned
from committee.data.number_types import F64, I32
from committee.data.typed_json import field
from committee.files.documents import Arrays, Document, Tensors
from committee.files.store import parse_json

if TYPE_CHECKING:
    from committee.voters.forest import Forest
    from committee.voters.model_forest import ModelForest

T = TypeVar("T")
V = TypeVar("V", "Forest", "ModelForest")
U16 = NDArray[np.uint16]
Parts: TypeAlias = Sequence[NDArray[Any]]

MOST_CHECKED = 4096
"""Most numbers of an array that its checksum covers."""


@dataclass(frozen=True)
class Codec(Generic[T]):
    """Conversion of results of one kind to arrays, of the same number and types for all, and back."""

    encode: Callable[[T], Parts]
    decode: Callable[..., T]
    """Called with the arrays as its arguments."""


class _Column:
    """One part of all earlier results of a kind, concatenated as in the file."""

    def __init__(self, shapes: NDArray[np.int64], values: NDArray[Any], name: str) -> None:
        self.shapes, self.values = shapes, values
        sizes = shapes.astype(np.float64).prod(axis=1)  # no product overflows
        if sizes.sum() != len(values):
            raise ValueError(f"{name} has {len(values)} numbers, but its shapes need {sizes.sum():.0f}")
        self._ends = np.cumsum(sizes).astype(np.int64)

    def __getitem__(self, i: int) -> NDArray[Any]:
        return self.values[self._ends[i] - self.shapes[i].prod() : self._ends[i]].reshape(self.shapes[i])


@dataclass(eq=False)
class _Results:
    """Results of one kind: `known` of an earlier attempt, and `parts` of this one."""

    known_checks: NDArray[np.uint64] = made_by(default_factory=lambda: np.empty(0, np.uint64))
    known: list[_Column] = made_by(default_factory=list)
    checks: list[int] = made_by(default_factory=list)
    parts: list[Parts] = made_by(default_factory=list)
    used: int = 0

    def columns(self) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
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
    """Costly results of a fit by kind, which a resumed fit needs in the same order."""

    def __init__(self, added: Callable[[], None], refusal: Callable[[str], ValueError]) -> None:
        self._results: dict[str, _Results] = {}
        self._added, self._refusal = added, refusal

    def result(self, kind: str, given: Iterable[Any], compute: Callable[[], T], form: Codec[T]) -> T:
        """Return the next result of a kind, recorded or computed; `given` are its inputs."""
        check = checksum(given)
        known = self._known(kind, check, form)
        if known is not None:
            return known[0]
        value = compute()
        self._add(kind, check, form.encode(value))
        return value

    def array(self, kind: str, given: Iterable[Any], compute: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        return self.result(kind, given, compute, Codec(lambda array: [array], np.copy))

    def each(self, kind: str, form: Codec[T], computed: Callable[[int], Iterator[T]]) -> Iterator[T]:
        """Yield results of a fixed order: recorded ones, then those of ``computed(number of recorded ones)``."""
        n_known = 0
        while (known := self._known(kind, n_known, form)) is not None:
            n_known += 1
            yield known[0]
        for number, value in enumerate(computed(n_known), start=n_known):
            self._add(kind, number, form.encode(value))
            yield value

    def _known(self, kind: str, check: int, form: Codec[T]) -> tuple[T] | None:
        results = self._results.setdefault(kind, _Results())
        if results.used >= len(results.known_checks):
            return None
        if results.known_checks[results.used] != check:
            raise self._refusal("its results are not those of this fit")
        results.used += 1
        try:
            return (form.decode(*(column[results.used - 1] for column in results.known)),)
        except (ValueError, TypeError, IndexError, KeyError, OverflowError) as error:
            raise self._refusal(f"it has an invalid result ({error})") from error

    def _add(self, kind: str, check: int, parts: Parts) -> None:
        results = self._results.setdefault(kind, _Results())
        results.checks.append(check)
        results.parts.append([np.asarray(part) for part in parts])
        results.used += 1
        self._added()

    def contents(self) -> tuple[Document, Arrays]:
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
        for kind in kinds:
            described: Document = field(kinds, kind, dict)
            tensors = Tensors(arrays).part(field(described, "part", str))
            checks = tensors.take("check", np.uint64, 1)
            columns = list[_Column]()
            for i in range(field(described, "n_parts", int)):
                shapes, values = tensors.take(f"shape{i}", np.int64, 2), tensors.take(f"value{i}")
                n = len(checks)
                if len(shapes) != n or values.ndim != 1 or (shapes < 0).any() or shapes.shape[1] > 3:
                    raise ValueError(f"{tensors.prefix}shape{i} are not the shapes of {n} arrays")
                columns.append(_Column(shapes, values, f"{tensors.prefix}value{i}"))
            if not columns or not len(checks):
                raise ValueError(f"{kind} has no results")
            self._results[kind] = _Results(checks, columns)
        if arrays:
            raise ValueError(f"the array {min(arrays)!r} belongs to nothing")


def checksum(given: Iterable[Any]) -> int:
    check = 0
    for one in given:
        if isinstance(one, np.ndarray):
            flat = one.ravel()
            content = np.ascontiguousarray(flat[:: 1 + len(flat) // MOST_CHECKED]).data
            check = crc32(repr((one.dtype.str, one.shape)).encode(), check)
            check = crc32(content, check)
        else:
            check = crc32(repr(one).encode(), check)
    return check


# --- voters and trees as results --------------------------------------------------------------------------------------


def voters_to_arrays(voters: Forest | ModelForest) -> Parts:
    arrays: Arrays = {}
    document = voters.to_document(Tensors(arrays))
    text = json.dumps({"document": document, "names": list(arrays)})
    return [np.frombuffer(text.encode(), np.uint8), *arrays.values()]


def voters_from_arrays(kind: type[V], parts: Parts, n_features: int, n_classes: int) -> V:
    described = parse_json(np.asarray(parts[0], dtype=np.uint8).tobytes().decode(), "document of a member")
    tensors = Tensors(dict(zip(field(described, "names", list), parts[1:], strict=True)))
    voters = kind.from_document(field(described, "document", dict), tensors)
    forest: Any = getattr(voters, "forest", voters)
    if (forest.n_features, forest.n_classes) != (n_features, n_classes):
        raise ValueError(
            f"a member has {forest.n_features} columns and {forest.n_classes} classes or targets; this fit has "
            f"{n_features} and {n_classes}"
        )
    return voters


class RecordedGrower:
    def __init__(self, grower: _core.Grower | RecordedGrower, binned: Binned, record: FitRecord) -> None:
        self._grower, self._binned, self._record = grower, binned, record

    def grow_classes(self, labels: U16, weights: F64, rows: I32 | None, seed: int) -> _core.GrownTree:
        return self._grown(self._grower.grow_classes, labels, weights, rows, seed)

    def grow_targets(self, targets: F64, weights: F64, rows: I32 | None, seed: int) -> _core.GrownTree:
        return self._grown(self._grower.grow_targets, targets, weights, rows, seed)

    def _grown(
        self, grow: Callable[..., _core.GrownTree], y: U16 | F64, weights: F64, rows: I32 | None, seed: int
    ) -> _core.GrownTree:
        given = (y, weights, rows, seed)
        form = Codec(_core.GrownTree.nodes, lambda *nodes: self._known(nodes, rows))
        return self._record.result("tree", given, lambda: grow(*given), form)

    def _known(self, nodes: tuple[Any, ...], rows: I32 | None) -> _core.GrownTree:
        leaf = leaf_of_rows(self._binned, _core.TreeNodes(cast("_core.Nodes", nodes)), rows)
        return _core.GrownTree(cast("_core.Nodes", nodes), leaf)


class RecordedGradientGrower:
    def __init__(
        self, grower: _core.GradientGrower | RecordedGradientGrower, binned: Binned, record: FitRecord
    ) -> None:
        self._grower, self._binned, self._record = grower, binned, record
        self._leaf: I32 | None = None

    def grow(
        self,
        gradient: F64,
        hessian: F64,
        rows: I32 | None,
        features: I32 | None,
        seed: int,
        score: int = 0,
        weights: F64 | None = None,
    ) -> _core.GradientTree:
        self._leaf = None
        return self._record.result(
            "tree",
            (gradient, hessian, rows, features, seed),
            lambda: self._grower.grow(gradient, hessian, rows, features, seed, score, weights),
            Codec(tree_to_arrays, self._known),
        )

    @property
    def n_outputs(self) -> int:
        return self._grower.n_outputs

    @property
    def leaf_of_row(self) -> I32:
        return self._grower.leaf_of_row if self._leaf is None else self._leaf

    def _known(self, *parts: Any) -> _core.GradientTree:
        tree = tree_from_arrays(*parts)
        self._leaf = leaf_of_rows(self._binned, tree, None)
        return tree


def tree_to_arrays(tree: _core.GradientTree) -> tuple[NDArray[Any], ...]:
    return (*tree.nodes(), tree.value, tree.bounds, np.empty(0) if tree.weight is None else tree.weight)


def tree_from_arrays(*parts: Any) -> _core.GradientTree:
    *nodes, value, bounds, weight = parts
    return _core.GradientTree(cast("_core.Nodes", tuple(nodes)), value, bounds, weight if len(weight) else None)


def leaf_of_rows(binned: Binned, tree: _core.TreeNodes, rows: I32 | None) -> I32:
    n = len(binned.codes)
    seen = np.arange(n, dtype=np.int32) if rows is None else rows
    leaves = _core.walk_codes(binned.codes, binned.bins.n_bins, tree, seen)
    if rows is None:
        return leaves
    leaf = np.full(n, -1, dtype=np.int32)
    leaf[seen] = leaves
    return leaf
