"""Trees as voters whose equal parts a model file stores once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from committee.voters.forest import Forest, read_vote
from committee.voters.protocol import VoterIndex
from committee.voters.shared_trees import SharedTrees

if TYPE_CHECKING:
    from committee.files.tensors import Document, Tensors

FEW, TIMES = 2**19, 32
"""Nodes that trees in a file may have: so many, or so many times the entries of the file. More are no model."""

_UNSIGNED = (np.uint8, np.uint16, np.uint32)
_PLACES = ("root", "split", "left", "right")
_COUNTED = ("feature", "category_offset")


@dataclass(frozen=True, eq=False)
class SharedForest(Forest):
    """T trees as voters, as a `Forest`; in files, equal sub-trees, splits and leaves are stored once.

    It has no training record: `gain`, `weight` and `count` are zero, as equal sub-trees had different ones.

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

    def __getitem__(self, index: VoterIndex) -> SharedForest:
        return SharedForest.of(super().__getitem__(index))

    @cached_property
    def graph(self) -> SharedTrees:
        """Its trees with all that is equal in them once."""
        return SharedTrees.of(self)

    @property
    def stored_bytes(self) -> int:
        """Bytes of the arrays in a file."""
        return sum(array.nbytes for array in _small_arrays(self.graph).values())

    # -- the file -----------------------------------------------------------------------------------------

    def to_document(self, tensors: Tensors) -> Document:
        """Write the graph into a model file; trees that share more than files may are written whole."""
        arrays = _small_arrays(self.graph)
        if len(self.feature) > _most(arrays):
            return Forest.to_document(self, tensors)
        tensors.put(**arrays)
        return self._described("shared_forest")

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> Self:
        """Read what `to_document` wrote, trusting no value."""
        from committee.files.header import read_count

        vote = read_vote(document)
        names = (*_PLACES, *_COUNTED, "threshold", "missing_left", "category_bits", vote)
        arrays = tensors.take_fields(names)
        most = _most(arrays)
        graph = _checked_graph(read_count(document, "n_features"), read_count(document, "n_classes"), arrays)
        forest = cls(graph.n_features, graph.n_classes, **graph.node_arrays(most))
        forest.check()
        return forest


def _most(arrays: dict[str, NDArray[Any]]) -> int:
    return max(FEW, TIMES * sum(map(np.size, arrays.values())))


def _small_arrays(graph: SharedTrees) -> dict[str, NDArray[Any]]:
    """The arrays of a graph in the shortest types that hold all of their values."""
    whole = {name: _short(getattr(graph, name)) for name in (*_PLACES, *_COUNTED)}
    vote = {"label": graph.label} if graph.value is None else {"value": _single(graph.value)}
    return {
        **whole,
        "threshold": _single(graph.threshold),
        "missing_left": graph.missing_left,
        "category_bits": graph.category_bits,
        **{name: array for name, array in vote.items() if array is not None},
    }


def _short(numbers: NDArray[Any]) -> NDArray[Any]:
    largest = int(numbers.max(initial=0))
    return numbers.astype(next(kind for kind in _UNSIGNED if largest <= np.iinfo(kind).max))


def _single(numbers: NDArray[np.float64]) -> NDArray[Any]:
    """Single precision where that keeps every bit."""
    with np.errstate(over="ignore"):
        short = numbers.astype(np.float32)
    same = short.astype(np.float64).tobytes() == numbers.tobytes()
    return short if same else numbers


def _checked_graph(n_features: int, n_classes: int, arrays: dict[str, Any]) -> SharedTrees:
    """The graph of a file's arrays, which may hold anything."""
    for name in (*_PLACES, *_COUNTED):
        if arrays[name].dtype not in _UNSIGNED or arrays[name].ndim != 1:
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
