"""Graphs of voters with random answers, and the majority of their paths."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.data.number_types import F64
from committee.data.table_schema import TableSchema
from committee.data.typed_json import field
from committee.files.documents import Document, Tensors
from committee.files.kinds import GRAPH_VOTERS, describe_part, rebuild_part
from committee.voters.probabilistic_voters import OracleVoters, SoftStumps, read_seed
from committee.voters.protocol import UnitSpread, VoteKind, VoterIndex, voter_numbers, voter_weights

Walk: TypeAlias = Literal["expected", "likely_path", "sampled"]
"""Score of a row: E[H(x)], H along the more probable answers, or H on one random path."""

WALKS: tuple[Walk, ...] = ("expected", "likely_path", "sampled")

MAX_PATHS = 10**6
"""Largest number of sampled paths; the standard error is then at most 1/2000."""
MAX_EXACT_PATHS = 4096
"""Largest number of nodes of the tree of all paths of a score."""
_BLOCK = 2**22
"""Probabilities per block of rows."""


@dataclass(frozen=True, eq=False)
class VoteGraph:
    """T voters with random answers, and the next node after each answer.

    E. Grossmann, A theory of probabilistic boosting, decision trees and matryoshki, eqs. 4, 5 and 7.
    """

    kind: ClassVar[VoteKind] = "score"
    voters: SoftStumps | OracleVoters
    next: NDArray[np.int32]  # (T, 2): later node after + and -, or -1
    vote: F64  # (T, 2): added to the score by + and -
    start: NDArray[np.int64]  # (D + 1,): score d has the nodes start[d]:start[d + 1]
    n_classes: int  # one score for two classes, else one per class
    walk: Walk = "expected"
    seed: int = 0
    counted: NDArray[np.intp] | None = None  # nodes whose votes count in a selection of voters; None: all

    def __post_init__(self) -> None:
        T = len(self.voters)
        if self.next.shape != (T, 2) or self.vote.shape != (T, 2):
            raise ValueError(f"next and vote have shapes {self.next.shape} and {self.vote.shape}; both need ({T}, 2).")
        if self.n_outputs != len(self.start) - 1:
            raise ValueError(
                f"start has {len(self.start)} entries; {self.n_classes} classes need {self.n_outputs + 1}."
            )
        if self.walk not in WALKS:
            raise ValueError(f"walk is {self.walk!r}; it must be one of {', '.join(WALKS)}.")
        # refuses edges that lead back and numbers that are not finite
        _core.MatrixGraph(self.next, self.vote, self.start)

    def __len__(self) -> int:
        return len(self.next) if self.counted is None else len(self.counted)

    def __getitem__(self, index: VoterIndex) -> VoteGraph:
        return replace(self, counted=np.atleast_1d(self._counted[index]))

    @property
    def n_outputs(self) -> int:
        return 1 if self.n_classes == 2 else self.n_classes

    n_features = property(attrgetter("voters.n_features"))

    @property
    def n_nodes(self) -> NDArray[np.int64]:
        return np.ones(len(self), dtype=np.int64)

    @property
    def nbytes(self) -> int:
        return self.voters.nbytes + self.next.nbytes + self.vote.nbytes + self.start.nbytes

    @property
    def spread(self) -> F64:
        return np.asarray(np.abs(self.vote).max(axis=1)[self._counted])

    def tally(self, X: F64, weights: F64 | None = None, n_threads: int = 1) -> F64:
        factor = np.zeros(len(self.next))
        # a node may be counted more than once, as any voter may be selected twice
        np.add.at(factor, self._counted, voter_weights(weights, len(self)))
        graph = self._kernel_graph(self.vote * factor[:, None])
        return np.concatenate([self._walk(graph, X[rows], n_threads)[0] for rows in self._blocks(X)])

    def votes(self, X: F64, n_threads: int = 1) -> F64:
        counted = self._counted
        output = np.searchsorted(self.start, counted, side="right") - 1  # score of each node
        votes = np.zeros((len(X), len(counted), self.n_outputs))
        if self.walk == "expected":
            reach, q = self.reach(X, n_threads), self.voters.probabilities(X, n_threads)
            added = reach * (q * self.vote[:, 0] + (1.0 - q) * self.vote[:, 1])
            votes[:, np.arange(len(counted)), output] = added[:, counted]
        else:
            # the score of a path is a sum over its voters
            for number in range(len(counted)):
                votes[:, number] = self[[number]].tally(X, n_threads=n_threads)
        return votes

    def reach(self, X: F64, n_threads: int = 1) -> F64:
        """Probability that each row reaches each node, ``(n, T)``."""
        return np.concatenate([self._whole.reach(self._source(X[rows]), n_threads) for rows in self._blocks(X)])

    def cost(self, X: F64, n_threads: int = 1) -> F64:
        """Number of voters that each row meets, or its expectation, ``(n,)``."""
        return np.concatenate([self._walk(self._whole, X[rows], n_threads)[1] for rows in self._blocks(X)])

    def positive_paths(self, X: F64, n_paths: int, n_threads: int = 1) -> NDArray[np.int64]:
        """Number of `n_paths` sampled paths with a positive score, ``(n, D)``."""
        return np.concatenate([self._sampled(self._whole, X[rows], n_paths, n_threads)[1] for rows in self._blocks(X)])

    @cached_property
    def _whole(self) -> Any:
        return self._kernel_graph(self.vote)

    @property
    def _counted(self) -> NDArray[np.intp]:
        return np.arange(len(self.next)) if self.counted is None else self.counted

    def _kernel_graph(self, vote: F64) -> Any:
        if isinstance(self.voters, SoftStumps):
            arrays = self.voters.arrays
            return _core.StumpGraph(self.voters.n_features, *arrays, self.next, vote, self.start)
        return _core.MatrixGraph(self.next, vote, self.start)

    def _source(self, X: F64) -> F64:
        return X if isinstance(self.voters, SoftStumps) else self.voters.probabilities(X)

    def _walk(self, graph: Any, X: F64, n_threads: int) -> tuple[F64, F64]:
        if self.walk == "sampled":
            scores, _, n_voters = self._sampled(graph, X, 1, n_threads)
        else:
            kernel = graph.expected if self.walk == "expected" else graph.likely
            scores, n_voters = kernel(self._source(X), n_threads)
        return scores, np.asarray(n_voters, dtype=np.float64)

    def _sampled(self, graph: Any, X: F64, n_paths: int, n_threads: int) -> Any:
        return graph.sampled(self._source(X), _core.row_keys(X, self.seed, n_threads), n_paths, n_threads)

    def _blocks(self, X: F64) -> list[slice]:
        if isinstance(self.voters, SoftStumps) or not len(X):
            return [slice(None)]
        step = max(1, _BLOCK // len(self.next))
        return [slice(begin, begin + step) for begin in range(0, len(X), step)]

    def to_document(self, tensors: Tensors) -> Document:
        if self.counted is not None:
            raise TypeError("A selection of a graph's voters cannot be saved; save the learner with all of them.")
        tensors.put_fields(self, ("next", "vote", "start"))
        return {
            "kind": "graph",
            "n_classes": int(self.n_classes),
            "walk": self.walk,
            "seed": int(self.seed),
            "voters": describe_part(self.voters, GRAPH_VOTERS, tensors),
        }

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> VoteGraph:
        following, vote = tensors.take("next", np.int32, 2), tensors.take("vote", np.float64, 2)
        start = tensors.take("start", np.int64, 1)
        voters = rebuild_part(field(document, "voters", dict), GRAPH_VOTERS, tensors, "the graph's voters")
        walk, n_classes = field(document, "walk", str), field(document, "n_classes", int)
        if walk not in WALKS:
            raise ValueError(f"walk is {walk!r}; it must be one of {', '.join(WALKS)}")
        if not 2 <= n_classes <= len(start):
            raise ValueError(f"n_classes is {n_classes}; it does not suit the graph")
        return cls(voters, following, vote, start, n_classes, walk, read_seed(document))

    def check_columns(self, table: TableSchema | None) -> None:
        self.voters.check_columns(table)


@dataclass(frozen=True, eq=False)
class PathMajority(UnitSpread):
    """Majority of a graph's paths as one voter, with the score 2 P(H(x) > 0) - 1."""

    kind: ClassVar[VoteKind] = "score"
    graph: VoteGraph
    n_paths: int

    def __post_init__(self) -> None:
        if not 1 <= self.n_paths <= MAX_PATHS:
            raise ValueError(f"n_paths is {self.n_paths}; it must be between 1 and {MAX_PATHS}.")

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: VoterIndex) -> PathMajority:
        if len(voter_numbers(index, 1)) != 1:
            raise ValueError("The majority of paths is one voter; select it once.")
        return self

    n_classes = property(attrgetter("graph.n_classes"))
    n_outputs = property(attrgetter("graph.n_outputs"))
    n_features = property(attrgetter("graph.n_features"))

    @property
    def n_nodes(self) -> NDArray[np.int64]:
        return np.array([len(self.graph.next)], dtype=np.int64)

    nbytes = property(attrgetter("graph.nbytes"))

    def tally(self, X: F64, weights: F64 | None = None, n_threads: int = 1) -> F64:
        return (2.0 * self.probability(X, n_threads)[0] - 1.0) * (1.0 if weights is None else float(weights[0]))

    def votes(self, X: F64, n_threads: int = 1) -> F64:
        return self.tally(X, n_threads=n_threads)[:, None, :]

    def probability(self, X: F64, n_threads: int = 1) -> tuple[F64, F64]:
        """P(H(x) > 0) and its standard error, ``(n, D)`` each."""
        if self.path_tree is not None:
            # sums of path probabilities may pass 1 by a rounding
            P = np.clip(self.path_tree.tally(X, n_threads=n_threads), 0.0, 1.0)
            return P, np.zeros_like(P)
        P = self.graph.positive_paths(X, self.n_paths, n_threads) / self.n_paths
        return P, np.sqrt(P * (1.0 - P) / self.n_paths)

    @cached_property
    def path_tree(self) -> VoteGraph | None:
        """Tree of all paths that votes 1 if H > 0 at the end; None if there are too many paths."""
        following, start = self.graph.next, self.graph.start
        node: list[int] = []
        onward: list[list[int]] = []
        ends: list[list[float]] = []
        begins = [0]
        for first in start[:-1].tolist():
            # node of the graph, score so far, parent in the tree, and answer of the parent
            waiting = [(first, 0.0, -1, 0)]
            while waiting:
                t, H, parent, side = waiting.pop()
                if len(node) - begins[-1] == MAX_EXACT_PATHS:
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

    def to_document(self, tensors: Tensors) -> Document:
        return {**self.graph.to_document(tensors), "n_paths": int(self.n_paths)}

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> VoteGraph | PathMajority:
        graph = VoteGraph.from_document(document, tensors)
        n_paths = field(document, "n_paths", int, None) if "n_paths" in document else None
        return graph if n_paths is None else cls(graph, n_paths)

    def check_columns(self, table: TableSchema | None) -> None:
        self.graph.check_columns(table)
