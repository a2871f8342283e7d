"""A graph's vote as the majority of all its paths: the probability that the random score is above 0."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.data.typed_json import field
from committee.files.documents import Document, Tensors
from committee.voters.protocol import VoteKind, VoterIndex
from committee.voters.vote_graph import VoteGraph

if TYPE_CHECKING:
    from committee.data.frames import TableSchema

MAX_PATHS = 10**6
"""Paths that may be sampled: the standard error then is at most 1/2000, and more would only take time."""
MOST_EXACT = 4096
"""Ways through the graph of one score, each counted up to its last node, whose probabilities are added up."""


@dataclass(frozen=True, eq=False)
class PathMajority:
    """One voter: a graph of which every path casts one vote, and the majority of them decides.

    With P the probability that H(x) > 0, its score is 2 P - 1, for each of D scores. P is exact where the ways through
    the graph are few, as in any tree; else the share of `n_paths` sampled ones, with a standard error of
    sqrt(P (1 - P) / n_paths), at most 1 / (2 sqrt(n_paths)).

    Parameters
    ----------
    graph : VoteGraph
        The graph; its own walk does not matter.
    n_paths : int
        Paths sampled of each row where there are too many ways, at least 1.

    Examples
    --------
    ``PathMajority(graph, 1000).probability(X)`` are the probabilities and their standard errors.
    """

    kind: ClassVar[VoteKind] = "score"
    graph: VoteGraph
    n_paths: int

    def __post_init__(self) -> None:
        if not 1 <= self.n_paths <= MAX_PATHS:
            raise ValueError(f"n_paths is {self.n_paths}; it must be within 1 and {MAX_PATHS}.")

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: VoterIndex) -> PathMajority:
        if len(np.atleast_1d(np.arange(1)[index])) != 1:
            raise ValueError("The majority of paths is one voter, which cannot be left out.")
        return self

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.graph.n_classes

    @property
    def n_outputs(self) -> int:
        """1 for two classes, else a score for each."""
        return self.graph.n_outputs

    @property
    def n_features(self) -> int | None:
        """Width of the encoded matrix."""
        return self.graph.n_features

    @property
    def n_nodes(self) -> NDArray[np.int64]:
        """Nodes of the graph, ``(1,)``."""
        return np.array([len(self.graph.next)], dtype=np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes of the graph."""
        return self.graph.nbytes

    @property
    def spread(self) -> F64:
        """The most that it can change a margin: 1."""
        return np.ones(1)

    def tally(self, X: F64, weights: F64 | None = None, n_threads: int = 1) -> F64:
        """2 P - 1, ``(n, D)``, times the weight."""
        return (2.0 * self.probability(X, n_threads)[0] - 1.0) * (1.0 if weights is None else float(weights[0]))

    def votes(self, X: F64, n_threads: int = 1) -> F64:
        """The one vote, ``(n, 1, D)``."""
        return self.tally(X, n_threads=n_threads)[:, None, :]

    def probability(self, X: F64, n_threads: int = 1) -> tuple[F64, F64]:
        """P(H(x) > 0) and its standard error, ``(n, D)`` each; the errors are 0 where P is exact."""
        if self.every_way is not None:
            # sums of path probabilities may pass 1 by a rounding
            P = np.clip(self.every_way.tally(X, n_threads=n_threads), 0.0, 1.0)
            return P, np.zeros_like(P)
        P = self.graph.positive_paths(X, self.n_paths, n_threads) / self.n_paths
        return P, np.sqrt(P * (1.0 - P) / self.n_paths)

    @cached_property
    def every_way(self) -> VoteGraph | None:
        """The graph as a tree of all paths, voting 1 where H > 0 at the end; None if there are too many."""
        following, start = self.graph.next, self.graph.start
        node: list[int] = []
        onward: list[list[int]] = []
        ends: list[list[float]] = []
        begins = [0]
        for first in start[:-1].tolist():
            # node of the graph, score so far, place of the parent in the tree, and the answer that led here
            waiting = [(first, 0.0, -1, 0)]
            while waiting:
                t, H, parent, side = waiting.pop()
                if len(node) - begins[-1] == MOST_EXACT:
                    return None
                here = len(node)
                if parent >= 0:
                    onward[parent][side] = here
                node.append(t)
                onward.append([-1, -1])
                ends.append([0.0, 0.0])
                for answer in (0, 1):
                    reached = H + float(self.graph.vote[t, answer])
                    if following[t, answer] >= 0:
                        waiting.append((int(following[t, answer]), reached, here, answer))
                    else:
                        ends[here][answer] = float(reached > 0.0)
            begins.append(len(node))
        return VoteGraph(
            self.graph.voters[np.array(node)],
            np.array(onward, dtype=np.int32),
            np.array(ends),
            np.array(begins, dtype=np.int64),
            self.graph.n_classes,
        )

    # -- the file ---------------------------------------------------------------------------------------------

    def to_document(self, tensors: Tensors) -> Document:
        """Write the graph into a model file, and how many paths are sampled."""
        return {**self.graph.to_document(tensors), "n_paths": int(self.n_paths)}

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> VoteGraph | PathMajority:
        """Read a graph, trusting no value; it votes by the majority of its paths if the document says how many."""
        graph = VoteGraph.from_document(document, tensors)
        n_paths = field(document, "n_paths", int, None) if "n_paths" in document else None
        return graph if n_paths is None else cls(graph, n_paths)

    def check_columns(self, table: TableSchema | None) -> None:
        """Refuse columns that the graph's voters cannot use."""
        self.graph.check_columns(table)
