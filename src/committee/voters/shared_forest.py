"""Trees as voters whose equal parts a model file stores once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from committee.voters.flat_trees import DTYPES, NODE_DTYPES, extents, positions
from committee.voters.forest import Forest, read_vote
from committee.voters.node_order import in_breadth_first
from committee.voters.protocol import VoterIndex
from committee.voters.shared_trees import SharedTrees
from committee.voters.stored_record import GAINS, RECORD, UNSIGNED, has_record, read_record, record_arrays, short

if TYPE_CHECKING:
    from committee.files.documents import Document, Tensors

FEW, TIMES = 2**19, 32
"""Nodes that trees in a file may have: so many, or so many times the entries of the file. More are no model."""

_PLACES = ("root", "split", "left", "right")
_COUNTED = ("feature", "category_offset")


@dataclass(frozen=True, eq=False)
class SharedForest(Forest):
    """T trees as voters, as a `Forest`; in files, equal sub-trees, splits and leaves are stored once.

    Trees made by `of` have no training record: `gain`, `weight` and `count` are zero, as equal sub-trees had different
    ones. Those made by `with_record` have all nodes and their record, which a file has in short numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from committee import Committee
    >>> from committee.voters.shared_forest import SharedForest
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = Committee.from_estimator(RandomForestClassifier(20, random_state=0).fit(X, y)).voters
    >>> shared = SharedForest.of(forest)
    >>> bool((shared.tally(X) == forest.tally(X)).all()), forest.nbytes, shared.stored_bytes
    (True, 25872, 1355)
    """

    @classmethod
    def of(cls, forest: Forest) -> Self:
        """The same trees, without splits that part no rows; every row comes to a leaf of the same vote."""
        graph = SharedTrees.of(forest)
        return cls(graph.n_features, graph.n_classes, **graph.node_arrays(len(forest.feature)))

    @classmethod
    def with_record(cls, forest: Forest) -> Self:
        """The same trees with all of their nodes, breadth first, and their training record; `of` if they have none."""
        if not has_record(forest):
            return cls.of(forest)
        order = in_breadth_first(forest.left, forest.offset)
        arrays = {name: getattr(forest, name) for name in DTYPES}
        if order is not None:
            words = np.diff(forest.category_offset)[order]
            position = np.empty(len(order), dtype=np.int64)
            position[order] = np.arange(len(order))
            start = np.repeat(forest.offset[:-1], forest.n_nodes)
            first = np.where(forest.left >= 0, position[np.where(forest.left >= 0, forest.left + start, 0)] - start, -1)
            arrays |= {name: None if arrays[name] is None else arrays[name][order] for name in NODE_DTYPES}
            arrays["left"] = first[order].astype(np.int32)
            arrays["category_offset"] = extents(words)
            arrays["category_bits"] = forest.category_bits[positions(forest.category_offset[order], words)]
        return cls(forest.n_features, forest.n_classes, **arrays)

    def __getitem__(self, index: VoterIndex) -> SharedForest:
        some = super().__getitem__(index)
        return SharedForest.with_record(some) if has_record(some) else SharedForest.of(some)

    @cached_property
    def graph(self) -> SharedTrees:
        """Its trees with all that is equal in them once."""
        return SharedTrees.of(self, every_node=has_record(self))

    @property
    def stored_bytes(self) -> int:
        """Bytes of the arrays in a file."""
        return sum(array.nbytes for array in self._small_arrays().values())

    def _small_arrays(self) -> dict[str, NDArray[Any]]:
        return _small_arrays(self.graph) | record_arrays(self)

    # -- the file -----------------------------------------------------------------------------------------

    def to_document(self, tensors: Tensors) -> Document:
        """Write the graph into a model file; trees that share more than files may are written whole."""
        arrays = self._small_arrays()
        if len(self.feature) > _most(arrays) or (has_record(self) and "gain" not in arrays):
            return Forest.to_document(self, tensors)
        tensors.put(**arrays)
        described = self._described("shared_forest")
        return described | {"record": "values" if GAINS in arrays else "all"} if "gain" in arrays else described

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> Self:
        """Read what `to_document` wrote, trusting no value."""
        from committee.files.documents import read_count

        vote = read_vote(document)
        names = (*_PLACES, *_COUNTED, "threshold", "missing_left", "category_bits", vote)
        arrays = tensors.take_fields(names)
        recorded = tensors.take_fields(_recorded(document))
        most = _most(arrays | recorded)
        graph = _checked_graph(read_count(document, "n_features"), read_count(document, "n_classes"), arrays)
        nodes = graph.node_arrays(most)
        if recorded:
            nodes |= read_record(recorded, nodes["left"], nodes["offset"])
        forest = cls(graph.n_features, graph.n_classes, **nodes)
        forest.check()
        return forest


def _recorded(document: Document) -> tuple[str, ...]:
    """Names of the arrays of the training record."""
    record = document.get("record")
    if record is None:
        return ()
    if record not in ("all", "values"):
        raise ValueError(f"record is {record!r}; it must be 'all' or 'values'")
    return (*RECORD, GAINS) if record == "values" else RECORD


def _most(arrays: dict[str, NDArray[Any]]) -> int:
    return max(FEW, TIMES * sum(map(np.size, arrays.values())))


def _small_arrays(graph: SharedTrees) -> dict[str, NDArray[Any]]:
    """The arrays of a graph in the shortest types that hold all of their values."""
    whole = {name: short(getattr(graph, name)) for name in (*_PLACES, *_COUNTED)}
    vote = {"label": graph.label} if graph.value is None else {"value": _single(graph.value)}
    return {
        **whole,
        "threshold": _single(graph.threshold),
        "missing_left": graph.missing_left,
        "category_bits": graph.category_bits,
        **{name: array for name, array in vote.items() if array is not None},
    }


def _single(numbers: NDArray[np.float64]) -> NDArray[Any]:
    """Single precision where that keeps every bit."""
    with np.errstate(over="ignore"):
        short = numbers.astype(np.float32)
    same = short.astype(np.float64).tobytes() == numbers.tobytes()
    return short if same else numbers


def _checked_graph(n_features: int, n_classes: int, arrays: dict[str, Any]) -> SharedTrees:
    """The graph of a file's arrays, which may hold anything."""
    for name in (*_PLACES, *_COUNTED):
        if arrays[name].dtype not in UNSIGNED or arrays[name].ndim != 1:
            raise ValueError(
                f"{name} is {arrays[name].dtype} of {arrays[name].ndim} dimensions; it must be unsigned of 1"
            )
        arrays[name] = arrays[name].astype(np.int64)
    arrays["feature"] = arrays["feature"].clip(max=np.iinfo(np.int32).max).astype(np.int32)
    for name, ndim in (("threshold", 1), ("value", 2)):
        if name in arrays:
            if arrays[name].dtype not in (np.float32, np.float64) or arrays[name].ndim != ndim:
                raise ValueError(
                    f"{name} is {arrays[name].dtype} of {arrays[name].ndim} dimensions; it must be of numbers"
                )
            arrays[name] = arrays[name].astype(np.float64)
    for name, dtype in (("missing_left", np.uint8), ("category_bits", np.uint32), ("label", np.int32)):
        if name in arrays and (arrays[name].dtype != dtype or arrays[name].ndim != 1):
            raise ValueError(
                f"{name} is {arrays[name].dtype} of {arrays[name].ndim} dimensions; it must be {np.dtype(dtype)}"
            )
    graph = SharedTrees(n_features, n_classes, **({"label": None, "value": None} | arrays))
    _check_graph(graph, len(arrays["label"] if "label" in arrays else arrays["value"]))
    return graph


def _check_graph(graph: SharedTrees, n_leaves: int) -> None:
    """Every place and split is there, and children come before their parents, so that no way goes in a circle."""
    M, S = len(graph.split), len(graph.feature)
    if not len(graph.root):
        raise ValueError("there are no voters")
    if not len(graph.left) == len(graph.right) == M:
        raise ValueError(f"split, left and right have {M}, {len(graph.left)} and {len(graph.right)} entries")
    if not len(graph.threshold) == len(graph.missing_left) == len(graph.category_offset) - 1 == S:
        raise ValueError("feature, threshold, missing_left and category_offset are not for as many splits")
    if (graph.split >= S).any():
        raise ValueError(f"split holds {int(graph.split.max())}; there are {S} splits")
    for name in ("root", "left", "right"):
        places = getattr(graph, name)
        if (places >= M + n_leaves).any():
            raise ValueError(f"{name} holds {int(places.max())}; there are {M + n_leaves} places")
    number = np.arange(M)
    for name in ("left", "right"):
        places = getattr(graph, name)
        late = (places < M) & (places >= number)
        if late.any():
            at = int(np.argmax(late))
            raise ValueError(f"{name} of inner node {at} is {int(places[at])}, which does not come before it")
    offset = graph.category_offset
    if offset[0] != 0 or offset[-1] != len(graph.category_bits) or (np.diff(offset) < 0).any():
        raise ValueError("category_offset does not share out category_bits")
